"""Walls of a cluster, in the order in which it reaches them."""

from collections.abc import Iterator

from kcheck.model import Cluster, NodePool
from kcheck.scale.addresses import Place
from kcheck.scale.walls import addresses, egress, limits
from kcheck.scale.walls.model import Wall, WallFinder
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.amount import Amount
from kcheck.text.values import Unknown, known

_GROUPS = (limits.walls, addresses.walls, addresses.interface_walls, egress.walls, limits.pod_walls, limits.quota_walls)
_finder = once(WallFinder)


@once
def find_walls(cluster: Cluster, world: World) -> list[Wall]:
    """Find the walls of a cluster, the lowest first, unknown ones last."""
    finder = _finder(cluster, world)
    found = [wall for group in _GROUPS for wall in group(finder)]
    return sorted(found, key=lambda wall: (wall.number is None, wall.number or 0, _rank(wall), wall.id))


def _rank(wall: Wall) -> int:
    """Rank equal walls: hard limits first, the written maximum last."""
    return 9 if wall.mechanism in ("maximum", "autoscaling") else ("hard", "quota", "recommended").index(wall.kind)


def nodes_at(place: Place, pools: list[NodePool], world: World) -> Amount | None:
    """Count the nodes that fill a subnet or range; None if unknown."""
    clusters = {known(pool.cluster) for pool in pools}
    cluster = clusters.pop() if len(clusters) == 1 else None
    if cluster is None or not (finder := _finder(cluster, world)).growth.known:
        return None
    wall = next((wall for wall in find_walls(cluster, world) if wall.id.endswith(f"/{place.id}")), None)
    if wall is None or wall.nodes.high is None:
        return None
    low, high = (finder.sizes(one) for one in (wall.nodes.low, wall.nodes.high))
    names = {pool.id for pool in pools}
    return Amount(sum(low[name] for name in names), sum(high[name] for name in names))


def first(cluster: Cluster, world: World) -> Wall | None:
    """Return the first wall with an upper bound that is no recommendation."""
    found = [wall for wall in find_walls(cluster, world) if wall.kind != "recommended"]
    ends = [(wall.nodes.high, wall) for wall in found if wall.nodes.high is not None]
    return min(ends, key=lambda pair: pair[0], default=(0, None))[1]


def steps(wall: Wall, world: World) -> Iterator[str]:
    """Count what is used at an exact wall, and with one more node."""
    finder, exact, takes = _finder(wall.cluster, world), wall.nodes.exact, wall.takes
    if exact is None or takes is None or not finder.growth.known:
        return
    for many in (exact, exact + 1):
        sizes = finder.sizes(many)
        pools = " + ".join(f"{one.display_name} {sizes[one.id]:,}" for one in finder.pools if sizes[one.id])
        yield f"{many:,} nodes ({pools}) take {takes(sizes):,}"


def number(wall: Wall, world: World) -> int | None:
    """Return the number of the limit; None if the wall has none."""
    entry = world.numbers.limits(wall.cluster.cloud).get(wall.limit)
    return entry.value if entry is not None and isinstance(entry.value, int) else None


def nodes(wall: Wall, world: World) -> Amount:
    """Return the nodes at a wall, with bounds that say whether it is below the target."""
    low, high, aim = wall.nodes.low, wall.nodes.high, _finder(wall.cluster, world).aim(wall.mechanism)
    if wall.short:
        high = max(low, aim.low - 1 if high is None else min(high, aim.low - 1))
    elif wall.short is False and aim.high is not None:
        low = max(low, aim.high)
    return Amount(low, high, wall.nodes.why or aim.why or Unknown(wall.arithmetic))


def target(wall: Wall, world: World) -> Amount:
    """Return the target that a wall is compared with, in nodes."""
    return _finder(wall.cluster, world).aim(wall.mechanism)
