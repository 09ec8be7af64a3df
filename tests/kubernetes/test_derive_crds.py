"""Test scripts/derive/crds.py: it compacts a CRD as the API server prunes it, and reports where our schema differs."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from derive import crds

if TYPE_CHECKING:
    from pathlib import Path


SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "description": "How many.", "default": 1},
        "mode": {"type": "string", "enum": ["a", "b"], "pattern": "^(?i)[ab]$"},
        "share": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "gone": {"type": "array", "nullable": True, "items": {"type": "object"}},
    },
}
HEADER = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
CRD = {
    "metadata": {"name": "things.a.b"},
    "spec": {
        "group": "a.b",
        "names": {"kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {**HEADER, "spec": SPEC}}},
            }
        ],
    },
}


def test_a_compacted_crd_refuses_the_fields_that_pruning_would_drop() -> None:
    assert crds.compact(SPEC) == {
        "type": "object",
        "required": ["size"],
        "additionalProperties": False,
        "properties": {
            "size": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["a", "b"], "pattern": "(?i)^[ab]$"},
            "share": {"type": ["integer", "string"]},
            "any": {"type": "object", "properties": {}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "gone": {
                "type": ["array", "null"],
                "items": {"type": "object", "properties": {}, "additionalProperties": False},
            },
        },
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, []),
        ({"required": []}, ["x: required [], theirs ['size']"]),
        ({"additionalProperties": True}, ["x: unknown fields are refused by one only"]),
        ({"properties": {"sise": {"type": "integer"}}}, ["x.sise: not in the CRD"]),
        ({"properties": {"size": {"type": "string"}}}, ["x.size: type string, theirs integer"]),
        ({"properties": {"size": {"type": "integer", "minimum": 0}}}, ["x.size: minimum 0, theirs 1"]),
        ({"properties": {"mode": {"type": "string", "enum": ["a"]}}}, ["x.mode: enum ['a'], theirs ['a', 'b']"]),
        ({"properties": {"labels": {"type": "object"}}}, ["x.labels: additionalProperties in one only"]),
        ({"properties": {"size": {"$ref": "else"}}}, ["x.size: is not else"]),
    ],
)
def test_differences_of_a_schema_are_listed(change: dict[str, Any], words: list[str]) -> None:
    theirs = crds.compact(SPEC)
    ours = {**theirs, **change}
    assert [text for left_out, text in crds.differences(ours, theirs, {}, "x") if not left_out] == words


@pytest.mark.medium
def test_crds_are_read_from_a_git_directory_at_a_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gits, out, schemas = tmp_path / "gits", tmp_path / "out", tmp_path / "schemas"
    repository = gits / "own+things"
    for folder in (repository, schemas):
        folder.mkdir(parents=True)
    (repository / "crd.yaml").write_text(yaml.safe_dump(CRD))
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1.0"]):
        subprocess.run(["git", "-C", str(repository), *identity, *arguments], check=True)
    ours = {
        "sources": ["own/things v1.0 crd.yaml"],
        "kinds": {"a.b/v1 Thing": {"properties": {"spec": {"type": "string"}}}},
    }
    (schemas / "a.yaml").write_text(yaml.safe_dump(ours))
    monkeypatch.setitem(crds.main.__globals__, "SCHEMAS", schemas)
    assert crds.main(gits, str(out)) == 0
    printed = json.loads((out / "a.json").read_text())
    assert printed["kinds"]["a.b/v1 Thing"]["required"] == ["apiVersion", "kind", "metadata"]
    assert crds.main(gits) == 1
    spec = {"required": ["size"], "properties": {"size": {"type": "integer", "minimum": 1}}}
    ours["kinds"] = {"a.b/v1 Thing": {"properties": {"spec": spec}}}
    (schemas / "a.yaml").write_text(yaml.safe_dump(ours))
    assert crds.main(gits) == 0
