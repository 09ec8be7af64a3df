"""Test subnets that reserve ranges for the prefixes of EKS nodes.

10.0.0.0/22 has 1,019 usable addresses. A node of up to 16 pods takes 33: its own and two prefixes; a node group in one
zone adds 2 nodes while it is upgraded.

- Nothing reserved: each node's own address may break up a third prefix, 48: (19 + 2) x 48 = 1,008.
- 10.0.1.0/24 and 10.0.2.0/23 reserved: 768 addresses, 752 in whole prefixes, as 10.0.3.240/28 has the broadcast address:
  (21 + 2) x 32 = 736, and 23 single addresses of 267.
- As many as there are: (28 + 2) x 33 = 990.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import kcheck

if TYPE_CHECKING:
    from tests.conftest import Write

CLUSTER = """\
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "nodes" {
  vpc_id     = aws_vpc.main.id
  cidr_block = "10.0.0.0/22"
}

resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "cpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "cpu"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["m6i.xlarge"]

  scaling_config {
    min_size     = 0
    max_size     = SIZE
    desired_size = 0
  }
}

resource "aws_eks_addon" "cni" {
  cluster_name         = aws_eks_cluster.main.name
  addon_name           = "vpc-cni"
  configuration_values = jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } })
}
"""
RESERVED = """
resource "aws_ec2_subnet_cidr_reservation" "blocks" {
  for_each = toset(RANGES)

  subnet_id        = aws_subnet.nodes.id
  cidr_block       = each.value
  reservation_type = "KIND"
}
"""


def bounds(text: str, size: int, write: Write) -> tuple[object, bool | None, str]:
    """Return the two ends of the subnet's limit, whether it is below the target, and its arithmetic."""
    write({"main.tf": text.replace("SIZE", str(size))})
    project = kcheck.load(".")
    (wall,) = (one for one in project.capacity(project.inventory.clusters[0]) if one.mechanism == "subnet")
    return (wall.nodes.low, wall.nodes.high), wall.short, wall.arithmetic


def reserved(*ranges: str, kind: str = "prefix") -> str:
    listed = ", ".join(f'"{one}"' for one in ranges)
    return CLUSTER + RESERVED.replace("RANGES", f"[{listed}]").replace("KIND", kind)


def test_unreserved_prefixes_may_be_fragmented(write: Write) -> None:
    assert bounds(CLUSTER, 21, write)[:2] == ((19, 28), None)


def test_reserved_prefixes_raise_the_lower_bound(write: Write) -> None:
    ends, short, arithmetic = bounds(reserved("10.0.1.0/24", "10.0.2.0/23"), 21, write)
    assert (ends, short) == ((21, 28), False)
    assert arithmetic == (
        "10.0.0.0/22 has 1,019 usable addresses, a node takes 33: whether nodes get prefixes beyond the 752 reserved "
        "addresses is not known"
    )


def test_prefixes_beyond_the_reservation_are_unknown(write: Write) -> None:
    """10.0.0.0/24 has 15 whole prefixes: enough for 5 nodes and 2 of an upgrade."""
    assert bounds(reserved("10.0.0.0/24"), 21, write)[:2] == ((5, 28), None)


def test_single_addresses_use_what_reservations_leave(write: Write) -> None:
    """Six ranges leave 10.0.3.240/28 and 15 broken prefixes: 1,019 - 992 = 27 addresses."""
    ranges = ("10.0.0.0/23", "10.0.2.0/24", "10.0.3.0/25", "10.0.3.128/26", "10.0.3.192/27", "10.0.3.224/28")
    assert bounds(reserved(*ranges), 25, write)[:2] == ((25, 28), False)


def test_manually_assigned_addresses_are_not_free(write: Write) -> None:
    """Without 10.0.2.0/23 there are 507 addresses: at best 15 x 33, at worst 10 x 48."""
    assert bounds(reserved("10.0.2.0/23", kind="explicit"), 8, write)[:2] == ((8, 13), False)


@pytest.mark.parametrize(("size", "found"), [(21, False), (29, True)])
def test_check_and_capacity_agree_on_reserved_prefixes(size: int, found: bool, write: Write) -> None:
    write({"main.tf": reserved("10.0.1.0/24", "10.0.2.0/23").replace("SIZE", str(size))})
    report = kcheck.load(".").check()
    assert ("subnet-too-small" in {one.rule for one in report.findings}) is found
    assert [one for one in report.undecided if one.rule == "subnet-too-small"] == []


@pytest.mark.parametrize(("ranges", "found"), [("", True), ('["10.0.1.0/24", "10.0.2.0/23"]', False)])
def test_reserved_blocks_are_not_reported_as_fragmented(ranges: str, found: bool, write: Write) -> None:
    text = CLUSTER.replace("SIZE", "4") + (
        RESERVED.replace("RANGES", ranges).replace("KIND", "prefix") if ranges else ""
    )
    write({"main.tf": text})
    rules = {one.rule for one in kcheck.load(".").check(info=True).findings}
    assert ("prefix-subnet-fragmented" in rules) is found


def test_prefixes_of_a_node_do_not_depend_on_its_type(write: Write) -> None:
    """With max_size = 21 the ends are those of m6i.xlarge, above."""
    text = CLUSTER.replace('["m6i.xlarge"]', "var.types") + '\nvariable "types" {\n  type = list(string)\n}\n'
    assert bounds(text, 21, write)[:2] == ((19, 28), None)
