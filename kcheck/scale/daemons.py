"""Requests of DaemonSets on every node."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kcheck.scale import placement
from kcheck.scale.allocatable import Taken, total
from kcheck.text.interval import Interval
from kcheck.text.text import grouped
from kcheck.text.values import known, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Inventory, NodePool, Workload


class _Daemon(NamedTuple):
    """A DaemonSet on a pool, whether it certainly runs there, and the known requests of its pod."""

    name: tuple[str, str]
    sure: bool
    cpu: int
    memory: int


class _OfPool(NamedTuple):
    """Requests of a pool's DaemonSets: the sum, and each by name."""

    all: Taken
    each: dict[tuple[str, str], Taken]


class Daemons:
    """DaemonSets of the code on the nodes of each pool."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._found: dict[str, _OfPool] = {}

    def taken(self, pool: NodePool, besides: Workload | None = None) -> Taken:
        """Sum the requests of a pool's DaemonSets, without those of `besides` itself."""
        if pool.id not in self._found:
            self._found[pool.id] = _sum(self._of_pool(pool))
        found = self._found[pool.id]
        own = found.each.get(_name(besides)) if besides is not None and besides.per_node else None
        return found.all if own is None else _less(found.all, own)

    def _of_pool(self, pool: NodePool) -> Iterable[_Daemon]:
        cluster = known(pool.cluster)
        for workload in self._by_cluster[cluster.id] if cluster is not None else ():
            for template in workload.templates:
                cpu, memory = number(template.cpu, 0), number(template.memory, 0)
                fits = placement.chooses(template, pool).fits if cpu or memory else False
                if fits is not False:
                    yield _Daemon(_name(workload), bool(fits), cpu, memory)

    @cached_property
    def _by_cluster(self) -> dict[str, list[Workload]]:
        result: dict[str, list[Workload]] = defaultdict(list)
        for workload in self._inventory.workloads:
            cluster = self._inventory.cluster_of.get(workload)
            if cluster is not None and workload.per_node and not workload.partial:
                result[cluster.id].append(workload)
        return result


def _name(workload: Workload) -> tuple[str, str]:
    return known(workload.namespace) or "", known(workload.name) or workload.id


def _sum(daemons: Iterable[_Daemon]) -> _OfPool:
    """Sum the requests; a DaemonSet that the code has several times, as for two environments, counts once."""
    each = {name: _of_group(group) for name, group in grouped(daemons, lambda one: one.name).items()}
    taken = Taken(total(*(one.cpu for one in each.values())), total(*(one.memory for one in each.values())))
    return _OfPool(taken, each)


def _of_group(group: list[_Daemon]) -> Taken:
    """Bound the requests of a DaemonSet that the code has once or several times."""
    cpu, memory = [one.cpu for one in group], [one.memory for one in group]
    sure = all(one.sure for one in group)
    return Taken(Interval(min(cpu) if sure else 0, max(cpu)), Interval(min(memory) if sure else 0, max(memory)))


def _less(every: Taken, own: Taken) -> Taken:
    return Taken(
        Interval(every.cpu.low - own.cpu.low, (every.cpu.high or 0) - (own.cpu.high or 0)),
        Interval(every.memory.low - own.memory.low, (every.memory.high or 0) - (own.memory.high or 0)),
    )
