"""Test attributes and blocks against the providers' schemas: cases made here, the examples, and examples of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.engine import rules
from tests.places import ROOT
from tests.terraform.schemas_of_providers import missing, modules, provider, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcheck.engine.rule import Rule

FILES = sorted(path for glob in ("*-training", "published") for path in (ROOT / "examples").glob(f"{glob}/**/*.tf"))

GOOD = {
    "a cluster": """
resource "aws_eks_cluster" "main" {
  count    = 1
  name     = "train"
  role_arn = aws_iam_role.main.arn

  vpc_config {
    subnet_ids = ["subnet-1"]
  }

  timeouts {
    create = "60m"
  }

  lifecycle {
    ignore_changes = [version]
  }
}
""",
    "a dynamic block, with blocks in it": """
resource "azurerm_subnet" "main" {
  name                 = "nodes"
  resource_group_name  = "train"
  virtual_network_name = "train"
  address_prefixes     = ["10.0.0.0/16"]

  dynamic "delegation" {
    for_each = var.delegations
    iterator = each
    content {
      name = each.value
      service_delegation {
        name = "Microsoft.ContainerService/managedClusters"
      }
    }
  }
}
""",
    "an attribute of objects, as blocks and as a list": """
resource "aws_security_group" "blocks" {
  ingress {
    from_port = 0
    to_port   = 0
    protocol  = "-1"
    self      = true
  }
}

resource "aws_security_group" "list" {
  ingress = [{ from_port = 0, to_port = 0, protocol = "-1", self = true }]
}
""",
    "a release of helm 3": """
provider "helm" {
  kubernetes = {
    host = "https://localhost"
    exec = { api_version = "client.authentication.k8s.io/v1", command = "aws" }
  }
}

resource "helm_release" "kueue" {
  name  = "kueue"
  chart = "kueue"
  set   = [{ "name" = "a", value = "b" }]
}
""",
    "modules": """
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"
  name    = "train"

  eks_managed_node_groups = merge({ system = { min_size = 1 } }, { for i in [1] : "gpu-${i}" => { min_size = i } })
}

module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  cluster_name = module.eks.cluster_name
}

module "own" {
  source = "./own"
  any    = 1
}
""",
    "a data source": """
data "aws_availability_zones" "here" {
  state = "available"

  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}
