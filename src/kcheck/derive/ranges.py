"""Words of subnets and of ranges of pods: addresses, needs, bigger ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcheck import capacity
from kcheck.derive.basics import computed
from kcheck.model import PodRange, Subnet
from kcheck.values import Known, Origin, Unknown, Unset, Value, known, mapped, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Network
    from kcheck.world import World


def usable(subnet: Subnet, world: World) -> Value[int]:
    """Addresses of a subnet that the cloud does not keep."""
    reserved = int(world.limits(subnet.cloud)["subnet.reserved"].value)
    if not isinstance(subnet.cidr, Known):
        return subnet.cidr
    usable = capacity.usable_addresses(subnet.cidr.value, reserved)
    if usable is None:
        return Unknown(f"`{subnet.cidr.value}` is not an IPv4 range", subnet.cidr.origin)
    return Known(usable, subnet.cidr.origin)


def prefix(subnet: Subnet, _world: World) -> Value[int]:
    """The length of a subnet's prefix."""
    if not isinstance(subnet.cidr, Known):
        return subnet.cidr
    network = capacity.parse_cidr(subnet.cidr.value)
    if network is None:
        return Unknown(f"`{subnet.cidr.value}` is not an IPv4 range", subnet.cidr.origin)
    return Known(network.prefix, subnet.cidr.origin)


def of_demands(thing: Subnet | PodRange, world: World, compute: Callable[[list[capacity.Demand]], Any]) -> Value[Any]:
    """Something computed from what the pools take of a subnet or a range of pods."""
    demands = world.demands(thing) if isinstance(thing, Subnet) else world.range_demands(thing)
    return demands if isinstance(demands, Unknown) else computed(thing, compute(demands))


def nodes(thing: Subnet | PodRange, world: World) -> Value[int]:
    """Nodes in a subnet or a range of pods when their clusters reach their targets."""
    pools = world.subnet_pools(thing) if isinstance(thing, Subnet) else world.range_pools(thing)
    if isinstance(pools, Unknown):
        return pools
    total = 0
    for pool in pools:
        count = world.nodes(pool)
        if not isinstance(count, Known):
            return Unknown(reason_of(count), count.origin)
        total += count.value
    return computed(thing, total)


def full_at(thing: Subnet | PodRange, world: World) -> Value[int]:
    """The number of nodes at which a subnet or a range is full; null where its pools fit."""
    addresses = usable(thing, world) if isinstance(thing, Subnet) else range_addresses(thing, world)
    if not isinstance(addresses, Known):
        return addresses
    return of_demands(thing, world, lambda demands: _full(demands, addresses.value))


def _full(demands: list[capacity.Demand], usable: int) -> int | None:
    """Where it is full; None where it is not."""
    return capacity.full_at(demands, usable) if capacity.addresses_needed(demands) > usable else None


def arithmetic(demands: list[capacity.Demand]) -> str | None:
    """The arithmetic of the addresses, pool by pool; small pools are joined when there are many."""
    if not demands:
        return None
    ordered = sorted(demands, key=lambda d: -d.addresses(d.nodes))
    parts = []
    for demand in ordered[:4]:
        surge = capacity.surge_nodes(demand.surge, demand.nodes)
        count = f"{demand.nodes:,} by default" if demand.by_default else f"{demand.nodes:,}"
        nodes = f"({count} + {surge:,} surge)" if surge else count
        shared = f" / {demand.subnets} subnets" if demand.subnets > 1 else ""
        times = f" x {demand.per_node}" if demand.per_node > 1 else ""
        parts.append(f"{demand.pool} {nodes}{shared}{times}")
    rest = ordered[4:]
    if rest:
        parts.append(f"{len(rest)} more pools {capacity.addresses_needed(rest):,}")
    return " + ".join(parts) + f" = {capacity.addresses_needed(demands):,}"


def by_default(thing: Subnet | PodRange, world: World) -> Value[bool]:
    """Whether a subnet or a range is too small only because of sizes that nobody wrote."""
    addresses = usable(thing, world) if isinstance(thing, Subnet) else range_addresses(thing, world)
    if not isinstance(addresses, Known):
        return Unknown(reason_of(addresses), addresses.origin)

    def rest_fits(demands: list[capacity.Demand]) -> bool:
        written = [demand for demand in demands if not demand.by_default]
        return len(written) < len(demands) and capacity.addresses_needed(written) <= addresses.value

    return of_demands(thing, world, rest_fits)


def widest(subnet: Subnet, world: World) -> Value[int]:
    """Addresses of the hungriest node in the subnet."""
    pools = world.subnet_pools(subnet)
    if isinstance(pools, Unknown):
        return pools
    widest = 0
    for pool in pools:
        per_node = world.addresses_per_node(pool)
        if not isinstance(per_node, Known):
            return per_node
        widest = max(widest, per_node.value)
    return computed(subnet, widest)


