"""Bill as text: a table, the worst first, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.addons.usage.report import usage_notes
from kcheck.addons.usage.report.usage_numbers import cells, change_titles, changes, columns, sums
from kcheck.report.escape import short, wrapped
from kcheck.text.control_characters import visible
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.addons.usage.bill import Bill

_MOST = 30
_NAME = 36
_WIDTH = 110


def render(bill: Bill) -> str:
    """Render the bill for a terminal."""
    lines = [usage_notes.title(bill), *(f"  {line}" for line in usage_notes.headline(bill)), ""]
    lines += [*_table(bill), ""]
    lines += _changes(bill)
    for note in usage_notes.notes(bill):
        lines.append(f"{note.title}:")
        for line in note.lines:
            lines += wrapped(line, _WIDTH, "  ", "    ")
    return "\n".join(map(visible, lines)).rstrip("\n") + "\n"


def _table(bill: Bill) -> Iterator[str]:
    if not bill.rows:
        yield "No pods in the recording."
        return
    rows = [(short(row.name, _NAME), row) for row in bill.rows[:_MOST]] + sums(bill)
    titles = [column.title for column in columns(bill)]
    yield from _aligned([bill.by, *titles], [[name, *cells(row, bill)] for name, row in rows])
    rest = len(bill.rows) - _MOST
    more = f" {counted(rest, 'more row')} in --format json, csv or html." if rest > 0 else ""
    yield f"{usage_notes.order(bill)}{more}"


def _changes(bill: Bill) -> Iterator[str]:
    times = usage_notes.compared(bill)
    if not times:
        return
    rows = [(short(row.name, _NAME), row) for row in bill.rows[:_MOST]] + sums(bill)
    yield f"Change, {times}:"
    yield from _aligned([bill.by, *change_titles(bill)], [[name, *changes(row, bill)] for name, row in rows])
    yield ""


def _aligned(head: Sequence[str], body: Iterable[Sequence[str]]) -> Iterator[str]:
    rows = [head, *body]
    widths = [max(len(row[index]) for row in rows) for index in range(len(head))]
    for row in rows:
        numbers = (f"{text:>{width}}" for text, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((f"{row[0]:{widths[0]}}", *numbers)).rstrip()
