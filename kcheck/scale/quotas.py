"""Quotas that a cluster needs at its target."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from kcheck.model import Cluster
from kcheck.scale.world import World
from kcheck.scale.world.numbers import Need, needs
from kcheck.text.amount import Amount, exactly
from kcheck.text.need import first_unknown, need
from kcheck.text.values import known


class Asked(NamedTuple):
    """Required amount of a quota at the target."""

    need: Need
    amount: Amount


def at_target(cluster: Cluster, world: World) -> list[Asked]:
    """List the quotas that a cluster needs at its target, with amounts."""
    pools = world.pools.of_cluster(cluster)
    sizes = {pool.id: known(world.sizes.of_pool(pool)) for pool in pools}
    nodes = {name: Amount() if size is None else exactly(size) for name, size in sizes.items()}
    missing = first_unknown([world.pools.all_of_cluster(cluster), *(pool.machine.instance_types for pool in pools)])
    found = []
    for one in needs(cluster, pools):
        each = {name: Amount(one.least[name], most) for name, most in one.per_node.items()}
        amount = sum((nodes[name] * many for name, many in each.items()), exactly(0))
        is_sure = not missing and not first_unknown(pool.market.spot for pool in one.pools)
        if amount.exact != 0:
            found.append(Asked(one, amount if is_sure else amount + Amount()))
    return found


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
    found, result = [one for one in at_target(cluster, world) if one.amount.low], []
    if not found:
        need(first_unknown([*(pool.machine.instance_types for pool in pools), *map(world.sizes.of_pool, pools)]))
    for one in found:
        quota, amount = one.need.quota, one.amount
        limit = world.config.limits.get(f"{cluster.cloud}.quota.{quota.key}")
        granted = None if limit is None else world.numbers.limits(cluster.cloud)[f"quota.{quota.key}"].number
        result.append(QuotaNeed(quota.code, quota.name, amount.low, one.need.unit, amount.exact is not None, granted))
    return result
