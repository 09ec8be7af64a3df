"""Query results as text, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import datetime
import io
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report.escape import defused, json_text, markdown, markdown_row, short
from kcheck.text.control_characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = str | int | float | bool | datetime.datetime | list[str] | None

_WIDEST = 60
"""Characters of a cell in a text table."""
_NARROWEST = 12
"""Minimum width at which a column title wraps."""
_NOTHING = "Nothing.\n"


class Answer(NamedTuple):
    """Result of a query; None is an unknown value."""

    columns: list[str]
    rows: list[tuple[Value, ...]]


def text(answer: Answer) -> str:
    """Format an aligned table; long names lose their middle, long sentences their end."""
    if not answer.rows:
        return _NOTHING
    body = [[_short(_shown(value)) for value in row] for row in answer.rows]
    columns = [
        list(_aligned(*column))
        for column in zip(answer.columns, zip(*body, strict=True), _numeric(answer), strict=True)
    ]
    highest = max(len(column) for column in columns) - len(body)
    columns = [[" " * len(column[0])] * (highest + len(body) - len(column)) + column for column in columns]
    return "".join(f"{'  '.join(cells).rstrip()}\n" for cells in zip(*columns, strict=True))


def table(answer: Answer) -> str:
    """Format CSV (RFC 4180): unknown values are empty, and text never is a spreadsheet formula."""
    made = io.StringIO()
    writer = csv.writer(made)
    writer.writerow(map(defused, answer.columns))
    writer.writerows([_cell(value) for value in row] for row in answer.rows)
    return made.getvalue()


def json(answer: Answer) -> str:
    """Format a JSON list of objects; unknown values are null."""
    rows = [dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows]
    return json_text(rows, indent=1)


def page(answer: Answer) -> str:
    """Format a Markdown table."""
    if not answer.rows:
        return _NOTHING
    head = [markdown(name.replace("_", " ")) for name in answer.columns]
    rule = ["---:" if number else "---" for number in _numeric(answer)]
    body = ([markdown(_shown(value)) for value in row] for row in answer.rows)
    return "".join(f"{markdown_row(row)}\n" for row in (head, rule, *body))


FORMATS = {"text": text, "csv": table, "json": json, "markdown": page}


def _numeric(answer: Answer) -> list[bool]:
    columns = zip(*answer.rows, strict=True)
    return [any(isinstance(value, int | float) and not isinstance(value, bool) for value in own) for own in columns]


def _aligned(name: str, cells: tuple[str, ...], number: bool) -> Iterator[str]:
    least = max(_NARROWEST, *map(len, cells))
    title = wrap(visible(name).replace("_", " "), least, break_long_words=False)
    width = max(map(len, (*title, *cells)))
    for cell in (*title, *cells):
        yield f"{cell:>{width}}" if number else f"{cell:{width}}"


def _short(cell: str) -> str:
    cell = visible(cell)
    if " " not in cell:
        return short(cell, _WIDEST)
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 3].rstrip()}..."


def _shown(value: Value) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return ", ".join(value) if isinstance(value, list) else str(_plain(value)) or "-"


def _plain(value: Value) -> str | int | float | bool | list[str] | None:
    """Convert a value for JSON or CSV; times are UTC."""
    return f"{value.isoformat(timespec='seconds')}Z" if isinstance(value, datetime.datetime) else value


def _cell(value: Value) -> str | int | float | None:
    plain = _plain(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return (
        plain
        if isinstance(plain, int | float | None)
        else defused(", ".join(plain) if isinstance(plain, list) else plain)
    )
