"""Walls of addresses: subnets and ranges, and on AWS interfaces of a zone and address units of a VPC."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.model import Subnet, Surge
from kcheck.scale import addresses as demands
from kcheck.scale.addresses import address_units, interfaces_held, pods_have_interfaces
from kcheck.scale.growth import addresses_needed, reach
from kcheck.scale.walls.model import numbers, scope_of, unknown
from kcheck.text.values import Known, Unknown, known, number, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import NodePool
    from kcheck.scale.addresses import Bounds, Place
    from kcheck.scale.growth import Demand, Trial
    from kcheck.scale.walls.model import Fits, Sizes, Wall, WallFinder
    from kcheck.text.interval import Interval


def walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the walls of every subnet and range that a cluster has pools in."""
    for place in _places(finder):
        wall = _wall(place, finder)
        if wall is not None:
            yield wall


def _places(finder: WallFinder) -> list[Place]:
    found: dict[Place, None] = {}
    for pool in finder.pools:
        own = pool.addresses
        found |= dict.fromkeys((*(known(own.subnets) or ()), *(known(own.pod_subnets) or ()), *own.candidates))
        pod_range = known(own.pod_range)
        if pod_range is not None:
            found[pod_range] = None
    found |= dict.fromkeys(one.subnet for one in finder.world.pools.outside.values() if one.pools[0] in finder.pools)
    return list(found)


def _wall(place: Place, finder: WallFinder) -> Wall | None:
    world = finder.world
    pods = not isinstance(place, Subnet)
    mechanism = _mechanism(place, finder)
    block = "pod_range.block" if "pod_range.block" in finder.limits else "pod_range.formula"
    entry = finder.limits[block if mechanism == "pod-range" else "subnet.reserved"]
    found, there = demands.bounds(place, world), demands.room(place, world)
    own = [] if isinstance(found, Unknown) else [p for p in found.pools if known(p.cluster) is finder.cluster]
    scope = scope_of(own) if pods and own else _called(place, finder)
    wall = finder.limit(mechanism, scope, place.cidr, entry, key=place.id, pools=own)
    if isinstance(found, Unknown) or not isinstance(there, Known) or finder.gap:
        return unknown(wall, finder.gap or reason_of(found if isinstance(found, Unknown) else there))
    trial = _trial(found, there.value, finder)
    nodes = reach(trial, finder.growth)
    if nodes is None:
        return None
    if nodes.high is None and not nodes.low:
        return unknown(wall, found.why)
    wall = finder.at(wall, nodes, _text(place, there.value, found, nodes, finder), trial)
    return replace(wall, why=found.why) if nodes.exact is None else wall


def _called(place: Place, finder: WallFinder) -> str:
    if place.id in finder.world.pools.outside:
        return place.address
    return f"{'subnet' if isinstance(place, Subnet) else 'range'} {known(place.name) or place.address}"


def _mechanism(place: Place, finder: WallFinder) -> str:
    if not isinstance(place, Subnet):
        return "pod-range"
    return "pod-subnet" if finder.world.pools.holds_only_pods(place) else "subnet"


def _trial(found: Bounds, room: int, finder: WallFinder) -> Trial:
    """Build the trial of pool sizes; beyond today's, other clusters are at their targets."""

    def fits(each: list[Demand], empty: int) -> Fits:
        return lambda sizes: addresses_needed(_at(sizes, found, each, finder, empty)) <= room

    others = [pool for pool in found.pools if known(pool.cluster) is not finder.cluster]
    high = found.high if all(isinstance(finder.world.sizes.of_pool(pool), Known) for pool in others) else None
    weights: dict[str, int] = {}
    for pool, demand in zip(found.pools, found.high or found.low, strict=True):
        weights[pool.id] = weights.get(pool.id, 0) + demand.addresses(_MANY)
    if finder.growth.known:
        least = fits(found.low, 0)
        exact = high is not None and all(map(_same, found.low, high))
        most = least if exact else None if high is None else fits(high, 0)
    else:  # any pool may be empty and have no surge, or have a node and all of it
        least = fits([demand._replace(surge=Surge()) for demand in found.low], 0)
        most = None if high is None else fits(high, 1)
    return finder.trial(least, most, weights)


def _at(sizes: Sizes, found: Bounds, each: list[Demand], finder: WallFinder, least: int = 0) -> list[Demand]:
    """Return the demands at some sizes of the cluster's pools, with at `least` so many nodes each."""
    today = finder.runs_today(sizes)

    def nodes(pool: NodePool, demand: Demand) -> int:
        others = number(pool.size.standing, demand.nodes) if today else demand.nodes
        return max(least, sizes.get(pool.id, others))

    return [one._replace(nodes=nodes(pool, one)) for pool, one in zip(found.pools, each, strict=True)]


_MANY = 1000
"""Pool size at which demands are compared."""


