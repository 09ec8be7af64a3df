"""Numbers that rules ask for and that nobody wrote: one function a word, each from the model and its world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcheck import capacity, profiles
from kcheck.model import Autoscaler, Cluster, Image, Subnet, Thing, Workload
from kcheck.values import Known, Origin, Unknown, Unset, Value, known, mapped, number, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.world import World


def computed(thing: Thing, value: Any) -> Value[Any]:
    """A computed value; None stands for unset."""
    origin = Origin((thing.place,))
    return Unset(origin) if value is None else Known(value, origin)


def usable(subnet: Subnet, _world: World) -> Value[int]:
    """Addresses of a subnet that the cloud does not keep."""
    reserved = int(profiles.limits(subnet.cloud)["subnet.reserved"].value)
    if not isinstance(subnet.cidr, Known):
        return subnet.cidr
    usable = capacity.usable_addresses(subnet.cidr.value, reserved)
    if usable is None:
        return Unknown(f"`{subnet.cidr.value}` is not an IPv4 range", subnet.cidr.origin)
    return Known(usable, subnet.cidr.origin)


def of_demands(subnet: Subnet, world: World, compute: Callable[[list[capacity.Demand]], Any]) -> Value[Any]:
    """Something computed from what the pools take of a subnet."""
    demands = world.demands(subnet)
    return demands if isinstance(demands, Unknown) else computed(subnet, compute(demands))


def full_at(subnet: Subnet, world: World) -> Value[int]:
    """The number of nodes at which a subnet is full; null where its pools fit."""
    addresses = usable(subnet, world)
    if not isinstance(addresses, Known):
        return addresses
    return of_demands(subnet, world, lambda demands: _full(demands, addresses.value))


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
        surge = capacity.surge_nodes(demand.surge, demand.nodes) or 0
        nodes = f"({demand.nodes:,} + {surge:,} surge)" if surge else f"{demand.nodes:,}"
        times = f" x {demand.per_node}" if demand.per_node > 1 else ""
        parts.append(f"{demand.pool} {nodes}{times}")
    rest = ordered[4:]
    if rest:
        parts.append(f"{len(rest)} more pools {capacity.addresses_needed(rest):,}")
    return " + ".join(parts) + f" = {capacity.addresses_needed(demands):,}"


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
    usable_now, needed = known(usable(subnet, world)), capacity.addresses_needed(demands)
    network = known(subnet.network)
    if usable_now is None or needed <= usable_now or network is None or not isinstance(network.cidrs, Known):
        return computed(subnet, None)
    taken = []
    for other in world.inventory.subnets:
        # a subnet of this root whose network or range is not known may lie anywhere
        if other is not subnet and other.root == subnet.root and known(other.network) in (None, network):
            if not isinstance(other.network, Known) or not isinstance(other.cidr, Known):
                return computed(subnet, None)
            taken.append(other.cidr.value)
    reserved = int(profiles.limits(subnet.cloud)["subnet.reserved"].value)
    prefix = capacity.sufficient_prefix(needed, reserved)
    return computed(subnet, capacity.free_block(list(network.cidrs.value), taken, prefix))


def count(thing: Thing, found: list[Any] | Unknown) -> Value[int]:
    """How many there are."""
    return found if isinstance(found, Unknown) else computed(thing, len(found))


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


def range_nodes(cluster: Cluster, _world: World) -> Value[int]:
    """Nodes for which the pod range has room where each node takes a block of it."""
    if not isinstance(cluster.pod_cidr, Known):
        return cluster.pod_cidr
    network = capacity.parse_cidr(cluster.pod_cidr.value)
    if network is None:
        return Unknown(f"`{cluster.pod_cidr.value}` is not an IPv4 range", cluster.pod_cidr.origin)
    block = int(profiles.limits(cluster.cloud)["pod_range.block"].value)
    return Known(capacity.blocks(network, block), cluster.pod_cidr.origin)


def range_needed(cluster: Cluster, world: World) -> Value[int]:
    """Nodes at the target with the surge of all pools."""
    pools = world.all_pools(cluster)
    if isinstance(pools, Unknown):
        return pools
    total = 0
    for pool in pools:
        nodes = world.nodes(pool)
        if not isinstance(nodes, Known) or not isinstance(pool.surge, Known):
            return Unknown(reason_of(nodes if not isinstance(nodes, Known) else pool.surge))
        total += nodes.value + (capacity.surge_nodes(pool.surge.value, nodes.value) or 0)
    return computed(cluster, total)


def sufficient_range(cluster: Cluster, world: World) -> Value[str]:
    """The pod range widened until it has room, unless it would then overlap a network or the services."""
    needed = range_needed(cluster, world)
    network = capacity.parse_cidr(known(cluster.pod_cidr) or "")
    if not isinstance(needed, Known) or network is None:
        return computed(cluster, None)
    block = int(profiles.limits(cluster.cloud)["pod_range.block"].value)
    others: list[str] = []
    for outer in world.inventory.networks:
        if not isinstance(outer.cidrs, Known):
            return computed(cluster, None)
        others += outer.cidrs.value
    if isinstance(cluster.service_cidr, Known):
        others.append(cluster.service_cidr.value)
    return computed(cluster, capacity.widened(network, needed.value, block, others))


def autoscaled(cluster: Cluster, world: World) -> Value[bool]:
    """Whether any pool of a cluster is autoscaled."""
    pools = world.pools(cluster)
    if any(isinstance(pool.autoscaled, Known) and pool.autoscaled.value for pool in pools):
        return computed(cluster, value=True)
    unknown = next((p.autoscaled for p in pools if not isinstance(p.autoscaled, Known)), None)
    if unknown is not None:
        return Unknown(reason_of(unknown), unknown.origin)
    complete = world.all_pools(cluster)
    return complete if isinstance(complete, Unknown) else computed(cluster, value=False)


def growable_nodes(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Nodes that the autoscaler adds and removes when the cluster reaches its target."""
    pools = world.all_pools(autoscaler.cluster)
    if isinstance(pools, Unknown):
        return pools
    total = 0
    for pool in pools:
        if not isinstance(pool.autoscaled, Known):
            return Unknown(reason_of(pool.autoscaled), pool.autoscaled.origin)
        if pool.autoscaled.value:
            nodes = world.nodes(pool)
            if not isinstance(nodes, Known):
                return Unknown(reason_of(nodes), nodes.origin)
            total += max(0, nodes.value - number(pool.min_nodes, 0))
    return computed(autoscaler, total)


