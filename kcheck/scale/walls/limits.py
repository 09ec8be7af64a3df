"""Documented limits of clusters and pools, and quotas of the account, as walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.inventory.clouds.registry import cloud
from kcheck.scale.growth import reach, surge_nodes
from kcheck.scale.world.quotas import needs
from kcheck.text.interval import Interval
from kcheck.text.values import Known, Origin, Unknown, Unset, equals, known, mapped, number, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import NodePool
    from kcheck.scale.walls.model import Sizes, Wall, WallFinder
    from kcheck.scale.world import World
    from kcheck.scale.world.quotas import Need
    from kcheck.text.values import Value


_FAQ = "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"


def walls(finder: WallFinder) -> Iterator[Wall]:
    """The written maximum, autoscaler caps, and limits of the cluster and each pool."""
    yield from _maximum(finder)
    yield from _capped(finder)
    yield from _documented(finder)
    for pool in finder.pools:
        yield from _pool(pool, finder)
        yield from _of_each_pool(pool, finder)


def _maximum(finder: WallFinder) -> Iterator[Wall]:
    """The sum of the pools' maxima, beyond which nothing grows."""
    cluster, world = finder.cluster, finder.world
    maximum = world.sizes.maximum(cluster)
    if not finder.pools or world.autoscaling.beyond_pools(cluster):
        return
    growing = [pool for pool, takes in zip(finder.pools, finder.growth.taking, strict=True) if takes] or finder.pools
    biggest = max(growing, key=lambda pool: (bool(known(pool.size.autoscaled)), number(pool.size.max_nodes, 0)))
    entry = ("hard", _FAQ)
    if isinstance(maximum, Known):
        parts = [
            f"{pool.display_name} {known(pool.size.max_nodes):,}" for pool in finder.pools if known(pool.size.max_nodes)
        ]
        text = f"{' + '.join(parts[:6])}{' + ...' if len(parts) > 6 else ''} = {maximum.value:,}"
        nodes = Interval(maximum.value, maximum.value)
        yield finder.wall("maximum", "the pools", nodes, text, biggest.size.max_nodes, entry)
    else:
        unknown = next((pool for pool in finder.pools if not isinstance(pool.size.max_nodes, Known)), biggest)
        origin = unknown.size.max_nodes.origin
        if cluster.plane is not None and origin is not None and origin.written == cluster.place:
            return  # nothing in the code says how many there are
        yield finder.unknown("maximum", "the pools", reason_of(maximum), unknown.size.max_nodes, entry)


def _capped(finder: WallFinder) -> Iterator[Wall]:
    """The autoscaler's cap of nodes or cores."""
    for cap in finder.world.caps.of_cluster(finder.cluster):
        if cap.cause is not None and cap.why:
            yield finder.unknown("autoscaling", "the cluster", cap.why, cap.cause, ("hard", _FAQ), key=cap.unit)
        elif cap.cause is not None and finder.pools and not finder.gap:
            yield from finder.grown(
                "autoscaling", "the cluster", cap.taken, cap.room, cap.per_node,
                arithmetic=f"{cap.room:,} {cap.unit}", cause=cap.cause, entry=("hard", _FAQ), key=cap.unit,
            )  # fmt: skip


# --- of the cluster


def _documented(finder: WallFinder) -> Iterator[Wall]:
    """Documented limits of a cluster and its pools."""
    own = cloud(finder.cluster.cloud)
    for one in own.limits(finder.cluster, finder.limits):
        if one.unknown:
            entry = finder.limits[one.key]
            yield finder.unknown(one.mechanism, "the cluster", one.unknown, one.cause, entry)
        elif one.counts_surge and finder.pools and not finder.gap:
            entry = finder.limits[one.key]
            trial = finder.upgraded(entry.number)
            nodes, text = reach(trial, finder.growth), f"{one.text}, surge of an upgrade included"
            if nodes is not None:
                yield finder.wall(one.mechanism, "the cluster", nodes, text, one.cause, entry, trial=trial)
        elif one.nodes is not None:
            entry = finder.limits[one.key]
            yield finder.wall(one.mechanism, "the cluster", one.nodes, one.text, one.cause, entry)
        else:
            yield finder.fixed(one.mechanism, one.key, one.cause, one.text)


def _of_each_pool(pool: NodePool, finder: WallFinder) -> Iterator[Wall]:
    """The documented limit of a pool for its autoscaler."""
    scaling = [one for one in finder.world.inventory.autoscalers if known(one.cluster) is finder.cluster]
    found = cloud(finder.cluster.cloud).pool_limit(scaling)
    if found is None or finder.gap:
        return
    entry = finder.limits[found.key]
    yield from finder.grown(
        found.mechanism, f"pool {pool.display_name}", lambda sizes: sizes[pool.id], entry.number, {pool.id: 1},
        arithmetic=found.text, cause=found.cause, entry=entry, key=pool.id, pools=[pool],
    )  # fmt: skip