def _same(least: Demand, most: Demand) -> bool:
    return (least.per_node, least.surge) == (most.per_node, most.surge)


def _each(found: Bounds, demands_: list[Demand]) -> list[int]:
    """Return the demand of a node of each pool, for itself and its pods."""
    total: dict[str, int] = {}
    for pool, demand in zip(found.pools, demands_, strict=True):
        total[pool.id] = total.get(pool.id, 0) + demand.per_node
    return list(total.values())


def _text(place: Place, room: int, found: Bounds, nodes: Interval, finder: WallFinder) -> str:
    """Format the arithmetic, with all numbers where they are exact."""
    what = "usable addresses" if isinstance(place, Subnet) else "addresses"
    begin = f"{known(place.cidr)} has {room:,} {what}"
    sizes = numbers(nodes, finder)
    if sizes is not None and (taken := [demand for demand in _at(sizes, found, found.low, finder) if demand.nodes]):
        return f"{begin}; {demands.arithmetic(taken)}"
    low = min(_each(found, found.low))
    high = None if found.high is None else max(_each(found, found.high))
    each = f"{low:,}" if low == high else f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
    why = "" if low == high else found.why
    return f"{begin}, a node takes {each}" + (f": {why}" if why else "")


def interface_walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the quotas of interfaces and of address units, if everything is known."""
    cni = finder.cluster.cni
    if cni is None or finder.gap or not finder.pools or not pods_have_interfaces(finder.cluster):
        return
    units = {name: bounds.exact for name, bounds in address_units(finder.cluster, finder.world).items()}
    if units and None not in units.values():
        yield from _quota_wall(finder, "address-units", "vpc.address_units", {k: v or 0 for k, v in units.items()}, {})
    held = {pool.id: interfaces_held(pool, finder.cluster) for pool in finder.pools}
    each = {name: count for name, count in held.items() if count is not None}
    zones = {pool.id: _zones(pool) for pool in finder.pools}
    if len(each) == len(held):
        known_zones = all(zones.values())
        yield from (
            _quota_wall(finder, "interfaces", "vpc.interfaces", each, zones) if known_zones else _unzoned(finder, each)
        )


def _unzoned(finder: WallFinder, each: dict[str, int]) -> Iterator[Wall]:
    """Yield the quota of interfaces where zones are not known: pools may share one, or each have its own."""
    entry, pools = finder.limits["vpc.interfaces"], finder.pools
    spread = {pool.id: len(_zones(pool)) or pool.addresses.subnets_listed for pool in pools}

    def taken(sizes: Sizes, *, shared: bool) -> list[int]:
        wanted = {name: size for name, size in sizes.items() if shared or spread[name]}
        return [each[name] * ceil(size / (spread[name] or 1)) for name, size in wanted.items()]

    def apart(sizes: Sizes) -> bool:
        return max(taken(sizes, shared=False), default=0) <= entry.number

    def together(sizes: Sizes) -> bool:
        return sum(taken(sizes, shared=True)) <= entry.number

    trial = finder.trial(apart, together, each)
    nodes = reach(trial, finder.growth)
    if nodes is not None:
        wall = finder.limit("interfaces", "the cluster", pools[0].size.max_nodes, entry)
        why = "" if nodes.exact else "which pools share a zone is not known"
        text = f"{entry.number:,} {entry.unit} in a zone; {_of_each(each, finder)}{why and f': {why}'}"
        yield replace(finder.at(wall, nodes, text, trial), why=why)


def _of_each(each: dict[str, int], finder: WallFinder) -> str:
    return " and ".join(f"{each[pool.id]:,} a node of {pool.display_name}" for pool in finder.pools[:4])


def _quota_wall(
    finder: WallFinder, mechanism: str, key: str, each: dict[str, int], zones: dict[str, tuple[str, ...]]
) -> Iterator[Wall]:
    """Yield the wall where nodes use up a quota: one for all, or one in each zone."""
    entry = finder.limits[key]
    everywhere = {zone for own in zones.values() for zone in own}

    def takes(sizes: Sizes) -> int:
        if not zones:
            return sum(each[name] * size for name, size in sizes.items())
        return max(
            sum(each[name] * ceil(size / len(zones[name])) for name, size in sizes.items() if zone in zones[name])
            for zone in everywhere
        )

    in_each = f" in each of {len(everywhere)} zones" if len(everywhere) > 1 else ""
    text = f"{entry.number:,} {entry.unit}{in_each}; {_of_each(each, finder)}"
    wall = finder.limit(mechanism, "the cluster", finder.pools[0].size.max_nodes, entry)
    yield from finder.grown(wall, takes, entry.number, each, text)


def _zones(pool: NodePool) -> tuple[str, ...]:
    """List the zones of a pool's subnets; a subnet in an unknown zone counts as a zone of its own."""
    return tuple(dict.fromkeys(known(one.zone) or one.id for one in known(pool.addresses.subnets) or ()))