def deletion_time(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Seconds the autoscaler needs at least to delete its nodes."""
    nodes = growable_nodes(autoscaler, world)
    for value in (nodes, autoscaler.bulk_delete, autoscaler.scan_interval):
        if not isinstance(value, Known):
            return Unknown(reason_of(value), value.origin)
    qps = int(profiles.limits("any")["autoscaler.client_qps"].value)
    batch = max(1, known(autoscaler.bulk_delete))
    seconds = capacity.deletion_time(known(nodes), batch, known(autoscaler.scan_interval), qps)
    return computed(autoscaler, seconds)


def sufficient_batch(autoscaler: Autoscaler, world: World) -> Value[int]:
    """The round batch with which deletion is fast enough."""
    nodes = growable_nodes(autoscaler, world)
    if not isinstance(nodes, Known) or not isinstance(autoscaler.scan_interval, Known):
        return computed(autoscaler, None)
    limits = profiles.limits("any")
    seconds, qps = int(limits["autoscaler.deletion_time"].value), int(limits["autoscaler.client_qps"].value)
    return computed(autoscaler, capacity.batch_for(nodes.value, seconds, autoscaler.scan_interval.value, qps))


def waste(autoscaler: Autoscaler, world: World, nodes: Value[int], seconds: Value[int], share: int) -> Value[str]:
    """Node-hours, and money when a price is given, that `nodes` idle nodes cost in `seconds` / `share`."""
    for value in (nodes, seconds):
        if not isinstance(value, Known):
            return Unknown(reason_of(value), value.origin)
    paid = known(nodes) * known(seconds) // share
    text = f"{round(paid / 3600):,} node-hours"
    price = world.config.price
    if price is not None:
        text += f", ${round(paid * price / 360_000):,} at ${price / 100:g} a node and hour,"
    return computed(autoscaler, text)


def owner(image: Image, world: World) -> Workload:
    """The workload that runs an image on most nodes."""
    return world.uses(image)[0][0]


def pulls(image: Image, world: World) -> Value[int]:
    """Pulls by fresh nodes through one public address."""
    workload = owner(image, world)
    addresses = max(1, number(world.egress_addresses(workload), 1))
    return mapped(world.image_nodes(image), lambda nodes: nodes * world.hub_images(workload) // addresses)


def out_of_pulls_at(image: Image, world: World) -> Value[int]:
    """The node at which anonymous pulls run out."""
    workload = owner(image, world)
    addresses = world.egress_addresses(workload)
    pulls = int(profiles.limits("any")["docker_hub.pulls"].value)
    return mapped(addresses, lambda count: pulls * count // max(1, world.hub_images(workload)) + 1)


def egress(image: Image, world: World) -> Value[str]:
    """The public addresses of a workload's nodes, in words."""
    count = number(world.egress_addresses(owner(image, world)), 1)
    return computed(image, "one public address" if count == 1 else f"{count} public addresses")


def user(image: Image, world: World) -> Value[str]:
    """Kind and name of the workload that runs an image on most nodes."""
    workload = owner(image, world)
    name = workload.name.value if isinstance(workload.name, Known) else "?"
    return computed(image, f"{workload.kind} {name}")


def others(image: Image, world: World) -> list[Any]:
    """The other places of an image in its file."""
    return [use for _, use in world.uses(image)[1:]]


def cluster_of(thing: Any, world: World) -> Value[Any]:
    """The cluster record of a pool, autoscaler or workload."""
    if isinstance(thing, Workload):
        cluster = world.inventory.cluster_of.get(thing)
        return Known(cluster, Origin((thing.place,))) if cluster else Unknown("the manifest's cluster is not known")
    found: Value[Any] | Cluster = thing.cluster
    return Known(found, Origin((thing.place,))) if isinstance(found, Cluster) else found
