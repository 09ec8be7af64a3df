"""The columns of the tables, as databases and readers of the schema need them."""

from __future__ import annotations

from functools import cache
from inspect import getdoc
from types import NoneType
from typing import Annotated, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Meta

from kcheck.addons.fleet.tables import TABLES

RUN, REPOSITORY = "run", "repository"
"""The columns that tables have before their own."""

_TYPES: dict[object, str] = {
    str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", tuple[str, ...]: "VARCHAR[]"
}  # fmt: skip
_TIMES = {"date-time": "TIMESTAMP"}
_MEANINGS = {
    RUN: "the run, as in runs.run",
    REPOSITORY: "the repository: its name in the list, or the end of its path",
}


class Column(NamedTuple):
    """A column: its type is one of DuckDB's; one that is `nullable` is null where its value is not known."""

    name: str
    type: str
    meaning: str
    nullable: bool = False


@cache
def columns(table: str) -> tuple[Column, ...]:
    """The columns of a table, in order."""
    row, of_repository = TABLES[table]
    own = tuple(_column(name, hint) for name, hint in get_type_hints(row, include_extras=True).items())
    before = [RUN, REPOSITORY] if of_repository else [RUN]
    names = {column.name for column in own}
    return (*(Column(name, "VARCHAR", _MEANINGS[name]) for name in before if name not in names), *own)


def meaning(table: str) -> str:
    """What a row of a table is."""
    return getdoc(TABLES[table].row) or ""


def _column(name: str, hint: object) -> Column:
    annotated, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    (meta,) = (extra for extra in extras if isinstance(extra, Meta))
    parts = [part for part in get_args(annotated) if part is not NoneType] if annotated not in _TYPES else [annotated]
    (plain,) = parts or [annotated]
    time = (meta.extra_json_schema or {}).get("format")
    return Column(
        name, _TIMES[time] if time else _TYPES[plain], meta.description or "", NoneType in get_args(annotated)
    )
