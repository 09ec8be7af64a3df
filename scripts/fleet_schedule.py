"""The schedule of a fleet: which worker checks which repository when, from times that were measured."""

from __future__ import annotations

import heapq
import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAWS = 20
"""Random orders whose mean is taken."""


class Costs(NamedTuple):
    """Seconds besides the checks.

    `start` until a worker can check, `dispatch` for each task by the client, which hands out one after the other, and
    `trip` for each task at the worker.
    """

    start: float = 0.0
    dispatch: float = 0.0
    trip: float = 0.0


NOTHING = Costs()


class Schedule(NamedTuple):
    """When the last worker has ended, and the worker-seconds that others waited for it by then.

    `efficiency` is the part of the workers' time in which they checked.
    """

    makespan: float
    tail: float
    efficiency: float


def schedule(seconds: Sequence[float], workers: int, costs: Costs = NOTHING) -> Schedule:
    """Tasks in their order, each taken by the worker that is free first, when the client has time for it."""
    free = [costs.start] * workers
    client = 0.0
    for one in seconds:
        begin = max(heapq.heappop(free), client)
        client = begin + costs.dispatch
        heapq.heappush(free, client + costs.trip + one)
    makespan = max(free)
    tail = sum(makespan - end for end in free)
    return Schedule(makespan, tail, sum(seconds) / (workers * makespan) if makespan else 1.0)


def longest_first(seconds: Sequence[float]) -> list[float]:
    """The order of a run that follows another one."""
    return sorted(seconds, reverse=True)


def at_random(seconds: Sequence[float], workers: int, costs: Costs = NOTHING) -> Schedule:
    """The mean schedule of random orders: that of a first run, which knows nothing."""
    draw = random.Random(7)
    found = [schedule(draw.sample(seconds, len(seconds)), workers, costs) for _ in range(DRAWS)]
    return Schedule(*(sum(column) / DRAWS for column in zip(*found, strict=True)))


def split(seconds: Sequence[float], parts: int, most: float) -> list[float]:
    """The tasks, if each that takes longer than `most` were so many, without any cost of that."""
    return [part for one in seconds for part in ([one / parts] * parts if one > most else [one])]
