"""Words of what moves running pods, how long these have to stop, and which nodes they keep alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import flags
from kcheck.config.numbers.clouds import owners
from kcheck.model import STAY
from kcheck.scale import placement
from kcheck.scale.facts.basics import computed
from kcheck.text.interval import Bounded, Interval
from kcheck.text.values import Known, Unknown, Unset, Value, known, number, reason_of

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate, Workload
    from kcheck.scale.world import World

NOTICE = "spot.notice"


def _growing(template: PodTemplate, world: World) -> list[NodePool] | Unknown:
    """The autoscaled pools that pods can land on."""
    found = world.pools.candidates(template)
    return found if isinstance(found, Unknown) else [pool for pool, _ in found if known(pool.size.autoscaled)]


def coming(workload: Workload, world: World) -> Value[int]:
    """Pods with GPUs for which an autoscaler has to add nodes first."""
    sum_ = 0
    for template in workload.templates:
        if not number(template.gpus, 0):
            continue
        found = _growing(template, world)
        if isinstance(found, Unknown) or not isinstance(template.count, Known):
            return Unknown(reason_of(found if isinstance(found, Unknown) else template.count))
        ready = sum(number(pool.size.min_nodes, 0) * _most_per_node(template, pool, world) for pool in found)
        sum_ += max(0, template.count.value - ready) if found else 0
    return computed(workload, sum_)


def _most_per_node(template: PodTemplate, pool: NodePool, world: World) -> int:
    """Pods for which a node may have room."""
    each = world.pools.per_node(template, pool)
    return (each.high if each else None) or 1


def time_to_stop(template: PodTemplate, world: World) -> Value[int]:
    """Seconds that pods get to stop: the notice of spot nodes, or what the autoscaler waits; null without a limit."""
    found = _time_to_stop(template, world)
    if isinstance(found, Unknown):
        return Bounded(found.reason, found.origin, bounds=Interval(_granted(template, world), None))
    return found


def _time_to_stop(template: PodTemplate, world: World) -> Value[int]:
    found = world.pools.candidates(template)
    if isinstance(found, Unknown):
        return found
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    spot = [pool for pool, certain in found if certain and known(pool.market.spot)]
    if cluster is not None and spot and len(spot) == len(found):
        entry = world.numbers.limits(cluster.cloud).get(NOTICE)
        return computed(template, entry.number if entry else None)
    autoscaler = world.autoscaling.autoscaler(cluster) if cluster else None
    if autoscaler is None or not isinstance(autoscaler.grace, Known | Unknown):
        return computed(template, None)
    moved = [
        pool for pool, certain in found if certain and known(pool.size.autoscaled) and known(pool.mode) != "Karpenter"
    ]
    if not moved or STAY in (known(template.annotations) or {}):
        return computed(template, None)
    return autoscaler.grace


def _granted(template: PodTemplate, world: World) -> int:
    """Seconds that pods get to stop on any cluster; in a tree without one, of pods that do not ask for spot nodes."""
    times = [one.grace for one in world.inventory.autoscalers if not isinstance(one.grace, Unset)]
    least = min([_by_default(), *(number(time, 0) for time in times)])
    if world.inventory.clusters or placement.asks_for_spot(template) or isinstance(template.selection, Unknown):
        notices = [world.numbers.limits(cloud).get(NOTICE) for cloud in owners()]
        least = min([least, *(notice.number for notice in notices if notice is not None)])
    return least


def _by_default() -> int:
    """Seconds that the cluster autoscaler gives pods where nobody says otherwise."""
    default = flags.flags()["max-graceful-termination-sec"]["default"]
    return int(default)
