"""Test findings about objects with unknown names: they are named by their address in the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from tests.conftest import written

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Check

CODE = """
variable "name" {}

resource "aws_eks_cluster" "main" {
  name = "main"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = var.name
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]
  ami_type        = "AL2_x86_64_GPU"

  scaling_config {
    desired_size = 0
    min_size     = 0
    max_size     = 500
  }
}
"""

RAW = """
resource "kubernetes_manifest" "pod" {
  manifest = {
    apiVersion = "v1"
    kind       = "Pod"
    metadata   = { name = var.name }
    spec       = { containers = [{ name = "a", image = "nginx" }] }
  }
}

resource "aws_sqs_queue" "jobs" {
  name       = var.name
  fifo_queue = true
  tags       = { name = var.name }
}
"""
RULE = """\
summary: Something
severity: warning
subject: SUBJECT
problem: PROBLEM
at: SUBJECT.AT
message: "MESSAGE"
sources: [https://example.com]
---
why: It is a test.
examples:
  - {bad: 'x', good: 'z'}
"""


def test_objects_with_unknown_names_are_called_by_their_address(check: Check) -> None:
    found = {one.rule: one.message for one in check({"main.tf": CODE}).findings}
    assert found["pool-over-quota"] == "Node group aws_eks_node_group.gpu grows to 500 nodes; the quota is 450"
    assert found["retired-node-image"].startswith("Pool aws_eks_node_group.gpu runs AL2_x86_64_GPU")


@pytest.mark.parametrize(
    ("subject", "problem", "at", "message", "expected"),
    [
        ("pool", "pool.max_count > 3", "max_count", "{pool.name} of {pool.cluster.name}",
         "aws_eks_node_group.gpu of main"),
        ("pool", "pool.max_count > 3", "max_count", "{ pool.cluster.pools[0].name }", "aws_eks_node_group.gpu"),
        ("pool", "pool.max_count > 3", "max_count", "{pool.max_count > 3 ? pool.name : pool.cluster.name}", "unknown"),
        ("pool", "pool.max_count > 3", "max_count", "{'x' + pool.name}", "unknown"),
        ("pool", "pool.max_count > 3", "max_count", "{(pool.max_count > 3 ? pool : pool).name}",
         "aws_eks_node_group.gpu"),
        ("object", "object.kind == 'Pod'", "kind", "{object.metadata.name}", "unknown"),
        ("object", "object.kind == 'Pod'", "kind", "{object.spec.containers[0].name}", "a"),
        ("resource", "resource.type == 'aws_sqs_queue'", "address", "{resource.values.name}", "unknown"),
        ("resource", "resource.type == 'aws_sqs_queue'", "address", "{resource.values.tags.name}", "unknown"),
    ],
)  # fmt: skip
def test_custom_rules_can_use_unknown_names_in_any_way(
    subject: str, problem: str, at: str, message: str, expected: str, check: Check, tmp_path: Path
) -> None:
    words = {"SUBJECT": subject, "PROBLEM": problem, "AT": at, "MESSAGE": message}
    text = RULE
    for word, value in words.items():
        text = text.replace(word, value)
    folder = written(tmp_path / "rules", {"names/asks-for-names.yaml": text})
    result = check({"main.tf": CODE + RAW}, Config(rules=(str(folder),), select=("asks-for-names",)))
    assert not result.bugs
    assert [one.message for one in result.findings] == [expected]
