"""Loops of the cluster autoscaler and of Karpenter.

core/static_autoscaler.go and below of https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler, where
not said otherwise; `minor` decides between its generations.
"""

from collections.abc import Callable
from math import exp, sqrt
from typing import NamedTuple

from kcheck.scale.simulate.model import NEVER, Case
from kcheck.scale.simulate.nodes import Fleet, Group, Node, draws
from kcheck.scale.simulate.pods import Pods

_FRESH, _FRESH_GPU = 2, 30
"""Age in seconds below which pods block scale-up and deletion: all of them, or the oldest of those with GPUs."""


class Step(NamedTuple):
    """Result of scaling up: duration, requests, and whether to delete next."""

    work: float
    asked: list[tuple[Group, int]]
    deletes: bool = True


class Scaler:
    """Autoscaler of a run. `hold` records which setting delayed it, and for how long.

    `bound` are the settings, bulk_delete and max_unready_nodes, whose increase would have changed its actions, and
    "timers" if a batch limited those. `totals` are node limits by name. Pools have deadlines only if it `has_requests`.
    """

    def __init__(self, case: Case, fleet: Fleet, hold: Callable[[str, float], None]) -> None:
        self.case, self.settings, self.cloud, self.fleet, self.hold = case, case.settings, case.cloud, fleet, hold
        self.local = self.settings.local_delays and self.settings.minor >= 29
        self.modern = self.settings.modern
        self.limited = self.modern and self.settings.minor >= 27
        self.last_scale_up = self.last_delete = self.last_failure = -NEVER
        self.in_progress = 0
        self.shortest = NEVER
        self.last_update = -NEVER
        self.last_loop = -NEVER
        self.period = 0.0
        self.has_requests = False
        totals = {"max-nodes-total": self.settings.max_nodes or None, "walls": case.ceiling}
        self.totals = {name: total for name, total in totals.items() if total is not None}
        self._noise = draws(f"{case.seed}/loop")
        self.events: list[tuple[str, str, int]] = []
        self.bound: set[str] = set()

    def scale_up(self, now: float, pods: Pods) -> Step:
        """Begin a loop: request nodes for waiting pods."""
        fleet, settings, cloud = self.fleet, self.settings, self.cloud
        period = self.period = now - self.last_loop if self.last_loop > -NEVER else 0
        self.last_loop = now
        registered = fleet.registered + self.case.system_nodes
        work = (cloud.loop + cloud.loop_per_node * registered) * exp(cloud.loop_sigma * self._noise.gauss(0, 1))
        if self.in_progress:
            work *= cloud.loop_deleting
        if self.has_requests:
            self._timeouts(now)
        if fleet.unready > max(settings.max_unready_nodes, settings.max_unready_percentage / 100 * registered):
            while fleet.unneeded:
                node = fleet.unneeded.pop()
                node.since = NEVER
                fleet.idle.appendleft(node)
            self.bound.add("max_unready_nodes")
            self.events.append(("unhealthy", "", fleet.unready))
            self.hold("max-total-unready-percentage", period)
            return Step(work, [], deletes=False)
        asked: list[tuple[Group, int]] = []
        simulated, fresh = 0.0, False
        if pods.unschedulable and pods.unschedulable > (coming := self._coming):
            fresh = pods.are_younger(_FRESH_GPU if self.case.job.gpu else _FRESH, now)
            asked, simulated = self._up(now, pods, coming, fresh=fresh)
        if asked:
            self.last_scale_up = now
        rests = bool(asked) and settings.minor <= 28
        if settings.scale_down and not rests:
            self._clocks(now)
        return Step(work + simulated, asked, not fresh and not rests)

    def scale_down(self, now: float) -> list[Node]:
        """End a loop that began `now`; return the nodes to delete."""
        settings, fleet = self.settings, self.fleet
        if not fleet.unneeded or now - fleet.unneeded[0].since <= settings.unneeded_time or not settings.scale_down:
            return []
        held = "" if self.local else self._cooling(now, self.last_scale_up, self.last_delete)
        if held:
            self.hold(held, self.period)
            return []
        batch = settings.bulk_delete
        return self.removable_nodes(now, max(0, batch - self.in_progress) if self.modern else batch)

    def _timeouts(self, now: float) -> None:
        """Fail requests whose nodes are late, and back off their pools."""
        settings = self.settings
        self.has_requests = False
        for group in self.fleet.groups:
            if group.deadline == NEVER:
                continue
            if group.coming == 0:
                group.increase, group.deadline = 0, NEVER
            elif now < group.deadline:
                self.has_requests = True
            else:
                self.events.append(("scale-up timed out", group.pool.name, group.coming))
                group.fail(now, settings.backoff, settings.backoff_most, settings.backoff_reset)
                group.increase, group.deadline = 0, NEVER

    # --- up

    @property
    def _coming(self) -> int:
        """Nodes expected for pods; from 1.36 on, abandoned ones do not count."""
        late = self.settings.minor < 36
        return sum([one.waiting - one.long + one.young for one in self.fleet.groups if late or one.deadline < NEVER])

    def _up(self, now: float, pods: Pods, coming: int, *, fresh: bool) -> tuple[list[tuple[Group, int]], float]:
        """Request nodes for pods that have waited long enough."""
        settings, fleet, period = self.settings, self.fleet, self.period
        delay = settings.new_pod_delay
        old = sum(pod.created <= now - delay for waiting in pods.waiting.values() for pod in waiting) if delay else 0
        want = (old if delay else pods.unschedulable) - coming
        if want <= 0:
            self.hold("new-pod-scale-up-delay", period)
            return [], 0
        if fresh:
            return [], 0
        most = settings.scale_up_nodes if settings.minor >= 24 else 0  # before, an estimate ran to its end
        limit = min(want, most or want)
        for name, total in self.totals.items():
            room = total - fleet.target - self.case.system_nodes
            if room <= 0:
                self.hold(name, period)
                return [], 0
            limit = min(limit, room)
        able = self._able(now)
        if not able:
            return [], 0
        packed, simulated = self._packed(min(limit, sum([group.pool.most - group.target for group in able])), want)
        if packed < want and packed == most:
            self.hold("max-nodes-per-scaleup", period)
        if settings.balance:
            return self.balanced(able, packed, now), simulated
        asked: list[tuple[Group, int]] = []
        salvo = settings.salvo and settings.minor >= 36
        for group in able if salvo else able[:1]:  # one pool a loop, or one after the other in the same
            asked += self.balanced([group], min(packed - sum(number for _, number in asked), group.room), now)
        return asked, simulated

    def _able(self, now: float) -> list[Group]:
        """List the groups that may grow; hold the scale-up if none may."""
        able, reason = [], "maxima of the pools"
        most, percentage = self.settings.max_unready_nodes, self.settings.max_unready_percentage
        for group in self.fleet.groups:
            if group.target >= group.pool.most:
                continue
            if now < group.backoff_until:
                reason = "initial-node-group-backoff-duration"
            elif group.ready == group.target or group.healthy(most, percentage):  # as it is before it grows
                able.append(group)
            else:
                self.bound.add("max_unready_nodes")
        if not able:
            self.hold(reason, self.period)
        return able

    def _packed(self, limit: int, pods: int) -> tuple[int, float]:
        """Return the new nodes that the estimator finds in its time limit."""
        if not self.case.job.anti_affinity:
            return limit, self.cloud.fit_check * pods
        check = self.cloud.affinity_check
        seconds = check * pods * limit / 2
        most = self.settings.binpacking_time
        if self.settings.minor >= 24 and check and seconds > most:
            limit = max(1, min(limit, int(sqrt(2 * most / check))))
            self.hold("max-nodegroup-binpacking-duration", most)
            seconds = most
        return limit, seconds

    def balanced(self, groups: list[Group], count: int, now: float) -> list[tuple[Group, int]]:
        """Spread an increase over equal pools, the smallest first."""
        added = dict.fromkeys(range(len(groups)), 0)
        left = count
        while left > 0:
            open_ = [i for i, group in enumerate(groups) if group.room - added[i] > 0]
            if not open_:
                break
            lowest = min(groups[i].target + added[i] for i in open_)
            level = [i for i in open_ if groups[i].target + added[i] == lowest]
            above = [groups[i].target + added[i] for i in open_ if groups[i].target + added[i] > lowest]
            step = min([groups[i].room - added[i] for i in level] + ([min(above) - lowest] if above else []))
            share = min(step, left // len(level))
            if share == 0:
                for i in level[:left]:
                    added[i] += 1
                break
            for i in level:
                added[i] += share
            left -= share * len(level)
        result = []
        for i, number in added.items():
            if number:
                self.has_requests = True
                group = groups[i]
                group.target += number
                group.waiting += number
                group.increase += number
                group.deadline = now + self.settings.provision_time
                group.last_increase = now
                result.append((group, number))
        return result

    # --- down

    def _cooling(self, now: float, increase: float, deletion: float) -> str:
        """Return the flag that currently delays deletion; empty if there is none."""
        settings = self.settings
        pauses = {
            "scale-down-delay-after-add": increase + settings.delay_after_add,
            "scale-down-delay-after-failure": self.last_failure + settings.delay_after_failure,
            "scale-down-delay-after-delete": deletion + settings.delay_after_delete,
        }
        return next((name for name, until in pauses.items() if until > now), "")

    def removable_nodes(self, now: float, most: int) -> list[Node]:
        """List nodes unneeded for long enough, within a batch and the pools' minima."""
        settings, fleet = self.settings, self.fleet
        result: list[Node] = []
        later: list[Node] = []
        last = {id(group): group.last_deletion for group in fleet.groups} if self.local else {}
        while fleet.unneeded and len(result) < most and now - fleet.unneeded[0].since > settings.unneeded_time:
            node = fleet.unneeded.popleft()
            group = node.pool
            if self.local and self._cooling(now, group.last_increase, last[id(group)]):
                later.append(node)
            elif group.target <= group.pool.least:
                group.kept.append(node)
            elif group.target - group.leaving <= group.pool.least:  # "node group min size reached"
                later.append(node)
            else:
                group.leaving += 1
                self.last_delete = group.last_deletion = now
                result.append(node)
        fleet.unneeded.extendleft(reversed(later))
        if len(result) == most and fleet.unneeded and now - fleet.unneeded[0].since > settings.unneeded_time:
            self.bound.add("bulk_delete")
            self.hold(settings.batch_flag, settings.scan_interval)
        return result

    def _clocks(self, now: float) -> None:
        """Start the unneeded timer of empty nodes, a limited number from 1.27 on.

        core/scaledown/planner/planner.go
        """
        settings, fleet = self.settings, self.fleet
        if self.limited and self.last_update > -NEVER:
            self.shortest = min(self.shortest, now - self.last_update)
        self.last_update = now
        if not fleet.idle:
            return
        number = len(fleet.idle)
        if self.limited:
            batch, there = settings.bulk_delete, len(fleet.unneeded)
            loops = int(settings.unneeded_time / self.shortest) if self.shortest not in (0, NEVER) else 0
            number = max(0, min(there + 2 * batch, batch * max(1, loops) + batch) - there)
            if number < len(fleet.idle):
                self.bound |= {"bulk_delete", "timers"}
        for _ in range(min(number, len(fleet.idle))):
            node = fleet.idle.popleft()
            node.since = now
            fleet.unneeded.append(node)
            fleet.untainted.append(node)


class Karpenter(Scaler):
    """Small model of Karpenter, not calibrated.

    https://karpenter.sh/docs/concepts/disruption/ and /scheduling/: pods are batched for at most ten seconds, nodes
    that do not register are replaced, empty ones go after `consolidateAfter`, `bulk_delete` of them as budgets allow.
    """

    def scale_up(self, now: float, pods: Pods) -> Step:
        """Begin a round: request nodes for all pods without one."""
        fleet, settings = self.fleet, self.settings
        asked = []
        want = pods.unschedulable - fleet.coming
        if self.case.ceiling is not None and want > 0:
            room = self.case.ceiling - fleet.target - self.case.system_nodes
            if room < want:
                self.hold("walls", settings.scan_interval)
            want = min(want, max(0, room))
        if want > 0:
            able = [group for group in fleet.groups if group.room > 0]
            if not able:
                self.hold("maxima of the pools", settings.scan_interval)
            asked = self.balanced(able, min(want, sum(group.room for group in able)), now)
        while fleet.idle:
            node = fleet.idle.popleft()
            node.since = now
            fleet.unneeded.append(node)
        return Step(self.cloud.loop, asked)

    def scale_down(self, now: float) -> list[Node]:
        """End a round; return the empty nodes that may go."""
        return self.removable_nodes(now, max(0, self.settings.bulk_delete - self.in_progress))
