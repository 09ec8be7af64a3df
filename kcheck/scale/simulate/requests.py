"""The autoscaler's requests to the API server: all of them share one budget.

client-go's limiter lets `burst` requests pass at once and `qps` a second: --kube-client-qps, --kube-client-burst.
Events wait in a queue and are sent one after the other between the other requests.
"""

from __future__ import annotations

from kcheck.scale.simulate.model import NEVER


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
