"""Table of words as expressions in the API server, and the kinds that policies cover."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NotRequired, TypedDict

from kcheck.config.numbers import profiles
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES

if TYPE_CHECKING:
    from collections.abc import Mapping


# `as` is a word of Python
Part = TypedDict(
    "Part",
    {
        "of": str,
        "as": NotRequired[str],
        "among": NotRequired[str],
        "only": NotRequired[bool],
        "gives": NotRequired[str],
    },
)
"""Source of an object's parts; the table explains the keys."""


class Better(TypedDict):
    """Expression to use if some parameters are known."""

    needs: list[str]
    of: str


class Table(TypedDict):
    """Contents of profiles/any/admission.yaml."""

    kinds: dict[str, dict[str, str]]
    written: dict[str, int]
    same: dict[str, str]
    parts: dict[str, Part]
    better: dict[str, Better]
    words: dict[str, dict[str, str]]
    parameters: dict[str, str]
    refused: dict[str, str]
    cannot: dict[str, str]


@cache
def table() -> Table:
    """Load the table."""
    data: Table = bundled.load(os.path.join(PROFILES, "any", "admission.yaml"))
    return data


PARTS = {"template": "workload", "container": "workload", "image": "workload"}
"""Subjects that are parts, with the subject of the whole object."""


def object_subject(subject: str) -> str:
    """Return the subject of the whole object."""
    return PARTS.get(subject, subject)


def is_about_objects(subject: str) -> bool:
    """Whether a subject is a Kubernetes object or a part of one."""
    return object_subject(subject) in table()["kinds"] or subject in table()["cannot"]


def kinds(subject: str) -> tuple[str, ...]:
    """List the kinds, as `group/Kind`, that policies about a subject can cover."""
    return tuple(table()["kinds"].get(object_subject(subject), ()))


def resource(subject: str, kind: str) -> str:
    """Return the plural resource name of a kind."""
    return table()["kinds"][object_subject(subject)][kind]


def facts(kind: str) -> Mapping[str, object]:
    """Return the words of a workload that depend only on its kind."""
    entry = profiles.workloads().get(kind, {"pods": []})
    fields = profiles.table("any").get(kind, {})
    settings = [name for name in ("ttl", "deadline") if name in fields]
    inner = ["deadline"] if kind == "jobset.x-k8s.io/JobSet" else []
    return {
        "kind": kind.rpartition("/")[2],
        "group": kind.rpartition("/")[0],
        "batch": entry.get("batch", False),
        "per_node": entry.get("per_node", False),
        "settings": [*settings, *inner],
    }
