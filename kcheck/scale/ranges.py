"""Subnets and pod ranges: addresses, needs, room, larger ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec.structs import replace

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Network, NodePool, PodRange, Subnet
from kcheck.scale import addresses as demands
from kcheck.scale import walls
from kcheck.scale.growth import addresses_needed, full_at, surge_nodes, upgraded_in_turn
from kcheck.scale.word_helpers import computed
from kcheck.scale.world.memory import once
from kcheck.text.amount import Amount, exactly
from kcheck.text.ip_ranges import around, free_block, parse_cidr, range_of, sufficient_prefix, widened, with_newbits
from kcheck.text.need import need, or_none
from kcheck.text.text import grouped
from kcheck.text.values import Known, Subnetwork, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Network

    from kcheck.scale.addresses import Place
    from kcheck.scale.world import World


class Share(NamedTuple):
    """Addresses that a pool takes from a subnet or range at the target."""

    pool: Annotated[str, "the pool"]
    nodes: Annotated[int, "its nodes when its cluster reaches its target", "nodes"]
    surge: Annotated[int, "nodes that an upgrade adds; of the pool whose upgrade takes most", "nodes"]
    subnets: Annotated[int, "subnets over which these are spread", "subnets"]
    per_node: Annotated[int, "addresses that one of them takes", "addresses"]
    addresses: Annotated[int, "addresses that they take here", "addresses"]
    by_default: Annotated[bool, "whether its size is a default that nobody wrote"]


@once
def needed(place: Place, world: World) -> Amount:
    """Count the addresses that the pools need while one of them is upgraded."""
    found, doubt = demands.needed(demands.at_most(place, world)), world.pools.doubt(place)
    if doubt is not None:
        return replace(found, why=doubt, origin=doubt.origin)
    return found if found.exact is not None else replace(found, origin=place.cidr.origin)


def needed_as_written(place: Place, world: World) -> int:
    """Count the addresses that pools with a written size need."""
    found = demands.bounds(place, world).least
    return addresses_needed([one for one in found if not one.by_default])


def shares(place: Place, world: World) -> list[Share]:
    """List the smallest share of each pool, the largest first."""
    ordered = sorted(upgraded_in_turn(demands.bounds(place, world).least), key=lambda one: -one.addresses(one.nodes))
    return [
        Share(
            one.pool, one.nodes, surge=surge_nodes(one.surge, one.nodes), subnets=one.subnets, per_node=one.per_node,
            addresses=one.addresses(one.nodes), by_default=one.by_default,
        )
        for one in ordered
    ]  # fmt: skip


def nodes(place: Place, world: World) -> int:
    """Count the nodes in a subnet or a pod range at the targets of their clusters."""
    pools = dict.fromkeys(world.pools.inside(place))
    return sum(need(world.sizes.of_pool(pool)) for pool in pools)


def full(place: Place, world: World) -> Value[int] | Amount:
    """Return the fewest nodes that fill a subnet or range; null if it fits."""
    there = demands.room(place, world)
    if not isinstance(there, Known):
        return there
    found, usable = demands.bounds(place, world), there.value
    if addresses_needed(found.least) <= usable:
        return computed(place, None)
    at = walls.nodes_at(place, found.pools, world)
    return exactly(full_at(found.least, usable)) if at is None else replace(at, why=found.why)


def first_full(pool: NodePool, world: World) -> Place | None:
    """Find a subnet or range of a pool that is certainly full early."""
    own = pool.addresses
    places = (*(known(own.subnets) or ()), *(known(own.pod_subnets) or ()), known(own.pod_range))
    ends = ((place, full(place, world)) for place in places if place is not None)
    return next((place for place, end in ends if isinstance(end, Amount)), None)


def widest(place: Place, world: World) -> int:
    """Return the most addresses one node takes from a subnet or range."""
    pools = world.pools.inside(place)
    measure = demands.per_node if isinstance(place, Subnet) else demands.block_size
    return max((need(measure(pool, world)) for pool in pools), default=0)


# --- larger ranges


_MOST_DOUBLINGS = 1
"""Most bits by which ranges for the least and the most need may differ for one to be proposed."""


def sufficient_cidr(place: Place, world: World) -> str | None:
    """Propose a free block, or a wider pod range; None if there is none."""
    demands.bounds(place, world)  # the need must be known
    if not isinstance(place, Subnet):
        return widening(place, world).cidr
    network = known(place.network)
    return _allot(network, world).get(place.id) if network is not None else None


@once
def _allot(network: Network, world: World) -> dict[str, str]:
    """Find disjoint larger ranges for all subnets that are too small."""
    # a subnet of this root whose network or range is not known may lie anywhere
    module = world.root_modules[network.root]
    near = [s for s in module.subnets if known(s.network) in (None, network)]
    if any(not isinstance(s.network, Known) or not isinstance(s.cidr, Known) for s in near):
        return {}
    taken = {subnet.id: str(known(subnet.cidr)) for subnet in near}
    wanted = {subnet.id: prefix for subnet in near if (prefix := _wanted(subnet, world)) is not None}
    result = _renumbered(near, wanted, known(network.cidrs), taken)
    for subnet in near:
        prefix = wanted.get(subnet.id, 0)
        if not prefix or subnet.id in result:
            continue
        others = [cidr for name, cidr in taken.items() if name != subnet.id] + list(result.values())
        others += _tried(subnet, taken[subnet.id], prefix)
        if isinstance(network.cidrs, Known):
            block = free_block(list(network.cidrs.value), others, prefix)  # not on what is destroyed in the same apply
        else:
            beside = (*(one.cidr for one in module.ranges), *(one.cidr for one in module.reserved))
            cidrs = [known(cidr) or "" for cidr in beside]  # what is not known may lie anywhere
            ranges = [cidr for cidr in cidrs if not cidr.startswith("/")]  # of those the cloud finds the address
            own = parse_cidr(taken[subnet.id])
            block = widened(own, 1 << (32 - prefix), others + ranges) if own else None
        if block is None:
            return {}  # there is no room for all
        result[subnet.id] = block
    return result


@or_none
def _wanted(subnet: Subnet, world: World) -> int | None:
    """Return the prefix with room for the pools' need; else None."""
    found, usable = demands.bounds(subnet, world), need(demands.room(subnet, world))
    if addresses_needed(found.most or found.least) <= usable:
        return None
    reserved = world.numbers.limits(subnet.cloud)["subnet.reserved"].number
    least, most = (
        sufficient_prefix(addresses_needed(own), reserved) for own in (found.least, found.most or found.least)
    )
    return most if least - most <= _MOST_DOUBLINGS else None


