"""Bill as CSV (RFC 4180) for spreadsheets, with all numbers."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from kcheck.addons.usage.accounting import Amounts
from kcheck.addons.usage.report.usage_numbers import plain, sums
from kcheck.report.escape import defused

if TYPE_CHECKING:
    from kcheck.addons.usage.bill import Bill, Row


def render(bill: Bill) -> str:
    """Render the bill as CSV: records of kind `row`, then of kind `sum`."""
    names = [name for name, _ in plain(Amounts())]
    text = io.StringIO()
    writer = csv.writer(text)
    changes = [f"{time}_{name}" for time in ("recent", "before") for name in names] if bill.compared else []
    writer.writerow(["kind", bill.by, *names, *changes])
    for row in bill.rows:
        writer.writerow(["row", defused(row.name), *_numbers(row)])
    for name, row in sums(bill):
        writer.writerow(["sum", name, *_numbers(row)])
    return text.getvalue()


def _numbers(row: Row) -> list[float | int | None]:
    times = (row.amounts, row.recent, row.before)
    return [value for one in times if one is not None for _, value in plain(one)]
