"""Parts of a report on a fleet, sentences and tables, and their layout as text and as Markdown."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report.escape import markdown as marked
from kcheck.text.control_characters import visible
from kcheck.text.units import between, counted, money, node_hours, readable, rough

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kcheck.addons.fleet.report.numbers import Row
    from kcheck.report.html.document import Number


MOST = {"text": 15, "markdown": 25, "html": 100}
"""Rows of a table, by format."""
_WIDTH = 100
_GAP = 2
_NARROWEST = 6
"""Characters of a column."""


class Column(NamedTuple):
    """Column of a table; `is_below` moves it below the row where lines are short."""

    title: str
    is_number: bool = False
    is_below: bool = False


class Table(NamedTuple):
    """Rows of cells; `left` more are listed by a query of `kcheck fleet query`."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    left: int = 0
    query: str = ""

    @property
    def more(self) -> str:
        """Say how many rows there are beside these."""
        return f"{self.left:,} more" if self.left > 0 else ""


class Part(NamedTuple):
    """Part of a report; `name` is its anchor, `points` are drawn where pictures can be."""

    title: str
    name: str
    lines: Sequence[str] = ()
    tables: Sequence[Table] = ()
    points: Sequence[Row] = ()


class Report(NamedTuple):
    """The answer in one sentence, what it is about, what one must know of it, and the parts."""

    title: str
    about: str
    lines: Sequence[str]
    numbers: Sequence[Number]
    parts: Sequence[Part]


def table(
    title: str, titles: str, rows: Sequence[Row], cells: Callable[[Row], Sequence[str]], most: int, query: str
) -> Table:
    """Make a table of the first rows, without columns that are empty in all of them.

    Of the titles of columns, "#" is before those of numbers, ">" before those that stand below a row.
    """
    columns = [Column(one.lstrip("#>"), one.startswith("#"), one.startswith(">")) for one in titles.split(", ")]
    shown = list(map(cells, rows[:most]))
    filled = [at for at in range(len(columns)) if any(row[at] for row in shown)]
    kept = [[row[at] for at in filled] for row in shown]
    return Table(title, [columns[at] for at in filled], kept, len(rows) - len(shown), query)


# --- words for numbers


def repositories(number: int) -> str:
    """Write a number of repositories."""
    return counted(number, "repository", "repositories")


def number(count: int) -> str:
    """Write a number in a cell, which stays empty for none."""
    return f"{count:,}" if count else ""


def dollars(least: float, most: float) -> str:
    """Write a sum of estimates as a range, in three digits: that is all that is known of it."""
    return between(*(money(1000 * rough(one) if one >= 100 else round(1000 * one)) for one in (least, most)))


def hours(least: float, most: float) -> str:
    """Write node-hours as a range, likewise."""
    return between(*(node_hours(3600 * rough(one) if one >= 100 else round(3600 * one)) for one in (least, most)))


def time(seconds: float) -> str:
    """Write how long something took."""
    return f"{seconds:.1f} s" if seconds < 10 else readable(round(seconds))


# --- text, for a terminal


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


# --- Markdown, for issues, wikis and the summaries of jobs


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
