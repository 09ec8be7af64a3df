"""Validate settings, intents and rules against schemas."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from fractions import Fraction
from functools import cache, reduce
from itertools import count
from operator import getitem
from typing import TYPE_CHECKING, Any, TypedDict

from kcheck.config.config import ConfigError, Written, nearest
from kcheck.text.bundled import PROFILES
from kcheck.text.partly_known import plain
from kcheck.text.values import Datum, DatumValue, Known, Origin, known, parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from jsonschema_rs import Draft202012Validator

    from kcheck.text.syntax import yaml
    from kcheck.text.text import Source, Span

Difference = tuple["Span", str]
Path = tuple[str | int, ...]

ARTICLES = {
    "object": "a mapping", "array": "a list", "string": "a text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false",
}  # fmt: skip
"""Names of JSON Schema's types in messages."""
_BOUNDS = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}
_NOT_BLANK = r"\S"
"""Pattern of a text that must not be blank."""


Schema = TypedDict(
    "Schema",
    {
        "$ref": str, "$defs": dict[str, "Schema"], "type": str, "description": str, "enum": list[str],
        "examples": list[object], "required": list[str], "properties": dict[str, "Schema"], "items": "Schema",
        "additionalProperties": "Schema | bool", "minimum": int, "maximum": int,
    },
    total=False,
)  # fmt: skip
"""A JSON Schema, as far as it is read here."""


@cache
def load(name: str) -> Schema:
    """Load a bundled schema or a part of one, such as `rule#/$defs/details`."""
    file_name, _, pointer = name.partition("#/")
    with open(os.path.join(PROFILES, f"{file_name}.schema.json"), encoding="utf-8") as file:
        whole = json.load(file)
    part: Schema = reduce(getitem, pointer.split("/"), whole) if pointer else whole
    return {**part, "$defs": whole["$defs"]} if pointer else part  # what it refers to


def below(name: str, steps: Iterable[str | int]) -> Schema | None:
    """Return the part of a schema at some keys; None if there is none."""
    whole = load(name)
    part: Schema | None = whole
    for step in steps:
        part = _resolved(part, whole)
        if part is None:
            return None
        if isinstance(step, int):
            part = part.get("items")
        else:
            more = part.get("additionalProperties")
            part = part.get("properties", {}).get(step) or (more if isinstance(more, dict) else None)
    return {**(_resolved(part, whole) or {}), **part} if part is not None else None


def _resolved(part: Schema | None, whole: Schema) -> Schema | None:
    """Follow the reference of a part of a schema."""
    name = str(part.get("$ref", "")).rpartition("/")[2] if part is not None else ""
    return whole["$defs"].get(name) if name else part


@cache
def _validator(name: str) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator  # only who writes such a file pays for it

    return Draft202012Validator(dict(load(name)), validate_formats=True)


def document(source: Source) -> Known[DatumValue]:
    """Read the only document of a YAML file; an empty mapping if there is none.

    Raises ConfigError if it is broken, or there are several.
    """
    from kcheck.text.syntax import yaml

    documents = list(yaml.documents(source))
    empty: Known[DatumValue] = Known({}, Origin((source.span(0, 0),)))
    if not documents:
        return empty
    first = documents[0]
    if first.problem is not None:
        raise ConfigError(f"{first.problem.span.location}: {first.problem.message}")
    if len(documents) > 1:
        raise ConfigError(f"{documents[1].span.location}: expected a single document")
    return datum(first.root) if first.root is not None else empty


def check(data: Known[DatumValue], *schema: str) -> None:
    """Raise ConfigError, with a line for each mistake, if data differs from a schema."""
    if mistakes := right(data, *schema)[1]:
        raise ConfigError(*mistakes)


def right(data: Known[DatumValue], *schema: str) -> tuple[Known[DatumValue], list[str]]:
    """Return the part of data that agrees with a schema, and the mistakes of the rest."""
    mistakes = wrong = differences(data, *schema)
    while wrong:  # until nothing is left that could be taken away
        before, data = data, _without(data, [place for place, _ in wrong])
        wrong = differences(data, *schema) if data != before else []
    return data, [f"{place.location}: {message}" for place, message in mistakes]


def _without(data: Known[DatumValue], places: Collection[Span]) -> Known[DatumValue]:
    """Leave out the parts of data at some places; a root becomes empty."""
    value = {} if data.origin.written in places else data.value
    if isinstance(value, dict):
        members = ((key, member) for key, member in value.items() if isinstance(member, Known))
        return Known({k: _without(m, places) for k, m in members if m.origin.written not in places}, data.origin)
    if isinstance(value, tuple):
        items = (item for item in value if isinstance(item, Known) and item.origin.written not in places)
        return Known(tuple(_without(item, places) for item in items), data.origin)
    return data


