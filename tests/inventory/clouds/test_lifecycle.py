"""Test ignore_changes of Terraform: read from resources and blocks, and named if it blocks a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.text.files.tree import Tree
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Write


AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"

  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D4s_v5"
    auto_scaling_enabled = true
    node_count           = 3
    min_count            = 3
    max_count            = 200
  }

  lifecycle {
    ignore_changes = %s
  }
}
"""

EKS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    min_size     = 2
    max_size     = 8
    desired_size = 2
  }

  lifecycle {
    ignore_changes = %s
  }
}
"""


def run(write: Write, text: str) -> Result:
    return linter.run(Tree([str(write({"main.tf": text}))]), Config())


@pytest.mark.parametrize(
    ("written", "ignored"),
    [
        ("[default_node_pool[0].node_count]", ("node_count",)),
        ("[default_node_pool.0.node_count, tags]", ("node_count",)),
        ('["default_node_pool[0].max_count"]', ("max_count",)),
        ("[default_node_pool]", ("all",)),
        ("[default_node_pool[0]] # all of it", ("all",)),
        ("all", ("all",)),
        ("[tags, kubernetes_version]", None),
    ],
)
def test_ignored_paths_belong_to_their_block(write: Write, written: str, ignored: tuple[str, ...] | None) -> None:
    (pool,) = run(write, AKS % written).world.inventory.pools
    assert known(pool.ignored) == ignored


def test_ignored_paths_have_no_index(write: Write) -> None:
    (pool,) = run(write, EKS % "[scaling_config[0].desired_size, labels]").world.inventory.pools
    assert known(pool.ignored) == ("scaling_config.desired_size", "labels")


def test_a_module_known_to_ignore_the_size_is_treated_so(write: Write) -> None:
    call = """
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"
  name    = "train"

  eks_managed_node_groups = {
    gpu = { instance_types = ["p5.48xlarge"], min_size = 0, max_size = 8, desired_size = 1 }
  }
}
"""
    result = run(write, call)
    (pool,) = result.world.inventory.pools
    assert known(pool.ignored) == ("scaling_config.desired_size",)
    assert "count-resets-size" not in {found.rule for found in result.findings}


@pytest.mark.parametrize("written", ["[scaling_config]", "[scaling_config[0].min_size]", "all"])
def test_a_fix_that_terraform_ignores_is_not_offered(write: Write, written: str) -> None:
    result = run(write, EKS % written)
    (found,) = [one for one in result.findings if one.rule == "gpu-pool-never-empty"]
    assert found.fix is None
    assert "from ignore_changes first" in str(found.help)


def test_a_fix_that_terraform_does_not_ignore_is_offered(write: Write) -> None:
    result = run(write, EKS % "[scaling_config[0].desired_size]")
    (found,) = [one for one in result.findings if one.rule == "gpu-pool-never-empty"]
    assert found.fix is not None
