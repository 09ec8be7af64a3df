"""Test prices of nodes: from the user, else from the price list, else unknown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config, Environment
from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.machines import Price
from kcheck.engine import linter
from kcheck.inventory import reader
from kcheck.scale import money
from kcheck.scale.money import Rate
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.units import dollars, shown
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

EKS = """
resource "aws_eks_cluster" "main" {
  name = "main"
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  %s
  scaling_config {
    min_size = 2
    max_size = 9
  }
}
"""
GKE = """
resource "google_container_cluster" "main" {
  name               = "main"
  location           = "europe-west4-a"
  initial_node_count = 1
}
resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.main.name
  autoscaling {
    min_node_count = 0
    max_node_count = 90
  }
  node_config {
    %s
  }
}
"""
AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "main"
  default_node_pool {
    name       = "system"
    node_count = 3
    vm_size    = "Standard_D4s_v5"
  }
  auto_scaler_profile {
    scale_down_unneeded = "10m"
  }
}
"""
POOL = """
resource "azurerm_kubernetes_cluster_node_pool" "p%s" {
  name                  = "p%s"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = %s
  vm_size               = "%s"
}
"""
T4 = """
    machine_type = "n1-standard-8"
    guest_accelerator {
      type  = "%s"
      count = %s
    }
"""


@pytest.fixture
def built(write: Write) -> Callable[..., World]:
    def build(code: str, config: Config | None = None) -> World:
        write({"main.tf": code})
        settings = config or Config()
        return World(reader.read(Tree(["."]), settings).inventory, settings)

    return build


def price(world: World, name: str = "gpu") -> Price | None:
    return world.numbers.price(next(pool for pool in world.inventory.pools if pool.display_name == name))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (EKS % 'instance_types = ["p5.48xlarge"]', Price(55_040, "p5.48xlarge", "on demand", "us-east-1")),
        # the cheapest of those that are listed
        (EKS % 'instance_types = ["p5.48xlarge", "p4d.24xlarge", "p5e.48xlarge"]', Price(21_958, "p4d.24xlarge", "on demand", "us-east-1")),
        # the list of EKS has no price of spot, and says so
        (EKS % 'capacity_type = "SPOT"\n  instance_types = ["p5.48xlarge"]', Price(55_040, "p5.48xlarge", "on demand, no spot price known", "us-east-1")),
        (EKS % 'instance_types = ["p5e.48xlarge"]', None),
        (EKS % "instance_types = var.types", None),
        # types that the region does not sell have the price of another one
        (GKE % 'machine_type = "a3-megagpu-8g"', Price(92_938, "a3-megagpu-8g", "on demand", "us-east4 for europe-west4")),
        (GKE % 'machine_type = "a3-megagpu-8g"\n    spot = true', Price(23_275, "a3-megagpu-8g", "spot", "us-east4 for europe-west4")),
        (GKE % 'machine_type = "a3-highgpu-8g"', Price(112_540, "a3-highgpu-8g", "on demand", "europe-west4")),
        (GKE % 'machine_type = "a3-highgpu-8g"\n    spot = true', Price(44_119, "a3-highgpu-8g", "spot", "europe-west4")),
        # a GPU that is part of the machine is in its price, one that is attached is not
        (GKE % (T4 % ("nvidia-tesla-t4", 2)), Price(1_080, "n1-standard-8 with 2 nvidia-tesla-t4", "on demand", "us-central1 for europe-west4")),
        (GKE % (T4 % ("nvidia-tesla-t4", 2)).replace("n1-standard-8", "a2-highgpu-1g"), Price(3_748, "a2-highgpu-1g", "on demand", "europe-west4")),
        (GKE % (T4 % ("nvidia-tesla-t5", 2)), None),
        (GKE % (T4 % ("nvidia-tesla-t4", "var.gpus")), None),
        (AKS + POOL % (1, 1, 9, "Standard_ND96ISR_H100_v5"), Price(98_320, "Standard_ND96ISR_H100_v5", "on demand", "westus2")),
    ],
)  # fmt: skip
def test_a_pool_has_the_list_price_of_its_machine(
    code: str, expected: Price | None, built: Callable[..., World]
) -> None:
    assert price(built(code), "p1" if "azurerm" in code else "gpu") == expected


@pytest.mark.parametrize(
    ("region", "of"),
    [
        ("us-central1", "us-central1"),
        ("europe-west4", "europe-west4"),
        ("europe-west9", "europe-west4 for europe-west9"),
        ("", "us-central1"),
    ],
)
def test_prices_come_from_the_region_or_the_nearest_known_region(region: str, of: str) -> None:
    found = machines.price("gke", "n2-standard-8", spot=False, region=region)
    assert found is not None
    assert found.region == of


def test_prices_differ_by_region() -> None:
    own, other = (
        machines.price("aks", "Standard_ND96isr_H100_v5", spot=False, region=one) for one in ("westeurope", "westus2")
    )
    assert own is not None
    assert other is not None
    assert (own.region, other.region) == ("westeurope", "westus2")
    assert own.mills > other.mills


def test_a_pool_of_a_module_is_priced_with_its_accelerators(built: Callable[..., World]) -> None:
    code = """
module "gke" {
  source     = "terraform-google-modules/kubernetes-engine/google"
  version    = "~> 36.0"
  project_id = "p"
  name       = "main"
  region     = "europe-west4"
  zones      = ["europe-west4-a"]
  network    = "net"
  subnetwork = "nodes"
  node_pools = [{
    name              = "gpu"
    machine_type      = "n1-standard-8"
    accelerator_count = 4
    accelerator_type  = "nvidia-tesla-v100"
  }]
}
"""
    assert price(built(code)) == Price(
        10_300, "n1-standard-8 with 4 nvidia-tesla-v100", "on demand", "us-central1 for europe-west4"
    )


