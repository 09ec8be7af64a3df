"""Define what a container uses over time: functions of its age and the time of day, equal in each run."""

from __future__ import annotations

import math
from collections.abc import Callable

Shape = Callable[[int, int], float]
"""Use of a resource by seconds since the container started and seconds since 1970."""

DAY = 86400
SLOW = 600
"""Seconds for which noise is constant, so that the mean of a few scrapes equals each of them."""


def noise(seed: int, at: int) -> float:
    """Return a pseudo-random number from -1 to 1, always the same for a seed and time."""
    mixed = (at * 2654435761 + seed * 40503 + 12345) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 2246822519) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 13)) / 0x7FFFFFFF - 1


def constant(level: float) -> Shape:
    """Return a shape that is constant."""
    return lambda _age, _at: level


def steady(level: float, seed: int = 0, *, daily: float = 0.0, spread: float = 0.03, every: int = SLOW) -> Shape:
    """Return a shape that varies around a level, with the time of day if `daily`."""

    def shape(age: int, at: int) -> float:
        swing = daily * math.sin(2 * math.pi * at / DAY) if daily else 0.0
        return level * (1 + swing) * (1 + spread * noise(seed, at // every))

    return shape


def start_up(peak: float, seconds: int, then: Shape) -> Shape:
    """Return a shape that has a peak for some seconds, then follows another one."""
    return lambda age, at: peak if age <= seconds else then(age, at)


def grows(low: float, high: float, seconds: int) -> Shape:
    """Return a shape that rises from low to high in some seconds, then stays high."""
    return lambda age, _at: low + (high - low) * min(1.0, age / seconds)


def bursts(low: float, high: float, every: int, length: int) -> Shape:
    """Return a shape that is high for the first `length` of every `every` seconds, else low."""
    return lambda age, _at: high if age % every < length else low
