"""Walls of outbound traffic: addresses, ports, pulls, load balancers."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES, Cluster, Image, PodTemplate, Workload
from kcheck.model.image_names import DOCKER_HUB
from kcheck.scale.addresses import has_public_nodes
from kcheck.scale.growth import CEILING, Growth, Trial, reach, surge_nodes
from kcheck.scale.walls.model import Takes, Wall, WallFinder, unknown
from kcheck.scale.word_helpers import computed, may_count
from kcheck.scale.world import World
from kcheck.text.amount import Amount, exactly
from kcheck.text.need import first_unknown, need, or_none
from kcheck.text.units import counted
from kcheck.text.values import Known, Origin, Unknown, Value, equals, known, number


class Pull(Struct, frozen=True):
    """Docker Hub pulls of one role: `images` on each of `pods` nodes.

    `pools`, by id, are those with shared public addresses that may run the pods; None if unknown. If not `sure`, the
    number of pods is unknown: at most one per node.
    """

    images: list[Image]
    pods: int | None
    pools: frozenset[str] | None
    sure: bool


def pulled(found: Iterable[Pull], nodes: Callable[[Pull], int]) -> int:
    """Count the pulls of fresh nodes, each image once per node."""
    return sum(len(one.images) * min(nodes(one), CEILING if one.pods is None else one.pods) for one in found)


def pulls_of(workload: Workload, world: World) -> list[Pull]:
    """List the Docker Hub pulls of a workload, by role."""
    found = []
    for template in () if workload.release else workload.templates:
        own = {container.id for container in template.containers}
        images = [one for one in workload.images if one.id in own and equals(one.registry, DOCKER_HUB)]
        different = {one.text.value: one for one in images if isinstance(one.text, Known)}
        pods = None if workload.per_node else known(template.count)
        if different:
            sure = workload.per_node or pods is not None
            found.append(Pull(list(different.values()), pods, _sharing(template, workload, world), sure))
    return found


def _sharing(template: PodTemplate, workload: Workload, world: World) -> frozenset[str] | None:
    """Return the pools with shared public addresses; None if unknown."""
    cluster, pools = world.inventory.cluster_of.get(workload), known(world.pools.candidates(template))
    if cluster is None or not world.pools.of_cluster(cluster) or pools is None:
        return None
    public = equals(cluster.outbound_type, NODE_ADDRESSES)
    return frozenset(pool.id for pool, _ in pools if not (public or has_public_nodes(pool)))


def hub_pulls(cluster: Cluster, world: World) -> list[Pull]:
    """List a cluster's Docker Hub pulls on fresh nodes, without login or mirror."""
    anonymous = (one for one in world.deployed.on(cluster).workloads if not known(one.pull_secrets))
    workloads = (one for one in anonymous if not known(mirrored(one, world)))
    return [pull for one in workloads for pull in pulls_of(one, world) if pull.sure or one.batch]


def mirrored(workload: Workload, world: World) -> Value[bool]:
    """Whether all nodes a workload may run on use a mirror before Docker Hub."""
    cluster = world.inventory.cluster_of.get(workload)
    pools = world.pools.of_cluster(cluster) if cluster else []
    if pools and not workload.per_node:
        pools = [pool for template in workload.templates for pool in world.pools.fitting(template)] or pools
    values = [pool.system.hub_mirror for pool in pools]
    return first_unknown(values) or computed(workload, bool(values) and all(map(known, values)))


def egress_addresses(workload: Workload, world: World) -> Value[int]:
    """Count the public addresses that all nodes share for pulls; 1 if unknown."""
    cluster, place = world.inventory.cluster_of.get(workload), Origin((workload.place,))
    if cluster is None:
        return Known(1, place)
    pools = [_sharing(template, workload, world) for template in workload.templates]
    if equals(cluster.outbound_type, NODE_ADDRESSES) or (pools and not any(one is None or one for one in pools)):
        return world.sizes.of_workload(workload)
    return shared_addresses(cluster)


def shared_addresses(cluster: Cluster) -> Known[int]:
    """Count the public addresses shared by nodes without their own; 1 if unknown."""
    if isinstance(cluster.outbound_ips, Known):
        return cluster.outbound_ips
    return Known(1, cluster.outbound_type.origin or Origin((cluster.place,)))


@or_none
def outbound_addresses(cluster: Cluster, world: World) -> int | None:
    """Count the public addresses that all nodes' ports need; else None."""
    ports, entry = known(cluster.outbound_ports), world.numbers.limits(cluster.cloud).get("snat.ports_per_address")
    if not ports or entry is None:
        return None
    pools = world.pools.of_cluster(cluster)
    sizes = [need(world.sizes.of_pool(pool)) for pool in pools]
    surges = [surge_nodes(need(pool.upgrade.surge), size) for pool, size in zip(pools, sizes, strict=True)]
    nodes = sum(sizes) + max(surges, default=0)  # one pool is upgraded at a time
    return cloud(cluster.cloud).outbound_addresses(ports, nodes, entry.number)


# --- walls


def walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the walls of a cluster's outbound traffic and load balancers."""
    yield from _ports(finder)
    yield from _pulls(finder)
    yield from _balancers(finder)


