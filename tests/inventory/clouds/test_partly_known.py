"""Test trees with one missing value: everything around it is still judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report import model
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Write

pytestmark = pytest.mark.medium


class Result:
    """The model of a tree and the verdicts of the rules."""

    def __init__(self, folder: Path) -> None:
        tree = Tree([str(folder)])
        found = linter.run(tree, Config())
        self.data: dict[str, Any] = model.collect(tree, Config())
        self.findings = {finding.rule for finding in found.findings}
        self.undecided: dict[str, set[str]] = {}
        for one in found.undecided:
            self.undecided.setdefault(one.rule, set()).update(one.missing)

    def field(self, things: str, name: str) -> list[Any]:
        """Return a field of all objects of a kind: its value, or the reason why it is unknown."""
        return [thing["fields"][name].get("value", thing["fields"][name].get("unknown")) for thing in self.data[things]]


@pytest.fixture
def read(write: Write) -> Callable[[str], Result]:
    return lambda text: Result(write({"main.tf": text}))


SUBNETS = """
variable "azs" {
  type = set(string)
}
resource "aws_subnet" "p" {
  for_each          = var.azs
  availability_zone = each.value
  cidr_block        = "10.0.1.0/24"
}
"""

EKS = """
module "eks" {
  source          = "terraform-aws-modules/eks/aws"
  version         = "~> 20.0"
  cluster_name    = "x"
  cluster_version = "1.29"
  eks_managed_node_groups = GROUPS
}
"""


def test_groups_in_an_unknown_number_of_subnets_are_judged(read: Callable[[str], Result]) -> None:
    groups = "{ for name, most in { a = 300, b = 30 } : name => { max_size = most, subnet_ids = [for s in aws_subnet.p : s.id] } }"
    result = read(SUBNETS + EKS.replace("GROUPS", groups))
    assert result.field("pools", "max_nodes") == [300, 30]
    assert result.field("clusters", "target") == [330]
    assert result.undecided["subnet-too-small"] == {
        "how many nodes of a are in aws_subnet.p is not known: var.azs has no value"
    }
    assert set(result.undecided) <= {"subnet-too-small", "node-subnet-slash-24"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [("count = 3", [300, 300, 300]), ('for_each = toset(["a", "b"])', [300, 300]), ("count = var.many", [300])],
)
def test_one_group_per_instance_of_a_data_source_is_judged(
    data: str, expected: list[int], read: Callable[[str], Result]
) -> None:
    result = read(
        'variable "many" {}\n'
        f'data "aws_subnet" "private" {{\n  {data}\n}}\n'
        + EKS.replace(
            "GROUPS", '{ for i, s in data.aws_subnet.private : "ng-${i}" => { max_size = 300, subnet_ids = [s.id] } }'
        )
    )
    assert result.field("pools", "max_nodes") == expected
    target = (
        sum(expected)
        if len(expected) > 1
        else "pools of module.eks.aws_eks_cluster.this[0] may be missing: var.many has no value"
    )
    assert result.field("clusters", "target") == [target]


def test_known_groups_next_to_those_of_a_variable_are_judged(read: Callable[[str], Result]) -> None:
    groups = 'merge(var.more, { gpu = { max_size = 600, instance_types = ["p4d.24xlarge"] } })'
    result = read('variable "more" {}\n' + EKS.replace("GROUPS", groups))
    assert 600 in result.field("pools", "max_nodes")
    assert "pool-over-quota" in result.findings
    assert result.undecided["quota-needed"] == {
        "pools of module.eks.aws_eks_cluster.this[0] may be missing: var.more has no value"
    }


GKE = """
data "google_compute_zones" "z" {}
resource "random_shuffle" "r" {
  input        = data.google_compute_zones.z.names
  result_count = 2
}
resource "google_container_cluster" "c" {
  name                     = "c"
  location                 = "us-central1"
  remove_default_node_pool = true
}
resource "google_container_node_pool" "p" {
  name           = "p"
  cluster        = google_container_cluster.c.id
  node_locations = LOCATIONS
  node_count     = 20
}
"""


@pytest.mark.parametrize(
    ("locations", "expected"),
    [
        ("[data.google_compute_zones.z.names[0], data.google_compute_zones.z.names[1]]", 40),
        ("[data.google_compute_zones.z.names[0], data.google_compute_zones.z.names[0]]", 20),
        ("slice(data.google_compute_zones.z.names, 0, 3)", 60),
        ("random_shuffle.r.result", 40),
        ("coalescelist(compact([]), sort(random_shuffle.r.result))", 40),
        ('[for z in ["a", "b"] : "${var.region}-${z}"]', 40),
        ('formatlist("%s-%s", var.region, ["a", "b", "c"])', "var.region has no value"),
        ("[var.region, var.other]", "var.region has no value"),
        ('var.region == "a" ? ["a", "b"] : null', "var.region has no value"),
        ('var.region == "a" ? ["a", "b"] : ["c", "d"]', 40),
        ('var.region == "a" ? ["a", "b"] : slice(data.google_compute_zones.z.names, 0, 2)', 40),
        ('var.region == "a" ? ["a", "b"] : ["c"]', "var.region has no value"),
        ("data.google_compute_zones.z.names", "data.google_compute_zones.z is read from the cloud"),
    ],
)
def test_unknown_zones_are_still_counted(locations: str, expected: object, read: Callable[[str], Result]) -> None:
    result = read('variable "region" {}\nvariable "other" {}\n' + GKE.replace("LOCATIONS", locations))
    assert result.field("pools", "max_nodes") == [expected]


NODE_GROUP = """
resource "aws_eks_cluster" "c" {
  name = "x"
}
resource "aws_eks_node_group" "g" {
  HEAD
  cluster_name    = aws_eks_cluster.c.name
  node_group_name = "g"
  instance_types  = ["m5.large"]
  subnet_ids      = SUBNETS
  scaling_config {
    min_size     = SIZE
    max_size     = SIZE
    desired_size = SIZE
  }
}
"""


def group(head: str = "", subnets: str = '["subnet-1"]', size: str = "5") -> str:
    return NODE_GROUP.replace("HEAD", head).replace("SUBNETS", subnets).replace("SIZE", size)


def test_pools_of_unknown_number_and_fixed_size_are_judged(read: Callable[[str], Result]) -> None:
    result = read('variable "names" {}\n' + group("for_each = var.names"))
    assert result.field("clusters", "autoscaled") == [False]
    assert "pool-over-quota" not in result.undecided


def test_a_size_that_one_input_sets_twice_is_fixed(read: Callable[[str], Result]) -> None:
    assert read('variable "n" {}\n' + group(size="var.n")).field("pools", "autoscaled") == [False]
    each = read(
        'variable "pools" {}\n'
        + group("for_each = var.pools", size="each.value.n").replace(
            "max_size     = each.value.n", "max_size = each.value.most"
        )
    )
    assert each.field("pools", "autoscaled") == ["var.pools has no value"]


def test_a_pool_with_the_same_count_as_its_cluster_is_judged(read: Callable[[str], Result]) -> None:
    text = (
        group("count = var.create ? 1 : 0")
        .replace('"c" {', '"c" {\n  count = var.create ? 1 : 0')
        .replace("c.name", "c[0].name")
    )
    assert read('variable "create" {}\n' + text).field("clusters", "target") == [5]


def test_pools_of_a_module_with_an_unknown_for_each_are_judged(write: Write) -> None:
    cluster, _, pool = group().partition('resource "aws_eks_node_group"')
    pool = f'variable "cluster" {{}}\nresource "aws_eks_node_group"{pool}'.replace(
        "aws_eks_cluster.c.name", "var.cluster"
    )
    call = """
