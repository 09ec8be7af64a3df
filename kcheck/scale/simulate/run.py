"""Simulation of a run in time order, without clock or files."""

from math import ceil, inf

from kcheck.scale.simulate.clock import Client, Clock
from kcheck.scale.simulate.model import NEVER, PHASES, Case, Event, Phase, Point, Run, Summary, Use
from kcheck.scale.simulate.nodes import REGISTERED_AT, Fleet, Group, Node, Provider, draws
from kcheck.scale.simulate.pods import Pods
from kcheck.scale.simulate.scaler import Karpenter, Scaler, Step

_TAINTERS = 5
"""Nodes that the autoscaler taints at the same time (core/scaledown/actuation/actuator.go)."""

_STATUS_REQUESTS = 2
"""Requests that write the autoscaler's status at the end of a loop (clusterstate/utils/status.go)."""

_PATIENCE = 12 * 3600
"""Seconds without any change after which no timer of the autoscaler runs."""

_MOMENT = 1e-6
"""Seconds after a pod was seen, to be safe from rounding."""


_MOST_SUMMARIES = 1024
"""Most results that are kept."""

_summaries: dict[Case, Summary] = {}
"""Results of runs: one that is shown is also compared, several times, and a run takes 20 ms."""


def simulate(case: Case) -> Run:
    """Simulate a job and its nodes; the same case gives the same result."""
    return _run(case, timeline=True)


def summarize(case: Case) -> Summary:
    """Simulate a run without its timeline, in a tenth of the time."""
    found = _summaries.get(case)
    return _run(case, timeline=False).summary if found is None else found


def trace(case: Case) -> list[Phase]:
    """Simulate a run; return the phases of all nodes, each with its time."""
    spans: list[Phase] = []
    _run(case, timeline=False, spans=spans)
    return spans


def _run(case: Case, *, timeline: bool, spans: list[Phase] | None = None) -> Run:
    simulation = _Simulation(case, timeline=timeline, spans=spans)
    result = simulation.run()
    simulation.dissolve()
    if len(_summaries) == _MOST_SUMMARIES:
        _summaries.clear()
    _summaries[case] = result.summary
    return result


