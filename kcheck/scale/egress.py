"""Ways out: public addresses that nodes share, pulls from Docker Hub, ports behind load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES, Surge
from kcheck.model.image_names import DOCKER_HUB
from kcheck.scale.basics import computed
from kcheck.scale.growth import CEILING, surge_nodes
from kcheck.text.values import Known, Origin, Unknown, Value, all_known, equals, known, unknown_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.model import Cluster, Image, NodePool, PodTemplate, Workload
    from kcheck.scale.world import World


def backend_nodes(configurations: int, ports: int) -> int:
    """Nodes behind one frontend of Azure's load balancer, which counts nodes per service port.

    https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large: 10,000 with 5 ports are 2,000 nodes.
    """
    return configurations // ports


class Pull(NamedTuple):
    """What the pods of one role pull from Docker Hub: some `images` on each of `pods` nodes, None for every node.

    Of the nodes with one way out those of `pools`, by id, may run them; None where that is not known. Those that are
    not `sure` are an unknown number of pods: one on each node at the most.
    """

    images: list[Image]
    pods: int | None
    pools: frozenset[str] | None
    sure: bool


def pulled(found: Iterable[Pull], nodes: Callable[[Pull], int]) -> int:
    """Pulls by fresh nodes: the images of each role on as many nodes as it has pods, and as there are for it."""
    return sum(len(one.images) * min(nodes(one), CEILING if one.pods is None else one.pods) for one in found)


def pulls_of(workload: Workload, world: World) -> list[Pull]:
    """What the pods of a workload pull from Docker Hub."""
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
    """The pools with one way out that pods may land on."""
    cluster, pools = world.inventory.cluster_of.get(workload), world.pools.candidates(template)
    if cluster is None or not world.pools.of_cluster(cluster) or isinstance(pools, Unknown):
        return None
    return frozenset(pool.id for pool, _ in pools if not _is_public(pool, cluster))


def _is_public(pool: NodePool, cluster: Cluster) -> bool:
    """Whether the nodes of a pool have public addresses of their own."""
    subnets = known(pool.addresses.subnets) or ()
    return equals(cluster.outbound_type, NODE_ADDRESSES) or (bool(subnets) and all(known(s.public) for s in subnets))


def hub_pulls(cluster: Cluster, world: World) -> list[Pull]:
    """What the workloads of a cluster pull from Docker Hub on fresh nodes, without signing in and without a mirror."""
    workloads = [
        one
        for one in world.deployed.on(cluster).workloads
        if not known(one.pull_secrets) and not known(mirrored(one, world))
    ]
    return [pull for one in workloads for pull in pulls_of(one, world) if pull.sure or one.batch]


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
    cluster, place = world.inventory.cluster_of.get(workload), Origin((workload.place,))
    if cluster is None:
        return Known(1, place)
    pools = [_sharing(template, workload, world) for template in workload.templates]
    if equals(cluster.outbound_type, NODE_ADDRESSES) or (pools and not any(one is None or one for one in pools)):
        return world.sizes.of_workload(workload)
    return shared_addresses(cluster)


def shared_addresses(cluster: Cluster) -> Known[int]:
    """Public addresses that nodes of a cluster without their own share; one if unknown."""
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
