"""Test data against a schema: every mistake is reported at its place, and nothing else is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.config import schemas
from kcheck.text.partly_known import wrap
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.values import Known, Origin

PLACE = Origin((Source("a.yaml", b"a").span(0, 1),))


def mistakes(data: object, schema: str = "settings") -> list[str]:
    known = wrap(data, PLACE)
    assert isinstance(known, Known)
    return [message for _, message in schemas.differences(known, schema, "setting", "the settings")]


def test_mistakes_are_listed_in_the_order_of_the_file() -> None:
    text = "fail_on: 1\nclusters:\n  - {rot: .}\n  - {root: ., nodes: 0}\nx: 1\nexclude: [a, 2, 3]\nw: 1\n"
    document = next(iter(yaml.documents(Source("a.yaml", text.encode()))))
    assert document.root is not None
    found = schemas.differences(schemas.datum(document.root), "settings", "setting", "the settings")
    assert [f"{place.location}: {message.partition(';')[0]}" for place, message in found] == [
        "a.yaml:1: fail_on must be one of error, warning, info, undecided, never, not 1",
        "a.yaml:3: there is no setting clusters[0].rot",
        "a.yaml:3: clusters[0] needs root",
        "a.yaml:4: clusters[1].nodes must be at least 1",
        "a.yaml:5: there is no setting x",
        "a.yaml:6: exclude[1] must be a text, not 2",
        "a.yaml:6: exclude[2] must be a text, not 3",
        "a.yaml:7: there is no setting w",
    ]


@pytest.mark.parametrize("key", ["0", "07", "7", "+1", "=1", "", "a.b", "a/b", "~1", "[0]"])
def test_a_mistake_under_any_key_is_found(key: str) -> None:
    assert mistakes({"severity": {key: 1}}) == [f"severity.{key} must be one of error, warning, info, not 1"]
    assert mistakes({key: 1})[0].startswith(f"there is no setting {key}; ")


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        (Fraction(1, 10**400), []),
        (Fraction(-1, 10**400), ["price must be more than 0"]),
        (10**400, ["price must be at most 1000000"]),
        (-(10**400), ["price must be more than 0"]),
        (Fraction(1, 3), []),
    ],
)
def test_numbers_are_compared_exactly(price: Fraction | int, expected: list[str]) -> None:
    assert mistakes({"price": price}) == expected


def test_data_that_the_validator_cannot_read_is_one_mistake() -> None:
    deep: object = []
    for _ in range(300):
        deep = [deep]
    for data in ({"exclude": deep}, {"baseline": "\ud800"}):
        assert [message.partition(":")[0] for message in mistakes(data)] == ["the settings cannot be read"]


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc01+=/~", max_size=3), inner, max_size=3),
)


@pytest.mark.parametrize("name", ["settings", "intent", "rule"])
def test_every_schema_keyword_has_a_message(name: str) -> None:
    known = {"type", "enum", "minimum", "maximum", "exclusiveMinimum", "pattern", "oneOf", "examples", "format", "items",
             "properties", "additionalProperties", "required", "description", "title", "$schema", "$defs", "$ref"}  # fmt: skip

    def keys(schema: dict[str, Any]) -> set[str]:
        inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("oneOf", ())]
        inner += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
        return set(schema).union(*map(keys, inner))

    assert keys(dict(schemas.load(name))) <= known


@pytest.mark.medium
@given(
    st.dictionaries(st.sampled_from(sorted(schemas.load("settings")["properties"])), DATA),
    st.dictionaries(st.text(max_size=3), DATA, max_size=1),
)
def test_the_validator_agrees_with_the_reference_implementation(data: dict[str, Any], more: dict[str, Any]) -> None:
    whole = {**data, **more}
    assert (mistakes(whole) == []) == jsonschema.Draft202012Validator(schemas.load("settings")).is_valid(whole)
