"""Words of jobs that start in the same minute: what they ask for together, and what their cluster holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.scale import allocatable, schedules
from kcheck.scale.facts.basics import computed
from kcheck.text.units import cores, counted, size
from kcheck.text.values import Unknown, Value, known, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.model import Cluster, NodePool, PodTemplate, Workload
    from kcheck.scale.world import World


class Start(NamedTuple):
    """Jobs that start in the same minute, and the resource of which they ask for most: how much, and what there is."""

    jobs: tuple[Workload, ...]
    asked: str
    held: str
    exceeds: bool


class _Amounts(NamedTuple):
    """CPU in millicores, memory in bytes, and GPUs."""

    cpu: int = 0
    memory: int = 0
    gpus: int = 0

    def plus(self, other: _Amounts, times: int = 1) -> _Amounts:
        return _Amounts(*(mine + times * its for mine, its in zip(self, other, strict=True)))


_UNITS: tuple[Callable[[int], str], ...] = (
    lambda count: f"{cores(count)} vCPUs",
    lambda count: f"{size(count)} of memory",
    lambda count: counted(count, "GPU"),
)


def start(cluster: Cluster, world: World) -> Value[Start]:
    """The scheduled jobs of a cluster that start together and ask for most; null where none do, or a queue holds them."""
    found = [
        (job, _asked(job.templates))
        for job in world.deployed.on(cluster).workloads
        if known(job.schedule) and not known(job.queue_system)
    ]
    group = [pair for pair in schedules.together(found, lambda one: one.cpu) if _lands(pair[0], world)]
    if len(group) < 2 or world.autoscaling.beyond_pools(cluster):
        return computed(cluster, None)
    held = _held((template for job, _ in group for template in job.templates), world)
    if isinstance(held, Unknown):
        return held
    asked = _Amounts()
    for _, one in group:
        asked = asked.plus(one)
    shares = [(mine / its if its else 0.0, i) for i, (mine, its) in enumerate(zip(asked, held, strict=True))]
    share, i = max(shares)
    jobs = tuple(job for job, _ in group)
    return computed(cluster, Start(jobs, _UNITS[i](asked[i]), _UNITS[i](held[i]), exceeds=share > 1))


def _lands(job: Workload, world: World) -> bool:
    """Whether some node may take its pods: others wait for ever, and take nothing."""
    return all(world.pools.candidates(template) != [] for template in job.templates)


def _asked(templates: Iterable[PodTemplate]) -> _Amounts:
    """What the pods of a job ask for, at least: what is not known counts for nothing."""
    sum_ = _Amounts()
    for one in templates:
        each = _Amounts(number(one.cpu, 0), number(one.memory, 0), number(one.gpus, 0))
        sum_ = sum_.plus(each, number(one.count, 0))
    return sum_


def _held(templates: Iterable[PodTemplate], world: World) -> _Amounts | Unknown:
    """What all nodes leave, at most, of the pools on which some pods may land."""
    pools: dict[NodePool, None] = {}
    for template in templates:
        found = world.pools.candidates(template)
        if isinstance(found, Unknown):
            return found
        pools |= dict.fromkeys(pool for pool, _ in found)
    sum_ = _Amounts()
    for pool in pools:
        nodes, rooms = world.sizes.of_pool(pool), allocatable.rooms(pool)
        if isinstance(nodes, Unknown):
            return nodes
        if not rooms:
            return Unknown(f"what a node of {pool.display_name} leaves to pods is not known")
        best = _Amounts(
            max(room.cpu_left.high or room.vcpus * 1000 for room in rooms),
            max(room.memory_left.high or room.memory for room in rooms),
            number(pool.machine.gpus, 0),
        )
        sum_ = sum_.plus(best, number(nodes, 0))
    return sum_
