"""Test walls: the nodes at each limit, the stories of the first article, and what holds of all walls."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import kcheck
from kcheck.commands.cli import cli
from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.model import Surge
from kcheck.scale.growth import CEILING, Demand, Growth, Trial, largest, reach, short
from kcheck.scale.walls import limits
from kcheck.text.amount import Amount
from tests.output_schemas import check_all_fields
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.conftest import Write

EXAMPLES = ROOT / "examples"

AKS = """
resource "azurerm_subnet" "nodes" {{
  name             = "nodes"
  address_prefixes = ["10.1.0.0/{prefix}"]
}}

resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
  sku_tier = "{tier}"

  default_node_pool {{
    name           = "system"
    node_count     = {nodes}
    vnet_subnet_id = azurerm_subnet.nodes.id
    upgrade_settings {{ max_surge = "1" }}
  }}

  network_profile {{
    network_plugin = "{plugin}"
    pod_cidr       = {cidr}
  }}
}}
"""
EKS = """
resource "aws_vpc" "main" {{
  cidr_block = "10.0.0.0/16"
}}

resource "aws_subnet" "nodes" {{
  vpc_id     = aws_vpc.main.id
  cidr_block = "10.0.0.0/{prefix}"
}}

resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_eks_node_group" "cpu" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "cpu"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = {types}

  scaling_config {{
    min_size     = 0
    max_size     = {nodes}
    desired_size = 0
  }}

  update_config {{
    update_strategy = "MINIMAL"
  }}
}}
"""
GKE = """
resource "google_compute_subnetwork" "nodes" {{
  name          = "nodes"
  network       = "train"
  ip_cidr_range = "10.0.0.0/{prefix}"

  secondary_ip_range {{
    range_name    = "pods"
    ip_cidr_range = "172.16.0.0/{pods}"
  }}
}}

resource "google_container_cluster" "train" {{
  name                      = "train"
  location                  = "{location}"
  subnetwork                = google_compute_subnetwork.nodes.id
  remove_default_node_pool  = true
  initial_node_count        = 1
  default_max_pods_per_node = {max_pods}

  ip_allocation_policy {{
    cluster_secondary_range_name = "pods"
  }}
}}

resource "google_container_node_pool" "cpu" {{
  name    = "cpu"
  cluster = google_container_cluster.train.name

  autoscaling {{
    total_max_node_count = {nodes}
  }}

  upgrade_settings {{
    max_surge = 0
  }}
}}
"""


ACK = """
resource "alicloud_vswitch" "nodes" {
  vpc_id     = "vpc-1"
  cidr_block = "10.0.0.0/24"
}

