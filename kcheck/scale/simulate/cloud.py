"""Simulated cloud: machines that start and boot, deletion calls, billing."""

from __future__ import annotations

from math import ceil, exp, log
from random import Random
from typing import TYPE_CHECKING

from kcheck.scale.simulate.model import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.scale.simulate.model import Cloud
    from kcheck.scale.simulate.nodes import Group, Node

REGISTERED_AT = 0.6
"""Part of its boot after which a machine has its Node object."""


def draws(seed: str) -> Random:
    """Return a random generator that is the same for the same seed."""
    return Random(seed)  # noqa: S311 - nobody's secret


class Provider:
    """Cloud in which the seed alone decides each machine's fate, so that runs are comparable."""

    def __init__(self, cloud: Cloud, seed: int) -> None:
        self.cloud = cloud
        self._boot, self._tail = draws(f"{seed}/boot"), draws(f"{seed}/tail")
        self._spot, self._call = draws(f"{seed}/spot"), draws(f"{seed}/call")
        self._free = 0.0
        self._launch_gap = 1 / cloud.launch_rate

    def launch(self, group: Group, now: float) -> float:
        """Return when the next machine of a pool starts, and billing begins."""
        start = max(now, group.next_launch) + self._launch_gap
        group.next_launch = start
        return start

    def boot(self) -> float | None:
        """Draw the seconds until the next machine is ready; None if it never joins."""
        cloud, draw = self.cloud, self._boot
        lost, straggler, late, noise = draw.random(), draw.random(), draw.random(), draw.gauss(0, 1)
        if lost < cloud.lost:
            return None
        extra = -cloud.straggler_mean * log(max(late, 1e-12)) if straggler < cloud.stragglers else 0.0
        return cloud.boot * exp(cloud.boot_sigma * noise) + extra

    def interruption(self) -> float:
        """Draw the seconds until a spot machine is taken away."""
        rate = self.cloud.interruptions / 3600
        return -log(max(self._spot.random(), 1e-12)) / rate if rate else NEVER

    def latency(self) -> float:
        """Draw the seconds from the call that deletes a node until billing ends."""
        return self.cloud.delete_tail if self._tail.random() < self.cloud.late else self.cloud.delete_latency

    def calls(self, nodes: list[Node], now: float) -> Iterable[tuple[float, Node]]:
        """Yield when the call that deletes each node returns."""
        if self.cloud.serial:
            for node in nodes:
                self._free = max(now, self._free) + self._call_time()
                yield self._free, node
            return
        ends: dict[int, float] = {}
        for node in nodes:
            if id(node.pool) not in ends:
                node.pool.next_call = max(now, node.pool.next_call) + self._call_time()
                ends[id(node.pool)] = node.pool.next_call
            yield ends[id(node.pool)], node

    def _call_time(self) -> float:
        """Draw the seconds of a call; equal ones would make all batches just miss a loop, or none."""
        sigma = self.cloud.delete_call_sigma
        return self.cloud.delete_call * exp(sigma * self._call.gauss(0, 1) - sigma**2 / 2)

    def paid(self, seconds: float) -> float:
        """Return the billed time of a machine, by the cloud's billing steps."""
        step = self.cloud.granularity
        return max(self.cloud.least_paid, ceil(seconds / step) * step if step else seconds)
