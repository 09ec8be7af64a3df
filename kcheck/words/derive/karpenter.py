"""Words of Karpenter's pools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.model import Machine, Market, NodePool, Scheduling, Size
from kcheck.scale import placement
from kcheck.source.values import Known, Unknown, Unset, Value, known, mapped, number
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from kcheck.model import KarpenterPool, Workload
    from kcheck.scale.world import World

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.")
_RETIRED = {"v1alpha5": "karpenter.alpha_removed", "v1beta1": "karpenter.beta_removed"}
"""Version of the API -> the limit that names the first version of Karpenter without it."""


def group_version(pool: KarpenterPool, _world: World) -> Value[str]:
    """The version of the API that a pool is written in."""
    return mapped(pool.api, lambda api: api.rpartition("/")[2])


def removed_in(pool: KarpenterPool, world: World) -> Value[str]:
    """The first version of Karpenter without that API; null while it is there."""
    key = _RETIRED.get(known(group_version(pool, world)) or "")
    return computed(pool, str(world.numbers.limits("any")[key].value) if key else None)


def installed(pool: KarpenterPool, world: World) -> Value[str]:
    """The version of Karpenter's chart that is installed into the same cluster; null if there is none in the code."""
    cluster = known(pool.cluster)
    addons = world.deployed.on(cluster).addons if cluster else []
    found = [addon.version for addon in addons if addon.tree is None and known(addon.name) == "karpenter"]
    return next((one for one in found if isinstance(one, Known)), found[0] if found else computed(pool, None))


def may_be_served(pool: KarpenterPool, world: World) -> Value[bool]:
    """Whether the Karpenter that is installed may still know the API, as far as the code tells."""
    removed, own = _numbers(known(removed_in(pool, world))), _numbers(known(installed(pool, world)))
    return computed(pool, removed is None or own is None or own < removed)


def _numbers(version: str | None) -> tuple[int, int] | None:
    match = _VERSION.match(f"{version}.") if version else None
    return (int(match[1]), int(match[2])) if match else None


def limited(pool: KarpenterPool, _world: World) -> Value[bool]:
    """Whether it has any limits, or a fixed size."""
    if not isinstance(pool.replicas, Unset):
        return computed(pool, value=True)
    return computed(pool, value=False) if isinstance(pool.limits, Unset) else mapped(pool.limits, bool)


def protected(pool: KarpenterPool, _world: World) -> Value[bool]:
    """Whether a budget keeps it from disrupting nodes, at least at some times."""
    budgets = pool.budgets
    if isinstance(budgets, Unknown):
        return budgets
    return computed(pool, any(nodes in ("0", "0%") for nodes in known(budgets) or ()))


def trains(pool: KarpenterPool, world: World) -> Value[bool]:
    """Whether a job with GPUs that may land on its nodes is applied with it."""
    nodes = _nodes(pool)
    jobs = (one for one in _with_gpus(pool, world) if one.batch)
    found = any(placement.fit(template, nodes).fits is not False for one in jobs for template in one.templates)
    return computed(pool, found)


def _nodes(pool: KarpenterPool) -> NodePool:
    """The nodes that it makes, as far as pods choose by that."""
    name = {"karpenter.sh/nodepool": pool.name.value} if isinstance(pool.name, Known) else {}
    labels = pool.labels if isinstance(pool.labels, Unknown) else (known(pool.labels) or {}) | name
    return NodePool(
        pool.id,
        pool.place,
        pool.id,
        pool.cluster,
        pool.name,
        size=Size(autoscaled=computed(pool, value=True)),
        machine=Machine(Unknown("the machine types are Karpenter's choice"), pool.gpu),
        scheduling=Scheduling(labels if isinstance(labels, Unknown) else computed(pool, labels), pool.taints),
        market=Market(spot=pool.spot),
    )


def serves(pool: KarpenterPool, world: World) -> Value[bool]:
    """Whether GPU workloads are applied with it, and all of them run for ever: services."""
    ends = [one.batch for one in _with_gpus(pool, world)]
    return computed(pool, bool(ends) and not any(ends))


def _with_gpus(pool: KarpenterPool, world: World) -> list[Workload]:
    """The workloads with GPUs that are applied with it."""
    cluster = known(pool.cluster)
    near = world.deployed.on(cluster).workloads if cluster else world.deployed.beside(pool).workloads
    return [one for one in near if number(one.gpus, 0) and not one.per_node]
