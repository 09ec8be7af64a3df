"""Test the schemas of kcheck's output: they describe every field, and let later versions add some."""

from __future__ import annotations

import json

import pytest

from tests.output_schemas import OUTPUTS, check_fields, fields, published


@pytest.mark.parametrize("name", OUTPUTS)
def test_fields_are_described_and_may_be_added(name: str) -> None:
    schema = published(name)
    assert [
        place for place, field in fields(schema) if not (isinstance(field, dict) and field.get("description"))
    ] == []
    assert '"additionalProperties": false' not in json.dumps(schema)


def test_fields_that_no_schema_has_are_named() -> None:
    with pytest.raises(AssertionError, match=r"capacity\.schema\.json: .*'fast' was unexpected"):
        check_fields("capacity", {"version": 1, "clusters": [], "fast": True})