resource "alicloud_cs_managed_kubernetes" "main" {
  cluster_spec = "ack.pro.small"
  pod_cidr     = "172.16.0.0/12"
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  vswitch_ids    = [alicloud_vswitch.nodes.id]
  instance_types = ["ecs.gn7i-c32g1.8xlarge"]
  scaling_config {
    max_size = 900
  }
}
"""


@pytest.fixture
def capacity(write: Write) -> Callable[..., dict[str, Any]]:
    """Return a function that writes files and returns their only cluster, with its walls, from `kcheck capacity`."""

    def run(text: str, *arguments: str, **more: str) -> dict[str, Any]:
        write({"main.tf": text, **more})
        result = CliRunner().invoke(cli, ["capacity", ".", "--format", "json", *arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        clusters: list[dict[str, Any]] = json.loads(result.stdout)["clusters"]
        assert len(clusters) == 1
        return clusters[0]

    return run


def at(cluster: dict[str, Any], mechanism: str) -> Any:
    """Return the number of nodes at the wall of a mechanism."""
    return next((wall["nodes"] for wall in cluster["walls"] if wall["mechanism"] == mechanism), "no such wall")


def aks(**values: Any) -> str:
    base = {"prefix": 16, "tier": "Standard", "nodes": 3, "plugin": "azure", "cidr": "null"}
    return AKS.format(**base | values)


def eks(**values: Any) -> str:
    return EKS.format(**{"prefix": 16, "types": '["m5.large"]', "nodes": 100} | values)


def gke(**values: Any) -> str:
    return GKE.format(**{"prefix": 16, "pods": 11, "location": "us-central1", "max_pods": 110, "nodes": 100} | values)


@pytest.mark.parametrize(
    ("text", "mechanism", "nodes"),
    [
        (aks(prefix=24), "subnet", 7),  # a /24 with an address for each of 30 pods, one node for surge
        (aks(prefix=24, plugin="kubenet"), "subnet", 250),
        (aks(plugin="kubenet"), "kubenet-routes", 399),
        (aks(plugin="kubenet", cidr='"10.244.0.0/16"'), "pod-range", 255),  # 256 blocks, one for surge
        (aks(nodes=1000), "pool-limit", 999),  # 1,000 machines, one for surge
        (aks(), "cluster-limit", 5000),
        (aks(tier="Free"), "cluster-limit", 1000),
        (aks(tier="Free"), "control-plane", 10),
        (eks(prefix=24), "subnet", 12),
        (eks(prefix=24, types='["p5.48xlarge"]'), "subnet", 2),
        (eks(nodes=900), "pool-quota", 450),
        (gke(prefix=24), "subnet", 252),
        (ACK, "subnet", 252),
        (gke(pods=14), "pod-range", 1024),
        (gke(pods=16), "pod-range", 256),
        (gke(pods=11), "pod-range", 8192),
        (gke(pods=16, max_pods=16), "pod-range", 2048),
        (gke(pods=10, max_pods=16, prefix=9), "pod-range", 131072),  # Google's cluster of 65,000 nodes
        (gke(nodes=4000), "pool-limit", 3000),
        (gke(nodes=1000, location="us-central1-a"), "pool-limit", 1000),
        (gke(location="us-central1-a"), "control-plane", 2000),
        (gke(nodes=4000), "pods", "no such wall"),  # 200,000 pods, one on each of 15,000 nodes
        (gke(), "cluster-limit", 15000),
    ],
)
def test_the_node_count_of_each_wall_is_computed(
    text: str, mechanism: str, nodes: int, capacity: Callable[..., dict[str, Any]]
) -> None:
    assert at(capacity(text), mechanism) == nodes


@pytest.mark.medium
def test_walls_are_in_order_and_the_sentence_names_the_first(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(eks(prefix=22, nodes=1000))
    numbers = [wall["nodes"] for wall in cluster["walls"] if wall["mechanism"] != "quota"]
    assert numbers == sorted(numbers)
    assert (cluster["target"], cluster["reaches"]) == (1000, 50)
    assert cluster["summary"] == (
        "train reaches 50 of the 1,000 nodes its pools may have; the first wall is the address space of subnet "
        "aws_subnet.nodes."
    )
    first = cluster["walls"][0]
    assert first["arithmetic"] == "10.0.0.0/22 has 1,019 usable addresses; cpu 50 x 20 = 1,000"
    assert (first["path"], first["line"], first["kind"]) == ("main.tf", 8, "hard")
    assert first["source"].startswith("https://")


def test_a_range_too_small_for_one_node_says_what_a_node_needs(capacity: Callable[..., dict[str, Any]]) -> None:
    first = capacity(eks(prefix=26, types='["p5.48xlarge"]'))["walls"][0]
    assert (first["nodes"], first["arithmetic"]) == (0, "10.0.0.0/26 has 59 usable addresses, a node takes 100")


def test_the_capacity_text_fits_a_terminal() -> None:
    text = CliRunner().invoke(cli, ["capacity", str(EXAMPLES / "gke-training")]).output
    assert "control plane of the cluster" in text
    assert [line for line in text.splitlines() if len(line) > 100 and len(line.split()) > 1 and "/" not in line] == []


def test_the_written_maximum_is_a_wall_if_the_target_is_larger(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(gke(nodes=300), "--nodes", "1000")
    assert cluster["reaches"] == 300
    assert "300 of the 1,000 nodes you ask for; the first wall is the written maximum" in cluster["summary"]
    assert capacity(gke(nodes=300))["reaches"] == 300


def test_pools_of_size_0_are_named(capacity: Callable[..., dict[str, Any]]) -> None:
    wall = next(one for one in capacity(gke(nodes=0), "--nodes", "9")["walls"] if one["mechanism"] == "maximum")
    assert wall["arithmetic"] == "cpu 0 = 0"


def test_a_pool_of_unknown_size_takes_the_remaining_nodes(capacity: Callable[..., dict[str, Any]]) -> None:
    text = 'variable "most" {\n  type = number\n}\n' + eks(prefix=22, nodes="var.most")
    cluster = capacity(text)
    assert (cluster["target"], cluster["reaches"]) == (None, None)
    assert cluster["summary"].startswith("Not known: written maximum of the pools (var.most has no value). ")
    assert cluster["summary"].endswith(
        " reaches at most 50 nodes; the first known wall is the address space of subnet aws_subnet.nodes."
    )
    assert at(cluster, "maximum") is None
    assert any("var.most has no value" in wall["arithmetic"] for wall in cluster["walls"])


def test_an_unknown_instance_type_gives_bounds(capacity: Callable[..., dict[str, Any]]) -> None:
    text = 'variable "type" {\n  type = string\n}\n' + eks(prefix=24, types="[var.type]", nodes=900)
    wall = next(w for w in capacity(text)["walls"] if w["mechanism"] == "subnet")
    assert (wall["nodes"], wall["at_least"], wall["at_most"], wall["before_target"]) == (None, 0, 251, True)
    wall = next(w for w in capacity(text, "--nodes", "200")["walls"] if w["mechanism"] == "subnet")
    assert wall["before_target"] is None


def test_the_summary_says_that_a_wall_is_undecided(capacity: Callable[..., dict[str, Any]]) -> None:
    text = 'variable "type" {\n  type = string\n}\n' + eks(prefix=24, types="[var.type]", nodes=200)
    summary = capacity(text)["summary"]
    assert summary.startswith("Not known: address space of subnet aws_subnet.nodes (var.type has no value). ")
    assert "may reach the 200 nodes its pools may have; the first known wall is" in summary


@pytest.mark.parametrize("given", ["var.subnets", "data.aws_subnets.all.ids", "module.vpc.private_subnets"])
def test_subnets_outside_the_code_are_an_unknown_wall(given: str, capacity: Callable[..., dict[str, Any]]) -> None:
    there = (
        'variable "subnets" {}\ndata "aws_subnets" "all" {}\nmodule "vpc" {\n  source = "git::https://x.test/vpc"\n}\n'
    )
    cluster = capacity(there + eks(nodes=200).replace("[aws_subnet.nodes.id]", given))
    wall = next(wall for wall in cluster["walls"] if wall["scope"] == "the subnets of pool cpu")
    assert (wall["nodes"], wall["before_target"], cluster["reaches"]) == (None, None, None)
    assert cluster["summary"].startswith("Not known: address space of the subnets of pool cpu (")
    options = ["check", ".", "--select", "subnet-too-small", "--fail-on", "undecided"]
    result = CliRunner().invoke(cli, options, catch_exceptions=False)
    assert (result.exit_code, "1 check undecided" in result.stdout) == (1, True)


def test_mixed_machine_types_give_a_range_of_nodes(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(eks(prefix=24, types='["m5.large", "g5.xlarge"]'))
    wall = cluster["walls"][0]
    assert (wall["at_least"], wall["at_most"]) == (8, 12)
    assert "reaches at least 8 of the " in cluster["summary"]
    assert cluster["summary"].endswith("the first wall is the address space of subnet aws_subnet.nodes, at 8 to 12.")
    assert wall["arithmetic"].startswith("10.0.0.0/24 has 251 usable addresses, a node takes 20 to 30")


def test_a_raised_quota_moves_the_wall_and_a_hard_limit_does_not(capacity: Callable[..., dict[str, Any]]) -> None:
    settings = "limits:\n  eks.pool.quota:\n    value: 1000\n    reason: case 42\n"
    assert at(capacity(eks(nodes=900), **{"kcheck.yaml": settings}), "pool-quota") == 1000
    hard = settings.replace("eks.pool.quota", "aks.kubenet.nodes")
    with pytest.raises(AssertionError, match="is a hard limit of 400 nodes; nobody can raise it"):
        capacity(aks(plugin="kubenet"), **{"kcheck.yaml": hard})


@pytest.mark.parametrize(("nodes", "first", "other", "full"), [(1000, 25, 25, 50), (10, 49, 0, 50)])
def test_clusters_that_share_a_subnet_grow_together(
    nodes: int, first: int, other: int, full: int, write: Write, capacity: Callable[..., dict[str, Any]]
) -> None:
    """1,019 addresses hold 50 nodes: each cluster gets a share by its target, as in `check`."""
    second = eks(nodes=nodes).split('resource "aws_eks_cluster"')[1]
    more = f'resource "aws_eks_cluster"{second}'.replace('"main"', '"more"').replace('"cpu"', '"gpu"')
    more = more.replace("aws_eks_cluster.main", "aws_eks_cluster.more").replace('"train"', '"other"')
    write({"main.tf": eks(prefix=22, nodes=1000) + more})
    output = CliRunner().invoke(cli, ["capacity", ".", "--format", "json"]).stdout
    assert [at(one, "subnet") for one in json.loads(output)["clusters"]] == [first, other]
    assert f"full at {full} of {1000 + nodes:,} nodes" in CliRunner().invoke(cli, ["check", "."]).stdout


STANDING = """
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "us-central1-a"
  remove_default_node_pool = true
  initial_node_count       = 1

  cluster_autoscaling {
    enabled = true

    resource_limits {
      resource_type = "cpu"
      maximum       = 20
    }
  }
}

