"""Findings about objects whose names are not known: they are called as the code calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.engine.linter import Result

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


def test_they_are_called_by_their_addresses(check: Callable[..., Result]) -> None:
    found = {one.rule: one.message for one in check({"main.tf": CODE}).findings}
    assert found["pool-over-quota"] == "Node group aws_eks_node_group.gpu grows to 500 nodes; the quota is 450"
    assert found["retired-node-image"].startswith("Pool aws_eks_node_group.gpu runs AL2_x86_64_GPU")
