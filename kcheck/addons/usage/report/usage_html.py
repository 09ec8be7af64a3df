"""A bill as a page of HTML that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.addons.usage.report import usage_notes, usage_plots
from kcheck.addons.usage.report.usage_numbers import (
    cells,
    change_titles,
    changes,
    columns,
    dollars,
    hours,
    percent,
    places,
    sums,
    wait,
)
from kcheck.report.html import document
from kcheck.report.html.document import Head, Number, Section
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.addons.usage.bill import Bill, Row

    _Rows = Sequence[tuple[str, str, Iterable[str]]]
    """A name, what is written below it, and the cells."""

_ABOUT = "kcheck usage: who held which GPUs, what idled, and what it cost"
_MOST = 200
"""Rows of a page."""
_MEANING = """\
GPU-hours: GPUs that pods requested, times the hours for which they had their nodes.
Busy: The mean utilisation of these GPUs while their pods ran, as NVIDIA's DCGM measures it.
Paid: The price of a node, shared by its pods: on nodes with GPUs by the GPUs that they request; on other nodes by the \
larger of their shares of cores and memory, requested or used, whichever is more, as OpenCost does.
Idle: What was paid for GPUs while they were not busy, or for cores and memory that were requested and not used.
Not requested: What the nodes cost beyond what their pods requested. With it, the rows add up to the bill."""


def render(bill: Bill) -> str:
    """The report as a page."""
    head = Head(usage_notes.title(bill), _ABOUT, document.numbers(list(_numbers(bill))))
    return document.page(head, [*_plots(bill), *_tables(bill), *_notes(bill), _meaning()])


def _numbers(bill: Bill) -> Iterator[Number]:
    """The headline numbers, each with what it is of."""
    asked, total = bill.requested.amounts, bill.total.amounts
    if bill.is_priced:
        yield Number(dollars(total.paid), f"paid for {counted(len(bill.nodes), 'node')}")
        idle = percent(total.idle / total.paid if total.paid else None)
        yield Number(dollars(total.idle), f"of it idle ({idle})", is_bad=True)
        yield Number(dollars(bill.spare.amounts.paid), "of that was requested by no pod")
    if asked.gpu_hours:
        yield Number(hours(asked.gpu_hours), "GPU-hours requested")
    if asked.gpu_use is not None:
        yield Number(percent(asked.gpu_use), "of them busy, on average")
    if asked.queue_mean is not None:
        yield Number(wait(asked.queue_mean), "until a pod has its node, on average")


def _plots(bill: Bill) -> Iterator[Section]:
    try:
        found = usage_plots.plots(bill)
    except ImportError:
        text = "For plots, install matplotlib beside kcheck, such as by its extra plots."
        yield Section("Plots", document.markup("note.html", lines=[text]), "plots")
        return
    for number, plot in enumerate(found, 1):
        body = document.markup("plot.html", title=plot.title, svg=document.drawn(plot.svg), text=plot.text)
        yield Section(plot.title, body, f"plot-{number}")


def _tables(bill: Bill) -> Iterator[Section]:
    rows = bill.rows[:_MOST]
    rest = len(bill.rows) - _MOST
    more = f" {counted(rest, 'more row')} in --format json or csv." if rest > 0 else ""
    if bill.rows:
        titles = [(column.title, column.about) for column in columns(bill, page=True)]
        body = [(row.name, _place(row, bill), cells(row, bill, page=True)) for row in rows]
        last = [(name, "", cells(row, bill, page=True)) for name, row in sums(bill)]
        caption = f"{usage_notes.order(bill)}{more}"
        yield _table(f"All numbers by {bill.by}", "numbers", caption, (bill.by, titles), body, last)
    times = usage_notes.compared(bill)
    if times:
        titles = [(title, f"change of {title}") for title in change_titles(bill)]
        body = [(row.name, "", changes(row, bill)) for row in rows]
        last = [(name, "", changes(row, bill)) for name, row in sums(bill)]
        yield _table("Change", "change", f"{times}.", (bill.by, titles), body, last)


def _table(
    title: str, name: str, caption: str, head: tuple[str, list[tuple[str, str]]], body: _Rows, last: _Rows
) -> Section:
    made = document.markup(
        "usage.html", label=title, caption=caption, head=head, parts=(("tbody", body), ("tfoot", last))
    )
    return Section(title, made, name)


def _place(row: Row, bill: Bill) -> str:
    """Where the code has a job; empty for other rows, which may be of many."""
    found = places(row) if bill.by == "job" else []
    return f"{found[0][0]}:{found[0][1]}" if len(found) == 1 else ""


def _notes(bill: Bill) -> Iterator[Section]:
    for number, note in enumerate(usage_notes.notes(bill), 1):
        yield Section(note.title, document.markup("note.html", lines=note.lines), f"note-{number}")


def _meaning() -> Section:
    pairs = [line.split(": ", 1) for line in _MEANING.splitlines()]
    return Section("What the numbers mean", document.markup("meaning.html", pairs=pairs), "meaning")
