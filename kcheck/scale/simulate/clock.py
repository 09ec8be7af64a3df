"""Time of a run: calls in order, and requests within a client's rate limit."""

from collections.abc import Callable
from heapq import heappop, heappush

from kcheck.scale.simulate.model import NEVER


class Clock:
    """Calls by time, in seconds; calls at the same time keep their order."""

    def __init__(self) -> None:
        self.queue: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._number, self.last = 0, 0.0

    def at(self, time: float, act: Callable[..., None], *arguments: object) -> None:
        """Schedule a call at a time, which is its first argument."""
        self._number += 1
        heappush(self.queue, (time, self._number, act, arguments))

    def wait(self, until: float, last: float = 0) -> None:
        """Run the calls scheduled up to a time."""
        self._number += 1
        queue, end = self.queue, (until, last or self._number)
        while queue and queue[0] < end:
            now, _, act, arguments = heappop(queue)
            self.last = now
            act(now, *arguments)


class Client:
    """Client limited to `qps` requests a second and bursts of `burst`."""

    def __init__(self, qps: float, burst: float) -> None:
        self.qps = qps
        self._ahead, self._gap = (burst / qps, 1 / qps) if qps else (0.0, 0.0)
        self._used = -NEVER
        self._events = 0.0
        self._sent = 0.0

    def queue(self, now: float, events: float) -> None:
        """Send events as soon as the rate limit allows."""
        self._drain(now)
        self._events += events

    def send(self, now: float, number: int, *, workers: int = 1, until: float = NEVER) -> tuple[float, int]:
        """Send requests until a time; return when the last passes, and how many.

        One queued event passes for as many requests as there are workers.
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
        """Send a request; return when it passes (generic cell rate algorithm)."""
        self._used = max(self._used, now) + self._gap
        return max(now, self._used - self._ahead)

    def _drain(self, now: float) -> None:
        """Send the events that the rate limit has allowed since the last time."""
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
