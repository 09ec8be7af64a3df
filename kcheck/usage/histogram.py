"""Measured values by size, in buckets of equal ratio: percentiles to 1 %, in little memory, that can be added up."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Histogram: TypeAlias = "dict[int, int]"
"""Bucket -> number of samples in it. Bucket b has the values from RATIO**b up to RATIO**(b + 1); ZERO those below 1."""

RATIO = 1.02
ZERO = -1
_LOG = math.log(RATIO)


def bucket(value: float) -> int:
    """The bucket of a value that is not negative."""
    return ZERO if value < 1 else int(math.log(value) / _LOG + 1e-9)


def middle(at: int) -> float:
    """The value that stands for a bucket: at most 1 % from any in it."""
    return 0.0 if at == ZERO else RATIO ** (at + 0.5)


def add(into: Histogram, values: Iterable[float]) -> None:
    """Count values; those of no size, such as NaN, are left out."""
    sized = [value for value in values if 0 <= value < math.inf]
    found = Counter([int(math.log(value) / _LOG + 1e-9) for value in sized if value >= 1])
    found[ZERO] = len(sized) - found.total()
    for at, count in found.items():
        if count:
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
            return middle(at)
    return None


def mean(of: Histogram) -> float | None:
    """The mean of the samples; None without any."""
    count = sum(of.values())
    return sum(middle(at) * number for at, number in of.items()) / count if count else None


def share_above(of: Histogram, value: float) -> float:
    """The share of the samples that are above a value, from 0 to 1; 0 without any."""
    count = sum(of.values())
    return sum(number for at, number in of.items() if middle(at) > value) / count if count else 0.0
