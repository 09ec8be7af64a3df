"""Test mistakes in spellings that the rules' examples cannot show: tests/schemas lacks their providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check

pytestmark = pytest.mark.medium

AZAPI = """
resource "azapi_resource" "aks" {
  type     = "Microsoft.ContainerService/managedClusters@2025-07-01"
  name     = "train"
  location = "westeurope"
  body = {
    sku = { name = "Base", tier = "Standard" }
    properties = {
      kubernetesVersion = "1.35"
      autoUpgradeProfile = {
        CHANNEL
      }
      agentPoolProfiles = [
        { name = "system", mode = "System", vmSize = "Standard_D4s_v5", count = 3 },
        { name = "gpu", mode = "User", vmSize = "Standard_ND96isr_H100_v5", count = 8 },
      ]
    }
  }
}
"""
WINDOW = """
resource "azapi_resource" "window" {
  type      = "Microsoft.ContainerService/managedClusters/maintenanceConfigurations@2025-07-01"
  name      = "NAME"
  parent_id = azapi_resource.aks.id
  body      = { properties = { maintenanceWindow = { durationHours = 8, startTime = "02:00" } } }
}
"""


@pytest.mark.parametrize(
    ("channel", "rule"),
    [
        ('upgradeChannel = "stable"', "upgrade-at-any-time"),
        ('nodeOSUpgradeChannel = "NodeImage"', "node-images-at-any-time"),
    ],
)
def test_azapi_upgrades_need_a_maintenance_configuration(check: Check, channel: str, rule: str) -> None:
    code = AZAPI.replace("CHANNEL", channel)
    assert rule in names(check({"main.tf": code}))
    assert rule not in names(check({"main.tf": code + WINDOW}))


SERVICE = """
resource "kubernetes_deployment_v1" "serve" {
  metadata {
    name      = "serve"
    namespace = "llm"
  }
  spec {
    replicas = 4
    selector {
      match_labels = { app = "serve" }
    }
    template {
      metadata {
        labels = { app = "serve" }
      }
      spec {
        container {
          name  = "serve"
          image = "ghcr.io/example/serve:1.4.0"
        }
      }
    }
  }
}
resource "kubernetes_pod_disruption_budget_v1" "serve" {
  metadata {
    name      = "serve"
    namespace = "llm"
  }
  spec {
    max_unavailable = "1"
    selector {
      match_labels = { app = "serve" }
    }
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('"serve" }\n    }\n  }\n}\n', '"server" }\n    }\n  }\n}\n', "budget-selects-nothing"),
        ('max_unavailable = "1"', 'max_unavailable = "0"', "budget-allows-no-eviction"),
        ('max_unavailable = "1"', 'min_available = "4"', "budget-keeps-every-pod"),
    ],
)
def test_disruption_budgets_in_terraform_are_judged(check: Check, old: str, new: str, rule: str) -> None:
    assert old in SERVICE
    assert rule in names(check({"main.tf": SERVICE.replace(old, new)}))
    assert rule not in names(check({"main.tf": SERVICE}))
