"""Addresses that node pools take from subnets and pod ranges."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers import machines, profiles
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NOTHING, Cluster, Cni, NodePool, PodRange, Subnet
from kcheck.scale import placement
from kcheck.scale.growth import Demand, addresses_needed, surge_bounds
from kcheck.scale.word_helpers import parsed
from kcheck.scale.world.memory import once
from kcheck.text.amount import Amount, amount_of, exactly
from kcheck.text.ip_ranges import parse_cidr, prefix_of, range_of, usable_addresses
from kcheck.text.need import NotKnown, first_unknown, need, or_unknown
from kcheck.text.text import grouped
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, because, known, mapped, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.scale.world import World

Place = Subnet | PodRange


class Demands(Struct, frozen=True):
    """Lower and upper demand of each pool; `why` explains the difference.

    `low` and `high` differ by what one node takes, `least` and `most` also by the sizes that the pools may have when
    their clusters reach their targets. `high` and `most` are None without a bound. `kept`: addresses of reserved
    prefixes; `rest`: all others of a subnet.
    """

    pools: list[NodePool]
    low: list[Demand]
    high: list[Demand] | None
    least: list[Demand]
    most: list[Demand] | None
    why: Unknown | None = None
    kept: int = 0
    rest: int = 0

    def taken(self, demands: list[Demand]) -> int:
        """Count the addresses that pools need, in reserved prefixes if any.

        AWS selects prefixes from the reservation of a subnet, and does not document what happens when it is used up:
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html
        """
        total, kept, rest = addresses_needed(demands), self.kept, self.rest
        prefixed = addresses_needed([one._replace(per_node=one.prefixed) for one in demands])
        single = addresses_needed([one._replace(per_node=one.per_node - one.prefixed) for one in demands])
        return max(total, prefixed + rest, single + kept) if kept and (prefixed > kept or single > rest) else total


# --- of one node


def per_node(pool: NodePool, world: World) -> Amount:
    """Count the addresses a node and its pods take from its subnet."""
    inside, cni = pool.addresses.pods_take_addresses, _cni(pool)
    if isinstance(inside, Known) and not inside.value:
        least, most = known(pool.addresses.own) or (1, 1)
        why = Unknown(f"the interfaces of a node of {pool.display_name} are not known")
        return Amount(least, most, why, inside.origin)
    sized = pool.addresses.max_pods if cni is None else pool.machine.instance_types
    whole = _held(pool, cni) if cni is not None else exactly(1) + _max_pods(pool, world)
    if isinstance(inside, Known):
        return replace(whole, origin=sized.origin)
    return Amount(1, whole.high, because(inside), inside.origin)


def _cni(pool: NodePool) -> Cni | None:
    cluster = known(pool.cluster)
    return cluster.cni if cluster is not None else None


def pods_have_interfaces(cluster: Cluster) -> bool:
    """Whether pods have addresses of the VPC on interfaces of their nodes (EKS)."""
    cni = cluster.cni
    return cni is not None and bool(known(cluster.pods_take_addresses) or known(cni.custom_networking))


def has_public_nodes(pool: NodePool) -> bool:
    """Whether the subnets of a pool give every node a public address."""
    subnets = known(pool.addresses.subnets) or ()
    return bool(subnets) and all(known(one.public) for one in subnets)


def address_units(cluster: Cluster, world: World) -> dict[str, Amount]:
    """Count the VPC address units that a node of each pool takes.

    An address counts as one, a public one too, and so does each interface beside the first, those of EFA included:
    https://docs.aws.amazon.com/vpc/latest/userguide/network-address-usage.html
    """
    cni = cluster.cni
    if cni is None or not pods_have_interfaces(cluster) or known(cni.prefix_delegation):
        return {}
    found = {}
    for pool in world.pools.of_cluster(cluster):
        units, held = per_node(pool, world), interfaces_held(pool, cluster)
        if known(cni.custom_networking):
            units += pod_addresses(pool, world)
        if has_public_nodes(pool):
            units += exactly(1)
        found[pool.id] = units + (Amount() if held is None else exactly(held - 1))
    return found


def interfaces_held(pool: NodePool, cluster: Cluster) -> int | None:
    """Count the interfaces of a node with one pod, including EFA; None if unknown."""
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


def _max_pods(pool: NodePool, world: World) -> Amount:
    """Return the minimum and maximum number of pods a node may run."""
    most, cluster = pool.addresses.max_pods, known(pool.cluster)
    limits = world.numbers.limits(cluster.cloud if cluster else "any")
    if isinstance(most, Known) or "max_pods.least" not in limits:
        return amount_of(most)
    return Amount(limits["max_pods.least"].number, limits["max_pods.most"].number, because(most))


def _held(pool: NodePool, cni: Cni, *, own: bool = True) -> Amount:
    """Count the addresses that a VPC CNI node holds with one pod.

    If pods have subnets of their own, the first interface, the node's `own`, does not serve them.
    """
    try:
        found = _held_by_type(pool, cni, own=own)
    except NotKnown as error:
        return Amount(1, None, error.missing)
    least, most = min(found), max(found)
    name = known(pool.name) or pool.address
    return Amount(least, most, Unknown(f"the instance types of {name} take {least} to {most} addresses"))


def _held_by_type(pool: NodePool, cni: Cni, *, own: bool) -> list[int]:
    """List the addresses that a node holds, by instance type."""
    warm = (cni.warm_ips, cni.minimum_ips, cni.warm_prefixes, cni.prefix_delegation, cni.warm_interfaces)
    need(first_unknown(warm))
    own_cloud = cloud(need(pool.cluster).cloud)
    extra = pool.machine.efa_addresses if own else 0
    if known(cni.prefix_delegation):  # a node takes as many prefixes, whatever its type
        return [own_cloud.node_addresses(cni, 1, 1, 1) + extra]
    types = need(pool.machine.instance_types)
    found, why = [], "" if types else "no instance type is set"
    for name in types:
        interfaces = machines.interfaces(own_cloud.name, name)
        if interfaces is None:
            why = f"kcheck does not know the instance type {name}"
        else:
            count, addresses = interfaces
            found.append(own_cloud.node_addresses(cni, count if own else count - 1, addresses, 1) + extra)
    need(Unknown(why) if why else None)
    return found


def daemons(pool: NodePool, world: World, *, addressed: bool = False) -> int:
    """Count the DaemonSets on every node of a pool, or those with addresses."""
    cluster, found = known(pool.cluster), set[tuple[str | None, str]]()
    for one in world.pools.daemon_sets.get(cluster.id, ()) if cluster else ():
        if any(placement.chooses(t, pool).fits and not (addressed and known(t.host_network)) for t in one.templates):
            found.add((known(one.namespace), known(one.name) or one.id))
    return len(found)


def pod_addresses(pool: NodePool, world: World) -> Amount:
    """Count the pod subnet addresses that a node takes with one pod."""
    cni = _cni(pool)
    if cni is not None:
        return _held(pool, cni, own=False)
    if isinstance(pool.addresses.pod_addresses, Known):
        least, most = pool.addresses.pod_addresses.value
        more = max(0, 1 + daemons(pool, world, addressed=True) - least)
        least, most = least + more, min(most + more, max(most, number(pool.addresses.max_pods, most + more)))
        return Amount(least, most, Unknown(f"the addresses of a pod of {pool.display_name} are not known"))
    return Amount(1, _max_pods(pool, world).high, because(pool.addresses.pod_addresses))


def pod_block(pool: NodePool) -> Value[int]:
    """Return the prefix length of a node's pod block."""
    pod_range = known(pool.addresses.pod_range)
    block = pod_range.block if pod_range else NOTHING
    if pod_range is None or not isinstance(block, Unset):
        return block
    return mapped(pool.addresses.max_pods, cloud(pod_range.cloud).pod_block)


