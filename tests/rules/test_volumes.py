"""Test volumes of one node that are mounted by pods on several nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check


pytestmark = pytest.mark.medium

POOL = """resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "pool" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "pool"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["TYPE"]

  scaling_config {
    min_size     = 0
    max_size     = 32
    desired_size = 0
  }
}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [MODE], storageClassName: gp3, resources: {requests: {storage: 1Ti}}}
---
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: PODS
  template:
    metadata: {labels: {app: train}}
    spec:
      restartPolicy: Never
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
      containers:
        - name: train
          image: registry.example.com/train:1
          resources: {requests: {cpu: CPU}, limits: {nvidia.com/gpu: GPUS}}
"""
APART = """
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: train}}}
"""
TOGETHER = APART.replace("podAntiAffinity", "podAffinity")


def job(pods: int = 4, gpus: int = 8, cpu: int = 1, more: str = "") -> str:
    return JOB.replace("PODS", str(pods)).replace("GPUS", str(gpus)).replace("CPU", str(cpu)) + more


def claim(mode: str = "ReadWriteOnce", storage: str = "storageClassName: gp3") -> str:
    return CLAIM.replace("MODE", mode).replace("storageClassName: gp3", storage)


def severity(result: Result) -> str | None:
    assert not result.bugs
    return next((one.severity.word for one in result.findings if one.rule == "volume-on-one-node"), None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (job(), "error"),
        (job(pods=1), None),
        (job(pods=16, gpus=1), "warning"),  # a2-megagpu-16g holds them all, as few others do
        (job(pods=8, gpus=1), None),
        (job(pods=64, gpus=0), None),  # it is not known how many share a node
        (job(gpus=0, more=APART), "error"),
        (job(more=TOGETHER), None),
    ],
)
def test_pods_on_several_nodes_are_judged_without_a_cluster(text: str, told: str | None, check: Check) -> None:
    assert severity(check({"job.yaml": claim() + text})) == told


@pytest.mark.parametrize(
    ("machine", "text", "told"),
    [
        ("p5.48xlarge", job(pods=2), "error"),
        ("p5.48xlarge", job(pods=8, gpus=1), None),
        ("m5.4xlarge", job(pods=4, gpus=0, cpu=12), "error"),
        ("m5.4xlarge", job(pods=4, gpus=0), None),
    ],
)
def test_the_pool_decides_how_many_pods_share_a_node(machine: str, text: str, told: str | None, check: Check) -> None:
    assert severity(check({"main.tf": POOL.replace("TYPE", machine), "job.yaml": claim() + text})) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (claim("ReadWriteMany"), None),
        (claim("ReadWriteOnce, ReadWriteMany"), None),
        (claim("ReadOnlyMany"), None),
        (claim("ReadWriteOncePod"), "error"),
        (claim(storage="storageClassName: efs-sc"), None),  # a file system: any node mounts it
        (claim(storage="storageClassName: fast"), "warning"),
        (claim(storage="volumeMode: Filesystem"), "warning"),  # the default class may be anything
        (claim(storage='storageClassName: "${CLASS}"'), "warning"),
        (claim(storage="volumeName: by-hand"), None),
        (claim("{{ .mode }}"), None),
        (claim().replace("name: data", "name: data, namespace: other"), None),
        (claim().replace("name: data", "name: others"), None),
    ],
)
def test_the_access_mode_of_a_claim_decides_severity(text: str, told: str | None, check: Check) -> None:
    assert severity(check({"job.yaml": text + job()})) == told


def test_the_provisioner_decides_the_kind_of_a_storage_class(check: Check) -> None:
    made = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: PROVISIONER\n"
    fast = claim(storage="storageClassName: fast") + job()
    for provisioner, told in (("ebs.csi.aws.com", "error"), ("efs.csi.aws.com", None), ("example.com/x", "warning")):
        files = {"class.yaml": made.replace("PROVISIONER", provisioner), "job.yaml": fast}
        assert severity(check(files)) == told, provisioner


def test_the_default_storage_class_of_a_cloud_uses_disks(check: Check) -> None:
    files = {"main.tf": POOL.replace("TYPE", "p5.48xlarge"), "job.yaml": claim(storage="volumeMode: Block") + job()}
    assert severity(check(files)) == "error"


@pytest.mark.parametrize("kind", ["ephemeral: {volumeClaimTemplate: {}}", "emptyDir: {}"])
def test_a_separate_volume_per_pod_is_not_reported(kind: str, check: Check) -> None:
    text = job().replace("persistentVolumeClaim: {claimName: data}", kind)
    assert severity(check({"job.yaml": claim() + text})) is None


def test_claims_in_another_folder_are_ignored(check: Check) -> None:
    assert severity(check({"a/claim.yaml": claim(), "b/job.yaml": job()})) is None


def test_a_claim_shared_by_several_roles_is_reported(check: Check) -> None:
    role = """{replicas: 1, template: {spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], containers:
      [{name: pytorch, image: registry.example.com/train:1, resources: {limits: {nvidia.com/gpu: 8}}}]}}}"""
    text = (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\nspec:\n  pytorchReplicaSpecs:\n"
        f"    Master: {role}\n    Worker: {role.replace('replicas: 1', 'replicas: 2')}\n"
    )
    assert severity(check({"job.yaml": claim() + text})) == "error"


def test_claims_in_terraform_are_read(check: Check) -> None:
    code = (
        POOL.replace("TYPE", "p5.48xlarge")
        + """
resource "kubernetes_persistent_volume_claim" "data" {
  metadata { name = "data" }
  spec {
    access_modes = ["ReadWriteOnce"]
    resources { requests = { storage = "1Ti" } }
  }
}

resource "kubernetes_job" "train" {
  metadata { name = "train" }
  spec {
    parallelism = 2
    template {
      metadata {}
      spec {
        volume {
          name = "data"
          persistent_volume_claim { claim_name = "data" }
        }
        container {
          name  = "train"
          image = "registry.example.com/train:1"
          resources { limits = { "nvidia.com/gpu" = 8 } }
        }
      }
    }
  }
}
"""
    )
    assert severity(check({"main.tf": code})) == "error"
