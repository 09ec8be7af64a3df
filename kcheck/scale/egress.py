"""Ways out: public addresses that nodes share, pulls from Docker Hub, ports behind load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES, Surge
from kcheck.model.image_names import DOCKER_HUB
from kcheck.scale.basics import computed
from kcheck.scale.growth import surge_nodes
from kcheck.text.values import Known, Origin, Unknown, Value, all_known, equals, known, unknown_of

if TYPE_CHECKING:
    from kcheck.model import Cluster, Image, Workload
    from kcheck.scale.world import World


def backend_nodes(configurations: int, ports: int) -> int:
    """Nodes behind one frontend of Azure's load balancer, which counts nodes per service port.

    https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large: 10,000 with 5 ports are 2,000 nodes.
    """
    return configurations // ports


def pulls(images: list[tuple[int, int | None]], nodes: int) -> int:
    """Pulls by that many new nodes: each workload's images on as many nodes as it has pods."""
    return sum(count * (nodes if pods is None else min(pods, nodes)) for count, pods in images)


def hub_images(workload: Workload) -> dict[str, Image]:
    """The images that one pod of the workload pulls from Docker Hub, by their text."""
    if workload.release:
        return {}
    images = [image for image in workload.images if equals(image.registry, DOCKER_HUB)]
    return {image.text.value: image for image in images if isinstance(image.text, Known)}


class HubPulls(NamedTuple):
    """Anonymous pulls from Docker Hub: images of a workload, and the number of its pods; None for one on each node.

    Those that are not `sure` have an unknown number of pods: one on each node at the most.
    """

    sure: list[tuple[int, int | None]]
    unsure: list[tuple[int, int | None]]
    images: list[Image]


def hub_pulls(cluster: Cluster, world: World) -> HubPulls:
    """What the workloads of a cluster pull from Docker Hub on fresh nodes, without signing in and without a mirror."""
    result = HubPulls([], [], [])
    for workload in world.deployed.on(cluster).workloads:
        spared = known(workload.pull_secrets) or known(mirrored(workload, world))
        own = {} if spared else hub_images(workload)
        pods = known(workload.pods)
        if own and (workload.per_node or pods is not None):
            result.sure.append((len(own), None if workload.per_node else pods))
            result.images.extend(own.values())
        elif own and workload.batch:
            result.unsure.append((len(own), None))
    return result


def mirrored(workload: Workload, world: World) -> Value[bool]:
    """Whether all nodes that a workload may be on ask a mirror before Docker Hub."""
    cluster = world.inventory.cluster_of.get(workload)
    pools = world.pools.of_cluster(cluster) if cluster else []
    if pools and not workload.per_node:
        found = [world.pools.candidates(template) for template in workload.templates]
        pools = [pool for one in found if not isinstance(one, Unknown) for pool, _ in one] or pools
    values = [pool.system.hub_mirror for pool in pools]
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    every = bool(values) and all(known(value) for value in values)
    return unknown or Known(every, Origin((workload.place,)))


def egress_addresses(workload: Workload, world: World) -> Value[int]:
    """Public addresses that all nodes share for pulls; one if unknown."""
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is None:
        return Known(1, Origin((workload.place,)))
    if equals(cluster.outbound_type, NODE_ADDRESSES):
        return world.sizes.of_workload(workload)
    if isinstance(cluster.outbound_ips, Known):
        return cluster.outbound_ips
    return Known(1, cluster.outbound_type.origin or Origin((cluster.place,)))


def outbound_addresses(cluster: Cluster, world: World) -> Value[int]:
    """Public addresses that have room for the outbound ports of all nodes; null where nodes have none of their own."""
    ports, entry = known(cluster.outbound_ports), world.numbers.limits(cluster.cloud).get("snat.ports_per_address")
    if not ports or entry is None:
        return computed(cluster, None)
    pools = world.pools.of_cluster(cluster)
    sizes = all_known(map(world.sizes.of_pool, pools))
    if isinstance(sizes, Unknown) or unknown_of(*(pool.upgrade.surge for pool in pools)):
        return computed(cluster, None)
    surges = [surge_nodes(known(pool.upgrade.surge) or Surge(), size) for pool, size in zip(pools, sizes, strict=True)]
    nodes = sum(sizes) + max(surges, default=0)  # one pool is upgraded at a time
    return computed(cluster, cloud(cluster.cloud).outbound_addresses(ports, nodes, entry.number))
