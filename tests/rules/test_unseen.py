"""Test mistakes that rules once missed in generated clusters, each in its smallest form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check


pytestmark = pytest.mark.medium

EKS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  for_each = toset([POOLS])

  cluster_name    = aws_eks_cluster.main.name
  node_group_name = each.key
  subnet_ids      = ["subnet-1"]
  instance_types  = [each.key == "other" ? "p4d.24xlarge" : "p5.48xlarge"]

  labels = {
    kind = "gpu"
    LABEL
  }

  scaling_config {
    min_size     = 0
    max_size     = 20
    desired_size = 0
  }
}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: vision
  labels: {LABELS}
spec:
  completionMode: Indexed
  parallelism: 8
  completions: 8
  template:
    spec:
      nodeSelector: {kind: gpu}
      containers:
        - name: train
          image: registry.example.com/train:1
          command: [torchrun, --nnodes=8, train.py]
          resources: {limits: {nvidia.com/gpu: GPUS}}
"""


def eks(*names: str, label: str = "") -> str:
    return EKS.replace("POOLS", ", ".join(f'"{name}"' for name in names)).replace("LABEL", label)


def job(gpus: int, labels: str = "") -> str:
    return JOB.replace("GPUS", str(gpus)).replace("LABELS", labels)


def told(result: Result, rule: str) -> list[str]:
    return [finding.message for finding in result.findings if finding.rule == rule]


@pytest.mark.parametrize(("names", "found"), [
    (("a",), ["Job train leaves 3 of 8 GPUs of each node idle"]),
    (("a", "b"), ["Job train leaves 3 of 8 GPUs of each node idle"]),
    (("a", "other"), []),  # 96 vCPUs
])  # fmt: skip
def test_unused_gpus_on_equal_pools_are_reported_too(names: tuple[str, ...], found: list[str], check: Check) -> None:
    assert told(check({"main.tf": eks(*names), "job.yaml": job(5)}), "job-does-not-fill-node") == found


@pytest.mark.parametrize(("image", "found"), [
    ("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", 0),
    ("602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20", 1),
])  # fmt: skip
def test_the_efa_plugin_is_not_mistaken_for_a_gpu_plugin(image: str, found: int, check: Check) -> None:
    main = eks("a").replace("instance_types", 'ami_type = "AL2023_x86_64_NVIDIA"\n  instance_types')
    release = 'resource "helm_release" "x" {\n  name  = "x"\n  chart = "metrics-server"\n}\n'
    plugin = f"""
        apiVersion: apps/v1
        kind: DaemonSet
        metadata: {{name: plugin, namespace: kube-system}}
        spec: {{template: {{spec: {{containers: [{{name: plugin, image: "{image}"}}]}}}}}}
        """
    assert len(told(check({"main.tf": main + release, "plugin.yaml": plugin}), "gpu-without-device-plugin")) == found


@pytest.mark.parametrize(
    ("chart", "found"), [("", 0), ('resource "helm_release" "x" {\n  name = "x"\n  chart = "velero"\n}\n', 1)]
)
def test_a_missing_device_plugin_may_be_installed_by_a_script(chart: str, found: int, check: Check) -> None:
    """Scripts of the repository run `helm install gpu-operator`, while its manifests are about other things."""
    main = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
  default_node_pool {
    name                 = "gpu"
    vm_size              = "Standard_ND96isr_H100_v5"
    auto_scaling_enabled = true
    max_count            = 4
  }
}
"""
    assert len(told(check({"main.tf": main + chart, "job.yaml": job(8)}), "gpu-without-device-plugin")) == found


KUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: vision}
spec: {clusterQueue: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec: {namespaceSelector: {}, PREEMPTION}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 0
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
"""


@pytest.mark.parametrize(("own", "preemption", "found"), [
    ("low", "preemption: {withinClusterQueue: LowerPriority}", 1),
    ("low", "preemption: {withinClusterQueue: Never}", 0),
    ("low", "", 0),
    ("high", "preemption: {withinClusterQueue: LowerPriority}", 0),
])  # fmt: skip
def test_preemption_by_a_queue_is_reported_for_lower_classes(
    own: str, preemption: str, found: int, check: Check
) -> None:
    labels = f'kueue.x-k8s.io/queue-name: main, kueue.x-k8s.io/priority-class: "{own}"'
    files = {"queues.yaml": KUEUE.replace("PREEMPTION", preemption), "job.yaml": job(8, labels)}
    details = [f.details for f in check(files).findings if f.rule == "preempted-without-checkpoint"]
    assert [one[0] for one in details] == [f"Jobs above its Kueue class {own} may stop it"] * found


PLUGIN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: nvidia-device-plugin}
data:
  whole: |
    version: v1
    flags: {migStrategy: none}
  shared: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""


@pytest.mark.parametrize(("label", "found"), [("", 0), ("whole", 0), ("shared", 1), ("other", 0)])
def test_a_node_label_chooses_how_its_gpus_are_divided(label: str, found: int, check: Check) -> None:
    main = eks("a", "b", label=f'"nvidia.com/device-plugin.config" = "{label}"' if label else "")
    result = check({"main.tf": main, "plugin.yaml": PLUGIN, "job.yaml": job(8)})
    assert len(told(result, "training-on-gpu-slices")) == found


RELEASE = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name   = aws_eks_cluster.main.name
  subnet_ids     = ["subnet-1"]
  instance_types = ["p5.48xlarge"]

  scaling_config {
    min_size     = 0
    max_size     = 400
    desired_size = 0
  }
}

