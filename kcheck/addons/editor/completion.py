"""Completion in ignore comments and in kcheck.yaml."""

import os
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kcheck.addons.editor.half_typed import Slot, Steps, slot
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.config import schemas
from kcheck.config.locations import NAME
from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import owners
from kcheck.config.schemas import Schema
from kcheck.engine import rules
from kcheck.engine.suppressions import IGNORE
from kcheck.report.places import by_name
from kcheck.report.rule import severity
from kcheck.text.files.tree import MANIFESTS
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.units import counted

_NAMES = (
    regex(r"(?:#|//)[ \t]*kcheck:[ \t]*ignore\[([^\]\n]*)$"),
    regex(r"[\"']?" + IGNORE.replace(".", "\\.") + r"[\"']?[ \t]*:[ \t]+[\"']?([^:\n\"']*)$"),
)
"""An ignore comment or annotation up to the cursor."""
_PARTIAL = regex(r"[\w-]*$")
_WORD = regex(r"[\w-]*")
_NEAR = 2
"""Lines between a comment and its code."""
_LISTS = frozenset({"select", "ignore", "not_ignorable"})
_MOST_PATHS = 1_000


class Completion(NamedTuple):
    """A completion item with its meaning; lower ranks come first."""

    text: str
    label: str
    detail: str = ""
    documentation: str = ""
    rank: int = 0
    kind: str = "value"
    quote: str = ""

    @property
    def filter(self) -> str:
        """Text to match against the typed one."""
        return f"{self.quote}{self.label}"


class Completions(NamedTuple):
    """Completions that replace the text from `start` to `end`."""

    start: int
    end: int
    items: list[Completion]


def completions(text: str, path: str, cursor: int, snapshot: Snapshot | None) -> Completions | None:
    """Complete at a cursor of a file; `snapshot` is the last state of its folder."""
    begin = text.rfind("\n", 0, cursor) + 1
    before = text[begin:cursor]
    listed = next((found for pattern in _NAMES if (found := pattern.search(before)) is not None), None)
    if listed is not None:
        return _names_in_list(text, path, cursor, listed[1], snapshot)
    return _settings(text, path, cursor, snapshot) if os.path.basename(path) == NAME else None


def _names_in_list(text: str, path: str, cursor: int, listed: str, snapshot: Snapshot | None) -> Completions:
    """Complete rules and groups in a comment, without those already listed."""
    partial, rest = _PARTIAL.search(listed), _WORD.match(text, cursor)
    start = cursor - len(partial[0] if partial is not None else "")
    end = rest.end() if rest is not None else cursor
    there = {name.strip() for name in listed.split(",")[:-1]}
    here = text.count("\n", 0, cursor) + 1
    close, same = set(), set()
    for finding in snapshot.result.findings if snapshot is not None else ():
        if finding.span.source.path == path:
            same.add(finding.rule)
            if any(abs(anchor.begin.line - here) < _NEAR for anchor in finding.anchors):
                close.add(finding.rule)
    ranks = dict.fromkeys(same, 1) | dict.fromkeys(close, 0)
    return Completions(start, end, [one for one in _rules(snapshot, ranks) if one.label not in there])


def _rules(snapshot: Snapshot | None, ranks: dict[str, int] | None = None) -> Iterator[Completion]:
    every = rules.load() if snapshot is None else by_name(snapshot.world).values()
    for rule in every:
        rank = (ranks or {}).get(rule.name, 2)
        detail = f"{severity(rule)}, {rule.group}{', found here' if rank < 2 else ''}"
        yield Completion(rule.name, rule.name, detail, f"{rule.summary}.", rank, "rule")
    for name, number in Counter(rule.group for rule in every).items():
        yield Completion(name, name, f"group of {counted(number, 'rule')}", rank=3, kind="group")


# --- settings


def _settings(text: str, path: str, cursor: int, snapshot: Snapshot | None) -> Completions | None:
    place = slot(text, cursor)
    wanted = schemas.below("settings", place.steps) if place is not None else None
    if place is None or wanted is None:
        return None
    items: list[Completion] = []
    lead = " " if place.glued else ""
    if place.key and wanted.get("type") == "object":
        items = [
            _key(one, place) for one in _keys(place.steps, wanted, path, snapshot) if one.label not in place.others
        ]
    elif place.key and wanted.get("type") == "array" and not place.dashed:
        item = schemas.below("settings", (*place.steps, 0)) or {}
        items = [one._replace(text=f"- {one.text}") for one in _items(place, item, path, snapshot)]
    elif wanted.get("type") not in ("object", "array"):
        items = [_value(one, place, lead) for one in _values(place.steps, wanted, path, snapshot)]
    return Completions(place.start, place.end, items) if items else None


def _items(place: Slot, item: Schema, path: str, snapshot: Snapshot | None) -> Iterator[Completion]:
    steps = (*place.steps, 0)
    if item.get("type") == "object":
        yield from (one._replace(text=f"{one.label}: ") for one in _keys(steps, item, path, snapshot))
    else:
        yield from (_value(one, place, "") for one in _values(steps, item, path, snapshot))


