"""Nodes, pools and pods during a run, and the cloud of their machines.

https://github.com/kubernetes-sigs/cluster-autoscaler/blob/main/pkg/clusterstate/clusterstate.go
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from math import ceil, exp, log
from random import Random

from msgspec import Struct, field

from kcheck.scale.simulate.model import NEVER, PHASES, Cloud, Job, JobTimes, Phase, Pool


class Node:
    """Machine with the times of its events, and paid time by phase.

    `since` is when it was found to be unneeded. `images` are the jobs whose image it has. The nodes of a traced run
    add when each phase was to its `spans`.
    """

    __slots__ = ("_mark", "_spans", "gone", "images", "launched", "pod", "pool", "ready", "registered", "since",
                 "spent", "tainted", "unready")  # fmt: skip

    def __init__(self, pool: Group, launched: float, spans: list[Phase] | None = None) -> None:
        self.pool, self._spans = pool, spans
        self.launched = self._mark = launched
        self.registered = self.ready = self.since = self.tainted = self.gone = NEVER
        self.unready = False
        self.pod: Pod | None = None
        self.images: list[Job] = []
        self.spent = dict.fromkeys(PHASES, 0.0)

    def spend(self, phase: str, now: float) -> None:
        """Add the time since the last call to a phase."""
        if now > self._mark:
            if self._spans is not None:
                self._spans.append(Phase(phase, self._mark, now))
            self.spent[phase] += now - self._mark
            self._mark = now

    def rest(self, now: float, unneeded_time: float) -> None:
        """Add the empty time since the last call: timer, idle, queue."""
        self.spend("timer", min(now, self.since))
        self.spend("idle", min(now, self.since + unneeded_time))
        self.spend("queue", now)
        self.since = NEVER

    def close(self, now: float, unneeded_time: float) -> None:
        """Add the last phase of a machine that outlives the run."""
        if self.tainted < NEVER:
            self.spend("delete", now)
        elif self.pod is not None:
            self.spend(self.pod.phase, now)
        elif self.ready == NEVER:
            self.spend("boot", now)
        else:
            self.rest(now, unneeded_time)


class Group(Struct):
    """Pool as the autoscaler sees it: its target, and its nodes by state.

    `waiting` have no Node object yet, `long` of them for too long; `young` are registered and not ready, `unready`
    for too long. `increase` was asked for until `deadline`; `leaving` are deleted by calls that have not returned.
    """

    pool: Pool
    target: int = 0
    waiting: int = 0
    long: int = 0
    young: int = 0
    unready: int = 0
    ready: int = 0
    increase: int = 0
    deadline: float = NEVER
    backoff_until: float = 0
    backoff_length: float = 0
    failed_at: float = -NEVER
    next_launch: float = 0
    next_call: float = 0
    leaving: int = 0
    last_increase: float = -NEVER
    last_deletion: float = -NEVER
    kept: list[Node] = []

    @property
    def coming(self) -> int:
        """Number of nodes expected to become ready."""
        return self.waiting - self.long + self.young

    @property
    def room(self) -> int:
        """Number of nodes by which it can still grow."""
        return self.pool.most - self.target

    def healthy(self, count: int, percentage: float) -> bool:
        """Whether few enough of the target's nodes are missing."""
        missing = max(0, self.target - self.long - self.increase - self.ready)
        every = self.ready + self.unready + self.young
        return not (missing > count and missing > percentage / 100 * every)

    def fail(self, now: float, first: float, most: float, reset: float) -> None:
        """Back off exponentially after failures, and reset after a while."""
        if now < self.backoff_until:
            return
        again = now - self.failed_at < reset and self.backoff_length > 0
        self.backoff_length = min(most, self.backoff_length * 2) if again else first
        self.backoff_until = now + self.backoff_length
        self.failed_at = now


