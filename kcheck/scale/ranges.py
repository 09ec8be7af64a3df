"""Subnets and pod ranges: addresses, needs, room."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.model import Subnet
from kcheck.scale import addresses as demands
from kcheck.scale import walls
from kcheck.scale.basics import computed
from kcheck.scale.growth import addresses_needed, full_at, surge_nodes, upgraded_in_turn
from kcheck.scale.world.memory import once
from kcheck.text.interval import Bounded, Interval
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.need import need
from kcheck.text.values import Known, Unknown, Value, mapped, total

if TYPE_CHECKING:
    from kcheck.model import NodePool
    from kcheck.scale.addresses import Place
    from kcheck.scale.world import World


def prefix(place: Place, _world: World) -> Value[int]:
    """Return the prefix length of a subnet or a pod range."""
    if not isinstance(place.cidr, Known):
        return place.cidr
    parse = parse_cidr if isinstance(place, Subnet) else demands.range_of
    network = parse(place.cidr.value)
    if network is None:
        return Unknown(f"`{place.cidr.value}` is not an IPv4 range", place.cidr.origin)
    return Known(network.prefixlen, place.cidr.origin)


def for_pods(place: Place, world: World) -> Value[bool]:
    """Whether a subnet or a range holds pods, and no nodes."""
    return computed(place, not isinstance(place, Subnet) or world.pools.holds_only_pods(place))


class Share(NamedTuple):
    """Addresses that a pool takes of a subnet or a pod range at the target of its cluster.

    Its nodes, and the surge nodes of an upgrade, are spread evenly over so many subnets.
    """

    pool: str
    nodes: int
    surge: int
    subnets: int
    per_node: int
    addresses: int
    by_default: bool


@once
def needed(place: Place, world: World) -> Value[int]:
    """Count the addresses that the pools need while one of them is upgraded."""
    found = demands.bounds(place, world)
    if isinstance(found, Unknown):  # there may be room for all that may be in it
        most = demands.needed_at_most(place, world)
        return found if most is None else Bounded(found.reason, found.origin, bounds=Interval(0, most))
    bounds = demands.needed(found)
    if bounds.exact is None:
        return Bounded(found.why, place.cidr.origin, bounds=bounds)
    return computed(place, bounds.exact)


def needed_as_written(place: Place, world: World) -> Value[int]:
    """Count the needed addresses of pools with a written size."""
    found = need(demands.bounds(place, world)).least
    return computed(place, addresses_needed([one for one in found if not one.by_default]))


def needed_all_at_once(place: Place, world: World) -> Value[int]:
    """Count the addresses that the pools need while all are upgraded at once."""
    return computed(place, sum(one.addresses(one.nodes) for one in need(demands.bounds(place, world)).least))


def shares(place: Place, world: World) -> list[Share]:
    """List the least share of each pool, the largest first."""
    found = need(demands.bounds(place, world))
    ordered = sorted(upgraded_in_turn(found.least), key=lambda one: -one.addresses(one.nodes))
    return [
        Share(
            one.pool, one.nodes, surge=surge_nodes(one.surge, one.nodes), subnets=one.subnets, per_node=one.per_node,
            addresses=one.addresses(one.nodes), by_default=one.by_default,
        )
        for one in ordered
    ]  # fmt: skip


def nodes(place: Place, world: World) -> Value[int]:
    """Count the nodes in a subnet or a pod range at the targets of their clusters."""
    pools = dict.fromkeys(need(demands.pools_of(place, world)))
    return computed(place, total(map(world.sizes.of_pool, pools)))


def full(place: Place, world: World) -> Value[int]:
    """Return the nodes at which a subnet or a range is full at the earliest; null where its pools fit."""
    there = demands.room(place, world)
    if not isinstance(there, Known):
        return there
    found, usable = need(demands.bounds(place, world)), there.value
    if addresses_needed(found.least) <= usable:
        return computed(place, None)
    own = walls.nodes_at(place, found.pools, world)
    return computed(place, full_at(found.least, usable) if own is None else own)


def widest(place: Place, world: World) -> Value[int]:
    """Count the addresses of the hungriest node in a subnet, or of the largest block of a pod range."""
    pools = need(demands.pools_of(place, world))
    return computed(place, max((need(_taken(place, pool, world)) for pool in pools), default=0))


def _taken(place: Place, pool: NodePool, world: World) -> Value[int]:
    if isinstance(place, Subnet):
        return demands.addresses_per_node(pool, world)
    return mapped(demands.pod_block(pool), lambda prefix: 1 << (32 - prefix))