def block_size(pool: NodePool, world: World) -> Amount:
    """Count the addresses in a node's pod block."""
    block = pod_block(pool)
    if isinstance(block, Known):
        return exactly(1 << (32 - block.value))
    pod_range = known(pool.addresses.pod_range)
    if pod_range is None:
        return Amount(1, None, because(block))

    def size(pods: int) -> int:
        return 1 << (32 - cloud(pod_range.cloud).pod_block(pods))

    pods = _max_pods(pool, world)
    return Amount(size(max(1, pods.low)), None if pods.high is None else size(pods.high), because(block))


# --- of all nodes of a subnet or range


def of_pool(pool: NodePool) -> list[Place]:
    """List the subnets and ranges that a pool takes, or may take, addresses from."""
    own, pods = pool.addresses, known(pool.addresses.pod_range)
    subnets = (*(known(own.subnets) or ()), *(known(own.pod_subnets) or ()), *own.candidates)
    return [*subnets, *([] if pods is None else [pods])]


def bounds(place: Place, world: World) -> Demands:
    """Return each pool's demand. Raises NotKnown if one may be elsewhere."""
    found = at_most(place, world)
    need(world.pools.doubt(place))
    return found


@once
def at_most(place: Place, world: World) -> Demands:
    """Count the demand like `bounds`, doubtful pools in the upper bound only."""
    pools, doubt = world.pools.perhaps_inside(place), world.pools.doubt(place)
    shared = Counter(pool.display_name for pool in pools)
    least: list[Demand] = []
    most: list[Demand] = []
    reasons: list[Unknown | None] = []
    seen: set[NodePool] = set()
    bounded = True
    kept = _reserved_prefixes(place)
    for pool in pools:
        measure, parts = _measure(place, pool, seen)
        seen.add(pool)
        each, nodes, surge = measure(pool, world), world.sizes.of_pool(pool), pool.upgrade.surge
        if doubt and place in pool.addresses.candidates:
            each = Amount(0, each.high, doubt)
        each, size = each if kept else _broken(each, pool), _prefix_size(pool)
        name = pool.full_name if shared[pool.display_name] > 1 else pool.display_name
        default = isinstance(pool.size.max_nodes, Known) and pool.size.max_nodes.origin.missing is not None
        low, high = surge_bounds(surge)
        fixed = pool.machine.efa_addresses if measure is per_node else 0
        whole, more = (max(0, one - fixed) // size * size if size else 0 for one in (each.low, each.high or 0))
        demand = Demand(name, number(nodes, 0), low, per_node=each.low, subnets=parts, by_default=default)
        least.append(demand._replace(prefixed=whole))
        most.append(least[-1]._replace(surge=high, per_node=each.high or 0, prefixed=more))
        bounded = bounded and each.high is not None
        reasons += [each.why] if each.exact is None else []
        reasons += [because(surge)] if low != high else []
        reasons += [] if isinstance(nodes, Known) else [because(nodes)]
    lowest = _sized(pools, least, world, kind=True)
    highest = _sized(pools, most, world, kind=False) if bounded else None
    if kept:
        reasons.append(Unknown(f"whether nodes get prefixes beyond the {kept:,} reserved addresses is not known"))
    why = next(filter(None, reasons), None)
    rest = number(room(place, world), 0) - kept
    return Demands(pools, least, most if bounded else None, lowest or [], highest, why, kept=kept, rest=rest)


def _reserved_prefixes(place: Place) -> int:
    """Count the addresses of whole reserved prefixes in a subnet."""
    blocks, whole = place.blocks if isinstance(place, Subnet) else (), parse_cidr(known(place.cidr) or "")
    if not blocks or whole is None:
        return 0
    size, ends = profiles.limits(place.cloud)["cni.prefix_size"].number, (whole[0], whole[-1])
    found = [one for one in map(parse_cidr, blocks) if one is not None]
    return sum(one.num_addresses - size * sum(end in one for end in ends) for one in found)


def _prefix_size(pool: NodePool) -> int:
    """Return the number of addresses in a prefix; 0 if a pool's nodes have none."""
    cluster = known(pool.cluster)
    if cluster is None or cluster.cni is None or not known(cluster.cni.prefix_delegation):
        return 0
    return profiles.limits(cluster.cloud)["cni.prefix_size"].number


def _broken(each: Amount, pool: NodePool) -> Amount:
    """Add the prefix blocks of a subnet that a node's single addresses may break up.

    https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
    """
    size, high = _prefix_size(pool), each.high
    if not size or not high or high == 1:
        return each
    why = Unknown(f"a single address of {pool.display_name} may break up a block of {size}")
    most = high + (size - 1) * (1 + pool.machine.efa_addresses)
    return Amount(each.low, most, why if each.exact is not None else each.why or why)


def _sized(pools: list[NodePool], demands: list[Demand], world: World, *, kind: bool) -> list[Demand] | None:
    """Return the smallest or largest demands at the target; None without a bound."""
    sizes: dict[str, int] = {}
    for own in grouped(zip(pools, demands, strict=True), lambda pair: known(pair[0].cluster)).values():
        choices = _choices([pool for pool, _ in own], world, kind=kind)
        if not choices:
            return None
        taken = [addresses_needed([one._replace(nodes=each[pool.id]) for pool, one in own]) for each in choices]
        ranked = sorted(zip(taken, choices, strict=True), key=itemgetter(0))
        sizes |= ranked[0 if kind else -1][1]
    return [demand._replace(nodes=sizes[pool.id]) for pool, demand in zip(pools, demands, strict=True)]


def _choices(pools: list[NodePool], world: World, *, kind: bool) -> list[dict[str, int]]:
    """List possible sizes of pools of a cluster at its target."""
    cluster, nodes = known(pools[0].cluster), {pool.id: world.sizes.of_pool(pool) for pool in pools}
    every = all(isinstance(count, Known) for count in nodes.values())
    aim = world.sizes.target_amount(cluster) if cluster else Amount()
    target = aim.low if kind else aim.high
    if every or cluster is None or target is None or isinstance(world.pools.all_of_cluster(cluster), Unknown):
        return [{name: number(count, 0) for name, count in nodes.items()}] if kind or every else []
    growth, names = world.sizes.growth(cluster), [pool.id for pool in world.pools.of_cluster(cluster)]
    others = {i for i in growth.unknown if names[i] not in nodes}
    others -= {min(others, default=0), max(others, default=0)}  # each gives `pools` the sizes that the first gives
    return [dict(zip(names, growth.grown(target, i), strict=True)) for i in growth.unknown if i not in others]


def needed(found: Demands) -> Amount:
    """Count the addresses that pools need while one is upgraded."""
    high = None if found.most is None else found.taken(found.most)
    return Amount(addresses_needed(found.least), high, found.why)


@or_unknown
def room(place: Place, world: World) -> Value[int]:
    """Count the usable addresses of a subnet, or of a range with extensions."""
    length, origin = prefix_of(place.cidr), place.cidr.origin or Origin((place.place,))
    own = place.cidr if length is None else Known(f"/{length}", origin)
    if isinstance(place, Subnet):
        reserved = world.numbers.limits(place.cloud)["subnet.reserved"].number + place.held
        return parsed(own, lambda cidr: usable_addresses(cidr, reserved), "not an IPv4 range")
    addresses = 0
    for cidr in (need(own), *(known(place.more) or ())):
        network = range_of(cidr) or Unknown(f"`{cidr}` is not an IPv4 range", place.cidr.origin)
        addresses += need(network).num_addresses
    return place.more if isinstance(place.more, Unknown) else Known(addresses, origin)


def _measure(place: Place, pool: NodePool, seen: set[NodePool]) -> tuple[Callable[[NodePool, World], Amount], int]:
    """Choose how to estimate a pool's demand, and count its subnets."""
    if not isinstance(place, Subnet):
        return block_size, 1
    nodes, pods = known(pool.addresses.subnets) or (), known(pool.addresses.pod_subnets) or ()
    if place in nodes and pool not in seen:
        return per_node, len(nodes)
    return (pod_addresses, len(pods)) if place in pods else (per_node, 1)  # at most, all of its nodes
