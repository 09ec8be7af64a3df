"""Test monitoring of large clusters: which Prometheus servers count, what they need, and agents on every node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check


pytestmark = pytest.mark.medium

RELEASE = """
resource "helm_release" "monitoring" {
  name       = "monitoring"
  repository = "https://prometheus-community.github.io/helm-charts"
  chart      = "%s"
  values     = [yamlencode(%s)]
}
"""


def found(check: Check, files: dict[str, str], nodes: int = 1500) -> list[str]:
    """Return the monitoring rules that fire for a number of nodes."""
    every = names(check(files, Config(nodes={"": nodes})))
    return [name for name in every if name.startswith(("prometheus", "gpu-metrics", "per-node"))]


def stack(spec: str, more: str = "") -> str:
    return RELEASE % ("kube-prometheus-stack", f"{{ prometheus = {{ prometheusSpec = {{ {spec} }} }} {more} }}")


@pytest.mark.parametrize(
    ("release", "nodes", "wanted"),
    [
        (stack('resources = { limits = { memory = "2Gi" } }'), 1500, ["prometheus-too-small"]),
        (stack('resources = { limits = { memory = "2Gi" } }'), 150, []),  # nothing measured says that it is too little
        (stack('resources = { limits = { memory = "64Gi" } }'), 1500, []),
        (stack('shards = 4, resources = { limits = { memory = "16Gi" } }'), 1500, []),
        (stack('shards = 2, resources = { limits = { memory = "16Gi" } }'), 1500, ["prometheus-too-small"]),
        (stack('retention = "15d"'), 1500, ["prometheus-not-sharded"]),
        (stack('retention = "15d"'), 900, []),
        (stack('resources = { requests = { memory = "400Mi" } }'), 1500, ["prometheus-not-sharded"]),
        (stack('resources = { requests = { memory = "80Gi" } }'), 1500, []),
        (stack("shards = 6"), 1500, []),
        (stack("shards = var.shards"), 1500, []),  # not known
        (stack('retention = "15d"', ", kubelet = { enabled = false }"), 1500, []),  # not the nodes
        (RELEASE % ("prometheus", '{ server = { resources = { limits = { memory = "4Gi" } } } }'), 1500, ["prometheus-too-small"]),
        (RELEASE % ("grafana", "{}"), 1500, []),
    ],
)  # fmt: skip
def test_prometheus_servers_of_charts_are_judged(release: str, nodes: int, wanted: list[str], check: Check) -> None:
    assert found(check, {"main.tf": 'variable "shards" {}' + release}, nodes) == wanted


SERVER = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: prometheus, namespace: monitoring}
spec:
  template:
    spec:
      serviceAccountName: prometheus
      containers:
        - name: prometheus
          image: quay.io/prometheus/prometheus:v3.1.0
          resources: {limits: {memory: 8Gi}}
"""
RIGHTS = """
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %(name)s}
rules:
  - {apiGroups: [""], resources: [nodes, pods], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %(name)s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %(name)s}
subjects: [{kind: ServiceAccount, name: %(name)s, namespace: %(space)s}]
"""


@pytest.mark.parametrize(
    ("manifests", "wanted"),
    [
        (SERVER + RIGHTS % {"name": "prometheus", "space": "monitoring"}, ["prometheus-too-small"]),
        (SERVER, []),  # without rights it scrapes what it is told
        (SERVER.replace("prometheus/prometheus:", "prometheus/alertmanager:") + RIGHTS % {"name": "prometheus", "space": "monitoring"}, []),
    ],
)  # fmt: skip
def test_prometheus_servers_in_plain_workloads_are_judged(manifests: str, wanted: list[str], check: Check) -> None:
    assert found(check, {"prometheus.yaml": manifests}) == wanted


@pytest.mark.parametrize(
    ("selector", "wanted"), [("{}", ["prometheus-not-sharded"]), ("{matchLabels: {app: web}}", [])]
)
def test_operator_servers_that_select_every_monitor_are_judged(selector: str, wanted: list[str], check: Check) -> None:
    spec = f"spec: {{serviceMonitorSelector: {selector}}}\n"
    text = "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: k8s}\n" + spec
    assert found(check, {"prometheus.yaml": text}) == wanted


AGENT = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %s, namespace: kube-system}
spec:
  template:
    spec:
      serviceAccountName: agent
      containers: [{name: agent, image: registry.example.com/agent:1}]
"""


@pytest.mark.parametrize(
    ("name", "told"), [("fluent-bit", True), ("datadog-agent", True), ("ebs-csi-node", False), ("kured", False)]
)
def test_known_monitoring_agents_in_kube_system_are_reported(name: str, *, told: bool, check: Check) -> None:
    files = {"agent.yaml": AGENT % name + RIGHTS % {"name": "agent", "space": "kube-system"}}
    assert found(check, files) == (["per-node-api-watchers"] if told else [])


GPUS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["%s"]
  scaling_config {
    min_size     = 0
    max_size     = 16
    desired_size = 0
  }
}
"""
PLUGIN = """
resource "helm_release" "plugin" {
  name  = "nvidia-device-plugin"
  chart = "nvidia-device-plugin"
}
"""


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        (GPUS % "p5.48xlarge" + PLUGIN + stack("shards = 1"), "warning"),
        (GPUS % "p5.48xlarge" + stack("shards = 1"), "info"),  # what GPU nodes run may come from elsewhere
        (GPUS % "p5.48xlarge" + PLUGIN, None),  # so may Prometheus
        (GPUS % "m6i.large" + PLUGIN + stack("shards = 1"), None),
        (GPUS % "p5.48xlarge" + PLUGIN.replace("nvidia-device-plugin", "gpu-operator") + stack("shards = 1"), None),
    ],
)
def test_missing_gpu_metrics_are_reported(code: str, severity: str | None, check: Check) -> None:
    every = check({"main.tf": code}).findings
    own = [one.severity.word for one in every if one.rule == "gpu-metrics-missing"]
    assert own == ([severity] if severity else [])
