"""The events of a run in time order."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
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

    def clear(self) -> None:
        """Forget what is left to do."""
        self._queue.clear()

    def wait(self, until: float) -> None:
        """Do what comes before a time, and what was asked for at that time until now."""
        self._number += 1
        self._run((until, self._number))

    def finish(self, horizon: float) -> None:
        """Do everything until nothing is left to do, or the horizon is reached."""
        self._run((horizon, inf))

    def _run(self, until: tuple[float, float]) -> None:
        queue = self._queue
        while queue and queue[0] < until:
            now, _, act, arguments = heappop(queue)
            act(now, *arguments)
