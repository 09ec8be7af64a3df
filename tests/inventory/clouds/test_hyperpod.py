"""Test instance groups of SageMaker HyperPod, which are read as pools of an EKS cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.text.values import Known, Unknown, known

if TYPE_CHECKING:
    from tests.conftest import Check, Read

CLUSTER = """
variable "groups" {}

resource "aws_subnet" "a" {
  cidr_block = "10.0.0.0/20"
}

resource "aws_eks_cluster" "main" {
  name    = "train"
  version = "1.35"
}

resource "awscc_sagemaker_cluster" "main" {
  cluster_name    = "train"
  instance_groups = %s
  orchestrator    = %s
  vpc_config      = { subnets = [aws_subnet.a.id] }
}
"""
GROUPS = """[
    { instance_group_name = "p5", instance_type = "ml.p5.48xlarge", instance_count = 16 },
    { instance_group_name = "cpu", instance_type = "ml.m5.xlarge", instance_count = 2 },
  ]"""
EKS = "{ eks = { cluster_arn = aws_eks_cluster.main.arn } }"


def test_groups_are_pools_of_fixed_size(read: Read) -> None:
    found = read({"main.tf": CLUSTER % (GROUPS, EKS)})
    (cluster,), pools = found.clusters, found.pools
    assert [(known(one.name), known(one.size.max_nodes), known(one.machine.gpus)) for one in pools] == [
        ("p5", 16, 8), ("cpu", 2, 0),
    ]  # fmt: skip
    assert all(known(one.cluster) is cluster and known(one.size.autoscaled) is False for one in pools)
    assert [known(one.addresses.subnets) for one in pools] == [tuple(found.subnets)] * 2


def test_prices_of_ec2_are_not_those_of_sagemaker(check: Check) -> None:
    result = check({"main.tf": CLUSTER % (GROUPS, EKS)})
    assert result.world.numbers.price(result.world.inventory.pools[0]) is None


def test_unknown_groups_leave_the_cluster_size_unknown(check: Check) -> None:
    result = check({"main.tf": CLUSTER % ("var.groups", EKS)})
    (pool,) = result.world.inventory.pools
    assert isinstance(pool.size.max_nodes, Unknown)
    assert {one.reason for one in result.judged.inputs} == {"var.groups has no value"}


def test_slurm_groups_are_not_pools(read: Read) -> None:
    assert not read({"main.tf": CLUSTER % (GROUPS, "null")}).pools


def test_a_cluster_of_another_root_is_named_as_missing(read: Read) -> None:
    pools = read(
        {"main.tf": CLUSTER % (GROUPS, '{ eks = { cluster_arn = "arn:aws:eks:us-east-1:1:cluster/a" } }')}
    ).pools
    assert {isinstance(one.cluster, Known) for one in pools} == {False}
