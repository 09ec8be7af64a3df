"""Test jobs that their queue, or the quota of their namespace, never admits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.scale.queue_limits import Excess, borrowed, excess
from kcheck.text.files.tree import Tree
from kcheck.text.need import or_none, or_unknown
from kcheck.text.values import Unknown

if TYPE_CHECKING:
    from tests.conftest import Write


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: research}}
spec:
  {cohort}
  resourceGroups:
    - coveredResources: [cpu, nvidia.com/gpu]
      flavors:
        - name: a
          resources: [{{name: cpu, nominalQuota: {cpu}, {more}}}, {{name: nvidia.com/gpu, nominalQuota: 32, {more}}}]
        - name: b
          resources: [{{name: cpu, nominalQuota: {cpu}, {more}}}, {{name: nvidia.com/gpu, nominalQuota: 32, {more}}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: train, namespace: a}}
spec: {{clusterQueue: research}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: a
  labels: {{kueue.x-k8s.io/queue-name: train}}
  annotations: {annotations}
spec:
  parallelism: {pods}
  completions: 4000
  template:
    spec:
      containers:
        - name: main
          image: registry.example.com/train:1.4
          resources: {{limits: {{nvidia.com/gpu: 8}}, requests: {{cpu: 4}}}}
"""
QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus, namespace: a}
spec: {hard: {requests.nvidia.com/gpu: "64"}}
"""
SERVICE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve, namespace: a}
spec:
  replicas: 9
  template:
    spec:
      containers: [{name: main, image: registry.example.com/serve:1, resources: {limits: {nvidia.com/gpu: 8}}}]
"""
SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: serve, namespace: a}
spec: {scaleTargetRef: {kind: Deployment, name: serve}, maxReplicas: 9}
"""
PYTORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: a}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 9
      template:
        spec:
          containers:
            - name: pytorch
              image: registry.example.com/train:1.4
              resources: {limits: {nvidia.com/gpu: 8}}
"""


def queue(cpu: int = 100, cohort: str = "", more: str = "") -> str:
    return QUEUE.format(cpu=cpu, cohort=cohort, more=more or "borrowingLimit: 1000")


def job(pods: int, annotations: str = "{}") -> str:
    return JOB.format(pods=pods, annotations=annotations)


def of(write: Write, *manifests: str) -> Excess | Unknown | None:
    write({"all.yaml": "---\n".join(manifests)})
    world = linter.run(Tree(["."]), Config()).world
    return or_unknown(excess)(world.inventory.workloads[0], world)


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        ((queue(), job(4)), None),  # 32 GPUs of one flavor; completions are waves
        ((queue(), job(5)), ("nvidia.com/gpu", 40, 32)),  # all its pods share a flavor
        ((queue(cpu=15), job(4)), ("cpu", 16, 15)),
        ((queue(), job(9, '{kueue.x-k8s.io/job-min-parallelism: "2"}')), None),
        ((queue(cohort="cohortName: all", more="borrowingLimit: 8"), job(5)), None),
        ((queue(cohort="cohortName: all", more="borrowingLimit: 7"), job(5)), ("nvidia.com/gpu", 40, 39)),
        ((queue().replace("cpu, nominalQuota: 100", "pods, nominalQuota: 3"), job(3)), None),
        ((queue().replace("cpu, nominalQuota: 100", "pods, nominalQuota: 3"), job(4)), ("pods", 4, 3)),
        ((QUOTA, PYTORCH), ("nvidia.com/gpu", 72, 64)),
        ((QUOTA, SERVICE), ("nvidia.com/gpu", 72, 64)),
        ((QUOTA, SERVICE, SCALER), None),  # the quota may be meant as its cap
        ((QUOTA.replace("64", "72"), PYTORCH), None),
        ((QUOTA.replace("namespace: a", "namespace: b"), PYTORCH), None),
    ],
)
def test_a_job_above_its_quota_is_reported(
    manifests: tuple[str, ...], expected: tuple[str, int, int] | None, write: Write
) -> None:
    found = of(write, *manifests)
    if expected is None:
        assert not isinstance(found, Excess)
    else:
        assert isinstance(found, Excess)
        assert (found.resource, found.asked, found.most) == expected


