"""Numbers and columns of a bill, formatted for people and for programs."""

import datetime
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kcheck.addons.usage.accounting import Amounts, Period
from kcheck.addons.usage.bill import Bill, Row
from kcheck.scale.usage.recording import HOUR
from kcheck.text.units import counted, money, readable

REQUESTED, NOT_REQUESTED, TOTAL = "requested", "(not requested)", "total"
UNKNOWN = "-"
"""Shown for unknown numbers."""
_DIGITS = 6
_LONG = 3
"""Hours above which minutes are not shown."""
_SECONDS_OF_DAY = 24 * HOUR


def dollars(amount: float) -> str:
    """Format money: $4,908, $5.10."""
    return money(round(amount * 1000))


def hours(number: float) -> str:
    """Format hours, with a decimal if few: 1,344, 2.5."""
    return f"{number:,.0f}" if number >= 10 or round(number, 1) == round(number) else f"{number:.1f}"


def percent(share: float | None) -> str:
    """Format a share of one: 12%."""
    return UNKNOWN if share is None else f"{100 * share:.0f}%"


def wait(mean: float | None) -> str:
    """Format hours that pods waited: 30 s, 10 min, 6.5 h."""
    if mean is None:
        return UNKNOWN
    return f"{mean:.1f} h" if mean >= _LONG else readable(round(mean * HOUR))


def signed(change: float, text: Callable[[float], str]) -> str:
    """Format a change with its sign; 0 for no change."""
    written = text(abs(change))
    return "0" if written in ("0", "$0") else f"{'-' if change < 0 else '+'}{written}"


def points(now: float | None, before: float | None) -> str:
    """Format a change of a share in percentage points."""
    if now is None or before is None:
        return UNKNOWN
    change = round(100 * now) - round(100 * before)
    return f"{change:+} pt" if change else "0 pt"


def day(time: int) -> str:
    """Format a day in UTC: 16 Nov 2026."""
    at = datetime.datetime.fromtimestamp(time, datetime.UTC)
    return f"{at.day} {at:%b %Y}"


def period(span: Period) -> str:
    """Format the first and last day of a period."""
    first, last = day(span.begin).split(), day(span.end).split()
    same = next((index for index in range(3) if first[index:] == last[index:]), 3)
    return f"{' '.join(first[:same])} to {' '.join(last)}".removeprefix(" to ")


def length(span: Period) -> str:
    """Format the length of a period: 7 days, 5 hours."""
    days, rest = divmod(span.end - span.begin, _SECONDS_OF_DAY)
    if days and not rest:
        return counted(days, "day")
    number = (span.end - span.begin) / HOUR
    return f"{number / 24:.1f} days" if days > 1 else f"{number:.3g} hours" if number != 1 else "1 hour"


class Column(NamedTuple):
    """A column of the table; `wanted` tells whether a bill has it.

    `of_pods` columns are shares, means or counts of pods; `of_page` columns are too much for a terminal.
    """

    title: str
    about: str
    text: Callable[[Amounts], str]
    wanted: Callable[[Bill], bool]
    of_pods: bool = False
    of_page: bool = False


def _money(row: Amounts, amount: float) -> str:
    """Format money; unknown if the row's nodes have no prices."""
    return UNKNOWN if not row.paid and (row.gpu_unpriced or row.cpu_unpriced) else dollars(amount)


def _has_gpus(bill: Bill) -> bool:
    return bill.total.amounts.gpu_hours > 0


