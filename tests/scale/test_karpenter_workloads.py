"""Test which workloads with GPUs may run on the nodes of Karpenter's pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.scale import autoscaler

if TYPE_CHECKING:
    from tests.conftest import Check

ROOT = """\
variable "jobs" {
  type = number
}

resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "kubectl_manifest" "pool" {
  yaml_body = <<-EOT
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: gpu}
    spec:
      template:
        spec:
          requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}]
  EOT
}

resource "kubectl_manifest" "job" {
  count     = var.jobs
  yaml_body = <<-EOT
    apiVersion: batch/v1
    kind: Job
    metadata: {name: train}
    spec:
      template:
        spec:
          containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]
  EOT
}
"""


@pytest.mark.medium
def test_a_pool_of_one_environment_does_not_have_the_jobs_of_another(check: Check) -> None:
    world = check({"main.tf": ROOT, "envs/a.tfvars": "jobs = 1\n", "envs/b.tfvars": "jobs = 0\n"}).world
    found = {one: len(autoscaler.gpu_workloads(one, world)) for one in world.inventory.karpenter}
    assert len({one.id for one in found}) == 1  # the same lines, in two environments
    assert sorted(found.values()) == [0, 1]
