"""Text output as lines and tables, plain or drawn by `report.terminal`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from msgspec import Struct

from kcheck.report.escape import wrapped
from kcheck.text.control_characters import visible, visible_lines

PLAIN = 100
"""Columns of a text where nobody looks."""
_GAP = 2


class Line(Struct, frozen=True):
    """A line or a paragraph, with rich styles for the whole and for spans.

    Continuation lines are indented by `hang` columns; `width` wraps it in a pipe too. Code is never wrapped.
    """

    text: str = ""
    style: str = ""
    spans: tuple[tuple[int, int, str], ...] = ()
    hang: int = 2
    width: int = 0
    is_code: bool = False


class Column(Struct, frozen=True):
    """Column of a table; `is_below` puts its cells below the rows."""

    title: str = ""
    is_number: bool = False
    is_below: bool = False
    width: int = 0


class Table(Struct, frozen=True):
    """Rows of cells; at most `width` characters wide in a pipe, 0 for no limit."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    indent: str = ""
    width: int = 0


Text: TypeAlias = Iterable[Line | Table]


def line(*parts: str | tuple[str, str], column: int = 0) -> Line:
    """Join parts of a line; continuation lines are indented to `column`."""
    text, spans = "", []
    for part in parts:
        own, style = (part, "") if isinstance(part, str) else part
        spans += [(len(text), len(text) + len(visible(own)), style)] if style else []
        text += visible(own)
    return Line(text, spans=tuple(spans), hang=column - len(text) + len(text.lstrip()) if column else 2)


def plain(text: Text) -> str:
    """Format a text for a pipe."""
    found = []
    for one in lines(text):
        indent = one.text[: len(one.text) - len(one.text.lstrip())]
        rest = indent + " " * one.hang
        found += wrapped(one.text.strip(), one.width, indent, rest) if one.width else [one.text]
    return visible_lines("".join(f"{one}\n" for one in found))  # after they are wrapped: what begins a line acts


def lines(text: Text, room: int = 0) -> Iterator[Line]:
    """Yield the lines of a text, with tables laid out in `room` columns."""
    for block in text:
        yield from _rows(block, room or block.width) if isinstance(block, Table) else (block,)


def _rows(table: Table, room: int) -> Iterator[Line]:
    """Lay out a table; rows that do not fit become a sentence below their name."""
    beside = [at for at, column in enumerate(table.columns) if not column.is_below]
    columns, titles = [table.columns[at] for at in beside], [table.columns[at].title for at in beside]
    cells = [
        [visible_lines(cell) for cell in row] for row in (titles, *([row[at] for at in beside] for row in table.rows))
    ]
    widths = _widths(columns, cells, room - len(table.indent) if room else sys.maxsize)
    if any(titles) and widths:
        yield from _row(table.indent, columns, cells[0], widths, "bold")
    for row, whole in zip(cells[1:], table.rows, strict=True):
        if widths:
            yield from _row(table.indent, columns, row, widths, "")
        else:
            rest = ", ".join(f"{name} {cell}".strip() for name, cell in zip(titles[1:], row[1:], strict=True) if cell)
            yield Line(f"{table.indent}{row[0]}", "bold")
            yield Line(f"{table.indent}  {rest}", hang=0, width=table.width)
        for column, cell in zip(table.columns, whole, strict=True):
            if column.is_below and cell:
                yield Line(f"{table.indent}    {column.title}: {cell}", width=table.width)


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """Fit columns into a line without cutting words; empty if impossible."""
    widths, least = [], []
    for column, (title, *own) in zip(columns, zip(*cells, strict=True), strict=True):
        whole = own if column.is_number else [word for cell in own for word in cell.split()]
        least.append(max(map(len, [*whole, *title.split()]), default=0))
        widths.append(max(column.width, *(len(part) for cell in (title, *own) for part in cell.split("\n"))))
    room -= _GAP * (len(widths) - 1)
    if sum(least) > room:
        return []
    while sum(widths) > room:  # titles of numbers lose nothing in several lines
        at = max(range(len(widths)), key=lambda i: (widths[i] > least[i], columns[i].is_number, widths[i]))
        widths[at] -= 1
    return widths


def _row(
    indent: str, columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int], style: str
) -> Iterator[Line]:
    parts = [_wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for row in zip_longest(*parts, fillvalue=""):
        triples = zip(row, widths, columns, strict=True)
        aligned = (f"{own:{'>' if column.is_number else '<'}{width}}" for own, width, column in triples)
        yield Line(f"{indent}{(' ' * _GAP).join(aligned)}".rstrip(), style, is_code=True)


def _wrapped(cell: str, width: int) -> Iterator[str]:
    for part in cell.split("\n"):
        yield from (part,) if len(part) <= width else wrapped(part, width)