variable "names" {}
module "pool" {
  source   = "./pool"
  for_each = var.names
  cluster  = aws_eks_cluster.c.name
}
"""
    result = Result(write({"main.tf": cluster + call, "pool/main.tf": pool}))
    assert result.field("clusters", "target") == ["pools of aws_eks_cluster.c may be missing: var.names has no value"]


CHOSEN = """
variable "at" {}
variable "env" {}
variable "sizes" {
  default = { dev = 30, prod = 30 }
}
resource "aws_subnet" "p" {
  count      = 2
  cidr_block = "10.0.${count.index}.0/24"
}
"""


def test_an_element_chosen_by_an_unknown_key_is_known_in_part(read: Callable[[str], Result]) -> None:
    result = read(CHOSEN + group(subnets="[aws_subnet.p[var.at].id]", size="var.sizes[var.env]"))
    assert result.field("pools", "max_nodes") == [30]
    reason = "how many nodes of g are in aws_subnet.p[0] is not known: var.at has no value"
    assert reason in result.undecided.get("subnet-too-small", {reason})


@pytest.mark.parametrize("default", ['""', "null"])
def test_range_without_a_value_is_a_missing_input(default: str, read: Callable[[str], Result]) -> None:
    word = "empty" if default == '""' else "null"
    result = read(
        f'variable "cidr" {{\n  default = {default}\n}}\n'
        'resource "aws_subnet" "p" {\n  cidr_block = cidrsubnet(var.cidr, 4, 1)\n}\n'
        + group(subnets="[aws_subnet.p.id]")
    )
    assert result.field("subnets", "cidr") == [f"var.cidr is {word}"]
    assert result.undecided["subnet-too-small"] == {f"var.cidr is {word}"}


def test_an_empty_range_means_no_range(read: Callable[[str], Result]) -> None:
    result = read(
        """
