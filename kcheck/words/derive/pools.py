"""Words of clusters and node pools."""

from __future__ import annotations

import operator
import os
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.clouds.registry import cloud
from kcheck.model import Autoscaler, Cluster, NodePool
from kcheck.numbers import machines, profiles
from kcheck.scale.growth import surge_nodes
from kcheck.scale.walls import limits
from kcheck.source.units import round_up
from kcheck.source.values import Known, Unknown, Unset, Value, known, mapped, number, reason_of
from kcheck.words.derive.basics import anyone, cluster_of, computed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Subnet, Workload
    from kcheck.scale.world import World


def counted(pool: NodePool, world: World) -> Value[int]:
    """Nodes that the cloud's limit of a pool counts: in the fullest zone, or all with the surge of an upgrade."""
    nodes = world.sizes.of_pool(pool)
    if not isinstance(nodes, Known):
        return nodes
    many = limits.counted(pool, nodes.value, world)
    return Known(many.value, nodes.origin) if isinstance(many, Known) else many


def jobs_need(pool: NodePool, world: World) -> Value[int]:
    """Nodes of a GPU pool that the biggest GPU workload fills which other pools, or all together, have no room for."""
    cluster = known(pool.cluster)
    if cluster is None:
        return computed(pool, None)
    others = [other for other in world.pools.of_cluster(cluster) if other is not pool]
    needs = []
    for workload in world.deployed.on(cluster).workloads:
        need = None if workload.per_node else _fills(workload, pool)
        if need is None:
            continue
        own, beside = Fraction(number(pool.size.max_nodes, 0), need), sum(_room(workload, other) for other in others)
        if beside < 1 and (own >= 1 or own + beside < 1):
            needs.append(need)
    return computed(pool, max(needs, default=None))


