"""Addresses that node pools take from subnets and pod ranges."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import machines
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NOTHING, Cluster, Cni, NodePool, PodRange, Subnet
from kcheck.scale.growth import Demand, addresses_needed, surge_bounds, surge_nodes, upgraded_in_turn
from kcheck.text.interval import Interval
from kcheck.text.ip_ranges import parse_cidr, usable_addresses
from kcheck.text.values import (
    Known,
    Origin,
    Unknown,
    Unset,
    Value,
    all_known,
    known,
    mapped,
    number,
    reason_of,
    unknown_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from ipaddress import IPv4Network

    from kcheck.scale.world import World

Place = Subnet | PodRange


class Estimate(NamedTuple):
    """A number with its bounds. `why` says why it is not exact."""

    bounds: Interval
    why: str = ""


class Bounds(NamedTuple):
    """Lower and upper demand of each pool in a place; `why` says why they differ.

    `low` and `high` are by what one node takes, `least` and `most` also by the sizes that the pools may have when their
    clusters reach their targets. `high` and `most` are None if they have no bound.
    """

    pools: list[NodePool]
    low: list[Demand]
    high: list[Demand] | None
    least: list[Demand]
    most: list[Demand] | None
    why: str


def exactly(number: int) -> Estimate:
    """A number that is known."""
    return Estimate(Interval(number, number))


# --- of one node


def per_node(pool: NodePool, world: World) -> Estimate:
    """Addresses one node takes from its subnet: its own, and its pods' if they are in it."""
    inside = pool.addresses.pods_take_addresses
    if isinstance(inside, Known) and not inside.value:
        least, most = known(pool.addresses.own) or (1, 1)
        return Estimate(Interval(least, most), f"the interfaces of a node of {pool.display_name} are not known")
    cni = pool.cluster.value.cni if isinstance(pool.cluster, Known) else None
    whole = _held(pool, cni) if cni is not None else _with_pods(pool, world)
    if isinstance(inside, Known):
        return whole
    return Estimate(Interval(1, whole.bounds.high), reason_of(inside))


def pods_have_interfaces(cluster: Cluster) -> bool:
    """Whether pods have addresses of the VPC on interfaces of their nodes (EKS)."""
    cni = cluster.cni
    return cni is not None and bool(known(cluster.pods_take_addresses) or known(cni.custom_networking))


def address_units(cluster: Cluster, world: World) -> dict[str, Interval]:
    """Address units of its VPC that a node of each pool takes, by its id; none where prefixes take their place.

    An address counts as one, and so does each interface beside the first, those of EFA included:
    https://docs.aws.amazon.com/vpc/latest/userguide/network-address-usage.html
    """
    cni = cluster.cni
    if cni is None or not pods_have_interfaces(cluster) or known(cni.prefix_delegation):
        return {}
    found = {}
    for pool in world.pools.of_cluster(cluster):
        parts = [per_node(pool, world).bounds]
        if known(cni.custom_networking):
            parts.append(pod_addresses(pool, world).bounds)
        held = interfaces_held(pool, cluster)
        parts.append(Interval(0, None) if held is None else Interval(held - 1, held - 1))
        highs = [part.high for part in parts]
        high = None if None in highs else sum(one or 0 for one in highs)
        found[pool.id] = Interval(sum(part.low for part in parts), high)
    return found


def interfaces_held(pool: NodePool, cluster: Cluster) -> int | None:
    """Interfaces of a node with one pod, EFA included; None if that is not known."""
    cni, types = cluster.cni, pool.machine.instance_types
    if cni is None or not isinstance(types, Known) or not isinstance(cni.warm_interfaces, Known):
        return None
    found = [machines.interfaces(cluster.cloud, type_) for type_ in types.value]
    if not found or None in found:
        return None
    count, addresses = min(one for one in found if one is not None)
    single = known(cni.prefix_delegation) or known(cni.warm_ips) is not None or known(cni.minimum_ips) is not None
    warm = 0 if single else cni.warm_interfaces.value  # the warm interface is of the plain mode only
    efa = known(pool.machine.efa) or ()
    more = len(efa) - ("efa" in efa)  # the first one with an address is the interface that every node has
    own = 1 if known(cni.custom_networking) else 0  # which serves no pod
    return own + cloud(cluster.cloud).interfaces_held(1, addresses, warm, count - own) + more


