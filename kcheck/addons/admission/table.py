"""The table of words inside the API server, and the kinds that policies are about."""

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
"""Where the parts of an object come from, as the table explains."""


class Better(TypedDict):
    """What a word is where some parameters are known."""

    needs: list[str]
    of: str


class Table(TypedDict):
    """profiles/any/admission.yaml."""

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
    """What each word is of an object."""
    data: Table = bundled.load(os.path.join(PROFILES, "any", "admission.yaml"))
    return data


PARTS = {"template": "workload", "container": "workload", "image": "workload"}
"""Subjects that are parts of another one: the subject of the object that they are in."""


def object_subject(subject: str) -> str:
    """The subject that the whole object is."""
    return PARTS.get(subject, subject)


def is_about_objects(subject: str) -> bool:
    """Whether a subject is written as an object of Kubernetes, or as a part of one."""
    return object_subject(subject) in table()["kinds"] or subject in table()["cannot"]


def kinds(subject: str) -> tuple[str, ...]:
    """The kinds that policies about a subject can be about, by `group/Kind`."""
    return tuple(table()["kinds"].get(object_subject(subject), ()))


def resource(subject: str, kind: str) -> str:
    """The name of a kind in the API."""
    return table()["kinds"][object_subject(subject)][kind]


def facts(kind: str) -> Mapping[str, object]:
    """The words of a workload that its kind alone decides."""
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
