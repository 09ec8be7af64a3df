"""When things happen in a run: calls by their time, and requests by the budget of a client."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

from kcheck.scale.simulate.model import NEVER

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


class Client:
    """A client with a budget of `qps` requests a second, `burst` of them at once; 0 for no limit."""

    def __init__(self, qps: float, burst: float) -> None:
        self.qps = qps
        self._ahead, self._gap = (burst / qps, 1 / qps) if qps else (0.0, 0.0)
        self._used = -NEVER
        self._events = 0.0
        self._sent = 0.0

    def queue(self, now: float, events: float) -> None:
        """Send events as soon as the budget allows it."""
        self._drain(now)
        self._events += events

    def send(self, now: float, number: int, *, workers: int = 1, until: float = NEVER) -> tuple[float, int]:
        """Send requests, `workers` at a time and none from `until` on: when the last one passes, and how many did.

        Of queued events one passes for as many requests as there are workers.
        """
        if not self.qps:
            return now, number
        if self._events:
            self._drain(now)
        end, sent = now, 0
        while sent < number and end < until:
            if self._events >= 1 and sent % workers == 0:
                self._events -= 1
                self.send_one(end)
            end = self.send_one(end)
            sent += 1
        return end, sent

    def send_one(self, now: float) -> float:
        """Send a request and no events: when it passes (the generic cell rate algorithm)."""
        self._used = max(self._used, now) + self._gap
        return max(now, self._used - self._ahead)

    def _drain(self, now: float) -> None:
        """Send the events that the budget allowed since the last time."""
        if not self.qps:
            self._events = 0
            return
        if self._events > 0:
            since = max(self._used, self._sent)
            able = max(0.0, (now + self._ahead - since) * self.qps)
            number = min(self._events, able)
            self._events -= number
            self._used = since + number / self.qps
        self._sent = now
