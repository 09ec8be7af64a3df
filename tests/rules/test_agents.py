"""Test agents of GPU nodes, and the taints that keep them off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.fix import fix
from tests.conftest import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcheck.engine.linter import Result
    from tests.conftest import Check


pytestmark = pytest.mark.medium

POOL = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]
  labels          = { role = "gpu" }

  taint {
    key    = "dedicated"
    value  = "training"
    effect = "NO_SCHEDULE"
  }

  scaling_config {
    min_size     = 0
    max_size     = 32
    desired_size = 0
  }
}
"""
SPOT = """
resource "azurerm_kubernetes_cluster" "main" {
  name                = "train"
  location            = "eastus"
  resource_group_name = "train"
  dns_prefix          = "train"
  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D4s_v5"
    node_count = 2
  }
  identity { type = "SystemAssigned" }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  priority              = "Spot"
  eviction_policy       = "Delete"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 16
}
"""
AGENT = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME, namespace: gpu}
spec:
  selector: {matchLabels: {name: x}}
  template:
    metadata: {labels: {name: x}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers: [{name: main, image: "IMAGE"}]
"""
PLUGIN = ("nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.17.4")


def agent(name: str, image: str, tolerations: str = "") -> str:
    text = AGENT.replace("NAME", name).replace("IMAGE", image)
    return text.replace("Exists}]", f"Exists}}, {tolerations}]") if tolerations else text


def told(result: Result) -> list[tuple[str, str]]:
    assert not result.bugs
    found = [one for one in result.findings if one.rule == "daemon-set-misses-taint"]
    return [(one.severity.word, one.message) for one in found]


@pytest.mark.parametrize(
    ("name", "image", "severity"),
    [
        (*PLUGIN, "error"),
        ("efa", "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.3", None),  # no fabric
        ("dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0", "warning"),
        ("driver", "nvcr.io/nvidia/driver/nvidia-driver-installer:1", "error"),
        ("neuron-device-plugin", "public.ecr.aws/neuron/neuron-device-plugin:2", None),  # of other cards
        ("gpu-feature-discovery", PLUGIN[1], None),
        ("node-exporter", "quay.io/prometheus/node-exporter:v1.9.0", None),
    ],
)
def test_agents_needed_on_gpu_nodes_must_tolerate_their_taints(
    name: str, image: str, severity: str | None, check: Check
) -> None:
    found = told(check({"main.tf": POOL, "agent.yaml": agent(name, image)}))
    assert [one for one, _ in found] == ([severity] if severity else [])


def test_the_fabric_plugin_is_only_missed_where_interfaces_are_enabled(check: Check) -> None:
    template = (
        'resource "aws_launch_template" "efa" {\n'
        'network_interfaces {\n    interface_type = "efa"\n    network_card_index = 0\n  }\n}\n'
    )
    code = POOL.replace(
        "  taint {",
        '  launch_template {\n    id = aws_launch_template.efa.id\n    version = "1"\n  }\n\n  taint {',
    )
    image = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.3"
    assert [one for one, _ in told(check({"main.tf": template + code, "a.yaml": agent("efa", image)}))] == ["error"]


TOLERATES = "{key: dedicated, operator: Exists}"


@pytest.mark.parametrize(
    ("main", "text"),
    [
        (POOL, agent(*PLUGIN, tolerations=TOLERATES)),
        (POOL, agent(*PLUGIN, tolerations="{operator: Exists}")),
        (POOL.replace('"dedicated"', '"nvidia.com/gpu"'), agent(*PLUGIN)),
        (POOL.replace("NO_SCHEDULE", "PREFER_NO_SCHEDULE"), agent(*PLUGIN)),
        (POOL.replace('"p5.48xlarge"', '"m5.4xlarge"'), agent(*PLUGIN)),
        (POOL.replace("labels ", "ami_type = \"BOTTLEROCKET_x86_64_NVIDIA\"\n  labels "), agent(*PLUGIN)),
        (POOL, agent(*PLUGIN).replace("      containers:", "      nodeSelector: {role: other}\n      containers:")),
        (POOL, agent(*PLUGIN).replace("      containers:", "      nodeSelector: {nvidia.com/gpu.present: x}\n      containers:")),
        (POOL, agent(*PLUGIN).replace("      tolerations: [{key: nvidia.com/gpu, operator: Exists}]", "      tolerations: ${TOLERATIONS}")),
        (POOL, agent(*PLUGIN) + "---\n" + agent("nvidia-device-plugin-training", PLUGIN[1], TOLERATES)),
        (POOL + 'resource "helm_release" "o" {\n  name = "o"\n  chart = "gpu-operator"\n}\n', agent(*PLUGIN)),
    ],
)  # fmt: skip
def test_agents_not_needed_on_gpu_nodes_are_not_reported(main: str, text: str, check: Check) -> None:
    assert told(check({"main.tf": main, "agent.yaml": text})) == []


def test_the_spot_taint_of_aks_is_known(check: Check) -> None:
    found = told(check({"main.tf": SPOT, "agent.yaml": agent(*PLUGIN)}))
    taint = "kubernetes.azure.com/scalesetpriority=spot"
    assert found == [("error", f"DaemonSet nvidia-device-plugin does not tolerate {taint} of GPU pool gpu")]


def test_one_untolerated_taint_gives_only_one_finding(check: Check) -> None:
    """The plugin counts as installed, and uses nothing on nodes that it cannot run on."""
    found = names(check({"main.tf": POOL, "agent.yaml": agent(*PLUGIN)}))
    assert not {"gpu-without-device-plugin", "gpu-without-toleration", "pod-matches-no-pool"}.intersection(found)


def test_a_taint_added_by_a_fix_is_tolerated_by_the_plugin(write: Callable[[dict[str, str]], Path]) -> None:
    plain = POOL[: POOL.index("  taint {")] + POOL[POOL.index("  scaling_config") :]
    cpu = (
        plain[plain.index('resource "aws_eks_node_group"') :]
        .replace('"gpu"', '"cpu"')
        .replace("p5.48xlarge", "m5.xlarge")
    )
    tolerates = "tolerations: [{key: nvidia.com/gpu, operator: Exists}]"
    files = {
        "main.tf": plain + cpu,
        "agent.yaml": agent(*PLUGIN).replace(tolerates, "priorityClassName: system-node-critical"),
    }
    write(files)
    fixes = fix.fix(
        ["."], Config(), safeties=("costs", "unsafe"), rules=("gpu-pool-untainted", "daemon-set-misses-taint")
    )
    assert {one.rule for one in fixes.fixed} == {"gpu-pool-untainted", "daemon-set-misses-taint"}
