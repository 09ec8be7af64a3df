"""Taints that pods tolerate, and taints that they should tolerate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import names
from kcheck.config.numbers.names import NVIDIA
from kcheck.scale import placement
from kcheck.scale.basics import cluster_of, computed
from kcheck.text.need import need
from kcheck.text.values import Unknown, Value, known, mapped

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate, Toleration
    from kcheck.scale.world import World


def parts(pool: NodePool, _world: World) -> Value[dict[str, str]]:
    """Return the parts of the taint of NVIDIA GPU nodes; null with other cards."""
    if isinstance(pool.machine.instance_types, Unknown):
        return pool.machine.instance_types
    if names.vendors(known(pool.machine.instance_types) or ()) != {names.VENDOR}:
        return computed(pool, None)
    return computed(pool, {"key": NVIDIA, "value": "true", "effect": pool.scheduling.no_schedule})


_EFFECTS = {"noschedule": "NoSchedule", "noexecute": "NoExecute"}


def written(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """List the tolerations of pods as `key=value:Effect`."""
    return mapped(template.tolerations, lambda found: tuple(map(_text, found)))


def _text(one: Toleration) -> str:
    return f"{one.key}={one.value}:{one.effect}"


def taint(template: PodTemplate, world: World) -> Value[str]:
    """Return the taint that bars pods from every node they select that has room; null if some node takes them."""
    own = _of_spot_nodes(template, world)
    if own:
        return computed(template, own)
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is None:
        return world.inventory.unknown_cluster(workload) if world.inventory.clusters else computed(template, None)
    found = need(world.pools.all_of_cluster(cluster))
    if world.autoscaling.beyond_pools(cluster):
        return computed(template, None)  # nodes of other kinds may come
    return computed(template, placement.tainted_only(template, found) or None)


def _of_spot_nodes(template: PodTemplate, world: World) -> str:
    """Return the taint that bars pods from the spot nodes they select; empty without one."""
    taint = placement.spot_taint(template)
    if taint and any(placement.untolerated(template, [taint])):
        return taint
    own = _selected_spot_pools(template, world)
    return placement.tainted_only(template, own) if own else ""


def _selected_spot_pools(template: PodTemplate, world: World) -> list[NodePool]:
    """List the spot pools of the cluster, if pods select spot nodes."""
    cluster = known(cluster_of(template, world)) if placement.asks_for_spot(template) else None
    return [pool for pool in (world.pools.of_cluster(cluster) if cluster else ()) if known(pool.market.spot)]


def selects_spot(template: PodTemplate, _world: World) -> Value[bool]:
    """Whether every selection term of pods selects spot nodes."""
    return mapped(template.selection, lambda _: placement.asks_for_spot(template))


def lacking(template: PodTemplate, world: World) -> Value[dict[str, str]]:
    """Return the toleration of the only taint that bars pods from the nodes they select; null if there are several."""
    return computed(template, toleration(_barrier(template, world)))


def toleration(taint: str) -> dict[str, str] | None:
    """Return the toleration of a taint, `key=value:Effect`; None if its effect keeps no pods off."""
    rest, _, effect = taint.rpartition(":")
    key, _, value = rest.partition("=")
    if effect.replace("_", "").lower() not in _EFFECTS:
        return None
    result = {"key": key, "operator": "Exists"}
    if value and key not in names.cards():  # of the taints of cards, nobody cares for the value
        result |= {"operator": "Equal", "value": value}
    return {**result, "effect": _EFFECTS[effect.replace("_", "").lower()]}


def _barrier(template: PodTemplate, world: World) -> str:
    """Return the only taint that bars pods, as `key=value:Effect`; empty if there are several."""
    if _of_spot_nodes(template, world):
        taint = placement.spot_taint(template)
        if taint and any(placement.untolerated(template, [taint])):
            return taint
        return placement.barrier(template, _selected_spot_pools(template, world))
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    return placement.barrier(template, need(world.pools.all_of_cluster(cluster)) if cluster is not None else [])
