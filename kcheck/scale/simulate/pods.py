"""Jobs of a run and their pods, from admission to the end."""

from collections import deque
from collections.abc import Callable
from itertools import chain, zip_longest
from operator import attrgetter

from kcheck.scale.simulate.clock import Client, Clock
from kcheck.scale.simulate.model import NEVER, Case, Job, Queue
from kcheck.scale.simulate.nodes import Fleet, Node, Pod, Work

_priority = attrgetter("job.priority")


class Pods:
    """All pods of a run. `hold` records which setting delayed them, and for how long.

    `unschedulable` counts those `waiting` for a node; each loop reads it.
    """

    def __init__(self, case: Case, fleet: Fleet, clock: Clock, hold: Callable[[str, float], None]) -> None:
        self.case, self.cloud, self.fleet, self.clock, self.hold = case, case.cloud, fleet, clock, hold
        self.works = [Work(job) for job in case.jobs]
        self._pod_gap = 1 / self.cloud.pod_rate if self.cloud.pod_rate else 0
        self.waiting = {number: deque[Pod]() for number in sorted({job.priority for job in case.jobs}, reverse=True)}
        self._every = case.pods
        self.finished = self.failed = self.refused = 0
        self.awaited = self.unschedulable = 0
        self.last_seen = -NEVER
        self.last_start, self.last_done = NEVER, 0.0
        self.lost = 0.0
        self._coming: deque[float] = deque()
        self._create = Client(case.cloud.create_rate, case.cloud.create_burst)
        self._schedule = Client(case.cloud.schedule_rate, 1)
        self._next_start = self._limited_until = self._held_up = self._held_until = 0.0
        self._pulled: deque[float] = deque()
        self._free = [fleet.idle, fleet.unneeded, *(group.kept for group in fleet.groups)]
        self._queues = {queue.name: queue for queue in case.queues}
        for at in dict.fromkeys(job.at for job in case.jobs):
            self._later(at, self._submit, [work for work in self.works if work.job.at == at])

    @property
    def ended(self) -> bool:
        """Whether all pods are done, or have failed with their job."""
        return self.finished + self.failed == self._every

    def are_younger(self, seconds: float, now: float) -> bool:
        """Whether all waiting pods are younger than some seconds."""
        for pods in self.waiting.values():
            for pod in pods:
                if now - pod.created >= seconds:
                    return False
        return True

    def next_one(self, since: float, now: float) -> float:
        """Return the seconds until the next pod becomes unschedulable."""
        if self.last_seen > since:
            return 0.0
        return max(0.0, self._coming[0] - now) if self._coming else NEVER

    # --- admission and creation: the Job controller in a burst and at a rate, the scheduler at its own

    def _later(self, time: float, act: Callable[..., None], *arguments: object) -> None:
        """Schedule a call that is counted in `awaited` until it runs."""
        self.awaited += 1
        self.clock.at(time, act, *arguments)

    def _submit(self, now: float, works: list[Work]) -> None:
        self.awaited -= 1
        self._make(now, *(work for work in works if work.job.queue not in self._queues))
        for name in dict.fromkeys(work.job.queue for work in works if work.job.queue in self._queues):
            self._admit(now, self._queues[name])

    def _admit(self, now: float, queue: Queue) -> None:
        """Admit jobs of a queue while it has nodes, higher priority first.

        Pods that are done give their quota back (reclaimable pods of Kueue).
        """
        own = [one for one in self.works if one.job.queue == queue.name and one.done == NEVER and not one.failed]
        for work in sorted(own, key=lambda one: (-one.job.priority, one.job.at)):
            if work.admitted or work.job.at > now:
                continue
            if work.quota > queue.nodes:
                self.hold(f"the quota of the queue {queue.name}", self.case.horizon)
                continue
            room = queue.nodes - sum(one.quota for one in own if one.admitted)
            if queue.preempts and room < work.quota:
                room += self._preempt_jobs(now, own, work.job, work.quota - room)
            if room >= work.quota:
                self._make(now, work)

    def _preempt_jobs(self, now: float, works: list[Work], job: Job, nodes: float) -> float:
        lower = sorted((one for one in works if one.admitted and one.job.priority < job.priority), key=_priority)
        if sum(one.quota for one in lower) < nodes:
            return 0
        found = 0.0
        for work in lower:
            if found >= nodes:
                break
            found += work.quota
            self._withdraw(now, work)
        return found

    def _withdraw(self, now: float, work: Work) -> None:
        work.admitted = False
        for priority, pods in self.waiting.items():
            self.waiting[priority] = deque(pod for pod in pods if pod.work is not work)
        self.unschedulable = sum(map(len, self.waiting.values()))
        self._stop(now, work, list(work.pods))

    def _make(self, now: float, *works: Work) -> None:
        """Create the pods of unfinished jobs in turn."""
        for work in works:
            work.admitted = True
            work.tries += 1
            if work.job.deadline < self.case.horizon:
                self._later(now + work.job.deadline, self._expire, work, work.tries)
        for pod in chain.from_iterable(zip_longest(*(work.pods for work in works))):
            if pod is None or pod.done:
                continue
            pod.created = self._create.send_one(now)
            seen = self._schedule.send_one(pod.created)
            self._coming.append(seen)
            self._later(seen, self._seen, pod, pod.life)

    def _expire(self, now: float, work: Work, tries: int) -> None:
        self.awaited -= 1
        if not work.admitted or work.tries != tries:
            return
        work.failed = True
        self.failed += work.left
        self._withdraw(now, work)
        if work.job.queue in self._queues:
            self._admit(now, self._queues[work.job.queue])

    def _seen(self, now: float, pod: Pod, life: int) -> None:
        """Schedule a pod on a free node, by preemption, or let it wait."""
        self.awaited -= 1
        self._coming.popleft()
        if pod.life != life:
            return
        node = self._free_node(now) or self._preempt_pod(now, pod)
        if node is not None:
            self._bind(now, node, pod)
            return
        self._wait(pod, now)

    def _free_node(self, now: float) -> Node | None:
        for nodes in self._free:
            if nodes:
                node = nodes.pop()
                node.rest(now, self.case.settings.unneeded_time)
                return node
        return None

    def _preempt_pod(self, now: float, pod: Pod) -> Node | None:
        """Take the node of a lower-priority pod that no queue has admitted."""
        if not pod.work.job.preempts:
            return None
        lower = [
            work
            for work in self.works
            if work.job.priority < pod.work.job.priority and work.job.queue not in self._queues
        ]
        for work in sorted(lower, key=_priority):
            victim = next((one for one in work.pods if one.node is not None), None)
            if victim is not None:
                node = victim.place
                self.interrupt(now, victim)
                return node
        return None

    # --- on a node

    def free(self, now: float, node: Node) -> None:
        """Give a node to the first pod with the highest priority, if any."""
        for waiting in self.waiting.values():
            if waiting:
                self.unschedulable -= 1
                self._bind(now, node, waiting.popleft())
                return
        self.fleet.idle.append(node)

    def _bind(self, now: float, node: Node, pod: Pod) -> None:
        self.fleet.busy += 1
        pod.node, node.pod = node, pod
        pod.phase, job = "pull", pod.work.job
        if job in node.images:
            self._later(now, self._started, pod, pod.life)
        else:
            node.images.append(job)
            self._later(now + self.cloud.pull, self._start, pod, pod.life)

    def _start(self, now: float, pod: Pod, life: int) -> None:
        """Start a pod when its turn comes and its images can be pulled."""
        self.awaited -= 1
        if pod.life != life:
            return
        turn = max(now, self._next_start)
        begin = self._pull(turn) if self.case.pulls else turn
        self.refused += now < self._limited_until
        self._next_start = begin + self._pod_gap
        if begin == turn:
            pod.place.spend("pull", now)
            pod.phase = "turn"
            self._held_up += max(0.0, begin - max(now, self._held_until))
            self._held_until = max(begin, self._held_until)
        self._later(begin, self._started, pod, life)

    def _held_up_before(self, now: float) -> float:
        """Return the seconds before now in which some pod waited for its turn."""
        return self._held_up - max(0.0, self._held_until - now)

    def _pull(self, now: float) -> float:
        """Return when the registry serves the next pod's images."""
        case, pulled = self.case, self._pulled
        while pulled and pulled[0] <= now - case.window:
            pulled.popleft()
        if pulled and len(pulled) >= case.pulls:
            now = pulled[0] + case.window
            self.hold("the registry's pull limit", now - pulled[-1])
            self._limited_until = now
            while pulled and pulled[0] <= now - case.window:
                pulled.popleft()
        pulled.append(now)
        return now

    def _started(self, now: float, pod: Pod, life: int) -> None:
        self.awaited -= 1
        if pod.life != life:
            return
        work, node = pod.work, pod.place
        node.spend(pod.phase, now)
        pod.phase, pod.free = "wait", now - self._held_up_before(now)
        work.started += 1
        self.last_start = now
        together = work.job.gang
        if together and work.started < len(work.pods):
            return
        work.first_start = min(work.first_start, now)
        pods = work.pods if together else [pod]
        for one in pods:
            one.place.spend("turn", one.free + self._held_up_before(now))
            one.place.spend("wait", now)
            one.working, one.phase = now, "work"
        seconds = work.job.duration * max([one.left for one in pods])
        self._later(now + seconds, self._finish, [(one, one.life) for one in pods])

    def _finish(self, now: float, pods: list[tuple[Pod, int]]) -> None:
        self.awaited -= 1
        for pod, life in pods:
            if pod.life == life:
                self._end(now, pod)

    def _end(self, now: float, pod: Pod) -> None:
        node, work = self._take_away(now, pod), pod.work
        pod.working, pod.done, pod.left = NEVER, True, 0
        self.finished += 1
        self.last_done = now
        work.finished += 1
        if work.finished == len(work.pods):
            work.done, work.admitted = now, False
        if work.job.queue in self._queues:
            self._admit(now, self._queues[work.job.queue])
        self.free(now, node)

    # --- what takes pods from their nodes

    def interrupt(self, now: float, pod: Pod) -> None:
        """Take the node of a pod with its work; a gang loses all of it."""
        self._take_away(now, pod)
        if pod.work.job.gang:
            self._stop(now, pod.work, [one for one in pod.work.pods if one.node is not None], again=True)
        self._forget(now, pod)
        self._wait(pod, now)

    def _take_away(self, now: float, pod: Pod) -> Node:
        node = pod.place
        self.fleet.busy -= 1
        pod.node = node.pod = None
        node.spend(pod.phase, now)
        return node

    def _stop(self, now: float, work: Work, pods: list[Pod], *, again: bool = False) -> None:
        """Remove pods of a job from their nodes; with `again`, create new ones."""
        nodes = [self._take_away(now, pod) for pod in pods if pod.node is not None]
        for pod in pods:
            if not pod.done:
                self._forget(now, pod)
                if again:
                    self._wait(pod, now)
        work.started = 0
        for node in nodes:
            self.free(now, node)

    def _forget(self, now: float, pod: Pod) -> None:
        pod.life, pod.created = pod.life + 1, now
        if pod.working < NEVER:
            duration = pod.work.job.duration
            done = min(pod.left - 1, int((now - pod.working) // duration))
            pod.left -= done
            self.lost += now - pod.working - done * duration
        pod.working = NEVER

    def _wait(self, pod: Pod, now: float) -> None:
        self.last_seen = now
        self.unschedulable += 1
        self.waiting[pod.work.job.priority].append(pod)