def addresses_per_node(pool: NodePool, world: World) -> Value[int]:
    """Addresses one node takes from its subnet; Unknown if not exact."""
    estimate = per_node(pool, world)
    exact = estimate.bounds.exact
    if exact is None:
        return Unknown(estimate.why)
    inside = pool.addresses.pods_take_addresses
    cni = pool.cluster.value.cni if isinstance(pool.cluster, Known) else None
    decides = inside if not known(inside) else pool.addresses.max_pods if cni is None else pool.machine.instance_types
    return Known(exact, decides.origin or Origin((pool.place,)))


def _with_pods(pool: NodePool, world: World) -> Estimate:
    """One address for the node and one for each pod that it may run."""
    if isinstance(pool.addresses.max_pods, Known):
        return exactly(1 + pool.addresses.max_pods.value)
    low, high = _pods_bounds(pool, world)
    return Estimate(Interval(1 + low, None if high is None else 1 + high), reason_of(pool.addresses.max_pods))


def _pods_bounds(pool: NodePool, world: World) -> tuple[int, int | None]:
    """The range of pods per node that the cloud allows."""
    cluster = known(pool.cluster)
    limits = world.numbers.limits(cluster.cloud if cluster else "any")
    if "max_pods.least" not in limits:
        return 0, None
    return limits["max_pods.least"].number, limits["max_pods.most"].number


def _held(pool: NodePool, cni: Cni, *, own: bool = True) -> Estimate:
    """Addresses that a VPC CNI node holds with one pod: the least for any job.

    Where pods have subnets of their own, the node's `own` interface is none of those that serve them.
    """
    unknown = unknown_of(pool.machine.instance_types, cni.prefix_delegation, cni.warm_interfaces, cni.warm_prefixes)
    optional = [value for value in (cni.warm_ips, cni.minimum_ips) if isinstance(value, Unknown)]
    why = unknown.reason if unknown else optional[0].reason if optional else ""
    if why:
        return Estimate(Interval(1, None), why)
    cluster = known(pool.cluster)
    if cluster is None:
        return Estimate(Interval(1, None), reason_of(pool.cluster))
    found: list[int] = []
    own_cloud = cloud(cluster.cloud)
    for name in known(pool.machine.instance_types) or ():
        interfaces = machines.interfaces(own_cloud.name, name)
        if interfaces is None:
            why = f"kcheck does not know the instance type {name}"
        else:
            count, addresses = interfaces
            extra = pool.machine.efa_addresses if own else 0
            found.append(own_cloud.node_addresses(cni, count if own else count - 1, addresses, 1) + extra)
    if not found:
        return Estimate(Interval(1, None), why or "no instance type is set")
    if why:
        return Estimate(Interval(1, None), why)
    span = f"{min(found)} to {max(found)}"
    return Estimate(
        Interval(min(found), max(found)),
        f"the instance types of {known(pool.name) or pool.address} take {span} addresses",
    )


def pod_addresses(pool: NodePool, world: World) -> Estimate:
    """Addresses that a node with one pod takes from the pod subnets."""
    cni = pool.cluster.value.cni if isinstance(pool.cluster, Known) else None
    if cni is not None:
        return _held(pool, cni, own=False)
    if isinstance(pool.addresses.pod_addresses, Known):
        least, most = pool.addresses.pod_addresses.value
        why = "" if least == most else f"the addresses of a pod of {pool.display_name} are not known"
        return Estimate(Interval(least, most), why)
    return Estimate(Interval(1, _pods_bounds(pool, world)[1]), reason_of(pool.addresses.pod_addresses))


def pod_block(pool: NodePool) -> Value[int]:
    """The length of the prefix of the block that a node takes for its pods."""
    pod_range = known(pool.addresses.pod_range)
    block = pod_range.block if pod_range else NOTHING
    if pod_range is None or not isinstance(block, Unset):
        return block
    return mapped(pool.addresses.max_pods, cloud(pod_range.cloud).pod_block)


