"""Autoscalers and Karpenter's pools: flags, speed and limits."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

from kcheck.config.numbers import flags
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Machine, Market, NodePool, Scheduling, Size
from kcheck.scale import deletion, placement
from kcheck.scale.pools import autoscaled, landing
from kcheck.scale.queue_limits import Excess
from kcheck.scale.simulate import scenario
from kcheck.scale.word_helpers import anyone, cluster_of, computed, is_default, may_count, parsed, unknown_size
from kcheck.scale.world.memory import once
from kcheck.scale.world.sizes import vcpus
from kcheck.text.amount import Amount
from kcheck.text.need import first_unknown, if_set, need, or_none
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.units import counted, minor_version
from kcheck.text.values import Known, Unknown, Unset, Value, known, mapped, number, sure

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcheck.model import Addon, Autoscaler, Cluster, Flag, KarpenterPool, PodTemplate, Workload
    from kcheck.scale import money
    from kcheck.scale.world import World


def has_work(autoscaler: Autoscaler, world: World) -> bool:
    """Whether an autoscaler has pools to scale, or may have or create some."""
    cluster = known(autoscaler.cluster)
    if cluster is None or known(autoscaler.provisioning) or isinstance(autoscaler.provisioning, Unknown):
        return True
    return known(autoscaled(cluster, world)) is not False


def by_default(autoscaler: Autoscaler, world: World) -> Value[bool]:
    """Whether no target is set and some pool's maximum is a default."""
    cluster = known(autoscaler.cluster)
    if cluster is None or world.sizes.requested(cluster) is not None:
        return computed(autoscaler, value=False)
    return anyone(autoscaler, (is_default(pool, pool.size.max_nodes) for pool in world.pools.of_cluster(cluster)))


def growable_nodes(autoscaler: Autoscaler, world: World) -> int:
    """Count the nodes that the autoscaler adds and removes up to its cluster's target."""
    return sum(nodes for _, nodes in growing(autoscaler, world))


@once
def growing(autoscaler: Autoscaler, world: World) -> list[money.Share]:
    """List the pools that the autoscaler grows, with the nodes that it adds to each."""
    if not isinstance(autoscaler.cluster, Known):
        return [(None, need(world.config.nodes.get("") or unknown_size(autoscaler, world)))]
    grown = (pool for pool in need(world.pools.all_of_cluster(autoscaler.cluster.value)) if need(pool.size.autoscaled))
    return [(pool, max(0, need(world.sizes.of_pool(pool)) - number(pool.size.min_nodes, 0))) for pool in grown]


def zones(autoscaler: Autoscaler, world: World) -> int:
    """Count the zones of the pools that it scales."""
    pools = [pool for pool, _ in growing(autoscaler, world) if pool is not None]
    return len({zone for pool in pools for zone in need(pool.placement.zones)})


def tolerated_share(autoscaler: Autoscaler, world: World) -> int:
    """Return the percentage of unready nodes that survives the loss of a zone."""
    return deletion.percentage(or_none(zones)(autoscaler, world) or 1)


def tolerated_nodes(autoscaler: Autoscaler, world: World) -> int:
    """Count the unready nodes to tolerate while a batch is deleted."""
    nodes, own = growable_nodes(autoscaler, world), need(autoscaler.bulk_delete)
    batch = sufficient_batch(autoscaler, world) or 0
    return deletion.tolerated(nodes, max(own, batch), tolerated_share(autoscaler, world))


