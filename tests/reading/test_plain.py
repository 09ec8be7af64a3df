"""Manifests are read when their turn comes, unless other objects ask about what is in them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcheck.kubernetes.objects import Kinds, holds_only
from kcheck.reading.plain import Plain
from kcheck.source.text import Source

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


def test_what_others_ask_about_is_read_at_once_and_the_rest_in_its_turn() -> None:
    texts = [JOB, SCALER, manifest("Deployment", "web"), "kind: Job\napiVersion: v1\na: [\n"]
    plain = Plain([Source(f"{number}.yaml", text.encode()) for number, text in enumerate(texts)], KINDS, ALONE)
    assert [item.kind for item in plain.manifests.objects] == ["HorizontalPodAutoscaler"]
    assert not plain.manifests.problems
    assert [item.kind for item in plain.in_turn(list)] == ["Job", "HorizontalPodAutoscaler", "Deployment"]
    assert [problem.span.source.path for problem in plain.read().problems] == ["3.yaml"]


def test_an_object_that_is_read_in_its_turn_is_changed_by_the_function() -> None:
    plain = Plain([Source("job.yaml", JOB.encode()), Source("scaler.yaml", SCALER.encode())], KINDS, ALONE)
    changed = plain.in_turn(lambda found: [replace(item, scope="changed") for item in found])
    assert [item.scope for item in changed] == ["changed", ""]


def test_problems_have_the_order_of_the_files() -> None:
    broken = [f"{manifest(kind, 'x')}spec: [\n".encode() for kind in ("Job", "HorizontalPodAutoscaler", "Deployment")]
    plain = Plain([Source(f"{number}.yaml", data) for number, data in enumerate(broken)], KINDS, ALONE)
    assert not list(plain.in_turn(list))
    assert [problem.span.source.path for problem in plain.read().problems] == ["0.yaml", "1.yaml", "2.yaml"]
