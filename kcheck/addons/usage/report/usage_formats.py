"""Bill as text (a table, the worst first, and notes), JSON and CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator

from msgspec import to_builtins

from kcheck.addons.usage.accounting import Amounts, Period
from kcheck.addons.usage.bill import Bill, Row
from kcheck.addons.usage.report import usage_notes
from kcheck.addons.usage.report.usage_numbers import cells, change_titles, changes, columns, places, plain, sums
from kcheck.model import Workload
from kcheck.report.escape import defused, json_text, short
from kcheck.report.layout import Column, Line, Table
from kcheck.text.units import counted
from kcheck.text.values import known

_MOST = 30
_NAME = 36
_WIDTH = 110


def as_text(bill: Bill) -> Iterator[Line | Table]:
    """Yield the bill for a terminal."""
    yield Line(usage_notes.title(bill), "bold")
    yield from (*(Line(f"  {line}") for line in usage_notes.headline(bill)), Line())
    yield from (*_table(bill), Line())
    if times := usage_notes.compared(bill):
        found = _aligned(bill, change_titles(bill), lambda row: changes(row, bill))
        yield from (Line(f"Change, {times}:", "bold"), found, Line())
    for note in usage_notes.notes(bill):
        yield Line(f"{note.title}:", "bold")
        yield from (Line(f"  {line}", width=_WIDTH) for line in note.lines)


def _table(bill: Bill) -> Iterator[Line | Table]:
    if not bill.rows:
        yield Line("No pods in the recording.")
        return
    yield _aligned(bill, [column.title for column in columns(bill)], lambda row: cells(row, bill))
    rest = len(bill.rows) - _MOST
    more = f" {counted(rest, 'more row')} in --format json, csv or html." if rest > 0 else ""
    yield Line(f"{usage_notes.order(bill)}{more}")


def _aligned(bill: Bill, titles: Iterable[str], cells: Callable[[Row], Iterable[str]]) -> Table:
    rows = [(short(row.name, _NAME), row) for row in bill.rows[:_MOST]] + sums(bill)
    head = [Column(bill.by), *(Column(title, is_number=True) for title in titles)]
    return Table(head, [[name, *cells(row)] for name, row in rows])


# --- JSON

VERSION = 1
"""Of the JSON, whose contract is docs/usage.schema.json: additive changes keep it."""


def as_json(bill: Bill) -> str:
    """Render the bill as JSON, in seconds since 1970, hours and US dollars."""
    joined, recording, compared = bill.joined, bill.joined.recording, bill.compared
    data = {
        "version": VERSION,
        "by": bill.by,
        "time": _time(bill.span) | {"asked": recording.asked, "step": recording.step},
        "source": recording.source,
        "labels": bill.labels,
        "order": bill.order if bill.order != "idle" or bill.by_money else "gpu_idle",
        "rows": [
            {"name": row.name, **_numbers(row), "code": [{"path": path, "line": line} for path, line in places(row)]}
            for row in bill.rows
        ],
        "requested": _numbers(bill.requested),
        "not_requested": _numbers(bill.spare),
        "total": _numbers(bill.total),
        "compared": None if compared is None else {
            "recent": _time(compared.recent), "before": _time(compared.before), "factor": round(compared.factor, 6)
        },
        "nodes": len(bill.nodes),
        "pools": [
            {"name": one.name, "machines": one.machines, "nodes": one.nodes, **_size(one.whole),
             "not_requested": _size(one.spare)}
            for one in bill.pools
        ],
        "unpriced": [
            {"machine": one.machine or None, "nodes": one.nodes, "node_hours": round(one.hours, 6)}
            for one in bill.unpriced
        ],
        "queues": to_builtins(recording.waits),
        "lacks": to_builtins(recording.lacks),
        "not_in_code": [
            {"namespace": space, "kind": kind, "name": name, "pods": pods}
            for space, (kind, name), pods in joined.strangers
        ],
        "never_ran": [_workload(one) for one in joined.unseen],
        "doubts": to_builtins(joined.doubts),
    }  # fmt: skip
    return json_text(data, indent=2)


def _size(amounts: Amounts) -> dict[str, float]:
    numbers = {"paid": amounts.paid, "gpu_hours": amounts.gpu_hours, "core_hours": amounts.cpu_requested}
    return {name: round(number, 6) for name, number in numbers.items()}


def _time(span: Period) -> dict[str, int]:
    return {"begin": span.begin, "end": span.end}


def _numbers(row: Row) -> dict[str, object]:
    return {
        **dict(plain(row.amounts)),
        "recent": None if row.recent is None else dict(plain(row.recent)),
        "before": None if row.before is None else dict(plain(row.before)),
    }


def _workload(one: Workload) -> dict[str, object]:
    return {
        "kind": one.kind, "namespace": known(one.namespace), "name": known(one.name),
        "path": one.place.source.path, "line": one.place.begin.line,
    }  # fmt: skip


# --- CSV, for spreadsheets


def as_csv(bill: Bill) -> str:
    """Render the bill as CSV: records of kind `row`, then of kind `sum`."""
    names = [name for name, _ in plain(Amounts())]
    text = io.StringIO()
    writer = csv.writer(text)
    changes = [f"{time}_{name}" for time in ("recent", "before") for name in names] if bill.compared else []
    writer.writerow(["kind", bill.by, *names, *changes])
    for row in bill.rows:
        writer.writerow(["row", defused(row.name), *_cells(row)])
    for name, row in sums(bill):
        writer.writerow(["sum", name, *_cells(row)])
    return text.getvalue()


def _cells(row: Row) -> list[float | int | None]:
    times = (row.amounts, row.recent, row.before)
    return [value for one in times if one is not None for _, value in plain(one)]
