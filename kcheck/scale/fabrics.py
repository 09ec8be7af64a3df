"""Networks between GPUs: of machines, pools and pods."""

from __future__ import annotations

import re
from functools import cache
from operator import itemgetter
from typing import Annotated

from msgspec.structs import asdict

from kcheck.config.numbers import fabrics, machines
from kcheck.inventory.clouds.registry import cloud, every
from kcheck.model import Cluster, NodePool, PodTemplate, Workload
from kcheck.scale import placement
from kcheck.scale.jobs import gpu_pods
from kcheck.scale.pods import node_labels
from kcheck.scale.pools import fewest
from kcheck.scale.word_helpers import anyone, computed, runs
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text import placeholders
from kcheck.text.need import first_unknown, if_set, need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Unset, Value, because, known, mapped, sure

_NODES = regex(r"--nnodes[= ]+(?!1(?![0-9:]))")
"""Argument of torchrun for several nodes, or a range of them."""

_ZONE = regex(r"(topology|failure-domain\.beta)\.kubernetes\.io/zone=[^,]+$")
"""Label that selects nodes of one zone."""


class PoolFabric(fabrics.Fabric, frozen=True):
    """Fabric of a pool's machines."""

    enabled: Annotated[Value[int], "interfaces that the pool gives its nodes", "", "never null"]
    reached: Annotated[Value[int], "Gbit/s that a node has with these", "", "never null"]


# --- of pools


def of_pool(pool: NodePool, _world: World) -> PoolFabric | None:
    """Find the slowest fabric of a pool's machines; None if one has none."""
    cluster, types = known(pool.cluster), pool.machine.instance_types
    if cluster is None or known(pool.machine.gpu) is False or isinstance(types, Unset):
        return None
    named = [fabrics.fabric(cluster.cloud, name) for name in need(types)]
    found = [one for one in named if one is not None and one.gbits > one.ordinary]
    if not found or len(found) < len(named):
        return None
    slowest = min(found, key=lambda one: one.gbits)
    enabled = cloud(cluster.cloud).fabric_interfaces(pool, slowest.interfaces)
    reached = mapped(enabled, lambda count: max(slowest.ordinary, count * slowest.each))
    return PoolFabric(**asdict(slowest), enabled=enabled, reached=reached)


@once
def most_spread(pool: NodePool, world: World) -> tuple[Workload | None, int]:
    """Return the multi-node job that fills most of a pool, and its nodes."""
    cluster = known(pool.cluster)
    jobs = _spread_jobs(cluster, world).get(pool.id, []) if cluster else []
    filled = [(job, or_unknown(_fewest)(job, pool, world)) for job in jobs]
    found = [(job, nodes) for job, nodes in filled if isinstance(nodes, int) and nodes > 1]
    if not found:
        need(first_unknown(nodes for _, nodes in filled))
    return max(found, key=itemgetter(1), default=(None, 0))


@once
def _spread_jobs(cluster: Cluster, world: World) -> dict[str, list[Workload]]:
    """List, by pool, the GPU jobs whose pods communicate."""
    result: dict[str, list[Workload]] = {}
    for workload in world.deployed.on(cluster).workloads:
        templates = [one for one in workload.templates if or_unknown(_distributed)(workload, one)]
        for pool in (pool for one in templates for pool, _ in need(world.pools.candidates(one))):
            result.setdefault(pool.id, []).append(workload)
    return result


def _distributed(workload: Workload, template: PodTemplate) -> bool:
    """Whether GPU pods communicate with each other."""
    spread = known(workload.rigid) or any(_NODES.search(one.text) for one in template.containers)
    return bool(spread and if_set(template.gpus))


def _fewest(workload: Workload, pool: NodePool, world: World) -> int:
    """Return the minimum number of a pool's nodes that GPU pods fill."""
    for template in workload.templates:
        if if_set(template.gpus):
            need(template.count)
    if_set(pool.machine.gpus)  # decides how many a node holds
    return fewest(workload, pool, world) or 0


# --- of pods


def of_pods(template: PodTemplate, world: World) -> PoolFabric | None:
    """Find the slowest fabric of the pools that a job's pods run on."""
    pools, workload = _pools(template, world), world.deployed.workload(template)
    if workload not in world.inventory.cluster_of:
        return _of_names(template) if _distributed(workload, template) else None
    filled = [pool for pool in pools if _fewest(workload, pool, world) > 1]
    if not filled or len(filled) < len(pools):
        return None
    found = [fabric for pool in filled if (fabric := of_pool(pool, world))]
    return min(found, key=lambda one: one.gbits) if len(found) == len(filled) else None


