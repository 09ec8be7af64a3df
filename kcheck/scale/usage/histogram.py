"""Mergeable histograms with values rounded to 1%."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

Histogram: TypeAlias = "dict[int, int]"
"""Number of samples by rounded value: {3800: 600} are 600 samples of about 3800 millicores."""


_FIRST = (*range(100, 200, 2), *range(200, 500, 5), *range(500, 1000, 10))
_VALUES: list[int] = [*range(100), *(first * 10**power for power in range(16) for first in _FIRST)]
"""All rounded values: each is one object, however many histograms have it."""

_BOUNDS = [(low + high) / 2 for low, high in pairwise(_VALUES)]
"""Values from which on the next one is nearer. Finding one takes half of the time of computing it."""


def add(into: Histogram, values: Iterable[float]) -> None:
    """Add finite values of at least 0 to the histogram."""
    found = sorted([value for value in values if 0 <= value < math.inf])  # a value is found once for all near it
    low = 0
    while low < len(found):
        at = bisect_right(_BOUNDS, found[low])
        high = bisect_left(found, _BOUNDS[at], low) if at < len(_BOUNDS) else len(found)
        into[_VALUES[at]] = into.get(_VALUES[at], 0) + high - low
        low = high


def merge(into: Histogram, other: Histogram) -> None:
    """Add the samples of another histogram."""
    for at, count in other.items():
        into[at] = into.get(at, 0) + count


def merged(found: Iterable[Histogram]) -> Histogram:
    """Merge histograms."""
    result: Histogram = {}
    for one in found:
        merge(result, one)
    return result


def percentile(of: Histogram, percent: float) -> float | None:
    """Return the value at a percentile (nearest rank); None without samples."""
    rank = math.ceil(sum(of.values()) * percent / 100)
    seen = 0
    for at in sorted(of):
        seen += of[at]
        if seen >= rank:
            return at
    return None


def mean(of: Histogram) -> float | None:
    """Return the mean of the samples; None without any."""
    count = sum(of.values())
    return sum(at * number for at, number in of.items()) / count if count else None
