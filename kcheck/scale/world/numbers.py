"""Limits and prices from profiles and settings, and quotas."""

import re
from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.config import Config
from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.config.numbers.machines import Quota
from kcheck.model import Cluster, NodePool
from kcheck.scale.world.memory import Memory, once
from kcheck.text.values import Known, Unknown, known, number


class Numbers(Memory):
    """Limits and prices of the profiles, with those of the settings."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config

    @once
    def limits(self, cloud: str) -> dict[str, profiles.ProfileValue]:
        """Return the limits of a cloud, with the values from the settings."""
        entries = dict(profiles.limits(cloud))
        for name, value in self._config.limits.items():
            owner, _, key = name.partition(".")
            if owner in (cloud, "any") and key in entries:
                entries[key] = replace(entries[key], value=value)
        return entries

    def price(self, pool: NodePool | None) -> machines.Price | None:
        """Return the price of a node: the user's, else the cheapest type's."""
        cluster = known(pool.cluster) if pool else None
        environment = self._config.environment(cluster.root, cluster.environment) if cluster else None
        cents = environment.price if environment and environment.price else self._config.price
        if cents is not None:
            return machines.Price(cents * 10)
        if pool is None or cluster is None:
            return None
        gpus = pool.machine.gpus
        attached = None if isinstance(gpus, Unknown) else number(gpus, 0), known(pool.machine.accelerator) or ""
        found = (
            machines.price(
                cluster.cloud,
                name,
                spot=known(pool.market.spot) is True,
                attached=attached,
                region=region_of(cluster, pool),
            )
            for name in known(pool.machine.instance_types) or ()
        )
        price = min((one for one in found if one), default=None)
        reserved = isinstance(pool.market.reservation, Known)
        return price._replace(market="reserved, listed on demand") if price and reserved else price


def region_of(cluster: Cluster, pool: NodePool) -> str:
    """Return the region of a pool as in price lists; empty if unknown."""
    zones = known(pool.placement.zones) or ("",)
    where = known(cluster.location) or known(cluster.region) or zones[0]
    return re.sub(r"(?<=\d)-?[a-z]$|\s", "", where.lower())


# --- quotas of an account, by the code in the console of its cloud


class Need(Struct, frozen=True):
    """Amount of a quota that each node of some pools uses."""

    quota: Quota
    per_node: dict[str, int]
    pools: list[NodePool]
    least: dict[str, int]

    @property
    def unit(self) -> str:
        """Unit of the quota."""
        return {"vcpus": "vCPUs", "gpus": "GPUs", "nodes": "nodes"}.get(self.quota.counts, "GB")

    def amount(self, sizes: Mapping[str, int]) -> int:
        """Sum the amount of the quota that the pools need at some sizes."""
        return sum(each * sizes.get(name, 0) for name, each in self.per_node.items())


def needs(cluster: Cluster, pools: list[NodePool]) -> list[Need]:
    """List the quotas that a cluster's pools use."""
    found: dict[str, Need] = {}
    for pool in pools:
        spot, attached = bool(known(pool.market.spot)), known(pool.machine.accelerator) or ""
        types = known(pool.machine.instance_types) or ()
        taken: dict[str, list[int]] = defaultdict(list)
        for name in types:
            for quota in machines.quotas(cluster.cloud, name, spot=spot, accelerator=attached):
                if amount := _amount(cluster.cloud, name, quota.counts, pool):
                    found.setdefault(quota.code, Need(quota, {}, [], {}))
                    taken[quota.code].append(amount)
        for code, amounts in taken.items():
            found[code].pools.append(pool)
            found[code].per_node[pool.id] = max(amounts)
            found[code].least[pool.id] = min(amounts) if len(amounts) == len(types) else 0
    return list(found.values())


def vcpus_of(cloud: str, name: str) -> int:
    """Count the vCPUs of a machine type; 0 if unknown."""
    found = (machines.machine(one, name) for one in (cloud, *CLOUDS))
    machine = next(filter(None, found), None)
    return (machine.vcpus or 0) if machine else 0


_DISKS = {"ssd": ("pd-balanced", "pd-ssd"), "hyperdisk": ("hyperdisk-balanced",), "standard_disk": ("pd-standard",)}
"""Types of disks that count against a quota."""


def _amount(cloud: str, name: str, counts: str, pool: NodePool) -> int:
    """Return the amount of a quota that one node uses; 0 if unknown."""
    machine = machines.machine(cloud, name)
    match counts:
        case "vcpus":
            return vcpus_of(cloud, name)
        case "gpus":
            return known(pool.machine.gpus) or (machine.gpus if machine else 0) or 0
        case "local_ssd":
            return known(pool.machine.local_ssd) or 0
        case "ssd" | "hyperdisk" | "standard_disk" if known(pool.machine.disk_type) in _DISKS[counts]:
            return known(pool.machine.disk_size) or 0
        case "nodes":
            return 1
    return 0
