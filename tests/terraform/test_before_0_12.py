"""Test Terraform before 0.12: maps written as blocks, quoted names, lists in quotes; read as far as it parses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.console import evaluate
from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.terraform.providers import pinned_versions
from kcheck.text.files.tree import Tree
from kcheck.text.syntax.hcl.hcl1 import is_old, rewrite_old_syntax
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.values import known

if TYPE_CHECKING:
    from tests.conftest import Write

MAIN = """
variable "name" { default = "train" }
variable "create" {
  type    = "string"
  default = "true"
}
variable "zones" {
  type    = "list"
  default = ["a", "b"]
}
variable "sizes" {
  type = "map"
  default {
    max   = 300
    "min" = "1"
  }
}
variable "subnets" { type = "list" }

resource "aws_vpc" "main" {
  count      = "${var.create ? 1 : 0}"
  cidr_block = "10.0.0.0/16"

  tags {
    Name                                = "${var.name}-vpc"
    "kubernetes.io/cluster/${var.name}" = "shared"
  }
}

resource "kubernetes_pod" "main" {
  "metadata" {
    name = "a"

    labels {
      app = "${var.name}"
    }
  }
}

module "inner" {
  source = "./inner"

  given {
    a = "1"
  }
}

locals {
  "named" = "${var.name}"
}

locals {
  all  = ["${var.zones}", "c", "${var.name}"]
  some = ["${var.subnets}", "c"]
  one  = "${list("a", var.name)}"
  map  = "${merge(map("a", "1"), map("b", "${var.name}-2"))}"
  tags = ["${concat(list(map("key", "a")), var.zones)}"]
}
"""
INNER = 'variable "given" { type = "map" }\noutput "given" { value = "${lookup(var.given, "a")}" }\n'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("var.sizes", {"max": "300", "min": "1"}),
        ("aws_vpc.main[0].tags", {"Name": "train-vpc", "kubernetes.io/cluster/train": "shared"}),
        ("kubernetes_pod.main.metadata[0].labels", {"app": "train"}),
        ("module.inner.given", "1"),
        ("local.all", ["a", "b", "c", "train"]),
        ("local.one", ["a", "train"]),
        ("local.map", {"a": "1", "b": "train-2"}),
        ("local.tags", [{"key": "a"}, "a", "b"]),
        ("local.some[1]", "c"),
        ("local.named", "train"),
    ],
)
def test_old_code_evaluates_to_the_same_values(expression: str, expected: object, write: Write) -> None:
    write({"main.tf": MAIN, "inner/main.tf": INNER})
    answer = evaluate(expression, ".", Config())
    assert answer["value"] == expected, answer


def test_unreadable_old_code_is_reported_once_as_skipped(write: Write) -> None:
    broken = 'resource "aws_vpc" "a" {\n  cidr_block = \n}\n'
    write({"main.tf": MAIN, "inner/main.tf": INNER, "broken.tf": broken, "more.tf": broken.replace('"a"', '"b"')})
    reading = reader.read(Tree(["."]), Config())
    assert reading.problems == []
    assert [one.path for one in reading.skipped] == ["broken.tf"]
    assert "before 0.12" in reading.skipped[0].reason


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ('terraform {\n  required_version = "~> 0.11.7"\n}\n', True),
        ('terraform {\n  required_version = ">= 0.11, < 0.12"\n}\n', True),
        ('terraform {\n  required_version = "0.11.14"\n}\n', True),
        ('terraform {\n  required_version = ">= 0.11"\n}\n', False),
        ('terraform {\n  required_version = "~> 0.13"\n}\n', False),
        ('terraform {\n  required_version = ">= 0.12, < 2.0"\n}\n', False),
        ('variable "a" {\n  default {\n    b = 1\n  }\n}\n', True),
        ('resource "aws_vpc" "a" {\n  tags {\n    b = 1\n  }\n}\n', True),
        ('resource "aws_vpc" "a" {\n  tags = {\n    "b" = "${var.c}"\n  }\n}\n', False),
        ('resource "google_monitoring_metric_descriptor" "a" {\n  labels {\n    key = "b"\n  }\n}\n', False),
        ('resource "aws_vpc" "a" {\n  tags {\n    "b" = 1\n  }\n}\n', True),
        ('resource "aws_eks_cluster" "a" {\n  b = ["${aws_subnet.a.*.id}"]\n}\n', True),
        ('resource "aws_eks_cluster" "a" {\n  b = flatten(["${aws_subnet.a.*.id}"])\n}\n', False),
    ],
)
def test_old_code_is_recognized(text: str, old: bool) -> None:
    assert is_old([parse(Source("a.tf", text.encode()))]) == old


@pytest.mark.parametrize(
    "text",
    [
        'a {\n  b = "{"\n  # "c" {\n  d = <<EOF\n"e" = {\nEOF\n}\n',
        'a {\n  b = {\n    "c/d" = 1\n  }\n}\n',
        'a "b" {\n  "c/d" = 1\n}\n',
        "",
        '"' * 1000,
        "{" * 1000 + '\n"a/b" = 1',
    ],
)
def test_other_code_is_left_alone(text: str) -> None:
    assert rewrite_old_syntax(text.encode()) is None


def test_every_byte_of_old_code_keeps_its_position() -> None:
    text = b'a "b" {\n  "metadata" {\n    tags {\n      "x/y" = "${var.m["k"]}"\n    }\n  }\n}\n'
    found = rewrite_old_syntax(text)
    assert found == b'a "b" {\n   metadata  {\n    tags={\n      "x/y" = "${var.m["k"]}"\n    }\n  }\n}\n'


def test_old_code_implies_an_old_provider(write: Write) -> None:
    cluster = 'resource "azurerm_kubernetes_cluster" "a" {\n  tags {\n    a = 1\n  }\n}\n'
    write({"main.tf": cluster})
    (root,) = reader.read(Tree(["."]), Config()).roots
    assert not pinned_versions(root)["azurerm"].reaches("3.0")


def test_pools_of_azurerm_1_are_read_as_written(write: Write) -> None:
    pool = (
        '  agent_pool_profile {\n    name  = "NAME"\n    count = "${var.count}"\n    vm_size = "Standard_D4s_v3"\n  }\n'
    )
    cluster = (
        'variable "count" { default = "30" }\nresource "azurerm_kubernetes_cluster" "a" {\n  name = "a"\n  POOLS\n}\n'
    )
    write({"main.tf": cluster.replace("POOLS", pool.replace("NAME", "a") + pool.replace("NAME", "b"))})
    pools = reader.read(Tree(["."]), Config()).inventory.pools
    assert [(known(pool.name), known(pool.size.max_nodes)) for pool in pools] == [("a", 30), ("b", 30)]
    assert len({pool.id for pool in pools}) == 2