resource "google_container_node_pool" "cpu" {
  name       = "cpu"
  cluster    = google_container_cluster.train.name
  node_count = 8

  node_config {
    machine_type = "n2-standard-4"
  }
}
"""


def test_existing_nodes_stay_below_a_core_limit(capacity: Callable[..., dict[str, Any]]) -> None:
    """Eight nodes of four cores exist, whatever auto-provisioning may add; `check` agrees."""
    assert at(capacity(STANDING, "--nodes", "100"), "autoscaling") == 8
    assert "limits allow 8 of 100 nodes" in CliRunner().invoke(cli, ["check", ".", "--nodes", "100"]).stdout


def test_a_cluster_without_pools_does_not_reach_the_target(write: Write) -> None:
    write({"main.tf": eks().split('resource "aws_eks_node_group"')[0]})
    run = CliRunner().invoke(cli, ["capacity", ".", "--nodes", "500", "--format", "json"])
    (cluster,) = json.loads(run.stdout)["clusters"]
    begin = "Not known: address space of the nodes (none of its node pools is in this code). train may reach the 500"
    assert (cluster["reaches"], cluster["summary"][: len(begin)]) == (None, begin)


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_capacity_formats_for_people_name_the_numbers_and_places(format_: str, write: Write) -> None:
    write({"main.tf": eks(prefix=22, nodes=1000)})
    output = (
        CliRunner().invoke(cli, ["capacity", ".", "--format", format_, "--nodes", "500"]).stdout.replace("\\_", "_")
    )
    for part in ("50", "address space of subnet aws_subnet.nodes", "cpu 50 x 20", "main.tf:8", "450", "you ask for"):
        assert part in output


def test_capacity_says_that_there_is_no_cluster(write: Write) -> None:
    write({"main.tf": 'resource "null_resource" "a" {}\n'})
    result = CliRunner().invoke(cli, ["capacity", "."])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no cluster" in result.stderr


# --- what must hold

SIZES = st.lists(st.integers(0, 3000), min_size=1, max_size=5)
FLAGS = st.lists(st.booleans(), min_size=5, max_size=5)


@given(SIZES, FLAGS, st.lists(st.integers(0, 50), min_size=5, max_size=5), st.integers(0, 20_000), st.integers(1, 200))
def test_pools_never_shrink_as_the_cluster_grows(
    maxima: list[int], grows: list[bool], minima: list[int], nodes: int, more: int
) -> None:
    growth = Growth(tuple(maxima), tuple(grows[: len(maxima)]), tuple(minima[: len(maxima)]))
    fewer, many = growth.sizes(nodes), growth.sizes(nodes + more)
    assert sum(fewer) == nodes
    assert all(a <= b for a, b in zip(fewer, many, strict=True))


def reached(sizes: Sequence[int], per_node: Sequence[int], room: int) -> int:
    """Return the number of nodes at which pools that share a subnet fill it."""

    def fits(nodes: list[int]) -> bool:
        return sum(n * each for n, each in zip(nodes, per_node, strict=True)) <= room

    return largest(fits, Growth(tuple(sizes), (True,) * len(sizes)).sizes)


@given(SIZES, st.integers(1, 200), st.integers(0, 70_000))
def test_pools_sharing_a_subnet_reach_as_far_as_one_pool_of_their_sum(
    sizes: list[int], per_node: int, room: int
) -> None:
    assert reached(sizes, [per_node] * len(sizes), room) == reached([sum(sizes)], [per_node], room) == room // per_node


@given(SIZES, st.lists(st.integers(1, 200), min_size=5, max_size=5), st.integers(0, 70_000), st.integers(0, 5000))
def test_more_addresses_never_lower_a_wall_and_more_pods_never_raise_it(
    sizes: list[int], per_node: list[int], room: int, more: int
) -> None:
    each = per_node[: len(sizes)]
    wall = reached(sizes, each, room)
    assert reached(sizes, each, room + more) >= wall
    assert reached(sizes, [number + more for number in each], room) <= wall


@pytest.mark.medium
@given(SIZES, st.data(), st.integers(1, 200), st.integers(0, 200), st.integers(0, 70_000))
def test_ranges_contain_the_exact_number(sizes: list[int], data: st.DataObject, low: int, more: int, room: int) -> None:
    """For any hidden sizes and demands, the wall lies between the bounds computed without them."""
    pools = range(len(sizes))
    hidden = data.draw(st.sets(st.sampled_from(pools)))
    surges = data.draw(st.lists(st.integers(0, 5), min_size=len(sizes), max_size=len(sizes)))
    each = data.draw(st.lists(st.integers(low, low + more), min_size=len(sizes), max_size=len(sizes)))

    def fits(demands: Sequence[int], empty: int = 0, times: int = 1) -> Callable[[list[int]], bool]:
        taken = [Demand("p", 0, Surge(n * times), number) for n, number in zip(surges, demands, strict=True)]
        return lambda nodes: sum(pool.addresses(max(empty, n)) for pool, n in zip(taken, nodes, strict=True)) <= room

    flags = (True,) * len(sizes)
    truth = Growth(tuple(sizes), flags)
    point = largest(fits(each), truth.sizes)
    growth = Growth(tuple(None if i in hidden else size for i, size in enumerate(sizes)), flags)
    most = fits([low + more] * len(sizes), int(bool(hidden)))
    trial = Trial(fits([low] * len(sizes), times=int(not hidden)), most, [1] * len(sizes), range(len(sizes)))
    bounds = reach(trial, growth)
    if bounds is None:
        assert point == CEILING
        return
    assert bounds.low <= point
    assert bounds.high is None or point <= bounds.high
    verdict = short(trial, growth, Amount(sum(sizes), sum(sizes)))
    assert verdict in (None, not fits(each)(sizes))


@pytest.mark.medium
@given(st.data(), SIZES, FLAGS, st.integers(0, 3000), st.sampled_from([1, 2, None]))
def test_a_wall_of_some_pools_is_found_without_the_others(
    data: st.DataObject, sizes: list[int], grows: list[bool], room: int, times: int | None
) -> None:
    pools = range(len(sizes))
    hidden = data.draw(st.sets(st.sampled_from(pools)))
    minima = tuple(data.draw(st.lists(st.integers(0, 50), min_size=len(sizes), max_size=len(sizes))))
    maxima = tuple(None if i in hidden else size for i, size in enumerate(sizes))
    growth = Growth(maxima, tuple(grows[: len(sizes)]), minima, tuple(data.draw(st.booleans()) for _ in pools))
    own = sorted(data.draw(st.sets(st.sampled_from(pools), min_size=1)))
    each = {i: data.draw(st.integers(1, 4)) for i in own}

    def trial(places: Sequence[int]) -> Trial:
        def fits(times: int) -> Callable[[list[int]], bool]:
            takes = [each.get(i, 0) * times for i in places]
            return lambda nodes: sum(n * take for n, take in zip(nodes, takes, strict=True)) <= room

        return Trial(fits(1), fits(times) if times else None, [each.get(i, 0) for i in places], places)

    assert reach(trial(own), growth) == reach(trial(pools), growth)
    target = Amount(data.draw(st.integers(0, 3000)), data.draw(st.integers(3000, 9000)))
    assert short(trial(own), growth, target) == short(trial(pools), growth, target)


@pytest.mark.parametrize(
    ("number", "other", "below"),
    [
        (Amount(5, 5), Amount(6, 6), True),
        (Amount(6, 6), Amount(6, 6), False),
        (Amount(0, 5), Amount(6, None), True),
        (Amount(7, None), Amount(6, 6), False),
        (Amount(7, None), Amount(6, None), None),
        (Amount(0, 9), Amount(6, 6), None),
    ],
)
def test_bounds_decide_a_comparison_where_they_are_clear(number: Amount, other: Amount, below: bool | None) -> None:
    assert number.below(other) is below


def test_the_quotas_needed_for_the_target_are_listed(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(eks(types='["p5.48xlarge"]', nodes=10))
    assert cluster["quotas"] == [
        {
            "code": "L-417A185B",
            "name": "Running On-Demand P instances",
            "needed": 1920,
            "exact": True,
            "unit": "vCPUs",
        }
    ]
    assert at(cluster, "quota") is None
    settings = "limits:\n  eks.quota.p:\n    value: 960\n    reason: what the console shows\n"
    assert at(capacity(eks(types='["p5.48xlarge"]', nodes=10), **{"kcheck.yaml": settings}), "quota") == 5


def test_an_account_quota_can_be_below_the_documented_node_limit(capacity: Callable[..., dict[str, Any]]) -> None:
    """ACK's documented limit is 5,000; an account's own quota is asked for, and counts once it is written."""

    def starting(cluster: dict[str, Any]) -> Any:
        return next(wall["nodes"] for wall in cluster["walls"] if wall["scope"].startswith("q_i5uzm3 "))

    assert starting(capacity(ACK)) is None
    settings = "limits:\n  ack.quota.nodes:\n    value: 100\n    reason: what DescribeUserQuota answers\n"
    assert starting(capacity(ACK, **{"kcheck.yaml": settings})) == 100


@pytest.mark.parametrize(
    ("node_config", "needed"),
    [
        ('machine_type = "a3-highgpu-8g"', {"A3": 60_000}),
        ('machine_type = "n2-standard-8"', {}),
        ('machine_type = "n2-standard-8"\n ephemeral_storage_local_ssd_config { local_ssd_count = 2 }', {"N2": 7_500}),
        ('machine_type = "n2-standard-8"\n local_nvme_ssd_block_config { local_ssd_count = 1 }', {"N2": 3_750}),
        ('machine_type = "n2-standard-8"\n local_ssd_count = 1\n spot = true', {}),
    ],
)
def test_local_ssds_count_against_the_quota_of_their_machine_family(
    node_config: str, needed: dict[str, int], capacity: Callable[..., dict[str, Any]]
) -> None:
    """Each local SSD has 375 GB, whether it belongs to the machine type or is attached."""
    pool = (
        gke(nodes=10, location="us-central1-a").rstrip().removesuffix("}") + f"node_config {{\n {node_config}\n }}\n}}"
    )
    code = "LOCAL_SSD_TOTAL_GB_PER_VM_FAMILY vm_family="
    found = {
        one["code"].removeprefix(code): (one["needed"], one["unit"])
        for one in capacity(pool)["quotas"]
        if one["code"].startswith(code)
    }
    assert found == {family: (amount, "GB") for family, amount in needed.items()}


def test_vpc_limits_interfaces_and_address_units(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(eks(types='["m5.large"]', nodes=9000))
    assert at(cluster, "interfaces") == 2500  # two interfaces with the first pod, 5,000 in the zone
    assert at(cluster, "address-units") == 3047  # twenty addresses and a second interface of 64,000


@pytest.mark.parametrize(("zones", "nodes"), [("", 7500), ("abc", 7500), ("aab", 5000), ("aaa", 2500)])
def test_interfaces_are_counted_by_zone(zones: str, nodes: int, capacity: Callable[..., dict[str, Any]]) -> None:
    """Two subnets of one zone share its quota; without zones, each subnet counts as one."""
    subnets = "".join(
        f'resource "aws_subnet" "more{i}" {{\n  cidr_block = "10.{i + 1}.0.0/16"\n'
        + (f'  availability_zone = "us-east-1{zones[i]}"\n' if zones else "")
        + "}\n"
        for i in range(3)
    )
    several = "[aws_subnet.more0.id, aws_subnet.more1.id, aws_subnet.more2.id]"
    text = eks(types='["m5.large"]', nodes=9000).replace("[aws_subnet.nodes.id]", several)
    assert at(capacity(text + subnets), "interfaces") == nodes


TERWAY = (
    ACK.replace(
        'pod_cidr     = "172.16.0.0/12"',
        """pod_vswitch_ids = [alicloud_vswitch.pods.id]
  addons {
    name = "terway-eniip"
  }""",
    )
    + """
