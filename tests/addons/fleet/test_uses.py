"""Test what clusters use of shared limits at their targets, and the keys by which they are joined."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet.check import rows_of
from kcheck.addons.fleet.tables import EVERYWHERE, IN_ACCOUNT, IN_REGION, IN_REPOSITORY
from kcheck.config.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.addons.fleet.tables import UseRow
    from tests.conftest import Check

GROUP = """
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  instance_types  = ["p5.48xlarge"]
  %s

  scaling_config {
    min_size = 0
    max_size = MOST
  }
}
"""
CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n  %s\n}\n' + GROUP.replace("MOST", "64")
NETWORK = """
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "a" {
  vpc_id     = aws_vpc.main.id
  cidr_block = "10.0.0.0/17"
}

resource "aws_eip" "nat" {}

resource "aws_nat_gateway" "main" {
  count         = 2
  subnet_id     = aws_subnet.a.id
  allocation_id = aws_eip.nat.id
}
"""
INSIDE = "subnet_ids = [aws_subnet.a.id]"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 48
  completions: 48
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: main, image: "pytorch/pytorch:2.8.0", resources: {limits: {nvidia.com/gpu: 8}}}
"""

Uses = "Callable[..., dict[str, UseRow]]"


@pytest.fixture
def uses(check: Check) -> Callable[..., dict[str, UseRow]]:
    """Return a function that checks files and returns the rows of what they use, by kind."""

    def of(text: str, config: Config | None = None, **files: str) -> dict[str, UseRow]:
        found = rows_of(check({"main.tf": text} | {f"{name}.yaml": one for name, one in files.items()}, config)).uses
        assert all(
            Counter(row.kind for row in found)[kind] <= 1 for kind in ("address-units", "docker-hub", "reservation")
        )
        return {row.kind: row for row in found}

    return of


def test_account_quotas_are_shared_limits(uses: Callable[..., dict[str, UseRow]]) -> None:
    row = uses(CLUSTER % ("", ""))["quota"]
    assert (row.key, row.scope, row.unit, row.needed, row.is_exact) == ("L-417A185B", IN_REGION, "vCPUs", 12_288, True)
    assert (row.available, row.limit_name) == (None, "eks.quota.p")
    assert (row.path, row.cluster) == ("main.tf", "eks/aws_eks_cluster.main")


def test_the_quota_of_a_project_covers_all_regions(check: Check) -> None:
    text = 'resource "google_container_cluster" "main" {\n  name = "train"\n  location = "us-central1"\n  initial_node_count = 16\n}\n'
    scopes = {row.key: row.scope for row in rows_of(check({"main.tf": text})).uses}
    assert (scopes["CPUS"], scopes["CPUS_ALL_REGIONS"]) == (IN_REGION, IN_ACCOUNT)


def test_a_quota_of_each_cluster_is_not_shared(uses: Callable[..., dict[str, UseRow]]) -> None:
    text = 'resource "alicloud_cs_managed_kubernetes" "main" {\n  name = "train"\n}\n'
    text += 'resource "alicloud_cs_kubernetes_node_pool" "gpu" {\n  cluster_id = alicloud_cs_managed_kubernetes.main.id\n  desired_size = 8\n  instance_types = ["ecs.g7.xlarge"]\n}\n'
    assert uses(text)["quota"].key == "q_ecs_enterprise_postpay_c"


def test_the_settings_of_a_repository_can_give_the_quota(uses: Callable[..., dict[str, UseRow]]) -> None:
    assert uses(CLUSTER % ("", ""), Config(limits={"eks.quota.p": 20_000}))["quota"].available == 20_000


def test_an_unknown_pool_makes_the_use_a_lower_bound(uses: Callable[..., dict[str, UseRow]]) -> None:
    more = 'variable "n" {}\n' + GROUP.replace('"gpu"', '"more"').replace("MOST", "var.n") % ""
    row = uses(CLUSTER % ("", "") + more)["quota"]
    assert (row.needed, row.is_exact) == (12_288, False)