def _renumbered(
    near: list[Subnet], wanted: dict[str, int], outer: tuple[str, ...] | None, taken: dict[str, str]
) -> dict[str, str]:
    """Find larger ranges for the subnets of one `cidrsubnet` call.

    Its subnets change together, so none of them may overlap a subnet of another call.
    """
    result: dict[str, str] = {}
    for own in grouped(near, lambda subnet: subnet.cidr.origin.written).values():  # type: ignore[union-attr]
        prefix = min((wanted[subnet.id] for subnet in own if subnet.id in wanted), default=None)
        bits = _newbits(own[0])
        networks = [parse_cidr(taken[subnet.id]) for subnet in own]
        if bits is None or prefix is None or None in networks:
            continue
        others = [cidr for name, cidr in taken.items() if name not in {s.id for s in own} | result.keys()]
        fixed = [parse_cidr(cidr) for cidr in [*others, *result.values()]]
        more = [network and with_newbits(network, bits, bits - network.prefixlen + prefix) for network in networks]
        inside = [parse_cidr(cidr) for cidr in outer] if outer is not None else []
        if all(_fits(network, fixed, inside) for network in more):
            result |= {subnet.id: str(network) for subnet, network in zip(own, more, strict=True)}
    return result


def _newbits(subnet: Subnet) -> int | None:
    """Return the literal `newbits` of a subnet's `cidrsubnet` call, else None."""
    cidr = subnet.cidr
    if not isinstance(cidr, Subnetwork):
        return None
    bits, call = cidr.newbits, cidr.origin.written
    if not bits.origin.literal or bits.origin.written.source is not call.source:
        return None
    return bits.value if call.start <= bits.origin.written.start < call.end else None