# --- of a pool


def counted(pool: NodePool, nodes: int, world: World) -> Value[int]:
    """Nodes counted by the cloud's pool limit: in the fullest zone, or all with surge."""
    cluster = known(pool.cluster)
    if cluster is None:
        return Unknown(reason_of(pool.cluster), pool.cluster.origin)
    if isinstance(pool.size.zone_count, Unknown):
        return pool.size.zone_count
    if isinstance(pool.size.zone_count, Known):
        return mapped(pool.size.zone_count, lambda zones: -(-nodes // max(1, zones)))
    counts_surge = world.numbers.limits(cluster.cloud).get("pool.counts_surge")
    if counts_surge is None or not counts_surge.value:
        return Known(nodes, Origin((pool.place,)))
    if isinstance(pool.upgrade.surge, Unset):
        return Unknown(reason_of(pool.upgrade.surge), pool.upgrade.surge.origin)
    return mapped(pool.upgrade.surge, lambda surge: nodes + surge_nodes(surge, nodes))


def _pool(pool: NodePool, finder: WallFinder) -> Iterator[Wall]:
    """The limits of a pool: of all nodes or of a zone, and a quota where the cloud has one for such a pool.

    Karpenter starts machines one by one, in no scale set or managed group that could be full.
    """
    if equals(pool.mode, "Karpenter"):
        return
    if "pool.nodes" in finder.limits:
        yield from _full(pool, "pool-limit", "pool.nodes", finder)
    if "pool.quota" in finder.limits and cloud(finder.cluster.cloud).has_pool_quota(pool):
        yield from _full(pool, "pool-quota", "pool.quota", finder)


def _full(pool: NodePool, mechanism: str, key: str, finder: WallFinder) -> Iterator[Wall]:
    """Where a pool exceeds a number of nodes."""
    world, limits = finder.world, finder.limits
    entry, scope = limits[key], f"pool {pool.display_name}"
    first = counted(pool, entry.number, world)
    if isinstance(first, Unknown) or finder.gap:
        why = finder.gap or reason_of(first)
        found = finder.unknown(mechanism, scope, why, cause=pool.size.max_nodes, entry=entry, key=pool.id, pools=[pool])
        # where nobody asked for a size, the pool grows to its own maximum whatever other pools there are
        own = known(pool.size.max_nodes) if world.sizes.requested(finder.cluster) is None else None
        most = None if own is None else known(counted(pool, own, world))
        if most is None:
            yield found
        elif most > entry.number:
            yield replace(found, short=True)
        return

    def takes(sizes: Sizes) -> int:
        return number(counted(pool, sizes[pool.id], world), entry.number + 1)

    named = limits.get("pool.what")
    text = f"{entry.value:,} {named.value if named else 'nodes'}"
    yield from finder.grown(
        mechanism, scope, takes, room=entry.number, weights={pool.id: 1}, arithmetic=text, cause=pool.size.max_nodes,
        entry=entry, key=pool.id, pools=[pool],
    )  # fmt: skip


def quota_walls(finder: WallFinder) -> Iterator[Wall]:
    """A wall for each quota with a number in the profile or the settings."""
    for need in needs(finder.cluster, finder.pools):
        entry = finder.limits[f"quota.{need.quota.key}"]
        scope = f"{need.quota.code} ({need.quota.name})"
        cause = need.pools[0].size.max_nodes
        if not isinstance(entry.value, int) or finder.gap:
            why = (
                finder.gap
                if isinstance(entry.value, int)
                else f"the quota depends on the account; needed: {_each(need)}"
            )
            yield finder.unknown("quota", scope, why, cause=cause, entry=entry, key=need.quota.code, pools=need.pools)
            continue
        room = entry.value
        text = f"a quota of {room:,}"
        yield from finder.grown(
            "quota", scope, need.amount, room=room, weights=need.per_node, arithmetic=text, cause=cause, entry=entry,
            key=need.quota.code, pools=need.pools,
        )  # fmt: skip


def _each(need: Need) -> str:
    """Say how much one node of each pool takes of a quota."""
    if need.quota.counts == "nodes":
        return "every node"
    return " and ".join(
        f"{need.per_node[pool.id]:,} {need.unit} per node of {pool.display_name}" for pool in need.pools[:4]
    )
