"""Test the cluster autoscaler's Helm chart, add-on modules that install it, and autoscalers that clouds run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.report import model
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

pytestmark = pytest.mark.medium

CLUSTER = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name = aws_eks_cluster.main.name
  scaling_config {
    min_size = 0
    max_size = 300
  }
}
"""
RELEASE = 'resource "helm_release" "ca" {\n  chart = "cluster-autoscaler"\n%s\n}\n'


@pytest.fixture
def read(write: Write) -> Callable[..., Any]:
    def fields(text: str, *names: str) -> list[Any]:
        write({"main.tf": text})
        (autoscaler,) = model.collect(Tree(["."]), Config())["autoscalers"]
        found = [autoscaler["fields"][name] for name in names]
        return [field.get("value", field.get("unknown")) for field in found]

    return fields


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "version"),
    [
        ('  version = "9.37.0"', "1.30"),
        ('  version = "9.46.6"', "1.32"),
        ('  version = "9.47.0"', "1.33"),
        ('  version = "9.46.6"\n  set {\n    name  = "image.tag"\n    value = "v1.29.3"\n  }', "v1.29.3"),
        ('  version = "9.38.0"', "1.31"),
        ('  version = "9.55.0"', "the autoscaler version in chart version 9.55.0 is not known"),
        ('  version = "~> 9.0"', "the autoscaler version in chart version ~> 9.0 is not known"),
        ('  version = "10.0.0"', "the autoscaler version in chart version 10.0.0 is not known"),
        ("", "the version of the chart is not known"),
        ("  version = var.nowhere", "there is no var.nowhere"),
    ],
)
def test_the_chart_version_decides_the_autoscaler_version(lines: str, version: str, read: Callable[..., Any]) -> None:
    assert read(CLUSTER + RELEASE % lines, "version") == [version]


def test_the_chart_version_decides_flag_defaults(read: Callable[..., Any]) -> None:
    assert read(CLUSTER + RELEASE % '  version = "9.46.6"', "expander") == ["random"]
    assert read(CLUSTER + RELEASE % '  version = "9.47.0"', "expander") == ["least-waste"]


VALUES = """
  values = [<<-EOT
    extraArgs:
      max-nodes-total_1: 40
      skip-nodes-with-local-storage: false
    customArgs:
      - --scale-down-unneeded-time=2m
      - --scan-interval
      - 30s
    resources:
      requests: {cpu: 250m}
  EOT
  ]"""


def test_flags_are_read_from_chart_values(read: Callable[..., Any]) -> None:
    names = ("max_nodes", "skip_local_storage", "unneeded_time", "scan_interval", "cpu")
    assert read(CLUSTER + RELEASE % VALUES, *names) == [40, False, 120, 30, 250]


@pytest.mark.slow
def test_custom_arguments_are_read_by_index(read: Callable[..., Any]) -> None:
    lines = '  set {\n    name  = "customArgs[0]"\n    value = "--scale-down-unneeded-time=2m"\n  }'
    assert read(CLUSTER + RELEASE % lines, "unneeded_time") == [120]


def test_unknown_chart_arguments_stay_unknown(read: Callable[..., Any]) -> None:
    lines = "  values = [yamlencode({ customArgs = var.nowhere })]"
    assert read(CLUSTER + RELEASE % lines, "unneeded_time") == ["there is no var.nowhere"]


ADDONS = """
module "addons" {
  source  = "aws-ia/eks-blueprints-addons/aws"
  version = "%s"

  cluster_version           = "%s"
  enable_cluster_autoscaler = true
%s}
"""


@pytest.mark.parametrize(
    ("module", "cluster", "lines", "wanted"),
    [
        ("1.20.0", "1.31", "", "v1.31.0"),
        ("1.20.0", "1.33", "", "v1.33.0"),
        ("1.23.0", "1.33", "", "v1.32.1"),
        (
            "1.20.0",
            "1.31",
            '  cluster_autoscaler = {\n    set = [{ name = "image.tag", value = "v1.30.4" }]\n  }\n',
            "v1.30.4",
        ),
    ],
)
def test_terraform_blueprints_decide_the_autoscaler_image(
    module: str, cluster: str, lines: str, wanted: str, read: Callable[..., Any]
) -> None:
    assert read(CLUSTER + ADDONS % (module, cluster, lines), "version") == [wanted]


AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"

  default_node_pool {
    name                 = "system"
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 100
  }
%s}
"""


def test_the_autoscaler_profile_of_aks_is_read(read: Callable[..., Any]) -> None:
    names = ("balance", "skip_local_storage", "skip_system_pods", "grace", "delay_after_delete", "managed", "cpu")
    assert read(AKS % "", *names) == [False, False, True, 600, None, True, None]
    lines = "balance_similar_node_groups = true\nskip_nodes_with_local_storage = true\nskip_nodes_with_system_pods = false\n"
    lines += 'max_graceful_termination_sec = "30"\nscale_down_delay_after_delete = "1m"\n'
    assert read(AKS % f"auto_scaler_profile {{\n{lines}}}\n", *names) == [True, True, False, 30, 60, True, None]


GKE = """
resource "google_container_cluster" "main" {
  name     = "train"
  location = "europe-west4"

  cluster_autoscaling {
    enabled = %s
    resource_limits {
      resource_type = "memory"
      maximum       = 4000
    }
    resource_limits {
      resource_type = "cpu"
      maximum       = 1000
    }
    resource_limits {
      resource_type = "nvidia-l4"
      maximum       = 8
    }
  }
}

resource "google_container_node_pool" "cpu" {
  cluster = google_container_cluster.main.name
  autoscaling {
    max_node_count = 9
  }
}
"""


def test_limits_of_auto_provisioning_are_read(read: Callable[..., Any]) -> None:
    assert read(GKE % "true", "max_cores", "max_memory", "provisioning") == [1000, 4000, True]
    assert read(GKE % "false", "max_cores", "max_memory", "provisioning") == [None, None, False]


def test_auto_provisioning_limits_are_read_without_pools(read: Callable[..., Any]) -> None:
    alone = GKE.partition('resource "google_container_node_pool"')[0]
    assert read(alone % "true", "max_cores") == [1000]


def test_auto_provisioning_limits_of_the_gke_module_are_read(read: Callable[..., Any]) -> None:
    call = """
module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google"
  version = "~> 36.0"

  name                = "train"
  region              = "europe-west4"
  cluster_autoscaling = { enabled = true, max_cpu_cores = 500, max_memory_gb = 900, gpu_resources = [] }
}
"""
    assert read(call, "max_cores", "max_memory") == [500, 900]


def test_autoscaler_settings_of_ack_are_read(read: Callable[..., Any]) -> None:
    cluster = 'resource "alicloud_cs_managed_kubernetes" "main" {\n  name = "train"\n}\n'
    config = 'resource "alicloud_cs_autoscaling_config" "main" {\n  cluster_id = alicloud_cs_managed_kubernetes.main.id\n%s}\n'
    pool = 'resource "alicloud_cs_kubernetes_node_pool" "a" {\n  cluster_id = alicloud_cs_managed_kubernetes.main.id\n  scaling_config {\n    max_size = 9\n  }\n}\n'
    names = ("unneeded_time", "delay_after_add", "scale_down", "skip_local_storage", "grace")
    assert read(cluster + pool + config % "", *names) == [600, 600, True, False, 14400]
    lines = '  cool_down_duration = "3m"\n  unneeded_duration = "7m"\n  scale_down_enabled = false\n'
    assert read(cluster + pool + config % lines, *names) == [180, 420, False, False, 14400]