def test_a_cluster_without_nodes_takes_nothing_of_a_shared_limit(uses: Callable[..., dict[str, UseRow]]) -> None:
    assert uses((CLUSTER % ("", INSIDE) + NETWORK).replace("max_size = 64", "max_size = 0")) == {}


def test_address_units_are_keyed_by_the_network_in_the_code(uses: Callable[..., dict[str, UseRow]]) -> None:
    row = uses(NETWORK + CLUSTER % (f"vpc_config {{\n    {INSIDE}\n  }}", INSIDE))["address-units"]
    assert (row.key, row.scope, row.needed, row.is_exact) == ("eks/aws_vpc.main", IN_REPOSITORY, 6_464, True)
    assert (row.available, row.limit_name) == (64_000, "eks.vpc.address_units")


def test_the_network_is_found_from_the_subnets_of_pools(uses: Callable[..., dict[str, UseRow]]) -> None:
    row = uses(NETWORK + CLUSTER % ("", INSIDE))["address-units"]
    assert (row.key, row.scope) == ("eks/aws_vpc.main", IN_REPOSITORY)


def test_address_units_are_keyed_by_a_written_network_id(uses: Callable[..., dict[str, UseRow]]) -> None:
    network = NETWORK.replace("aws_vpc.main.id", '"vpc-0a1b2c3d"')
    row = uses(network + CLUSTER % (f"vpc_config {{\n    {INSIDE}\n  }}", INSIDE))["address-units"]
    assert (row.key, row.scope) == ("vpc-0a1b2c3d", EVERYWHERE)


def test_address_units_of_an_unknown_network_have_no_key(uses: Callable[..., dict[str, UseRow]]) -> None:
    assert uses(CLUSTER % ("", ""))["address-units"].key == ""


def test_address_prefixes_take_no_units_for_pods(uses: Callable[..., dict[str, UseRow]]) -> None:
    addon = """
resource "aws_eks_addon" "cni" {
  cluster_name         = aws_eks_cluster.main.name
  addon_name           = "vpc-cni"
  configuration_values = jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } })
}
"""
    assert "address-units" not in uses(addon + CLUSTER % ("", ""))


def test_pulls_are_keyed_by_the_network_of_the_gateways(uses: Callable[..., dict[str, UseRow]]) -> None:
    row = uses(NETWORK + CLUSTER % ("", INSIDE), job=JOB)["docker-hub"]
    assert (row.key, row.scope, row.needed, row.is_exact) == ("eks/aws_vpc.main", IN_REPOSITORY, 48, True)
    assert row.available == 200
    assert row.path == "job.yaml"


def test_pulls_are_shared_though_the_number_of_gateways_is_unknown(uses: Callable[..., dict[str, UseRow]]) -> None:
    assert uses(CLUSTER % ("", ""), job=JOB)["docker-hub"].available is None


def test_pulls_of_a_cluster_with_its_own_addresses_have_its_key(uses: Callable[..., dict[str, UseRow]]) -> None:
    text = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  location = "eastus"
  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D8s_v5"
    node_count = 64
  }
}
"""
    row = uses(text, job=JOB)["docker-hub"]
    assert (row.key, row.scope, row.available) == ("aks/azurerm_kubernetes_cluster.main", IN_REPOSITORY, 100)


def test_google_nat_gateways_are_counted_per_region(uses: Callable[..., dict[str, UseRow]]) -> None:
    text = """
resource "google_compute_network" "main" {
  name = "main"
}

resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  network       = google_compute_network.main.id
  ip_cidr_range = "10.0.0.0/20"
}