def _tried(subnet: Subnet, written: str, prefix: int) -> list[str]:
    """List the larger range of a subnet with fewer new bits."""
    bits, network = _newbits(subnet), parse_cidr(written)
    if bits is None or network is None:
        return []
    found = with_newbits(network, bits, bits - network.prefixlen + prefix)
    return [str(found)] if found else []


def _fits(network: IPv4Network | None, others: list[IPv4Network | None], outer: list[IPv4Network | None]) -> bool:
    """Whether a range overlaps no other and lies in an outer one, if there are any."""
    if network is None or any(other is None or other.overlaps(network) for other in others):
        return False
    return not outer or any(own is not None and network.subnet_of(own) for own in outer)


class _Widening(NamedTuple):
    """A wider range, or the obstacle and its range."""

    cidr: str | None = None
    obstacle: str | None = None
    other: str | None = None


@once
def widening(pod_range: Place, world: World) -> _Widening:
    """Widen a pod range, or find what is in the way."""
    if isinstance(pod_range, Subnet):  # it moves instead
        return _Widening()
    found, addresses = or_none(demands.bounds)(pod_range, world), known(demands.room(pod_range, world))
    written = known(pod_range.cidr) or ""
    network = range_of(written)
    if found is None or network is None or addresses is None:
        return _Widening()
    needed = network.num_addresses - addresses + addresses_needed(found.most or found.least)
    if written.startswith("/"):
        return _Widening(f"/{min(network.prefixlen, sufficient_prefix(needed, 0))}")
    wide = around(network, needed)
    if wide is None:
        return _Widening(obstacle="the end of the private addresses", other="RFC 1918")
    for what, value in _beside(pod_range, world):
        other = parse_cidr(value.value) if isinstance(value, Known) else None
        if other is None or other.overlaps(wide):
            return _Widening(obstacle=what, other=None if other is None else str(other))
    return _Widening(str(wide))


def _beside(pod_range: PodRange, world: World) -> Iterator[tuple[str, Value[str]]]:
    """Yield everything a range must not overlap."""
    users = world.pools.inside(pod_range)
    clusters = [cluster for pool in users if (cluster := known(pool.cluster))]
    own = [one for one in world.inventory.reserved if one.id == pod_range.id]
    for pool in users:
        if isinstance(pool.addresses.subnets, Unknown):
            yield f"the network of {pool.display_name}", pool.addresses.subnets
    for root in dict.fromkeys((pod_range.root, *(one.root for one in own), *(one.root for one in clusters))):
        module = world.root_modules[root]
        for network in module.networks:
            cidrs = network.cidrs
            names = [Known(cidr, cidrs.origin) for cidr in cidrs.value] if isinstance(cidrs, Known) else [cidrs]
            yield from ((f"the network {network.address}", cidr) for cidr in names if not isinstance(cidr, Unset))
        yield from ((f"the subnet {subnet.address}", subnet.cidr) for subnet in module.subnets)
        others = (other for other in module.ranges if other is not pod_range)
        yield from ((f"the pods' range of {other.address}", other.cidr) for other in others)
        yield from ((one.what, one.cidr) for one in module.reserved if one.id != pod_range.id)
        for cluster in module.clusters:
            if not isinstance(cluster.service_cidr, Unset) or cloud(cluster.cloud).picks_service_range:
                yield f"the services' range of {cluster.address}", cluster.service_cidr
