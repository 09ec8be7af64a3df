"""Walls of a cluster, in the order in which it hits them."""

from collections.abc import Iterator

from kcheck.model import Cluster, NodePool
from kcheck.scale.addresses import Place
from kcheck.scale.basics import computed
from kcheck.scale.walls import addresses, egress, limits
from kcheck.scale.walls.model import Wall, WallFinder
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.interval import Interval, bounded
from kcheck.text.need import first_unknown
from kcheck.text.values import Known, Origin, Unknown, Value, because, known

_GROUPS = (limits.walls, addresses.walls, addresses.interface_walls, egress.walls, limits.pod_walls, limits.quota_walls)
_finder = once(WallFinder)


@once
def find_walls(cluster: Cluster, world: World) -> list[Wall]:
    """Find the walls of a cluster, the lowest first, unknown ones last."""
    finder = _finder(cluster, world)
    found = [wall for group in _GROUPS for wall in group(finder)]
    return sorted(found, key=lambda wall: (wall.number is None, wall.number or 0, _rank(wall), wall.id))


def _rank(wall: Wall) -> int:
    """Rank equal walls: hard limits first, and the written maximum last, since it was intended."""
    return 9 if wall.mechanism in ("maximum", "autoscaling") else ("hard", "quota", "recommended").index(wall.kind)


def nodes_at(place: Place, pools: list[NodePool], world: World) -> Interval | None:
    """Bound the nodes at which a place is full; None if clusters share it, or sizes are unknown."""
    clusters = {known(pool.cluster) for pool in pools}
    cluster = clusters.pop() if len(clusters) == 1 else None
    if cluster is None or not (finder := _finder(cluster, world)).growth.known:
        return None
    wall = next((wall for wall in find_walls(cluster, world) if wall.id.endswith(f"/{place.id}")), None)
    if wall is None or wall.nodes is None or wall.nodes.high is None:
        return None
    low, high = (
        sum(finder.sizes(one)[pool.id] for pool in dict.fromkeys(pools)) for one in (wall.nodes.low, wall.nodes.high)
    )
    return Interval(low, high)


def first(cluster: Cluster, world: World) -> Wall | None:
    """Return the first wall that has an upper bound and is no recommendation."""
    found = [wall for wall in find_walls(cluster, world) if wall.kind != "recommended"]
    bounded = [(wall.nodes.high, wall) for wall in found if wall.nodes is not None and wall.nodes.high is not None]
    return min(bounded, key=lambda pair: pair[0], default=(0, None))[1]


def steps(wall: Wall, world: World) -> Iterator[str]:
    """Count what is taken at an exact wall, and with a node more."""
    finder, exact, takes = _finder(wall.cluster, world), wall.nodes and wall.nodes.exact, wall.takes
    if exact is None or takes is None or not finder.growth.known:
        return
    for many in (exact, exact + 1):
        sizes = finder.sizes(many)
        pools = " + ".join(f"{one.display_name} {sizes[one.id]:,}" for one in finder.pools if sizes[one.id])
        yield f"{many:,} nodes ({pools}) take {takes(sizes):,}"


# --- words of walls


def number(wall: Wall, world: World) -> Value[int]:
    """Return the number of the limit; null where none makes the wall, or it differs by account."""
    entry = world.numbers.limits(wall.cluster.cloud).get(wall.limit)
    return computed(wall, entry.value if entry is not None and isinstance(entry.value, int) else None)


def nodes(wall: Wall, world: World) -> Value[int]:
    """Return the nodes at a wall, or bounds that say whether it is below the target."""
    low, high = wall.nodes or (0, None)
    aim = _finder(wall.cluster, world).aim(wall.mechanism)
    if wall.short:
        high = max(low, aim.low - 1 if high is None else min(high, aim.low - 1))
    elif wall.short is False and aim.high is not None:
        low = max(low, aim.high)
    why = wall.why or first_unknown([world.sizes.target(wall.cluster)]) or Unknown(wall.arithmetic)
    if wall.nodes is None and high is None:
        return because(why)
    return computed(wall, low) if low == high else bounded(why, Origin((wall.place,)), Interval(low, high))


def target(wall: Wall, world: World) -> Value[int]:
    """Return the nodes that a wall is compared with."""
    aim = _finder(wall.cluster, world).aim(wall.mechanism)
    if aim.exact is not None:
        return computed(wall, aim.exact)
    why = first_unknown([world.sizes.target(wall.cluster)]) or Unknown("")
    return bounded(why, Origin((wall.place,)), aim)


def cluster_target(cluster: Cluster, world: World) -> Value[int]:
    """Return the nodes that a cluster should reach, or their bounds."""
    found, aim = world.sizes.target(cluster), world.sizes.target_interval(cluster)
    if not isinstance(found, Unknown) or (not aim.low and aim.high is None):
        return found
    return bounded(found, found.origin, aim)


def cause(wall: Wall, _world: World) -> Value[str]:
    """Return the value that makes a wall, as text."""
    value = wall.cause
    return Known(str(value.value), value.origin) if isinstance(value, Known) else value