def client_qps(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Return the autoscaler's API requests per second; the default if a cloud runs it."""
    if isinstance(autoscaler.client_qps, Unset):
        return computed(autoscaler, world.numbers.limits("any")["autoscaler.client_qps"].number)
    return mapped(autoscaler.client_qps, lambda qps: max(1, qps))


def batches(autoscaler: Autoscaler, world: World) -> int:
    """Count the batches in which its nodes are deleted."""
    return deletion.batches(growable_nodes(autoscaler, world), need(autoscaler.bulk_delete))


def tainting_time(autoscaler: Autoscaler, world: World) -> int:
    """Return the seconds to taint its nodes, one request each."""
    return deletion.tainting_time(growable_nodes(autoscaler, world), need(client_qps(autoscaler, world)))


def batch_interval(autoscaler: Autoscaler, _world: World) -> Value[int]:
    """Return the minimum seconds between batches, without tainting."""
    settings, _ = scenario.autoscaler_settings(autoscaler, known(autoscaler.cluster))
    delay = ceil(settings.taint_delay)
    return mapped(autoscaler.scan_interval, lambda own: min(own, delay) if settings.eager else own)


@or_none
def sufficient_batch(autoscaler: Autoscaler, world: World) -> int | None:
    """Return a round batch size that deletes fast enough at half speed."""
    wanted, tainting = world.numbers.limits("any")["autoscaler.deletion_time"].number, tainting_time(autoscaler, world)
    goal, interval = wanted if tainting < wanted else 2 * tainting, need(autoscaler.scan_interval)
    return deletion.batch_for(growable_nodes(autoscaler, world), goal, interval, need(client_qps(autoscaler, world)))


def minor(autoscaler: Autoscaler, _world: World) -> Value[int]:
    """Return the minor version of an autoscaler; unset if a cloud runs it."""
    return parsed(autoscaler.version, minor_version, "not a version of the cluster autoscaler")


def owner(flag: Flag, world: World) -> Autoscaler:
    """Find the autoscaler that has a flag."""
    return next(a for a in world.inventory.autoscalers if flag in a.flags)


def _judged(judge: Callable[[str, flags.Release], bool | None], changes: str, flag: Flag, world: World) -> bool:
    """Judge a flag by its autoscaler's release; false if upstream lacks it."""
    name, autoscaler = known(flag.name) or "", owner(flag, world)
    if changes not in flags.flags().get(name, {}):
        return False
    release = flags.release(known(autoscaler.version) or "")
    if release is None:
        if_set(minor(autoscaler, world))
        return False
    why = f"--{name} depends on the patch of {release}, which is not known"
    found = judge(name, release)
    return need(Unknown(why, autoscaler.version.origin)) if found is None else found


comes_later = partial(_judged, flags.comes_later, "first")
is_removed = partial(_judged, flags.is_removed, "removed")


def first_version(flag: Flag, _world: World) -> str | None:
    """Return the first version with a flag, not before its autoscaler's minor version."""
    own = flags.release(known(flag.version) or "")
    found = flags.first_release(known(flag.name) or "", own.minor if own else 0)
    return str(found) if found else None


def removed_version(flag: Flag, _world: World) -> str | None:
    """Return the first version without a flag that earlier ones had."""
    found = flags.removed_release(known(flag.name) or "")
    return str(found) if found else None


def successor(flag: Flag, world: World) -> str | None:
    """Return the flag that replaces a flag; None if there is none, or if both are set."""
    name = flags.flags().get(known(flag.name) or "", {}).get("successor")
    is_set = any(known(other.name) == name for other in owner(flag, world).flags)
    return None if is_set else name


def profile_has_place(autoscaler: Autoscaler, _world: World) -> bool:
    """Whether the profile is in the code or can be added."""
    own = autoscaler.profile.origin
    return bool(own and ((own.missing and own.missing.path) or (own.spans and own.written != autoscaler.place)))


# --- caps


_UNKNOWN_TYPES = Unknown("the machine types of all pools are not known")


def wanted(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Return the requested nodes, or else the sum of the pools' maxima."""
    cluster = cluster_of(autoscaler, world)
    if isinstance(cluster, Known):
        found: Value[int] = world.sizes.wanted(cluster.value)
        # where the cloud may add nodes beside the pools, theirs are the least
        return found if isinstance(found, Known) else world.sizes.maximum(cluster.value)
    asked = world.config.nodes.get("")
    return computed(autoscaler, asked) if asked else unknown_size(autoscaler, world)


def wanted_cores(autoscaler: Autoscaler, world: World) -> Amount:
    """Count the cores of the wanted nodes; bounds if some machine types are unknown."""
    least = _cores(autoscaler, need(wanted(autoscaler, world)), world)
    return Amount(least, least if _machines_known(autoscaler, world) else None, _UNKNOWN_TYPES)


def capacity(autoscaler: Autoscaler, world: World) -> Value[int] | Amount:
    """Count the wanted nodes that caps on nodes and cores allow."""
    nodes, own, cores = wanted(autoscaler, world), if_set(autoscaler.max_nodes), autoscaler.max_cores
    count = need(nodes)
    if own and 0 < own < count:
        return autoscaler.max_nodes
    if not isinstance(cores, Known):
        return nodes if isinstance(cores, Unset) else cores
    if cores.value >= count * world.numbers.limits("any")["autoscaler.cores_of_node"].number:
        return nodes
    most = _within_cores(autoscaler, count, cores, world)
    return Amount(most if _machines_known(autoscaler, world) else 0, most, _UNKNOWN_TYPES, cores.origin)


def overrun(autoscaler: Autoscaler, world: World) -> Excess | None:
    """Find the job that exceeds the auto-provisioning limit most; else None."""
    cluster = known(autoscaler.cluster)
    if cluster is None or isinstance(autoscaler.max_accelerators, Unset):
        return None
    labels, pools = cloud(cluster.cloud).gpu_labels, world.pools.of_cluster(cluster)
    jobs = (one for one in world.deployed.on(cluster).workloads if one.batch and not one.per_node)
    every = [(job, pods) for job in jobs for pods in job.templates if may_count(pods.gpus) and may_count(pods.count)]
    found, missing = [], None
    for job, pods in every:
        if any(world.pools.fit(pods, pool).fits is not False for pool in pools):
            continue  # nodes of a pool may take them
        terms, limits = sure(pods.selection) or (), need(autoscaler.max_accelerators)
        names = {name for term in terms for one in term if one.key in labels for name in one.values} or {*limits}
        if len(names) != 1:
            continue  # nodes with another kind may take them
        kind, count, each = names.pop(), number(pods.count, 0), number(pods.gpus, 0)
        missing = missing or first_unknown((pods.gpus, pods.count))
        if count * each > limits.get(kind, 0):
            parts, name = f"{counted(count, 'pod')} x {each}", known(job.name) or "?"
            found.append(Excess(kind, count * each, limits.get(kind, 0), parts, job.kind, name))
    if not found:
        need(missing)
    return max(found, key=lambda one: one.asked, default=None)


def _machines_known(autoscaler: Autoscaler, world: World) -> bool:
    cluster = known(autoscaler.cluster)
    return cluster is not None and all(
        isinstance(pool.machine.instance_types, Known) for pool in world.pools.of_cluster(cluster)
    )


def _within_cores(autoscaler: Autoscaler, nodes: int, most: Known[int], world: World) -> int:
    """Return the most nodes, up to a number, that a cap on cores allows."""
    needed, cluster = _cores(autoscaler, nodes, world), known(autoscaler.cluster)
    if needed <= most.value:
        return nodes
    if cluster is not None and world.sizes.growth(cluster).known and world.pools.of_cluster(cluster):
        own = next((one for one in world.sizes.caps(cluster) if one.cause is most), None)
        if own is not None:
            return world.sizes.within(own, cluster, nodes)
    return nodes * most.value // needed


def _cores(autoscaler: Autoscaler, wanted: int, world: World) -> int:
    """Return the minimum number of cores on the wanted nodes."""
    cluster = known(autoscaler.cluster)
    sizes = world.sizes.shares(cluster, wanted) if cluster is not None else {}
    each = {pool.id: max(1, vcpus(pool, cluster)) for pool in world.pools.of_cluster(cluster)} if cluster else {}
    return sum(each[name] * nodes for name, nodes in sizes.items()) + max(0, wanted - sum(sizes.values()))


# --- pools


Group: TypeAlias = "dict[tuple[Hashable, ...], list[NodePool]]"


def _groups(autoscaler: Autoscaler, world: World, key: Callable[[NodePool], tuple[Value[object], ...]]) -> Group:
    """Group an autoscaler's pools by some of their fields.

    Raises NotKnown if one of these is not known.
    """
    groups = defaultdict(list)
    for pool in need(world.pools.all_of_cluster(need(cluster_of(autoscaler, world)))):
        if known(pool.size.autoscaled) is not False:
            _, *values = map(_plain, (pool.size.autoscaled, *key(pool)))  # all of these must be known
            groups[tuple(values)].append(pool)
    return groups


def _plain(value: Value[object]) -> Hashable:
    found = if_set(value)
    if isinstance(found, dict):
        return tuple(sorted(found.items()))
    return tuple(sorted(found, key=str)) if isinstance(found, tuple) else found


def choices(autoscaler: Autoscaler, world: World) -> list[NodePool]:
    """List pools with the same taints, one per machine type."""
    groups = _groups(autoscaler, world, lambda pool: (pool.scheduling.taints, pool.machine.instance_types))
    by_taints = grouped(groups.values(), lambda pools: _plain(pools[0].scheduling.taints))
    return [pools[0] for pools in max(by_taints.values(), key=len, default=[])]


def twins(autoscaler: Autoscaler, world: World) -> list[NodePool]:
    """List the largest group of equal pools that could grow together.

    Pools with a fabric of their own are left out: a job spread over two of them cannot use it.
    """
    return max(_groups(autoscaler, world, _shape).values(), key=len, default=[])


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
    """Find the autoscaler of a pool's cluster; null if none is in the code."""
    cluster = known(pool.cluster)
    return computed(pool, world.autoscaling.autoscaler(cluster) if cluster is not None else None)


# --- node pools of Karpenter


_VERSION = regex(r"v?(\d{1,9})\.(\d{1,9})\.")
_RETIRED = {"v1alpha5": "karpenter.alpha_removed", "v1beta1": "karpenter.beta_removed"}
"""Version of the API -> name of the limit with the first version of Karpenter without it."""


def installed(pool: KarpenterPool, world: World) -> Value[str]:
    """Return the version of Karpenter's chart on the cluster; null if none."""
    cluster = known(pool.cluster)
    found = [one.version for one in releases(cluster, world)] if cluster else []
    return next((one for one in found if isinstance(one, Known)), found[0] if found else computed(pool, None))


def served(pool: KarpenterPool, world: World) -> bool | None:
    """Whether the installed Karpenter serves the pool's API version."""
    key, own = _RETIRED.get((known(pool.api) or "").rpartition("/")[2]), known(installed(pool, world))
    older = is_older(own, world.numbers.limits("any")[key].text) if key else True
    return None if _numbers(own) is None else older


def releases(cluster: Cluster, world: World) -> list[Addon]:
    """List the releases of Karpenter's chart on a cluster."""
    return [one for one in world.deployed.on(cluster).addons if one.tree is None and known(one.name) == "karpenter"]


def is_older(version: str | None, other: str) -> bool:
    """Whether a version is known and older than another, by its first two numbers."""
    own, least = _numbers(version), _numbers(other)
    return own is not None and least is not None and own < least


def _numbers(version: str | None) -> tuple[int, int] | None:
    match = _VERSION.match(f"{version}.") if version else None
    return (int(match[1]), int(match[2])) if match else None


def limits(pool: KarpenterPool, _world: World) -> Value[tuple[str, ...]]:
    """List the pool's limits, empty without any; for a pool of fixed size, the nodes."""
    own = Known((), pool.limits.origin) if isinstance(pool.limits, Unset) else pool.limits
    if isinstance(pool.replicas, Unset):
        return own
    nodes = f"nodes={pool.replicas.value}" if isinstance(pool.replicas, Known) else "nodes"
    return mapped(own, lambda found: (*found, nodes))


def gpu_workloads(pool: KarpenterPool, world: World) -> list[Workload]:
    """List the GPU workloads applied together with the pool that may run on its nodes."""
    return _landing(world).get(pool, [])


@once
def _landing(world: World) -> dict[KarpenterPool, list[Workload]]:
    """Map Karpenter's pools to the GPU workloads that may run on their nodes."""
    result: dict[KarpenterPool, list[Workload]] = {}
    homes = grouped(world.inventory.karpenter, lambda one: known(one.cluster) or world.deployed.scope(one))
    for home, pools in homes.items():
        here = world.deployed.in_scope(home) if isinstance(home, str) else world.deployed.on(home)
        nodes = {nodes_of(one): one for one in pools}
        every = placement.Labelled(list(nodes))

        def near(one: PodTemplate, every: placement.Labelled = every) -> list[NodePool]:
            found = every.selected(one) if one.on_accelerators else []
            return [pool for pool in found if placement.fit(one, pool).fits is not False]

        result |= {nodes[pool]: own for pool, own in landing(here.workloads, near).items()}
    return result


def nodes_of(pool: KarpenterPool) -> NodePool:
    """Return a node pool that looks like its nodes, for matching pods."""
    name = {"karpenter.sh/nodepool": pool.name.value} if isinstance(pool.name, Known) else {}
    labels = pool.labels if isinstance(pool.labels, Unknown) else computed(pool, (known(pool.labels) or {}) | name)
    return NodePool(
        pool.id, pool.place, pool.id, pool.cluster, pool.name, size=Size(autoscaled=computed(pool, value=True)),
        machine=Machine(Unknown("the machine types are Karpenter's choice"), pool.gpu),
        scheduling=Scheduling(labels, pool.taints), market=Market(spot=pool.spot),
    )  # fmt: skip
