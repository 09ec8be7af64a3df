"""Quotas that a cluster needs at its target."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from kcheck.model import Cluster
from kcheck.scale.world import World
from kcheck.scale.world.numbers import Need, needs
from kcheck.text.need import first_unknown, need
from kcheck.text.values import Unknown, known


class Asked(NamedTuple):
    """Amount of a quota that a target needs; `sure` if it cannot be more."""

    need: Need
    amount: int
    sure: bool

    @property
    def figure(self) -> str:
        """The amount, or a question mark where nothing of it is known."""
        return f"{self.amount:,}" if self.amount or self.sure else "?"

    @property
    def unit(self) -> str:
        """Unit of the amount, with the words that make it a lower bound."""
        return self.need.unit + (" or more" if self.amount and not self.sure else "")


def at_target(cluster: Cluster, world: World) -> list[Asked]:
    """List the quotas a cluster needs at its target; a lower bound if sizes or markets are unknown."""
    pools, result = world.pools.of_cluster(cluster), []
    nodes = {pool.id: known(world.sizes.of_pool(pool)) for pool in pools}
    every = [world.pools.all_of_cluster(cluster), *(pool.machine.instance_types for pool in pools)]
    complete = first_unknown(every) is None
    for one in needs(cluster, pools):
        many = one.amount({name: size or 0 for name, size in nodes.items()})
        sized = all(nodes[pool.id] is not None for pool in one.pools)
        market = all(not isinstance(pool.market.spot, Unknown) for pool in one.pools)
        if many or not sized:
            result.append(Asked(one, many, complete and sized and market))
    return result


class QuotaNeed(NamedTuple):
    """Need of a quota at the target."""

    code: Annotated[str, "code of the quota in the provider's console, such as L-1216C47A"]
    name: Annotated[str, "its name there"]
    amount: Annotated[int, "what the target needs of it; a lower bound where that is not exact"]
    unit: Annotated[str, "what it counts: vCPUs, GPUs, GB or nodes"]
    exact: Annotated[bool, "whether the sizes, machine types and markets of all pools are known"]
    granted: Annotated[int | None, "what the account has, as the settings declare; null where they do not"]


def quota_needs(cluster: Cluster, world: World) -> list[QuotaNeed]:
    """List the account's quotas that a cluster needs at its target."""
    need(world.sizes.target(cluster))
    pools = need(world.pools.all_of_cluster(cluster))
    found, result = [one for one in at_target(cluster, world) if one.amount], []
    if not found:
        need(first_unknown([*(pool.machine.instance_types for pool in pools), *map(world.sizes.of_pool, pools)]))
    for one in found:
        quota, limit = one.need.quota, world.config.limits.get(f"{cluster.cloud}.quota.{one.need.quota.key}")
        granted = None if limit is None else world.numbers.limits(cluster.cloud)[f"quota.{quota.key}"].number
        result.append(QuotaNeed(quota.code, quota.name, one.amount, one.need.unit, one.sure, granted))
    return result