class _Simulation:
    def __init__(self, case: Case, *, timeline: bool = True, spans: list[Phase] | None = None) -> None:
        self.spans = spans
        self.case, self.cloud = case, case.cloud
        self.clock = Clock()
        self.fleet = Fleet([Group(pool) for pool in case.pools])
        self.held = held = dict[str, float]()

        def hold(name: str, seconds: float) -> None:
            held[name] = held.get(name, 0) + seconds

        self.pods = Pods(case, self.fleet, self.clock, hold)
        self.scaler = (Karpenter if case.settings.karpenter else Scaler)(case, self.fleet, hold)
        self.provider = Provider(case.cloud, case.seed)
        self.client = Client(case.settings.client_qps, case.settings.client_burst)
        self.eager, self.productive = case.settings.eager, False
        self.interrupted = 0
        self.timeline: list[Point] = []
        self.has_timeline, self.last_loop = timeline, 0.0
        self.events: list[Event] = []

    def run(self) -> Run:
        for group in self.fleet.groups:
            for _ in range(group.pool.existing):
                self._exist(group)
        settings = self.case.settings
        first = draws(f"{self.case.seed}/phase").random() * settings.scan_interval
        if self.eager:
            first = min(first, self.case.job.at + _MOMENT)
        self._loops(first)
        self.clock.wait(self.case.horizon, inf)
        readies = [node.ready for node in self.fleet.nodes if node.ready < NEVER]
        return Run(self._summary(), self.timeline, self.events, readies)

    def dissolve(self) -> None:
        """Break reference cycles, as garbage collection is off."""
        self.clock.queue.clear()
        for work in self.pods.works:
            work.pods.clear()
        for group in self.fleet.groups:
            group.kept.clear()

    # --- nodes

    def _exist(self, group: Group) -> None:
        node = self._new(group, 0.0)
        node.registered, node.ready = -NEVER, 0.0
        group.target += 1
        group.ready += 1
        self.fleet.registered += 1
        self.fleet.ready += 1
        self.fleet.launched += 1
        self.pods.free(0.0, node)

    def _new(self, group: Group, launched: float) -> Node:
        node = Node(group, launched, self.spans)
        self.fleet.nodes.append(node)
        return node

    def _ask(self, now: float, group: Group, number: int) -> None:
        settings = self.case.settings
        self.events.append(Event(now, "scale-up", group.pool.name, number))
        for _ in range(number):
            launched, boot = self.provider.launch(group, now), self.provider.boot()
            node = self._new(group, launched)
            self.fleet.at(launched, "launch", group)
            registered, ready = (NEVER, NEVER) if boot is None else (launched + REGISTERED_AT * boot, launched + boot)
            if registered - launched > settings.provision_time:
                self.clock.at(launched + settings.provision_time, self._lose, node)
                continue
            node.registered = registered
            self.fleet.at(registered, "join", group)
            if ready - launched > settings.startup_time:
                self.clock.at(max(registered, launched + settings.startup_time), self._age, node)
            self.clock.at(ready, self._ready, node)
            if group.pool.spot:
                self.clock.at(ready + self.provider.interruption(), self._interrupt, node)

    def _age(self, _now: float, node: Node) -> None:
        node.unready = True
        node.pool.young -= 1
        node.pool.unready += 1
        if self.case.settings.minor >= 21:  # before, one that had never been ready did not count
            self.fleet.unready += 1

    def _ready(self, now: float, node: Node) -> None:
        node.ready = now
        node.spend("boot", now)
        if node.unready:
            node.unready = False
            node.pool.unready -= 1
            if self.case.settings.minor >= 21:
                self.fleet.unready -= 1
        else:
            node.pool.young -= 1
        node.pool.ready += 1
        self.fleet.ready += 1
        self.pods.free(now, node)

    def _lose(self, now: float, node: Node) -> None:
        node.pool.long += 1
        self.clock.at(now, self._forget, node)

    def _forget(self, now: float, node: Node) -> None:
        settings, group = self.case.settings, node.pool
        group.long -= 1
        group.waiting -= 1
        group.target -= 1
        node.spend("boot", now)
        node.tainted = now
        self.events.append(Event(now, "never joined", group.pool.name, 1))
        if now >= group.deadline:  # before a loop saw it: of a request that was given up, nothing more comes
            group.increase, group.deadline = 0, NEVER
            group.fail(now, settings.backoff, settings.backoff_most, settings.backoff_reset)
        self._go(now + self.provider.latency(), node)

    def _interrupt(self, now: float, node: Node) -> None:
        if node.tainted < NEVER or self.pods.ended:
            return
        fleet, group = self.fleet, node.pool
        self.interrupted += 1
        self.events.append(Event(now, "interrupted", group.pool.name, 1))
        group.target -= 1
        group.ready -= 1
        pod = node.pod
        if pod is None:
            node.rest(now, self.case.settings.unneeded_time)
            for nodes in (fleet.idle, fleet.unneeded, group.kept):
                if node in nodes:
                    nodes.remove(node)
        node.tainted = now
        fleet.deleting += 1
        if pod is not None:
            self.pods.interrupt(now, pod)
        self._go(now, node)

    # --- deletion

    def _delete(self, now: float, nodes: list[Node]) -> None:
        settings = self.case.settings
        self.events.append(Event(now, "scale-down", nodes[0].pool.pool.name, len(nodes)))
        self.fleet.deleting += len(nodes)
        self.scaler.in_progress += len(nodes)
        for node in nodes:
            node.rest(now, settings.unneeded_time)
            node.tainted = now
        wait = settings.taint_delay + settings.batcher_interval if settings.modern and settings.minor >= 26 else 0
        ends: dict[float, list[Node]] = {}
        for end, node in self.provider.calls(nodes, now + wait):
            ends.setdefault(end, []).append(node)
        if self.cloud.shrinks_first:
            self.clock.at(now + wait, self._shrink, nodes)
        for end, own in ends.items():
            self.clock.at(end, self._accept, own)

    def _shrink(self, _now: float, nodes: list[Node]) -> None:
        for node in nodes:
            node.pool.target -= 1
            node.pool.ready -= 1

    def _accept(self, now: float, nodes: list[Node]) -> None:
        fleet, settings = self.fleet, self.case.settings
        asks = settings.minor >= self.cloud.lookup_from
        if not self.cloud.shrinks_first:
            self._shrink(now, nodes)
        self.scaler.in_progress -= len(nodes)
        for node in nodes:
            node.pool.leaving -= 1
            latency = self.provider.latency()
            if asks and now + latency / 2 - node.registered > settings.startup_time:
                stopped = now + latency / 2  # from then on it is not ready, and its cloud still has it
                fleet.at(stopped, "stop", node.pool)
                fleet.at(min(now + latency, stopped + self.cloud.linger), "clear", node.pool)
            self._go(now + latency, node)

    def _go(self, time: float, node: Node) -> None:
        if time > self.case.horizon:
            return
        node.spend("delete", time)
        node.gone = time
        self.fleet.at(time, "leave" if node.registered < NEVER else "lose", node.pool)

    # --- loops

    def _loops(self, begin: float) -> None:
        """Run the autoscaler's loops until the run is over."""
        clock, horizon = self.clock, self.case.horizon
        while begin <= horizon:
            clock.wait(begin)
            step = self._begin_loop(begin)
            middle = begin + step.work
            if middle > horizon:
                return
            clock.wait(middle)
            begin = self._end_loop(middle, begin, step)

    def _begin_loop(self, now: float) -> Step:
        """Run the first half of a loop, which ends with requests for nodes."""
        scaler = self.scaler
        self.fleet.count(now)
        step = scaler.scale_up(now, self.pods)
        if scaler.events:
            self.events += [Event(now, *event) for event in scaler.events]
            scaler.events.clear()
        if step.asked:
            for group, number in step.asked:
                self._ask(now, group, number)
            self.client.queue(now + step.work, sum(number for _, number in step.asked))
        return step

    def _end_loop(self, now: float, began: float, step: Step) -> float:
        """End a loop: deletions, then soft taints; return the next one's time."""
        settings, fleet, cloud = self.case.settings, self.fleet, self.cloud
        fleet.count(now)
        deleted = self.scaler.scale_down(began) if step.deletes else []
        end = now
        if deleted:
            requests = round(cloud.taint_requests * len(deleted))
            end, _ = self.client.send(now, requests, workers=_TAINTERS if settings.modern else 1)
            self.client.queue(end, cloud.event_requests * len(deleted))
            self._delete(end, deleted)
        if settings.soft_taints and not settings.karpenter:
            end = self._taint_softly(end) if fleet.untainted else end
            end, _ = self.client.send(end, _STATUS_REQUESTS)
        self.last_loop = now
        if self.has_timeline:
            there, empty = fleet.launched - fleet.gone, len(fleet.idle) + len(fleet.unneeded)
            self.timeline.append(
                Point(now, fleet.target, there, fleet.ready, fleet.busy, empty=empty, deleting=fleet.deleting)
            )
        if self._over():
            return NEVER
        wait = settings.scan_interval
        productive = bool(step.asked or deleted)
        if self.eager:
            if productive or (self.productive and settings.minor >= 33):
                wait = 0
            else:
                wait = min(wait, self.pods.next_one(began, end) + _MOMENT)
        self.productive = productive
        changes = fleet.unneeded or fleet.untainted or (fleet.idle and settings.scale_down)
        if wait and not changes and end - self.clock.last > _PATIENCE:  # a long job: most loops find nothing to do
            upcoming = min([self.case.horizon + 1, *(call[0] for call in self.clock.queue[:1])])
            wait *= max(1, ceil((upcoming - end) / wait))
        return end + wait

    def _taint_softly(self, now: float) -> float:
        """Mark some unneeded nodes as candidates for deletion.

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

    def _over(self) -> bool:
        """Whether all pods are done, and only minimum nodes remain."""
        fleet, pods = self.fleet, self.pods
        if pods.ended:
            if not self.case.settings.scale_down:
                return True
            if fleet.deleting or fleet.unneeded:  # most loops of a run: there are more nodes than those that are kept
                return False
            return fleet.launched - fleet.gone == sum([len(group.kept) for group in fleet.groups])
        if pods.awaited or fleet.deleting or any(group.waiting + group.young + group.unready for group in fleet.groups):
            return False
        full = any(fleet.target + self.case.system_nodes >= total for total in self.scaler.totals.values())
        return full or not pods.unschedulable or all(group.room <= 0 for group in fleet.groups)

    def _summary(self) -> Summary:
        nodes, pods = self.fleet.nodes, self.pods
        self.fleet.count(self.case.horizon)
        end = max([0.0, *(node.gone for node in nodes if node.gone < NEVER)])
        done = pods.last_done
        finished = pods.finished == self.case.pods and self._over()
        paid_nodes: dict[int, list[Node]] = {id(group): [] for group in self.fleet.groups}
        until = max(end, done, 0 if finished else self.last_loop)
        for node in nodes:
            if node.gone == NEVER:
                node.close(until, self.case.settings.unneeded_time)
            if node.launched < min(node.gone, until):
                paid_nodes[id(node.pool)].append(node)
        uses = tuple(self._use(paid_nodes[id(group)], until) for group in self.fleet.groups)
        phases = {phase: sum([use.phases[phase] for use in uses]) for phase in PHASES}
        readies = [node.ready for node in nodes if node.ready < NEVER]
        return Summary(
            total=until, finished=finished, first_ready=min(readies, default=NEVER),
            last_ready=max(readies, default=NEVER), last_start=pods.last_start, last_done=done,
            pods_done=pods.finished, launched=len(nodes), paid=sum(phases.values()), phases=phases, uses=uses,
            held=self.held, bound=frozenset(self.scaler.bound),
            jobs=tuple(one.times for one in pods.works),
            interrupted=self.interrupted, lost=pods.lost, failed=pods.failed, refused=pods.refused,
        )  # fmt: skip

    def _use(self, nodes: list[Node], until: float) -> Use:
        """Sum the paid time of a pool's nodes, in billing steps."""
        paid = sum([self.provider.paid(min(node.gone, until) - node.launched) for node in nodes])
        phases = {phase: sum([node.spent[phase] for node in nodes], 0.0) for phase in PHASES}
        phases["delete"] += paid - sum(phases.values())
        held = sum(node.pod is not None and node.pod.working == NEVER for node in nodes)
        return Use(len(nodes), phases, held)
