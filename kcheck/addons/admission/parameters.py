"""Values that objects do not contain, read from the code for the policies' ConfigMap."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.inventory.clouds import registry
from kcheck.model import NODE_ADDRESSES
from kcheck.scale import gangs, gpus, placement, pods, queues
from kcheck.text.values import Known, Unknown, equals, known, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.model import Cluster, NodePool, Queue, Scheduler
    from kcheck.scale.world import World
    from kcheck.text.values import Value


class Parameters(NamedTuple):
    """Known values by name, and the reasons why others are unknown."""

    values: dict[str, str]
    unknown: dict[str, str]


def of_world(world: World) -> Parameters:
    """Collect the values of the only cluster and of the manifests."""
    values = {name: read(world) for name, read in _OF_MANIFESTS.items()}
    clusters = world.inventory.clusters
    if len(clusters) != 1:
        asked = world.config.nodes.get("")
        values |= {"nodes": str(asked)} if asked else {}
        why = f"there are {len(clusters)} clusters here; name the folder of one" if clusters else "no cluster is here"
        return Parameters(values, dict.fromkeys(_OF_CLUSTER.keys() - values.keys(), why))
    unknown = {}
    for name, read in _OF_CLUSTER.items():
        found = read(world, clusters[0])
        if isinstance(found, Unknown):
            unknown[name] = found.reason
        else:
            values[name] = found
    return Parameters(values, unknown)


def _listed(names: Iterable[str | None]) -> str:
    return ",".join(dict.fromkeys(name for name in names if name))


def _yes(value: bool) -> str:
    return "true" if value else "false"


# --- manifests


def _queues(world: World, kind: str) -> list[Queue]:
    return [one for one in world.inventory.queues if one.kind == kind]


def _local_queues(world: World) -> str:
    return _listed(f"{known(one.namespace) or ''}/{known(one.name)}" for one in _queues(world, "LocalQueue"))


def _cluster_queues(world: World) -> str:
    led = [known(one.leads_to) for one in _queues(world, "LocalQueue")]
    return _listed(f"{known(one.name)}={led.count(known(one.name))}" for one in _queues(world, "ClusterQueue"))


def _classes(world: World) -> str:
    return _listed(
        f"{known(one.name)}={number(one.number, 0)}={'never' if equals(one.preemption, 'Never') else 'preempts'}"
        for one in world.inventory.classes
        if not one.kueue and isinstance(one.name, Known)
    )


def _default_classes(world: World) -> str:
    return _listed(known(one.name) for one in world.inventory.classes if not one.kueue and known(one.default))


def _limit_ranges(world: World) -> str:
    """List namespaces with a LimitRange; * for one without a namespace."""
    return _listed(known(one.namespace) or "*" for one in world.inventory.limits if one.kind == "LimitRange")


def _strategy(world: World) -> str:
    found = {gpus.strategy(one, world) for one in world.inventory.sharings}
    return found.pop() or "" if len(found) == 1 else ""


def _scheduler(world: World, read: Callable[[Scheduler], Value[tuple[str, ...]]]) -> tuple[str, ...]:
    """Read from the configuration of Volcano's scheduler; empty if the code has none."""
    return next((known(read(one)) or () for one in world.inventory.schedulers), ())


_OF_MANIFESTS: dict[str, Callable[[World], str]] = {
    "all_jobs_wait": lambda world: _yes(any(known(one.manages_all) for one in world.inventory.admissions)),
    "cluster_queues": _cluster_queues, "default_classes": _default_classes,
    "gang_operators": lambda world: _yes(gangs.operator(world) is not None),
    "job_classes": lambda world: _listed(known(one.priority) for one in world.inventory.workloads if one.batch),
    "limit_ranges": _limit_ranges, "local_queues": _local_queues, "mig_strategy": _strategy,
    "priority_classes": _classes, "volcano_actions": lambda world: _listed(_scheduler(world, lambda one: one.actions)),
    "volcano_plugins": lambda world: _listed(_scheduler(world, lambda one: queues.plugins(one, world))),
    "volcano_queues": lambda world: _listed(known(one.name) for one in _queues(world, "Queue")),
}  # fmt: skip


# --- a cluster


def _pools(world: World, cluster: Cluster) -> str | Unknown:
    found = world.pools.all_of_cluster(cluster)
    if isinstance(found, Unknown):
        return found
    if world.autoscaling.beyond_pools(cluster):
        return Unknown(f"{cluster.address} gets nodes beside its pools")
    lines = [_pool(world, cluster, one) for one in found]
    return next((line for line in lines if isinstance(line, Unknown)), None) or "\n".join(map(str, lines))


