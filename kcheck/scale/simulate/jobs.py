"""Jobs that run at the same time."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.model import KUEUE_PRIORITY, Cluster, NodePool, PodTemplate, PriorityClass, Workload
from kcheck.model import Queue as QueueInCode
from kcheck.scale import queue_limits, schedules
from kcheck.scale.queues import admitting_queue
from kcheck.scale.simulate.model import Job, Queue
from kcheck.scale.world import World
from kcheck.text.need import or_unknown
from kcheck.text.values import Known, Unknown, equals, known, number


class Jobs(NamedTuple):
    """Jobs, the largest first; `note` says why they run at once."""

    jobs: tuple[tuple[Workload, PodTemplate], ...]
    note: str = ""
    queue: QueueInCode | None = None

    @property
    def pods(self) -> int:
        """Number of the jobs' pods."""
        return sum(number(template.count, 0) for _, template in self.jobs)


def largest(world: World, cluster: Cluster) -> Jobs | None:
    """Find the job or jobs at once whose nodes cost most."""
    found = every(world, cluster)
    single = [Jobs((pair,)) for pair in found if nodes(*pair, world, None) > 1]
    groups = [*single, *_of_schedules(found), *_of_queues(world, found)]
    costs = [sum(_mills(*pair, world) for pair in one.jobs) for one in groups]
    ranks = [(cost, one.pods) for one, cost in zip(groups, costs, strict=True)] if all(costs) else []
    return groups[ranks.index(max(ranks))] if ranks else max(groups, key=lambda one: one.pods, default=None)


def _mills(job: Workload, template: PodTemplate, world: World) -> int:
    """Return the price of an hour on the cheapest pool that takes a job."""
    pools = [pool for pool, _ in known(world.pools.candidates(template)) or ()]
    priced = [(nodes(job, template, world, pool), world.numbers.price(pool)) for pool in pools]
    return min((count * price.mills for count, price in priced if price), default=0)


def every(world: World, cluster: Cluster) -> list[tuple[Workload, PodTemplate]]:
    """List a cluster's jobs, else other workloads that need all their pods."""
    own = [one for one in world.deployed.on(cluster).workloads if one.templates and not one.per_node]
    jobs = [one for one in own if one.batch and known(one.suspended) is not True]
    found = jobs or [one for one in own if known(one.rigid)]
    return [(job, max(job.templates, key=lambda one: number(one.count, 0))) for job in found]


def nodes(job: Workload, template: PodTemplate, world: World, pool: NodePool | None) -> int:
    """Count the nodes of pods, including pods of other roles with equal requests."""
    alike = [one for one in job.templates if one is template or _needs(one) == _needs(template)]
    return sum(world.pools.nodes_for(one, pool) if pool else number(one.count, 0) for one in alike)


def _needs(template: PodTemplate) -> tuple[object, ...] | str:
    """Return a key shared by pods with equal requests and selection."""
    asked = known(template.gpus) or 0, known(template.cpu) or 0, known(template.memory) or 0
    return (*asked, known(template.selection)) if any(asked[:2]) else template.id


def _of_schedules(every: list[tuple[Workload, PodTemplate]]) -> Iterator[Jobs]:
    pairs = schedules.together(every, lambda template: number(template.count, 0))
    if pairs:
        found = dict.fromkeys(" ".join((known(job.schedule) or "").split()) for job, _ in pairs)
        yield Jobs(_sorted(pairs), f"{len(pairs)} CronJobs start together ({'; '.join(found)})")


def _of_queues(world: World, every: list[tuple[Workload, PodTemplate]]) -> Iterator[Jobs]:
    """Yield the jobs of each queue with a known quota, as if submitted together."""
    groups = defaultdict(list)
    for pair in every:
        queue = admitting_queue(pair[0], world)
        if queue is not None and _given(queue, world) and not isinstance(pair[0].schedule, Known):
            groups[queue].append(pair)
    for queue, pairs in groups.items():
        if len(pairs) > 1:
            beside = f" while nobody else uses cohort {known(queue.cohort)}" if known(queue.cohort) else ""
            name = f"the {len(pairs)} jobs of the queue {known(queue.name)} are submitted together{beside}"
            yield Jobs(_sorted(pairs), name, queue)


