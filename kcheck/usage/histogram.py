"""Measured values by size, rounded to 1 %: percentiles in little memory, that can be added up."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Histogram: TypeAlias = "dict[int, int]"
"""Rounded value -> number of samples: {3800: 600} are 600 samples of about 3800 millicores."""


def rounded(value: float) -> int:
    """A value that is not negative, to whole numbers below 100 and to 1 % above."""
    if value < 100:
        return round(value)
    power: int = 10 ** (len(str(int(value))) - 3)
    first = value / power
    step = 2 if first < 200 else 5 if first < 500 else 10
    return round(first / step) * step * power


def add(into: Histogram, values: Iterable[float]) -> None:
    """Count values; those of no size, such as NaN, are left out."""
    for at, count in Counter([rounded(value) for value in values if 0 <= value < math.inf]).items():
        into[at] = into.get(at, 0) + count


def merged(found: Iterable[Histogram]) -> Histogram:
    """Several histograms as one."""
    result: Histogram = {}
    for one in found:
        for at, count in one.items():
            result[at] = result.get(at, 0) + count
    return result


def percentile(of: Histogram, percent: float) -> float | None:
    """The value that so many percent of the samples do not exceed (nearest rank); None without samples."""
    rank = math.ceil(sum(of.values()) * percent / 100)
    seen = 0
    for at in sorted(of):
        seen += of[at]
        if seen >= rank:
            return at
    return None


def mean(of: Histogram) -> float | None:
    """The mean of the samples; None without any."""
    count = sum(of.values())
    return sum(at * number for at, number in of.items()) / count if count else None
