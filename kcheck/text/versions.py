"""Version constraints as Terraform writes them: `~> 20.8`, `>= 5.0, < 6.0`."""

from __future__ import annotations

import re
from typing import NamedTuple

from kcheck.text.regex import regex

Version = tuple[int, int, int]

_TERM = regex(r"\s*(=|!=|>=|<=|>|<|~>)?\s*v?(\d{1,9}(?:\.\d{1,9}){0,2})(?:[-+][\w.+-]*)?\s*", re.ASCII)
_END: Version = (1 << 30, 0, 0)


class Range(NamedTuple):
    """Versions from `low` up to, not including, `high`."""

    low: Version
    high: Version

    def both(self, other: Range) -> Range | None:
        """Return the versions in both ranges; None if there are none."""
        found = Range(max(self.low, other.low), min(self.high, other.high))
        return found if found.low < found.high else None

    def reaches(self, version: str) -> bool:
        """Whether the newest version of the range is at least that version."""
        found = parse(version)
        return found is not None and self.high > found.low


ANY = Range((0, 0, 0), _END)


def parse(constraint: str) -> Range | None:
    """Parse a version constraint; None if it is not one."""
    low, high = ANY
    for term in constraint.split(","):
        match = _TERM.fullmatch(term)
        if match is None:
            return None
        operator = match[1] or "="
        numbers = [int(part) for part in match[2].split(".")]
        version = _padded(numbers)
        if operator in ("=", ">=", "~>"):
            low = max(low, version)
        if operator == ">":
            low = max(low, _next(version))
        if operator in ("=", "<="):
            high = min(high, _next(version))
        if operator == "<":
            high = min(high, version)
        if operator == "~>":
            # the last number may grow: ~> 20.8 allows 20.9, ~> 20.8.1 allows 20.8.2, ~> 20 allows 21
            kept = numbers[:-1]
            high = min(high, _padded([*kept[:-1], kept[-1] + 1]) if kept else _END)
    return Range(low, high)


def _padded(numbers: list[int]) -> Version:
    major, minor, patch = [*numbers, 0, 0][:3]
    return major, minor, patch


def _next(version: Version) -> Version:
    major, minor, patch = version
    return major, minor, patch + 1