def _sorted(pairs: list[tuple[Workload, PodTemplate]]) -> tuple[tuple[Workload, PodTemplate], ...]:
    return tuple(sorted(pairs, key=lambda pair: (-number(pair[1].count, 0), str(known(pair[0].name)))))


def on_pools(found: Jobs, world: World, pools: list[NodePool]) -> Jobs:
    """Return the largest job and others that some of the pools take."""
    first, *others = found.jobs
    fitting = [pair for pair in others if any(world.pools.fit(pair[1], pool).fits is not False for pool in pools)]
    return found._replace(jobs=(first, *fitting))


def simulated(found: Jobs, world: World, pool: NodePool | None, seconds: float) -> tuple[list[Job], tuple[Queue, ...]]:
    """Convert jobs and their queue for a run of one pod per node."""
    quotas = _given(found.queue, world) if found.queue is not None and pool is not None else {}
    shares = [_share(job, template, pool, quotas, world) if pool else Fraction(0) for job, template in found.jobs]
    queue = _queue(found.queue, shares[0]) if found.queue is not None else None
    result = []
    for (job, template), share in zip(found.jobs, shares, strict=True):
        count = nodes(job, template, world, pool)
        rank = _priority_class(world, job)
        priority, preempts = (number(rank.number, 0), not equals(rank.preemption, "Never")) if rank else (0, True)
        own = replace(as_run(job, template, count, seconds), priority=priority, preempts=preempts)
        result.append(replace(own, queue=queue.name, weight=float(share / shares[0])) if queue is not None else own)
    return result, (queue,) if queue is not None else ()


def as_run(job: Workload, template: PodTemplate, nodes: int, seconds: float) -> Job:
    """Convert a job for a run; gangs start together, Kueue alone holds no pods."""
    at_once, every = number(template.count, 0), number(job.completions, 0)
    waves = (every, at_once) if every > at_once > 0 else (0, 0)
    return Job(
        nodes, seconds, known(job.gang) not in (None, "Kueue") or known(job.rigid) is True,
        anti_affinity=bool(known(template.spread)), name=known(job.name) or job.kind,
        deadline=known(job.deadline) or inf, completions=waves[0], parallel=waves[1],
        period=schedules.period(known(job.schedule) or ""), concurrency=known(job.concurrency) or "Allow",
    )  # fmt: skip


def _queue(queue: QueueInCode, share: Fraction) -> Queue | None:
    """Count the nodes that a queue's quota allows; None without a quota."""
    preempts = known(queue.preemption) not in (None, "Never")
    return Queue(str(known(queue.name)), int(1 / share), preempts=preempts) if share else None


def _share(job: Workload, template: PodTemplate, pool: NodePool, quotas: dict[str, int], world: World) -> Fraction:
    """Return the share of a queue's scarcest quota that one node requests."""
    pods = Fraction(number(template.count, 0), max(1, world.pools.nodes_for(template, pool)))
    claims = known(world.deployed.device_resources(job)) or {} if known(template.device_classes) else {}
    asked = [*queue_limits.requests_of(template), *((name, template.gpus) for name in claims.values())]
    units = {name: quota * (1000 if name == "cpu" else 1) for name, quota in quotas.items() if quota}
    return max((pods * number(amount, 0) / units[name] for name, amount in asked if name in units), default=Fraction(0))


def _given(queue: QueueInCode, world: World) -> dict[str, int]:
    """Sum the maximum quota of a queue over its flavors."""
    given = or_unknown(queue_limits.most)(queue, world)
    return {} if isinstance(given, Unknown) else {name: sum(flavors.values()) for name, flavors in given.items()}


def _priority_class(world: World, job: Workload) -> PriorityClass | None:
    own = (known(job.labels) or {}).get(KUEUE_PRIORITY)
    pairs = [(True, own), (False, known(job.priority))]
    near = [one for one in world.deployed.beside(job).classes if (one.kueue, known(one.name)) in pairs]
    return max(near, key=lambda one: one.kueue, default=None)
