"""Walls on the way out: outbound ports, pulls from Docker Hub, load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.capacity import egress
from kcheck.capacity.pools import CEILING, Interval, reach, surge_nodes
from kcheck.images import DOCKER_HUB
from kcheck.model import Surge
from kcheck.values import Known, equals, known, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import Image, Workload
    from kcheck.walls.model import Ground, Sizes, Wall


def walls(ground: Ground) -> Iterator[Wall]:
    """The walls of a cluster on its way out."""
    yield from _ports(ground)
    yield from _pulls(ground)
    yield from _balancers(ground)


def _ports(ground: Ground) -> Iterator[Wall]:
    """Outbound ports: those of all nodes, and of the surge of an upgrade, on the public addresses."""
    cluster = ground.cluster
    ports, addresses = known(cluster.outbound_ports), known(cluster.outbound_ips)
    formula = {"aks": egress.snat_nodes, "gke": egress.nat_nodes}.get(cluster.cloud)
    if formula is None or not ports or addresses is None:
        return
    entry = ground.limits["snat.ports_per_address"]
    most = formula(ports, addresses, entry.number)
    surges = {pool.id: known(pool.surge) or Surge() for pool in ground.pools}

    def fits(sizes: Sizes) -> bool:
        return sum(size + surge_nodes(surges[name], size) for name, size in sizes.items()) <= most

    trial = ground.trial(fits, fits, dict.fromkeys(surges, 1))
    nodes = reach(trial, ground.growth) if ground.pools and not ground.gap else Interval(0, most)
    if nodes is not None:
        text = f"{entry.number:,} ports x {addresses} addresses / {ports:,} ports of a node = {most:,} nodes with surge"
        cause = cluster.outbound_ports
        own = trial if ground.pools and not ground.gap else None
        yield ground.wall("outbound-ports", "the cluster", nodes, text, cause, entry, trial=own)


def _pulls(ground: Ground) -> Iterator[Wall]:
    """Anonymous pulls of fresh nodes from Docker Hub."""
    cluster, world = ground.cluster, ground.world
    found: list[tuple[int, int | None]] = []
    images: list[Image] = []
    for workload in world.workloads(cluster):
        own = _anonymous(workload)
        pods = known(workload.pods)
        if own and (workload.per_node or pods is not None):
            found.append((len(own), None if workload.per_node else pods))
            images += own.values()
    if not found:
        return
    addresses = known(world.egress_addresses(world.workloads(cluster)[0]))
    if addresses is None or not isinstance(addresses, int) or equals(cluster.outbound_type, "node"):
        return
    entry = world.limits("any")["docker_hub.pulls"]
    budget = entry.number * max(1, addresses)
    low, high = 0, CEILING
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if egress.pulls(found, middle) <= budget else (low, middle - 1)
    if low < CEILING:
        each = sum(count for count, _ in found)
        text = f"{entry.number} anonymous pulls x {addresses} public addresses; up to {each} images on a fresh node"
        yield ground.wall("docker-hub", "the cluster", Interval(low, low), text, images[0].text, entry, pools=[])


def _anonymous(workload: Workload) -> dict[str, Image]:
    """The images that a pod of a workload pulls from Docker Hub without signing in, by their text."""
    if known(workload.pull_secrets):
        return {}
    images = [image for image in workload.images if equals(image.registry, DOCKER_HUB)]
    return {image.text.value: image for image in images if isinstance(image.text, Known)}


def _balancers(ground: Ground) -> Iterator[Wall]:
    """Services of load balancers, each port of which has all nodes behind it."""
    if ground.cluster.cloud != "aks":
        return
    entry = ground.limits["load_balancer.configurations"]
    for service in ground.world.services(ground.cluster):
        if service.ports:
            nodes = egress.backend_nodes(entry.number, service.ports)
            text = f"{entry.number:,} places of a frontend / {service.ports} ports of the Service"
            scope = f"Service {known(service.name) or '?'}"
            cause = service.name
            yield ground.wall("load-balancer", scope, Interval(nodes, nodes), text, cause, entry, service.id, pools=[])
    pool = ground.limits["load_balancer.pool"]
    if number(ground.cluster.outbound_ips, 0):
        text = "machines in a backend pool of the outbound load balancer"
        size = Interval(pool.number, pool.number)
        yield ground.wall("load-balancer", "the cluster", size, text, ground.cluster.outbound_type, pool)
