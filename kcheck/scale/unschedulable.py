"""Pods that no node can take, and the pool that comes closest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from msgspec import Struct

from kcheck.config.numbers.reserved import GI, MI
from kcheck.inventory.clouds import registry
from kcheck.model import Cluster, NodePool, PodTemplate
from kcheck.scale import placement
from kcheck.scale.allocatable import Share
from kcheck.scale.word_helpers import may_count
from kcheck.scale.world import World
from kcheck.text.need import first_unknown, if_set, need
from kcheck.text.units import cores, counted
from kcheck.text.values import Known, Origin, Unknown, Value, known, number, sure


class Shortage(Struct, frozen=True):
    """Request that exceeds the largest machine, in the usual notation."""

    resource: Annotated[str, "CPU or memory"]
    asked: Annotated[Value[str], "what one pod asks for, with its unit", "", "never null"]
    machine: Annotated[str, "the largest machine type that pods may land on"]
    left: Annotated[str, "what a node of it leaves to pods beside DaemonSets, at most"]
    whole: Annotated[str, "what it has"]
    exact: Annotated[bool, "whether it leaves exactly that; of memory the kernel keeps some more"]
    taken: Annotated[str | None, "what DaemonSets on each of its nodes ask for; null where none does"]
    pool: NodePool


class Refusal(Struct, frozen=True):
    """Requirement of pods, or of their volume, that no pool meets."""

    kind: Annotated[str, "what is missing: label, gpus, the place of a volume, or zones"]
    asked: Annotated[Value[str], "what they ask for: a label, or GPUs on one node", "", "never null"]
    pool: NodePool
    has: Annotated[str, "what its nodes have instead"]
    fixed: Annotated[bool, "whether no pool of the cluster is autoscaled"]


def refusal(template: PodTemplate, world: World) -> Refusal | None:
    """Find what the nearest pool lacks; None if one may take the pods."""
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    selects = bool(sure(world.pools.bound(template).selection)) or known(template.apart) is not None
    virtual = any("virtual-kubelet" in one.values for term in sure(template.selection) or () for one in term)
    if workload.per_node or not (selects or template.on_accelerators) or virtual:
        return None
    if cluster is None:
        return need(world.inventory.unknown_cluster(workload)) if world.inventory.clusters else None
    pools = world.pools.of_cluster(cluster)
    few = _few_zones(template, pools, world)
    near = world.pools.selected(template, cluster)
    fits, missing = (world.pools.fit(template, pool) for pool in near), None
    for fit in () if few else (one for one in fits if one.fits is not False or one.kind not in ("label", "gpus")):
        if fit.kind != "gpus" or fit.missing is None:  # a pool takes them, or may
            if_set(template.gpus)
            return None
        missing = missing or fit.missing
    if not pools:
        return None
    serverless = known(cluster.serverless) or isinstance(cluster.serverless, Unknown)
    if more_nodes(cluster, world) or serverless:
        return None
    if few or missing:
        return few or need(missing)
    some = list(dict.fromkeys([*near, *pools]))[:30]  # the nearest one of so many
    obstacles = [(pool, world.pools.obstacles(template, pool)) for pool in some]
    pool, found = min(obstacles, key=lambda pair: (len(pair[1]), pair[1][0].kind != "label"))
    kind, origin = found[0].kind, template.gpus.origin
    if kind == "label":
        own = {placement.required(one) for term in sure(template.selection) or () for one in term}
        kind, template = ("label", template) if found[0].why in own else ("volume", world.pools.bound(template))
        origin = template.selection.origin
    asked = Known(found[0].why, origin or Origin((template.place,)))
    fixed = not any(known(one.size.autoscaled) for one in pools)
    return Refusal(kind, asked, pool, _instead(kind, template, pool), fixed)


def _few_zones(template: PodTemplate, pools: list[NodePool], world: World) -> Refusal | None:
    """Find pods that each need their own zone, but have too few zones in their pools."""
    if known(template.apart) not in registry.zone_labels():
        return None
    taking = [pool for pool in pools if world.pools.fit(template, pool).fits is not False]
    zones = [placement.zones_of(pool) for pool in taking]
    pods, has = number(template.count, 0), len(set().union(*zones))
    if not all(zones) or not 0 < has < pods:
        return None
    fixed = not any(known(pool.size.autoscaled) for pool in taking)
    asked = Known(counted(pods, "zone"), template.apart.origin or Origin((template.place,)))
    return Refusal("zones", asked, taking[0], counted(has, "zone"), fixed)


def _instead(kind: str, template: PodTemplate, pool: NodePool) -> str:
    """Describe the GPUs or labels that the pool has instead of the requested ones."""
    if kind == "gpus":
        return counted(number(pool.machine.gpus, 0), "GPU")
    keys = {one.key for term in sure(template.selection) or () for one in term}
    own = [f"{key}={value}" for key in sorted(keys) for value in sorted(placement.values_of(key, pool) or ())]
    return " and ".join(own) or f"no label {' or '.join(sorted(keys))}"


def shortage(template: PodTemplate, world: World) -> Shortage | None:
    """Find the request that no node has room for; None if one may have."""
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    if not (may_count(template.cpu) or may_count(template.memory)):
        return None
    if cluster is None:
        return need(world.inventory.unknown_cluster(workload)) if world.inventory.clusters else None
    pools = world.pools.selected(template, cluster)
    fits = [world.pools.fit(template, pool) for pool in pools]
    if any(fit.fits or fit.kind == "taint" for fit in fits):  # a queue may add the toleration
        unknown = None if any(fit.kind == "taint" for fit in fits) else first_unknown((template.cpu, template.memory))
        return None if unknown is None or more_nodes(cluster, world) else need(unknown)
    if any(fit.fits is None for fit in fits):
        inputs = (template.cpu, template.memory, *(pool.machine.instance_types for pool in pools))
        return need(first_unknown(inputs))
    every = [(world.pools.shortage(template, pool), pool) for pool in pools if world.pools.chosen(template, pool)]
    found = [(share, pool) for share, pool in every if share is not None]
    if not found or more_nodes(cluster, world):
        return None
    return _told(*max(found, key=lambda one: one[0].left.high or 0), template)


def more_nodes(cluster: Cluster, world: World) -> bool:
    """Whether something may add other nodes. Raises NotKnown for unknown pools."""
    need(first_unknown((world.pools.all_of_cluster(cluster), cluster.provisioned, world.autoscaling.tool(cluster))))
    return world.autoscaling.beyond_pools(cluster)


def _told(share: Share, pool: NodePool, template: PodTemplate) -> Shortage:
    left, whole = share.left.high or 0, share.room.memory
    write: Callable[[int], str]
    if share.resource == "cpu":
        resource, values, write, whole = "CPU", [one.cpu for one in template.containers], cores, share.room.vcpus * 1000
        text = f"{cores(share.asked)} CPU{'' if share.asked == 1000 else 's'}"
    else:
        unit = MI if share.asked < GI or (share.asked - left) * 100 < GI else GI
        resource, values, write = "memory", [one.memory for one in template.containers], partial(_memory, unit=unit)
        text = f"{write(share.asked)} of memory"
    written = [value for value in values if isinstance(value, Known)]
    largest = max(written, key=lambda one: one.value).origin if written else Origin((template.place,))
    return Shortage(
        resource, Known(text, largest), share.room.machine, write(left), write(whole),
        exact=share.left.exact is not None, taken=write(share.taken) if share.taken else None, pool=pool,
    )  # fmt: skip


def _memory(count: int, unit: int) -> str:
    """Format bytes in Gi or Mi, rounded down to hundredths of Gi."""
    return f"{count // unit:,}Mi" if unit == MI else f"{count * 100 // unit / 100:g}Gi"
