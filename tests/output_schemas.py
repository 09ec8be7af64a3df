"""Check that JSON output and its published schema have the same fields."""

from __future__ import annotations

import json
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from jsonschema_rs import Draft202012Validator

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | None"

OUTPUTS = ("capacity", "fleet", "report", "simulation", "usage")


def fields(schema: Json, place: str = "") -> Iterator[tuple[str, Json]]:
    """Yield each field of a schema with its place there."""
    members = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    for key, value in members:
        if key == "properties" and isinstance(value, dict):
            yield from ((f"{place}/properties/{name}", field) for name, field in value.items())
        yield from fields(value, f"{place}/{key}")


@cache
def published(name: str) -> Json:
    """Return a published schema, which allows fields of later versions."""
    schema: Json = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text())
    return schema


def check_fields(name: str, *documents: Json) -> None:
    """Assert that documents match a schema that names all of their fields."""
    for error in chain.from_iterable(map(_validator(name).iter_errors, documents)):
        raise AssertionError(f"docs/{name}.schema.json: {'/'.join(map(str, error.instance_path))}: {error.message}")


def check_all_fields(name: str, *documents: Json) -> None:
    """Assert that documents match a schema, and that each of its fields occurs in one of them."""
    check_fields(name, *documents)
    outputs = (_validator(name).evaluate(document).list() for document in documents)
    seen = {one["schemaLocation"].rpartition("#")[2] for output in outputs for one in output["details"]}
    missing = [place for place, _ in fields(published(name)) if place not in seen]
    assert not missing, f"docs/{name}.schema.json has fields that no test prints: {', '.join(missing)}"


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.dumps(_closed(published(name))))


def _closed(schema: Json, keyword: str = "items") -> Json:
    """Return a copy of a schema that forbids fields it does not name."""
    if isinstance(schema, list):
        return [_closed(one, keyword) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if keyword in ("properties", "$defs"):
        return {name: _closed(one, "items" if keyword == "properties" else "") for name, one in schema.items()}
    maps = {"additionalProperties"} if "required" in schema else set()  # an object with known fields is no map
    closed = {key: _closed(value, key) for key, value in schema.items() if key not in maps}
    return closed | {"unevaluatedProperties": False} if keyword in ("items", "additionalProperties") else closed
