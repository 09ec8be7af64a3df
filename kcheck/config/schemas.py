"""What people write for kcheck, settings and rules, against its published schema, with the place of every mistake."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from kcheck.config.config import ConfigError, nearest
from kcheck.source.bundled import PROFILES
from kcheck.source.values import Known, Origin, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.source.text import Source, Span
    from kcheck.source.values import Datum

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float, Fraction),
    "boolean": (bool,),
}  # fmt: skip
_ARTICLES = {
    "object": "a mapping", "array": "a list", "string": "a text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false",
}  # fmt: skip


@cache
def load(name: str) -> dict[str, Any]:
    """A bundled schema."""
    with open(os.path.join(PROFILES, f"{name}.schema.json"), encoding="utf-8") as file:
        result: dict[str, Any] = json.load(file)
    return result


def document(source: Source) -> Known[Any]:
    """The only document of a YAML file; an empty mapping if there is none.

    Raises:
        ConfigError: it is broken, or there are several.
    """
    from kcheck.syntax import yaml

    documents = list(yaml.documents(source))
    empty = Known[Any]({}, Origin((source.span(0, 0),)))
    if not documents:
        return empty
    first = documents[0]
    if first.problem is not None:
        raise ConfigError(f"{at(first.problem.span)}: {first.problem.message}")
    if len(documents) > 1:
        raise ConfigError(f"{at(documents[1].span)}: one document is enough")
    return datum(first.root) if first.root is not None else empty


def check(data: Datum, wanted: dict[str, Any], noun: str, whole: str) -> None:
    """Compare data with a schema; the words are those of `differences`.

    Raises:
        ConfigError: they differ; the message says where and what would be right.
    """
    for place, message in differences(data, wanted, noun, whole):
        raise ConfigError(f"{at(place) if place else ''}: {message}")


def at(span: Span) -> str:
    """A place as errors name it."""
    return f"{span.source.path}:{span.begin.line}"


def datum(node: Any) -> Known[Any]:
    """A YAML node with the places of its parts."""
    from kcheck.syntax import yaml

    node = yaml.resolve(node)
    origin = Origin((node.span,))
    if isinstance(node, yaml.Mapping):
        return Known({name: _keyed(entry) for name, entry in yaml.entries(node).items()}, origin)
    if isinstance(node, yaml.Sequence):
        return Known(tuple(datum(item) for item in node.items), origin)
    return Known(yaml.value(node), origin)


def _keyed(entry: Any) -> Known[Any]:
    """A value whose place begins at its key."""
    value = datum(entry.value)
    key: Span = entry.key.span
    return Known(value.value, Origin((key.source.span(key.start, value.origin.written.end),)))


Difference = tuple["Span | None", str]


def _fits(pattern: str, value: str) -> bool:
    """Whether a pattern is in a text, as JSON Schema means it: `$` is the very end, digits are those of ASCII."""
    return re.search(re.sub(r"\$$", r"\\Z", pattern), value, re.ASCII) is not None


def differences(data: Datum, wanted: dict[str, Any], noun: str, whole: str, path: str = "") -> Iterator[Difference]:
    """Where data differs from the part of JSON Schema that kcheck uses, and what would be right.

    `noun` is what its keys are called, and `whole` all of it.
    """
    value = plain(data)
    place = data.origin.written if data.origin else None
    name = path or whole
    kinds = wanted.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(kind, value) for kind in kinds):
        articles = " or ".join(_ARTICLES[kind] for kind in kinds)
        yield place, f"{name} must be {articles}, not {json.dumps(value, default=str)}"
        return
    if "enum" in wanted and value not in wanted["enum"]:
        known = ", ".join(wanted["enum"])
        yield place, f"{name} must be one of {known}, not {json.dumps(value, default=str)}"
    if "minimum" in wanted and value < wanted["minimum"]:
        yield place, f"{name} must be at least {wanted['minimum']}"
    if "maximum" in wanted and value > wanted["maximum"]:
        yield place, f"{name} must be at most {wanted['maximum']}"
    if "exclusiveMinimum" in wanted and value <= wanted["exclusiveMinimum"]:
        yield place, f"{name} must be more than {wanted['exclusiveMinimum']}"
    if wanted.get("minLength") and not value.strip():
        yield place, f"{name} must not be empty"
    if "pattern" in wanted and not _fits(wanted["pattern"], value):
        yield place, f"{name} must look like {wanted['examples'][0]}, not {value}"
    if isinstance(data, Known) and isinstance(data.value, dict):
        yield from _members(data, wanted, noun, path, whole)
    elif isinstance(data, Known) and isinstance(data.value, tuple):
        for i, item in enumerate(data.value):
            yield from differences(item, wanted["items"], noun, whole, f"{path}[{i}]")


def _is_a(kind: str, value: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, float) and not isfinite(value)):
        return isinstance(value, bool) and kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _members(
    data: Known[dict[str, Datum]], wanted: dict[str, Any], noun: str, path: str, whole: str
) -> Iterator[Difference]:
    place = data.origin.written if data.origin else None
    properties: dict[str, Any] = wanted.get("properties", {})
    others = wanted.get("additionalProperties", False)
    for name, member in data.value.items():
        inner = f"{path}.{name}" if path else name
        part = properties.get(name, others)
        if part is False:
            own = member.origin.written if member.origin else place
            yield own, f"there is no {noun} {inner}; {nearest(name, tuple(properties))}"
        else:
            yield from differences(member, part, noun, whole, inner)
    for name in wanted.get("required", ()):
        if name not in data.value:
            yield place, f"{path or whole} needs {name}"
