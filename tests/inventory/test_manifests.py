"""Test that manifests are read late, unless other objects need to know what they contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.inventory.manifests import PlainManifests
from kcheck.kubernetes.objects import Kinds, holds_only
from kcheck.text.deadline import no_progress
from kcheck.text.text import Source

if TYPE_CHECKING:
    from kcheck.kubernetes.objects import Object

ALONE = frozenset({"Deployment", "Job"})
KINDS = Kinds(ALONE | {"HorizontalPodAutoscaler"})


def manifest(kind: str, name: str) -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"


JOB, SCALER = manifest("Job", "job"), manifest("HorizontalPodAutoscaler", "scaler")


@pytest.mark.parametrize(
    ("text", "only"),
    [
        (JOB, True),
        (f"{JOB}---\n{manifest('ConfigMap', 'unread')}", True),
        (f"{JOB}---\n{SCALER}", False),
        (f"{JOB}---\n{{apiVersion: v1, kind: HorizontalPodAutoscaler}}\n", False),
        (f"{JOB}---\napiVersion: v1\nkind: {{{{ .kind }}}}\n", False),
        (f"{JOB}---\napiVersion: v1\nkind: &kind HorizontalPodAutoscaler\n", False),
        ("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: HorizontalPodAutoscaler}\n", False),
        ("", False),
    ],
)
def test_a_file_is_known_to_hold_only_some_kinds_without_parsing(text: str, *, only: bool) -> None:
    assert holds_only(text.encode(), KINDS, ALONE) is only


def in_turn(plain: PlainManifests) -> list[Object]:
    return [item for _, read in plain.in_turn(no_progress) for item in read()]


def test_kinds_that_others_need_are_read_first() -> None:
    texts = [JOB, SCALER, manifest("Deployment", "web"), "kind: Job\napiVersion: v1\na: [\n"]
    plain = PlainManifests([Source(f"{number}.yaml", text.encode()) for number, text in enumerate(texts)], KINDS, ALONE)
    assert [item.kind for item in plain.manifests.objects] == ["HorizontalPodAutoscaler"]
    assert not plain.manifests.problems
    assert [item.kind for item in in_turn(plain)] == ["Job", "HorizontalPodAutoscaler", "Deployment"]
    assert [problem.span.source.path for problem in plain.read().problems] == ["3.yaml"]


def test_problems_have_the_order_of_the_files() -> None:
    broken = [f"{manifest(kind, 'x')}spec: [\n".encode() for kind in ("Job", "HorizontalPodAutoscaler", "Deployment")]
    plain = PlainManifests([Source(f"{number}.yaml", data) for number, data in enumerate(broken)], KINDS, ALONE)
    assert not in_turn(plain)
    assert [problem.span.source.path for problem in plain.read().problems] == ["0.yaml", "1.yaml", "2.yaml"]