resource "helm_release" "autoscaler" {
  name       = "cluster-autoscaler"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"
  values     = [file("${path.module}/values.yaml")]
}
"""


@pytest.mark.parametrize(("comment", "expected"), [
    ("", ["slow-node-deletion"]),
    ("# kcheck: ignore[slow-node-deletion] nights only", []),
    ("# kcheck: ignore[slow-node-deletion]", ["slow-node-deletion", "suppression-without-reason"]),
    ("# kcheck: ignore[random-expander] never", ["slow-node-deletion", "unused-suppression"]),
])  # fmt: skip
def test_ignore_comments_in_chart_values_count(comment: str, expected: list[str], check: Check) -> None:
    result = check(
        {
            "main.tf": RELEASE,
            "values.yaml": f"image: {{tag: v1.32.0}}\nextraArgs:\n  max-scale-down-parallelism: 10 {comment}\n",
        }
    )
    rules = {"slow-node-deletion", "suppression-without-reason", "unused-suppression"}
    assert sorted(finding.rule for finding in result.findings if finding.rule in rules) == expected


NODE_POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nodes: 20}
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    budgets: [BUDGET]
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}]
"""


@pytest.mark.parametrize(("budget", "found"), [
    ('{nodes: "0"}', 0),
    ('{nodes: "0", reasons: [Underutilized, Drifted]}', 0),
    ('{nodes: "0", reasons: [Drifted]}', 1),
    ('{nodes: "0", reasons: [Empty]}, {nodes: 10%}', 1),
])  # fmt: skip
def test_a_disruption_budget_protects_only_from_the_named_reasons(budget: str, found: int, check: Check) -> None:
    result = check({"pool.yaml": NODE_POOL.replace("BUDGET", budget)})
    assert len(told(result, "karpenter-disrupts-training")) == found


AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name       = "system"
    node_count = 3
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 900

  upgrade_settings {
    max_unavailable = "VALUE"
  }
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("value", "words"), [("33%", None), ("300", None), ("2", "takes 450 rounds for 900 nodes")])
def test_upgrades_without_surge_nodes_are_judged_by_their_pace(value: str, words: str | None, check: Check) -> None:
    found = told(check({"main.tf": AKS.replace("VALUE", value)}), "slow-upgrades")
    assert len(found) == (words is not None)
    assert all(words in message for message in found if words)


@pytest.mark.slow
def test_azure_spot_pools_are_not_judged_for_upgrade_pace(check: Check) -> None:
    """Azure refuses max_surge and max_unavailable for spot pools."""
    spot = AKS.replace("  upgrade_settings", '  priority = "Spot"\n  upgrade_settings').replace(
        '    max_unavailable = "VALUE"\n', ""
    )
    assert told(check({"main.tf": spot}), "slow-upgrades") == []


GKE = """
resource "google_container_cluster" "main" {
  name                     = "train"
  location                 = "us-central1"
  remove_default_node_pool = true
  initial_node_count       = 1

  private_cluster_config {
    enable_private_nodes = true
  }
}

resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.main.name

  autoscaling {
    total_min_node_count = 0
    total_max_node_count = 1100
  }

  upgrade_settings {
    max_surge       = 0
    max_unavailable = 20
  }
}

resource "google_compute_router_nat" "main" {
  name                           = "train"
  router                         = "train"
  region                         = "us-central1"
  nat_ip_allocate_option         = "MANUAL_ONLY"
  nat_ips                        = ["one"]
  enable_dynamic_port_allocation = true
  PORTS
}
"""


@pytest.mark.parametrize(("ports", "found"), [("", 0), ("min_ports_per_vm = 32", 0), ("min_ports_per_vm = 64", 1)])
def test_the_minimum_nat_ports_per_node_are_counted(ports: str, found: int, check: Check) -> None:
    assert len(told(check({"main.tf": GKE.replace("PORTS", ports)}), "snat-ports-exhausted")) == found


KUBEADM = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: train
networking: {podSubnet: 10.0.0.0/12}
"""
JOIN = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration:
  kubeletExtraArgs:
    - {name: node-labels, value: "training/pool=training,topology.kubernetes.io/zone=${ZONE}"}
"""
AGENT = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  template:
    spec:
      nodeSelector: {training/pool: training}
      containers: [{name: agent, image: "example/agent:1.0"}]
"""


def test_node_labels_come_from_the_join_configuration(check: Check) -> None:
    files = {"kubeadm.yaml": KUBEADM, "join.yaml": JOIN, "agent.yaml": AGENT}
    (message,) = told(check(files, Config(nodes={"": 400})), "docker-hub-image")
    assert message.startswith("DaemonSet agent needs 400 anonymous Docker Hub pulls")


OF_A_VARIABLE = """variable "image" {}

resource "kubernetes_manifest" "train" {
  manifest = {
    apiVersion = "batch/v1"
    kind       = "Job"
    metadata   = { name = "train" }
    spec = {
      parallelism = 4
      template    = { spec = { containers = [{
        name      = "main"
        image     = var.image
        resources = { limits = { "nvidia.com/gpu" = 8 } }
      }] } }
    }
  }
}
"""


def test_missing_shared_memory_is_reported_even_if_the_image_is_unknown(check: Check) -> None:
    expected = "Job train runs on 8 GPUs with 64 MiB of shared memory"
    assert told(check({"main.tf": OF_A_VARIABLE}), "missing-shared-memory") == [expected]
