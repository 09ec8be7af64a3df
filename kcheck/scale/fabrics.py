"""Networks between GPUs: what machines have, what pools enable, what pods ask for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.config.numbers import fabrics
from kcheck.inventory.clouds.registry import cloud
from kcheck.scale.basics import anyone, computed, derived
from kcheck.scale.pods import node_labels
from kcheck.scale.pools import filled
from kcheck.scale.world.memory import once
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Unset, Value, known, mapped, number, reason_of, sure

if TYPE_CHECKING:
    from kcheck.model import Cluster, NodePool, PodTemplate, Workload
    from kcheck.scale.world import World

_NODES = regex(r"--nnodes[= ]+(?!1(?![0-9:]))")
"""The torchrun argument for several nodes, or for a range of them."""

_ZONE = regex(r"(topology|failure-domain\.beta)\.kubernetes\.io/zone=[^,]+$")
"""A label that selects nodes of one zone."""


class PoolFabric(Struct, frozen=True):
    """The fabric of a pool's machines; `enabled` are the interfaces that the pool gives its nodes."""

    name: str
    machine: str
    interfaces: int
    gbits: int
    ordinary: int
    resource: str
    joins: str
    enabled: Value[int]
    reached: Value[int]


class Spread(Struct, frozen=True):
    """A job with GPUs whose pods fill several nodes of a pool, and talk to each other."""

    workload: Workload
    nodes: int


# --- of pools


def of_pool(pool: NodePool, _world: World) -> Value[PoolFabric]:
    """The fabric of the pool's machines, the slowest of several; null where one has none, or is as fast without it."""
    found = _slowest(pool)
    return derived(pool, found, lambda own: _enabled(pool, own) if own else None)


def _slowest(pool: NodePool) -> fabrics.Fabric | Unknown | None:
    cluster, types = known(pool.cluster), pool.machine.instance_types
    if cluster is None or known(pool.machine.gpu) is False or isinstance(types, Unset):
        return None
    if not isinstance(types, Known):
        return Unknown(reason_of(types), types.origin)

    named = (fabrics.fabric(cluster.cloud, name) for name in types.value)
    found = [one for one in named if one is not None and one.gbits > one.ordinary]
    return min(found, key=lambda one: one.gbits) if found and len(found) == len(types.value) else None


def _enabled(pool: NodePool, found: fabrics.Fabric) -> PoolFabric:
    cluster = known(pool.cluster)
    enabled = cloud(cluster.cloud if cluster else "any").fabric_interfaces(pool, found.interfaces)
    reached = mapped(enabled, lambda count: max(found.ordinary, count * found.each))
    return PoolFabric(
        name=found.name,
        machine=found.machine,
        interfaces=found.interfaces,
        gbits=found.gbits,
        ordinary=found.ordinary,
        resource=found.resource,
        joins=found.joins,
        enabled=enabled,
        reached=reached,
    )


def spread_job(pool: NodePool, world: World) -> Value[Workload]:
    """The job of several nodes whose pods talk to each other that fills most nodes of a pool; null without one."""
    return mapped(_most_spread(pool, world), lambda one: one.workload)


def spread_nodes(pool: NodePool, world: World) -> Value[int]:
    """Nodes of the pool that this job fills; 0 without one."""
    found = _most_spread(pool, world)
    return computed(pool, 0) if isinstance(found, Unset) else mapped(found, lambda one: one.nodes)


def _most_spread(pool: NodePool, world: World) -> Value[Spread]:
    cluster = known(pool.cluster)
    if cluster is None:
        return computed(pool, None)
    return derived(
        pool,
        _spread_jobs(cluster, world),
        lambda own: max(own.get(pool.id, []), key=lambda one: one.nodes, default=None),
    )


@once
def _spread_jobs(cluster: Cluster, world: World) -> dict[str, list[Spread]] | Unknown:
    """By pool, the jobs that may land on several of its nodes."""
    result: dict[str, list[Spread]] = {}
    for workload in world.deployed.on(cluster).workloads:
        for template in workload.templates:
            if not _distributed(workload, template):
                continue
            found = world.pools.candidates(template)
            if isinstance(found, Unknown):
                return found
            for pool, _ in found:
                nodes = _fewest(workload, pool, world)
                if nodes > 1:
                    result.setdefault(pool.id, []).append(Spread(workload, nodes))
    return result


def _distributed(workload: Workload, template: PodTemplate) -> bool:
    """Whether pods with GPUs talk to each other: none works alone, or they may be several nodes to torchrun."""
    if not number(template.gpus, 0):
        return False
    return bool(known(workload.rigid)) or any(_NODES.search(one.text) for one in template.containers)


