"""Limits and prices from the profiles and the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.numbers import machines, profiles
from kcheck.scale.world.memory import Memory, once
from kcheck.text.values import Unknown, known, number

if TYPE_CHECKING:
    from kcheck.config.config import Config
    from kcheck.model import NodePool


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

    def tells_quotas(self, cloud: str) -> bool:
        """Whether the settings give any quota of a cloud."""
        return any(name.startswith(f"{cloud}.quota.") for name in self._config.limits)

    def price(self, pool: NodePool | None) -> machines.Price | None:
        """Return the price of a node: the user's, else the list price of the cheapest machine type."""
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
            machines.price(cluster.cloud, name, spot=known(pool.market.spot) is True, attached=attached)
            for name in known(pool.machine.instance_types) or ()
        )
        return min((one for one in found if one), default=None)
