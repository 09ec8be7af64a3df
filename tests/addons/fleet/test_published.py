"""Test that the tables are a contract: later versions may add columns, but not remove or retype one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet.database import Answer, as_json, opened
from kcheck.addons.fleet.storage import columns
from kcheck.addons.fleet.tables import TABLES, VERSION
from tests.addons.fleet import story
from tests.output_schemas import check_all_fields
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PUBLISHED: dict[str, dict[str, str]] = json.loads(
    (ROOT / "tests" / "addons" / "fleet" / "published-1.json").read_text()
)
"""The columns of version 1 as first published. Add later columns here when they are released."""


@pytest.mark.parametrize("table", PUBLISHED)
def test_published_columns_keep_their_names_and_types(table: str) -> None:
    now = {one.name: one.type for one in columns(table)}
    assert {name: now.get(name) for name in PUBLISHED[table]} == PUBLISHED[table]
    assert VERSION == 1


def test_rows_have_the_fields_of_the_schema(tmp_path: Path) -> None:
    story.tell(tmp_path / "out")
    rows = {}
    with opened(str(tmp_path / "out")) as tables:
        for table in TABLES:
            found = tables.execute(f"FROM {table}")
            names = [str(name) for name, *_ in found.description or ()]
            rows[table] = json.loads(as_json(Answer(names, found.fetchall())))
    check_all_fields("fleet", rows)