resource "alicloud_vswitch" "pods" {
  vpc_id     = "vpc-1"
  cidr_block = "10.1.0.0/24"
}
"""
)
AGENT = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME}
spec:
  template:
    spec: {hostNetwork: HOST, containers: [{name: agent, image: quay.io/example/agent:1}]}
"""


@pytest.mark.parametrize(("agents", "bounds"), [("", (42, 252)), ("h", (42, 252)), ("hp", (36, 126)), ("pp", (31, 84))])
def test_daemon_set_pods_take_terway_addresses(
    agents: str, bounds: tuple[int, int], capacity: Callable[..., dict[str, Any]]
) -> None:
    """Of 252 addresses, each pod takes one and each node up to five idle ones.

    Pods on the host network take none.
    """
    texts = [
        AGENT.replace("NAME", f"agent{i}").replace("HOST", str(one == "h").lower()) for i, one in enumerate(agents)
    ]
    cluster = capacity(TERWAY, **{"agents.yaml": "---".join(texts)})
    wall = next(wall for wall in cluster["walls"] if wall["mechanism"] == "pod-subnet")
    assert (wall["at_least"], wall["at_most"]) == bounds


def test_gateways_and_public_addresses_take_address_units(capacity: Callable[..., dict[str, Any]]) -> None:
    """Of 64,000 units, a node of m5.large takes 21, a public address one, a NAT gateway six."""
    gateway = 'resource "aws_nat_gateway" "a" {\n  count         = 5\n  allocation_id = "eipalloc-1"\n  subnet_id     = "subnet-1"\n}\n'
    public = eks(nodes=9000).replace(
        "vpc_id     = aws_vpc.main.id", "vpc_id     = aws_vpc.main.id\n  map_public_ip_on_launch = true"
    )
    found = [at(capacity(text), "address-units") for text in (eks(nodes=9000) + gateway, public)]
    assert found == [(64_000 - 5 * 6) // 21, 64_000 // 22]


@pytest.mark.parametrize("draw", [aks, eks, gke])
def test_a_single_pool_takes_all_requested_nodes(
    draw: Callable[..., str], capacity: Callable[..., dict[str, Any]]
) -> None:
    text = draw(prefix=24)
    most = re.sub(r"(max_size|max_node_count|node_count)( +)= (?!0)\d+", r"\1\2= var.most", text)
    found = [capacity(one) for one in (text, most + 'variable "most" {\n  type = number\n}\n')]
    first, second = (at(one, "subnet") for one in found)
    assert "var.most" in most
    assert first == second


@pytest.mark.parametrize(("most", "bounds"), [("2000", (1523, 1523)), ("var.most", (0, 3047))])
def test_clusters_of_a_network_share_its_address_units(most: str, bounds: tuple[int, int], write: Write) -> None:
    """64,000 units at 21 a node: both clusters reach 1,523 of their 2,000 nodes, one alone 3,047 at most."""
    text = eks(nodes=2000)
    cluster, group = text[text.index('resource "aws_eks_cluster"') :].split("\n\n", 1)
    second = f"{cluster}\n\n{group}".replace('"main"', '"second"').replace('"train"', '"serve"')
    second = second.replace("_cluster.main", "_cluster.second").replace('_group" "cpu"', '_group" "more"')
    second = second.replace("= 2000", f"= {most}")
    write({"main.tf": f'{text}{second}variable "most" {{}}\n'})
    project = kcheck.load(".")
    first = next(one for one in project.inventory.clusters if one.address == "aws_eks_cluster.main")
    wall = next(one for one in project.capacity(first) if one.mechanism == "address-units")
    assert (wall.nodes.low, wall.nodes.high) == bounds


MANY_PODS = """
apiVersion: batch/v1
kind: Job
metadata: {name: rollouts}
spec:
  parallelism: 400000
  template:
    spec:
      containers: [{name: rollout, image: quay.io/example/rollout:1, resources: {requests: {cpu: CPU, memory: 1Gi}}}]
      restartPolicy: Never
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: logs}
spec:
  template:
    spec: {containers: [{name: logs, image: quay.io/example/logs:1}]}
"""


@pytest.mark.parametrize(
    ("plugin", "cpu", "nodes"),
    [
        ("azure", "500m", "no such wall"),  # pods take addresses of the nodes' subnet: no number is documented
        ('azure"\n    network_plugin_mode = "overlay', "500m", 200_000 // 110),  # 109 of the job, one of the DaemonSet
        ('azure"\n    network_plugin_mode = "overlay', "10", "no such wall"),  # beyond the 5,000 nodes of a cluster
    ],
)
def test_the_number_of_pods_is_a_wall(
    plugin: str, cpu: str, nodes: object, capacity: Callable[..., dict[str, Any]]
) -> None:
    code = aks(plugin=plugin).replace(
        "node_count ", 'vm_size = "Standard_D64s_v5"\n    max_pods = 110\n    node_count '
    )
    assert at(capacity(code, "--nodes", "4000", **{"job.yaml": MANY_PODS.replace("CPU", cpu)}), "pods") == nodes


PULLS = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 500
  template:
    spec:
      initContainers: [{name: wait, image: busybox}]
      containers: [{name: train, image: pytorch/pytorch:2.8.0}]
      restartPolicy: Never
"""


def test_the_docker_hub_pull_limit_is_a_wall(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(gke(nodes=600), **{"job.yaml": PULLS})
    assert at(cluster, "docker-hub") == "no such wall"  # public nodes have addresses of their own
    assert at(capacity(aks(nodes=600), **{"job.yaml": PULLS}), "docker-hub") == 50


CUSTOM = """
resource "aws_subnet" "pods" {
  vpc_id     = aws_vpc.main.id
  cidr_block = "10.0.128.0/24"
}

resource "aws_eks_addon" "cni" {
  cluster_name = aws_eks_cluster.main.name
  addon_name   = "vpc-cni"
  configuration_values = jsonencode({
    env       = { AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG = "true" }
    eniConfig = { create = true, subnets = { "eu-west-1a" = { id = aws_subnet.pods.id } } }
  })
}
"""


def test_custom_networking_puts_pods_into_separate_subnets(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(eks(prefix=24, nodes=900) + CUSTOM)
    assert at(cluster, "subnet") == 251  # one address a node
    assert at(cluster, "pod-subnet") == 12  # two interfaces of ten, the first one is not for pods


@pytest.mark.medium
def test_capacity_json_has_the_fields_of_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    examples = sorted(path.name for path in EXAMPLES.glob("*-training"))
    output = CliRunner().invoke(cli, ["capacity", *examples, "--format", "json"], catch_exceptions=False).stdout
    check_all_fields("capacity", json.loads(output))


def test_a_lower_bound_is_not_printed_as_an_upper_bound(capacity: Callable[..., dict[str, Any]]) -> None:
    more = EKS.split('resource "aws_eks_node_group"')[1].format(nodes="var.most", types='["m5.large"]', prefix=16)
    second = f'resource "aws_eks_node_group"{more}'.replace('"cpu"', '"gpu"')
    text = 'variable "most" {\n  type = number\n}\n' + eks(nodes="var.most") + second
    cluster = capacity(text)
    wall = next(wall for wall in cluster["walls"] if wall["mechanism"] == "pool-quota")
    assert (wall["at_least"], wall["at_most"]) == (450, None)
    assert cluster["reaches"] is None
    assert "at most 2,500 nodes" in cluster["summary"]


PRIVATE = """
  private_cluster_config {
    enable_private_nodes = true
  }

  ip_allocation_policy {"""
NAT = """
resource "google_compute_router_nat" "nat" {{
  router                 = "router"
  region                 = "{region}"
  nat_ip_allocate_option = "MANUAL_ONLY"
  nat_ips                = ["ip-1"]
  min_ports_per_vm       = {ports}
}}
"""


@pytest.mark.parametrize(
    ("region", "ports", "nodes"),
    [
        ("us-central1", 128, 63),
        ("us-central1", 2048, 31),
        ("us-central1", 65_536, 0),
        ("europe-west4", 128, "no such wall"),
    ],
)
def test_a_nat_gateway_serves_its_region(
    region: str, ports: int, nodes: object, capacity: Callable[..., dict[str, Any]]
) -> None:
    text = gke(nodes=900).replace("\n  ip_allocation_policy {", PRIVATE) + NAT.format(region=region, ports=ports)
    assert at(capacity(text), "outbound-ports") == nodes


def test_clusters_share_a_nat_gateway(write: Write) -> None:
    first = gke(nodes=40).replace("\n  ip_allocation_policy {", PRIVATE)
    network, rest = first.split('resource "google_container_cluster"')
    rest = f'resource "google_container_cluster"{rest}'
    other = rest.replace('"train"', '"other"').replace("cluster.train", "cluster.other").replace('"cpu"', '"more"')
    write({"main.tf": network + rest + other + NAT.format(region="us-central1", ports=64)})
    output = CliRunner().invoke(cli, ["capacity", ".", "--format", "json"], catch_exceptions=False).stdout
    found = [at(cluster, "outbound-ports") for cluster in json.loads(output)["clusters"]]
    assert found == [31, 31]  # of 63, into which both grow


def test_a_known_quota_is_a_wall_though_pools_may_be_missing(capacity: Callable[..., dict[str, Any]]) -> None:
    settings = "limits:\n  eks.quota.standard:\n    value: 4000\n    reason: raised\n"
    text = (
        eks()
        + 'variable "pools" {\n  type = map(any)\n}\n'
        + (
            'resource "aws_eks_node_group" "more" {\n  for_each     = var.pools\n'
            "  cluster_name = aws_eks_cluster.main.name\n}\n"
        )
    )
    cluster = capacity(text, **{"kcheck.yaml": settings})
    wall = next(wall for wall in cluster["walls"] if wall["mechanism"] == "quota")
    assert wall["nodes"] is wall["at_least"] is None
    assert not cluster["quotas"][0]["exact"]


def test_an_unknown_surge_leaves_ports_open(capacity: Callable[..., dict[str, Any]]) -> None:
    profile = (
        "load_balancer_profile {\n      managed_outbound_ip_count = 5\n      outbound_ports_allocated  = 1000\n    }"
    )
    text = aks(nodes=300).replace("    pod_cidr       = null", f"    {profile}").replace('"1" }', "var.surge }")
    cluster = capacity('variable "surge" {\n  type = string\n}\n' + text)
    wall = next(wall for wall in cluster["walls"] if wall["mechanism"] == "outbound-ports")
    assert (wall["at_least"], wall["at_most"], wall["before_target"]) == (160, 320, None)


@pytest.mark.parametrize(("kind", "nodes"), [("loadBalancer", 5000), ("managedNATGateway", "no such wall")])
def test_the_outbound_type_decides_whether_a_load_balancer_is_a_wall(
    kind: str, nodes: object, capacity: Callable[..., dict[str, Any]]
) -> None:
    text = aks(nodes=300).replace("    pod_cidr       = null", f'    outbound_type = "{kind}"')
    assert at(capacity(text), "load-balancer") == nodes


def test_each_service_port_counts_all_nodes_as_backends(capacity: Callable[..., dict[str, Any]]) -> None:
    """10,000 backends with 5 ports are 2,000 nodes.

    See https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large.
    """
    ports = ", ".join(f"{{name: p{port}, port: {port}}}" for port in range(1, 6))
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: serve}\n"
    service += f"spec: {{type: LoadBalancer, selector: {{app: serve}}, ports: [{ports}]}}\n"
    assert at(capacity(aks(nodes=300), **{"service.yaml": service}), "load-balancer") == 2000


WARM = """
resource "aws_eks_addon" "cni" {
  cluster_name         = aws_eks_cluster.main.name
  addon_name           = "vpc-cni"
  configuration_values = jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } })
}
"""


def test_a_node_with_prefixes_has_one_interface(capacity: Callable[..., dict[str, Any]]) -> None:
    assert at(capacity(eks(nodes=9000) + WARM), "interfaces") == 5000


def test_at_least_one_public_address_is_assumed(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(eks(nodes=600), **{"job.yaml": PULLS})
    wall = next(wall for wall in cluster["walls"] if wall["mechanism"] == "docker-hub")
    assert (wall["at_least"], wall["at_most"]) == (50, None)


@pytest.mark.medium
def test_each_wall_mechanism_lists_its_limits() -> None:
    """Pages of limits say which walls they cause; limits used in the code must be in that table."""
    folders = (Path(limits.__file__).parent, ROOT / "kcheck" / "inventory" / "clouds")
    texts = {
        node.value
        for folder in folders
        for path in (*folder.glob("*.py"), *folder.glob("*/cloud.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    known = {
        key
        for cloud in CLOUDS
        for key in profiles.limits(cloud)
        if not key.startswith(("reserved.", "cni.prefix_", "auto_mode."))
    }
    assert texts & known == {key for one in profiles.mechanisms().values() for key in one["limits"]}


def in_unknown_number(text: str) -> str:
    """Return a tree whose subnets are as many as the zones in a variable without a value."""
    text = text.replace(
        'resource "aws_subnet" "nodes" {',
        'variable "zones" {}\n\nresource "aws_subnet" "nodes" {\n  count = length(var.zones)',
    )
    return text.replace("[aws_subnet.nodes.id]", "aws_subnet.nodes[*].id")


def test_an_unknown_number_of_subnets_gives_a_lower_bound(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(in_unknown_number(eks()))
    wall = next(wall for wall in cluster["walls"] if wall["mechanism"] == "subnet")
    assert (wall["at_least"], wall["at_most"], wall["before_target"]) == (65531 // 20, None, False)  # all in one
    assert "a node takes at most 20: " in wall["arithmetic"]
    assert "var.zones has no value" in wall["arithmetic"]
    assert cluster["reaches"] == 100


def test_a_possibly_first_wall_is_named_with_its_missing_input(
    capacity: Callable[..., dict[str, Any]],
) -> None:
    cluster = capacity(in_unknown_number(eks(prefix=24)))
    assert cluster["summary"].startswith("Not known: address space of subnet aws_subnet.nodes (")
    assert "var.zones has no value). train reaches at least 12 of the 100 nodes" in cluster["summary"]
    assert cluster["reaches"] is None


AUTO_MODE = """\
resource "aws_eks_cluster" "main" {
  name = "train"
  compute_config {
    enabled    = true
    node_pools = ["general-purpose"]
  }
  vpc_config {
    subnet_ids = [aws_subnet.nodes.id]
  }
}
resource "aws_subnet" "nodes" {
  cidr_block = "10.0.0.0/24"
}
"""
PROVISIONED = """\
resource "google_container_cluster" "main" {
  name     = "train"
  location = "us-central1-a"
  cluster_autoscaling {
    enabled = true
    resource_limits {
      resource_type = "cpu"
      maximum       = 64
    }
    resource_limits {
      resource_type = "memory"
      maximum       = 4000
    }
  }
}
resource "google_container_node_pool" "main" {
  name       = "pool"
  cluster    = google_container_cluster.main.id
  location   = "us-central1-a"
  autoscaling {
    max_node_count = 100
  }
  node_config {
    machine_type = "n2-standard-8"
  }
}
"""


def test_a_cluster_with_automatic_nodes_has_an_unknown_reach(
    capacity: Callable[..., dict[str, Any]],
) -> None:
    cluster = capacity(AUTO_MODE)
    assert (cluster["target"], cluster["reaches"]) == (None, None)
    target = "the target (aws_eks_cluster.main has nodes outside its pools; set --nodes N)"
    nodes = "address space of the nodes (none of its node pools is in this code)"
    assert cluster["summary"].startswith(f"Not known: {target}; {nodes}. train reaches at most 100,000 nodes")


def test_known_walls_are_reported_even_if_the_target_is_unknown(capacity: Callable[..., dict[str, Any]]) -> None:
    cluster = capacity(PROVISIONED)
    assert (cluster["target"], cluster["reaches"]) == (None, 8)
    assert cluster["summary"] == (
        "Not known: the target (google_container_cluster.main has nodes outside its pools; set --nodes N). "
        "train reaches 8 nodes; the first wall is the autoscaling limit of the cluster."
    )


ENDPOINTS = """\
module "endpoints" {
  source     = "terraform-aws-modules/vpc/aws//modules/vpc-endpoints"
  version    = "5.1.0"
  subnet_ids = [aws_subnet.nodes.id]
  endpoints = {
    s3      = { service = "s3", service_type = "Gateway", route_table_ids = ["rtb-1"] }
    ecr_api = { service = "ecr.api" }
    ecr_dkr = { service = "ecr.dkr" }
  }
}
resource "aws_vpc_endpoint" "sts" {
  vpc_endpoint_type = "Interface"
  service_name      = "com.amazonaws.us-east-1.sts"
  subnet_ids        = [aws_subnet.nodes.id]
}
resource "aws_efs_mount_target" "data" {
  count     = 1
  subnet_id = aws_subnet.nodes.id
}
"""
PRIVATE_ENDPOINT = """\
resource "azurerm_private_endpoint" "registry" {
  count     = 4
  subnet_id = azurerm_subnet.nodes.id
}
"""


NAT_OF_AWS = """\
resource "aws_nat_gateway" "out" {
  count     = 4
  subnet_id = aws_subnet.nodes.id
}
"""
NAT_OF_ACK = """\
resource "alicloud_nat_gateway" "out" {
  count      = 4
  vswitch_id = alicloud_vswitch.nodes.id
}
"""


@pytest.mark.parametrize(
    ("text", "more", "nodes", "usable"),
    [
        (eks(prefix=24), NAT_OF_AWS, 12, 247),
        (ACK, NAT_OF_ACK, 248, 248),
        # a /24 has 251: 12 nodes of 20 addresses, and 11 addresses for endpoints; with 4 endpoints 247
        (eks(prefix=24), ENDPOINTS, 12, 247),
        (eks(prefix=24), ENDPOINTS.replace("count     = 1", "count     = 9"), 11, 239),
        # a /24 has 251: 8 machines of 31 addresses, one of them surge; with 4 endpoints 247
        (aks(prefix=24), PRIVATE_ENDPOINT, 6, 247),
    ],
)
def test_endpoints_take_addresses_from_their_subnets(
    text: str, more: str, nodes: int, usable: int, capacity: Callable[..., dict[str, Any]]
) -> None:
    (wall,) = [one for one in capacity(text + more)["walls"] if one["mechanism"] == "subnet"]
    taken = {248: 4, 247: 4, 239: 12}[usable]
    assert wall["nodes"] == nodes
    assert f" has {usable} usable addresses ({taken} taken or reserved)" in wall["arithmetic"]


SUBNET_OF_AKS = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"
  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D8s_v5"
    node_count = 3
    max_pods   = 110
  }
  network_profile {
    network_plugin = "azure"
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_NC24ads_A100_v4"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 900
  max_pods              = 110
  upgrade_settings {
    max_surge = "7"
  }
}
"""


