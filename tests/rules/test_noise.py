"""Test code that only looks like a mistake: it gives no finding, or an info."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.engine.linter import Result
    from tests.conftest import Check


pytestmark = pytest.mark.medium

JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: team
  labels:
    kueue.x-k8s.io/queue-name: team
spec:
  template:
    spec:
      containers:
        - name: main
          image: IMAGE
          resources:
            limits:
              RESOURCE: 4
"""
QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: team
spec:
  resourceGroups:
    - coveredResources: [RESOURCE]
      flavors:
        - name: default
          resources:
            - name: RESOURCE
              nominalQuota: 8
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: team
  namespace: team
spec:
  clusterQueue: team
"""
LIBRARY = """
variable "cluster" {
  type = string
REQUIRED
}

variable "most" {
  default = 1000
}

resource "google_container_node_pool" "pool" {
  name    = "pool"
  cluster = google_container_cluster.main.name

  autoscaling {
    total_max_node_count = var.most
  }
}

resource "google_container_cluster" "main" {
  name     = var.cluster
  location = "us-central1-a"
}
"""


def rules_of(result: Result) -> set[str]:
    return {finding.rule for finding in result.findings}


def job(image: str, resource: str = "nvidia.com/gpu") -> str:
    return JOB.replace("IMAGE", image).replace("RESOURCE", resource)


def queues(*resources: str) -> Mapping[str, str]:
    return {f"queue-{i}.yaml": QUEUE.replace("RESOURCE", resource) for i, resource in enumerate(resources)}


def test_a_queue_without_quota_for_the_gpus_of_its_jobs_is_reported(check: Check) -> None:
    files = {"job.yaml": job("nvcr.io/nvidia/pytorch:24.01"), **queues("nvidia.com/mig-1g.10gb")}
    assert "queue-ignores-gpus" in rules_of(check(files))


def test_queues_with_one_name_count_as_alternatives(check: Check) -> None:
    """One file is applied for whole GPUs, the other one for slices, each with its jobs."""
    files = {"job.yaml": job("nvcr.io/nvidia/pytorch:24.01"), **queues("nvidia.com/mig-1g.10gb", "nvidia.com/gpu")}
    assert "queue-ignores-gpus" not in rules_of(check(files))


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("nvcr.io/nvidia/pytorch:24.01", True),
        ("nvidia/cuda:12.4.0-runtime-ubuntu22.04", True),  # has NCCL
        ("nvidia/cuda:12.4.0-base-ubuntu22.04", False),
    ],
)
def test_shared_memory_is_judged_only_for_programs_that_use_nccl(image: str, told: bool, check: Check) -> None:
    assert ("missing-shared-memory" in rules_of(check({"job.yaml": job(image)}))) == told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("[sh, -c, sleep 600]", False),
        ("[/bin/bash, -c, sleep 0.5h]", False),
        ("[sleep, '60']", False),
        ("[sh, -c, service ssh restart; sleep infinity;]", False),
        ("[sh, -c, sleep 60; torchrun a.py]", True),
        ("[jupyter, lab]", True),
    ],
)
def test_sleeping_containers_need_no_shared_memory(command: str, told: bool, check: Check) -> None:
    more = f"command: {command}\n          env: [{{name: LD_LIBRARY_PATH, value: /usr/lib}}]\n          image:"
    sleeper = job("nvcr.io/nvidia/pytorch:24.01").replace("image:", more)
    assert ("missing-shared-memory" in rules_of(check({"job.yaml": sleeper}))) == told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", False),
        ('\nprovider "google" {\n  project = "train"\n}\n', True),
    ],
)
def test_the_default_size_of_an_uncalled_module_is_not_judged(more: str, told: bool, check: Check) -> None:
    """Its size is a default for callers elsewhere."""
    found = rules_of(check({"main.tf": LIBRARY.replace("REQUIRED\n", "") + more}))
    assert ("single-large-pool" in found) == told
    assert ("slow-upgrades" in found) == told


def test_no_target_is_written_into_the_default_of_a_module(check: Check) -> None:
    larger = Config(nodes={"": 2000})
    assert "pool-ends-below-target" not in rules_of(check({"main.tf": LIBRARY.replace("REQUIRED\n", "")}, larger))
    root = LIBRARY.replace("REQUIRED", '  default = "train"')
    assert "pool-ends-below-target" in rules_of(check({"main.tf": root}, larger))


def test_a_module_without_required_variables_is_a_root_module(check: Check) -> None:
    found = rules_of(check({"main.tf": LIBRARY.replace("REQUIRED", '  default = "train"')}))
    assert "slow-upgrades" in found


@pytest.mark.parametrize(("image", "severity"), [("python:3.12", "info"), ("someone/train:1", "warning")])
def test_image_caches_contain_official_docker_images(image: str, severity: str, check: Check) -> None:
    hub = f"""
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  parallelism: 200
  template:
    spec:
      nodeSelector:
        cloud.google.com/gke-nodepool: train
      containers:
        - name: main
          image: {image}
          resources:
            limits:
              nvidia.com/gpu: 8
"""
    found = check({"job.yaml": hub}).findings
    assert {one.rule: one.severity.word for one in found}["docker-hub-image"] == severity


FEW = """
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  template:
    spec:
      containers:
        - name: main
          image: someone/agent:1
