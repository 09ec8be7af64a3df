"""Words of subnets and of ranges of pods: addresses, needs, room."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcheck.scale import addresses as demands
from kcheck.scale import walls
from kcheck.scale.growth import addresses_needed, full_at, needed_in_turn
from kcheck.source.ip_ranges import parse_cidr
from kcheck.source.values import Known, Unknown, Value, known, mapped, reason_of, total
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import PodRange, Subnet
    from kcheck.scale.addresses import Bounds, Place
    from kcheck.scale.world import World

T = TypeVar("T")


def prefix(subnet: Subnet, _world: World) -> Value[int]:
    """The length of a subnet's prefix."""
    if not isinstance(subnet.cidr, Known):
        return subnet.cidr
    network = parse_cidr(subnet.cidr.value)
    if network is None:
        return Unknown(f"`{subnet.cidr.value}` is not an IPv4 range", subnet.cidr.origin)
    return Known(network.prefixlen, subnet.cidr.origin)


def of_bounds(place: Place, world: World, compute: Callable[[Bounds], T | None]) -> Value[T]:
    """Something computed from what the pools take of a subnet or a range of pods."""
    found = demands.bounds(place, world)
    return found if isinstance(found, Unknown) else computed(place, compute(found))


def needed(place: Place, world: World) -> Value[int]:
    """Addresses that the pools need: the least there can be."""
    return of_bounds(place, world, lambda found: addresses_needed(found.least))


def needs(place: Place, world: World) -> Value[str]:
    """The same as a text that says whether it is exact."""
    return of_bounds(place, world, lambda found: f"{'at least ' if found.why else ''}{addresses_needed(found.least):,}")


def arithmetic(place: Place, world: World) -> Value[str]:
    """The arithmetic of what is needed, and where it decides, the sum with one surge; null where nothing is needed."""
    decides = known(only_at_once(place, world))

    def text(found: Bounds) -> str | None:
        if not found.least:
            return None
        one = f" ({needed_in_turn(found.least):,} if one pool is upgraded at a time)" if decides else ""
        return f"{demands.arithmetic(found.least)}{one}"

    return of_bounds(place, world, text)


def only_at_once(place: Place, world: World) -> Value[bool]:
    """Whether a subnet or a range is too small only if several pools are upgraded at once."""
    addresses = demands.room(place, world)
    if not isinstance(addresses, Known):
        return Unknown(reason_of(addresses), addresses.origin)
    usable = addresses.value
    return of_bounds(place, world, lambda found: needed_in_turn(found.least) <= usable < addresses_needed(found.least))


def nodes(place: Place, world: World) -> Value[int]:
    """Nodes in a subnet or a range of pods when their clusters reach their targets."""
    pools = demands.pools_of(place, world)
    if isinstance(pools, Unknown):
        return pools
    found = total(map(world.sizes.of_pool, dict.fromkeys(pools)))
    return found if isinstance(found, Unknown) else computed(place, found)


def full(place: Place, world: World) -> Value[int]:
    """The number of nodes at which a subnet or a range is full at the earliest; null where its pools fit."""
    addresses = demands.room(place, world)
    if not isinstance(addresses, Known):
        return addresses
    usable = addresses.value

    def at(found: Bounds) -> int | None:
        if addresses_needed(found.least) <= usable:
            return None
        own = walls.nodes_at(place, found.pools, world)
        return full_at(found.least, usable) if own is None else own

    return of_bounds(place, world, at)


def by_default(place: Place, world: World) -> Value[bool]:
    """Whether a subnet or a range is too small only because of sizes that nobody wrote."""
    addresses = demands.room(place, world)
    if not isinstance(addresses, Known):
        return Unknown(reason_of(addresses), addresses.origin)
    usable = addresses.value

    def rest_fits(found: Bounds) -> bool:
        written = [demand for demand in found.least if not demand.by_default]
        return len(written) < len(found.least) and addresses_needed(written) <= usable

    return of_bounds(place, world, rest_fits)


def widest(subnet: Subnet, world: World) -> Value[int]:
    """Addresses of the hungriest node in the subnet."""
    pools = world.pools.in_subnet(subnet)
    if isinstance(pools, Unknown):
        return pools
    widest = 0
    for pool in pools:
        per_node = demands.addresses_per_node(pool, world)
        if not isinstance(per_node, Known):
            return per_node
        widest = max(widest, per_node.value)
    return computed(subnet, widest)


def room(subnet: Subnet, world: World) -> Value[int]:
    """How many of the hungriest nodes fit into a subnet."""
    addresses = demands.room(subnet, world)
    if not isinstance(addresses, Known):
        return addresses
    return mapped(widest(subnet, world), lambda per_node: addresses.value // per_node if per_node else 0)


def range_block(pod_range: PodRange, world: World) -> Value[int]:
    """The prefix of the block that a node takes of a range; null where its pools differ."""
    pools = world.pools.in_range(pod_range)
    if isinstance(pools, Unknown):
        return pools
    blocks = {known(demands.pod_block(pool)) for pool in pools}
    return computed(pod_range, blocks.pop() if len(blocks) == 1 else None)