variable "services" {
  default = ""
}
resource "google_container_cluster" "c" {
  name     = "c"
  location = "us-central1"
  ip_allocation_policy {
    services_ipv4_cidr_block = var.services
  }
}
"""
    )
    assert "service-range-too-small" not in {*result.findings, *result.undecided}


TYPES = """
variable "env" {}
variable "types" {
  default = { dev = "FIRST", prod = "SECOND" }
}
resource "aws_eks_cluster" "c" {
  name = "x"
}
resource "aws_eks_node_group" "g" {
  cluster_name    = aws_eks_cluster.c.name
  node_group_name = "g"
  instance_types  = [var.types[var.env]]
  subnet_ids      = ["subnet-1"]
  scaling_config {
    min_size     = 0
    max_size     = 40
    desired_size = 0
  }
}
resource "aws_eks_node_group" "other" {
  cluster_name    = aws_eks_cluster.c.name
  node_group_name = "other"
  instance_types  = ["m5.large"]
  subnet_ids      = ["subnet-1"]
  scaling_config {
    min_size     = 1
    max_size     = 2
    desired_size = 1
  }
}
"""


@pytest.mark.parametrize(
    ("first", "second", "gpu", "verdict"),
    [
        ("p4d.24xlarge", "p5.48xlarge", True, "found"),
        ("m5.large", "c5.large", False, "fine"),
        ("p4d.24xlarge", "c5.large", "var.env has no value", "undecided"),
    ],
)
def test_a_check_is_decided_if_all_candidates_agree(
    first: str, second: str, gpu: object, verdict: str, read: Callable[[str], Result]
) -> None:
    result = read(TYPES.replace("FIRST", first).replace("SECOND", second))
    assert result.field("pools", "gpu")[0] == gpu
    rule = "gpu-pool-untainted"
    assert (rule in result.findings, rule in result.undecided) == (verdict == "found", verdict == "undecided")


@pytest.mark.parametrize(("tiers", "decided"), [(("Standard", "Premium"), True), (("Free", "Standard"), False)])
def test_rules_try_each_candidate_of_a_field(
    tiers: tuple[str, str], decided: bool, read: Callable[[str], Result]
) -> None:
    result = read(
        f"""
variable "env" {{}}
variable "tiers" {{
  default = {{ dev = "{tiers[0]}", prod = "{tiers[1]}" }}
}}
resource "azurerm_kubernetes_cluster" "c" {{
  name     = "c"
  sku_tier = var.tiers[var.env]
  default_node_pool {{
    name       = "d"
    node_count = 2000
  }}
}}
"""
    )
    assert result.field("clusters", "tier") == ["var.env has no value"]
    assert ("free-control-plane" in result.undecided) != decided
    assert "free-control-plane" not in result.findings


def test_every_undecided_check_names_its_missing_input(write: Write) -> None:
    autoscaler = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
spec:
  selector:
    matchLabels:
      app: autoscaler
  template:
    metadata:
      labels:
        app: autoscaler
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0
          command: [./cluster-autoscaler]
"""
    result = Result(write({"autoscaler.yaml": autoscaler}))
    assert result.undecided
    assert all(result.undecided.values()), result.undecided


@pytest.mark.slow
def test_lists_that_grow_without_bound_are_stopped(read: Callable[[str], Result]) -> None:
    rows = ['variable "c" {}', 'variable "more" {}', "locals {", "  b0 = [1]"]
    for at in range(1, 40):
        last = f"local.b{at - 1}"
        rows.append(f'  b{at} = concat(var.c == {at} ? {last} : [{at}], [for x in {last} : "${{x}}-{at}"], var.more)')
    result = read("\n".join([*rows, "}", group("for_each = toset(local.b39)")]))
    assert result.field("clusters", "autoscaled") == [False]


def test_a_for_each_over_objects_leaves_the_target_unknown(read: Callable[[str], Result]) -> None:
    result = read(group('for_each = [{ name = "a" }, { name = "b" }]'))
    assert result.field("pools", "max_nodes") == [5]
    assert result.field("clusters", "target") == [
        "pools of aws_eks_cluster.c may be missing: for_each needs a map or a set of strings"
    ]
