"""Parts of a fleet report, and their layout as text and Markdown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kcheck.addons.fleet.report.numbers import Row
from kcheck.report import layout
from kcheck.report.escape import markdown as marked
from kcheck.report.escape import markdown_row
from kcheck.report.html.document import Number
from kcheck.report.layout import PLAIN, Column, Line
from kcheck.text.units import between, counted, money, node_hours, readable, rough

MOST = {"text": 15, "markdown": 25, "html": 100}
"""Rows of a table, by format."""


class Table(NamedTuple):
    """Rows of cells; `left` more are listed by a query of `kcheck fleet query`."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    left: int = 0
    query: str = ""

    @property
    def more(self) -> str:
        """Say how many rows are left out."""
        return f"{self.left:,} more" if self.left > 0 else ""


class Part(NamedTuple):
    """Part of a report: `name` is its anchor, `points` are plotted."""

    title: str
    name: str
    lines: Sequence[str] = ()
    tables: Sequence[Table] = ()
    points: Sequence[Row] = ()


class Report(NamedTuple):
    """Fleet report: headline, scope, sentences below the headline, and parts."""

    title: str
    about: str
    lines: Sequence[str]
    numbers: Sequence[Number]
    parts: Sequence[Part]


def table(
    title: str, titles: str, rows: Sequence[Row], cells: Callable[[Row], Sequence[str]], most: int, query: str
) -> Table:
    """Make a table of the first rows, without columns that are empty in all of them.

    A column title that begins with "#" is for numbers, one with ">" for cells printed below the row.
    """
    columns = [Column(one.lstrip("#>"), one.startswith("#"), one.startswith(">")) for one in titles.split(", ")]
    shown = list(map(cells, rows[:most]))
    filled = [at for at in range(len(columns)) if any(row[at] for row in shown)]
    kept = [[row[at] for at in filled] for row in shown]
    return Table(title, [columns[at] for at in filled], kept, len(rows) - len(shown), query)


# --- words for numbers


def repositories(number: int) -> str:
    """Format a number of repositories."""
    return counted(number, "repository", "repositories")


def number(count: int) -> str:
    """Format a number in a cell; empty for zero."""
    return f"{count:,}" if count else ""


def dollars(least: float, most: float) -> str:
    """Format a sum of estimates as a range with three digits."""
    return between(*(money(1000 * rough(one) if one >= 100 else round(1000 * one)) for one in (least, most)))


def hours(least: float, most: float) -> str:
    """Format node-hours as a range with three digits."""
    return between(*(node_hours(3600 * rough(one) if one >= 100 else round(3600 * one)) for one in (least, most)))


def time(seconds: float) -> str:
    """Format a duration."""
    return f"{seconds:.1f} s" if seconds < 10 else readable(round(seconds))


# --- text, for a terminal


def text(report: Report) -> Iterator[Line | layout.Table]:
    """Yield the report in lines of at most 100 characters."""
    yield Line(f"{report.title}.", "bold", width=PLAIN)
    yield from (Line(line, width=PLAIN) for line in (report.about, *report.lines))
    for part in report.parts:
        yield from (Line(), Line(part.title.upper(), "bold"), *(Line(line, width=PLAIN) for line in part.lines))
        for table in part.tables:
            if table.rows:
                yield from (Line(), *([Line(f"{table.title}:")] if len(part.tables) > 1 else []))
                yield layout.Table(table.columns, table.rows, "  ", PLAIN)
                if table.left:
                    yield Line(f"  {table.more}: kcheck fleet query {table.query}")


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
    yield markdown_row(column.title for column in table.columns)
    yield f"|{'|'.join('---:' if column.is_number else '---' for column in table.columns)}|"
    yield from (markdown_row(map(marked, row)) for row in table.rows)
    if table.left:
        yield from ("", f"{table.more}: `kcheck fleet query {table.query}`")