def _pool(world: World, cluster: Cluster, pool: NodePool) -> str | Unknown:
    nodes, taints = world.sizes.of_pool(pool), pool.scheduling.taints
    for value in (nodes, taints, pool.machine.gpu, pool.scheduling.labels):
        if isinstance(value, Unknown):
            return value
    autoscaler = world.autoscaling.autoscaler(cluster)
    cards = known(pool.machine.gpus)
    is_gpu = known(pool.machine.gpu) is True
    traits = {
        "autoscaled": known(pool.size.autoscaled),
        "gpu": is_gpu,
        "spot": known(pool.market.spot),
        "admits-cards": registry.cloud(cluster.cloud).admits_asked_resources,
        "skip-local-storage": autoscaler is not None and known(autoscaler.skip_local_storage),
    }
    fields = [
        known(pool.name) or pool.address, known(pool.mode) or "", str(cards or (-1 if is_gpu else 0)),
        str(number(nodes, 0)), str(number(pool.size.min_nodes, 0)), str(placement.smallest(pool) or 0),
        ",".join(name for name, holds in traits.items() if holds), ",".join(_taints(pool)), ",".join(_labels(pool)),
        str(world.pools.cpu_left(pool) or 0),
    ]  # fmt: skip
    return ";".join(fields)


def _labels(pool: NodePool) -> list[str]:
    """List the known labels of a pool's nodes, as key=value."""
    cluster = known(pool.cluster)
    cloud = registry.cloud(cluster.cloud) if cluster else None
    keys = [*(known(pool.scheduling.labels) or {}), *placement.INSTANCE]
    if cloud is not None:
        keys += [*cloud.pool_labels, *([cloud.spot_label.key] if cloud.spot_label else [])]
    return [f"{key}={value}" for key in dict.fromkeys(keys) for value in sorted(placement.values_of(key, pool) or ())]


_EFFECTS = {"noschedule": "NoSchedule", "noexecute": "NoExecute"}


def _taints(pool: NodePool) -> list[str]:
    """List the taints that keep pods away, in the spelling of Kubernetes."""
    result = []
    for taint in filter(placement.keeps_away, placement.taints(pool)):
        rest, _, effect = taint.rpartition(":")
        result.append(f"{rest}:{_EFFECTS.get(effect.replace('_', '').lower(), effect)}")
    return result


def _grace(world: World, cluster: Cluster) -> str | Unknown:
    autoscaler = world.autoscaling.autoscaler(cluster)
    if autoscaler is None or not isinstance(autoscaler.grace, Known):
        return Unknown(f"{cluster.address} has no autoscaler whose settings are known")
    return str(autoscaler.grace.value)


def _notice(world: World, cluster: Cluster) -> str | Unknown:
    entry = world.numbers.limits(cluster.cloud).get(pods.NOTICE)
    return str(entry.number) if entry is not None else Unknown("the notice of spot nodes is not known")


def _nodes(world: World, cluster: Cluster) -> str | Unknown:
    target = world.sizes.target(cluster)
    return target if isinstance(target, Unknown) else str(number(target, 0))


def _volcano_gpus(world: World, cluster: Cluster) -> str | Unknown:
    found = gangs.admitted(cluster, world)
    return found if isinstance(found, Unknown) else str(found)


def _mirrored(world: World, cluster: Cluster) -> str | Unknown:
    found = [pool.system.hub_mirror for pool in world.pools.of_cluster(cluster)]
    unknown = next((value for value in found if isinstance(value, Unknown)), None)
    return unknown or _yes(bool(found) and all(map(known, found)))


def _addresses(_world: World, cluster: Cluster) -> str | Unknown:
    if equals(cluster.outbound_type, NODE_ADDRESSES):
        return Unknown(f"each node of {cluster.address} has an address of its own")
    return str(max(1, number(cluster.outbound_ips, 1)))


def _cutoff(world: World, cluster: Cluster) -> str | Unknown:
    flag = queues.cutoff_flag(cluster, world)
    if isinstance(flag, Unknown):
        return flag
    return str(world.numbers.limits("any")["priority.cutoff"].number if flag is None else known(flag))


def _releases(world: World, cluster: Cluster) -> str:
    return _yes(any(one.tree is None for one in world.deployed.on(cluster).addons))


_OF_CLUSTER: dict[str, Callable[[World, Cluster], str | Unknown]] = {
    "cloud": lambda _world, cluster: cluster.cloud, "cutoff": _cutoff, "egress_addresses": _addresses, "grace": _grace,
    "mirrored": _mirrored, "nodes": _nodes, "pools": _pools,
    "public_cache": lambda _world, cluster: _yes(registry.cloud(cluster.cloud).caches_docker_hub),
    "releases": _releases, "spot_notice": _notice, "volcano_gpus": _volcano_gpus,
}  # fmt: skip
