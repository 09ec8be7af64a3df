"""Test tiers of jobs: guaranteed resources of the highest tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Check


pytestmark = pytest.mark.medium

CLASSES = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 0
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: team}
spec:
  template:
    spec:
      priorityClassName: CLASS
      nodeSelector: {SELECTOR}
      restartPolicy: Never
      containers: [{name: a, image: "quay.io/example/a:1", resources: {RESOURCES}}]
"""
SOME = "requests: {cpu: 1, memory: 1Gi}"
RULE = "highest-tier-not-guaranteed"


def job(name: str, class_: str, resources: str, selector: str = "") -> str:
    text = JOB.replace("NAME", name).replace("CLASS", class_)
    return text.replace("RESOURCES", resources).replace("SELECTOR", selector)


def severity(check: Check, *jobs: str, **files: str) -> str | None:
    texts = {f"{name}.yaml": text for name, text in files.items()}
    result = check({"classes.yaml": CLASSES, **{f"{i}.yaml": text for i, text in enumerate(jobs)}, **texts})
    return next((one.severity.word for one in result.findings if one.rule == RULE), None)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("", "warning"),
        (SOME, "info"),
        ("limits: {memory: 1Gi}", "info"),
        ("requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}", "info"),
        ("requests: {cpu: 1000m}, limits: {cpu: 1, memory: 1Gi}", None),
    ],
)
def test_the_qos_class_of_the_highest_tier_is_judged(resources: str, expected: str | None, check: Check) -> None:
    assert severity(check, job("top", "high", resources), job("other", "low", SOME)) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [("low", "warning"), ("high", None), ("unheard-of", None)],
)
def test_only_lower_tiers_on_the_same_nodes_count(other: str, expected: str | None, check: Check) -> None:
    assert severity(check, job("top", "high", ""), job("other", other, SOME)) == expected


def test_tiers_on_separate_nodes_are_not_judged(check: Check) -> None:
    assert severity(check, job("top", "high", "", "pool: top"), job("other", "low", SOME)) is None


def test_a_limit_range_can_supply_limits(check: Check) -> None:
    limits = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: team}\nspec: {limits: []}\n"
    assert severity(check, job("top", "high", ""), job("other", "low", SOME), limits=limits) is None


POOLS = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: eu-west-1}
managedNodeGroups:
  - {name: gpu, instanceType: p5.48xlarge, minSize: 0, maxSize: 8}
"""


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [(4, 4, "info"), (8, 4, None), (8, 0, "info")],  # all cards of a node; its CPU is left
)
def test_jobs_with_all_cards_of_a_node_share_only_its_cpu(
    own: int, other: int, expected: str | None, check: Check
) -> None:
    top = job("top", "high", f"{SOME}, limits: {{nvidia.com/gpu: {own}}}")
    lower = job("other", "low", f"{SOME}, limits: {{nvidia.com/gpu: {other}}}" if other else SOME)
    assert severity(check, top, lower, pools=POOLS) == expected
