"""Ways out: shared public addresses, pulls from Docker Hub, ports behind load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES, Surge
from kcheck.model.image_names import DOCKER_HUB
from kcheck.scale.basics import computed, first_unknown
from kcheck.scale.growth import CEILING, surge_nodes
from kcheck.text.values import Known, Origin, Unknown, Value, all_known, equals, known, unknown_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.model import Cluster, Image, NodePool, PodTemplate, Workload
    from kcheck.scale.world import World


def backend_nodes(configurations: int, ports: int) -> int:
    """Count the nodes behind one frontend of Azure's load balancer, which counts nodes per service port.

    https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large: 10,000 with 5 ports are 2,000 nodes.
    """
    return configurations // ports


class Pull(NamedTuple):
    """Docker Hub pulls of one role: `images` on each of `pods` nodes, None for every node.

    Of the nodes with a shared way out those of `pools`, by id, may run the pods; None where unknown. The number of
    pods is unknown where it is not `sure`: one on each node at most.
    """

    images: list[Image]
    pods: int | None
    pools: frozenset[str] | None
    sure: bool


def pulled(found: Iterable[Pull], nodes: Callable[[Pull], int]) -> int:
    """Count the pulls by fresh nodes: each role's images on as many nodes as it has pods and finds nodes."""
    return sum(len(one.images) * min(nodes(one), CEILING if one.pods is None else one.pods) for one in found)


def pulls_of(workload: Workload, world: World) -> list[Pull]:
    """List the Docker Hub pulls of a workload, role by role."""
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
    """Return the pools with a shared way out that pods may land on; None where unknown."""
    cluster, pools = world.inventory.cluster_of.get(workload), world.pools.candidates(template)
    if cluster is None or not world.pools.of_cluster(cluster) or isinstance(pools, Unknown):
        return None
    return frozenset(pool.id for pool, _ in pools if not _is_public(pool, cluster))


def _is_public(pool: NodePool, cluster: Cluster) -> bool:
    """Whether the nodes of a pool have public addresses of their own."""
    subnets = known(pool.addresses.subnets) or ()
    return equals(cluster.outbound_type, NODE_ADDRESSES) or (bool(subnets) and all(known(s.public) for s in subnets))


def hub_pulls(cluster: Cluster, world: World) -> list[Pull]:
    """List a cluster's Docker Hub pulls on fresh nodes, without login or mirror."""
    anonymous = (one for one in world.deployed.on(cluster).workloads if not known(one.pull_secrets))
    workloads = (one for one in anonymous if not known(mirrored(one, world)))
    return [pull for one in workloads for pull in pulls_of(one, world) if pull.sure or one.batch]


def mirrored(workload: Workload, world: World) -> Value[bool]:
    """Whether all nodes that a workload may be on ask a mirror before Docker Hub."""
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
    """Count the public addresses that nodes without their own share; 1 if unknown."""
    if isinstance(cluster.outbound_ips, Known):
        return cluster.outbound_ips
    return Known(1, cluster.outbound_type.origin or Origin((cluster.place,)))


def outbound_addresses(cluster: Cluster, world: World) -> Value[int]:
    """Count the public addresses with room for the outbound ports of all nodes; null without ports, or if unknown."""
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
