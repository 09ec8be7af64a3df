"""Taints that pods tolerate or should, and those that keep agents off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct

from kcheck.config.numbers import fabrics as fabric_names
from kcheck.config.numbers import names
from kcheck.config.numbers.names import NVIDIA
from kcheck.model import NodePool, PodTemplate, Workload
from kcheck.scale import fabrics, gpus, placement
from kcheck.scale.word_helpers import cluster_of
from kcheck.scale.world import World
from kcheck.text.need import first_unknown, if_set, need, or_none
from kcheck.text.regex import regex
from kcheck.text.values import Unknown, Value, known, mapped, number


def parts(pool: NodePool, _world: World) -> dict[str, str] | None:
    """Return key, value and effect of the taint for NVIDIA GPU nodes; else None."""
    if names.vendors(if_set(pool.machine.instance_types) or ()) != {names.VENDOR}:
        return None
    return {"key": NVIDIA, "value": "true", "effect": pool.scheduling.no_schedule}


_EFFECTS = {"noschedule": "NoSchedule", "noexecute": "NoExecute"}


def written(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """List the tolerations of pods as `key=value:Effect`."""
    return mapped(template.tolerations, lambda found: tuple(f"{one.key}={one.value}:{one.effect}" for one in found))


def taint(template: PodTemplate, world: World) -> str | None:
    """Return the taint that keeps pods off every selected node; else None."""
    own = _of_spot_nodes(template, world)
    if own:
        return own
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is None:
        if_set(world.inventory.unknown_cluster(workload) if world.inventory.clusters else template.selection)
        return None
    need(world.pools.all_of_cluster(cluster))
    if world.autoscaling.beyond_pools(cluster):
        return None  # nodes of other kinds may come
    return _tainted_only(template, world.pools.selected(template, cluster)) or None


def _of_spot_nodes(template: PodTemplate, world: World) -> str:
    """Return the taint that keeps pods off spot nodes; empty without one."""
    return placement.spot_taint(template) or _tainted_only(template, _selected_spot_pools(template, world))


def _selected_spot_pools(template: PodTemplate, world: World) -> list[NodePool]:
    """List the spot pools of the cluster, if pods select spot nodes."""
    cluster = known(cluster_of(template, world)) if placement.asks_for_spot(template) else None
    return [pool for pool in (world.pools.of_cluster(cluster) if cluster else ()) if known(pool.market.spot)]


def lacking(template: PodTemplate, world: World) -> dict[str, str] | None:
    """Return the toleration missing for a single taint; else None."""
    return toleration(_barrier(template, world))


def toleration(taint: str) -> dict[str, str] | None:
    """Return the toleration for a taint; None if the taint keeps no pods off."""
    rest, _, effect = taint.rpartition(":")
    key, _, value = rest.partition("=")
    if effect.replace("_", "").lower() not in _EFFECTS:
        return None
    result = {"key": key, "operator": "Exists"}
    if value and key not in names.cards():  # of the taints of cards, nobody cares for the value
        result |= {"operator": "Equal", "value": value}
    return {**result, "effect": _EFFECTS[effect.replace("_", "").lower()]}


def _barrier(template: PodTemplate, world: World) -> str:
    """Return the only taint that keeps pods off; empty if there are several."""
    if _of_spot_nodes(template, world):
        return placement.spot_taint(template) or _only_taint(template, _selected_spot_pools(template, world))
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    return _only_taint(template, need(world.pools.all_of_cluster(cluster)) if cluster is not None else [])


def _tainted_only(template: PodTemplate, pools: list[NodePool]) -> str:
    """Return a taint that keeps pods off, if all of some pools refuse them."""
    found = []
    for fit in (placement.fit(template, pool) for pool in pools):
        if fit.fits or (fit.fits is None and fit.kind != "taint"):
            return ""  # whatever the others say
        found.append(fit)
    if left := [one for one in found if one.fits is None]:
        given = (one for pool in pools for one in (pool.scheduling.taints, pool.market.spot, template.tolerations))
        need(next(one for one in given if isinstance(one, Unknown) and one.reason == left[0].why))
    return next((one.why for one in found if one.kind == "taint"), "")


def _only_taint(template: PodTemplate, pools: Iterable[NodePool]) -> str:
    """Return the only taint that keeps pods off; empty if there are several."""
    found = {placement.keeping(template, pool) for pool in pools if placement.fit(template, pool).kind == "taint"}
    only = found.pop() if len(found) == 1 else ()
    return only[0] if len(only) == 1 else ""


# --- agents of GPU nodes


FABRIC, DRIVER, EXPORTER, PLUGIN = "fabric plugin", "driver", "exporter", "device plugin"
_PATTERNS = {
    DRIVER: (regex(r"nvidia[-_/](?:gpu-)?driver|gpu[-_]driver|nvidia-installer"),),
    EXPORTER: (regex(r"dcgm|gpu[-_]exporter|nvidia[-_](?:gpu-)?metrics|neuron-monitor"),),
    PLUGIN: (gpus.PLUGIN,),
}
"""Names and images of agents by role; the plugins of fabrics depend on the cloud."""
_OTHERS = regex(r"feature-discovery|mps-control|problem-detector|scheduler")
"""Workloads with the image of a device plugin, or part of its name, that are none."""
_CARDS = {regex(r"neuron"): "trn1.32xlarge", regex(r"\brocm\b|\bamd-?gpu"): "g4ad.16xlarge"}
"""Names of agents for cards other than NVIDIA's -> a machine with such cards."""
_ALWAYS = "node.kubernetes.io/"
"""Prefix of taints for a node's condition, which every DaemonSet tolerates."""