def _key(one: Completion, place: Slot) -> Completion:
    name = yaml.literal(one.label, "plain")
    below = schemas.below("settings", (*place.steps, one.label)) or {}
    colon = "" if place.coloned else ": " if place.inline or below.get("type") not in ("object", "array") else ":"
    return one._replace(text=f"{name}{colon}")


def _value(one: Completion, place: Slot, lead: str) -> Completion:
    """Format a value, in the quotes already typed."""
    quote = place.partial[:1] if place.partial[:1] in ("'", '"') else ""
    plain = one.text if one.kind in ("word", "number") else yaml.literal(one.text, "plain")
    return one._replace(text=f"{lead}{quote}{one.text}{quote}" if quote else f"{lead}{plain}", quote=quote)


def _keys(steps: Steps, wanted: Schema, path: str, snapshot: Snapshot | None) -> Iterator[Completion]:
    required = wanted.get("required", ())
    for name, part in wanted.get("properties", {}).items():
        known = schemas.below("settings", (*steps, name)) or part
        needed = name in required
        detail = f"{_kind(known)}{', required' if needed else ''}"
        yield Completion(name, name, detail, known.get("description", ""), 0 if needed else 1, "key")
    if steps == ("severity",):
        yield from (one for one in _rules(snapshot) if one.kind != "group")
    elif steps == ("limits",):
        yield from _limits()
    elif steps == ("per_path_ignores",):
        yield from _paths("", path, snapshot)
    elif steps == ("usage", "tiers"):
        yield from (
            Completion(name, name, "tier that is there", kind="key") for name in ("highest", "standard", "lowest")
        )


def _kind(part: Schema) -> str:
    names = {"array": "list", "object": "map", "integer": "whole number", "string": "text"}
    kind = str(part.get("type", ""))
    return " | ".join(part["enum"]) if "enum" in part else names.get(kind, kind)


def _limits() -> Iterator[Completion]:
    """Yield the limits that settings can change: all but hard ones."""
    for cloud in owners():
        for key, entry in profiles.limits(cloud).items():
            if entry.kind != "hard" and isinstance(entry.value, int | None):
                value = f"{entry.value:,} {entry.unit}" if entry.value is not None else entry.unit
                yield Completion(f"{cloud}.{key}", f"{cloud}.{key}", f"{entry.kind}: {value}", kind="key")


def _values(steps: Steps, wanted: Schema, path: str, snapshot: Snapshot | None) -> Iterator[Completion]:
    for word in (*wanted.get("enum", ()), *(("true", "false") if wanted.get("type") == "boolean" else ())):
        yield Completion(word, word, kind="word")
    for one in wanted.get("examples", ()):
        yield Completion(str(one), str(one), "for example", rank=1)
    names = [step for step in steps if isinstance(step, str)]
    if names[:1] and names[0] in {*_LISTS, "per_path_ignores"}:
        yield from _rules(snapshot)
    elif names == ["suppressions", "rule"]:
        ranks = {finding.rule: 1 for finding in snapshot.result.findings} if snapshot is not None else {}
        yield from _rules(snapshot, ranks)
    else:
        yield from _paths(".".join(names), path, snapshot)


_OF_FILES = {
    "clusters.root": "roots", "clusters.var_files": "variables", "clusters.manifests": "manifests",
    "var_files": "variables", "exclude": "folders", "module_dirs": "folders", "suppressions.path": "found",
    "helm_values": "values", "": "found",
}  # fmt: skip
"""Settings that name files or folders, with their sort; '' for the keys of per_path_ignores."""


def _paths(setting: str, path: str, snapshot: Snapshot | None) -> Iterator[Completion]:
    """Yield files and folders a setting can name, relative to the settings."""
    wanted = _OF_FILES.get(setting)
    if snapshot is None or wanted is None:
        return
    folder = os.path.dirname(path) or "."
    found = {os.path.relpath(one, folder).replace(os.sep, "/") for one in _files(wanted, snapshot)}
    inside = sorted(one for one in found if not one.startswith("../"))
    for one in inside[:_MOST_PATHS]:
        yield Completion(one, one, kind="file")


def _files(wanted: str, snapshot: Snapshot) -> Iterator[str]:
    tree = snapshot.tree
    terraform = [folder.path for folder in tree.folders]
    manifests = [source.path for source in tree.manifests]
    if wanted == "roots":
        yield from terraform
    elif wanted == "variables":
        yield from tree.variables
    elif wanted == "manifests":
        yield from manifests
    elif wanted == "values":
        paths = (source.path for source in tree.sources.values() if source is not None)
        yield from (one for one in paths if one.endswith(MANIFESTS) and "values" in os.path.basename(one))
    elif wanted == "found":
        yield from (finding.span.source.path for finding in snapshot.result.findings)
    if wanted in ("folders", "manifests", "found"):
        files = manifests if wanted == "manifests" else [*manifests, *(f"{one}/x" for one in terraform)]
        yield from (os.path.dirname(one) for one in files if os.path.dirname(one) not in ("", "."))