def datum(node: yaml.Node) -> Known[DatumValue]:
    """Convert a YAML node to data whose parts know their place."""
    from kcheck.text.syntax import yaml

    node = yaml.resolve(node)
    origin = Origin((node.span,))
    if isinstance(node, yaml.Mapping):
        return Known({name: _keyed(entry) for name, entry in yaml.entries(node).items()}, origin)
    if isinstance(node, yaml.Sequence):
        return Known(tuple(datum(item) for item in node.items), origin)
    value = yaml.value(node)
    return Known(int(value) if isinstance(value, float) and value.is_integer() else value, origin)


def _keyed(entry: yaml.Pair) -> Known[DatumValue]:
    """Convert the value of an entry, with a span that begins at its key."""
    value = datum(entry.value)
    key = entry.key.span
    return Known(value.value, Origin((key.source.span(key.start, value.origin.written.end),)))


def differences(data: Known[DatumValue], schema: str, noun: str, whole: str) -> list[Difference]:
    """List the differences between data and a schema, in file order.

    `noun` is the word for a key, `whole` the word for the document.
    """
    try:
        mistakes = list(_validator(schema).iter_errors(_json(data)))
    except ValueError as error:  # half a character, or hundreds of levels
        return [(data.origin.written, f"{whole} cannot be read: {error}")]
    nodes = dict(nodes_of(data)) if mistakes else {}
    rank = {path: i for i, path in enumerate(nodes)}
    found: dict[tuple[int, ...], Difference] = {}
    for mistake in mistakes:
        path = tuple(map(_unmarked, mistake.instance_path))
        *steps, keyword = mistake.schema_path
        wanted: Any = load(schema)
        for step in steps:
            wanted = wanted[step]
        order = tuple(rank[path[: i + 1]] for i in range(len(path)))
        node, name = nodes[path], _name(path) or whole
        if keyword == "additionalProperties":
            for key in mistake.kind.value:
                own = (*path, _unmarked(key))
                message = f"there is no {noun} {_name(own)}; {nearest(str(own[-1]), tuple(wanted['properties']))}"
                found[*order, rank[own]] = nodes[own].origin.written, message
        elif keyword == "required":  # told after what is there: a key may only be misspelt
            last = (len(nodes), wanted[keyword].index(mistake.kind.value))
            found[order + last] = node.origin.written, f"{name} needs {mistake.kind.value}"
        elif keyword == "type" or order not in found:  # what has the wrong type is nothing else as well
            found[order] = node.origin.written, f"{name} {_expected(str(keyword), wanted, plain(node))}"
    return [difference for _, difference in sorted(found.items())]


def _json(data: Datum) -> object:
    value = known(data)
    if isinstance(value, dict):
        return {_marked(str(key)): _json(member) for key, member in value.items()}
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    return Decimal(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _marked(key: str) -> str:
    """Mark a key that the validator misreads in paths, such as `07` or an empty one."""
    return f"={key}" if not key or key[0] in "=+0123456789" else key


def _unmarked(step: str | int) -> str | int:
    return step.removeprefix("=") if isinstance(step, str) else step


def nodes_of(data: Known[DatumValue], path: Path = ()) -> Iterator[tuple[Path, Known[DatumValue]]]:
    """Yield data and everything inside it, each with its path."""
    yield path, data
    value = data.value
    steps: Iterable[str | int] = map(str, value) if isinstance(value, dict) else count()
    for step, part in zip(steps, parts(value), strict=False):
        if isinstance(part, Known):
            yield from nodes_of(part, (*path, step))


def _name(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _expected(keyword: str, wanted: Written, value: object) -> str:
    limit = wanted[keyword]
    if keyword in _BOUNDS:
        return f"must be {_BOUNDS[keyword]} {limit}"
    if keyword == "oneOf":
        return f"needs {' or '.join(' and '.join(choice['required']) for choice in limit)}, not both"
    if keyword in ("pattern", "format"):
        return "must not be empty" if limit == _NOT_BLANK else f"must look like {wanted['examples'][0]}, not {value}"
    kinds = [limit] if isinstance(limit, str) else limit
    right = f"one of {', '.join(limit)}" if keyword == "enum" else " or ".join(ARTICLES[kind] for kind in kinds)
    keys = f" with {' and '.join(wanted['required'])}" if "required" in wanted else ""
    return f"must be {right}{keys}, not {json.dumps(value, default=str)}"
