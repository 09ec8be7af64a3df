"""The numbers: limits and settings of each cloud, with unit, source, date and confidence."""

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

import yaml

from kcheck.bundled import PROFILES

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Entry(NamedTuple):
    """One number of a profile. `kind` is hard, quota, recommended or default."""

    key: str
    value: int | str | bool
    unit: str
    kind: str
    sources: tuple[str, ...]
    checked: str
    confidence: str
    scope: str = ""
    note: str = ""


def load_yaml(path: str) -> Any:
    """A bundled YAML file as plain data."""
    with open(path, "rb") as file:
        return yaml.load(file, _Loader)  # noqa: S506 - the loader is a safe one


@cache
def limits(cloud: str) -> dict[str, Entry]:
    """The limits that hold on a cloud, those of every cloud included, by `group.name`."""
    return _entries("any", "limits") | (_entries(cloud, "limits") if cloud != "any" else {})


@cache
def settings(cloud: str) -> dict[str, Entry]:
    """What a cloud or its provider uses where nothing is written, by `group.name`."""
    return _entries(cloud, "settings")


@cache
def table(cloud: str) -> dict[str, dict[str, dict[str, str]]]:
    """Which attribute of which resource is which field: resource -> field -> {path, type, unset}."""
    data: dict[str, dict[str, dict[str, str]]] = load_yaml(os.path.join(PROFILES, cloud, "terraform.yaml"))
    return data


def _entries(cloud: str, name: str) -> dict[str, Entry]:
    path = os.path.join(PROFILES, cloud, f"{name}.yaml")
    if not os.path.exists(path):
        return {}
    result = {}
    for group, members in load_yaml(path).items():
        for member, fields in members.items():
            key = f"{group}.{member}"
            fields = {**fields, "sources": tuple(fields["sources"]), "checked": str(fields["checked"])}  # noqa: PLW2901
            result[key] = Entry(key=key, **fields)
    return result
