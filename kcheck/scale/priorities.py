"""Priority tiers: guarantees of the highest, and lower ones beside it."""

from msgspec import Struct

from kcheck.model import NodePool, PodTemplate, Workload
from kcheck.scale.jobs import priority_class
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.need import if_set, need, or_none
from kcheck.text.values import known, number

_MOST = 3
"""Most neighbours named for each pool."""


class _Tiers(Struct, frozen=True):
    """Highest priority of a cluster's jobs, and lower workloads by pool."""

    highest: int
    lower: dict[tuple[NodePool | None, bool], list[Workload]]


def lower_neighbours(template: PodTemplate, world: World) -> list[Workload]:
    """List lower-priority workloads on the nodes of a highest-priority job."""
    owner = world.deployed.workload(template)
    tiers = _tiers(world.deployed.scope(owner), world)
    if not owner.batch or if_set(priority_class(owner, world)) is None or _rank(owner, world) != tiers.highest:
        return []
    found: dict[Workload, None] = {}
    for pool in _pools(template, world):
        found |= dict.fromkeys(tiers.lower.get((pool, False), ()))
        if pool is None or known(pool.machine.gpus) != known(template.gpus):  # cards are left
            found |= dict.fromkeys(tiers.lower.get((pool, True), ()))
    return list(found)[:_MOST]


@once
def _tiers(scope: str, world: World) -> _Tiers:
    ranked = [
        (workload, rank)
        for workload in world.deployed.in_scope(scope).workloads
        if not workload.per_node and not workload.partial and (rank := _rank(workload, world)) is not None
    ]
    highest = max((rank for workload, rank in ranked if workload.batch), default=0)
    result = _Tiers(highest, {})
    for workload, rank in ranked:
        for template in workload.templates if rank < highest else ():
            for pool in or_none(_pools)(template, world) or ():
                group = result.lower.setdefault((pool, bool(number(template.gpus, 0))), [])
                if len(group) < _MOST and workload not in group:
                    group.append(workload)
    return result


def _rank(workload: Workload, world: World) -> int | None:
    """Return the number of a workload's priority class; None if the code has none."""
    own = known(priority_class(workload, world))
    return if_set(own.number) if own is not None else None


def _pools(template: PodTemplate, world: World) -> list[NodePool | None]:
    """List the pools that pods may run on; None for nodes outside the code."""
    if not world.inventory.clusters:
        return [None] if known(template.selection) == ((),) else []
    return [pool for pool, _ in need(world.pools.candidates(template))]
