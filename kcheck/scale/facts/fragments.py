"""Words of what jobs leave over of their nodes, and who may use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.facts.pods import per_node, pool
from kcheck.text.values import Unknown, known, number

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate, Workload
    from kcheck.scale.world import World

_LOOKED_AT, _NAMED = 50, 3
"""So many small pods are looked at for each pool, and so many of their workloads are named."""


def fillers(template: PodTemplate, world: World) -> list[Workload] | Unknown:
    """Other workloads whose pods fit the GPUs, CPU and memory that pods leave over on each node of their pool."""
    if not number(template.gpus, 0):
        return []
    found = pool(template, world)
    if isinstance(found, Unknown):
        return found
    of, each = known(found), known(per_node(template, world))
    if of is None or not each:
        return []
    left = number(of.machine.gpus, 0) - each * number(template.gpus, 0)
    if left <= 0:
        return []
    owner, cpu = world.deployed.workload(template), world.pools.cpu_left(of)
    small = world.remember("small pods with GPUs", of.id, lambda: _small(of, world))
    result: dict[Workload, None] = {}
    for other in small:
        workload = world.deployed.workload(other)
        room = cpu is None or number(other.cpu, 0) <= cpu - each * number(template.cpu, 0)
        if workload is not owner and number(other.gpus, 0) <= left and room:
            result[workload] = None
    return list(result)[:_NAMED]


def _small(of: NodePool, world: World) -> list[PodTemplate]:
    """Pods with GPUs that may land on a pool, those with the fewest first."""
    cluster = known(of.cluster)
    found = [
        template
        for workload in (world.deployed.on(cluster).workloads if cluster else ())
        for template in workload.templates
        if number(template.gpus, 0) and world.pools.fit(template, of).fits is not False
    ]
    return sorted(found, key=lambda one: number(one.gpus, 0))[:_LOOKED_AT]
