"""Jobs that their queue, or the quota of their namespace, never lets in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.scale.unschedulable import Excess, excess
from kcheck.text.files.tree import Tree
from kcheck.text.values import Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcheck.text.values import Value

    Write = Callable[[Mapping[str, str]], Path]

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


def of(write: Write, *manifests: str) -> Value[Excess]:
    write({"all.yaml": "---\n".join(manifests)})
    world = linter.run(Tree(["."]), Config()).world
    return excess(world.inventory.workloads[0], world)


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        ((queue(), job(8)), None),  # 64 GPUs over both flavors; completions are waves
        ((queue(), job(9)), ("nvidia.com/gpu", 72, 64)),
        ((queue(cpu=15), job(8)), ("cpu", 32, 30)),
        ((queue(), job(9, '{kueue.x-k8s.io/job-min-parallelism: "2"}')), None),
        ((queue(cohort="cohortName: all", more="borrowingLimit: 4"), job(9)), None),
        ((queue(cohort="cohortName: all", more="borrowingLimit: 3"), job(9)), ("nvidia.com/gpu", 72, 70)),
        ((QUOTA, PYTORCH), ("nvidia.com/gpu", 72, 64)),
        ((QUOTA.replace("64", "72"), PYTORCH), None),
        ((QUOTA.replace("namespace: a", "namespace: b"), PYTORCH), None),
    ],
)
def test_excess(manifests: tuple[str, ...], expected: tuple[str, int, int] | None, write: Write) -> None:
    found = of(write, *manifests)
    if expected is None:
        assert not isinstance(found, Known)
    else:
        assert isinstance(found, Known)
        assert (found.value.resource, found.value.asked, found.value.most) == expected


def test_what_may_borrow_without_limit_is_not_known(write: Write) -> None:
    found = of(write, queue(cohort="cohortName: all", more="lendingLimit: 1"), job(9))
    assert isinstance(found, Unknown)
    assert found.reason == "it may borrow from its cohort"
