"""How far each cluster gets, which limit it hits first, and what a run wastes on it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report import capacity
from kcheck.report.html import capacity_page
from kcheck.report.text import place_text
from kcheck.report.verdict import STATES, Savings, Waste, reach_of
from kcheck.scale import walls
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from kcheck.engine.judged import MissingInput
    from kcheck.model import Cluster
    from kcheck.report.formats import Report
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World

MOST_OPEN, _MOST_BODIES = 3, 60
"""Clusters whose limits are there to see, and those that have them at all."""


class Verdict(NamedTuple):
    """What is said of a cluster. `state` is one of `STATES`."""

    number: int
    name: str
    cloud: str
    place: str
    state: str
    reach: str
    target: str
    heading: str
    first: Wall | None
    waste: Waste
    others: int
    limits: Markup | str
    note: str

    @property
    def sign(self) -> str:
        """Its state for people."""
        return STATES[self.state]


def verdicts(report: Report, of_clusters: Sequence[Sequence[int]]) -> Iterator[Verdict]:
    """The verdict of each cluster, in the order of the code; `of_clusters` has the numbers of those of each finding."""
    result, world = report.result, report.result.world
    why = {one.cluster.id: one.input for one in result.judged.not_judged}
    lost, folded = Savings(result), len(world.inventory.clusters) <= MOST_OPEN
    names = Counter(cluster.display_name for cluster in world.inventory.clusters)
    for number, cluster in enumerate(world.inventory.clusters, 1):
        own = [finding for finding, numbers in zip(report.findings, of_clusters, strict=True) if number in numbers]
        state, reach = reach_of(cluster, world)
        target = world.sizes.wanted_interval(cluster).exact
        name = cluster.display_name
        root = f" in {cluster.root}" if names[name] > 1 else ""
        yield Verdict(
            number=number,
            name=f"{name}{root}",
            cloud=cluster.cloud,
            place=place_text(cluster.place),
            state=state,
            reach=reach,
            target="" if target is None else counted(target, "node"),
            heading=f"{capacity.heading(cluster, world)}{root}",
            first=walls.first(cluster, world),
            waste=lost.waste(cluster, own),
            others=sum(finding.waste and finding.rule not in lost.words for finding in own),
            limits=capacity_page.body(cluster, world, folded=folded) if number <= _MOST_BODIES else "",
            note=_note(cluster, world, None if state != "unknown" else why.get(cluster.id)),
        )


def _note(cluster: Cluster, world: World, missing: MissingInput | None) -> str:
    """Where the target comes from; where the reach is not known, what would decide it."""
    if missing is not None:
        return "; ".join(filter(None, (missing.reason, missing.remedy)))
    if world.sizes.wanted_interval(cluster).exact is None:
        return ""
    return f"target: {'the number asked for' if world.sizes.requested(cluster) else 'the maxima of its pools'}"
