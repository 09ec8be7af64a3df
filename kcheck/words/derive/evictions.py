"""Words of what moves running pods, how long these have to stop, and which nodes they keep alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model import LOCAL, STAY, UNDISTURBED
from kcheck.numbers import profiles
from kcheck.numbers.clouds import owners
from kcheck.scale import placement
from kcheck.source.values import Known, Unknown, Unset, Value, known, number, reason_of
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate, Workload
    from kcheck.scale.world import World

_NOTICE = "spot.notice"


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
        ready = sum(number(pool.size.min_nodes, 0) * (placement.per_node(template, pool) or 1) for pool in found)
        sum_ += max(0, template.count.value - ready) if found else 0
    return computed(workload, sum_)


def mover(template: PodTemplate, world: World) -> Value[str]:
    """What may move running pods with GPUs to other nodes; null if nothing does, or an annotation forbids it."""
    own = known(template.annotations) or {}
    if STAY in own and UNDISTURBED in own:
        return computed(template, None)
    found = _growing(template, world)
    if isinstance(found, Unknown):
        return found
    if isinstance(template.annotations, Unknown):
        return template.annotations
    for pool in found:
        if known(pool.mode) == "Karpenter":
            if UNDISTURBED not in own and "karpenter.sh/do-not-evict" not in own:
                return computed(template, "Karpenter")
        elif STAY not in own and "goatscaler.io/safe-to-evict" not in own and _half_empty(template, pool):
            return computed(template, "the cluster autoscaler")
    return computed(template, None)


def _half_empty(template: PodTemplate, pool: NodePool) -> bool:
    """Whether a node with one such pod uses less than half of its GPUs: only then the cluster autoscaler drains it."""
    of_node = known(pool.machine.gpus)
    return of_node is not None and number(template.gpus, 0) * 2 < of_node


def staying(template: PodTemplate, world: World) -> Value[str]:
    """The annotation that keeps them where they are, of the autoscaler that may move them."""
    return template.undisturbed if known(mover(template, world)) == "Karpenter" else template.stay


def stays_by(template: PodTemplate, world: World) -> Value[str]:
    """The value that this annotation should have."""
    return computed(template, "true" if known(mover(template, world)) == "Karpenter" else "false")


def honoured(template: PodTemplate, world: World) -> Value[int]:
    """Seconds that pods get to stop, where less than they ask for: of a spot node, or of the autoscaler."""
    if isinstance(template.grace, Known) and template.grace.value <= _granted(template, world):
        return computed(template, None)
    found = world.pools.candidates(template)
    if isinstance(found, Unknown):
        return found
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    spot = [pool for pool, certain in found if certain and known(pool.market.spot)]
    if cluster is not None and spot and len(spot) == len(found):
        entry = world.numbers.limits(cluster.cloud).get(_NOTICE)
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
        notices = [world.numbers.limits(cloud).get(_NOTICE) for cloud in owners()]
        least = min([least, *(notice.number for notice in notices if notice is not None)])
    return least


def _by_default() -> int:
    """Seconds that the cluster autoscaler gives pods where nobody says otherwise."""
    default = profiles.flags()["max-graceful-termination-sec"]["default"]
    return int(default)


def cut_by(template: PodTemplate, world: World) -> Value[str]:
    """What gives them no more time."""
    pools = world.pools.candidates(template)
    spot = not isinstance(pools, Unknown) and bool(pools) and all(known(pool.market.spot) for pool, _ in pools)
    return computed(template, "a spot node is taken back" if spot else "the cluster autoscaler drains a node")


def pins(template: PodTemplate, world: World) -> Value[str]:
    """The autoscaled GPU pool whose nodes pods keep alive by data on their disks; null if there is none."""
    if _moves(template) or not _tolerates_pools(template):
        return computed(template, None)
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is None:
        return world.inventory.unknown_cluster(workload)
    found = world.pools.candidates(template)
    autoscaler = world.autoscaling.autoscaler(cluster)
    if isinstance(found, Unknown) or autoscaler is None or not known(autoscaler.skip_local_storage):
        return computed(template, None)
    grown = [
        pool for pool, certain in found if certain and known(pool.size.autoscaled) and known(pool.mode) != "Karpenter"
    ]
    held = next((pool for pool in grown if known(pool.machine.gpu) and known(pool.scheduling.taints)), None)
    return computed(template, held.display_name if held else None)


_OF_NODES = ("node.kubernetes.io/", "node-role.kubernetes.io/", "CriticalAddonsOnly")
"""How taints begin that Kubernetes gives to nodes, or that keep them for the system."""


def _tolerates_pools(template: PodTemplate) -> bool:
    """Whether pods may tolerate a taint that somebody gave to a pool."""
    found = known(template.tolerations)
    return found is None or any(not one.key.startswith(_OF_NODES) for one in found)


def _moves(template: PodTemplate) -> bool:
    """Whether an annotation lets the autoscaler move them all the same."""
    own = known(template.annotations) or {}
    return STAY in own or LOCAL in own