def _fewest(workload: Workload, pool: NodePool, world: World) -> int:
    """The fewest nodes of a pool that the pods of a workload with GPUs fill together; 0 if that is not known."""
    found, gpus = [filled(template, pool, world) for template in workload.templates], 0
    for template in workload.templates:
        gpus += number(template.count, 0) * number(template.gpus, 0)
    of_node = number(pool.machine.gpus, 0)
    return 0 if None in found or not of_node else max(-(-gpus // of_node), *(one or 0 for one in found))


# --- of pods


def of_pods(template: PodTemplate, world: World) -> Value[PoolFabric]:
    """The fabric of the pools that pods of a job over several nodes land on; null where one has none."""
    pools, workload = _pools(template, world), world.deployed.workload(template)
    if isinstance(pools, Unknown):
        return pools
    found = [of_pool(pool, world) for pool in pools if _fewest(workload, pool, world) > 1]
    if not found or len(found) < len(pools):
        return computed(template, None)
    missing = next((one for one in found if not isinstance(one, Known)), None)
    fabrics = (one.value for one in found if isinstance(one, Known))
    return missing or computed(template, min(fabrics, key=lambda one: one.gbits))


def _pools(template: PodTemplate, world: World) -> list[NodePool] | Unknown:
    workload = world.deployed.workload(template)
    if not _distributed(workload, template) or workload not in world.inventory.cluster_of:
        return []
    found = world.pools.candidates(template)
    return found if isinstance(found, Unknown) else [pool for pool, _ in found]


def nodes(template: PodTemplate, world: World) -> Value[int]:
    """Nodes that the workload of pods fills by its GPUs, of the pool that takes most; 0 where that is not known."""
    workload = world.deployed.workload(template)
    fewest = partial(_fewest, workload, world=world)
    return derived(template, _pools(template, world), lambda pools: max(map(fewest, pools), default=0))


def domains(template: PodTemplate, world: World) -> Value[int]:
    """Pools or zones over which pods may be spread, though no fabric joins them; 0 without a fabric.

    Subnets of one pool count once: that is a fault of the pool.
    """
    fabric, pools = of_pods(template, world), _pools(template, world)
    if isinstance(pools, Unknown) or not isinstance(fabric, Known):
        return pools if isinstance(pools, Unknown) else fabric if isinstance(fabric, Unknown) else computed(template, 0)
    if fabric.value.joins == "pool":
        return computed(template, len(pools))
    labels = node_labels(template, world)
    if isinstance(labels, Unknown):
        return labels
    if fabric.value.joins == "region" or any(_ZONE.match(one) for one in known(labels) or ()):
        return computed(template, 1)
    found: set[str] = set()
    for pool in pools:
        zones = _zones(pool)
        if isinstance(zones, Unknown):
            return zones
        found.update(zones)
    return computed(template, len(found))


def _zones(pool: NodePool) -> list[str] | Unknown:
    """The zones of a pool; of one with several subnets the first stands for it."""
    cluster = known(pool.cluster)
    listed = pool.placement.zones if cluster and cloud(cluster.cloud).zones_of_pools == "region" else None
    if listed is None:
        subnets = pool.addresses.subnets
        return [known(one.zone) or one.id for one in known(subnets) or ()][:1] or Unknown(reason_of(subnets))
    if isinstance(listed, Known):
        return list(listed.value)
    place = known(cluster.location) if cluster and known(cluster.zonal) else None
    return [place] if place else Unknown(reason_of(listed), listed.origin)


def asks(template: PodTemplate, world: World) -> Value[bool]:
    """Whether pods ask for the interfaces of a fabric: a resource, an annotation, the devices of the node."""
    if known(template.claims_fabric) or any(one.rdma for one in template.containers):
        return computed(template, value=True)
    entry = _entry(template, world)
    notes = template.annotations
    if entry and any(entry.annotations.search(key) for key in sure(notes) or {}):
        return computed(template, value=True)
    if isinstance(notes, Unknown):
        return notes
    if entry and entry.of_host and known(template.host_network):
        return computed(template, value=True)
    return template.claims_fabric if isinstance(template.claims_fabric, Unknown) else template.node_devices


def _entry(template: PodTemplate, world: World) -> fabrics.Fabric | None:
    found = known(of_pods(template, world))
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    if found is None or cluster is None:
        return None

    return fabrics.fabric(cluster.cloud, found.machine)


def switched_off(template: PodTemplate, world: World) -> Value[str]:
    """What in the command or the variables of pods switches the fabric off; null without."""
    entry = _entry(template, world)
    found = (entry.disabled.search(one.text) for one in template.containers) if entry else ()
    return computed(template, next((match[0].replace(" ", "=", 1) for match in found if match), None))


# --- of clusters


def plugin(cluster: Cluster, world: World) -> Value[bool]:
    """Whether the code installs what makes the fabric of any of its machines a resource; eksctl does by itself."""
    if cluster.address.startswith("ClusterConfig/"):
        return computed(cluster, value=True)

    patterns = fabrics.plugins(cluster.cloud)
    here = world.deployed.on(cluster)
    names = [addon.name for addon in here.addons] + [image.text for one in here.workloads for image in one.images]
    found = (mapped(name, lambda text: any(one.search(text) for one in patterns)) for name in names)
    return anyone(cluster, found)