class Barred(Struct, frozen=True):
    """A pool, and its taint that keeps off an agent the nodes need."""

    role: Annotated[str, "device plugin, fabric plugin, driver, or exporter of metrics"]
    pool: NodePool
    taint: Annotated[str, "the taint that it lacks a toleration for, key=value"]
    toleration: dict[str, str]


def barred(template: PodTemplate, world: World) -> Barred | None:
    """Find the first GPU pool whose taint keeps off a needed agent; else None."""
    agent = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(agent) if agent.per_node and not agent.partial else None
    role = _role(_texts(agent), cluster.cloud) if cluster else ""
    if cluster is None or not role:
        return None
    pools = [pool for pool in world.pools.of_cluster(cluster) if _needs(pool, agent, role, world)]
    kept_off = ((pool, _keeping(template, pool)) for pool in pools)
    found = {pool: own for pool, own in kept_off if own and not _has_other(pool, agent, role, world)}
    if not found:
        every = world.pools.of_cluster(cluster)
        need(first_unknown(pool.machine.instance_types for pool in every if _keeping(template, pool)))
        need(first_unknown([*(pool.scheduling.taints for pool in pools), template.tolerations]))
        return None
    pool, kept = next(iter(found.items()))
    several = len({taint for own in found.values() for taint in own}) > 1
    given = None if several else toleration(kept[0])
    name = kept[0].rpartition(":")[0].removesuffix("=")
    return Barred(role, pool, name, given or {"operator": "Exists"})


def _texts(agent: Workload) -> list[str]:
    """List the known names of a workload and its images."""
    return [text for one in (agent.name, *(image.text for image in agent.images)) if (text := known(one))]


def _role(texts: list[str], cloud: str) -> str:
    """Return an agent's role on GPU nodes; empty for other workloads."""
    if any(map(_OTHERS.search, texts)):
        return ""
    patterns = {FABRIC: fabric_names.plugins(cloud), **_PATTERNS}
    return next((role for role, own in patterns.items() if any(one.search(text) for one in own for text in texts)), "")


def _keeping(template: PodTemplate, pool: NodePool) -> list[str]:
    """List the taints that keep pods off a pool whose labels they certainly select."""
    if next(placement.requirements(template, pool)).fits is not True:
        return []
    return [taint for taint in placement.keeping(template, pool) if not taint.startswith(_ALWAYS)]


def _needs(pool: NodePool, agent: Workload, role: str, world: World) -> bool:
    """Whether a pool's nodes have the GPUs or the fabric that an agent is for."""
    types = known(pool.machine.instance_types)
    if not known(pool.machine.gpu) or not types:
        return False
    if role == FABRIC:
        fabric = or_none(fabrics.of_pool)(pool, world)
        return fabric is not None and number(fabric.enabled, 0) > 0
    own = (machine for name, machine in _CARDS.items() if any(map(name.search, _texts(agent))))
    return names.vendors(types) == names.vendors([next(own, "")])


def _has_other(pool: NodePool, agent: Workload, role: str, world: World) -> bool:
    """Whether a pool's nodes may get an equivalent agent elsewhere."""
    cluster = world.inventory.cluster_of[agent]
    here = world.deployed.on(cluster)
    charts = [name for one in here.addons if (name := known(one.name))]
    if any("gpu-operator" in name or _role([name], cluster.cloud) == role for name in charts):
        return True
    others = [one for one in here.workloads if one is not agent and one.per_node]
    same = [one for one in others if _role(_texts(one), cluster.cloud) == role]
    found = (world.pools.fit(pods, pool).fits is not False for one in same for pods in one.templates)
    return cluster.address.startswith("ClusterConfig/") or any(found)
