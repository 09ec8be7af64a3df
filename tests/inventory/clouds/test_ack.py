"""Test the ACK reader: Flannel and Terway, spellings of old and new providers, and what is unknown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.report import model
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

TERWAY = """
resource "alicloud_vpc" "v" {
  cidr_block = "10.0.0.0/8"
}

resource "alicloud_vswitch" "nodes" {
  vpc_id     = alicloud_vpc.v.id
  cidr_block = "10.1.0.0/22"
}

resource "alicloud_vswitch" "pods" {
  count      = 2
  vpc_id     = alicloud_vpc.v.id
  cidr_block = "10.2.${count.index * 4}.0/22"
}

resource "alicloud_cs_managed_kubernetes" "main" {
  name            = "train"
  cluster_spec    = "ack.pro.small"
  vswitch_ids     = [alicloud_vswitch.nodes.id]
  pod_vswitch_ids = %(pods)s

  dynamic "addons" {
    for_each = [{ name = "kube-flannel-ds", off = true }, { name = "terway-eniip", off = false }]
    content {
      name     = lookup(addons.value, "name", null)
      disabled = addons.value.off
    }
  }
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  name           = "gpu"
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  vswitch_ids    = split(",", join(",", [alicloud_vswitch.nodes.id]))
  instance_types = ["ecs.ebmgn7e.32xlarge"]

  scaling_config {
    min_size = 0
    max_size = 900
  }
}
"""
POOL = """
resource "alicloud_cs_kubernetes_node_pool" "more" {
  cluster_id = alicloud_cs_managed_kubernetes.main.id
  scaling_config {
    max_size = 3
  }
}
"""
FLANNEL = """
resource "alicloud_vswitch" "nodes" {{
  vpc_id            = "vpc-1"
  availability_zone = "cn-beijing-i"
  cidr_block        = "10.1.0.0/20"
}}

resource "{kind}" "main" {{
  name_prefix        = "train-"
  worker_vswitch_ids = alicloud_vswitch.nodes[*].id
  pod_cidr           = "{cidr}"
{more}
}}

resource "alicloud_cs_kubernetes_node_pool" "cpu" {{
  node_pool_name = "cpu"
  cluster_id     = {kind}.main.id
  vswitch_ids    = alicloud_vswitch.nodes[*].id
  instance_types = ["ecs.g7.2xlarge"]
  desired_size   = "{nodes}"
}}
"""


@pytest.fixture
def walls(write: Write) -> Callable[..., dict[str, dict[str, Any]]]:
    """Return a function that writes Terraform and returns its cluster's walls: the lowest one of each mechanism."""

    def run(text: str) -> dict[str, dict[str, Any]]:
        write({"main.tf": text})
        output = CliRunner().invoke(cli, ["capacity", ".", "--format", "json"], catch_exceptions=False).stdout
        (cluster,) = json.loads(output)["clusters"]
        found: dict[str, dict[str, Any]] = {}
        for wall in cluster["walls"]:
            found.setdefault(wall["mechanism"], wall)
        return found

    return run


def read(write: Write, text: str) -> dict[str, Any]:
    write({"main.tf": text})
    return model.collect(Tree(["."]), Config())


def flannel(**values: Any) -> str:
    base = {"kind": "alicloud_cs_managed_kubernetes", "cidr": "172.16.0.0/16", "nodes": 10, "more": ""}
    return FLANNEL.format(**base | values)


@pytest.mark.medium
def test_terway_nodes_and_pods_have_separate_vswitches(walls: Callable[..., dict[str, dict[str, Any]]]) -> None:
    found = walls(TERWAY % {"pods": "alicloud_vswitch.pods[*].id"})
    assert found["subnet"]["nodes"] == 1020
    # one address for the job's pod, and up to five idle ones, over two vSwitches of 1,020
    assert (found["pod-subnet"]["at_least"], found["pod-subnet"]["at_most"]) == (340, 2040)
    assert found["pod-subnet"]["before_target"] is None
    assert found["cluster-limit"]["nodes"] == 5000
    assert "pod-range" not in found


ERDMA = """
resource "alicloud_cs_kubernetes_addon" "erdma" {
  cluster_id = alicloud_cs_managed_kubernetes.main.id
  name       = %s
}
"""


@pytest.mark.medium
@pytest.mark.parametrize(
    ("name", "machine", "least", "most"),
    [
        ('"ack-erdma-controller"', "ecs.ebmgn8v.48xlarge", 510, 510),  # two network cards, 1,020 addresses
        ('"ack-erdma-controller"', "ecs.gn8v-8x.48xlarge", 1020, 1020),  # one, which has an address anyway
        ('"ack-nginx"', "ecs.ebmgn8v.48xlarge", 1020, 1020),
        ("var.addon", "ecs.ebmgn8v.48xlarge", 510, 1020),
    ],
)
def test_erdma_takes_an_address_for_each_network_card(
    name: str, machine: str, least: int, most: int, walls: Callable[..., dict[str, dict[str, Any]]]
) -> None:
    pods = "alicloud_vswitch.pods[*].id"
    text = (TERWAY % {"pods": pods}).replace("ecs.ebmgn7e.32xlarge", machine) + ERDMA % name
    variable = 'variable "addon" {}\n' if "var." in name else ""
    found = walls(variable + text)["subnet"]
    assert (found["at_least"], found["at_most"]) == (least, most)


