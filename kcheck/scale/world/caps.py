"""Caps that hold a cluster below its pools' maxima: autoscaler limits and quotas in the settings."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.scale.world.memory import Memory
from kcheck.text.units import listed
from kcheck.text.values import Value, known, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.model import Autoscaler, Cluster, NodePool
    from kcheck.scale.world.numbers import Numbers
    from kcheck.scale.world.pools import Pools
    from kcheck.scale.world.relations import Autoscaling


class Cap(Struct, frozen=True):
    """A bound on all pools of a cluster: each node takes `per_node` of its `room`.

    `other` is the least that a node of no pool takes, 0 where none counts. `cause` is where the room is written, None
    of a quota. Fixed pools `stay` as they are at the cap of an autoscaler. `why` says why a node may take more.
    """

    room: int
    unit: str
    per_node: Mapping[str, int]
    other: int
    cause: Value[int] | None
    why: str = ""

    @property
    def stays(self) -> bool:
        """Whether pools that do not grow have their nodes all the same."""
        return self.cause is not None

    def taken(self, sizes: Mapping[str, int]) -> int:
        """What pools of some sizes take of the room."""
        return sum(self.per_node.get(name, 0) * size for name, size in sizes.items())

    def most(self, pools: list[NodePool], *, others: bool) -> float:
        """The most nodes of any mixture; `others` means nodes outside pools are possible."""
        takes = [self.per_node.get(pool.id, 0) for pool in pools] + ([self.other] if others else [])
        least = min(takes, default=0)
        return self.room // least if least else inf

    def most_of(self, pool: NodePool) -> float:
        """The most nodes that one pool has, all others empty."""
        each = self.per_node.get(pool.id, 0)
        return self.room // each if each else inf


class Caps(Memory):
    """The caps of clusters."""

    def __init__(self, pools: Pools, autoscaling: Autoscaling, limits: Numbers) -> None:
        super().__init__()
        self._pools = pools
        self._autoscaling = autoscaling
        self._limits = limits

    def of_cluster(self, cluster: Cluster) -> list[Cap]:
        """What bounds all pools of a cluster together."""
        return self.remember("caps", cluster.id, lambda: self._of_cluster(cluster))

    def _of_cluster(self, cluster: Cluster) -> list[Cap]:
        scaler, pools = self._autoscaling.autoscaler(cluster), self._pools.of_cluster(cluster)
        found = _of_autoscaler(scaler, cluster, pools) if scaler is not None else []
        if not self._limits.tells_quotas(cluster.cloud):
            return found
        from kcheck.scale.world import quotas

        limits = self._limits.limits(cluster.cloud)
        for need in quotas.needs(cluster, pools):
            room = limits[f"quota.{need.quota.key}"].value
            if isinstance(room, int):
                found.append(Cap(room, need.unit, need.per_node, 0, None))
        return found


def _of_autoscaler(scaler: Autoscaler, cluster: Cluster, pools: list[NodePool]) -> list[Cap]:
    """The autoscaler's caps of nodes and cores; 0 is no cap."""
    found = []
    if number(scaler.max_nodes, 0):
        found.append(Cap(number(scaler.max_nodes, 0), "nodes", {pool.id: 1 for pool in pools}, 1, scaler.max_nodes))
    if number(scaler.max_cores, 0):
        each = {pool.id: vcpus(pool, cluster) for pool in pools}
        unsized = [pool.display_name for pool in pools if not each[pool.id]]
        why = f"the cores of a node of {listed(unsized)} are not known" if unsized else ""
        cores = {name: max(1, one) for name, one in each.items()}
        found.append(Cap(number(scaler.max_cores, 0), "cores", cores, 1, scaler.max_cores, why))
    return found


def vcpus(pool: NodePool, cluster: Cluster) -> int:
    """Processors of the smallest machine of a pool; 0 where one is unknown."""
    from kcheck.scale.world import quotas

    names = known(pool.machine.instance_types) or ()
    return min((quotas.vcpus(cluster.cloud, name) for name in names), default=0)
