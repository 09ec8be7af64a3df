"""Words of autoscalers: what ends or slows growth, and among which pools they choose."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from kcheck.inventory.clouds.registry import cloud
from kcheck.scale.caps import vcpus
from kcheck.scale.facts.basics import cluster_of, computed, grouped, unknown_size
from kcheck.text.interval import Bounded, Interval
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcheck.model import Autoscaler, NodePool
    from kcheck.scale.world import World


# --- caps


_UNKNOWN_TYPES = "the machine types of all pools are not known"


def wanted(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Nodes that the cluster should reach: those asked for, else the sum of its pools' maxima."""
    cluster = cluster_of(autoscaler, world)
    if isinstance(cluster, Known):
        found: Value[int] = world.sizes.wanted(cluster.value)
        # where the cloud may add nodes beside the pools, theirs are the least
        return found if isinstance(found, Known) else world.sizes.maximum(cluster.value)
    asked = world.config.nodes.get("")
    return computed(autoscaler, asked) if asked else unknown_size(autoscaler, world)


def wanted_cores(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Cores of the nodes that are wanted; bounds where the machine types of some are not known."""
    nodes = wanted(autoscaler, world)
    if not isinstance(nodes, Known):
        return nodes
    least = _cores(autoscaler, nodes.value, world)
    if _machines_known(autoscaler, world):
        return computed(autoscaler, least)
    return Bounded(_UNKNOWN_TYPES, Origin((autoscaler.place,)), bounds=Interval(least, None))


def capacity(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Nodes of those wanted that the caps on nodes and cores allow; bounds where the machine types are not known."""
    nodes, own, cores = wanted(autoscaler, world), autoscaler.max_nodes, autoscaler.max_cores
    if not isinstance(nodes, Known) or isinstance(own, Unknown):
        return own if isinstance(own, Unknown) else nodes
    if isinstance(own, Known) and 0 < own.value < nodes.value:
        return own
    if isinstance(cores, Unset):
        return nodes
    each = world.numbers.limits("any")["autoscaler.cores_of_node"].number
    if isinstance(cores, Unknown) or cores.value >= nodes.value * each:
        return cores if isinstance(cores, Unknown) else nodes
    most = _within_cores(autoscaler, nodes.value, cores, world)
    if _machines_known(autoscaler, world):
        return Known(most, cores.origin)
    return Bounded(_UNKNOWN_TYPES, cores.origin, bounds=Interval(0, most))


def _machines_known(autoscaler: Autoscaler, world: World) -> bool:
    cluster = known(autoscaler.cluster)
    return cluster is not None and all(
        isinstance(pool.machine.instance_types, Known) for pool in world.pools.of_cluster(cluster)
    )


def _within_cores(autoscaler: Autoscaler, nodes: int, most: Known[int], world: World) -> int:
    """How many of some nodes a cap on cores allows, at most."""
    needed, cluster = _cores(autoscaler, nodes, world), known(autoscaler.cluster)
    if needed <= most.value:
        return nodes
    if cluster is not None and world.sizes.growth(cluster).known and world.pools.of_cluster(cluster):
        own = next((one for one in world.caps.of_cluster(cluster) if one.cause is most), None)
        if own is not None:
            return world.sizes.within(own, cluster, nodes)
    return nodes * most.value // needed


def _cores(autoscaler: Autoscaler, wanted: int, world: World) -> int:
    """Cores of the cluster with the nodes that are wanted, at least: a node of unknown type has one."""
    cluster = known(autoscaler.cluster)
    sizes = world.sizes.shares(cluster, wanted) if cluster is not None else {}
    each = {pool.id: max(1, vcpus(pool, cluster)) for pool in world.pools.of_cluster(cluster)} if cluster else {}
    return sum(each[name] * nodes for name, nodes in sizes.items()) + max(0, wanted - sum(sizes.values()))


# --- pools


Group: TypeAlias = "dict[tuple[Hashable, ...], list[NodePool]]"


def _groups(
    autoscaler: Autoscaler, world: World, key: Callable[[NodePool], tuple[Value[object], ...]]
) -> Group | Unknown:
    """The autoscaled pools of an autoscaler, grouped by some of their fields; Unknown where one is not known."""
    cluster = cluster_of(autoscaler, world)
    if not isinstance(cluster, Known):
        return Unknown(reason_of(cluster))
    pools, groups = world.pools.all_of_cluster(cluster.value), defaultdict(list)
    if isinstance(pools, Unknown):
        return pools
    for pool in pools:
        if known(pool.size.autoscaled) is False:
            continue
        values = key(pool)
        unknown = next((value for value in (pool.size.autoscaled, *values) if isinstance(value, Unknown)), None)
        if unknown is not None:
            return unknown
        groups[tuple(_plain(value) for value in values)].append(pool)
    return groups


def _plain(value: Value[object]) -> Hashable:
    found = known(value)
    if isinstance(found, dict):
        return tuple(sorted(found.items()))
    return tuple(sorted(found, key=str)) if isinstance(found, tuple) else found


def choices(autoscaler: Autoscaler, world: World) -> list[NodePool] | Unknown:
    """Pools with the same taints, one for each machine type; those of the taints with the most types."""
    groups = _groups(autoscaler, world, lambda pool: (pool.scheduling.taints, pool.machine.instance_types))
    if isinstance(groups, Unknown):
        return groups
    by_taints = grouped(groups.values(), lambda pools: _plain(pools[0].scheduling.taints))
    return [pools[0] for pools in max(by_taints.values(), key=len, default=[])]


def twins(autoscaler: Autoscaler, world: World) -> list[NodePool] | Unknown:
    """The most pools of equal shape that could grow together; those with GPUs only in the same subnets and zones.

    Those whose machines have a fabric that ends at the pool could not: a job that is spread over two loses it.
    """
    groups = _groups(autoscaler, world, _shape)
    return groups if isinstance(groups, Unknown) else max(groups.values(), key=len, default=[])


def _shape(pool: NodePool) -> tuple[Value[object], ...]:
    machine, scheduling = pool.machine, pool.scheduling
    if known(machine.gpu) is False:
        return scheduling.taints, machine.instance_types, scheduling.labels
    places = mapped(pool.addresses.subnets, lambda subnets: tuple(subnet.id for subnet in subnets))
    cluster = known(pool.cluster)
    joins = cloud(cluster.cloud).joins_in_scale_set if cluster is not None else lambda _: False
    fabric = mapped(machine.instance_types, lambda names: pool.id if any(map(joins, names)) else "")
    zones = pool.placement.zones
    return machine.gpu, scheduling.taints, machine.instance_types, scheduling.labels, places, zones, fabric


def autoscaler(pool: NodePool, world: World) -> Value[Autoscaler]:
    """The autoscaler of a pool's cluster; null where none is in the code."""
    cluster = known(pool.cluster)
    return computed(pool, world.autoscaling.autoscaler(cluster) if cluster is not None else None)
