"""The walls of a cluster, in the order in which it hits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.walls import addresses, egress, limits, pods
from kcheck.scale.walls.model import Wall, WallFinder, numbers
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.model import Cluster, NodePool
    from kcheck.scale.addresses import Place
    from kcheck.scale.world import World

_GROUPS = (limits.walls, addresses.walls, addresses.interface_walls, egress.walls, pods.walls, limits.quota_walls)


def find_walls(cluster: Cluster, world: World) -> list[Wall]:
    """The walls of a cluster, the lowest first, unknown ones last."""
    return world.remember("walls", cluster.id, lambda: _of(cluster, world))


def _of(cluster: Cluster, world: World) -> list[Wall]:
    finder = WallFinder(cluster, world)
    found = [wall for group in _GROUPS for wall in group(finder)]
    return sorted(found, key=lambda wall: (wall.number is None, wall.number or 0, _rank(wall), wall.id))


def _rank(wall: Wall) -> int:
    """Of equal walls, hard limits come first and the written maximum last: it was intended."""
    return 9 if wall.mechanism in ("maximum", "autoscaling") else ("hard", "quota", "recommended").index(wall.kind)


def nodes_at(place: Place, pools: list[NodePool], world: World) -> int | None:
    """The nodes at which a subnet or range is full; None if shared by clusters, or not exact."""
    clusters = {known(pool.cluster) for pool in pools}
    cluster = clusters.pop() if len(clusters) == 1 else None
    if cluster is None:
        return None
    wall = next((wall for wall in find_walls(cluster, world) if wall.id.endswith(f"/{place.id}")), None)
    sizes = numbers(wall.nodes, WallFinder(cluster, world)) if wall else None
    return None if sizes is None else sum(sizes[pool.id] for pool in dict.fromkeys(pools))


def first(cluster: Cluster, world: World) -> Wall | None:
    """The first wall that has an upper bound and is no recommendation."""
    found = [wall for wall in find_walls(cluster, world) if wall.kind != "recommended"]
    bounded = [(wall.nodes.high, wall) for wall in found if wall.nodes is not None and wall.nodes.high is not None]
    return min(bounded, key=lambda pair: pair[0], default=(0, None))[1]
