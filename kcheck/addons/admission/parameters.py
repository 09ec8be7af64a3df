"""Values for the policies' ConfigMap, read from the code."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kcheck.inventory.clouds import registry
from kcheck.model import NODE_ADDRESSES, Cluster, NodePool, Queue, Scheduler
from kcheck.scale import gangs, gpus, placement, pods, queues
from kcheck.scale.world import World
from kcheck.text.need import NotKnown, if_set, need, or_none
from kcheck.text.units import as_text
from kcheck.text.values import Known, Unknown, Value, equals, known, number


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
    for name, of_cluster in _OF_CLUSTER.items():
        try:
            values[name] = of_cluster(world, clusters[0])
        except NotKnown as error:
            unknown[name] = error.missing.reason
    return Parameters(values, unknown)


def _listed(names: Iterable[str | None]) -> str:
    return ",".join(dict.fromkeys(name for name in names if name))


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
    found = {or_none(gpus.strategy)(one, world) for one in world.inventory.sharings}
    return found.pop() or "" if len(found) == 1 else ""


def _scheduler(world: World, read: Callable[[Scheduler], Value[tuple[str, ...]]]) -> tuple[str, ...]:
    """Read from the configuration of Volcano's scheduler; empty without one."""
    return next((known(read(one)) or () for one in world.inventory.schedulers), ())


_OF_MANIFESTS: dict[str, Callable[[World], str]] = {
    "all_jobs_wait": lambda world: as_text(any(known(one.manages_all) for one in world.inventory.admissions)),
    "cluster_queues": _cluster_queues, "default_classes": _default_classes,
    "gang_operators": lambda world: as_text(gangs.operator(world) is not None),
    "job_classes": lambda world: _listed(known(one.priority) for one in world.inventory.workloads if one.batch),
    "limit_ranges": _limit_ranges, "local_queues": _local_queues, "mig_strategy": _strategy,
    "priority_classes": _classes, "volcano_actions": lambda world: _listed(_scheduler(world, lambda one: one.actions)),
    "volcano_plugins": lambda world: _listed(_scheduler(world, lambda one: queues.plugins(one, world))),
    "volcano_queues": lambda world: _listed(known(one.name) for one in _queues(world, "Queue")),
}  # fmt: skip


# --- a cluster


def _pools(world: World, cluster: Cluster) -> str:
    found = need(world.pools.all_of_cluster(cluster))
    if world.autoscaling.beyond_pools(cluster):
        raise NotKnown(Unknown(f"{cluster.address} gets nodes beside its pools"))
    return "\n".join(_pool(world, cluster, one) for one in found)


def _pool(world: World, cluster: Cluster, pool: NodePool) -> str:
    nodes = if_set(world.sizes.of_pool(pool)) or 0
    if_set(pool.scheduling.taints)
    is_gpu = if_set(pool.machine.gpu) is True
    if_set(pool.scheduling.labels)
    autoscaler = world.autoscaling.autoscaler(cluster)
    cards = known(pool.machine.gpus)
    traits = {
        "autoscaled": known(pool.size.autoscaled),
        "gpu": is_gpu,
        "spot": known(pool.market.spot),
        "admits-cards": registry.cloud(cluster.cloud).admits_asked_resources,
        "skip-local-storage": autoscaler is not None and known(autoscaler.skip_local_storage),
    }
    fields = [
        known(pool.name) or pool.address, known(pool.mode) or "", str(cards or (-1 if is_gpu else 0)),
        str(nodes), str(number(pool.size.min_nodes, 0)), str(placement.smallest(pool) or 0),
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


def _grace(world: World, cluster: Cluster) -> str:
    autoscaler = world.autoscaling.autoscaler(cluster)
    if autoscaler is None or not isinstance(autoscaler.grace, Known):
        raise NotKnown(Unknown(f"{cluster.address} has no autoscaler whose settings are known"))
    return str(autoscaler.grace.value)


def _notice(world: World, cluster: Cluster) -> str:
    entry = world.numbers.limits(cluster.cloud).get(pods.NOTICE)
    return str(need(entry.number if entry is not None else Unknown("the notice of spot nodes is not known")))


def _mirrored(world: World, cluster: Cluster) -> str:
    found = [if_set(pool.system.hub_mirror) for pool in world.pools.of_cluster(cluster)]
    return as_text(bool(found) and all(found))


def _addresses(_world: World, cluster: Cluster) -> str:
    if equals(cluster.outbound_type, NODE_ADDRESSES):
        raise NotKnown(Unknown(f"each node of {cluster.address} has an address of its own"))
    return str(max(1, number(cluster.outbound_ips, 1)))


def _cutoff(world: World, cluster: Cluster) -> str:
    flag = queues.cutoff_flag(cluster, world)
    return str(world.numbers.limits("any")["priority.cutoff"].number if flag is None else need(flag))


_OF_CLUSTER: dict[str, Callable[[World, Cluster], str]] = {
    "cloud": lambda _world, cluster: cluster.cloud, "cutoff": _cutoff, "egress_addresses": _addresses, "grace": _grace,
    "mirrored": _mirrored, "nodes": lambda world, cluster: str(need(world.sizes.target(cluster))), "pools": _pools,
    "public_cache": lambda _world, cluster: as_text(registry.cloud(cluster.cloud).caches_docker_hub),
    "releases": lambda world, cluster: as_text(any(one.tree is None for one in world.deployed.on(cluster).addons)),
    "spot_notice": _notice, "volcano_gpus": lambda world, cluster: str(gangs.admitted(cluster, world)),
}  # fmt: skip
"""Values of a cluster; `NotKnown` is raised where the code does not say one."""
