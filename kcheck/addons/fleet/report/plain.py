"""A report on a fleet as plain text: for a terminal, and as Markdown for issues, wikis and the summaries of jobs."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from kcheck.report.escape import markdown as marked
from kcheck.text.control_characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.addons.fleet.report.layout import Report, Table

_WIDTH = 100
_GAP = 2
_NARROWEST = 6
"""Characters of a column."""


def text(report: Report) -> str:
    """Render the report in lines of at most 100 characters."""
    lines = [*_wrapped(f"{report.title}.", ""), *_wrapped(report.about, "")]
    for line in report.lines:
        lines += _wrapped(line, "")
    for part in report.parts:
        lines += ["", part.title.upper()]
        for line in part.lines:
            lines += _wrapped(line, "")
        for table in part.tables:
            if table.rows:
                lines += ["", *([f"{table.title}:"] if len(part.tables) > 1 else []), *_text_table(table)]
    return "\n".join(lines) + "\n"


def _wrapped(line: str, begin: str, rest: str = "  ") -> list[str]:
    return wrap(visible(line), _WIDTH, initial_indent=begin, subsequent_indent=rest, break_on_hyphens=False)


def _text_table(table: Table) -> Iterator[str]:
    """Write the rows, with what has a column of its own in lines, and the rest below."""
    columns = table.columns
    beside = [at for at in range(len(columns)) if not columns[at].is_below]
    head = [columns[at].title for at in beside]
    rows = [[visible(row[at]) for at in beside] for row in table.rows]
    is_number = [columns[at].is_number for at in beside]
    widths = _widths([head, *rows], is_number)
    yield from _row(head, widths, is_number)
    for row, cells in zip(table.rows, rows, strict=True):
        yield from _row(cells, widths, is_number)
        for column, cell in zip(columns, row, strict=True):
            if column.is_below and cell:
                yield from _wrapped(f"{column.title}: {cell}", "      ", "        ")
    if table.left:
        yield f"  {table.more}: kcheck fleet query {table.query}"


def _widths(rows: Sequence[Sequence[str]], is_number: Sequence[bool]) -> list[int]:
    """Fit each column to its longest cell, or less where a line has no room; numbers stay whole."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [
        max(*map(len, cells), *map(len, title.split())) if number else _NARROWEST
        for (title, *cells), number in zip(columns, is_number, strict=True)
    ]
    room = _WIDTH - 2 - _GAP * (len(widths) - 1)
    while sum(widths) > room:
        # titles of numbers lose nothing in several lines
        widest = max(range(len(widths)), key=lambda at: (widths[at] > least[at], is_number[at], widths[at]))
        widths[widest] -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> Iterator[str]:
    """Write a row; cells are wrapped where they are longer than their columns are wide."""
    wrapped = [wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    for at in range(max(map(len, wrapped))):
        parts = [lines[at] if at < len(lines) else "" for lines in wrapped]
        aligned = [
            part.rjust(width) if number else part.ljust(width)
            for part, width, number in zip(parts, widths, is_number, strict=True)
        ]
        yield f"  {(' ' * _GAP).join(aligned)}".rstrip()


# --- Markdown


def markdown(report: Report) -> str:
    """Render the report with a heading and tables for each part."""
    lines = [f"# {marked(report.title)}", "", marked(report.about), *_list(report.lines)]
    for part in report.parts:
        lines += ["", f"## {marked(part.title)}", *_list(part.lines)]
        for table in part.tables:
            if table.rows:
                lines += [
                    "",
                    *([f"### {marked(table.title)}", ""] if len(part.tables) > 1 else []),
                    *_markdown_table(table),
                ]
    return "\n".join(lines) + "\n"


def _list(lines: Iterable[str]) -> list[str]:
    found = [f"- {marked(line)}" for line in lines]
    return ["", *found] if found else []


def _markdown_table(table: Table) -> Iterator[str]:
    yield _cells(column.title for column in table.columns)
    yield f"|{'|'.join('---:' if column.is_number else '---' for column in table.columns)}|"
    for row in table.rows:
        yield _cells(map(marked, row))
    if table.left:
        yield ""
        yield f"{table.more}: `kcheck fleet query {table.query}`"


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