def test_the_subnet_created_by_aks_is_a_wall(capacity: Callable[..., dict[str, Any]]) -> None:
    # 65,536 - 5 = 65,531 addresses; 111 a node: 590 machines, 7 of them surge
    cluster = capacity(SUBNET_OF_AKS)
    assert cluster["reaches"] == 583
    assert cluster["summary"].endswith("the first wall is the address space of subnet aks-subnet.")
    overlay = SUBNET_OF_AKS.replace(
        '"azure"\n', '"azure"\n    network_plugin_mode = "overlay"\n    pod_cidr = "10.0.0.0/8"\n'
    )
    assert capacity(overlay)["reaches"] == 903


def test_an_unknown_quota_is_not_zero(write: Write) -> None:
    text = gke(location="us-central1-a").replace("max_node_count = 100", "max_node_count = var.most")
    write({"main.tf": text + 'variable "most" {}\n'})
    output = CliRunner().invoke(cli, ["capacity", "."], catch_exceptions=False).stdout
    assert re.search(r"^ +\? vCPUs +CPUS_ALL_REGIONS", output, re.MULTILINE)
    assert not re.search(r"^ +0 ", output.partition("quotas that")[2], re.MULTILINE)
    checked = CliRunner().invoke(cli, ["check", ".", "--info", "--nodes", "100"], catch_exceptions=False).stdout
    assert "at least 0" not in checked


