"""Walls of addresses: subnets, ranges, interfaces and address units."""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil

from msgspec.structs import replace

from kcheck.model import NodePool, Subnet, Surge
from kcheck.scale import addresses as demands
from kcheck.scale.addresses import Demands, Place, address_units, interfaces_held, pods_have_interfaces
from kcheck.scale.growth import Demand, Trial, addresses_needed, arithmetic, reach
from kcheck.scale.walls.model import Fits, Sizes, Takes, Wall, WallFinder, grown, scope_of, unknown
from kcheck.text.amount import Amount
from kcheck.text.ip_ranges import prefix_of
from kcheck.text.need import NotKnown, need, or_none
from kcheck.text.units import listed
from kcheck.text.values import Known, Unknown, known, number


def walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the walls of every subnet and range with the cluster's pools."""
    cluster, world = finder.cluster, finder.world
    fargate = ", ".join(known(cluster.serverless) or ())
    asked = fargate or finder.gap or world.sizes.requested(cluster) or world.autoscaling.beyond_pools(cluster)
    if asked and not (finder.pools or cluster.plane):
        why = f"pods on Fargate ({fargate}) are not counted" if fargate else "none of its node pools is in this code"
        why = next((one.reason for one in (finder.gap, cluster.subnet_ids) if isinstance(one, Unknown)), why)
        yield unknown(finder.limit("subnet", "the nodes", cluster.name, finder.limits["subnet.reserved"]), why)
    for place in _places(finder):
        wall = _wall(place, finder)
        if wall is not None:
            yield wall


def _places(finder: WallFinder) -> list[Place]:
    found: dict[Place, None] = {}
    for pool in finder.pools:
        found |= dict.fromkeys(demands.of_pool(pool))
    found |= dict.fromkeys(one.subnet for one in finder.world.pools.outside.values() if one.pools[0] in finder.pools)
    return list(found)


def _wall(place: Place, finder: WallFinder) -> Wall | None:
    world = finder.world
    mechanism = "subnet" if isinstance(place, Subnet) else "pod-range"
    if isinstance(place, Subnet) and world.pools.holds_only_pods(place):
        mechanism = "pod-subnet"
    block = "pod_range.block" if "pod_range.block" in finder.limits else "pod_range.formula"
    entry = finder.limits[block if mechanism == "pod-range" else "subnet.reserved"]
    inside = or_none(world.pools.perhaps_inside)(place) or []
    own = [pool for pool in inside if known(pool.cluster) is finder.cluster]
    scope = scope_of(own) if mechanism == "pod-range" and own else _called(place, finder)
    wall = finder.limit(mechanism, scope, place.cidr, entry, key=place.id, pools=own)
    try:
        need(finder.gap)
        found, there = demands.at_most(place, world), need(demands.room(place, world))
    except NotKnown as error:
        return unknown(wall, error.missing)
    trial = _trial(found, there, finder)
    nodes = reach(trial, finder.growth)
    if nodes is None:
        return None
    if nodes.is_open:
        return unknown(wall, found.why or "")
    takes: Takes = lambda sizes: addresses_needed(_at(sizes, found, found.low, finder))  # noqa: E731
    text, why = _text(place, there, found, nodes, finder), found.why if nodes.exact is None else None
    return replace(finder.at(wall, replace(nodes, why=why), text, trial), takes=takes)


def _called(place: Place, finder: WallFinder) -> str:
    if place.id in finder.world.pools.outside:
        return place.address
    return f"{'subnet' if isinstance(place, Subnet) else 'range'} {known(place.name) or place.address}"


def _trial(found: Demands, room: int, finder: WallFinder) -> Trial:
    """Build the trial of pool sizes; other clusters grow in proportion."""

    def fits(each: list[Demand], empty: int, taken: Callable[[list[Demand]], int] = addresses_needed) -> Fits:
        return lambda sizes: taken(_at(sizes, found, each, finder, empty)) <= room

    others = [pool for pool in found.pools if known(pool.cluster) is not finder.cluster]
    high = found.high if all(isinstance(finder.world.sizes.of_pool(pool), Known) for pool in others) else None
    weights = _by_pool(found, found.high or found.low, lambda demand: demand.addresses(_MANY))
    if finder.growth.known:
        least = fits(found.low, 0)
        same = [(one.per_node, one.surge) for one in found.low] == [(one.per_node, one.surge) for one in high or ()]
        most = least if same and not found.kept else None if high is None else fits(high, 0, found.taken)
    else:  # any pool may be empty and have no surge, or have a node and all of it
        least = fits([demand._replace(surge=Surge()) for demand in found.low], 0)
        most = None if high is None else fits(high, 1, found.taken)
    return finder.trial(least, most, weights)


def _at(sizes: Sizes, found: Demands, each: list[Demand], finder: WallFinder, least: int = 0) -> list[Demand]:
    """Return the demands at given sizes of the cluster's pools."""
    share = Fraction(1) if all(pool.id in sizes for pool in found.pools) else finder.share(sizes)

    def nodes(pool: NodePool, demand: Demand) -> int:
        today = number(pool.size.standing, demand.nodes)
        return max(least, sizes[pool.id] if pool.id in sizes else grown(today, demand.nodes, share))

    return [one._replace(nodes=nodes(pool, one)) for pool, one in zip(found.pools, each, strict=True)]


_MANY = 1000
"""Pool size at which demands are compared."""