def test_a_queue_that_may_borrow_without_limit_is_unknown(write: Write) -> None:
    found = of(write, queue(cohort="cohortName: all", more="lendingLimit: 1"), job(9))
    assert isinstance(found, Unknown)
    assert found.reason == "it may borrow from its cohort"


def node(kind: str, name: str, above: str, gpus: str = "") -> str:
    """Return a ClusterQueue or Cohort with one GPU quota."""
    groups = f"[{{coveredResources: [nvidia.com/gpu], flavors: [{{name: a, resources: [{{name: nvidia.com/gpu, {gpus}}}]}}]}}]"
    parent = {"Cohort": "parentName", "ClusterQueue": "cohortName"}[kind]
    lines = [f"kind: {kind}", f"metadata: {{name: {name}}}", "spec:", f"  resourceGroups: {groups if gpus else '[]'}"]
    lines += [f"  {parent}: {above}"] if above else []
    return "apiVersion: kueue.x-k8s.io/v1beta2\n" + "\n".join(lines) + "\n"


LOCAL = queue().partition("---\n")[2]


@pytest.mark.parametrize(
    ("above", "gives"),
    [
        ([("ClusterQueue", "b", "all", "nominalQuota: 16")], 48),
        ([("ClusterQueue", "b", "all", "nominalQuota: 16, lendingLimit: 8")], 40),
        ([("Cohort", "all", "", "nominalQuota: 24")], 56),
        ([("Cohort", "all", "top", "nominalQuota: 8"), ("ClusterQueue", "b", "top", "nominalQuota: 64")], 104),
        # 32 + 8 below `all`, and at most 16 more of the 64 above it
        (
            [
                ("Cohort", "all", "top", "nominalQuota: 8, borrowingLimit: 16"),
                ("ClusterQueue", "b", "top", "nominalQuota: 64"),
            ],
            56,
        ),
        # what `b` keeps for those below it comes to nobody else
        ([("Cohort", "b", "all", "nominalQuota: 64, lendingLimit: 0"), ("Cohort", "all", "", "nominalQuota: 1")], 33),
        ([("ClusterQueue", "b", "other", "nominalQuota: 64"), ("Cohort", "all", "", "nominalQuota: 1")], 33),
    ],
)
def test_a_queue_can_borrow_everything_its_cohorts_lend(
    above: list[tuple[str, str, str, str]], gives: int, write: Write
) -> None:
    """Computed by hand from Kueue's rules; the queue itself has 32."""
    own = node("ClusterQueue", "research", "all", "nominalQuota: 32")
    found = of(write, own, *(node(*one) for one in above), LOCAL, job(1000))
    assert isinstance(found, Excess)
    assert (found.most, found.cohort) == (gives, "all")


def test_circular_cohorts_give_an_unknown_quota(write: Write) -> None:
    circle = node("Cohort", "all", "top"), node("Cohort", "top", "all")
    found = of(write, node("ClusterQueue", "research", "all", "nominalQuota: 32"), *circle, LOCAL, job(1000))
    assert isinstance(found, Unknown)
    assert found.reason == "its cohorts form a circle"


@pytest.mark.parametrize(("pods", "asked"), [(4, None), (5, 40), (6, 48), (7, None)])
def test_a_job_above_its_own_quota_waits_for_lenders(pods: int, asked: int | None, write: Write) -> None:
    queues = (node("ClusterQueue", name, "all", f"nominalQuota: {own}") for name, own in (("research", 32), ("b", 16)))
    write({"all.yaml": "---\n".join((*queues, LOCAL, job(pods)))})
    world = linter.run(Tree(["."]), Config()).world
    found = or_none(borrowed)(world.inventory.workloads[0], world)
    assert (found.asked if found else None) == asked
