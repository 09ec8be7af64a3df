"""Walls of outbound traffic: ports, pulls from Docker Hub, load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES
from kcheck.scale import egress
from kcheck.scale.growth import Growth, Trial, reach
from kcheck.scale.walls.model import unknown
from kcheck.text.interval import Interval
from kcheck.text.units import counted
from kcheck.text.values import Known, Unknown, equals, known, number, total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kcheck.model import Cluster
    from kcheck.scale.egress import Pull
    from kcheck.scale.walls.model import Wall, WallFinder


def walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the walls of a cluster's outbound traffic and load balancers."""
    yield from _ports(finder)
    yield from _pulls(finder)
    yield from _balancers(finder)


def _ports(finder: WallFinder) -> Iterator[Wall]:
    """Yield the wall of outbound ports: all nodes and surge nodes share the public addresses."""
    cluster = finder.cluster
    ports, addresses = known(cluster.outbound_ports), known(cluster.outbound_ips)
    entry = finder.limits.get("snat.ports_per_address")
    if entry is None or not ports or addresses is None:
        return
    most = cloud(cluster.cloud).outbound_nodes(ports, addresses, entry.number)
    if most is None:
        return
    text = f"{entry.number:,} ports x {addresses} addresses / {ports:,} ports of a node = {most:,} nodes with surge"
    wall = finder.limit("outbound-ports", "the cluster", cluster.outbound_ports, entry)
    sharing = _sharing(finder)
    others = total(map(finder.world.sizes.target, sharing))
    others_today = sum(number(pool.size.standing, 0) for one in sharing for pool in finder.world.pools.of_cluster(one))
    if finder.gap or isinstance(others, Unknown):
        yield unknown(wall, finder.gap or "other clusters of unknown size use the same gateway")
        return
    if not finder.pools:
        yield finder.at(wall, Interval(most, most), text)
        return
    trial = finder.upgraded(most, others, others_today)
    found = reach(trial, finder.growth)
    if found is not None:
        text += f", {others:,} of them for other clusters" if others else ""
        yield finder.at(wall, found, text, trial)


def _sharing(finder: WallFinder) -> list[Cluster]:
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
    """Yield the wall of anonymous pulls of fresh nodes from Docker Hub."""
    cluster, world = finder.cluster, finder.world
    found = egress.hub_pulls(cluster, world)
    if not any(one.sure for one in found) or equals(cluster.outbound_type, NODE_ADDRESSES):
        return
    entry, addresses = world.numbers.limits("any")["docker_hub.pulls"], max(1, egress.shared_addresses(cluster).value)
    growth, names = (finder.growth, [pool.id for pool in finder.pools]) if finder.pools else (_ANY_NODES, [""])

    def within(pulls: list[Pull]) -> Callable[[list[int]], bool]:
        def enough(sizes: list[int]) -> bool:
            named = dict(zip(names, sizes, strict=True))
            return egress.pulled(pulls, lambda one: _nodes_of(one, named)) <= entry.number * addresses

        return enough

    certain, most = [one for one in found if one.sure], within(found)
    weights = [sum(len(one.images) for one in found if one.pools is None or name in one.pools) for name in names]
    trial = Trial(most if len(certain) == len(found) else within(certain), most, weights)
    sure, nodes = isinstance(cluster.outbound_ips, Known), reach(trial, growth)
    if nodes is not None and not sure:  # there may be more addresses
        nodes = Interval(nodes.low, None)
    if nodes is not None:
        public = counted(addresses, "public address", "public addresses")
        many = public if sure else "one public address, unless there are more"
        each = max(weights)
        text = f"{entry.number} anonymous pulls x {many}; up to {counted(each, 'image')} on a fresh node"
        wall = finder.limit("docker-hub", "the cluster", found[0].images[0].text, entry, pools=[])
        yield finder.at(wall, nodes, text)


_ANY_NODES = Growth((None,), (True,))
"""Growth of a cluster whose pools are not in the code, by nodes of any kind."""


def _nodes_of(pull: Pull, sizes: Mapping[str, int]) -> int:
    """Count the nodes that may run the pods of a pull."""
    return sum(size for name, size in sizes.items() if pull.pools is None or name in pull.pools)


def _balancers(finder: WallFinder) -> Iterator[Wall]:
    """Yield the walls of load balancers: each port of a Service has all nodes behind it."""
    if "load_balancer.configurations" not in finder.limits:
        return
    entry = finder.limits["load_balancer.configurations"]
    for service in finder.world.deployed.on(finder.cluster).services:
        if service.ports:
            nodes = egress.backend_nodes(entry.number, service.ports)
            text = f"{entry.number:,} places of a frontend / {service.ports} ports of the Service"
            scope = f"Service {known(service.name) or '?'}"
            wall = finder.limit("load-balancer", scope, service.name, entry, key=service.id, pools=[])
            yield finder.at(wall, Interval(nodes, nodes), text)
    pool = finder.limits["load_balancer.pool"]
    if equals(finder.cluster.outbound_type, "loadBalancer"):
        wall = finder.limit("load-balancer", "the cluster", finder.cluster.outbound_type, pool)
        text = "machines in a backend pool of the outbound load balancer"
        yield finder.at(wall, Interval(pool.number, pool.number), text)
