"""A run: pods, nodes and loops in time order. A pure function of its case: no clock, no files."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from kcheck.simulate.cloud import REGISTERED_AT, Provider, draws
from kcheck.simulate.karpenter import Karpenter
from kcheck.simulate.model import PHASES, Case, Event, Point, Run, Summary, Use
from kcheck.simulate.nodes import NEVER, Fleet, Group, Node
from kcheck.simulate.requests import Client
from kcheck.simulate.scaler import Scaler

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.simulate.scaler import Step

_TAINTERS = 5
"""Nodes that the autoscaler taints at the same time (core/scaledown/actuation/actuator.go)."""

_STATUS_REQUESTS = 2
"""Requests that write the autoscaler's status at the end of a loop (clusterstate/utils/status.go)."""

_MOMENT = 1e-6
"""Seconds after a pod was seen, so that no rounding says that it was not."""


def simulate(case: Case) -> Run:
    """What happens to a job and its nodes: the same for the same case."""
    return _Simulation(case).run()


class _Simulation:
    def __init__(self, case: Case) -> None:
        self.case, self.job, self.cloud = case, case.job, case.cloud
        self.fleet = Fleet([Group(pool) for pool in case.pools])
        self.held: dict[str, float] = {}
        self.scaler = (Karpenter if case.settings.karpenter else Scaler)(case, self.fleet, self._hold)
        self.provider = Provider(case.cloud, case.seed)
        self.queue: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self.client = Client(case.settings.client_qps, case.settings.client_burst)
        self.productive = False
        self.number = 0
        self.bound = self.started = self.finished = 0
        self.next_start = 0.0
        self.pulled: deque[float] = deque()
        self.running: list[Node] = []
        self.timeline: list[Point] = []
        self.events: list[Event] = []

    def run(self) -> Run:
        for group in self.fleet.groups:
            for _ in range(group.pool.existing):
                self._exist(group)
        settings = self.case.settings
        first = draws(f"{self.case.seed}/phase").random() * settings.scan_interval
        self._at(min(first, self._unschedulable(0, 0)) if settings.eager else first, self._loop)
        while self.queue:
            now, _, act, arguments = heappop(self.queue)
            if now > self.case.horizon:
                break
            act(now, *arguments)
        readies = [node.ready for node in self.fleet.nodes if node.ready < NEVER]
        return Run(self._summary(), self.timeline, self.events, readies)

    # --- time

    def _at(self, time: float, act: Callable[..., None], *arguments: object) -> None:
        self.number += 1
        heappush(self.queue, (time, self.number, act, arguments))

    def _hold(self, name: str, seconds: float) -> None:
        self.held[name] = self.held.get(name, 0) + seconds

    # --- pods: the Job controller creates them in a burst and at a rate, the scheduler sees them at its own

    def _created(self, number: int) -> float:
        return max(0.0, (number - self.cloud.create_burst) / self.cloud.create_rate)

    def _visible(self, number: int) -> float:
        return max(self._created(number), number / self.cloud.schedule_rate)

    def _count(self, time: float) -> int:
        """Pods that were created until a time."""
        if time < 0:
            return 0
        return min(self.job.pods, int(time * self.cloud.create_rate + self.cloud.create_burst) + 1)

    def _seen(self, time: float) -> int:
        """Pods that were unschedulable up to a time, even if scheduled since."""
        return min(self._count(time), int(time * self.cloud.schedule_rate) + 1)

    def _bind(self, now: float, node: Node) -> None:
        """Give a free node the next pod, or have it idle."""
        if self.bound == self.job.pods:
            self._empty(now, node)
            return
        pod = self.bound
        self.bound += 1
        self.fleet.busy += 1
        self._at(max(now, self._visible(pod)) + self.cloud.pull, self._start, node)

    def _start(self, now: float, node: Node) -> None:
        """Start a pod as soon as its turn comes, and its images can be pulled."""
        begin = max(now, self.next_start)
        if self.case.pulls:
            begin = max(begin, self._pull(begin))
        self.next_start = begin + (1 / self.cloud.pod_rate if self.cloud.pod_rate else 0)
        self._at(begin, self._started, node)

    def _pull(self, now: float) -> float:
        """When the registry gives the next pod its images."""
        case = self.case
        while self.pulled and self.pulled[0] <= now - case.window:
            self.pulled.popleft()
        if len(self.pulled) + case.pulls_each > case.pulls and self.pulled:
            now = self.pulled[min(len(self.pulled), case.pulls_each) - 1] + case.window
            self._hold("the registry's pull limit", now - self.pulled[-1])
            while self.pulled and self.pulled[0] <= now - case.window:
                self.pulled.popleft()
        self.pulled.extend([now] * case.pulls_each)
        return now

    def _started(self, now: float, node: Node) -> None:
        node.start = now
        self.started += 1
        if not self.job.gang:
            self._at(now + self.job.duration, self._finish, node)
            return
        self.running.append(node)
        if self.started == self.job.pods:
            for one in self.running:
                self._at(now + self.job.duration, self._finish, one)

    def _finish(self, now: float, node: Node) -> None:
        self.finished += 1
        if self.bound < self.job.pods:  # the next pod, which has its image there
            pod = self.bound
            self.bound += 1
            node.earlier += self.job.duration
            node.start = NEVER
            self._at(max(now, self._visible(pod)), self._started, node)
            return
        node.done = now
        self.fleet.busy -= 1
        self._empty(now, node)

    def _empty(self, now: float, node: Node) -> None:
        if node.done == NEVER:
            node.done = now
        self.fleet.idle.append(node)

    # --- nodes

    def _exist(self, group: Group) -> None:
        """A node that exists from the start."""
        node = self._new(group, 0.0)
        node.registered, node.ready = -NEVER, 0.0
        group.target += 1
        group.ready += 1
        self.fleet.registered += 1
        self.fleet.ready += 1
        self.fleet.launched += 1
        self._bind(0.0, node)

    def _new(self, group: Group, launched: float) -> Node:
        node = Node(group, launched)
        self.fleet.nodes.append(node)
        return node

    def _ask(self, now: float, group: Group, number: int) -> None:
        settings = self.case.settings
        self.events.append(Event(now, "scale-up", group.pool.name, number))
        for _ in range(number):
            launched, boot = self.provider.launch(group, now), self.provider.boot()
            node = self._new(group, launched)
            self._at(launched, self._launch)
            if boot is None:
                self._at(launched + settings.provision_time, self._lose, node)
                continue
            registered, ready = launched + REGISTERED_AT * boot, launched + boot
            if registered - launched > settings.provision_time:
                self._at(launched + settings.provision_time, self._lose, node)
                continue
            self._at(registered, self._register, node)
            if ready - launched > settings.startup_time:
                self._at(max(registered, launched + settings.startup_time), self._age, node)
            self._at(ready, self._ready, node)

    def _launch(self, _now: float) -> None:
        self.fleet.launched += 1

    def _register(self, now: float, node: Node) -> None:
        node.registered = now
        node.pool.waiting -= 1
        node.pool.young += 1
        self.fleet.registered += 1

    def _age(self, _now: float, node: Node) -> None:
        """A node that is still not ready: it now counts as unhealthy."""
        node.unready = True
        node.pool.young -= 1
        node.pool.unready += 1
        if self.case.settings.minor >= 21:  # before, one that had never been ready did not count
            self.fleet.unready += 1

    def _ready(self, now: float, node: Node) -> None:
        node.ready = now
        if node.unready:
            node.unready = False
            node.pool.unready -= 1
            if self.case.settings.minor >= 21:
                self.fleet.unready -= 1
        else:
            node.pool.young -= 1
        node.pool.ready += 1
        self.fleet.ready += 1
        self._bind(now, node)

    def _lose(self, now: float, node: Node) -> None:
        """An instance that never registers is deleted after the time that it has for that."""
        node.pool.long += 1
        self._at(now, self._forget, node)

    def _forget(self, now: float, node: Node) -> None:
        settings, group = self.case.settings, node.pool
        group.long -= 1
        group.waiting -= 1
        group.target -= 1
        node.done = node.since = node.tainted = now
        self.events.append(Event(now, "never joined", group.pool.name, 1))
        if now >= group.deadline:  # before a loop saw it: of a request that was given up, nothing more comes
            group.increase, group.deadline = 0, NEVER
            group.fail(now, settings.backoff, settings.backoff_most, settings.backoff_reset)
        self._at(now + self.provider.latency(), self._go, node)

    # --- deletion

    def _delete(self, now: float, nodes: list[Node]) -> None:
        settings = self.case.settings
        self.events.append(Event(now, "scale-down", nodes[0].pool.pool.name, len(nodes)))
        self.fleet.deleting += len(nodes)
        self.scaler.in_progress += len(nodes)
        for node in nodes:
            node.tainted = now
        wait = settings.taint_delay + settings.batcher_interval if settings.modern and settings.minor >= 26 else 0
        for end, node in self.provider.calls(nodes, now + wait):
            self._at(end, self._accept, node)

    def _accept(self, now: float, node: Node) -> None:
        """The cloud has taken the call."""
        self.scaler.in_progress -= 1
        node.pool.leaving -= 1
        node.pool.target -= 1
        node.pool.ready -= 1
        latency = self.provider.latency()
        if (
            self.cloud.lookup
            and self.case.settings.minor >= 26
            and now + latency / 2 - node.registered > self.case.settings.startup_time
        ):
            stopped = now + latency / 2
            self._at(stopped, self._stop)
            self._at(min(now + latency, stopped + self.cloud.linger), self._clear)
        self._at(now + latency, self._go, node)

    def _stop(self, _now: float) -> None:
        """A node that is being deleted is not ready, and its cloud still has it."""
        self.fleet.unready += 1

    def _clear(self, _now: float) -> None:
        self.fleet.unready -= 1

    def _go(self, now: float, node: Node) -> None:
        node.gone = now
        self.fleet.gone += 1
        if node.registered < NEVER:
            self.fleet.registered -= 1
            self.fleet.ready -= 1
            self.fleet.deleting -= 1

    # --- loops

    def _loop(self, now: float) -> None:
        settings = self.case.settings
        seen = self._seen(now)
        old = min(seen, self._count(now - settings.new_pod_delay)) if settings.new_pod_delay else seen
        pending = max(0, seen - self.bound)
        oldest = now - self._created(self.bound) if pending else 0
        step = self.scaler.scale_up(now, pending, max(0, old - self.bound), oldest)
        for what, pool, nodes in self.scaler.events:
            self.events.append(Event(now, what, pool, nodes))
        self.scaler.events.clear()
        for group, number in step.asked:
            self._ask(now, group, number)
        if step.asked:
            self.client.queue(now + step.work, sum(number for _, number in step.asked))
        self._at(now + step.work, self._end_loop, now, seen, step)

    def _end_loop(self, now: float, began: float, seen: int, step: Step) -> None:
        """The second half of a loop, when it has thought: deletions, then taints that tell pods to stay away."""
        settings, fleet, cloud = self.case.settings, self.fleet, self.cloud
        deleted = self.scaler.scale_down(began) if step.deletes else []
        end = now
        if deleted:
            requests = round(cloud.taint_requests * len(deleted))
            end, _ = self.client.send(now, requests, workers=_TAINTERS if settings.modern else 1)
            self.client.queue(end, cloud.event_requests * len(deleted))
            self._delete(end, deleted)
        if settings.soft_taints and not settings.karpenter:
            end = self._taint_softly(end)
            end, _ = self.client.send(end, _STATUS_REQUESTS)
        self.timeline.append(
            Point(
                time=now,
                target=fleet.target,
                launched=fleet.launched - fleet.gone,
                ready=fleet.ready,
                busy=fleet.busy,
                empty=len(fleet.idle) + len(fleet.unneeded),
                deleting=fleet.deleting,
            )
        )
        if self._over():
            return
        wait = settings.scan_interval
        productive = bool(step.asked or deleted)
        if settings.eager:
            if productive or (self.productive and settings.minor >= 33):
                wait = 0
            else:
                wait = min(wait, self._unschedulable(seen, end))
        self.productive = productive
        self._at(end + wait, self._loop)

    def _taint_softly(self, now: float) -> float:
        """Mark some of the unneeded nodes as candidates for deletion: when that is done.

        core/scaledown/actuation/softtaint.go
        """
        settings, waiting = self.case.settings, self.fleet.untainted
        while waiting and (waiting[0].tainted < NEVER or waiting[0].since == NEVER):
            waiting.popleft()
        number = min(settings.soft_taints, len(waiting))
        end, sent = self.client.send(now, number, until=now + settings.soft_taint_time)
        for _ in range(sent):
            waiting.popleft()
        return end

    def _unschedulable(self, seen: int, now: float) -> float:
        """Seconds until another pod becomes unschedulable (loop/trigger.go)."""
        if not max(seen, self.bound) < self.job.pods:
            return NEVER
        return max(0.0, self._visible(max(seen, self.bound)) + _MOMENT - now)

    def _over(self) -> bool:
        """Whether the run is over: all pods are done, and only the pools' minima remain."""
        fleet = self.fleet
        kept = sum(len(group.kept) for group in fleet.groups)
        if self.finished == self.job.pods and fleet.launched - fleet.gone == kept:
            return True
        if not self.case.settings.scale_down and self.finished == self.job.pods:
            return True
        alone = self.started == self.bound if self.job.gang else fleet.busy == 0
        awaited = any(group.waiting or group.young or group.unready for group in fleet.groups)
        stuck = not awaited and alone and self.bound < self.job.pods and not fleet.deleting
        limits = [self.case.ceiling, self.case.settings.nodes_total or None]
        full = any(one is not None and fleet.target + self.case.system_nodes >= one for one in limits)
        return stuck and (full or all(group.room <= 0 for group in fleet.groups))

    # --- what came of it

    def _summary(self) -> Summary:
        nodes = self.fleet.nodes
        end = max([0.0, *(node.gone for node in nodes if node.gone < NEVER)])
        done = max([0.0, *(node.done for node in nodes if node.start < NEVER and node.done < NEVER)])
        finished = self.finished == self.job.pods and self._over()
        phases = dict.fromkeys(PHASES, 0.0)
        paid_of: dict[int, list[float]] = {id(group): [] for group in self.fleet.groups}
        until = max(end, done, self.timeline[-1].time if self.timeline else 0)
        for node in nodes:
            last = node.gone if node.gone < NEVER else until
            if node.launched >= last:
                continue
            marks = [node.launched, node.ready, node.start, node.done, self._removable(node), node.tainted, last]
            if node.start == NEVER:
                marks[2] = marks[3] = min(node.done, last)
            if self.job.gang and node.start < NEVER and node.done < NEVER:
                marks[2] = node.done - self.job.duration
            at = node.launched
            for name, mark in zip(PHASES, marks[1:], strict=True):
                upto = min(max(at, mark), last)
                phases[name] += upto - at
                at = upto
            phases["wait"] -= node.earlier
            phases["work"] += node.earlier
            paid_of[id(node.pool)].append(self.provider.paid(last - node.launched))
        uses = tuple(Use(len(paid_of[id(group)]), sum(paid_of[id(group)])) for group in self.fleet.groups)
        paid = sum(use.paid for use in uses)
        readies = [node.ready for node in nodes if node.ready < NEVER]
        starts = [node.start for node in nodes if node.start < NEVER]
        rounding = paid - sum(phases.values())
        phases["delete"] += rounding
        return Summary(
            total=max(end, done) if finished else until, finished=finished, first_ready=min(readies, default=NEVER),
            last_ready=max(readies, default=NEVER), last_start=max(starts, default=NEVER), last_done=done,
            pods_done=self.finished, launched=len(nodes), paid=paid, phases=phases, held=self.held,
            uses=uses,
        )  # fmt: skip

    def _removable(self, node: Node) -> float:
        """When a node has been unneeded for long enough."""
        return node.since + self.case.settings.unneeded_time if node.since < NEVER else NEVER