def block_size(pool: NodePool, world: World) -> Estimate:
    """Addresses of the block that a node takes for its pods."""
    block = pod_block(pool)
    if isinstance(block, Known):
        return exactly(1 << (32 - block.value))
    pod_range = known(pool.addresses.pod_range)
    if pod_range is None:
        return Estimate(Interval(1, None), reason_of(block))

    def size(pods: int) -> int:
        return 1 << (32 - cloud(pod_range.cloud).pod_block(pods))

    low, high = _pods_bounds(pool, world)
    return Estimate(Interval(size(max(1, low)), None if high is None else size(high)), reason_of(block))


# --- of all nodes of a subnet or range


def pools_of(place: Place, world: World) -> list[NodePool] | Unknown:
    """The pools with nodes or pods in a subnet or range."""
    return world.pools.in_subnet(place) if isinstance(place, Subnet) else world.pools.in_range(place)


def bounds(place: Place, world: World) -> Bounds | Unknown:
    """What each pool takes, at least and at most."""
    return world.remember("bounds", place.id, lambda: _bounds(place, world))


def _bounds(place: Place, world: World) -> Bounds | Unknown:
    pools = pools_of(place, world)
    return pools if isinstance(pools, Unknown) else _bounds_of(pools, place, world)


def _bounds_of(pools: list[NodePool], place: Place, world: World) -> Bounds:
    names = [pool.display_name for pool in pools]
    shared = Counter(names)
    least: list[Demand] = []
    most: list[Demand] | None = []
    seen: set[NodePool] = set()
    why = ""
    for pool, name in zip(pools, names, strict=True):
        measure, parts = _measure(place, pool, seen)
        seen.add(pool)
        estimate = measure(pool, world)
        label = pool.full_name if shared[name] > 1 else name
        default = isinstance(pool.size.max_nodes, Known) and pool.size.max_nodes.origin.missing is not None
        (low_surge, high_surge), high = surge_bounds(pool.upgrade.surge), estimate.bounds.high
        size = number(world.sizes.of_pool(pool), 0)
        least.append(Demand(label, size, low_surge, estimate.bounds.low, parts, default))
        if most is not None:
            worst = least[-1]._replace(surge=high_surge, per_node=high or 0)
            most = None if high is None else [*most, worst]
        nodes = world.sizes.of_pool(pool)
        why_surge = "" if low_surge == high_surge else reason_of(pool.upgrade.surge)
        reasons = [estimate.why if estimate.bounds.exact is None else "", why_surge]
        reasons.append("" if isinstance(nodes, Known) else reason_of(nodes))
        why = why or next(filter(None, reasons), "")
    lowest = _sized(pools, least, world, kind=True)
    highest = None if most is None else _sized(pools, most, world, kind=False)
    return Bounds(pools, least, most, lowest or [], highest, why)


def _sized(pools: list[NodePool], demands: list[Demand], world: World, *, kind: bool) -> list[Demand] | None:
    """The smallest or largest demands at the target; None without a bound."""
    result = list(demands)
    by_cluster: dict[str, list[int]] = {}
    for i, pool in enumerate(pools):
        cluster = known(pool.cluster)
        by_cluster.setdefault(cluster.id if cluster else "", []).append(i)
    for own in by_cluster.values():
        choices = [
            [demands[i]._replace(nodes=sizes[pools[i].id]) for i in own]
            for sizes in _choices(pools, own, world, kind=kind)
        ]
        if not choices:
            return None
        choices.sort(key=addresses_needed)
        for i, demand in zip(own, choices[0 if kind else -1], strict=True):
            result[i] = demand
    return result


