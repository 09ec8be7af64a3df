"""Quota walls: where the nodes need more than the account has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.world.quotas import needs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.scale.walls.model import Wall, WallFinder
    from kcheck.scale.world.quotas import Need


def walls(finder: WallFinder) -> Iterator[Wall]:
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
    """What one node of each pool takes of a quota, as text."""
    if need.quota.counts == "nodes":
        return "every node"
    return " and ".join(
        f"{need.per_node[pool.id]:,} {need.unit} per node of {pool.display_name}" for pool in need.pools[:4]
    )
