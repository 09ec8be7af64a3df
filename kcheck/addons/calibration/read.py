"""Read a recording, detecting its format: events, metrics, or a table of nodes."""

import json
import os
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from math import inf

from kcheck.addons.calibration import events, metrics
from kcheck.addons.calibration.model import CalibrationError, Loops, NodeTimes, Pod, Recording
from kcheck.text.files import system
from kcheck.text.files.disk import MAX_BYTES
from kcheck.text.regex import regex
from kcheck.text.units import counted, exact_seconds

MOST_BYTES = 5 * MAX_BYTES
"""About twice the events of a run on 1,000 nodes."""

_MOST_PARTS = 3_000_000
"""Objects and lists in a JSON file, to limit memory."""

_MOST_LINES = 500_000

EXPECTED = "expected `kubectl get events -A -o json`, metrics of the cluster autoscaler, or a CSV table of nodes"


def read_file(path: str) -> Recording:
    """Read a recording from a file, `-` for standard input.

    Raises CalibrationError if it cannot be read, or is no recording.
    """
    name = "standard input" if path == "-" else path
    try:
        loops = _loops_beside(path)
        return read_text(_text(path), loops)
    except CalibrationError as error:
        raise CalibrationError(f"{name}: {error}") from error


def read_text(text: str, loops: str | None = None) -> Recording:
    """Read a recording from text; `loops` is the table of autoscaler loops.

    Raises CalibrationError if it is no recording.
    """
    if text.lstrip()[:1] in ("{", "["):
        return _read_json(text)
    if max(text.count("\n"), (loops or "").count("\n")) > _MOST_LINES:
        raise CalibrationError(f"more than {_MOST_LINES:,} lines; record fewer nodes or less time")
    if "launched" in next(_rows(text), (0, [""]))[1]:
        return read_table(text, loops)
    if metrics.is_text(text):
        return metrics.read_text(text)
    raise CalibrationError(EXPECTED if text.strip() else f"empty; {EXPECTED}")


def _text(path: str) -> str:
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1) if path == "-" else system.head(path, MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CalibrationError("no such file, or it cannot be read") from error
    if len(data) > MOST_BYTES:
        raise CalibrationError(f"more than {MOST_BYTES // 1_000_000} MB; record fewer namespaces or less time")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CalibrationError(f"not text; {EXPECTED}") from error


def _loops_beside(path: str) -> str | None:
    """Read NAME.loops.csv beside NAME.csv, if there is one."""
    stem, suffix = os.path.splitext(path)
    beside = f"{stem}.loops.csv"
    return _text(beside) if suffix == ".csv" and not stem.endswith(".loops") and os.path.isfile(beside) else None


def _read_json(text: str) -> Recording:
    if text.count("{") + text.count("[") > _MOST_PARTS or text.count(",") > 3 * _MOST_PARTS:
        raise CalibrationError("too many parts; record fewer namespaces or less time")
    found: list[events.Event] = []
    lists = 0
    try:
        for document in _documents(text):
            if isinstance(document, dict) and "status" in document and "items" not in document:
                return metrics.read_answer(document)
            items = document.get("items", [document.get("object")]) if isinstance(document, dict) else [document]
            lists += 1
            found += [item for item in items if isinstance(item, events.Event)] if isinstance(items, list) else []
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise CalibrationError(f"{where}not JSON; {EXPECTED}") from error
    if not found:
        raise CalibrationError(f"JSON without events of nodes or pods; {EXPECTED}")
    return events.read_events(found)


def _documents(text: str) -> Iterator[object]:
    """Yield concatenated JSON documents, as kubectl --watch prints them."""
    decoder = json.JSONDecoder(object_hook=events.shrunk)
    at = 0
    while at < len(text):
        document, end = decoder.raw_decode(text, at)
        yield document
        at = end
        while at < len(text) and text[at].isspace():
            at += 1


# --- a CSV table of nodes, one row each, and an optional table of autoscaler loops beside it

_COLUMNS = {
    "launched": "launched", "registered": "registered", "ready": "ready", "delete_asked": "asked",
    "delete_answered": "answered", "gone": "gone",
}  # fmt: skip

_SCAN = regex(r"--scan-interval=([0-9.a-z]+)")
_LARGEST = 1e12
_TAINTED = 6
"""Seconds until the call for a tainted node begins: --node-delete-delay-after-taint, and a little."""


def read_table(text: str, loops: str | None) -> Recording:
    """Read the table of nodes, and idle loops from the one beside it.

    Raises CalibrationError if a row has other columns than the first, or a time is not a number.
    """
    rows = list(_parsed(text))
    nodes = [NodeTimes(**{name: row.get(column) for column, name in _COLUMNS.items()}) for row in rows]
    runs = ((row.get("pod_bound"), row.get("pod_running")) for row in rows)
    pods = [Pod(bound, started) for bound, started in runs if bound is not None and started is not None]
    found = Recording(f"a table of {counted(len(nodes), 'node')}", nodes, pods=pods, step=0.1, calls=True)
    if loops is None:
        found.why["loop"] = "no table of loops, NAME.loops.csv, beside NAME.csv"
    else:
        scan = _scan_interval(text)
        ends = _sorted(row.get("pod_succeeded") for row in rows)
        found.loops = list(_idle(found, ends, _starts(loops), scan))
        found.how = f"that started at least {scan:g} s before the next, with no launch or deletion in between"
    return found


def _starts(text: str) -> list[float]:
    rows = list(_parsed(text))
    if "start" not in next(_rows(text), (0, [""]))[1]:
        raise CalibrationError("the table of loops needs a column start")
    return _sorted(row["start"] for row in rows)


def _parsed(text: str) -> Iterator[dict[str, float | None]]:
    rows = _rows(text)
    _, header = next(rows, (0, []))
    for line, row in rows:
        if len(row) != len(header):
            raise CalibrationError(f"line {line}: expected {len(header)} columns as in the first row, not {len(row)}")
        yield {name: _number(line, cell) if cell else None for name, cell in zip(header, row, strict=True)}


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, [cell.strip().strip('"') for cell in line.split(",")]


def _number(line: int, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if not abs(number) < _LARGEST:  # infinite and nan among them
        raise CalibrationError(f"line {line}: expected seconds, not {cell[:40]}")
    return number


def _scan_interval(text: str) -> float:
    """Read --scan-interval from a comment; 10 s by default."""
    comments = " ".join(line for line in text.splitlines() if line.startswith("#"))
    flag = _SCAN.search(comments)
    with suppress(ValueError):
        return float(exact_seconds(flag[1])) if flag else 10.0
    return 10.0


def _idle(found: Recording, ends: list[float], starts: list[float], scan: float) -> Iterator[Loops]:
    """Yield loops after which the autoscaler waited without changing nodes."""
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