def room(subnet: Subnet, world: World) -> Value[int]:
    """How many of the hungriest nodes fit into a subnet."""
    addresses = usable(subnet, world)
    if not isinstance(addresses, Known):
        return addresses
    return mapped(widest(subnet, world), lambda per_node: addresses.value // per_node if per_node else 0)


def sufficient_cidr(subnet: Subnet, world: World) -> Value[str]:
    """The next free block of the network that is big enough for what the pools need; null if they fit."""
    demands = world.demands(subnet)
    if isinstance(demands, Unknown):
        return demands
    network = known(subnet.network)
    return computed(subnet, _allotted(network, world).get(subnet.id) if network is not None else None)


def _allotted(network: Network, world: World) -> dict[str, str]:
    """Bigger ranges for all subnets of a network that are too small, none overlapping another or what is there."""
    if network.id not in world.allotments:
        world.allotments[network.id] = _allot(network, world)
    return world.allotments[network.id]


def _allot(network: Network, world: World) -> dict[str, str]:
    # a subnet of this root whose network or range is not known may lie anywhere
    near = [s for s in world.near("subnets", network.root) if known(s.network) in (None, network)]
    if any(not isinstance(s.network, Known) or not isinstance(s.cidr, Known) for s in near):
        return {}
    taken = {subnet.id: str(known(subnet.cidr)) for subnet in near}
    result: dict[str, str] = {}
    for subnet in near:
        demands = world.demands(subnet)
        usable_now = known(usable(subnet, world))
        if isinstance(demands, Unknown) or usable_now is None or capacity.addresses_needed(demands) <= usable_now:
            continue
        reserved = int(world.limits(subnet.cloud)["subnet.reserved"].value)
        prefix = capacity.sufficient_prefix(capacity.addresses_needed(demands), reserved)
        others = [cidr for name, cidr in taken.items() if name != subnet.id] + list(result.values())
        if isinstance(network.cidrs, Known):
            block = capacity.free_block(list(network.cidrs.value), others, prefix)
        else:
            cidrs = [known(r.cidr) or "" for r in world.near("ranges", network.root)]
            ranges = [cidr for cidr in cidrs if not cidr.startswith("/")]  # of those the cloud finds the address
            own = capacity.parse_cidr(taken[subnet.id])
            block = capacity.widened(own, 1 << (32 - prefix), others + ranges) if own else None
        if block is None:
            return {}  # there is no room for all
        result[subnet.id] = block
    return result


def holds_pods(subnet: Subnet, world: World) -> Value[bool]:
    """Whether pods take addresses of a subnet."""
    pools = world.subnet_pools(subnet)
    if isinstance(pools, Unknown):
        return pools
    flags = [pool.pods_take_addresses for pool in pools]
    if any(isinstance(flag, Known) and flag.value for flag in flags):
        return computed(subnet, value=True)
    unknown = next((flag for flag in flags if not isinstance(flag, Known)), None)
    return unknown if unknown is not None else computed(subnet, value=False)


def range_addresses(pod_range: PodRange, _world: World) -> Value[int]:
    """Addresses of a range of pods, those that continue it included."""
    total = 0
    for text in (pod_range.cidr, *(known(pod_range.more) or ())):
        if isinstance(text, Unset | Unknown):
            return Unknown(reason_of(text), text.origin)
        cidr = text.value if isinstance(text, Known) else text
        network = _range(cidr)
        if network is None:
            return Unknown(f"`{cidr}` is not an IPv4 range", pod_range.cidr.origin)
        total += network.size
    if isinstance(pod_range.more, Unknown):
        return pod_range.more
    return Known(total, pod_range.cidr.origin or Origin((pod_range.place,)))


def _range(text: str) -> capacity.Network | None:
    """A range; of `/14` the cloud picks the address."""
    return capacity.parse_cidr(f"10.0.0.0{text}" if text.startswith("/") else text)


def range_block(pod_range: PodRange, world: World) -> Value[int]:
    """The prefix of the block that a node takes of a range; null where its pools differ."""
    pools = world.range_pools(pod_range)
    if isinstance(pools, Unknown):
        return pools
    blocks = {known(world.pod_block(pool)) for pool in pools}
    return computed(pod_range, blocks.pop() if len(blocks) == 1 else None)


def sufficient_range(pod_range: PodRange, world: World) -> Value[str]:
    """The range widened until it has room, unless it would then overlap a network, a subnet, pods or services."""
    demands = world.range_demands(pod_range)
    addresses = known(range_addresses(pod_range, world))
    written = known(pod_range.cidr) or ""
    network = _range(written)
    if isinstance(demands, Unknown) or network is None or addresses is None:
        return computed(pod_range, None)
    needed = network.size - addresses + capacity.addresses_needed(demands)
    if written.startswith("/"):
        return computed(pod_range, f"/{min(network.prefix, capacity.sufficient_prefix(needed, 0))}")
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
    return computed(pod_range, capacity.widened(network, needed, others))
