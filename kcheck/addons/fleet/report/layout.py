"""Parts of a report on a fleet, for every format: sentences and tables of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.units import between, counted, money, node_hours, readable, rough

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcheck.addons.fleet.report.numbers import Row
    from kcheck.report.html.document import Number


MOST = {"text": 15, "markdown": 25, "html": 100}
"""Rows of a table, by format."""


class Column(NamedTuple):
    """A column of a table. Where a line is short, what `is_below` stands on lines of its own below the row."""

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
    """A part of a report; `name` is what a link to it ends in, `points` are drawn where pictures can be."""

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
