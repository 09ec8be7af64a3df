"""Pods that no node can take, and the pool or machine that comes closest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.inventory.clouds import registry
from kcheck.scale import placement
from kcheck.scale.basics import computed
from kcheck.text.need import need
from kcheck.text.units import cores, counted
from kcheck.text.values import Known, Origin, Unknown, Value, known, number, sure

if TYPE_CHECKING:
    from kcheck.model import Cluster, NodePool, PodTemplate
    from kcheck.scale.placement import Fit, Share
    from kcheck.scale.world import World
    from kcheck.text.values import Value

_GI, _MI = 2**30, 2**20


class Shortage(Struct, frozen=True):
    """Request that the largest machine in reach has no room for; amounts as people write them."""

    resource: str
    asked: Value[str]
    machine: str
    left: str
    whole: str
    exact: bool
    taken: str | None
    pool: NodePool


class Refusal(Struct, frozen=True):
    """Requirement of pods, or of their volume, that no pool meets; the nearest `pool` `has` something else."""

    kind: str
    asked: Value[str]
    pool: NodePool
    has: str
    fixed: bool


def refusal(template: PodTemplate, world: World) -> Value[Refusal]:
    """Find what the nearest pool lacks besides size and tolerations; null where one may take the pods."""
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    selects = bool(sure(world.pools.bound(template).selection)) or known(template.apart) is not None
    if workload.per_node or not (selects or number(template.gpus, 0)) or _on_virtual_nodes(template):
        return computed(template, None)
    if cluster is None:
        return world.inventory.unknown_cluster(workload) if world.inventory.clusters else computed(template, None)
    pools = world.pools.of_cluster(cluster)
    few = _few_zones(template, pools, world)
    if not pools or not (few or all(_refuses(world.pools.fit(template, pool)) for pool in pools)):
        return computed(template, None)
    more = need(_more_nodes(cluster, world))
    serverless = known(cluster.serverless)
    if more or serverless or isinstance(cluster.serverless, Unknown):
        return computed(template, None)
    if few:
        return computed(template, few)
    obstacles = [(pool, world.pools.obstacles(template, pool)) for pool in pools]
    pool, found = min(obstacles, key=lambda pair: (len(pair[1]), pair[1][0].kind != "label"))
    kind, origin = found[0].kind, template.gpus.origin
    if kind == "label":
        own = {placement.required(one) for term in sure(template.selection) or () for one in term}
        kind, template = ("label", template) if found[0].why in own else ("volume", world.pools.bound(template))
        origin = template.selection.origin
    asked = Known(found[0].why, origin or Origin((template.place,)))
    fixed = not any(known(one.size.autoscaled) for one in pools)
    return computed(template, Refusal(kind, asked, pool, _instead(kind, template, pool), fixed))


def _few_zones(template: PodTemplate, pools: list[NodePool], world: World) -> Refusal | None:
    """Find pods of which each needs a zone of its own, and more than their pools have."""
    taking = [pool for pool in pools if world.pools.fit(template, pool).fits is not False]
    zones = [placement.zones_of(pool) for pool in taking]
    pods, has = number(template.count, 0), len(set().union(*zones))
    if known(template.apart) not in registry.zone_labels() or not all(zones) or not 0 < has < pods:
        return None
    fixed = not any(known(pool.size.autoscaled) for pool in taking)
    asked = Known(counted(pods, "zone"), template.apart.origin or Origin((template.place,)))
    return Refusal("zones", asked, taking[0], counted(has, "zone"), fixed)


def _on_virtual_nodes(template: PodTemplate) -> bool:
    """Whether pods select a virtual kubelet."""
    return any("virtual-kubelet" in one.values for term in sure(template.selection) or () for one in term)


def _refuses(fit: Fit) -> bool:
    return fit.fits is False and fit.kind in ("label", "gpus")


def _instead(kind: str, template: PodTemplate, pool: NodePool) -> str:
    """Describe the GPUs or labels that the pool has in place of those asked for."""
    if kind == "gpus":
        return counted(number(pool.machine.gpus, 0), "GPU")
    keys = {one.key for term in sure(template.selection) or () for one in term}
    own = [f"{key}={value}" for key in sorted(keys) for value in sorted(placement.values_of(key, pool) or ())]
    return " and ".join(own) or f"no label {' or '.join(sorted(keys))}"


def shortage(template: PodTemplate, world: World) -> Value[Shortage]:
    """Find the request that no node of the cluster has room for; null where one has, or may."""
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    if not (known(template.cpu) or known(template.memory)):
        return computed(template, None)
    if cluster is None:
        return world.inventory.unknown_cluster(workload) if world.inventory.clusters else computed(template, None)
    pools = world.pools.of_cluster(cluster)
    fits = (world.pools.fit(template, pool) for pool in pools)
    if any(fit.fits is not False or fit.kind == "taint" for fit in fits):
        return computed(template, None)  # a queue may add the toleration
    found = [share for pool in pools for share in _shares(template, pool, world)]
    share, pool = max(found, key=lambda one: one[0].left.high or 0, default=(None, None))
    if share is None or pool is None:
        return computed(template, None)
    more = need(_more_nodes(cluster, world))
    return computed(template, None if more else _told(share, pool, template))


def _shares(template: PodTemplate, pool: NodePool, world: World) -> list[tuple[Share, NodePool]]:
    share = world.pools.shortage(template, pool)
    return [(share, pool)] if share is not None and world.pools.chosen(template, pool) else []


def _more_nodes(cluster: Cluster, world: World) -> bool | Unknown:
    """Whether there are other pools, or something may add nodes of other kinds."""
    values = (world.pools.all_of_cluster(cluster), cluster.provisioned, world.autoscaling.tool(cluster))
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    return unknown or world.autoscaling.beyond_pools(cluster)


def _told(share: Share, pool: NodePool, template: PodTemplate) -> Shortage:
    amounts = share.asked, share.left.high or 0, share.taken
    if share.resource == "cpu":
        resource, values, whole = "CPU", [one.cpu for one in template.containers], cores(share.room.vcpus * 1000)
        asked, left, taken = map(cores, amounts)
        text = f"{asked} CPU{'' if share.asked == 1000 else 's'}"
    else:
        unit = _MI if share.asked < _GI or (share.asked - amounts[1]) * 100 < _GI else _GI
        resource, values, whole = (
            "memory",
            [one.memory for one in template.containers],
            _memory(share.room.memory, unit),
        )
        asked, left, taken = (_memory(amount, unit) for amount in amounts)
        text = f"{asked} of memory"
    return Shortage(
        resource,
        Known(text, _origin_of_largest(values) or Origin((template.place,))),
        share.room.machine,
        left,
        whole,
        exact=share.left.exact is not None,
        taken=taken if share.taken else None,
        pool=pool,
    )


def _origin_of_largest(values: list[Value[int]]) -> Origin | None:
    """Return the origin of the largest known request."""
    written = [value for value in values if isinstance(value, Known)]
    return max(written, key=lambda one: one.value).origin if written else None


def _memory(count: int, unit: int) -> str:
    """Format bytes in Gi or Mi, rounded down to hundredths of Gi."""
    return f"{count // unit:,}Mi" if unit == _MI else f"{count * 100 // unit / 100:g}Gi"