def _ports(finder: WallFinder) -> Iterator[Wall]:
    """Yield the limit on outbound ports."""
    cluster = finder.cluster
    inputs = (cluster.outbound_ports, cluster.outbound_ips)
    ports, addresses = map(known, inputs)
    entry, missing = finder.limits.get("snat.ports_per_address"), first_unknown(inputs)
    if entry is not None and missing is not None and all(map(may_count, inputs)):
        yield unknown(finder.limit("outbound-ports", "the cluster", cluster.outbound_ports, entry), missing.reason)
    if entry is None or not ports or addresses is None:
        return
    most = cloud(cluster.cloud).outbound_nodes(ports, addresses, entry.number)
    if most is None:
        return
    text = f"{entry.number:,} ports x {addresses} addresses / {ports:,} ports of a node = {most:,} nodes with surge"
    wall = finder.limit("outbound-ports", "the cluster", cluster.outbound_ports, entry)
    sharing = _gateway_sharers(finder)
    targets = [known(finder.world.sizes.target(one)) for one in sharing]
    others = sum(target or 0 for target in targets)
    others_today = sum(number(pool.size.standing, 0) for one in sharing for pool in finder.world.pools.of_cluster(one))
    if finder.gap or None in targets:
        yield unknown(wall, finder.gap or "other clusters of unknown size use the same gateway")
        return
    if not finder.pools:
        yield finder.at(wall, exactly(most), text)
        return
    trial = finder.upgraded(most, others, others_today)
    found = reach(trial, finder.growth)
    if found is not None:
        text += f", {others:,} of them for other clusters" if others else ""
        yield finder.at(wall, found, text, trial)


def _gateway_sharers(finder: WallFinder) -> list[Cluster]:
    """List other clusters on the same gateway."""
    origin = finder.cluster.outbound_ports.origin
    if origin is None or not cloud(finder.cluster.cloud).shares_gateways:
        return []
    return [
        other
        for other in finder.world.inventory.clusters
        if other is not finder.cluster
        and (own := other.outbound_ports.origin) is not None
        and own.spans
        and own.spans == origin.spans
    ]


def _pulls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the limit on anonymous Docker Hub pulls of fresh nodes."""
    cluster, world = finder.cluster, finder.world
    found = hub_pulls(cluster, world)
    if not any(one.sure for one in found) or equals(cluster.outbound_type, NODE_ADDRESSES):
        return
    entry, addresses = world.numbers.limits("any")["docker_hub.pulls"], max(1, shared_addresses(cluster).value)
    growth, names = (finder.growth, [pool.id for pool in finder.pools]) if finder.pools else (_ANY_NODES, [""])

    def within(pulls: list[Pull]) -> Callable[[list[int]], bool]:
        def enough(sizes: list[int]) -> bool:
            named = dict(zip(names, sizes, strict=True))
            return pulled(pulls, lambda one: _nodes_of(one, named)) <= entry.number * addresses

        return enough

    certain, most = [one for one in found if one.sure], within(found)
    weights = [sum(len(one.images) for one in found if one.pools is None or name in one.pools) for name in names]
    least = most if len(certain) == len(found) else within(certain)
    trial = Trial(least, most, weights, range(len(names)))
    sure, nodes = isinstance(cluster.outbound_ips, Known), reach(trial, growth)
    if nodes is not None and not sure:  # there may be more addresses
        nodes = Amount(nodes.low, None)
    if nodes is not None:
        public = counted(addresses, "public address", "public addresses")
        many = public if sure else "one public address, unless there are more"
        each = max(weights)
        text = f"{entry.number} anonymous pulls x {many}; up to {counted(each, 'image')} on a fresh node"
        wall = finder.limit("docker-hub", "the cluster", found[0].images[0].text, entry, pools=[])
        takes: Takes = lambda sizes: pulled(found, lambda one: _nodes_of(one, sizes))  # noqa: E731
        yield replace(finder.at(wall, nodes, text), takes=takes)


_ANY_NODES = Growth((None,), (True,))
"""Growth of a cluster whose pools are not in the code, by nodes of any kind."""


def _nodes_of(pull: Pull, sizes: Mapping[str, int]) -> int:
    """Count the nodes that may run the pods of a pull."""
    return sum(sizes.values() if pull.pools is None else [sizes[name] for name in sizes.keys() & pull.pools])


def _balancers(finder: WallFinder) -> Iterator[Wall]:
    """Yield the limits of load balancers, whose ports have all nodes behind."""
    if "load_balancer.configurations" not in finder.limits:
        return
    entry = finder.limits["load_balancer.configurations"]
    for service in finder.world.deployed.on(finder.cluster).services:
        scope = f"Service {known(service.name) or '?'}"
        wall = finder.limit("load-balancer", scope, service.name, entry, key=service.id, pools=[])
        if isinstance(service.ports, Unknown):
            yield unknown(wall, service.ports)
        elif ports := known(service.ports):
            text = f"{entry.number:,} places of a frontend / {ports} ports of the Service"
            # https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large: 10,000 / 5 ports = 2,000
            yield finder.at(wall, exactly(entry.number // ports), text)
    pool = finder.limits["load_balancer.pool"]
    if equals(finder.cluster.outbound_type, "loadBalancer"):
        wall = finder.limit("load-balancer", "the cluster", finder.cluster.outbound_type, pool)
        text = "machines in a backend pool of the outbound load balancer"
        yield finder.at(wall, exactly(pool.number), text)
