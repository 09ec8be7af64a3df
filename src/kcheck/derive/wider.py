"""Bigger ranges for subnets and pods that run out of addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck import demands
from kcheck.capacity.pools import addresses_needed
from kcheck.capacity.ranges import free_block, parse_cidr, sufficient_prefix, widened
from kcheck.derive.basics import computed
from kcheck.values import Known, Unknown, Value, known

if TYPE_CHECKING:
    from kcheck.model import Network, PodRange, Subnet
    from kcheck.world import World


def sufficient_cidr(subnet: Subnet, world: World) -> Value[str]:
    """The next free block of the network that is big enough for what the pools need; null if they fit."""
    found = demands.bounds(subnet, world)
    if isinstance(found, Unknown):
        return found
    network = known(subnet.network)
    return computed(subnet, _allotted(network, world).get(subnet.id) if network is not None else None)


def _allotted(network: Network, world: World) -> dict[str, str]:
    """Bigger ranges for all subnets of a network that are too small, none overlapping another or what is there."""
    return world.remember("allotted", network.id, lambda: _allot(network, world))


def _allot(network: Network, world: World) -> dict[str, str]:
    # a subnet of this root whose network or range is not known may lie anywhere
    near = [s for s in world.near("subnets", network.root) if known(s.network) in (None, network)]
    if any(not isinstance(s.network, Known) or not isinstance(s.cidr, Known) for s in near):
        return {}
    taken = {subnet.id: str(known(subnet.cidr)) for subnet in near}
    result: dict[str, str] = {}
    for subnet in near:
        found, usable = demands.bounds(subnet, world), known(demands.room(subnet, world))
        if isinstance(found, Unknown) or usable is None or addresses_needed(found.most or found.least) <= usable:
            continue
        reserved = world.limits(subnet.cloud)["subnet.reserved"].number
        prefix = sufficient_prefix(addresses_needed(found.most or found.least), reserved)
        others = [cidr for name, cidr in taken.items() if name != subnet.id] + list(result.values())
        if isinstance(network.cidrs, Known):
            block = free_block(list(network.cidrs.value), others, prefix)
        else:
            cidrs = [known(r.cidr) or "" for r in world.near("ranges", network.root)]
            ranges = [cidr for cidr in cidrs if not cidr.startswith("/")]  # of those the cloud finds the address
            own = parse_cidr(taken[subnet.id])
            block = widened(own, 1 << (32 - prefix), others + ranges) if own else None
        if block is None:
            return {}  # there is no room for all
        result[subnet.id] = block
    return result


def sufficient_range(pod_range: PodRange, world: World) -> Value[str]:
    """The range widened until it has room, unless it would then overlap a network, a subnet, pods or services."""
    found = demands.bounds(pod_range, world)
    addresses = known(demands.room(pod_range, world))
    written = known(pod_range.cidr) or ""
    network = demands.range_of(written)
    if isinstance(found, Unknown) or network is None or addresses is None:
        return computed(pod_range, None)
    needed = network.size - addresses + addresses_needed(found.most or found.least)
    if written.startswith("/"):
        return computed(pod_range, f"/{min(network.prefix, sufficient_prefix(needed, 0))}")
    others: list[str] = []
    for outer in world.near("networks", pod_range.root):
        if isinstance(outer.cidrs, Unknown):
            return computed(pod_range, None)
        others += known(outer.cidrs) or ()
    taken = [s.cidr for s in world.near("subnets", pod_range.root)]
    taken += [other.cidr for other in world.near("ranges", pod_range.root) if other is not pod_range]
    if any(not isinstance(cidr, Known) for cidr in taken):
        return computed(pod_range, None)
    others += [known(cidr) for cidr in taken]
    clusters = world.near("clusters", pod_range.root)
    others += [known(c.service_cidr) for c in clusters if isinstance(c.service_cidr, Known)]
    return computed(pod_range, widened(network, needed, others))