"""


def test_pulls_of_an_unknown_number_of_nodes_are_undecided(check: Check) -> None:
    """No line claims that one of 100 pulls is needed; the number of nodes is the missing input."""
    result = check({"agent.yaml": FEW})
    assert "docker-hub-image" not in rules_of(result)
    assert [one.rule for one in result.undecided if one.rule == "docker-hub-image"] == ["docker-hub-image"]
    assert "docker-hub-image" in rules_of(check({"agent.yaml": FEW}, Config(nodes={"": 1000})))


@pytest.mark.parametrize(
    ("tag", "told"), [("1.4", True), ("main-4ae12f9", True), ("prod", False), ("gpu", False), ("cu121", False)]
)
def test_only_tags_of_a_build_are_called_fixed(tag: str, told: bool, check: Check) -> None:
    pulled = job(f"registry.example.com:5000/train:{tag}").replace(
        "image:", "imagePullPolicy: Always\n          image:"
    )
    many = pulled.replace("spec:\n", "spec:\n  parallelism: 64\n", 1)
    assert ("image-pulled-every-start" in rules_of(check({"job.yaml": many}))) is told
    assert "image-pulled-every-start" not in rules_of(check({"job.yaml": pulled}))  # one node asks once


SMALL = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D4s_v5"
    auto_scaling_enabled = true
    min_count            = 2
    max_count            = MOST
  }
}
"""


@pytest.mark.parametrize(("most", "told"), [(10, False), (30, True)])
def test_idle_nodes_of_small_clusters_are_not_worth_a_line(most: int, told: bool, check: Check) -> None:
    found = rules_of(check({"main.tf": SMALL.replace("MOST", str(most))}))
    assert ("idle-nodes-kept-long" in found, "delay-after-failure" in found) == (told, told)


DISKS = LIBRARY.replace("REQUIRED", '  default = "train"').replace(
    "  autoscaling {", '  node_config {\n    disk_type = "pd-standard"\n  }\n\n  autoscaling {'
)


@pytest.mark.parametrize(("most", "told"), [(10, False), (11, True)])
def test_disks_of_a_few_nodes_are_not_worth_a_line(most: int, told: bool, check: Check) -> None:
    found = rules_of(check({"main.tf": DISKS.replace("1000", str(most))}))
    assert ("slow-boot-disk" in found) is told


ROOM = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "jobs" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = ["TYPE"]

  scaling_config {
    min_size     = 0
    max_size     = NODES
    desired_size = 0
  }
}
"""


@pytest.mark.parametrize(
    ("machine", "nodes", "told"), [("m6i.large", 100, False), ("m6i.large", 101, True), ("g5.xlarge", 2, True)]
)
def test_only_quotas_missing_in_a_new_account_are_reported(machine: str, nodes: int, told: bool, check: Check) -> None:
    """Any account can start a few CPU nodes, but a new one no GPUs."""
    code = ROOM.replace("TYPE", machine).replace("NODES", str(nodes))
    assert ("quota-needed" in rules_of(check({"main.tf": code}))) is told


WORKERS = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: %d
      template:
        spec:
          initContainers: [{name: wait, image: alpine:latest, command: [%s]}]
          containers:
            - name: pytorch
              image: ghcr.io/example/train:1.4
              command: [%s]
              resources: {limits: {nvidia.com/gpu: %d}}
"""
SLEEPER = """
apiVersion: batch/v1
kind: Job
metadata: {name: example}
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: busybox:1.36, command: [%s]}]
"""


@pytest.mark.parametrize(
    ("manifest", "rule", "found"),
    [
        (WORKERS % (2, "ls", "torchrun, train.py", 8), "gang-missing", True),
        (WORKERS % (2, "ls", "torchrun, train.py", 4), "gang-missing", False),
        (WORKERS % (2, "ls", "mpirun, all_reduce_perf", 8), "gang-missing", False),
        (WORKERS % (2, "ls", "torchrun, train.py", 8), "moving-image-tag", False),
        (WORKERS % (8, "ls", "torchrun, train.py", 8), "moving-image-tag", True),
        (
            (WORKERS % (2, "ls", "torchrun, train.py", 8)).replace("ghcr.io/example/train:1.4", "alpine:latest"),
            "moving-image-tag",
            True,
        ),
        (SLEEPER % "sleep, 1h", "missing-requests", False),
        (SLEEPER % "bash, -c, sleep 1h", "missing-requests", False),
        (SLEEPER % "python, work.py", "missing-requests", True),
    ],
)
def test_small_jobs_helpers_and_sleepers_are_no_infos(manifest: str, rule: str, found: bool, check: Check) -> None:
    findings = check({"job.yaml": manifest}).findings
    assert any(one.rule == rule for one in findings) is found


@pytest.mark.parametrize(("machine", "found"), [("ct6e-standard-4t", False), ("a3-highgpu-8g", True)])
def test_metrics_of_gpus_are_not_expected_of_tpus(machine: str, found: bool, check: Check) -> None:
    pool = f'resource "google_container_node_pool" "a" {{\n  cluster    = google_container_cluster.a.id\n  node_count = 4\n  node_config {{\n    machine_type = "{machine}"\n  }}\n}}\n'
    chart = 'resource "helm_release" "monitoring" {\n  name       = "monitoring"\n  repository = "https://prometheus-community.github.io/helm-charts"\n  chart      = "kube-prometheus-stack"\n  version    = "60.0.0"\n}\n'
    cluster = 'resource "google_container_cluster" "a" {\n  name     = "a"\n  location = "us-central1"\n}\n'
    findings = check({"main.tf": cluster + pool + chart}).findings
    assert any(one.rule == "gpu-metrics-missing" for one in findings) is found
