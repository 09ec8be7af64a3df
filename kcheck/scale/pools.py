"""Clusters and node pools: counts, upgrades, disks, zones."""

import operator
import os
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from kcheck.config.numbers import machines, names
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Autoscaler, Cluster, NodePool, PodTemplate, Workload
from kcheck.scale import money
from kcheck.scale.growth import surge_nodes
from kcheck.scale.walls import limits
from kcheck.scale.word_helpers import anyone, cluster_of, computed, may_count, runs
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.need import first_unknown, if_set, need, or_none
from kcheck.text.units import round_up
from kcheck.text.values import Known, Unknown, Unset, Value, because, equals, known, mapped, number


def counted(pool: NodePool, world: World) -> Value[int]:
    """Count the nodes that count towards the cloud's pool limit."""
    nodes = world.sizes.of_pool(pool)
    many = need(limits.counted(pool, need(nodes), world))
    return mapped(nodes, lambda _: many)


@once
def biggest_job(pool: NodePool, world: World) -> tuple[Workload | None, int]:
    """Return the GPU workload that fills most of a pool and no others."""
    cluster = known(pool.cluster)
    if cluster is None:
        return None, 0
    found: list[tuple[Workload, int]] = []
    lacking: Unknown | None = None
    for workload in _landing(cluster, world).get(pool, ()):
        nodes = fewest(workload, pool, world)
        if nodes is None and _deciding(workload, pool, world) is None:
            continue
        own = Fraction(number(pool.size.max_nodes, 0), nodes) if nodes else Fraction(0)
        beside = _room_of_all(workload, cluster, world) - own
        if own + beside < 1:
            near = dict.fromkeys(pool for one in workload.templates for pool in world.pools.near(one, cluster))
            every = (_deciding(workload, one, world) for one in near)
            lacking = lacking or next(filter(None, every), None)
        if nodes and beside < 1 and (own >= 1 or own + beside < 1):
            found.append((workload, nodes))
    if not found:
        need(lacking)
    return max(found, key=operator.itemgetter(1), default=(None, 0))


def _deciding(workload: Workload, pool: NodePool, world: World) -> Unknown | None:
    """Return the input that decides how many nodes a GPU workload fills."""
    asked = [one for one in workload.templates if workload.batch and may_count(one.gpus)]
    own = first_unknown(value for one in asked if world.pools.may_land(one, pool) for value in (one.gpus, one.count))
    if own is not None:
        return own
    pods = number(workload.pods, 0)
    of_cards = tuple(one for one in workload.templates if number(one.gpus, 0)) if pods else ()
    return world.pools.deciding(of_cards, pool) if number(pool.size.max_nodes, 0) < pods else None


