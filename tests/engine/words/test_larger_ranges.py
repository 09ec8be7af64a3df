"""Test larger ranges for subnets that are too small: free blocks, also those that the old ranges leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.scale import ranges
from kcheck.text.files.tree import Tree
from kcheck.text.need import or_none

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check, Write

pytestmark = pytest.mark.medium

VPC = """
module "vpc" {{
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 6.0"

  name            = "train"
  cidr            = "10.0.0.0/16"
  azs             = ["us-east-1a", "us-east-1b", "us-east-1c"]
  private_subnets = [{private}]
  public_subnets  = ["10.0.101.0/24", "10.0.102.0/24", "10.0.103.0/24"]
}}

module "eks" {{
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name       = "train"
  subnet_ids = module.vpc.private_subnets
  {addons}

  eks_managed_node_groups = {{
    gpu = {{
      instance_types = ["p5.48xlarge"]
      max_size       = {nodes}
    }}
  }}
}}
"""


@pytest.fixture
def run(write: Write) -> Check:
    def checked(private: str, nodes: int, addons: str = "") -> Result:
        write({"main.tf": VPC.format(private=private, nodes=nodes, addons=addons)})
        return linter.run(Tree(["."]), Config())

    return checked


def blocks(result: Result) -> list[str]:
    world = result.world
    found = (or_none(ranges.sufficient_cidr)(one, world) for one in world.inventory.subnets)
    return [str(block) for block in found if block]


def test_ranges_of_one_list_do_not_take_each_others_blocks(run: Check) -> None:
    private = '"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"'
    assert blocks(run(private, 300)) == []  # AWS refuses a range over one that the same apply destroys later
    assert blocks(run(private, 30)) == ["10.0.8.0/21", "10.0.16.0/21", "10.0.24.0/21"]  # there is room beside them


def test_help_on_eks_names_a_way_without_new_subnets(run: Check) -> None:
    private = '"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"'
    (found,) = (one for one in run(private, 300).findings if one.rule == "subnet-too-small")
    assert "With ENABLE_PREFIX_DELEGATION of the vpc-cni add-on, a node would take about 33 addresses" in found.details
    addons = (
        'addons = { vpc-cni = { configuration_values = jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } }) } }'
    )
    (found,) = (one for one in run(private, 300, addons).findings if one.rule == "subnet-too-small")
    assert not any("PREFIX" in text for text in found.details)
