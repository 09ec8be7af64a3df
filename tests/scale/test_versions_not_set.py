"""Test Kubernetes versions that the cloud chooses: nothing is undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Check

AKS = """
data "azurerm_kubernetes_service_versions" "current" {
  location        = "westeurope"
  include_preview = false
  PREFIX
}
resource "azurerm_kubernetes_cluster" "main" {
  name               = "train"
  kubernetes_version = data.azurerm_kubernetes_service_versions.current.latest_version
  default_node_pool {
    name                 = "system"
    node_count           = 3
    vm_size              = "Standard_D8s_v5"
    orchestrator_version = data.azurerm_kubernetes_service_versions.current.latest_version
  }
}
"""
ACK = """
variable "kubernetes" {
  default = ""
}
resource "alicloud_cs_managed_kubernetes" "main" {
  name    = "train"
  version = var.kubernetes
}
"""


@pytest.mark.parametrize("source", [AKS.replace("PREFIX", ""), ACK], ids=["the newest", "an empty text"])
def test_a_version_chosen_by_the_cloud_leaves_nothing_undecided(source: str, check: Check) -> None:
    undecided = {one.rule: one.missing for one in check({"main.tf": source}).undecided}
    assert undecided.keys().isdisjoint({"unsupported-kubernetes", "extended-support-price"}), undecided


def test_an_unknown_version_prefix_stays_undecided(check: Check) -> None:
    source = AKS.replace("PREFIX", "version_prefix = var.minor") + 'variable "minor" {}\n'
    assert "unsupported-kubernetes" in {one.rule for one in check({"main.tf": source}).undecided}