class Fleet(Struct):
    """All nodes, and candidates for deletion: `idle` or `unneeded`.

    `untainted` are unneeded nodes without a taint yet, and some that left since. The counts are those of the last
    loop; between loops `changes` wait to be counted: their times, numbers, what changes, and pools.
    """

    groups: list[Group]
    nodes: list[Node] = []
    idle: deque[Node] = field(default_factory=deque)
    unneeded: deque[Node] = field(default_factory=deque)
    untainted: deque[Node] = field(default_factory=deque)
    registered: int = 0
    unready: int = 0
    ready: int = 0
    busy: int = 0
    deleting: int = 0
    launched: int = 0
    gone: int = 0
    changes: list[tuple[float, int, str, Group]] = []
    number: int = 0

    def at(self, time: float, what: str, group: Group) -> None:
        """Schedule a change of a node: launch, join, stop, clear, leave or lose."""
        self.number += 1
        heappush(self.changes, (time, self.number, what, group))

    def count(self, now: float) -> None:
        """Count the changes of nodes since the last time."""
        changes = self.changes
        while changes and changes[0][0] <= now:
            _, _, what, group = heappop(changes)
            if what == "launch":
                self.launched += 1
            elif what == "join":
                group.waiting -= 1
                group.young += 1
                self.registered += 1
            elif what in ("leave", "lose"):
                self.gone += 1
                if what == "leave":
                    self.ready -= 1
                    self.deleting -= 1
                    self.registered -= 1
            else:
                self.unready += 1 if what == "stop" else -1

    @property
    def target(self) -> int:
        """Number of requested nodes."""
        return sum([group.target for group in self.groups])

    @property
    def coming(self) -> int:
        """Number of nodes expected to become ready."""
        return sum([group.coming for group in self.groups])


class Pod:
    """Pod with its creation time, restarts (`life`), and pods `left`.

    It works since `working`; NEVER if it does not. Its node is in a `phase`. Until its own start, no pod waited for its
    turn during `free` seconds.
    """

    __slots__ = ("created", "done", "free", "left", "life", "node", "phase", "work", "working")

    def __init__(self, work: Work, left: int) -> None:
        self.work, self.left, self.phase = work, left, "pull"
        self.free = 0.0
        self.created = 0.0
        self.life = 0
        self.node: Node | None = None
        self.working = NEVER
        self.done = False

    @property
    def place(self) -> Node:
        """Node the pod is on."""
        if self.node is None:
            raise ValueError("the pod is on no node")
        return self.node


class Work:
    """Job in progress: pods started and pods done; `tries` counts its admissions."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.pods = [Pod(self, (job.runs + at) // job.pods) for at in range(job.pods)]
        self.admitted = self.failed = False
        self.started = self.finished = self.tries = 0
        self.first_start = self.done = NEVER

    @property
    def left(self) -> int:
        """Number of pods not done."""
        return len(self.pods) - self.finished

    @property
    def quota(self) -> float:
        """Number of nodes these take of its queue."""
        return self.left * self.job.weight

    @property
    def times(self) -> JobTimes:
        """Times of the job, and its remaining work."""
        left, held = sum([pod.left for pod in self.pods]), sum([pod.node is not None for pod in self.pods])
        return JobTimes(self.job.name, self.first_start, self.done, left, held)


# --- the cloud: machines that start and boot, deletion calls, billing


REGISTERED_AT = 0.6
"""Part of its boot after which a machine has its Node object."""


def draws(seed: str) -> Random:
    """Return a random generator determined by the seed."""
    return Random(seed)  # noqa: S311 - nobody's secret


class Provider:
    """Cloud whose delays depend on the seed alone."""

    def __init__(self, cloud: Cloud, seed: int) -> None:
        self.cloud = cloud
        self._boot, self._tail = draws(f"{seed}/boot"), draws(f"{seed}/tail")
        self._spot, self._call = draws(f"{seed}/spot"), draws(f"{seed}/call")
        self._free = 0.0
        self._launch_gap = 1 / cloud.launch_rate

    def launch(self, group: Group, now: float) -> float:
        """Return when the next machine of a pool starts, and is billed from."""
        start = max(now, group.next_launch) + self._launch_gap
        group.next_launch = start
        return start

    def boot(self) -> float | None:
        """Draw the boot time of the next machine in seconds; None if it never joins."""
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
        """Draw the seconds from a node's deletion call to the end of billing."""
        return self.cloud.delete_tail if self._tail.random() < self.cloud.late else self.cloud.delete_latency

    def calls(self, nodes: list[Node], now: float) -> Iterable[tuple[float, Node]]:
        """Yield when the deletion call of each node returns."""
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
        """Draw the seconds of a call."""
        sigma = self.cloud.delete_call_sigma
        return self.cloud.delete_call * exp(sigma * self._call.gauss(0, 1) - sigma**2 / 2)

    def paid(self, seconds: float) -> float:
        """Return the billed time of a machine, by the cloud's billing steps."""
        step = self.cloud.granularity
        return max(self.cloud.least_paid, ceil(seconds / step) * step if step else seconds)