_COLUMNS = (
    Column("pods", "pods that had a node", lambda one: f"{one.pods:,.0f}", lambda _: True, of_pods=True, of_page=True),
    Column("runs", "runs of jobs", lambda one: f"{one.runs:,.0f}", lambda _: True, of_pods=True, of_page=True),
    Column("GPU-h", "GPU-hours requested", lambda one: hours(one.gpu_hours), _has_gpus),
    Column("busy", "mean GPU utilisation", lambda one: percent(one.gpu_use), _has_gpus, of_pods=True),
    Column(
        "tensor", "mean activity of the tensor cores",
        lambda one: percent(one.tensor_use), lambda bill: bill.total.amounts.tensor_measured > 0, of_pods=True,
    ),
    Column("core-h", "CPU core-hours requested", lambda one: hours(one.cpu_requested), lambda _: True),
    Column("used", "CPU used of that", lambda one: percent(one.cpu_use), lambda _: True, of_pods=True),
    Column("GiB-h", "memory requested, in GiB-hours", lambda one: hours(one.memory_requested), lambda _: True),
    Column("used", "memory used of that", lambda one: percent(one.memory_use), lambda _: True, of_pods=True),
    Column(
        "paid", "its share of the price of its nodes", lambda one: _money(one, one.paid), lambda bill: bill.is_priced,
    ),
    Column("idle", "paid for and not used", lambda one: _money(one, one.idle), lambda bill: bill.is_priced),
    Column(
        "idle GPU-h", "GPU-hours requested and not busy",
        lambda one: hours(one.gpu_idle), lambda bill: _has_gpus(bill) and not bill.by_money,
    ),
    Column(
        "wait", "time that a pod waited for a node, on average",
        lambda one: wait(one.queue_mean), lambda bill: bill.total.amounts.queued > 0, of_pods=True,
    ),
    Column(
        "gang GPU-h", "GPU-hours held while others of a gang had no node",
        lambda one: hours(one.gang_gpu_hours), lambda bill: bill.total.amounts.gang_gpu_hours > 0,
        of_pods=True, of_page=True,
    ),
    Column(
        "kWh", "energy of the GPUs",
        lambda one: hours(one.energy_kwh), lambda bill: bill.total.amounts.energy_kwh > 0, of_pods=True, of_page=True,
    ),
)  # fmt: skip


def columns(bill: Bill, *, page: bool = False) -> list[Column]:
    """List the columns that a bill has data for, for a terminal or a page."""
    return [column for column in _COLUMNS if column.wanted(bill) and column.of_page <= page]


def sums(bill: Bill) -> list[tuple[str, Row]]:
    """List the rows below the table: sum, unrequested capacity, and total."""
    if not bill.nodes:
        return [(TOTAL, bill.requested)]
    return [(REQUESTED, bill.requested), (NOT_REQUESTED, bill.spare), (TOTAL, bill.total)]


def cells(row: Row, bill: Bill, *, page: bool = False) -> list[str]:
    """Format the cells of a row; some are unknown for unrequested capacity."""
    whole = row is bill.spare or row is bill.total
    return [UNKNOWN if whole and column.of_pods else column.text(row.amounts) for column in columns(bill, page=page)]


def changes(row: Row, bill: Bill) -> list[str]:
    """Format how a row changed: GPU-hours, utilisation, money."""
    if row.recent is None or row.before is None:
        return []
    now, before = row.recent, row.before
    found = []
    if _has_gpus(bill):
        found += [signed(now.gpu_hours - before.gpu_hours, hours), points(now.gpu_use, before.gpu_use)]
    else:
        found += [signed(now.cpu_requested - before.cpu_requested, hours), points(now.cpu_use, before.cpu_use)]
    if bill.is_priced:
        found += [signed(now.paid - before.paid, dollars), signed(now.idle - before.idle, dollars)]
    return found


def places(row: Row) -> list[tuple[str, int]]:
    """List the paths and lines of a row's workloads in the code."""
    found = {match.workload for match in row.matches if match.workload is not None}
    return sorted(one.place.line for one in found)


def change_titles(bill: Bill) -> list[str]:
    """List the titles of `changes`."""
    first = ["GPU-h", "busy"] if _has_gpus(bill) else ["core-h", "used"]
    return [*first, *(["paid", "idle"] if bill.is_priced else [])]


def plain(amounts: Amounts) -> Iterator[tuple[str, float | int | None]]:
    """Yield names and values of all numbers of a row, including derived ones."""
    for name in amounts.__struct_fields__:
        value = getattr(amounts, name)
        yield name, round(value, _DIGITS) if isinstance(value, float) else value
    for name in ("gpu_use", "tensor_use", "cpu_use", "memory_use", "queue_mean"):
        share: float | None = getattr(amounts, name)
        yield name, None if share is None else round(share, _DIGITS)
