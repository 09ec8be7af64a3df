"""Walls of outbound traffic: ports, pulls from Docker Hub, load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES
from kcheck.scale import egress
from kcheck.scale.growth import CEILING, reach, surge_bounds, surge_nodes
from kcheck.text.interval import Interval
from kcheck.text.units import counted
from kcheck.text.values import Known, Unknown, equals, known, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.scale.walls.model import Fits, Sizes, Wall, WallFinder


def walls(finder: WallFinder) -> Iterator[Wall]:
    """The walls of a cluster on its way out."""
    yield from _ports(finder)
    yield from _pulls(finder)
    yield from _balancers(finder)


def _ports(finder: WallFinder) -> Iterator[Wall]:
    """Outbound ports of all nodes and surge nodes on the public addresses."""
    cluster = finder.cluster
    ports, addresses = known(cluster.outbound_ports), known(cluster.outbound_ips)
    entry = finder.limits.get("snat.ports_per_address")
    if entry is None or not ports or addresses is None:
        return
    most = cloud(cluster.cloud).outbound_nodes(ports, addresses, entry.number)
    if most is None:
        return
    text = f"{entry.number:,} ports x {addresses} addresses / {ports:,} ports of a node = {most:,} nodes with surge"
    cause = cluster.outbound_ports
    others = _others(finder)
    if finder.gap or others is None:
        why = finder.gap or "other clusters of unknown size use the same gateway"
        yield finder.unknown("outbound-ports", "the cluster", why, cause, entry)
        return
    if not finder.pools:
        yield finder.wall("outbound-ports", "the cluster", Interval(most, most), text, cause, entry)
        return

    def fits(side: int) -> Fits:
        surges = {pool.id: surge_bounds(pool.upgrade.surge)[side] for pool in finder.pools}

        def taken(sizes: Sizes) -> int:  # one pool is upgraded at a time
            surge = max(surge_nodes(surges[name], size) for name, size in sizes.items())
            return sum(sizes.values()) + surge + (0 if finder.runs_today(sizes) else others)

        return lambda sizes: taken(sizes) <= most

    least = fits(0)
    exact = all(isinstance(pool.upgrade.surge, Known) for pool in finder.pools)
    trial = finder.trial(least, least if exact else fits(1), {pool.id: 1 for pool in finder.pools})
    found = reach(trial, finder.growth)
    if found is not None:
        text += f", {others:,} of them for other clusters" if others else ""
        yield finder.wall("outbound-ports", "the cluster", found, text, cause, entry, trial=trial)


def _others(finder: WallFinder) -> int | None:
    """Nodes of other clusters on the same gateway; None if they are unknown."""
    origin = finder.cluster.outbound_ports.origin
    if origin is None or not cloud(finder.cluster.cloud).shares_gateways:
        return 0
    others = [
        other
        for other in finder.world.inventory.clusters
        if other is not finder.cluster
        and (own := other.outbound_ports.origin) is not None
        and own.spans
        and own.spans == origin.spans
    ]
    nodes = total(map(finder.world.sizes.target, others))
    return None if isinstance(nodes, Unknown) else nodes


def _pulls(finder: WallFinder) -> Iterator[Wall]:
    """Anonymous pulls of fresh nodes from Docker Hub."""
    cluster, world = finder.cluster, finder.world
    found, unsure, images = egress.hub_pulls(cluster, world)
    if not found:
        return
    addresses = known(egress.egress_addresses(world.deployed.on(cluster).workloads[0], world))
    if addresses is None or not isinstance(addresses, int) or equals(cluster.outbound_type, NODE_ADDRESSES):
        return
    entry = world.numbers.limits("any")["docker_hub.pulls"]
    budget = entry.number * max(1, addresses)
    low, most = _last_node(found + unsure, budget), _last_node(found, budget)
    if low < CEILING:
        each = sum(count for count, _ in found + unsure)
        sure = isinstance(cluster.outbound_ips, Known)
        public = counted(addresses, "public address", "public addresses")
        many = public if sure else "one public address, unless there are more"
        text = f"{entry.number} anonymous pulls x {many}; up to {counted(each, 'image')} on a fresh node"
        nodes = Interval(low, most if sure and most < CEILING else None)
        yield finder.wall("docker-hub", "the cluster", nodes, text, images[0].text, entry, pools=[])


def _last_node(found: list[tuple[int, int | None]], budget: int) -> int:
    """The most nodes that can pull the images of workloads within a budget."""
    low, high = 0, CEILING
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if egress.pulls(found, middle) <= budget else (low, middle - 1)
    return low


def _balancers(finder: WallFinder) -> Iterator[Wall]:
    """Services of load balancers, each port of which has all nodes behind it."""
    if "load_balancer.configurations" not in finder.limits:
        return
    entry = finder.limits["load_balancer.configurations"]
    for service in finder.world.deployed.on(finder.cluster).services:
        if service.ports:
            nodes = egress.backend_nodes(entry.number, service.ports)
            text = f"{entry.number:,} places of a frontend / {service.ports} ports of the Service"
            scope = f"Service {known(service.name) or '?'}"
            cause = service.name
            yield finder.wall(
                "load-balancer", scope, nodes=Interval(nodes, nodes), arithmetic=text, cause=cause, entry=entry,
                key=service.id, pools=[],
            )  # fmt: skip
    pool = finder.limits["load_balancer.pool"]
    if equals(finder.cluster.outbound_type, "loadBalancer"):
        text = "machines in a backend pool of the outbound load balancer"
        size = Interval(pool.number, pool.number)
        yield finder.wall("load-balancer", "the cluster", size, text, finder.cluster.outbound_type, pool)