def fewest(workload: Workload, pool: NodePool, world: World) -> int | None:
    """Return the minimum number of a pool's nodes that a workload fills."""
    gpus = sum(number(one.count, 0) * number(one.gpus, 0) for one in workload.templates)
    offered = world.pools.slots(pool) if gpus else None
    if offered is None or not offered.high:
        return None
    # a launcher may be elsewhere
    found = [filled(one, pool, world) for one in workload.templates if number(one.gpus, 0)]
    return None if None in found else max(-(-gpus // offered.high), *(one or 0 for one in found))


def filled(template: PodTemplate, pool: NodePool, world: World) -> int | None:
    """Return the minimum number of a pool's nodes that GPU pods fill."""
    pods, gpus, offered = known(template.count), number(template.gpus, 0), world.pools.slots(pool)
    most = offered.high if offered is not None else None
    if pods is None or not world.pools.may_land(template, pool) or most is None or not 0 < gpus <= most:
        return None
    return -(-int(pods) // (1 if known(template.spread) else most // gpus))


@once
def _landing(cluster: Cluster, world: World) -> dict[NodePool, list[Workload]]:
    """Return the GPU workloads that may land on each pool."""
    return landing(
        world.deployed.on(cluster).workloads,
        lambda one: world.pools.near(one, cluster) if one.on_accelerators or may_count(one.gpus) else [],
    )


def landing(workloads: list[Workload], near: Callable[[PodTemplate], list[NodePool]]) -> dict[NodePool, list[Workload]]:
    """Map pools to the workloads that may land on them."""
    result: dict[NodePool, list[Workload]] = defaultdict(list)
    for workload in (one for one in workloads if not one.per_node):
        for pool in dict.fromkeys(pool for one in workload.templates for pool in near(one)):
            result[pool].append(workload)
    return result


@once
def _room_of_all(workload: Workload, cluster: Cluster, world: World) -> Fraction:
    """Return the share of a GPU workload that fits all pools of its cluster together."""
    pods = next((one for one in workload.templates if number(one.gpus, 0)), None)
    needed = ((pool, fewest(workload, pool, world)) for pool in (world.pools.near(pods, cluster) if pods else ()))
    return sum((Fraction(number(pool.size.max_nodes, 0), nodes) for pool, nodes in needed if nodes), Fraction(0))


def kept(pool: NodePool, _world: World) -> Value[int]:
    """Count the nodes of an idle pool: its minimum, or its fixed size."""
    if_set(pool.size.autoscaled)  # decides which number stands
    return computed(pool, if_set(pool.size.standing) or 0)


def daily_cost(pool: NodePool, world: World) -> Value[money.Cost]:
    """Estimate the daily cost of an idle pool."""
    return mapped(kept(pool, world), lambda nodes: money.cost([(pool, nodes)], world, money.DAY))


def gpu_workloads(pool: NodePool, world: World) -> list[Workload]:
    """List the cluster's GPU workloads that may run on a pool."""
    near, lands = _landing(need(pool.cluster), world).get(pool, ()), world.pools.may_land
    sure = near if _of_cards(pool, world) else ()
    return [one for one in sure if any(pods.on_accelerators and lands(pods, pool) for pods in one.templates)]


def turned_away(pool: NodePool, world: World) -> list[Workload]:
    """List the cluster's GPU workloads if none can run on a pool; else none."""
    return [] if gpu_workloads(pool, world) else _of_cards(pool, world)


def _of_cards(pool: NodePool, world: World) -> list[Workload]:
    sure, pods = _with_gpus(need(pool.cluster), world)
    need(world.pools.deciding(pods, pool))
    return sure


@once
def _with_gpus(cluster: Cluster, world: World) -> tuple[list[Workload], tuple[PodTemplate, ...]]:
    """List the GPU workloads of a cluster, and their pods with GPUs."""
    found = [one for one in world.deployed.on(cluster).workloads if not one.per_node]
    every = [template for one in found for template in one.templates]
    sure = tuple(one for one in every if one.on_accelerators)
    if not sure:
        need(first_unknown(one.gpus for one in every))
    return [one for one in found if any(pods.on_accelerators for pods in one.templates)], sure


def sufficient_count(pool: NodePool, world: World) -> Value[int]:
    """Return the pool size to write: the largest job's, or a round number."""
    _, least = or_none(biggest_job)(pool, world) or (None, 0)

    def written(nodes: int) -> int:
        each = -(-max(least, nodes) // (if_set(pool.size.times) or 1))
        return (each if least >= nodes else round_up(each)) * pool.size.unit

    return mapped(world.sizes.of_pool(pool), written)


def surge(pool: NodePool, world: World) -> Value[int]:
    """Count the nodes that an upgrade adds to a pool."""
    nodes = world.sizes.of_pool(pool)
    if not isinstance(nodes, Known) or isinstance(pool.upgrade.surge, Unset):
        return because(nodes if not isinstance(nodes, Known) else pool.upgrade.surge)
    return mapped(pool.upgrade.surge, lambda one: surge_nodes(one, nodes.value))


def parallel(pool: NodePool, world: World) -> Value[int]:
    """Count the nodes that an upgrade replaces at a time."""
    nodes = world.sizes.of_pool(pool)
    if isinstance(pool.upgrade.rolling, Unset):
        return pool.upgrade.rolling
    return mapped(pool.upgrade.rolling, lambda one: max(1, surge_nodes(one, need(nodes))))


def sufficient_parallel(pool: NodePool, world: World) -> int | None:
    """Return a tenth of the nodes, within the cloud's limit; else None."""
    nodes, rolling = known(world.sizes.of_pool(pool)), known(pool.upgrade.rolling)
    if nodes is None or rolling is None or rolling.percent:
        return None
    share, rounds = (world.numbers.limits("any")[key].number for key in ("upgrade.share", "upgrade.rounds"))
    many = max(1, min(round_up(-(-nodes * share // 100)), rolling.most or nodes))
    beside = 0 if known(pool.upgrade.scarce_surge) else rolling.beside
    return many - beside if nodes <= many * rounds else None


def upgrade_is_default(pool: NodePool, _world: World) -> bool:
    """Whether the upgrade settings are a default shared by several callers."""
    return any(map(_of_called_module, [(pool, pool.upgrade.rolling), (pool, pool.upgrade.max_surge)]))


def _of_called_module(found: tuple[NodePool, Value[object]]) -> bool:
    pool, value = found
    if not isinstance(value, Known) or not value.origin.literal:
        return False
    folder = os.path.dirname(value.origin.written.source.path)
    of_variable = value.origin.path[-1:] == ("default",) and value.origin.path[0].startswith("variable ")
    return of_variable and os.path.normpath(folder) != os.path.normpath(pool.root)


def tainted(pool: NodePool, _world: World) -> Value[bool]:
    """Whether a taint keeps off pods that do not tolerate it."""
    cluster = known(pool.cluster)
    taints = pool.scheduling.taints
    by_cloud = cluster is not None and cloud(cluster.cloud).taints_gpu_nodes
    if by_cloud and known(pool.machine.gpu) and not isinstance(taints, Unknown):
        return computed(pool, value=True)
    if isinstance(taints, Unset):
        return Known(value=False, origin=taints.origin)
    return mapped(taints, lambda own: any(text.rpartition(":")[2] in _KEEPS_AWAY for text in own))


_KEEPS_AWAY = frozenset(
    {"NoSchedule", "NoExecute", "PreferNoSchedule", "NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"}
)


def efa(pool: NodePool, _world: World) -> Value[tuple[str, ...]]:
    """Return the types of a node's EFA interfaces."""
    return Known((), pool.machine.efa.origin) if isinstance(pool.machine.efa, Unset) else pool.machine.efa


def pod_addresses(pool: NodePool, _world: World) -> Value[int]:
    """Count the addresses of a node's pods: its block, or one per pod it may run."""
    cluster, pod_range, pods = known(pool.cluster), known(pool.addresses.pod_range), pool.addresses.max_pods
    if cluster is not None and cluster.cni is None and known(pool.addresses.pods_take_addresses):
        return pods
    if pod_range is None or not isinstance(pod_range.block, Unset):
        return computed(pool, 0)  # none, or a block that does not follow from the pods
    return mapped(pods, lambda count: 1 << (32 - cloud(pod_range.cloud).pod_block(count)))


def nvme(pool: NodePool, _world: World) -> Value[int]:
    """Return the GB of local disks of a pool's smallest machine."""
    cluster = known(pool.cluster)
    if cluster is None:
        return because(pool.cluster)
    found = mapped(pool.machine.instance_types, lambda names: [machines.machine(cluster.cloud, one) for one in names])
    least = mapped(found, lambda every: min((one.nvme for one in every if one), default=0))
    return computed(pool, 0) if isinstance(least, Unset) else least


def own_boot_disk(pool: NodePool, world: World) -> Value[bool]:
    """Whether a pool's machines can boot from their own disk."""
    cluster = known(pool.cluster)
    least = world.numbers.limits(cluster.cloud).get("disk.vcpus") if cluster is not None else None
    if cluster is None or least is None:
        return computed(pool, None)
    own, types = cloud(cluster.cloud), if_set(pool.machine.instance_types) or ()
    found = [own.boots_from_own_disk(name, least.number) for name in types]
    if None in found:
        return Unknown("which disks its machines have is not known", pool.machine.instance_types.origin)
    return computed(pool, bool(found) and all(found))


def together(pool: NodePool, _world: World) -> Value[str]:
    """Return the name of the placement that keeps a pool's nodes close."""
    group = pool.placement.together
    return Unset(group.origin) if isinstance(group, Known) and not group.value else group


def zones(pool: NodePool, _world: World) -> Value[int]:
    """Count the zones or subnets of a pool; 0 if the cloud places nodes anywhere."""
    cluster = known(pool.cluster)
    if cluster is not None and cloud(cluster.cloud).zones_of_pools == "listed":
        listed = pool.placement.zones
        return computed(pool, 0) if isinstance(listed, Unset) else mapped(listed, lambda zones: len(set(zones)))
    if not isinstance(pool.size.zone_count, Unset):
        return pool.size.zone_count
    subnets, ids = pool.addresses.subnets, pool.addresses.subnet_ids
    return mapped(ids if isinstance(subnets, Unknown) and isinstance(ids, Known) else subnets, len)


def batch(thing: Cluster | Autoscaler, world: World) -> Value[bool]:
    """Whether a cluster is for jobs, by its pools and workloads."""
    cluster = need(cluster_of(thing, world)) if isinstance(thing, Autoscaler) else thing
    flags = [flag for pool in world.pools.of_cluster(cluster) for flag in (pool.machine.gpu, pool.market.spot)]
    jobs = [w for w in world.deployed.on(cluster).workloads if w.batch or number(w.gpus, 0)]
    asked = [computed(cluster, value=True)] if world.config.run.jobs else []
    systems = [one for one in runs(cluster, frozenset({names.pattern("job_systems")}), world) if known(one)]
    return anyone(cluster, [*flags, *(computed(job, value=True) for job in jobs), *systems, *asked])


def of_system(cluster: Cluster, world: World) -> list[NodePool]:
    """List the pools for the system's own pods."""
    found = need(world.pools.kinds_of_cluster(cluster))
    own = [pool for pool in found if equals(pool.mode, "System")]
    return own or [pool for pool in found if not need(pool.machine.gpu) and not need(tainted(pool, world))]


def any_pool(flag: Callable[[NodePool], Value[bool]]) -> Callable[[Cluster, World], Value[bool]]:
    """Define a word: whether a flag is true for any pool of a cluster."""
    return once(
        lambda cluster, world: anyone(
            cluster, map(flag, world.pools.of_cluster(cluster)), world.pools.kinds_of_cluster(cluster)
        )
    )


autoscaled = any_pool(lambda pool: pool.size.autoscaled)


def prefixes_reserved(cluster: Cluster, world: World) -> bool:
    """Whether all node subnets reserve ranges for prefixes."""
    subnets = [one for pool in world.pools.of_cluster(cluster) for one in known(pool.addresses.subnets) or (None,)]
    return bool(subnets) and all(one is not None and one.blocks for one in subnets)
