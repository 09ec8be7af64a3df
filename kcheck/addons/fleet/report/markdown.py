"""A report on a fleet as Markdown, for issues, wikis and the summaries of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.report.escape import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.addons.fleet.report.layout import Report, Table

MOST = 25
"""Rows of a table."""


def render(report: Report) -> str:
    """The report with a heading and tables for each part."""
    lines = [f"# {markdown(report.title)}", "", markdown(report.about), *_list(report.lines)]
    for part in report.parts:
        lines += ["", f"## {markdown(part.title)}", *_list(part.lines)]
        for table in part.tables:
            if table.rows:
                lines += ["", *([f"### {markdown(table.title)}", ""] if len(part.tables) > 1 else []), *_table(table)]
    return "\n".join(lines) + "\n"


def _list(lines: Iterable[str]) -> list[str]:
    found = [f"- {markdown(line)}" for line in lines]
    return ["", *found] if found else []


def _table(table: Table) -> Iterator[str]:
    yield _cells(column.title for column in table.columns)
    yield f"|{'|'.join('---:' if column.is_number else '---' for column in table.columns)}|"
    for row in table.rows:
        yield _cells(map(markdown, row))
    if table.left:
        yield ""
        yield f"{table.more}: `kcheck fleet query {table.query}`"


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
