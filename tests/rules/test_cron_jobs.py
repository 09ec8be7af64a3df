"""Test scheduled jobs that start in the same minute, against the capacity of their cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import names

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check


pytestmark = pytest.mark.medium

CLUSTER = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: eu-west-1}
managedNodeGroups:
  - {name: data, instanceType: m7i.4xlarge, minSize: 1, maxSize: 4}
"""
CRON = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: NAME}
spec:
  schedule: "SCHEDULE"
  MORE
  jobTemplate:
    spec:
      parallelism: 6
      OF_JOB
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: merge
              image: registry.example.com/merge:1.4
              resources: {requests: {cpu: 7, memory: 16Gi}}
"""
BOUNDED = "activeDeadlineSeconds: 3600"
RULE = "cron-jobs-start-together"


def cron(name: str, schedule: str, more: str = "suspend: false", of_job: str = "backoffLimit: 2") -> str:
    text = CRON.replace("NAME", name).replace("SCHEDULE", schedule)
    return text.replace("MORE", more).replace("OF_JOB", of_job)


def check_jobs(check: Check, *jobs: str, cluster: str = CLUSTER) -> Result:
    return check({"cluster.yaml": cluster, **{f"{i}.yaml": job for i, job in enumerate(jobs)}})


@pytest.mark.parametrize(
    ("schedule", "more", "of_job", "told"),
    [
        ("0 2 * * *", "suspend: false", "backoffLimit: 2", True),
        ("0 */2 * * *", "suspend: false", "backoffLimit: 2", True),
        ("0 3 * * *", "suspend: false", "backoffLimit: 2", False),
        ("0 2 * * *", "suspend: true", "backoffLimit: 2", False),
        ("0 2 * * *", "timeZone: Asia/Tokyo", "backoffLimit: 2", False),
        ("0 2 * * *", "timeZone: Etc/UTC", "backoffLimit: 2", True),
        ("0 2 * * *", "concurrencyPolicy: Forbid", BOUNDED, True),  # the first one has neither
    ],
)
def test_cron_jobs_that_start_together_are_reported(
    schedule: str, more: str, of_job: str, told: bool, check: Check
) -> None:
    result = check_jobs(check, cron("clicks", "0 2 * * *"), cron("views", schedule, more, of_job))
    found = [one for one in result.findings if one.rule == RULE]
    assert bool(found) is told
    if told:
        assert found[0].message == "2 jobs that start together ask for 84 vCPUs; the cluster holds 63.56 vCPUs"


def test_cron_jobs_that_replace_themselves_and_end_in_time_are_not_reported(check: Check) -> None:
    jobs = [cron(name, "0 2 * * *", "concurrencyPolicy: Replace", BOUNDED) for name in ("clicks", "views")]
    assert RULE not in names(check_jobs(check, *jobs))


RAY = """
apiVersion: ray.io/v1
kind: RayCronJob
metadata: {name: rays}
spec:
  schedule: 0 2 * * *
  jobTemplate:
    activeDeadlineSeconds: 3600
    rayClusterSpec:
      headGroupSpec:
        template: &pod
          spec:
            containers: [{name: a, image: "registry.example.com/ray:2", resources: {requests: {cpu: 7, memory: 16Gi}}}]
      workerGroupSpecs: [{groupName: cpu, replicas: 5, template: *pod}]
"""


def test_ray_cron_jobs_that_can_overlap_are_reported(check: Check) -> None:
    result = check_jobs(check, cron("clicks", "0 2 * * *", "concurrencyPolicy: Forbid", BOUNDED), RAY)
    (finding,) = [one for one in result.findings if one.rule == RULE]
    assert "RayCronJob rays starts 6 pods at 0 2 * * *" in finding.details
    assert "A run that takes too long overlaps with its own next run" in finding.details


def test_one_cron_job_or_a_large_cluster_is_not_reported(check: Check) -> None:
    assert RULE not in names(check_jobs(check, cron("clicks", "0 2 * * *")))
    large = CLUSTER.replace("maxSize: 4", "maxSize: 40")
    assert RULE not in names(check_jobs(check, cron("clicks", "0 2 * * *"), cron("views", "0 2 * * *"), cluster=large))


def test_cron_jobs_that_fit_no_node_are_not_counted(check: Check) -> None:
    huge = cron("huge", "0 2 * * *").replace("cpu: 7", "cpu: 70")
    assert RULE not in names(check_jobs(check, cron("clicks", "0 2 * * *"), huge))
