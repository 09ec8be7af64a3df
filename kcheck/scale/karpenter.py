"""Node pools of Karpenter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model import Machine, Market, NodePool, Scheduling, Size
from kcheck.scale import placement
from kcheck.scale.basics import computed
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Unset, Value, known, mapped, number

if TYPE_CHECKING:
    from kcheck.model import Addon, Cluster, KarpenterPool, Workload
    from kcheck.scale.world import World

_VERSION = regex(r"v?(\d{1,9})\.(\d{1,9})\.")
_RETIRED = {"v1alpha5": "karpenter.alpha_removed", "v1beta1": "karpenter.beta_removed"}
"""Version of the API -> name of the limit with the first version of Karpenter without it."""


def installed(pool: KarpenterPool, world: World) -> Value[str]:
    """Return the version of Karpenter's chart on the same cluster; null if the code has none."""
    cluster = known(pool.cluster)
    found = [one.version for one in releases(cluster, world)] if cluster else []
    return next((one for one in found if isinstance(one, Known)), found[0] if found else computed(pool, None))


def served(pool: KarpenterPool, world: World) -> Value[bool]:
    """Whether the installed Karpenter serves the pool's API version; unset where its version is unknown."""
    key, own = _RETIRED.get((known(pool.api) or "").rpartition("/")[2]), known(installed(pool, world))
    older = is_older(own, world.numbers.limits("any")[key].text) if key else True
    return computed(pool, None if _numbers(own) is None else older)


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
    """List its limits, empty without a block of them; also the nodes of a pool of fixed size."""
    own = _listed(pool.limits)
    if isinstance(pool.replicas, Unset):
        return own
    nodes = f"nodes={pool.replicas.value}" if isinstance(pool.replicas, Known) else "nodes"
    return mapped(own, lambda found: (*found, nodes))


def budgets(pool: KarpenterPool, _world: World) -> Value[tuple[str, ...]]:
    """List the nodes that each of its budgets lets be disrupted; empty without budgets."""
    return _listed(pool.budgets)


def _listed(value: Value[tuple[str, ...]]) -> Value[tuple[str, ...]]:
    return Known((), value.origin) if isinstance(value, Unset) else value


def gpu_workloads(pool: KarpenterPool, world: World) -> list[Workload]:
    """List the GPU workloads that are applied with it and may land on its nodes."""
    cluster, nodes = known(pool.cluster), _nodes(pool)
    near = world.deployed.on(cluster).workloads if cluster else world.deployed.beside(pool).workloads
    return [
        one
        for one in near
        if number(one.gpus, 0)
        and not one.per_node
        and any(placement.fit(template, nodes).fits is not False for template in one.templates)
    ]


def _nodes(pool: KarpenterPool) -> NodePool:
    """Return a node pool like the nodes that it makes, for the fields by which pods choose."""
    name = {"karpenter.sh/nodepool": pool.name.value} if isinstance(pool.name, Known) else {}
    labels = pool.labels if isinstance(pool.labels, Unknown) else computed(pool, (known(pool.labels) or {}) | name)
    return NodePool(
        pool.id,
        pool.place,
        pool.id,
        pool.cluster,
        pool.name,
        size=Size(autoscaled=computed(pool, value=True)),
        machine=Machine(Unknown("the machine types are Karpenter's choice"), pool.gpu),
        scheduling=Scheduling(labels, pool.taints),
        market=Market(spot=pool.spot),
    )