def test_terway_has_a_hard_cluster_limit_behind_its_quota(write: Write) -> None:
    write({"main.tf": TERWAY % {"pods": "alicloud_vswitch.pods[*].id"}})
    output = CliRunner().invoke(cli, ["capacity", ".", "--format", "json"], catch_exceptions=False).stdout
    (cluster,) = json.loads(output)["clusters"]
    limits = [(wall["nodes"], wall["kind"]) for wall in cluster["walls"] if wall["mechanism"] == "cluster-limit"]
    assert limits == [(5000, "quota"), (15000, "hard")]


def test_pods_take_addresses_from_the_vswitch_of_their_node(walls: Callable[..., dict[str, dict[str, Any]]]) -> None:
    found = walls(TERWAY % {"pods": "[alicloud_vswitch.nodes.id]"})
    assert (found["subnet"]["at_least"], found["subnet"]["at_most"]) == (145, 510)
    assert found["subnet"]["before_target"] is True


@pytest.mark.parametrize(
    ("more", "cidr", "nodes"),
    [
        ("", "172.16.0.0/16", 256),
        ("", "172.20.0.0/20", 16),
        ("  node_cidr_mask = 26", "172.16.0.0/16", 1024),
        ("  node_cidr_mask = 28", "172.16.0.0/16", 4096),
    ],
)
def test_flannel_nodes_take_pod_blocks_and_routes(
    more: str, cidr: str, nodes: int, walls: Callable[..., dict[str, dict[str, Any]]]
) -> None:
    found = walls(flannel(more=f'  cluster_spec = "ack.pro.small"\n{more}', cidr=cidr))
    assert found["pod-range"]["nodes"] == nodes
    assert (found["flannel-routes"]["nodes"], found["flannel-routes"]["kind"]) == (200, "quota")
    assert found["cluster-limit"]["nodes"] == 1000


def test_a_cluster_without_an_edition_is_a_basic_cluster(walls: Callable[..., dict[str, dict[str, Any]]]) -> None:
    assert walls(flannel())["cluster-limit"]["nodes"] == 10


def test_a_dedicated_cluster_has_no_edition(walls: Callable[..., dict[str, dict[str, Any]]]) -> None:
    assert walls(flannel(kind="alicloud_cs_kubernetes"))["cluster-limit"]["nodes"] == 1000


def test_workers_declared_in_the_cluster_are_a_pool(write: Write) -> None:
    more = '  worker_number = 7\n  worker_instance_types = ["ecs.g6.xlarge"]'
    data = read(write, flannel(more=more))
    assert [(p["fields"]["name"]["value"], p["fields"]["max_nodes"]["value"]) for p in data["pools"]] == [
        ("workers", 7),
        ("cpu", 10),
    ]


def test_variables_without_a_value_are_unknown(write: Write) -> None:
    text = flannel(cidr="${var.cidr}", nodes="${var.size}") + (
        'variable "cidr" {\n  type = string\n}\nvariable "size" {\n  type = string\n}\n'
    )
    data = read(write, text)
    assert data["pools"][0]["fields"]["max_nodes"]["unknown"] == "var.size has no value"
    assert data["pod_ranges"][0]["fields"]["cidr"]["unknown"] == "var.cidr has no value"
    assert data["clusters"][0]["fields"]["name"]["value"] == "train-"


def test_the_ack_cool_down_duration_is_read_as_the_unneeded_time(write: Write) -> None:
    text = (
        flannel()
        + POOL
        + (
            'resource "alicloud_cs_autoscaling_config" "a" {\n  cluster_id = alicloud_cs_managed_kubernetes.main.id\n'
            '  scaler_type = "cluster-autoscaler"\n  cool_down_duration = "3m"\n  unneeded_duration = "7m"\n}\n'
        )
    )
    fields = read(write, text)["autoscalers"][0]["fields"]
    assert (fields["unneeded_time"]["value"], fields["delay_after_add"]["value"]) == (180, 420)


def test_the_autoscaler_engine_has_a_recommended_number_of_nodes(
    walls: Callable[..., dict[str, dict[str, Any]]],
) -> None:
    engine = (
        'resource "alicloud_cs_autoscaling_config" "a" {\n  cluster_id = alicloud_cs_managed_kubernetes.main.id\n'
        '  scaler_type = "cluster-autoscaler"\n}\n'
    )
    found = walls(TERWAY % {"pods": "alicloud_vswitch.pods[*].id"} + engine)["engine"]
    assert (found["nodes"], found["kind"], found["before_target"]) == (100, "recommended", True)


def test_an_empty_list_of_vswitches_is_unknown(write: Write) -> None:
    own, empty = 'split(",", join(",", [alicloud_vswitch.nodes.id]))', 'variable "ids" {\n  default = []\n}\n'
    data = read(write, (TERWAY % {"pods": "[]"}).replace(own, "var.ids") + empty)
    assert data["pools"][0]["fields"]["subnets"]["unknown"] == "var.ids is empty"
