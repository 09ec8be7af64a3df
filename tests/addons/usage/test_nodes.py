"""Test pool and price of recorded nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.config.numbers import machines
from kcheck.inventory import reader
from kcheck.scale.usage import nodes
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from tests.addons.usage.recordings import node, nowhere

if TYPE_CHECKING:
    from kcheck.scale.usage.nodes import Priced
    from tests.conftest import Write


CODE = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  instance_types  = ["p5.48xlarge"]
}

resource "aws_eks_node_group" "spot" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "spot"
  instance_types  = ["m5.large", "m5.xlarge"]
  capacity_type   = "SPOT"
}
"""


def world(write: Write, **settings: object) -> World:
    config = Config(**settings)  # type: ignore[arg-type]
    folder = write({"main.tf": CODE})
    return World(reader.read(Tree([str(folder)]), config).inventory, config)


def priced(found: World, **named: str) -> Priced:
    one = node("n", labels=named, gpus=0, provider="aws:///eu-west-1a/i-0")
    return nodes.Nodes([one], found).by_name["n"]


def listed(name: str, *, spot: bool = False) -> int:
    price = machines.price("eks", name, spot=spot)
    assert price
    return price.mills


TYPE = "node_kubernetes_io_instance_type"
GROUP = "eks_amazonaws_com_nodegroup"


@pytest.mark.parametrize(
    ("named", "pool"),
    [
        ({GROUP: "gpu"}, "gpu"),
        ({"eks.amazonaws.com/nodegroup": "gpu"}, "gpu"),
        ({GROUP: "gpu-20261116093011223300000001"}, "gpu-20261116093011223300000001"),
        ({GROUP: "other"}, "other"),
        ({TYPE: "p5.48xlarge"}, "gpu"),
        ({TYPE: "c5.large"}, ""),
        ({"karpenter_sh_nodepool": "batch", TYPE: "c5.large"}, "batch"),
        ({"cloud_google_com_gke_nodepool": "g"}, "g"),
        ({"kubernetes_azure_com_agentpool": "z"}, "z"),
        ({}, ""),
    ],
)
def test_a_node_belongs_to_a_pool(write: Write, named: dict[str, str], pool: str) -> None:
    assert priced(world(write), **named).pool == pool


def test_a_node_has_the_price_of_its_machine_type(write: Write) -> None:
    found = world(write)
    for one in (
        priced(found, **{GROUP: "spot", TYPE: "m5.xlarge"}),
        priced(nowhere(), **{TYPE: "m5.xlarge", "eks_amazonaws_com_capacity_type": "SPOT"}),
        priced(nowhere(), **{TYPE: "m5.xlarge", "karpenter_sh_capacity_type": "spot"}),
    ):
        assert one.price
        assert (one.price.machine, one.price.region) == ("m5.xlarge", listed_region("m5.xlarge"))
    assert priced(nowhere(), **{TYPE: "m5.xlarge"}).price == machines.price("eks", "m5.xlarge", spot=False)


def listed_region(name: str) -> str:
    price = machines.price("eks", name, spot=False)
    assert price
    return price.region


def test_a_node_without_a_type_has_the_price_of_its_pool(write: Write) -> None:
    one = priced(world(write), **{GROUP: "gpu-20261116093011223300000001"})
    assert one.price
    assert one.price.mills == listed("p5.48xlarge")


def test_the_price_given_by_the_user_applies_to_every_node(write: Write) -> None:
    found = world(write, price=123)
    for named in ({GROUP: "gpu", TYPE: "p5.48xlarge"}, {}):
        one = priced(found, **named)
        assert one.price == machines.Price(1230)


def test_unlisted_machines_have_no_price() -> None:
    assert priced(nowhere(), **{TYPE: "own.metal"}).price is None
    assert priced(nowhere()).price is None


def test_machine_types_of_alibaba_cloud_are_not_mistaken_for_amazon_types() -> None:
    one = node("n", labels={TYPE: "ecs.g6.xlarge"}, gpus=0, provider="cn-hangzhou.i-1")
    assert nodes.Nodes([one], nowhere()).by_name["n"].price == machines.price("ack", "ecs.g6.xlarge", spot=False)


def test_attached_gpus_are_added_to_the_price_of_the_machine() -> None:
    named = {TYPE: "n1-standard-8", "cloud_google_com_gke_accelerator": "nvidia-tesla-t4"}
    one = node("n", labels=named, gpus=2, provider="gce://project/europe-west4-a/n")
    attached = machines.price("gke", "n1-standard-8", spot=False, attached=(2, "nvidia-tesla-t4"))
    assert attached
    assert nodes.Nodes([one], nowhere()).by_name["n"].price == attached


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ({"nvidia_com_gpu": 8}, 8),
        ({"nvidia.com/gpu": 2, "cpu": 4}, 2),
        ({"nvidia_com_mig_3g_40gb": 2, "nvidia_com_mig_1g_10gb": 1}, 1),
        ({"nvidia_com_gpu_shared": 4}, 4),
        ({"amd_com_gpu": 1, "google_com_tpu": 4}, 5),
        ({"huawei_com_ascend910": 1}, 1),
        ({"cpu": 1, "vpc_amazonaws_com_efa": 4}, 0),
    ],
)
def test_gpus_are_counted_under_any_resource_name(resources: dict[str, float], gpus: float) -> None:
    assert nodes.gpus(resources) == pytest.approx(gpus)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("team", "team"),
        ("app.kubernetes.io/name", "app_kubernetes_io_name"),
        ("eks.amazonaws.com/capacityType", "eks_amazonaws_com_capacity_type"),
        ("pipeline/runid", "pipeline_runid"),
    ],
)
def test_labels_are_named_as_kube_state_metrics_names_them(name: str, plain: str) -> None:
    assert nodes.sanitised(name) == plain == nodes.sanitised(plain)


def test_the_first_matching_label_names_the_pool() -> None:
    assert nodes.label({"team": "a", "cost_center": "b"}, ["cost-center", "team"]) == "b"
    assert nodes.label({"cost-center": "", "team": "a"}, ["cost-center", "team"]) == "a"
    assert nodes.label({}, ["team"]) == ""
