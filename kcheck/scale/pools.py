"""Which node pools a cluster, a subnet or a range has, and which of them pods can land on."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.scale import placement
from kcheck.source.values import Origin, Unknown, equals, known, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Cluster, Inventory, NodePool, PodRange, PodTemplate, Subnet, Thing
    from kcheck.scale.autoscaling import Autoscaling
    from kcheck.scale.deployments import Deployments


def _grouped(pairs: Iterable[tuple[Thing | None, NodePool]]) -> dict[str, list[NodePool]]:
    """Pools by the id of what they belong to; those that belong to nothing are left out."""
    result: dict[str, list[NodePool]] = defaultdict(list)
    for owner, pool in pairs:
        if owner is not None:
            result[owner.id].append(pool)
    return result


class Pools:
    """Which node pools a cluster, a subnet or a range has, and which of them pods can land on."""

    def __init__(self, inventory: Inventory, deployed: Deployments, autoscaling: Autoscaling) -> None:
        self._inventory = inventory
        self._deployed = deployed
        self._autoscaling = autoscaling

    def of_cluster(self, cluster: Cluster) -> list[NodePool]:
        """The pools of a cluster, as far as they are known."""
        return self._by_cluster[cluster.id]

    def all_of_cluster(self, cluster: Cluster) -> list[NodePool] | Unknown:
        """The pools of a cluster, Unknown where one may be missing."""
        if cluster.gap:
            return Unknown(f"pools of {cluster.address} may be missing: {cluster.gap}", Origin((cluster.place,)))
        pool = self._without_cluster.get(cluster.root)
        if pool is not None:
            return Unknown(
                f"the cluster of {pool.address} is not known: {reason_of(pool.cluster)}", Origin((pool.place,))
            )
        found = self.of_cluster(cluster)
        by_karpenter = known(self._autoscaling.tool(cluster)) == "karpenter"
        if by_karpenter and not any(equals(pool.mode, "Karpenter") for pool in found):
            return Unknown(f"the NodePools of Karpenter on {cluster.address} are not in this code, or in templates")
        return found

    def in_subnet(self, subnet: Subnet) -> list[NodePool] | Unknown:
        """The pools whose nodes are in a subnet, then those whose pods are; Unknown where one may be missing."""
        if subnet.gap:
            return Unknown(f"pools in {subnet.address} may be missing: {subnet.gap}")
        pool = self._perhaps_in_subnet.get(subnet.id)
        if pool is not None:
            why = reason_of(pool.addresses.subnets)
            return Unknown(f"whether {pool.display_name} is in {subnet.address} is not known: {why}")
        return self._by_subnet[subnet.id] + self._by_pod_subnet[subnet.id]

    def in_range(self, pod_range: PodRange) -> list[NodePool] | Unknown:
        """The pools whose pods are in a range, Unknown where one may be missing."""
        if pod_range.gap:
            return Unknown(f"pools in {pod_range.address} may be missing: {pod_range.gap}")
        return self._by_range[pod_range.id]

    def holds_only_pods(self, subnet: Subnet) -> bool:
        """Whether a subnet holds pods, and no nodes."""
        return bool(self._by_pod_subnet[subnet.id]) and not self._by_subnet[subnet.id]

    def candidates(self, template: PodTemplate) -> list[tuple[NodePool, bool]] | Unknown:
        """The pools that pods can land on, and whether that is certain; Unknown where pools may be missing."""
        workload = self._deployed.workload(template)
        cluster = self._inventory.cluster_of.get(workload)
        if cluster is None:
            return self._inventory.unknown_cluster(workload)
        pools = self.all_of_cluster(cluster)
        if isinstance(pools, Unknown):
            return pools
        found = [(pool, placement.fit(template, pool).fits) for pool in pools]
        return [(pool, bool(fits)) for pool, fits in found if fits is not False]

    @cached_property
    def _by_cluster(self) -> dict[str, list[NodePool]]:
        return _grouped((known(pool.cluster), pool) for pool in self._inventory.pools)

    @cached_property
    def _by_subnet(self) -> dict[str, list[NodePool]]:
        return _grouped(
            (subnet, pool) for pool in self._inventory.pools for subnet in known(pool.addresses.subnets) or ()
        )

    @cached_property
    def _by_pod_subnet(self) -> dict[str, list[NodePool]]:
        return _grouped(
            (subnet, pool) for pool in self._inventory.pools for subnet in known(pool.addresses.pod_subnets) or ()
        )

    @cached_property
    def _by_range(self) -> dict[str, list[NodePool]]:
        return _grouped((known(pool.addresses.pod_range), pool) for pool in self._inventory.pools)

    @cached_property
    def _without_cluster(self) -> dict[str, NodePool]:
        """By root module, a pool that may belong to any cluster of it."""
        unknown = [(pool, pool.cluster) for pool in self._inventory.pools]
        return {pool.root: pool for pool, cluster in unknown if isinstance(cluster, Unknown) and not cluster.symbol}

    @cached_property
    def _perhaps_in_subnet(self) -> dict[str, NodePool]:
        """By subnet, a pool that may be in it."""
        return {subnet.id: pool for pool in self._inventory.pools for subnet in pool.addresses.candidates}
