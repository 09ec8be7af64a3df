"""Test the annotation kcheck.dev/ignore: `check` treats it as policies in the cluster do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kcheck.engine.suppressions import ignoring
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check

RAY = """\
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: {name}
  annotations:
    kcheck.dev/ignore: "{value}"
spec:
  shutdownAfterJobFinishes: false
  rayClusterSpec:
    headGroupSpec:
      template:
        spec:
          containers:
            - name: head
              image: quay.io/example/ray:2.9
              resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
RULE = "ray-cluster-outlives-job"


@pytest.mark.parametrize(
    ("value", "ignored"),
    [
        (f"{RULE}: debugged afterwards", True),
        (f"missing-requests, {RULE}: debugged afterwards", True),
        ("jobs: debugged: afterwards", True),
        ("missing-requests: debugged afterwards", False),
        (f"{RULE}", False),
        (f"{RULE}:  ", False),
        (f"not-{RULE}: debugged afterwards", False),
    ],
)
def test_an_annotation_with_a_reason_ignores_the_named_rules(value: str, ignored: bool, check: Check) -> None:
    result = check({"ray.yaml": RAY.format(name="a", value=value)})
    assert (RULE not in names(result)) is ignored
    assert bool(re.search(ignoring((RULE, "jobs")), value)) is ignored


def test_an_annotation_applies_to_its_object_only(check: Check) -> None:
    other = RAY.format(name="b", value="other: why").replace("kcheck.dev/ignore", "note")
    result = check({"ray.yaml": f"{RAY.format(name='a', value=f'{RULE}: why')}---\n{other}"})
    assert names(result).count(RULE) == 1


def test_an_annotation_applies_to_items_of_a_list(check: Check) -> None:
    item = RAY.format(name="a", value=f"{RULE}: why").replace("\n", "\n    ").rstrip()
    result = check({"ray.yaml": f"apiVersion: v1\nkind: List\nitems:\n  - {item}\n"})
    assert RULE not in names(result)


def test_an_annotation_without_a_reason_is_reported(check: Check) -> None:
    assert "suppression-without-reason" in names(check({"ray.yaml": RAY.format(name="a", value=RULE)}))


def test_an_annotation_for_rules_in_the_cluster_is_not_reported_as_unused(check: Check) -> None:
    result = check({"ray.yaml": RAY.format(name="a", value=f"{RULE}, fractional-gpu: why")})
    assert "unused-suppression" not in names(result)
