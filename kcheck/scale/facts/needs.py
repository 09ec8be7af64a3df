"""Words of what a cluster needs beside its nodes: quotas, addresses of services, ways out, device plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.inventory.clouds.registry import cloud
from kcheck.scale import quotas
from kcheck.scale.facts.basics import anyone, computed
from kcheck.scale.growth import surge_nodes
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Value, combined, known, mapped

if TYPE_CHECKING:
    from kcheck.model import Cluster
    from kcheck.scale.world import World

_PLUGIN = regex(r"nvidia-device-plugin|(?<!efa-)k8s-device-plugin|gpu-operator|neuron|dra-driver")


class QuotaNeed(NamedTuple):
    """What a target needs of a quota, at least where it is not `exact`; `granted` is what the settings say there is."""

    code: str
    name: str
    amount: int
    unit: str
    exact: bool
    granted: int | None


def quota_needs(cluster: Cluster, world: World) -> Value[object] | list[QuotaNeed]:
    """What the target of a cluster needs of each quota of the account."""
    for found in (world.sizes.target(cluster), world.pools.all_of_cluster(cluster)):
        if isinstance(found, Unknown):
            return found
    result = []
    for one in quotas.at_target(cluster, world):
        quota, limit = one.need.quota, world.config.limits.get(f"{cluster.cloud}.quota.{one.need.quota.key}")
        granted = None if limit is None else world.numbers.limits(cluster.cloud)[f"quota.{quota.key}"].number
        result.append(QuotaNeed(quota.code, quota.name, one.amount, quotas.unit(one.need), one.sure, granted))
    return result


def service_addresses(cluster: Cluster, _world: World) -> Value[int]:
    """Addresses of the range of services, but for its first and its last one; null without a range."""
    cidr = cluster.service_cidr
    network = parse_cidr(cidr.value) if isinstance(cidr, Known) else None
    if isinstance(cidr, Known) and network is None:
        return Unknown(f"`{cidr.value}` is not an IPv4 range", cidr.origin)
    return mapped(cidr, lambda _: max(0, network.num_addresses - 2) if network else 0)


def outbound_addresses(cluster: Cluster, world: World) -> Value[int]:
    """Public addresses that have room for the outbound ports of all nodes; null where nodes have none of their own."""
    ports, entry = known(cluster.outbound_ports), world.numbers.limits(cluster.cloud).get("snat.ports_per_address")
    if not ports or entry is None:
        return computed(cluster, None)
    total = 0
    for pool in world.pools.of_cluster(cluster):
        nodes = combined(
            lambda size, surge: size + surge_nodes(surge, size), world.sizes.of_pool(pool), pool.upgrade.surge
        )
        if isinstance(nodes, Unknown):
            return computed(cluster, None)
        total += nodes
    return computed(cluster, cloud(cluster.cloud).outbound_addresses(ports, total, entry.number))


def device_plugin(cluster: Cluster, world: World) -> Value[bool]:
    """Whether a device plugin for GPUs is installed by the same code; eksctl installs one by itself."""
    if cluster.address.startswith("ClusterConfig/"):
        return computed(cluster, value=True)
    names = [addon.name for addon in world.deployed.on(cluster).addons]
    names += [image.text for workload in world.deployed.on(cluster).workloads for image in workload.images]
    return anyone(cluster, (mapped(name, lambda text: bool(_PLUGIN.search(text))) for name in names))