resource "google_container_cluster" "main" {
  name               = "train"
  location           = "us-central1"
  subnetwork         = google_compute_subnetwork.nodes.id
  initial_node_count = 16
  private_cluster_config {
    enable_private_nodes = true
  }
}
"""
    row = uses(text, job=JOB)["docker-hub"]
    assert (row.key, row.scope) == ("gke/google_compute_network.main us-central1", IN_REPOSITORY)


def test_nodes_with_public_addresses_share_no_pulls(uses: Callable[..., dict[str, UseRow]]) -> None:
    text = 'resource "google_container_cluster" "main" {\n  name = "train"\n  location = "us-central1"\n  initial_node_count = 16\n}\n'
    assert "docker-hub" not in uses(text, job=JOB)


TEMPLATE = """
resource "aws_launch_template" "gpu" {
  capacity_reservation_specification {
    capacity_reservation_target {
      capacity_reservation_id = %s
    }
  }
}

resource "aws_ec2_capacity_reservation" "gpu" {
  instance_count = 48
}
"""
TEMPLATED = "launch_template {\n    id = aws_launch_template.gpu.id\n  }"


@pytest.mark.parametrize(
    ("reservation", "key", "scope", "limit"),
    [
        ('"cr-0123456789abcdef0"', "cr-0123456789abcdef0", EVERYWHERE, None),
        ("aws_ec2_capacity_reservation.gpu.id", ".:aws_ec2_capacity_reservation.gpu", IN_REPOSITORY, 48),
        ('"RESERVATION"', "RESERVATION", IN_REGION, None),
        ("var.reservation", "", IN_REPOSITORY, None),
        ('"cr-${var.reservation}"', "", IN_REPOSITORY, None),
    ],
)
def test_reservations_are_shared_limits(
    uses: Callable[..., dict[str, UseRow]], reservation: str, key: str, scope: str, limit: int | None
) -> None:
    text = 'variable "reservation" {}\n' + TEMPLATE % reservation + CLUSTER % ("", TEMPLATED)
    row = uses(text)["reservation"]
    assert (row.key, row.scope, row.needed, row.is_exact, row.available) == (key, scope, 64, True, limit)


def test_a_group_of_reservations_is_one_for_each_machine_type(check: Check) -> None:
    pool = """
resource "azurerm_kubernetes_cluster_node_pool" "{name}" {{
  name                          = "{name}"
  kubernetes_cluster_id         = azurerm_kubernetes_cluster.main.id
  vm_size                       = "{machine}"
  node_count                    = 8
  capacity_reservation_group_id = azurerm_capacity_reservation_group.gpu.id
}}

resource "azurerm_capacity_reservation" "{name}" {{
  name                          = "{name}"
  capacity_reservation_group_id = azurerm_capacity_reservation_group.gpu.id
  sku {{
    name     = "{machine}"
    capacity = {size}
  }}
}}
"""
    text = 'resource "azurerm_capacity_reservation_group" "gpu" {\n  name = "gpu"\n}\n'
    text += 'resource "azurerm_kubernetes_cluster" "main" {\n  name = "train"\n}\n'
    text += pool.format(name="a", machine="Standard_ND96asr_v4", size=4)
    text += pool.format(name="b", machine="Standard_D8s_v5", size=12)
    found = rows_of(check({"main.tf": text})).uses
    group = ".:azurerm_capacity_reservation_group.gpu"
    assert {row.key: (row.needed, row.available) for row in found if row.kind == "reservation"} == {
        f"{group} Standard_ND96asr_v4": (8, 4), f"{group} Standard_D8s_v5": (8, 12),
    }  # fmt: skip


def test_clusters_carry_their_account_and_region(check: Check) -> None:
    provider = 'provider "aws" {\n  region = "us-east-1"\n  allowed_account_ids = ["111122223333"]\n}\n'
    (row,) = rows_of(check({"main.tf": provider + CLUSTER % ("", "")})).clusters
    assert (row.account, row.region, row.name, row.is_named) == ("111122223333", "us-east-1", "train", True)
    (row,) = rows_of(check({"main.tf": CLUSTER.replace('"train"', "var.name") % ("", "")})).clusters
    assert (row.account, row.region, row.name, row.is_named) == ("", "", "aws_eks_cluster.main", False)