def _by_pool(found: Demands, each: list[Demand], count: Callable[[Demand], int]) -> Counter[str]:
    """Sum the addresses of each pool by id, for its nodes and their pods."""
    total: Counter[str] = Counter()
    for pool, demand in zip(found.pools, each, strict=True):
        total[pool.id] += count(demand)
    return total


def _text(place: Place, room: int, found: Demands, nodes: Amount, finder: WallFinder) -> str:
    """Format the calculation; with all numbers if they are exact."""
    what = "usable addresses" if isinstance(place, Subnet) else "addresses"
    begin = f"{known(place.cidr) or f'a /{prefix_of(place.cidr)}'} has {room:,} {what}"
    begin += f" ({place.held:,} taken or reserved)" if isinstance(place, Subnet) and place.held else ""
    sizes = None if nodes.exact is None or not finder.growth.known else finder.sizes(nodes.exact)
    if sizes is not None and (taken := [demand for demand in _at(sizes, found, found.low, finder) if demand.nodes]):
        return f"{begin}; {arithmetic(taken)}"
    low = min(_by_pool(found, found.low, lambda demand: demand.per_node).values())
    high = max(_by_pool(found, found.high, lambda demand: demand.per_node).values()) if found.high else None
    why = found.why if low != high or found.kept else None
    return f"{begin}, a node takes {Amount(low, high)}" + (f": {why.reason}" if why else "")


def interface_walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the quotas of interfaces and of address units, if everything is known."""
    cni = finder.cluster.cni
    if cni is None or finder.gap or not finder.pools or not pods_have_interfaces(finder.cluster):
        return
    yield from _units(finder)
    held = {pool.id: interfaces_held(pool, finder.cluster) for pool in finder.pools}
    if None not in held.values():
        yield from _interfaces(finder, {name: count or 0 for name, count in held.items()})


def _units(finder: WallFinder) -> Iterator[Wall]:
    """Yield the wall at which nodes use up the network's address units."""
    world, entry = finder.world, finder.limits["vpc.address_units"]
    clusters = [finder.cluster, *world.pools.in_network_of(finder.cluster)]
    units = {name: found for one in clusters for name, found in address_units(one, world).items()}
    if any(pool.id not in units or units[pool.id].exact is None for pool in finder.pools):
        return
    pools = [pool for one in clusters for pool in world.pools.of_cluster(one) if pool.id in units]
    low = [Demand(one.id, number(world.sizes.of_pool(one), 0), Surge(), per_node=units[one.id].low) for one in pools]
    is_sure = all(one.exact is not None for one in units.values())
    is_sure = is_sure and not any(isinstance(world.pools.all_of_cluster(one), Unknown) for one in clusters)
    why = "what other clusters take in this network is not known"
    found = Demands(pools, low, low if is_sure else None, low, None, Unknown(why))
    gateways = {one.outbound_ips.origin: number(one.outbound_ips, 0) for one in clusters}
    fixed = sum(gateways.values()) * finder.limits["vpc.gateway_units"].number
    others = listed([known(one.name) or one.address for one in clusters[1:]])
    text = f"{entry.number:,} {entry.unit}{f', {fixed} of NAT gateways' if fixed else ''}"
    text += f"; {finder.of_each({name: one.low for name, one in units.items()})}"
    text += f"; in the network of {others}" if others else ""
    takes: Takes = lambda sizes: fixed + addresses_needed(_at(sizes, found, low, finder))  # noqa: E731
    trial = _trial(found, entry.number - fixed, finder)
    wall = finder.limit("address-units", "the cluster", finder.pools[0].size.max_nodes, entry)
    yield from finder.met(wall, trial, takes, text, why)


def _interfaces(finder: WallFinder, each: dict[str, int]) -> Iterator[Wall]:
    """Yield the quota of interfaces in a zone; pools of unknown zones may share one."""
    entry, zones = finder.limits["vpc.interfaces"], {pool.id: _zones(pool) for pool in finder.pools}
    spread = {pool.id: len(zones[pool.id]) or pool.addresses.subnets_listed for pool in finder.pools}
    everywhere = {zone for own in zones.values() for zone in own} or {""}

    def takes(sizes: Sizes, *, shared: bool = True) -> int:
        taken = {name: each[name] * ceil(size / (spread[name] or 1)) for name, size in sizes.items()}
        alone = [taken[name] for name in sizes if spread[name]]
        unknown_ = sum(taken[name] for name in sizes if not zones[name]) if shared else 0
        return max(*alone, *(unknown_ + sum(taken[n] for n in sizes if zone in zones[n]) for zone in everywhere), 0)

    least: Fits = lambda sizes: takes(sizes, shared=False) <= entry.number  # noqa: E731
    most: Fits = lambda sizes: takes(sizes) <= entry.number  # noqa: E731
    in_each = f" in each of {len(everywhere)} zones" if len(everywhere) > 1 else " in a zone"
    text = f"{entry.number:,} {entry.unit}{in_each}; {finder.of_each(each)}"
    wall = finder.limit("interfaces", "the cluster", finder.pools[0].size.max_nodes, entry)
    why = "which pools share a zone is not known"
    yield from finder.met(wall, finder.trial(least, most, each), takes, text, why)


def _zones(pool: NodePool) -> tuple[str, ...]:
    """List the zones of a pool's subnets; an unknown zone counts as a separate one."""
    return tuple(dict.fromkeys(known(one.zone) or one.id for one in known(pool.addresses.subnets) or ()))
