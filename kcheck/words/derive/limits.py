"""Words of walls: where a cluster ends, and what it is meant to reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale import walls
from kcheck.scale.walls.model import WallFinder
from kcheck.source.values import Known, Unknown, Value
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World


def every(world: World) -> list[Wall]:
    """The walls of all clusters."""
    return [wall for cluster in world.inventory.clusters for wall in walls.find_walls(cluster, world)]


def nodes(wall: Wall, _world: World) -> Value[int]:
    """The nodes that the cluster has at a wall."""
    return Unknown(wall.why) if wall.number is None else computed(wall, wall.number)


def reach(wall: Wall, _world: World) -> Value[str]:
    """The same as a text that says whether it is exact."""
    return Unknown(wall.why) if wall.nodes is None else computed(wall, str(wall.nodes))


def short(wall: Wall, world: World) -> Value[bool]:
    """Whether a wall is met before the target of its cluster."""
    if wall.short is not None:
        return computed(wall, wall.short)
    target = world.sizes.target(wall.cluster)
    return Unknown(target.reason if isinstance(target, Unknown) and wall.nodes is not None else wall.why)


def target(wall: Wall, world: World) -> Value[str]:
    """The nodes that a wall is compared with, or at least so many."""
    return computed(wall, str(WallFinder(wall.cluster, world).aim(wall.mechanism)))


def cause(wall: Wall, _world: World) -> Value[str]:
    """The value that makes a wall, as text."""
    value = wall.cause
    return Known(str(value.value), value.origin) if isinstance(value, Known) else value
