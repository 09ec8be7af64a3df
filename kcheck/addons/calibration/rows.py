"""CSV table of nodes, one row each, and an optional table of autoscaler loops beside it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from kcheck.addons.calibration.model import Loops, NodeTimes, Pod, Recording, RecordingError
from kcheck.text.regex import regex
from kcheck.text.units import counted, exact_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_COLUMNS = {
    "launched": "launched", "registered": "registered", "ready": "ready", "delete_asked": "asked",
    "delete_answered": "answered", "gone": "gone",
}  # fmt: skip

_SCAN = regex(r"--scan-interval=([0-9.a-z]+)")
_LARGEST = 1e12
_TAINTED = 6
"""Seconds until the call for a tainted node begins: --node-delete-delay-after-taint, and a little."""


def is_table(text: str) -> bool:
    """Whether a text is a table of nodes."""
    return "launched" in next(_rows(text), (0, [""]))[1]


def read_table(text: str, loops: str | None) -> Recording:
    """Read the table of nodes, and idle loops from the one beside it.

    Raises:
        RecordingError: a row has other columns than the first, or a time is not a number.
    """
    header, rows = _parsed(text)
    nodes, pods, ends = [], [], []
    for row in rows:
        times = dict(zip(header, row, strict=True))
        ends.append(times.get("pod_succeeded"))
        nodes.append(NodeTimes(**{name: times.get(column) for column, name in _COLUMNS.items()}))
        bound, started = times.get("pod_bound"), times.get("pod_running")
        if bound is not None and started is not None:
            pods.append(Pod(bound, started))
    found = Recording(f"a table of {counted(len(nodes), 'node')}", nodes, pods=pods, step=0.1, calls=True)
    if loops is None:
        found.why["loop"] = "no table of loops, NAME.loops.csv, beside NAME.csv"
    else:
        scan = _scan_interval(text)
        found.loops = list(_idle(found, _sorted(ends), _starts(loops), scan))
        found.how = f"that started at least {scan:g} s before the next, with no launch or deletion in between"
    return found


def _starts(text: str) -> list[float]:
    header, rows = _parsed(text)
    if "start" not in header:
        raise RecordingError("the table of loops needs a column start")
    column = header.index("start")
    return sorted(start for row in rows if (start := row[column]) is not None)


def _parsed(text: str) -> tuple[list[str], list[list[float | None]]]:
    rows = _rows(text)
    _, header = next(rows, (0, []))
    return header, [_numbers(line, row, len(header)) for line, row in rows]


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, [cell.strip().strip('"') for cell in line.split(",")]


def _numbers(line: int, row: list[str], columns: int) -> list[float | None]:
    if len(row) != columns:
        raise RecordingError(f"line {line}: expected {columns} columns as in the first row, not {len(row)}")
    return [_number(line, cell) if cell else None for cell in row]


def _number(line: int, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if not abs(number) < _LARGEST:  # infinite and nan among them
        raise RecordingError(f"line {line}: expected seconds, not {cell[:40]}")
    return number


def _scan_interval(text: str) -> float:
    """Read --scan-interval from a comment; 10 s by default."""
    comments = " ".join(line for line in text.splitlines() if line.startswith("#"))
    flag = _SCAN.search(comments)
    try:
        return float(exact_seconds(flag[1])) if flag else 10.0
    except ValueError:
        return 10.0


def _idle(found: Recording, ends: list[float], starts: list[float], scan: float) -> Iterator[Loops]:
    """Yield loops after which the autoscaler waited, without a launch or deletion around them."""
    nodes, bound = found.nodes, sorted(pod.bound for pod in found.pods)
    launched, asked = _sorted(node.launched for node in nodes), _sorted(node.asked for node in nodes)
    came, went = _sorted(node.registered for node in nodes), _sorted(node.gone for node in nodes)
    ready = _sorted(node.ready for node in nodes)
    for start, following in pairwise(starts):
        work = following - start - scan
        if work < 0 or _count(launched, start, following) or _count(asked, start, following + _TAINTED):
            continue
        gone, busy = _count(went, -inf, start), _count(bound, -inf, start) - _count(ends, -inf, start)
        empty = _count(ready, -inf, start) - gone - busy if bound else 0
        yield Loops(_count(came, -inf, start) - gone, work, empty=empty)


def _sorted(times: Iterable[float | None]) -> list[float]:
    return sorted(time for time in times if time is not None)


def _count(times: list[float], begin: float, end: float) -> int:
    """Count the times in the half-open interval."""
    return bisect_left(times, end) - bisect_left(times, begin)
