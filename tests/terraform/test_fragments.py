"""Test folders that are copied into roots or rendered: they are reported once, as not judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Check

POOLS = """
resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.mlp.name
  autoscaling {
    max_node_count = var.most
  }
}
resource "google_container_node_pool" "cpu" {
  name     = "cpu"
  location = local.location
  cluster  = google_container_cluster.mlp.name
}
locals {
  location = google_container_cluster.mlp.location
}
"""
CLUSTER = """
resource "google_container_cluster" "main" {
  name     = "main"
  location = "us-central1"
}
"""


def test_a_terraform_fragment_is_reported_once(check: Check) -> None:
    result = check({"pools/main.tf": POOLS, "infra/main.tf": CLUSTER})
    assert not [one for one in result.undecided if one.span.source.path.startswith("pools/")]
    (skipped,) = (one for one in result.judged.skipped if one.path == "pools")
    assert skipped.what == "not judged"
    assert skipped.reason == (
        "a fragment: google_container_cluster.mlp is declared nowhere in it; "
        "it has google_container_node_pool.gpu, google_container_node_pool.cpu"
    )
    assert result.judged.is_partial


def test_a_tree_with_only_a_fragment_counts_as_partly_judged(check: Check) -> None:
    result = check({"main.tf": POOLS})
    assert not result.undecided
    assert result.relevant
    assert result.judged.is_partial


@pytest.mark.parametrize(
    "more",
    ['terraform {\n  required_version = ">= 1.5"\n}\n', 'provider "google" {\n}\n', 'variable "most" {\n}\n'],
    ids=["terraform", "provider", "one name only"],
)
def test_a_root_module_with_a_mistake_is_still_judged(more: str, check: Check) -> None:
    result = check({"main.tf": POOLS + more})
    assert not [one for one in result.judged.skipped if one.what == "not judged"]
    reasons = {why for one in result.undecided for why in one.missing}
    assert any("google_container_cluster.mlp" in why for why in reasons) or result.reading.problems


def test_a_called_module_is_not_a_fragment(check: Check) -> None:
    result = check({"pools/main.tf": POOLS, "main.tf": CLUSTER + 'module "pools" {\n  source = "./pools"\n}\n'})
    assert not [one for one in result.judged.skipped if one.what == "not judged"]


@pytest.mark.parametrize("name", ["components.tfcomponent.hcl", "components.tfstack.hcl"])
def test_a_terraform_stack_is_reported_as_not_judged(name: str, check: Check) -> None:
    stack = 'component "pools" {\n  source = "./pools"\n  inputs = {\n    most = 3\n  }\n}\n'
    result = check({f"stack/{name}": stack, "stack/deployments.tfdeploy.hcl": 'deployment "prod" {\n}\n'})
    assert [(one.path, one.what) for one in result.judged.skipped] == [(f"stack/{name}", "not judged")]
    assert result.relevant
