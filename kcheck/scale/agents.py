"""Agents of GPU nodes, such as device plugins, that a taint keeps off the nodes of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.config.numbers import fabrics as fabric_names
from kcheck.config.numbers import names
from kcheck.scale import fabrics, gpus, placement, taints
from kcheck.scale.basics import computed
from kcheck.text.regex import regex
from kcheck.text.values import Value, known, number

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate, Workload
    from kcheck.scale.world import World

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
    """A pool whose taint keeps off an agent that its nodes need, with the toleration to add."""

    role: str
    pool: NodePool
    taint: str
    toleration: dict[str, str]


def barred(template: PodTemplate, world: World) -> Value[Barred]:
    """Find the first GPU pool whose taint keeps off an agent that its nodes need; null without one."""
    agent = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(agent) if agent.per_node and not agent.partial else None
    role = _role(_texts(agent), cluster.cloud) if cluster else ""
    if cluster is None or not role:
        return computed(template, None)
    pools = [pool for pool in world.pools.of_cluster(cluster) if _needs(pool, agent, role, world)]
    kept_off = ((pool, _keeping(template, pool)) for pool in pools)
    found = {pool: own for pool, own in kept_off if own and not _has_other(pool, agent, role, world)}
    if not found:
        return computed(template, None)
    pool, kept = next(iter(found.items()))
    several = len({taint for own in found.values() for taint in own}) > 1
    given = None if several else taints.toleration(kept[0])
    name = kept[0].rpartition(":")[0].removesuffix("=")
    return computed(template, Barred(role, pool, name, given or {"operator": "Exists"}))


def _texts(agent: Workload) -> list[str]:
    """List the known names of a workload and its images."""
    return [text for one in (agent.name, *(image.text for image in agent.images)) if (text := known(one))]


def _role(texts: list[str], cloud: str) -> str:
    """Return the role of an agent on the GPU nodes of a cloud, by its names; empty for other workloads."""
    if any(map(_OTHERS.search, texts)):
        return ""
    patterns = {FABRIC: fabric_names.plugins(cloud), **_PATTERNS}
    return next((role for role, own in patterns.items() if any(one.search(text) for one in own for text in texts)), "")


def _keeping(template: PodTemplate, pool: NodePool) -> list[str]:
    """List the taints that keep pods off a pool whose labels they certainly select."""
    if placement.requirements(template, pool)[0].fits is not True:
        return []
    return [taint for taint in placement.keeping(template, pool) if not taint.startswith(_ALWAYS)]


def _needs(pool: NodePool, agent: Workload, role: str, world: World) -> bool:
    """Whether the nodes of a pool have an agent's cards, or its fabric."""
    types = known(pool.machine.instance_types)
    if not known(pool.machine.gpu) or not types:
        return False
    if role == FABRIC:
        fabric = known(fabrics.of_pool(pool, world))
        return fabric is not None and number(fabric.enabled, 0) > 0
    own = (machine for name, machine in _CARDS.items() if any(map(name.search, _texts(agent))))
    return names.vendors(types) == names.vendors([next(own, "")])


def _has_other(pool: NodePool, agent: Workload, role: str, world: World) -> bool:
    """Whether a pool's nodes may have the same from elsewhere: another agent, a chart, eksctl."""
    cluster = world.inventory.cluster_of[agent]
    here = world.deployed.on(cluster)
    charts = [name for one in here.addons if (name := known(one.name))]
    if any("gpu-operator" in name or _role([name], cluster.cloud) == role for name in charts):
        return True
    others = [one for one in here.workloads if one is not agent and one.per_node]
    same = [one for one in others if _role(_texts(one), cluster.cloud) == role]
    found = (world.pools.fit(pods, pool).fits is not False for one in same for pods in one.templates)
    return cluster.address.startswith("ClusterConfig/") or any(found)
