"""Words of the names and neighbours of nodes: the DNS of a cluster, and what kernels know of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.registry import cloud
from kcheck.scale.facts.basics import computed
from kcheck.text.regex import regex
from kcheck.text.values import Unknown, Unset, Value, known

if TYPE_CHECKING:
    from kcheck.model import Cluster, NodePool
    from kcheck.scale.world import World

_SCALES = regex(r"node-?local-?dns|nodelocaldns|k8s-dns-node-cache|proportional-autoscaler|dns-autoscaler")
"""What takes the load off CoreDNS: a cache on every node, or an autoscaler of its replicas."""


def replicas(cluster: Cluster, world: World) -> Value[int]:
    """Replicas that CoreDNS keeps whatever the size; null where it scales, or a cache is on each node."""
    if isinstance(cluster.provisioned, Unknown):
        return cluster.provisioned
    if known(cluster.provisioned):
        return computed(cluster, None)  # Auto Mode has a resolver on each node
    own = world.deployed.on(cluster).workloads
    names = [known(addon.name) or "" for addon in world.deployed.on(cluster).addons]
    names += [f"{known(workload.name)} {known(image.text)}" for workload in own for image in workload.images]
    if any(_SCALES.search(name) for name in names):
        return computed(cluster, None)
    here = next((w for w in own if w.kind == "Deployment" and known(w.name) in ("coredns", "kube-dns")), None)
    return here.pods if here is not None and not cloud(cluster.cloud).runs_dns else cluster.dns_replicas


def neighbours(pool: NodePool, world: World) -> Value[int]:
    """Others that the kernel of a node knows at most: as written; by its default where nobody sets it for us."""
    cluster = known(pool.cluster)
    if cluster is not None and cloud(cluster.cloud).own_kernel and isinstance(pool.system.neighbours, Unset):
        return computed(pool, world.numbers.limits("any")["arp.entries"].number)
    return pool.system.neighbours
