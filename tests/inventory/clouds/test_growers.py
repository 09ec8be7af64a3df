"""Test autoscalers of EKS node groups, also those outside of the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check

pytestmark = pytest.mark.medium

GROUP = """module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name       = "train"
  subnet_ids = ["subnet-1"]

  eks_managed_node_groups = {
    core = {
      instance_types = ["p5.48xlarge"]
      min_size       = 2
      max_size       = 128
    }
  }
}
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  template:
    spec:
      containers:
        - name: train
          image: registry.example.com/train:1
      restartPolicy: Never
"""
AUTOSCALER = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
  namespace: kube-system
spec:
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
"""
KARPENTER = """resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
}
"""
CONFIG = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata:
  name: train
  region: us-west-2
managedNodeGroups:
  - name: gpu
    instanceType: p5.48xlarge
    minSize: 0
    maxSize: 64
"""
RIGHTS = "    iam:\n      withAddonPolicies:\n        autoScaler: true\n"


def test_an_autoscaler_of_one_of_several_clusters_may_belong_to_each(check: Check) -> None:
    here = {"a/main.tf": GROUP, "a/job.yaml": JOB, "b/main.tf": GROUP, "deploy/autoscaler.yaml": AUTOSCALER}
    result = check(here)
    assert "autoscaler-missing" not in names(result)
    assert any("cluster-autoscaler" in one.reason for one in result.judged.inputs)
    assert "autoscaler-missing" in names(check({"deploy/autoscaler.yaml": JOB}))


@pytest.mark.parametrize(
    ("more", "told"), [("", True), (RIGHTS, False), ("karpenter:\n  version: 1.2.0\n", False)], ids=str
)
def test_the_autoscaler_of_a_group_is_read_from_eksctl(more: str, told: bool, check: Check) -> None:
    found = names(check({"cluster.yaml": CONFIG + more, "job.yaml": JOB}))
    assert ("autoscaler-missing" in found) == told


def test_node_pools_outside_the_code_are_not_treated_as_absent(check: Check) -> None:
    """The node group on which Karpenter itself runs does not get the nodes that Karpenter creates."""
    result = check({"main.tf": GROUP + KARPENTER}, Config(nodes={"": 1000}))
    assert not {"karpenter-limits-below-target", "pool-over-quota", "quota-needed"} & set(names(result))
    assert any("NodePools of Karpenter" in one.reason for one in result.judged.inputs)


PROVISIONER = """apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: gpu
"""


def test_provisioners_are_not_reported_as_absent(check: Check) -> None:
    result = check({"main.tf": GROUP + KARPENTER, "pool.yaml": PROVISIONER}, Config(nodes={"": 1000}))
    reasons = {one.reason for one in result.judged.inputs}
    assert "the nodes of Provisioner gpu, of an old API, are not counted" in reasons
    assert not any("NodePools of Karpenter" in one for one in reasons)
