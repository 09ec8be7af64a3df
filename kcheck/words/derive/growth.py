"""Words of autoscalers: what ends or slows growth, and among which pools they choose."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from kcheck.clouds.registry import cloud
from kcheck.scale.caps import vcpus
from kcheck.source.values import Known, Unknown, Unset, Value, all_known, combined, known, mapped, number, reason_of
from kcheck.words.derive.basics import cluster_of, computed, unknown_size
from kcheck.words.derive.scaling import growable_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcheck.model import Autoscaler, NodePool
    from kcheck.scale.world import World


# --- caps


def capped_at(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Nodes of the cluster at which a cap of the autoscaler ends its growth before what is wanted; null if none does."""
    wanted, most = _wanted(autoscaler, world), autoscaler.max_nodes
    if not isinstance(wanted, Known):
        return wanted
    if isinstance(most, Known) and 0 < most.value < wanted.value:
        return most
    return most if isinstance(most, Unknown) else _capped_by_cores(autoscaler, wanted.value, world)


def cap(autoscaler: Autoscaler, world: World) -> Value[str]:
    """The cap that `capped_at` speaks of, in words."""
    at, most = capped_at(autoscaler, world), autoscaler.max_nodes
    if isinstance(most, Known) and at is most:
        return Known(f"{most.value:,} nodes", most.origin)
    wanted = _wanted(autoscaler, world)
    if not isinstance(at, Known) or not isinstance(wanted, Known):
        return Unset(at.origin) if isinstance(at, Unset) and at.origin else Unknown("the cap is not known")
    cores, needed = number(autoscaler.max_cores, 0), _cores(autoscaler, wanted.value, world)
    return Known(f"{cores:,} cores, and {wanted.value:,} nodes have at least {needed:,}", at.origin)


def _wanted(autoscaler: Autoscaler, world: World) -> Value[int]:
    cluster = cluster_of(autoscaler, world)
    if isinstance(cluster, Known):
        wanted: Value[int] = world.sizes.wanted(cluster.value)
        # where the cloud may add nodes beside the pools, theirs are the least
        return wanted if isinstance(wanted, Known) else world.sizes.maximum(cluster.value)
    asked = world.config.nodes.get("")
    return computed(autoscaler, asked) if asked else unknown_size(autoscaler, world)


def _capped_by_cores(autoscaler: Autoscaler, wanted: int, world: World) -> Value[int]:
    most = autoscaler.max_cores
    if isinstance(most, Unknown):
        return most
    if isinstance(most, Unset) or most.value >= wanted * world.numbers.limits("any")["autoscaler.cores_of_node"].number:
        return computed(autoscaler, None)
    needed, cluster = _cores(autoscaler, wanted, world), known(autoscaler.cluster)
    if needed <= most.value:
        exact = cluster is not None and all(
            isinstance(pool.machine.instance_types, Known) for pool in world.pools.of_cluster(cluster)
        )
        return computed(autoscaler, None) if exact else Unknown("the machine types of all pools are not known")
    if cluster is not None and world.sizes.growth(cluster).known and world.pools.of_cluster(cluster):
        own = next(one for one in world.caps.of_cluster(cluster) if one.cause is most)
        return Known(world.sizes.within(own, cluster, wanted), most.origin)
    return Known(wanted * most.value // needed, most.origin)


def _cores(autoscaler: Autoscaler, wanted: int, world: World) -> int:
    """Cores of the cluster with the nodes that are wanted, at least: a node of unknown type has one."""
    cluster = known(autoscaler.cluster)
    sizes = world.sizes.shares(cluster, wanted) if cluster is not None else {}
    each = {pool.id: max(1, vcpus(pool, cluster)) for pool in world.pools.of_cluster(cluster)} if cluster else {}
    return sum(each[name] * nodes for name, nodes in sizes.items()) + max(0, wanted - sum(sizes.values()))


def scale_ups(autoscaler: Autoscaler, world: World) -> Value[int]:
    """How many scale-ups the nodes take, one a loop."""
    nodes, most = growable_nodes(autoscaler, world), autoscaler.scale_up_nodes
    if isinstance(most, Unset):
        return most
    return computed(autoscaler, combined(lambda nodes, most: -(-nodes // max(1, most)), nodes, most))


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


def choices(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Different machine types among which it chooses for the same pods, at most: those of pools with equal taints."""
    groups = _groups(autoscaler, world, lambda pool: (pool.scheduling.taints, pool.machine.instance_types))
    if isinstance(groups, Unknown):
        return groups
    types = defaultdict(set)
    for taints, machine in groups:
        types[taints].add(machine)
    return computed(autoscaler, max(map(len, types.values()), default=0))


def twins(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Pools of equal shape that could grow together; those with GPUs only in the same subnets and zones.

    Those whose machines have a fabric that ends at the pool could not: a job that is spread over two loses it.
    """
    groups = _groups(autoscaler, world, _shape)
    return groups if isinstance(groups, Unknown) else computed(autoscaler, max(map(len, groups.values()), default=0))


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


def widest(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Nodes of its biggest autoscaled pool when the cluster reaches its target."""
    groups = _groups(autoscaler, world, lambda _: ())
    if isinstance(groups, Unknown):
        return groups
    sizes = all_known(world.sizes.of_pool(pool) for pool in groups.get((), ()))
    return computed(autoscaler, sizes if isinstance(sizes, Unknown) else max(sizes, default=0))


def scaled_pools(autoscaler: Autoscaler, world: World) -> Value[int]:
    """How many pools it scales."""
    groups = _groups(autoscaler, world, lambda _: ())
    return groups if isinstance(groups, Unknown) else computed(autoscaler, len(groups.get((), ())))


def autoscaler(pool: NodePool, world: World) -> Value[Autoscaler]:
    """The autoscaler of a pool's cluster; null where none is in the code."""
    cluster = known(pool.cluster)
    return computed(pool, world.autoscaling.autoscaler(cluster) if cluster is not None else None)