TWINS = """\
locals {
  name = "train"
}
module "east" {
  source = "./cluster"
  name   = local.name
  bits   = 24
}
module "west" {
  source = "./cluster"
  name   = local.name
  bits   = 20
}
"""
CLUSTER_MODULE = """\
variable "name" {}
variable "bits" {}
resource "aws_subnet" "nodes" {
  cidr_block = "10.0.0.0/${var.bits}"
}
resource "aws_eks_cluster" "main" {
  name = var.name
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["m5.large"]
  scaling_config {
    min_size     = 0
    max_size     = 50
    desired_size = 0
  }
}
"""


def test_clusters_of_one_name_in_a_root_keep_their_pools(write: Write) -> None:
    write({"main.tf": TWINS, "cluster/main.tf": CLUSTER_MODULE})
    output = CliRunner().invoke(cli, ["capacity", "."], catch_exceptions=False).stdout
    for module, said in (("east", "train reaches 10 of the 50 nodes"), ("west", "train reaches the 50 nodes")):
        (_, own) = output.split(f"train (eks, cluster/main.tf:6 in .: module.{module}.aws_eks_cluster.main), ")
        assert next(line for line in own.splitlines() if line.startswith("train reaches")).startswith(said)


POOL_OF_NOBODY = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name = var.cluster
  subnet_ids   = ["subnet-1"]
  scaling_config {
    min_size     = 0
    max_size     = 50
    desired_size = 0
  }
}
"""


def test_possibly_missing_pools_do_not_count_as_a_documented_limit(capacity: Callable[..., dict[str, Any]]) -> None:
    text = 'variable "cluster" {}\nresource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    cluster = capacity(text + POOL_OF_NOBODY)
    assert cluster["reaches"] is None
    assert cluster["summary"].startswith("Not known: ")
    assert "reaches at most 100,000 nodes" in cluster["summary"]


def test_a_wall_without_a_number_does_not_hide_a_lower_one(capacity: Callable[..., dict[str, Any]]) -> None:
    text = SUBNET_OF_AKS.replace("= 110", "= 30").replace("900", "90").replace('    network_plugin = "azure"\n', "")
    cluster = capacity(text, "--nodes", "1000")
    assert cluster["reaches"] == 93
    assert at(cluster, "kubenet-routes") is None
    assert cluster["summary"] == (
        "train reaches 93 of the 1,000 nodes you ask for; the first wall is the written maximum of the pools."
    )
