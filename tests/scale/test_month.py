"""Test monthly cost: nodes, disks, the control plane and NAT gateways, each with its price."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.report.capacity import month_sentence, month_text
from kcheck.scale import money
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from kcheck.model import Cluster
    from tests.conftest import Write

GKE = """
resource "google_container_cluster" "main" {
  name     = "main"
  location = "us-central1"

  private_cluster_config {
    enable_private_nodes = true
  }
}

resource "google_compute_router_nat" "main" {
  name   = "nat"
  router = "main"
  region = "us-central1"

  nat_ip_allocate_option = "MANUAL_ONLY"
  nat_ips                = ["a", "b"]
}

resource "google_container_node_pool" "a" {
  name           = "a"
  cluster        = google_container_cluster.main.name
  node_count     = 2
  node_locations = ["us-central1-a"]

  node_config {
    machine_type = "n2-standard-8"
    disk_type    = "pd-ssd"
    disk_size_gb = 500
  }
}
"""
AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "main"
  location = "westus2"
  %s

  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D8s_v5"
    node_count = 2
  }
}
"""
EKS = """
resource "aws_eks_cluster" "main" {
  name = "main"
}

resource "aws_eks_node_group" "a" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = [%s]

  scaling_config {
    min_size = 1
    max_size = 4
  }
}
"""


def read(write: Write, files: dict[str, str]) -> tuple[Cluster, World]:
    write(files)
    world = World(reader.read(Tree(["."]), Config()).inventory, Config())
    (cluster,) = world.inventory.clusters
    return cluster, world


def bill(write: Write, code: str) -> dict[str, int]:
    return {line.what: line.mills for line in money.month(*read(write, {"main.tf": code})).lines}


def test_the_monthly_cost_includes_everything_billed(write: Write) -> None:
    assert bill(write, GKE) == {
        "2 x n2-standard-8": 2 * 388 * 730,
        "disks": 2 * 500 * 170,
        "control plane": 100 * 730,
        "1 NAT gateway": 44 * 730,
    }


@pytest.mark.parametrize(
    ("tier", "mills"), [("", None), ('sku_tier = "Standard"', 73_000), ('sku_tier = "Premium"', 438_000)]
)
def test_the_control_plane_price_depends_on_its_tier(tier: str, mills: int | None, write: Write) -> None:
    assert bill(write, AKS % tier).get("control plane") == mills


def test_a_load_balancer_is_not_billed_as_a_nat_gateway(write: Write) -> None:
    profile = 'network_profile {\n    outbound_type = "loadBalancer"\n    load_balancer_profile {\n      managed_outbound_ip_count = 2\n    }\n  }'
    assert not [what for what in bill(write, AKS % profile) if "NAT" in what]


def test_small_costs_are_summed_and_large_costs_name_their_price() -> None:
    lines = [
        money.Line("10 x a", 1_000_000, "on demand, r"),
        money.Line("control plane", 73_000, "https://x"),
        money.Line("disks", 2_000, "https://y"),
        money.Line("1 NAT gateway", 3_000, "https://z"),
    ]
    assert month_text(money.Bill(tuple(lines), ())) == (
        "about $1,080 a month: 10 x a $1,000 (on demand, r); control plane $73 (https://x); "
        "disks and 1 NAT gateway $5; traffic comes on top"
    )
    assert month_text(money.Bill((), ())) == ""


def test_disks_without_a_price_are_listed() -> None:
    lines = [money.Line("10 x a", 1_000_000, "on demand, r"), money.Line("control plane", 73_000, "")]
    assert month_text(money.Bill(tuple(lines), ())).endswith("disks and traffic come on top")
    lines.append(money.Line("disks", 2_000, ""))
    assert month_text(money.Bill(tuple(lines), ())).endswith("; traffic comes on top")


def test_an_unknown_monthly_cost_gives_the_reason(write: Write) -> None:
    cluster, world = read(write, {"main.tf": re.sub("n2-standard-8", "x9-unknown-8", GKE)})
    assert money.month(cluster, world, idle=True).lines == ()
    (pool,) = world.pools.of_cluster(cluster)
    wanted = f"The cost of a month is not known: the price of pool {pool.display_name} (x9-unknown-8) is not known."
    assert month_sentence(cluster, world) == wanted


def test_pools_of_unknown_size_are_not_counted(write: Write) -> None:
    code = re.sub(r"node_count *= 2", "node_count = var.n", AKS % "") + 'variable "n" {}'
    assert month_sentence(*read(write, {"main.tf": code})) == "The cost of a month is not known: var.n has no value."


def test_uncounted_nodes_are_named_as_extra_cost(write: Write) -> None:
    old = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: batch}\n"
    found = month_sentence(*read(write, {"main.tf": EKS % '"m5.large"', "pool.yaml": old}))
    assert found.startswith("With all nodes up at least $")
    assert found.endswith("on top; the nodes of Provisioner batch, of an old API, are not counted.")


def test_a_pool_of_several_machine_types_has_the_cheapest_price(write: Write) -> None:
    wanted = (
        "With all nodes up and of the cheapest machines about $353 a month: 4 x m5.large $280 (on demand, us-east-1)"
    )
    assert month_sentence(*read(write, {"main.tf": EKS % '"m5.large", "m5.24xlarge"'})).startswith(wanted)
