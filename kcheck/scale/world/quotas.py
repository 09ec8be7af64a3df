"""The quotas of an account that nodes count against, by the code used in the cloud's console."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import machines
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.text.values import Known, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.config.numbers.machines import Quota
    from kcheck.model import Cluster, NodePool


class Need(NamedTuple):
    """What pools take of one quota: so much for each of their nodes."""

    quota: Quota
    per_node: dict[str, int]
    pools: list[NodePool]

    @property
    def unit(self) -> str:
        """The unit of the quota."""
        return {"vcpus": "vCPUs", "gpus": "GPUs", "nodes": "nodes"}.get(self.quota.counts, "GB")

    def amount(self, sizes: Mapping[str, int]) -> int:
        """The amount of the quota that the pools need at some sizes."""
        return sum(each * sizes.get(name, 0) for name, each in self.per_node.items())


def needs(cluster: Cluster, pools: list[NodePool]) -> list[Need]:
    """The quotas that the pools of a cluster count against, as far as their machine types are known."""
    found: dict[str, Need] = {}
    for pool in pools:
        if not isinstance(pool.machine.instance_types, Known) or not pool.machine.instance_types.value:
            continue
        name = max(pool.machine.instance_types.value, key=lambda one: vcpus(cluster.cloud, one))
        for quota in machines.quotas(cluster.cloud, name, spot=bool(known(pool.market.spot))):
            amount = _amount(cluster.cloud, name, quota.counts, pool)
            if amount:
                need = found.setdefault(quota.code, Need(quota, {}, []))
                need.per_node[pool.id] = amount
                need.pools.append(pool)
    return list(found.values())


def vcpus(cloud: str, name: str) -> int:
    """Processors of a machine type; 0 where they are unknown. Clusters of one's own have machines of any cloud."""
    found = (machines.machine(one, name) for one in (cloud, *CLOUDS))
    machine = next(filter(None, found), None)
    return (machine.vcpus or 0) if machine else 0


def _amount(cloud: str, name: str, counts: str, pool: NodePool) -> int:
    """What one node counts against a quota; 0 if unknown."""
    machine, disk = machines.machine(cloud, name), known(pool.machine.disk_type)
    match counts:
        case "vcpus":
            return vcpus(cloud, name)
        case "gpus":
            return known(pool.machine.gpus) or (machine.gpus if machine else 0) or 0
        case "local_ssd":
            return known(pool.machine.local_ssd) or 0
        case "ssd":
            return (known(pool.machine.disk_size) or 0) if disk in ("pd-balanced", "pd-ssd") else 0
        case "hyperdisk":
            return (known(pool.machine.disk_size) or 0) if disk == "hyperdisk-balanced" else 0
        case "standard_disk":
            return (known(pool.machine.disk_size) or 0) if disk == "pd-standard" else 0
        case "nodes":
            return 1
    return 0
