"""Read a recording, detecting its format."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from kcheck.addons.calibration import events, metrics, rows
from kcheck.addons.calibration.model import Recording, RecordingError
from kcheck.text.files import system
from kcheck.text.files.disk import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 5 * MAX_BYTES
"""About twice the events of a run on 1,000 nodes."""

_MOST_PARTS = 3_000_000
"""Objects and lists in a JSON file, to limit memory."""

_MOST_LINES = 500_000

EXPECTED = "expected `kubectl get events -A -o json`, metrics of the cluster autoscaler, or a CSV table of nodes"


def read_file(path: str) -> Recording:
    """Read a recording from a file, `-` for standard input.

    Raises:
        RecordingError: it cannot be read, or is no recording.
    """
    name = "standard input" if path == "-" else path
    try:
        loops = _loops_beside(path)
        return read_text(_text(path), loops)
    except RecordingError as error:
        raise RecordingError(f"{name}: {error}") from error


def read_text(text: str, loops: str | None = None) -> Recording:
    """Read a recording from text; `loops` is the table of loops beside a table of nodes.

    Raises:
        RecordingError: it is no recording.
    """
    if text.lstrip()[:1] in ("{", "["):
        return _read_json(text)
    if max(text.count("\n"), (loops or "").count("\n")) > _MOST_LINES:
        raise RecordingError(f"more than {_MOST_LINES:,} lines; record fewer nodes or less time")
    if rows.is_table(text):
        return rows.read_table(text, loops)
    if metrics.is_text(text):
        return metrics.read_text(text)
    raise RecordingError(EXPECTED if text.strip() else f"empty; {EXPECTED}")


def _text(path: str) -> str:
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1) if path == "-" else system.head(path, MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise RecordingError("no such file, or it cannot be read") from error
    if len(data) > MOST_BYTES:
        raise RecordingError(f"more than {MOST_BYTES // 1_000_000} MB; record fewer namespaces or less time")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordingError(f"not text; {EXPECTED}") from error


def _loops_beside(path: str) -> str | None:
    """Read NAME.loops.csv beside NAME.csv, if there is one."""
    stem, suffix = os.path.splitext(path)
    beside = f"{stem}.loops.csv"
    return _text(beside) if suffix == ".csv" and not stem.endswith(".loops") and os.path.isfile(beside) else None


def _read_json(text: str) -> Recording:
    if text.count("{") + text.count("[") > _MOST_PARTS or text.count(",") > 3 * _MOST_PARTS:
        raise RecordingError("too many parts; record fewer namespaces or less time")
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
        raise RecordingError(f"{where}not JSON; {EXPECTED}") from error
    if not found:
        raise RecordingError(f"JSON without events of nodes or pods; {EXPECTED}")
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