def _of_names(template: PodTemplate) -> PoolFabric | None:
    """Find the slowest fabric of the machines or cards that pods select."""
    terms = [one for term in sure(template.selection) or () for one in term if one.operator == "In"]
    labels = {*placement.INSTANCE, *(label for one in every() for label in one.gpu_labels)}
    names = {name for one in terms if one.key in labels for name in one.values}
    found = [fabric for name in names for one in every() if (fabric := fabrics.fabric(one.name, name))
             and machines.gpus(one.name, fabric.machine) == known(template.gpus)]  # fmt: skip
    if not found or len(found) < len(names):
        return None
    own = min(found, key=lambda one: one.gbits)
    return PoolFabric(**asdict(own), enabled=computed(template, own.interfaces), reached=computed(template, own.gbits))


def _pools(template: PodTemplate, world: World) -> list[NodePool]:
    workload = world.deployed.workload(template)
    if not _distributed(workload, template) or workload not in world.inventory.cluster_of:
        return []
    return [pool for pool, _ in need(world.pools.candidates(template))]


def nodes(template: PodTemplate, world: World) -> int:
    """Count the nodes that a workload's GPUs fill; 0 if unknown."""
    workload = world.deployed.workload(template)
    if workload not in world.inventory.cluster_of:
        return gpu_pods(workload, world) if of_pods(template, world) else 0
    return max((_fewest(workload, pool, world) for pool in _pools(template, world)), default=0)


def domains(template: PodTemplate, world: World) -> int:
    """Count the pools or zones over which pods may be spread.

    Subnets of one pool count once: they are a problem of the pool.
    """
    pools, fabric = _pools(template, world), of_pods(template, world)
    if fabric is None:
        return 0
    if fabric.joins == "pool":
        return len(pools)
    selected = if_set(node_labels(template, world)) or ()
    if fabric.joins == "region" or any(map(_ZONE.match, selected)):
        return 1
    return len({zone for pool in pools for zone in _zones(pool)})


def _zones(pool: NodePool) -> tuple[str, ...]:
    """Return a pool's zones, else its first subnet's zone or id."""
    cluster = known(pool.cluster)
    if cluster is None or cloud(cluster.cloud).zones_of_pools != "region":
        subnets = pool.addresses.subnets
        first = next(iter(known(subnets) or ()), None)
        return (known(first.zone) or first.id,) if first else need(because(subnets))
    zones, place = pool.placement.zones, known(cluster.location) if known(cluster.zonal) else None
    return (place,) if place and not isinstance(zones, Known) else need(zones)


def asks(template: PodTemplate, world: World) -> Value[bool]:
    """Whether pods request the interfaces of a fabric."""
    if known(template.claims_fabric) or any(one.rdma for one in template.containers):
        return computed(template, value=True)
    fabric, notes = of_pods(template, world), template.annotations
    of_host = fabric and fabric.of_host and known(template.host_network)
    if of_host or (fabric and any(fabric.annotations.search(key) for key in sure(notes) or {})):
        return computed(template, value=True)
    if_set(notes)
    return template.claims_fabric if isinstance(template.claims_fabric, Unknown) else template.node_devices


def switched_off(template: PodTemplate, world: World) -> str | None:
    """Find the argument or variable of pods that disables the fabric."""
    fabric = of_pods(template, world)
    if fabric is None:
        return None
    texts = [one.text for one in template.containers]
    found = next(filter(None, map(fabric.disabled.search, texts)), None)
    given = (match[1] for text in texts for match in _switch(fabric.disabled).finditer(text))
    return found[0].replace(" ", "=", 1) if found else need(placeholders.unknown(given))


@cache
def _switch(disabled: re.Pattern[str]) -> re.Pattern[str]:
    """Build a pattern for the variables and values that disable a fabric."""
    return re.compile(rf"(?:{'|'.join(_VARIABLE.findall(disabled.pattern))})[= ](\S+)")


_VARIABLE = regex(r"[A-Z]+_[A-Z_]+")


@once
def plugin(cluster: Cluster, world: World) -> Value[bool]:
    """Whether the code installs a plugin that offers the fabric."""
    if cluster.address.startswith("ClusterConfig/"):
        return computed(cluster, value=True)
    return anyone(cluster, runs(cluster, fabrics.plugins(cluster.cloud), world))
