"""Fixes that are not made where a person has to look first: the finding stays, and its help says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.engine import Result
    from kcheck.findings import Finding

    Check = Callable[..., Result]

LARGE = Config(nodes={"": 1000})


def only(rule: str, check: Check, files: Mapping[str, str], config: Config = LARGE) -> Finding:
    """The one finding of a rule."""
    (found,) = (finding for finding in check(files, config).findings if finding.rule == rule)
    return found


# --- Karpenter

NODE_POOL = """
apiVersion: karpenter.sh/VERSION
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {cpu: 9600}
  disruption:
    consolidationPolicy: POLICY
    expireAfter: Never
  template:
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
"""


def test_when_empty_needs_a_second_value_before_v1(check: Check) -> None:
    pool = NODE_POOL.replace("VERSION", "v1beta1").replace("POLICY", "WhenUnderutilized")
    found = only("karpenter-disrupts-training", check, {"pool.yaml": pool})
    assert found.fix is None
    assert "wants consolidateAfter beside WhenEmpty" in found.help


def test_when_empty_is_written_in_v1(check: Check) -> None:
    pool = NODE_POOL.replace("VERSION", "v1").replace("POLICY", "WhenEmptyOrUnderutilized")
    assert only("karpenter-disrupts-training", check, {"pool.yaml": pool}).fix is not None


# --- jobs that nothing removes

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 16
  template: {spec: {restartPolicy: Never, containers: [{name: train, image: "quay.io/example/train:1"}]}}
"""
JOB_SET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  volumeClaimPolicies:
    - templates: [{metadata: {name: checkpoints}}]POLICY
  replicatedJobs:
    - name: worker
      replicas: 8
      template:
        spec:
          template: {spec: {restartPolicy: Never, containers: [{name: train, image: "quay.io/example/train:1"}]}}
"""
VOLCANO = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 8
  schedulerName: volcano
  volumes:
    - {mountPath: /checkpoints, CLAIM}
  tasks:
    - name: worker
      replicas: 8
      template: {spec: {restartPolicy: Never, containers: [{name: train, image: "quay.io/example/train:1"}]}}
"""
APPLICATION = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: training}
spec:
  source: {repoURL: "https://example.com/train.git", path: PATH}
  syncPolicy: {automated: {selfHeal: HEAL}}
"""
APPLICATION_SET = """
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: teams}
spec:
  generators:
    - git: {repoURL: "https://example.com/train.git", directories: [{path: teams/*}]}
  template:
    spec:
      source: {repoURL: "https://example.com/train.git", path: "{{path}}"}
      syncPolicy: {automated: {selfHeal: true}}
"""
FLUX = """
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: training}
spec: {interval: 10m, path: ./jobs}
"""


@pytest.mark.parametrize(
    ("job", "key"),
    [
        (JOB_SET.replace("POLICY", ""), "volumeClaimPolicies"),
        (JOB_SET.replace("POLICY", "\n      retentionPolicy: {whenDeleted: Delete}"), "volumeClaimPolicies"),
        (VOLCANO.replace("CLAIM", "volumeClaim: {accessModes: [ReadWriteMany]}"), "volumes"),
    ],
)
def test_a_job_whose_volumes_go_with_it_gets_no_time_to_live(check: Check, job: str, key: str) -> None:
    found = only("job-never-cleaned", check, {"job.yaml": job})
    assert found.fix is None
    assert f"its {key} make volumes that are deleted with it" in found.help


@pytest.mark.parametrize(
    "job",
    [
        JOB_SET.replace("POLICY", "\n      retentionPolicy: {whenDeleted: Retain}"),
        VOLCANO.replace("CLAIM", "volumeClaimName: checkpoints"),
    ],
)
def test_volumes_that_stay_are_no_obstacle(check: Check, job: str) -> None:
    assert only("job-never-cleaned", check, {"job.yaml": job}).fix is not None


@pytest.mark.parametrize(
    ("sync", "path", "name"),
    [
        (APPLICATION.replace("PATH", "jobs").replace("HEAL", "true"), "jobs/train.yaml", "Application training"),
        (APPLICATION.replace("PATH", ".").replace("HEAL", "true"), "train.yaml", "Application training"),
        (APPLICATION_SET, "teams/vision/train.yaml", "ApplicationSet teams"),
        (FLUX, "jobs/big/train.yaml", "Kustomization training"),
    ],
)
def test_a_job_that_would_come_back_gets_no_time_to_live(check: Check, sync: str, path: str, name: str) -> None:
    found = only("job-never-cleaned", check, {"apps/app.yaml": sync, path: JOB})
    assert found.fix is None
    assert f"{name} makes it again" in found.help


@pytest.mark.parametrize(
    ("sync", "path"),
    [
        (APPLICATION.replace("PATH", "jobs").replace("HEAL", "false"), "jobs/train.yaml"),
        (APPLICATION.replace("PATH", "jobs").replace("HEAL", "true"), "jobs-by-hand/train.yaml"),
        (APPLICATION_SET, "train.yaml"),
    ],
)
def test_other_folders_are_nobodys_to_heal(check: Check, sync: str, path: str) -> None:
    assert only("job-never-cleaned", check, {"apps/app.yaml": sync, path: JOB}).fix is not None


def test_a_kustomization_that_argo_cd_applies_counts_for_the_base(check: Check) -> None:
    files = {
        "apps/app.yaml": APPLICATION.replace("PATH", "overlays/live").replace("HEAL", "true"),
        "base/kustomization.yaml": "resources: [job.yaml]\n",
        "base/job.yaml": JOB,
        "overlays/live/kustomization.yaml": "resources: [../../base]\n",
    }
    assert "makes it again" in only("job-never-cleaned", check, files).help


def test_terraform_makes_a_deleted_job_again(check: Check) -> None:
    code = """
    resource "kubernetes_job_v1" "train" {
      metadata {
        name = "train"
      }
      spec {
        parallelism = 16
        template {
          metadata {}
          spec {
            restart_policy = "Never"
            container {
              name  = "train"
              image = "quay.io/example/train:1"
            }
          }
        }
      }
    }
    """
    assert "Terraform makes it again" in only("job-never-cleaned", check, {"main.tf": code}).help
