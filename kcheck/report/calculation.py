"""Calculation of walls: inputs with their places, the steps, and the source of the limit."""

from collections.abc import Iterator

from kcheck.config.numbers import profiles
from kcheck.engine.rule import Rule
from kcheck.model import Cluster, NodePool, Subnet
from kcheck.report import limit, model, page
from kcheck.report.layout import Line, Text
from kcheck.report.page import Block, Part, Point, Prose, Title
from kcheck.scale import addresses, walls
from kcheck.scale.walls.model import Wall
from kcheck.scale.world import World


def mechanisms(name: str, rule: Rule | None) -> set[str]:
    """Return the mechanisms that a name means: its own, or those of a rule's numbers or a limit."""
    named = {full.split(".", 2)[-1] for full in (rule.entries() if rule else limit.meant(name))}
    return {key for key, own in profiles.mechanisms().items() if key == name or named.intersection(own["limits"])}


def pages(wanted: set[str], world: World) -> list[Text]:
    """Return a page for each wall of some mechanisms, the lowest of each cluster first."""
    every = (wall for cluster in world.inventory.clusters for wall in walls.find_walls(cluster, world))
    found: list[Text] = [page.as_text(_blocks(wall, world)) for wall in every if wall.mechanism in wanted]
    return found or [(Line(f"No such wall here: {', '.join(sorted(wanted))}."),)]


def _blocks(wall: Wall, world: World) -> Iterator[Block]:
    target = world.sizes.wanted_interval(wall.cluster)
    nodes = "an unknown number of" if wall.nodes is None else str(wall.nodes)
    yield Title(f"{wall.what}, cluster {wall.cluster.display_name}")
    yield Prose(f"It is hit at {nodes} nodes; the target is {'not known' if target.low == 0 else target}.")
    yield Part("Inputs")
    for subject, thing in _things(wall):
        lines = model.word_lines(subject, profiles.mechanisms()[wall.mechanism]["inputs"], thing, world)
        if lines:
            yield Point((f"{subject} {thing.id.rpartition('/')[2]}  ({thing.place.location})",), tuple(lines))
    yield Part("Calculation")
    yield from (Point((text,)) for text in (wall.arithmetic, *walls.steps(wall, world)))
    yield Part("Source")
    entry = world.numbers.limits(wall.cluster.cloud).get(wall.limit)
    yield limit.point(f"limits.{wall.cluster.cloud}.{wall.limit}", entry) if entry else Point((wall.source,))
    yield Part("To move it")
    yield Prose(f"  {wall.move}")


def _things(wall: Wall) -> Iterator[tuple[str, Cluster | NodePool | addresses.Place]]:
    yield "cluster", wall.cluster
    places = (one for pool in wall.pools for one in addresses.of_pool(pool) if wall.id.endswith(f"/{one.id}"))
    for place in dict.fromkeys(places):
        yield "subnet" if isinstance(place, Subnet) else "pod_range", place
    yield from (("pool", pool) for pool in wall.pools)
