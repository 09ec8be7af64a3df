"""The events of a run in time order, and the count of those at which nothing else happens."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """Acts at their times, in seconds; those of the same time in the order in which they were asked for."""

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._number = 0

    def at(self, time: float, act: Callable[..., None], *arguments: object) -> None:
        """Have something done at a time, which it gets as its first argument."""
        self._number += 1
        heappush(self._queue, (time, self._number, act, arguments))

    def run(self, horizon: float) -> None:
        """Do everything until nothing is left to do, or the horizon is reached."""
        queue = self._queue
        while queue:
            now, _, act, arguments = heappop(queue)
            if now > horizon:
                return
            act(now, *arguments)


class Tally:
    """Counts times that have passed.

    Half of what happens to a node only changes numbers that loops read. Events for that took a third of a run.
    """

    def __init__(self) -> None:
        self._times: list[float] = []

    def add(self, time: float) -> None:
        """Count one more at a time."""
        heappush(self._times, time)

    def passed(self, now: float) -> int:
        """How many passed since the last call."""
        times, number = self._times, 0
        while times and times[0] <= now:
            heappop(times)
            number += 1
        return number
