"""Compute when targets were scraped, and what their containers used then."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.addons.usage.week.cluster import Container, Node, Pod, Week
    from tests.addons.usage.week.shapes import Shape

SECOND_REPLICA = 7
"""Seconds by which the second Prometheus of a pair scrapes later than the first."""


@dataclass(frozen=True)
class Clock:
    """The times at which a target is scraped."""

    times: list[int]
    text: list[str]

    def span(self, start: int, stop: int | None) -> tuple[int, int]:
        """Return the numbers of the first scrape after `start` and of the first after `stop`."""
        last = len(self.times) if stop is None else bisect_right(self.times, stop)
        return min(bisect_right(self.times, start), last), last


@lru_cache(maxsize=64)
def _clock(begin: int, end: int, interval: int, offset: int, gaps: tuple[tuple[int, int], ...]) -> Clock:
    first = begin - begin % interval + offset % interval
    times = [
        at
        for at in range(first, end + 1, interval)
        if at > begin and not any(start < at <= stop for start, stop in gaps)
    ]
    return Clock(times, [f"{at}\n" for at in times])


def clock(week: Week, target: str, *, facts: bool = False, later: int = 0) -> Clock:
    """Return the clock of a target: each target has its own second of the interval, as in Prometheus."""
    interval = week.facts if facts else week.interval
    offset = zlib.crc32(target.encode()) % interval + later
    return _clock(week.begin, week.end, interval, offset, tuple(week.gaps))


@dataclass(frozen=True)
class Life:
    """A container from one start to the next, as it was scraped; `first` is the number of its first scrape."""

    start: int
    first: int
    times: list[int]
    cpu: list[float]
    memory: list[float]

    def counter(self) -> list[float]:
        """Return the CPU seconds since the start, at each scrape."""
        total, before, found = 0.0, self.start, []
        for at, cores in zip(self.times, self.cpu, strict=True):
            total += cores * (at - before)
            before = at
            found.append(total)
        return found


def lives(week: Week, pod: Pod, container: Container, ticks: Clock) -> list[Life]:
    """Return the lives of a container as a clock saw them; empty if the pod never ran."""
    if pod.started is None:
        return []
    starts = [pod.started, *container.restarts]
    stops = [*container.restarts, pod.ended]
    found = []
    for start, stop in zip(starts, stops, strict=True):
        first, last = ticks.span(start, stop)
        times = ticks.times[first:last]
        found.append(Life(start, first, times, sampled(container.cpu, start, times), sampled(container.memory, start, times)))  # fmt: skip
    return found


def sampled(shape: Shape, start: int, times: list[int]) -> list[float]:
    """Return the values of a shape at some times."""
    return [shape(at - start, at) for at in times]


def kubelet(week: Week, node: Node, *, second: bool = False) -> Clock:
    """Return the clock of a node's kubelet, of the first or the second Prometheus."""
    return clock(week, f"kubelet {node.name}", later=SECOND_REPLICA if second else 0)


def exporter(week: Week, node: Node) -> Clock:
    """Return the clock of a node's DCGM exporter."""
    return clock(week, f"dcgm {node.name}")
