"""Expressions over fields that kinds spell differently: pods, deadlines, retries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.text.text import grouped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.config.numbers.profiles import PodPlace

OBJECT = "dyn(object)"
"""The object without a type: a policy covers several kinds, each without some fields of the others."""

GROUPS = "pod_groups"
GROUP_KIND = "group_kind"
"""Variables: the pods of an object by role (`GROUPS`), and its kind with the API group."""


def literal(value: object) -> str:
    """Format a value as CEL."""
    return json.dumps(value, ensure_ascii=False)


def by_kind(expressions: Mapping[str, str]) -> str:
    """Combine one expression per kind into a single one that chooses by kind."""
    kinds = grouped(expressions, expressions.__getitem__)
    *first, (rest, _) = sorted(kinds.items(), key=lambda item: len(item[1]))
    names = [kind.rpartition("/")[2] for kind in expressions]
    whole = len(set(names)) < len(names)
    parts = [f"{_is_one(found, whole=whole)} ? {text} :\n" for text, found in first]
    return "".join([*parts, rest])


def _is_one(kinds: list[str], *, whole: bool) -> str:
    """Test that an object is of one of these kinds; `whole` includes the API group."""
    names = [kind if "/" in kind else f"v1/{kind}" for kind in kinds] if whole else [
        kind.rpartition("/")[2] for kind in kinds
    ]  # fmt: skip
    subject = f"variables.{GROUP_KIND}" if whole else "object.kind"
    return f"{subject} == {literal(names[0])}" if len(names) == 1 else f"{subject} in {literal(sorted(names))}"


def field(name: str, kinds: tuple[str, ...], unset: object = None) -> str | None:
    """Return the expression of a job's field; None if no kind has it."""
    tables = profiles.table("any")
    own = {kind: tables[kind][name] for kind in kinds if name in tables.get(kind, {})}
    if not own:
        return None
    expressions = {}
    for kind in kinds:
        entry = own.get(kind)
        setting, paths = (entry.get("unset"), entry["path"].split(" | ")) if entry is not None else (None, [])
        default = profiles.settings("any")[setting].value if setting else unset
        expressions[kind] = first_of(OBJECT, paths, f"dyn({literal(default)})")
    return by_kind(expressions)


def written_field(name: str, kinds: tuple[str, ...]) -> str:
    """Return an expression for whether a job's field is written."""
    tables = profiles.table("any")
    expressions = {}
    for kind in kinds:
        paths = tables.get(kind, {}).get(name, {"path": ""})["path"]
        found = [f"{optional(OBJECT, path)}.hasValue()" for path in paths.split(" | ") if path]
        expressions[kind] = " || ".join(found) or "false"
    return by_kind(expressions)


def optional(owner: str, path: str) -> str:
    """Format a path of optional fields."""
    return owner + "".join(f".?{step}" for step in path.split("."))


def first_of(owner: str, paths: list[str], default: str) -> str:
    """Return the value of the first path that is present."""
    if not paths:
        return default
    first, *others = (optional(owner, path) for path in paths)
    return f"{first}{''.join(f'.or({other})' for other in others)}.orValue({default})"


# --- pods


def pod_groups(kinds: tuple[str, ...]) -> str:
    """Return an object's pods by role, each with role, count, metadata and spec."""
    return by_kind({kind: " + ".join(map(_places, profiles.workloads()[kind]["pods"])) for kind in kinds})


def is_elastic(kinds: tuple[str, ...]) -> str:
    """Whether the number of a job's pods may change from the written one."""
    found = {}
    for kind in kinds:
        entry = profiles.workloads()[kind]
        growths = [] if entry.get("rigid") is True else [place.get("grows", {}).get("when") for place in entry["pods"]]
        found[kind] = " || ".join(f"{optional(OBJECT, when)}.orValue(false)" for when in dict.fromkeys(growths) if when)
    return by_kind({kind: text or "false" for kind, text in found.items()})


def _places(place: PodPlace) -> str:
    """Return the expression for the pods that a table entry points to."""
    if "each" in place:
        roles = f"{optional(OBJECT, place['each'])}.orValue({{}})"
        own = f"{roles}[role]"
        group = _group(own, place, "dyn(role)", optional(own, place["at"]), restart=f"{own}.?restartPolicy")
        return f"{roles}.map(role, {group})"
    if "list" in place:
        owner = "task"
        group = _group(owner, place, f'dyn({owner}.?{place["name"]}.orValue(""))', optional(owner, place["at"]))
        return f"{optional(OBJECT, place['list'])}.orValue([]).map({owner}, {group})"
    role = f"dyn({literal(place.get('role', ''))})"
    if not place["at"]:
        return f"[{_group(OBJECT, place, role, OBJECT)}]"
    if "role" not in place:  # the only pods of the kind, which it must have
        return f"[{_group(OBJECT, place, role, optional(OBJECT, place['at']))}]"
    group = _group(OBJECT, place, role, "pods")
    return f"{optional(OBJECT, place['at'])}.optMap(pods, [{group}]).orValue([])"


def _group(owner: str, place: PodPlace, role: str, pods: str, restart: str = "") -> str:
    own = {"role": role, "count": f"dyn({_count(owner, place)})"}
    own |= {name: f"dyn({pods}.?{name}.orValue({{}}))" for name in ("metadata", "spec")}
    return members(own | ({"restart": f"dyn({restart}.orValue(null))"} if restart else {}))


def _count(owner: str, place: PodPlace) -> str:
    """Return the number of pods at once; 1 if not written."""
    count = first_of(owner, place["count"].split(" | "), "1") if "count" in place else "1"
    count = _grown(count, owner, place)
    if "beside" in place:
        count = f"({count} - ({optional(owner, place['beside'])}.hasValue() ? 1 : 0))"
    if "times" in place:
        count = f"{count} * {optional(owner, place['times'])}.orValue(1)"
    if "most" in place:
        most = f"{optional(owner, place['most'])}.orValue({count})"
        count = f"{most} < {count} ? {most} : {count}"
    return count


def _grown(count: str, owner: str, place: PodPlace) -> str:
    growth = place.get("grows")
    if growth is None:
        return count
    owner = OBJECT if growth["to"].startswith("/") else owner
    most = f"{optional(owner, growth['to'].removeprefix('/'))}.orValue({count})"
    if "role" in growth:
        most = f"(role == {literal(growth['role'])} ? {most} : {count})"
    return f"({optional(OBJECT, growth['when'])}.orValue(false) ? {most} : {count})" if "when" in growth else most


def members(found: Mapping[str, str]) -> str:
    """Format a map of expressions, on one line if short."""
    parts = [f"{literal(name)}: {text}" for name, text in found.items()]
    line = f"{{{', '.join(parts)}}}"
    if len(line) <= _SHORT and "\n" not in line:
        return line
    lines = ",\n".join(parts).replace("\n", "\n  ")
    return f"{{\n  {lines}\n}}"


_SHORT = 80
