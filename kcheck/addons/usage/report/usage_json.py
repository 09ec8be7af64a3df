"""Bill as JSON. The contract is docs/usage.schema.json; additive changes keep version 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.addons.usage.report.usage_numbers import places, plain
from kcheck.report.escape import json_text
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.addons.usage.accounting import Amounts, Span
    from kcheck.addons.usage.bill import Bill, Row
    from kcheck.model import Workload

VERSION = 1


def render(bill: Bill) -> str:
    """Render the bill as JSON: times in seconds since 1970, durations in hours, money in US dollars."""
    joined, recording, compared = bill.joined, bill.joined.recording, bill.compared
    data = {
        "version": VERSION,
        "by": bill.by,
        "time": _time(bill.span) | {"asked": recording.asked, "step": recording.step},
        "source": recording.source,
        "labels": bill.labels,
        "order": bill.order if bill.order != "idle" or bill.by_money else "gpu_idle",
        "rows": [{"name": row.name, **_numbers(row), "code": _code(row)} for row in bill.rows],
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
        "queues": [
            {name: getattr(one, name) for name in ("system", "queue", "what", "count", "mean", "high")}
            for one in recording.waits
        ],
        "lacks": [{"what": one.what, "why": one.why} for one in recording.lacks],
        "not_in_code": [
            {"namespace": space, "kind": kind, "name": name, "pods": pods}
            for space, (kind, name), pods in joined.strangers
        ],
        "never_ran": [_workload(one) for one in joined.unseen],
        "doubts": [{"what": one.what, "why": one.why} for one in joined.doubts],
    }  # fmt: skip
    return json_text(data, indent=2)


def _code(row: Row) -> list[dict[str, object]]:
    return [{"path": path, "line": line} for path, line in places(row)]


def _size(amounts: Amounts) -> dict[str, float]:
    numbers = {"paid": amounts.paid, "gpu_hours": amounts.gpu_hours, "core_hours": amounts.cpu_requested}
    return {name: round(number, 6) for name, number in numbers.items()}


def _time(span: Span) -> dict[str, int]:
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
