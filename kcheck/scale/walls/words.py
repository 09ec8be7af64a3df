"""Words of walls: sizes at walls, targets, causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.basics import computed
from kcheck.scale.walls.model import WallFinder
from kcheck.text.interval import Bounded, Interval
from kcheck.text.values import Known, Origin, Unknown, Value

if TYPE_CHECKING:
    from kcheck.model import Cluster
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World


def number(wall: Wall, world: World) -> Value[int]:
    """Return the number of the limit; null where none makes the wall, or it differs by account."""
    entry = world.numbers.limits(wall.cluster.cloud).get(wall.limit)
    return computed(wall, entry.value if entry is not None and isinstance(entry.value, int) else None)


def nodes(wall: Wall, world: World) -> Value[int]:
    """Return the nodes at a wall, or bounds that say whether it is below the target."""
    low, high = wall.nodes or (0, None)
    aim = WallFinder(wall.cluster, world).aim(wall.mechanism)
    if wall.short:
        high = max(low, aim.low - 1 if high is None else min(high, aim.low - 1))
    elif wall.short is False and aim.high is not None:
        low = max(low, aim.high)
    why = wall.why or _target_reason(wall, world) or wall.arithmetic
    if wall.nodes is None and high is None:
        return Unknown(why)
    return computed(wall, low) if low == high else Bounded(why, Origin((wall.place,)), bounds=Interval(low, high))


def target(wall: Wall, world: World) -> Value[int]:
    """Return the nodes that a wall is compared with."""
    aim = WallFinder(wall.cluster, world).aim(wall.mechanism)
    if aim.exact is not None:
        return computed(wall, aim.exact)
    return Bounded(_target_reason(wall, world), Origin((wall.place,)), bounds=aim)


def cluster_target(cluster: Cluster, world: World) -> Value[int]:
    """Return the nodes that a cluster should reach, or their bounds."""
    found, aim = world.sizes.target(cluster), world.sizes.target_interval(cluster)
    if not isinstance(found, Unknown) or (not aim.low and aim.high is None):
        return found
    return Bounded(found.reason, found.origin, bounds=aim)


def _target_reason(wall: Wall, world: World) -> str:
    """Return why the target of a wall's cluster is unknown; empty if known."""
    found = world.sizes.target(wall.cluster)
    return found.reason if isinstance(found, Unknown) else ""


def cause(wall: Wall, _world: World) -> Value[str]:
    """Return the value that makes a wall, as text."""
    value = wall.cause
    return Known(str(value.value), value.origin) if isinstance(value, Known) else value