""",
}

BAD = {
    'resource "aws_eks_cluster" "main" {\n  nme = "train"\n}': "2: aws_eks_cluster: no attribute `nme`",
    'resource "aws_eks_cluster" "main" {\n  vpc_config {\n    subnets = []\n  }\n}': (
        "3: aws_eks_cluster.vpc_config: no attribute `subnets`"
    ),
    'resource "aws_eks_cluster" "main" {\n  scaling {}\n}': "2: aws_eks_cluster: no block `scaling`",
    'resource "aws_eks_cluster" "main" {\n  vpc_config = {}\n}': (
        "2: aws_eks_cluster: `vpc_config` is a block, not an attribute"
    ),
    'resource "aws_eks_cluster" "main" {\n  tags {}\n}': "2: aws_eks_cluster: `tags` is an attribute, not a block",
    'resource "aws_eks_cluster" "main" {\n  arn = "x"\n}': "2: aws_eks_cluster: no attribute `arn`",
    'resource "aws_eks_cluster" "main" {\n  id = "x"\n}': "2: aws_eks_cluster: no attribute `id`",
    'resource "aws_eks_cluster" "main" {\n  providers = {}\n}': "2: aws_eks_cluster: no attribute `providers`",
    'resource "aws_eks_cluster" "main" {\n  dynamic "vpc_config" {\n    content {\n      vpc = 1\n    }\n  }\n}': (
        "4: aws_eks_cluster.vpc_config: no attribute `vpc`"
    ),
    'resource "aws_eks_cluster" "main" {\n  dynamic "vpcs" {\n    content {}\n  }\n}': (
        "2: aws_eks_cluster: no block `vpcs`"
    ),
    'resource "helm_release" "a" {\n  set {\n    name = "a"\n  }\n}': (
        "2: helm_release: `set` is an attribute, not a block"
    ),
    'resource "helm_release" "a" {\n  set = [\n    { name = "a", val = "b" }\n  ]\n}': (
        "3: helm_release.set: no attribute `val`"
    ),
    'provider "helm" {\n  kubernetes {}\n}': "2: helm: `kubernetes` is an attribute, not a block",
    'resource "aws_security_group" "a" {\n  ingress = [{ port = 1 }]\n}': (
        "2: aws_security_group.ingress: no attribute `port`"
    ),
    'module "eks" {\n  source       = "terraform-aws-modules/eks/aws"\n  cluster_name = "train"\n}': (
        "3: eks: no attribute `cluster_name`"
    ),
    'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  eks_managed_node_groups = {\n    gpu = {\n'
    "      size = 1\n    }\n  }\n}": "5: eks.eks_managed_node_groups: no attribute `size`",
    'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  eks_managed_node_groups = merge({}, { for i in [1] :\n'
    "    i => { size = i } })\n}": "4: eks.eks_managed_node_groups: no attribute `size`",
    'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  vpc {}\n}': "3: eks: no block `vpc`",
    'module "a" {\n  source = "b/c/d"\n}': '1: module "a" is not listed',
    'resource "aws_eks_clusters" "main" {}': '1: resource "aws_eks_clusters" is not listed',
    'data "aws_eks_nodes" "main" {}': '1: data "aws_eks_nodes" is not listed',
    'data "aws_vpc" "main" {\n  cidr = "10.0.0.0/8"\n}': "2: aws_vpc: no attribute `cidr`",
}


@pytest.mark.parametrize("name", GOOD)
def test_good_examples_have_only_known_attributes_and_blocks(name: str) -> None:
    assert unknown(GOOD[name]) == []


@pytest.mark.parametrize("text", BAD)
def test_bad_examples_are_reported_with_their_line(text: str) -> None:
    assert unknown(text) == [BAD[text]]


def test_broken_code_is_reported_as_unknown_attributes() -> None:
    assert unknown('resource "aws_vpc" "main" {\n  cidr_block = \n}\n')


def test_missing_required_attributes_are_listed() -> None:
    text = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n  vpc_config {\n  }\n}'
    assert missing(text) == [
        "1: aws_eks_cluster: `role_arn` is required",
        "3: aws_eks_cluster.vpc_config: `subnet_ids` is required",
    ]
    assert missing('resource "helm_release" "a" {\n  name = "a"\n  chart = "a"\n  set = [{ value = 1 }]\n}') == [
        "4: helm_release.set: `name` is required"
    ]
    assert missing(GOOD["a cluster"]) == missing(GOOD["modules"]) == missing(GOOD["a release of helm 3"]) == []


@pytest.mark.parametrize("name", ["aws", "google", "azurerm", "alicloud", "helm", "kubernetes"])
def test_attribute_lists_name_their_source(name: str) -> None:
    listed = provider(name)
    assert listed
    assert all(listed[key] for key in ("provider", "version", "source", "checked", "configuration", "resources"))


def test_module_lists_name_their_source() -> None:
    assert all(module["version"] and module["source"] for module in modules().values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_examples_have_only_known_attributes(path: Path) -> None:
    assert unknown(path.read_text()) == []


def good_code(rule: Rule) -> Iterator[str]:
    shown = [files for one in rule.documentation.examples for files in (one.good, one.fixed or {})]
    return (text for files in shown for name, text in files.items() if name.endswith(".tf"))


def test_good_rule_examples_have_only_known_attributes() -> None:
    found = {rule.name: [line for text in good_code(rule) for line in unknown(text)] for rule in rules.load()}
    assert {name: lines for name, lines in found.items() if lines} == {}