def test_the_price_given_by_the_user_overrides_the_list_price(built: Callable[..., World]) -> None:
    code = EKS % 'instance_types = ["p5.48xlarge"]'
    assert price(built(code, Config(price=9_800))) == Price(98_000)
    environment = Environment(".", price=150)
    assert price(built(code, Config(price=9_800, environments=(environment,)))) == Price(1_500)


def test_one_node_has_the_list_price_or_the_given_price(built: Callable[..., World]) -> None:
    def rate(config: Config) -> object:
        world = built(EKS % 'instance_types = ["p5.48xlarge"]', config)
        (pool,) = world.inventory.pools
        return known(money.rate(pool, world))

    assert rate(Config()) == Rate(1, 55_040, "p5.48xlarge", "on demand", "us-east-1")
    assert rate(Config(price=9_800)) == Rate(1, 98_000, None, "", "")


@pytest.mark.parametrize(
    ("types", "hours", "paid", "rates"),
    [
        (["NC4as_T4_v3"], "1.5 node-hours", "$0.79", [(9, "NC4as_T4_v3", 526)]),
        (["D4s_v5", "ND96isr_H100_v5"], "3 node-hours", "$148", [(9, "ND96isr_H100_v5", 98_320), (9, "D4s_v5", 192)]),
        (["ND96isr_H100_v5", "X"], "3 node-hours", "$147", [(9, "ND96isr_H100_v5", 98_320)]),
        (["X"], "1.5 node-hours", None, []),
    ],
)  # fmt: skip
def test_the_cost_of_several_pools_is_added_up(
    types: list[str], hours: str, paid: str | None, rates: list[tuple[int, str, int]],
    built: Callable[..., World],
) -> None:  # fmt: skip
    world = built(AKS + "".join(POOL % (i, i, 9, f"Standard_{name}") for i, name in enumerate(types)))
    found = money.cost([(pool, 9) for pool in world.inventory.pools if pool.display_name != "system"], world, 600)
    assert shown(found.node_time, "node-seconds") == hours
    assert (None if found.money is None else shown(found.money, "mills")) == paid
    assert [(rate.nodes, (rate.machine or "").removeprefix("Standard_"), rate.money) for rate in found.rates] == rates


@pytest.mark.slow
def test_waste_counts_only_growing_pools(write: Write) -> None:
    write({"main.tf": AKS + POOL % (1, 1, 600, "Standard_ND96isr_H100_v5")})
    (finding,) = [f for f in linter.run(Tree(["."]), Config()).findings if f.rule == "idle-nodes-kept-long"]
    # ten minutes less five on 600 nodes are 50 node-hours, and a little for what waits behind them
    text = "\n".join(finding.details)
    saved = re.search(
        r"(\d+) to (\d+) node-hours of a 10 min run on 600 nodes \(simulated\)\n\$(.*) to \$(.*) per run", text
    )
    assert saved, text
    least, most, *dollars = (int(one.replace(",", "")) for one in saved.groups())
    assert 45 <= least <= 60
    assert dollars == [pytest.approx(hours * 98.32, rel=0.02) for hours in (least, most)]
    assert "600 nodes of Standard_ND96isr_H100_v5 at $98.32 per node-hour (on demand, westus2)" in text


@pytest.mark.parametrize(
    ("mills", "expected"), [(5_000_000, "5,000"), (55_040, "55.04"), (5_000, "5"), (145, "0.14"), (123_456, "123")]
)
def test_prices_in_mills_are_formatted_as_dollars(mills: int, expected: str) -> None:
    assert dollars(mills) == expected


def test_a_list_in_another_currency_is_counted_in_dollars() -> None:
    own = profiles.prices("ack")
    assert own is not None
    assert (own.currency, own.region) == ("CNY", "cn-hangzhou")
    found = machines.price("ack", "ecs.gn7e-c16g1.4xlarge", spot=False, attached=(0, ""))
    assert found == Price(round(34_742 / own.rate), "ecs.gn7e-c16g1.4xlarge", "on demand", "cn-hangzhou")


def test_a_price_from_another_region_names_both_regions() -> None:
    regions = ("", "us-east-1", "eu-central-1")
    found = [machines.price("eks", "p3.2xlarge", spot=False, region=region) for region in regions]
    assert [one and one.region for one in found] == ["us-east-1", "us-east-1", "us-east-1 for eu-central-1"]
    own = machines.price("aks", "Standard_D4s_v5", spot=False, region="westeurope")
    assert own is not None
    assert own.region == "westeurope"


def test_an_eks_cluster_has_the_region_of_its_provider(built: Callable[..., World]) -> None:
    provider = 'provider "aws" {\n  region = "eu-central-1"\n}\n'
    found = price(built(provider + EKS % 'instance_types = ["p3.2xlarge"]'))
    assert found is not None
    assert found.region == "us-east-1 for eu-central-1"


@pytest.mark.parametrize(
    ("region", "mills", "text"),
    [
        ("eu-north-1", 58_893, "eu-north-1"),
        ("us-west-2", 55_040, "us-west-2"),
        ("eu-west-3", 71_552, "eu-west-2 for eu-west-3"),
    ],
)
def test_a_gpu_machine_of_eks_has_the_price_of_its_region_or_the_nearest(region: str, mills: int, text: str) -> None:
    found = machines.price("eks", "p5.48xlarge", spot=False, region=region)
    assert found == Price(mills, "p5.48xlarge", "on demand", text)
