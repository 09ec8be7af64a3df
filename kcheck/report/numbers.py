"""The numbers of the profiles as a list: what each is, when it was checked, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.dates import TABLE
from kcheck.report.escape import json_text
from kcheck.text.units import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.config.numbers.dates import Dated
    from kcheck.config.numbers.profiles import ProfileValue

_WIDEST = 40
"""Characters of a value; a longer one ends with three dots."""


def value(entry: ProfileValue) -> str:
    """A value with its unit, in words."""
    if entry.value is None:
        return "differs by account"
    if isinstance(entry.value, bool) or not isinstance(entry.value, int):
        return shown(entry.value) or "nothing"
    return f"{shown(entry.value, 'mills')} per hour" if entry.unit == "mills" else f"{shown(entry.value)} {entry.unit}"


def as_text(found: Sequence[Dated]) -> str:
    """One line a number: name, value, kind, the day it was checked, its first source."""
    rows = [(one.name, _short(one.entry), one.entry.kind, one.entry.checked, _source(one.entry)) for one in found]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    padded = [[cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)] for row in rows]
    return "".join(f"{'  '.join(row)}\n" for row in padded)


def _short(entry: ProfileValue) -> str:
    text = "-" if entry.kind == TABLE else value(entry)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _source(entry: ProfileValue) -> str:
    more = len(entry.sources) - 1
    return entry.sources[0] + (f" (+{more})" if more else "")


def as_json(found: Sequence[Dated]) -> str:
    """The same with all sources; a table, and a quota that differs by account, has no value."""
    entries = [
        {
            "name": one.name, "cloud": one.cloud, "value": one.entry.value, "unit": one.entry.unit,
            "kind": one.entry.kind, "checked": one.entry.checked, "confidence": one.entry.confidence,
            "sources": list(one.entry.sources),
        }
        for one in found
    ]  # fmt: skip
    return json_text({"version": 1, "numbers": entries}, indent=1)
