"""What DaemonSets take of every node."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kcheck.scale import placement
from kcheck.scale.allocatable import Taken
from kcheck.source.interval import Interval
from kcheck.source.values import known, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Inventory, NodePool, Workload


class _Daemon(NamedTuple):
    """A DaemonSet on the nodes of a pool: whether it is there for sure, and what its pod asks for, as far as known."""

    name: tuple[str, str]
    sure: bool
    cpu: int
    memory: int


class Daemons:
    """The DaemonSets of the code on the nodes of each pool."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._found: dict[str, list[_Daemon]] = {}
        self._taken: dict[tuple[str, tuple[str, str] | None], Taken] = {}

    def taken(self, pool: NodePool, besides: Workload | None = None) -> Taken:
        """What the DaemonSets of a pool's nodes ask for; one of them does not stand in its own way."""
        if pool.id not in self._found:
            self._found[pool.id] = list(self._of_pool(pool))
        own = _name(besides) if besides is not None and besides.per_node else None
        key = pool.id, own
        if key not in self._taken:
            self._taken[key] = _sum(one for one in self._found[pool.id] if one.name != own)
        return self._taken[key]

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


def _sum(daemons: Iterable[_Daemon]) -> Taken:
    """What they ask for together; one that the code has several times, as for two environments, counts once."""
    groups: dict[tuple[str, str], list[_Daemon]] = defaultdict(list)
    for one in daemons:
        groups[one.name].append(one)
    sure = [group for group in groups.values() if all(one.sure for one in group)]
    return Taken(
        Interval(
            sum(min(one.cpu for one in group) for group in sure),
            sum(max(one.cpu for one in group) for group in groups.values()),
        ),
        Interval(
            sum(min(one.memory for one in group) for group in sure),
            sum(max(one.memory for one in group) for group in groups.values()),
        ),
    )