def _choices(pools: list[NodePool], own: list[int], world: World, *, kind: bool) -> list[dict[str, int]]:
    """Possible pool sizes of a cluster at its target; none without an upper bound."""
    cluster = known(pools[own[0]].cluster)
    nodes = [world.sizes.of_pool(pools[i]) for i in own]
    sizes = all_known(nodes)
    if not isinstance(sizes, Unknown):
        return [{pools[i].id: size for i, size in zip(own, sizes, strict=True)}]
    aim = world.sizes.target_interval(cluster) if cluster else None
    target = aim.low if aim and kind else aim.high if aim else None
    if cluster is None or target is None or isinstance(world.pools.all_of_cluster(cluster), Unknown):
        return [{pools[i].id: number(count, 0) for i, count in zip(own, nodes, strict=True)}] if kind else []
    growth, names = world.sizes.growth(cluster), [pool.id for pool in world.pools.of_cluster(cluster)]
    unknown = [i for i, size in enumerate(growth.maxima) if size is None]
    return [dict(zip(names, growth.grown(target, [i]), strict=True)) for i in unknown]


def needed(found: Bounds) -> Interval:
    """Addresses that the pools of a place need while one of them is upgraded."""
    high = None if found.most is None else addresses_needed(found.most)
    return Interval(addresses_needed(found.least), high)


def needed_at_most(place: Place, world: World) -> int | None:
    """The most addresses that are needed where not all pools of a subnet are known; None without a bound."""
    pools = world.pools.at_most_in_subnet(place) if isinstance(place, Subnet) else None
    return None if pools is None or isinstance(pools, Unknown) else needed(_bounds_of(pools, place, world)).high


def arithmetic(demands: list[Demand]) -> str:
    """The demand as a sum by pool; small pools are joined if there are many."""
    ordered = sorted(upgraded_in_turn(demands), key=lambda demand: -demand.addresses(demand.nodes))
    parts = []
    for demand in ordered[:4]:
        surge = surge_nodes(demand.surge, demand.nodes)
        count = f"{demand.nodes:,} by default" if demand.by_default else f"{demand.nodes:,}"
        nodes = f"({count} + {surge:,} surge)" if surge else count
        shared = f" / {demand.subnets} subnets" if demand.subnets > 1 else ""
        times = f" x {demand.per_node}" if demand.per_node > 1 else ""
        parts.append(f"{demand.pool} {nodes}{shared}{times}")
    rest = ordered[4:]
    if rest:
        parts.append(f"{len(rest)} more pools {sum(one.addresses(one.nodes) for one in rest):,}")
    return " + ".join(parts) + f" = {addresses_needed(demands):,}"


# --- what there is


def room(place: Place, world: World) -> Value[int]:
    """Usable addresses of a subnet; all addresses of a range and its extensions."""
    if isinstance(place, Subnet):
        return _usable(place, world)
    total = 0
    for text in (place.cidr, *(known(place.more) or ())):
        if isinstance(text, Unset | Unknown):
            return Unknown(reason_of(text), text.origin)
        cidr = text.value if isinstance(text, Known) else text
        network = range_of(cidr)
        if network is None:
            return Unknown(f"`{cidr}` is not an IPv4 range", place.cidr.origin)
        total += network.num_addresses
    if isinstance(place.more, Unknown):
        return place.more
    return Known(total, place.cidr.origin or Origin((place.place,)))


def _usable(subnet: Subnet, world: World) -> Value[int]:
    reserved = world.numbers.limits(subnet.cloud)["subnet.reserved"].number
    if not isinstance(subnet.cidr, Known):
        return subnet.cidr
    usable = usable_addresses(subnet.cidr.value, reserved)
    if usable is None:
        return Unknown(f"`{subnet.cidr.value}` is not an IPv4 range", subnet.cidr.origin)
    return Known(usable, subnet.cidr.origin)


def range_of(text: str) -> IPv4Network | None:
    """A range; of `/14` the cloud picks the address."""
    return parse_cidr(f"10.0.0.0{text}" if text.startswith("/") else text)


def _measure(place: Place, pool: NodePool, seen: set[NodePool]) -> tuple[Callable[[NodePool, World], Estimate], int]:
    """The demand of a pool in a place, for nodes and for pods, and the number of subnets it uses."""
    if not isinstance(place, Subnet):
        return block_size, 1
    nodes, pods = known(pool.addresses.subnets) or (), known(pool.addresses.pod_subnets) or ()
    if place in nodes and pool not in seen:
        return per_node, len(nodes)
    return (pod_addresses, len(pods)) if place in pods else (per_node, 1)  # at most, all of its nodes