def _fills(workload: Workload, pool: NodePool) -> int | None:
    """How many nodes of a pool a GPU workload fills; None if its pods do not fit or something is not known."""
    nodes = 0
    for template in workload.templates:
        pods, gpus, of_node = known(template.count), number(template.gpus, 0), number(pool.machine.gpus, 0)
        if pods is None or gpus > of_node:
            return None
        nodes += -(-int(pods) // (of_node // gpus)) if gpus else 0
    return nodes or None


def _room(workload: Workload, pool: NodePool) -> Fraction:
    """Which part of a GPU workload a pool has room for."""
    need = _fills(workload, pool)
    return Fraction(number(pool.size.max_nodes, 0), need) if need else Fraction(0)


def max_count(pool: NodePool, _world: World) -> Value[int]:
    """The largest size of a pool as it is written."""
    return mapped(pool.size.max_nodes, lambda nodes: nodes // pool.size.times)


def wanted_nodes(pool: NodePool, world: World) -> Value[int]:
    """Nodes that the biggest job of a pool needs, or its share of the target."""
    need = known(jobs_need(pool, world)) or 0
    nodes = world.sizes.of_pool(pool)
    return mapped(nodes, lambda count: max(need, count))


def wanted_count(pool: NodePool, world: World) -> Value[int]:
    """The wanted nodes as they would be written: what a job needs exactly, a share of the target in round numbers."""
    need = known(jobs_need(pool, world)) or 0

    def written(nodes: int) -> int:
        each = -(-nodes // pool.size.times)
        return each if nodes == need else round_up(each)

    return mapped(wanted_nodes(pool, world), written)


def wanted(pool: NodePool, world: World) -> Value[str]:
    """What wants more nodes of a pool."""
    need, nodes = known(jobs_need(pool, world)) or 0, known(world.sizes.of_pool(pool)) or 0
    return computed(pool, "the biggest GPU job needs" if need >= nodes else "its share of the target is")


def surge(pool: NodePool, world: World) -> Value[int]:
    """Nodes that an upgrade adds to a pool."""
    nodes = world.sizes.of_pool(pool)
    if not isinstance(nodes, Known) or isinstance(pool.upgrade.surge, Unset):
        return Unknown(reason_of(nodes if not isinstance(nodes, Known) else pool.upgrade.surge))
    return mapped(pool.upgrade.surge, lambda one: surge_nodes(one, nodes.value))


def grown(pool: NodePool, world: World) -> Value[int]:
    """Its nodes when the cluster reaches its target, as far as its own maximum lets it."""
    nodes = world.sizes.of_pool(pool)
    return mapped(nodes, lambda many: min(many, number(pool.size.max_nodes, many)))


def parallel(pool: NodePool, world: World) -> Value[int]:
    """Nodes that an upgrade replaces at a time."""
    nodes = grown(pool, world)
    if isinstance(pool.upgrade.rolling, Unset):
        return pool.upgrade.rolling
    if not isinstance(nodes, Known):
        return Unknown(reason_of(nodes))
    return mapped(pool.upgrade.rolling, lambda one: surge_nodes(one, nodes.value))


def rounds(pool: NodePool, world: World) -> Value[int]:
    """How often an upgrade replaces that many nodes until it is through."""
    nodes = grown(pool, world)
    return mapped(parallel(pool, world), lambda many: -(-(known(nodes) or 0) // max(1, many)))


def sufficient_parallel(pool: NodePool, world: World) -> Value[int]:
    """A tenth of the nodes, as far as the cloud allows; null where a percentage is written, or that is too few."""
    nodes, rolling = known(grown(pool, world)), known(pool.upgrade.rolling)
    if nodes is None or rolling is None or rolling.percent:
        return computed(pool, None)
    share, rounds = (world.numbers.limits("any")[key].number for key in ("upgrade.share", "upgrade.rounds"))
    many = max(1, min(round_up(-(-nodes * share // 100)), rolling.most or nodes))
    beside = 0 if known(pool.upgrade.scarce_surge) else rolling.beside
    return computed(pool, many - beside if nodes <= many * rounds else None)


def scarce_surge(pool: NodePool, _world: World) -> Value[bool]:
    """Whether an upgrade adds machines of which there are rarely more."""
    return computed(pool, value=False) if isinstance(pool.upgrade.scarce_surge, Unset) else pool.upgrade.scarce_surge


def upgrade_default(pool: NodePool, _world: World) -> Value[bool]:
    """Whether how it is upgraded is the default of a variable of a module that is called: others call that too."""
    return computed(pool, any(map(_of_called_module, [(pool, pool.upgrade.rolling), (pool, pool.upgrade.max_surge)])))


def _of_called_module(found: tuple[NodePool, Value[object]]) -> bool:
    pool, value = found
    if not isinstance(value, Known) or not value.origin.literal:
        return False
    folder = os.path.dirname(value.origin.written.source.path)
    of_variable = value.origin.path[-1:] == ("default",) and value.origin.path[0].startswith("variable ")
    return of_variable and os.path.normpath(folder) != os.path.normpath(pool.root)


def closed(pool: NodePool, _world: World) -> Value[bool]:
    """Whether a taint keeps pods that do not tolerate it away; the cloud's own taint of GPU nodes counts."""
    cluster = known(pool.cluster)
    taints = pool.scheduling.taints
    tainted = cluster is not None and cloud(cluster.cloud).taints_gpu_nodes
    if tainted and known(pool.machine.gpu) and not isinstance(taints, Unknown):
        return computed(pool, value=True)
    if isinstance(taints, Unset):
        return Known(value=False, origin=taints.origin)
    return mapped(taints, lambda own: any(text.rpartition(":")[2] in _KEEPS_AWAY for text in own))


_KEEPS_AWAY = frozenset(
    {"NoSchedule", "NoExecute", "PreferNoSchedule", "NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"}
)


def efa_of(kind: str) -> Callable[[NodePool, World], Value[int]]:
    """How many EFA interfaces of a type a node has."""
    return lambda pool, _world: mapped(pool.machine.efa, lambda kinds: kinds.count(kind))


def pod_addresses(pool: NodePool, world: World) -> Value[int]:
    """Addresses that one node takes for its pods: its block, or one for each pod that it may run."""
    return _for_pods(pool, world, pool.addresses.max_pods)


def pod_addresses_if_few(pool: NodePool, world: World) -> Value[int]:
    """The same if it ran as many pods as a GPU node does."""
    few = world.numbers.limits("any")["gpu_node.pods"].number
    return _for_pods(pool, world, computed(pool, few))


def _for_pods(pool: NodePool, _world: World, pods: Value[int]) -> Value[int]:
    cluster, pod_range = known(pool.cluster), known(pool.addresses.pod_range)
    if cluster is not None and cluster.cni is None and known(pool.addresses.pods_take_addresses):
        return mapped(pods, lambda count: count)
    if pod_range is None or not isinstance(pod_range.block, Unset):
        return computed(pool, 0)  # none, or a block that does not follow from the pods
    return mapped(pods, lambda count: 1 << (32 - cloud(pod_range.cloud).pod_block(count)))


def nvme(pool: NodePool, _world: World) -> Value[int]:
    """GB of local disks of the smallest machine of a pool."""
    cluster = known(pool.cluster)
    if cluster is None:
        return Unknown(reason_of(pool.cluster))
    found = [machines.machine(cluster.cloud, name) for name in known(pool.machine.instance_types) or ()]
    return computed(pool, min((one.nvme for one in found if one), default=0))


def better_disk(pool: NodePool, world: World) -> Value[bool]:
    """Whether its machines can boot from a faster disk: where that is one of their own, not all can."""
    cluster = known(pool.cluster)
    least = world.numbers.limits(cluster.cloud).get("disk.vcpus") if cluster is not None else None
    if cluster is None or least is None:
        return computed(pool, value=True)
    if isinstance(pool.machine.instance_types, Unknown):
        return Unknown(pool.machine.instance_types.reason, pool.machine.instance_types.origin)
    own = cloud(cluster.cloud)
    found = [own.boots_from_own_disk(name, least.number) for name in known(pool.machine.instance_types) or ()]
    if None in found:
        return Unknown("which disks its machines have is not known", pool.machine.instance_types.origin)
    return computed(pool, bool(found) and all(found))


def takes_no_fast_disk(pool: NodePool, _world: World) -> Value[bool]:
    """Whether any of its machine types does not boot from the disks that its cloud has as the faster ones."""
    cluster = known(pool.cluster)
    setting = profiles.settings(cluster.cloud).get("pool.other_disks") if cluster else None
    if setting is None:
        return computed(pool, value=False)
    if isinstance(pool.machine.instance_types, Unknown):
        return Unknown(pool.machine.instance_types.reason, pool.machine.instance_types.origin)
    pattern = re.compile(str(setting.value))
    return computed(pool, any(map(pattern.search, known(pool.machine.instance_types) or ())))


def zones(pool: NodePool, _world: World) -> Value[int]:
    """Over how many zones, or subnets, a pool is spread."""
    if isinstance(pool.size.zone_count, Known):
        return computed(pool, pool.size.zone_count.value)
    subnets = pool.addresses.subnets
    return computed(pool, len(subnets.value)) if isinstance(subnets, Known) else subnets


def widest(cluster: Cluster, world: World) -> Value[int]:
    """Zones, or subnets, that the widest pool of a cluster is spread over, of those in the code."""
    counts = [zones(pool, world) for pool in world.pools.of_cluster(cluster)]
    most = max((known(count) or 0 for count in counts), default=0)
    every = world.pools.all_of_cluster(cluster)
    missing = [every] if isinstance(every, Unknown) and most <= 1 else []
    unknown = next((count for count in (*counts, *missing) if isinstance(count, Unknown)), None)
    return unknown or computed(cluster, most)


def job_pods(pool: NodePool, world: World) -> Value[str]:
    """The biggest GPU job that only this pool has room for, in words; null if there is none."""
    cluster = known(pool.cluster)
    if cluster is None:
        return computed(pool, None)
    found = [
        (need, w)
        for w in world.deployed.on(cluster).workloads
        if not w.per_node and (need := _fills(w, pool)) is not None
    ]
    if not found:
        return computed(pool, None)
    _, workload = max(found, key=lambda pair: pair[0])
    label = known(workload.name) or "?"
    return computed(
        pool, f"{workload.kind} {label}: {known(workload.pods):,} pods with {known(workload.gpus)} GPUs each"
    )


def subnets_of(pool: NodePool, _world: World) -> Value[tuple[Subnet, ...]] | list[Subnet]:
    """The subnets of a pool's nodes."""
    return list(pool.addresses.subnets.value) if isinstance(pool.addresses.subnets, Known) else pool.addresses.subnets


def batch(thing: Cluster | Autoscaler, world: World) -> Value[bool]:
    """Whether a cluster is for jobs: it has a GPU or spot pool, or a Job among its manifests."""
    owner = cluster_of(thing, world) if isinstance(thing, Autoscaler) else computed(thing, thing)
    return _batch(owner.value, world) if isinstance(owner, Known) else owner


def _batch(cluster: Cluster, world: World) -> Value[bool]:
    flags = [flag for pool in world.pools.of_cluster(cluster) for flag in (pool.machine.gpu, pool.market.spot)]
    jobs = [w for w in world.deployed.on(cluster).workloads if w.batch or number(w.gpus, 0)]
    return anyone(cluster, [*flags, *(computed(job, value=True) for job in jobs)])


def deployed_here(cluster: Cluster, world: World) -> Value[bool]:
    """Whether something that is installed into a cluster is in the same code: a manifest, or a Helm release."""
    here = bool(world.deployed.on(cluster).workloads) or bool(world.deployed.on(cluster).addons)
    return computed(cluster, here)


def autoscaled(cluster: Cluster, world: World) -> Value[bool]:
    """Whether any pool of a cluster is autoscaled."""
    pools = world.pools.of_cluster(cluster)
    return anyone(cluster, (pool.size.autoscaled for pool in pools), world.pools.kinds_of_cluster(cluster))


def plain(cluster: Cluster, world: World) -> Value[bool]:
    """Whether any pool of a cluster is without GPUs, so that there is a place for pods that need none."""
    flags = (mapped(pool.machine.gpu, operator.not_) for pool in world.pools.of_cluster(cluster))
    return anyone(cluster, flags, world.pools.kinds_of_cluster(cluster))
