"""The tables are a contract: later versions add columns, and neither remove nor retype one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from kcheck.fleet.columns import columns
from kcheck.fleet.database import opened
from kcheck.fleet.tables import TABLES, VERSION
from kcheck.report import answer
from kcheck.report.answer import Answer
from tests.fleet import story
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PUBLISHED: dict[str, dict[str, str]] = json.loads((ROOT / "tests" / "fleet" / "published-1.json").read_text())
"""The columns of version 1 as they were first published: what comes later is added here when it is released."""
SCHEMA = json.loads((ROOT / "docs" / "fleet.schema.json").read_text())


@pytest.mark.parametrize("table", PUBLISHED)
def test_published_columns_keep_their_names_and_types(table: str) -> None:
    now = {one.name: one.type for one in columns(table)}
    assert {name: now.get(name) for name in PUBLISHED[table]} == PUBLISHED[table]
    assert VERSION == 1


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_as_the_schema_says(table: str, tmp_path: Path) -> None:
    story.tell(tmp_path / "out")
    with opened(str(tmp_path / "out")) as tables:
        found = tables.execute(f"FROM {table}")
        rows = json.loads(answer.json(Answer([str(name) for name, *_ in found.description or ()], found.fetchall())))
    jsonschema.validate({table: rows}, SCHEMA)
    wanted = SCHEMA["properties"][table]["items"]
    assert wanted["required"] == [one.name for one in columns(table)]
    assert bool(rows) == (table != "uses")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({table: [{name: {} for name in wanted["required"]}]}, SCHEMA)
