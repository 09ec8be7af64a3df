"""Subnets and ranges of pods: addresses, needs, room."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.model import Subnet
from kcheck.scale import addresses as demands
from kcheck.scale import walls
from kcheck.scale.basics import computed, derived
from kcheck.scale.growth import addresses_needed, full_at, surge_nodes, upgraded_in_turn
from kcheck.text.interval import Bounded, Interval
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.values import Known, Unknown, Value, all_known, mapped, total

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import NodePool
    from kcheck.scale.addresses import Place
    from kcheck.scale.growth import Demand
    from kcheck.scale.world import World


def prefix(place: Place, _world: World) -> Value[int]:
    """The length of the prefix of a subnet or a range of pods."""
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
    """What one pool takes of a subnet, or of a range of pods, when its cluster reaches its target.

    Its nodes, and the surge nodes of an upgrade, are spread evenly over so many subnets.
    """

    pool: str
    nodes: int
    surge: int
    subnets: int
    per_node: int
    addresses: int
    by_default: bool


def needed(place: Place, world: World) -> Value[int]:
    """Addresses that the pools need while one of them is upgraded."""
    found = demands.bounds(place, world)
    if isinstance(found, Unknown):  # there may be room for all that may be in it
        most = demands.needed_at_most(place, world)
        return found if most is None else Bounded(found.reason, found.origin, bounds=Interval(0, most))
    need = demands.needed(found)
    if need.exact is None:
        return Bounded(found.why, place.cidr.origin, bounds=need)
    return computed(place, need.exact)


def needed_as_written(place: Place, world: World) -> Value[int]:
    """The same of the pools only of which somebody wrote the size."""
    return _of_demands(place, world, lambda found: addresses_needed([one for one in found if not one.by_default]))


def needed_all_at_once(place: Place, world: World) -> Value[int]:
    """The same where all pools are upgraded at once."""
    return _of_demands(place, world, lambda found: sum(one.addresses(one.nodes) for one in found))


def _of_demands(place: Place, world: World, count: Callable[[list[Demand]], int]) -> Value[int]:
    """Addresses that the pools need at least, counted in some way."""
    return derived(place, demands.bounds(place, world), lambda found: count(found.least))


def shares(place: Place, world: World) -> list[Share] | Unknown:
    """What each pool takes at least, the largest share first."""
    found = demands.bounds(place, world)
    if isinstance(found, Unknown):
        return found
    ordered = sorted(upgraded_in_turn(found.least), key=lambda one: -one.addresses(one.nodes))
    return [
        Share(
            one.pool, one.nodes, surge=surge_nodes(one.surge, one.nodes), subnets=one.subnets, per_node=one.per_node,
            addresses=one.addresses(one.nodes), by_default=one.by_default,
        )
        for one in ordered
    ]  # fmt: skip


def nodes(place: Place, world: World) -> Value[int]:
    """Nodes in a subnet or a range of pods when their clusters reach their targets."""
    pools = demands.pools_of(place, world)
    return derived(place, pools, lambda found: total(map(world.sizes.of_pool, dict.fromkeys(found))))


def full(place: Place, world: World) -> Value[int]:
    """The number of nodes at which a subnet or a range is full at the earliest; null where its pools fit."""
    addresses, found = demands.room(place, world), demands.bounds(place, world)
    if not isinstance(addresses, Known):
        return addresses
    if isinstance(found, Unknown):
        return found
    usable = addresses.value
    if addresses_needed(found.least) <= usable:
        return computed(place, None)
    own = walls.nodes_at(place, found.pools, world)
    return computed(place, full_at(found.least, usable) if own is None else own)


def widest(place: Place, world: World) -> Value[int]:
    """Addresses of the hungriest node in a subnet, or of the largest block of a range of pods."""
    pools = demands.pools_of(place, world)
    if isinstance(pools, Unknown):
        return pools
    taken = all_known([_taken(place, pool, world) for pool in pools])
    return taken if isinstance(taken, Unknown) else computed(place, max(taken, default=0))


def _taken(place: Place, pool: NodePool, world: World) -> Value[int]:
    """Addresses that a node of a pool takes of a subnet, or of a range of pods."""
    if isinstance(place, Subnet):
        return demands.addresses_per_node(pool, world)
    return mapped(demands.pod_block(pool), lambda prefix: 1 << (32 - prefix))
