"""Words of spot nodes, and of virtual ones: where they may come from, what they may cost, who can use them."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.clouds.registry import cloud
from kcheck.numbers import machines, profiles
from kcheck.source.values import Known, Origin, Unknown, Unset, Value, known, mapped, number, reason_of
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from kcheck.model import NodePool
    from kcheck.scale.world import World

_ONE_OF = re.compile(r"(.+)\[\d+\]")


def only_type(pool: NodePool, _world: World) -> Value[str]:
    """The machine type of a pool that has one only; null if it has several."""
    if not isinstance(pool.machine.instance_types, Known):
        return Unknown(reason_of(pool.machine.instance_types), pool.machine.instance_types.origin)
    names = pool.machine.instance_types.value
    return Known(names[0], pool.machine.instance_types.origin) if len(names) == 1 else computed(pool, None)


def fallback(pool: NodePool, world: World) -> Value[bool]:
    """Whether a pool that grows as far takes the pods of a spot pool on demand: of its kind, without further taints."""
    cluster = known(pool.cluster) if known(pool.market.spot) else None
    others = world.pools.of_cluster(cluster) if cluster else []
    own = set(known(pool.scheduling.taints) or ())
    most = number(pool.size.max_nodes, 0)

    def takes(other: NodePool) -> bool:
        alike = not known(other.market.spot) and bool(known(other.machine.gpu)) == bool(known(pool.machine.gpu))
        grows = bool(known(other.size.autoscaled)) and number(other.size.max_nodes, most) >= most
        return alike and grows and own.issuperset(known(other.scheduling.taints) or ())

    found = any(takes(other) for other in others if other is not pool)
    return computed(pool, found)


def zones_left(pool: NodePool, world: World) -> Value[int]:
    """Zones, or subnets, that a spot pool could be in too; 0 where it is in several, or must be in one."""
    if not known(pool.market.spot):
        return computed(pool, 0)
    cluster = known(pool.cluster)
    if cluster is None:
        return Unknown("the pool's cluster is not known", pool.cluster.origin)
    if _kept_together(pool) or _others_are_elsewhere(pool, world):
        return computed(pool, 0)
    spread = cloud(cluster.cloud).zones_of_pools
    if spread == "region":
        in_region = mapped(cluster.zonal, lambda zonal: 0 if zonal else _in_region(cluster.cloud))
        return _left(pool, pool.size.zone_count, in_region)
    if spread == "listed":  # without zones nodes are put where there is room
        count = (
            computed(pool, 0)
            if isinstance(pool.placement.zones, Unset)
            else mapped(pool.placement.zones, lambda zones: len(set(zones)))
        )
        return _left(pool, count, computed(pool, _in_region(cluster.cloud)))
    others = [known(other.addresses.subnets) or () for other in world.pools.of_cluster(cluster)]
    beside = max((len(subnets) for subnets in others), default=0)
    own = pool.size.zone_count if isinstance(pool.size.zone_count, Known) else mapped(pool.addresses.subnets, len)
    return _left(pool, own, computed(pool, max(beside, _siblings(pool, world))))


def _left(pool: NodePool, own: Value[int], all_: Value[int]) -> Value[int]:
    if not isinstance(own, Known) or not isinstance(all_, Known):
        return own if isinstance(own, Unknown) else all_ if isinstance(all_, Unknown) else computed(pool, 0)
    origin = own.origin.outside(pool.place) if own.origin.spans else Origin((pool.place,))
    return Known(max(0, all_.value - 1) if own.value == 1 else 0, origin)


def _in_region(cloud: str) -> int:
    return profiles.settings(cloud)["cluster.zones"].number


def _kept_together(pool: NodePool) -> bool:
    """Whether something needs the nodes of a pool close to each other, or may."""
    group = not isinstance(pool.placement.together, Unset) and known(pool.placement.together) != ""
    return group or bool(known(pool.machine.efa))


def _others_are_elsewhere(pool: NodePool, world: World) -> bool:
    """Whether there is a pool for each zone: another spot pool of the kind has other subnets or zones."""
    cluster = known(pool.cluster)
    own = known(pool.addresses.subnets), known(pool.placement.zones)
    return any(
        known(other.market.spot)
        and known(other.machine.gpus) == known(pool.machine.gpus)
        and (known(other.addresses.subnets), known(other.placement.zones)) != own
        for other in (world.pools.of_cluster(cluster) if cluster else ())
        if other is not pool
    )


def _siblings(pool: NodePool, world: World) -> int:
    """Subnets that are made together with the one of a pool: by `count` of the same resource."""
    match = next((_ONE_OF.fullmatch(subnet.address) for subnet in known(pool.addresses.subnets) or ()), None)

    def counted() -> Counter[str]:
        names = (_ONE_OF.fullmatch(subnet.address) for subnet in world.root_module(pool.root).subnets)
        return Counter(name[1] for name in names if name is not None)

    return world.remember("sibling subnets", pool.root, counted)[match[1]] if match else 0


# --- prices


def caps(pool: NodePool, _world: World) -> Value[int]:
    """Machine types for which a most is written that a spot pool pays."""
    return mapped(pool.market.price_caps, len)


def uncapped(pool: NodePool, _world: World) -> Value[str]:
    """Machine types without a cap, where another one has one; null if all have."""
    for value in (pool.market.price_caps, pool.machine.instance_types):
        if isinstance(value, Unknown):
            return value
    own = known(pool.market.price_caps)
    missing = [name for name in known(pool.machine.instance_types) or () if own and name not in own]
    return computed(pool, ", ".join(missing) or None)


def low_cap(pool: NodePool, _world: World) -> Value[str]:
    """A cap below the list price of its machine on demand, with both; null where there is none."""
    if isinstance(pool.market.price_caps, Unknown):
        return pool.market.price_caps
    cluster = known(pool.cluster)
    for name, text in (known(pool.market.price_caps) or {}).items():
        price = machines.price(cluster.cloud, name, spot=False) if cluster else None
        try:
            cap = Fraction(text) * 1000
        except ValueError:
            continue
        if price is not None and cap < price.mills:
            listed = f"{name} costs ${price.mills / 1000:g} on demand in {price.region}"
            return Known(f"${text} an hour; {listed}", pool.market.price_caps.origin or pool.name.origin)
    return computed(pool, None)
