"""How far each cluster gets, which limit it hits first, and what a run wastes on it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kcheck.engine.rule_words import looked_at
from kcheck.report import capacity
from kcheck.report.html import capacity_page
from kcheck.report.places import by_name
from kcheck.report.text import place_text
from kcheck.scale import walls
from kcheck.source.units import between, counted, money, node_hours, readable
from kcheck.source.values import Known, Unset, known, reason_of
from kcheck.words.derive import savings
from kcheck.words.derive.basics import cluster_of
from kcheck.words.subjects import SUBJECTS, things

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from markupsafe import Markup

    from kcheck.engine.judged import MissingInput
    from kcheck.engine.linter import Result
    from kcheck.model import Cluster, Thing
    from kcheck.report.formats import Report
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World
    from kcheck.source.findings import Finding
    from kcheck.words.derive.savings import Saving

STATES = {"stops": "\u2715 stops before its target", "unknown": "? not known", "reaches": "\u2713 reaches its target"}
"""What a verdict says, in words and not by its colour alone, the worst first."""
MOST_OPEN, _MOST_BODIES = 3, 60
"""Clusters whose limits are there to see, and those that have them at all."""


class Waste(NamedTuple):
    """What a run wastes: an amount, or that it is not known; and what that rests on."""

    amount: str
    note: str


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
    lost, folded = _Savings(result), len(world.inventory.clusters) <= MOST_OPEN
    names = Counter(map(capacity.cluster_name, world.inventory.clusters))
    for number, cluster in enumerate(world.inventory.clusters, 1):
        own = [finding for finding, numbers in zip(report.findings, of_clusters, strict=True) if number in numbers]
        state, reach = _reach(cluster, world)
        target = world.sizes.wanted_interval(cluster).exact
        name = capacity.cluster_name(cluster)
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


def _reach(cluster: Cluster, world: World) -> tuple[str, str]:
    """Whether a cluster reaches its target, and how far it gets."""
    target, nodes = world.sizes.wanted_interval(cluster).exact, capacity.reachable_nodes(cluster, world)
    first, nearest = walls.first(cluster, world), capacity.earliest(cluster, world)
    high = first.nodes.high if first is not None and first.nodes is not None else None
    low = nearest.nodes.low if nearest is not None and nearest.nodes is not None else 0
    if target is None:
        found = "at most " if nodes is None else ""
        return "unknown", "not known" if high is None else f"{found}{counted(nodes or high, 'node')}, no target known"
    of = f"of {counted(target, 'node')}"
    if nodes is not None:
        return "reaches" if nodes >= target else "stops", f"{nodes:,} {of}"
    if high is not None and high < target:
        return "stops", f"at most {high:,} {of}"
    if 0 < low < target:
        return "unknown", f"at least {low:,} {of}"
    return "unknown", "not known" if high is None else f"{target:,} {of}, as far as is known"


def _note(cluster: Cluster, world: World, missing: MissingInput | None) -> str:
    """Where the target comes from; where the reach is not known, what would decide it."""
    if missing is not None:
        return "; ".join(filter(None, (missing.reason, missing.remedy)))
    if world.sizes.wanted_interval(cluster).exact is None:
        return ""
    return f"target: {'the number asked for' if world.sizes.requested(cluster) else 'the maxima of its pools'}"


# --- money


class _Savings:
    """What a run of a cluster loses to settings that findings are about."""

    def __init__(self, result: Result) -> None:
        self.world = result.world
        self.undecided = result.undecided
        self.words: dict[str, list[str]] = {}
        self.subjects: dict[str, str] = {}
        for name, rule in by_name(self.world).items():
            wanted = [field.name for field in SUBJECTS.get(rule.subject, ()) if field.type == "saving"]
            if wanted and (words := [word for word in wanted if word in looked_at(rule)]):
                self.words[name], self.subjects[name] = words, rule.subject

    def waste(self, cluster: Cluster, findings: Iterable[Finding]) -> Waste:
        """What the changes that findings ask for save of a run, all together."""
        objects = {(finding.rule, name) for finding in findings for name in finding.objects}
        changes = [(word, thing) for name, thing in self._things(cluster, objects) for word in self.words[name]]
        found = savings.together(cluster, self.world, dict.fromkeys(changes))
        if isinstance(found, Known):
            return _amount(found.value)
        if not isinstance(found, Unset):
            return Waste("not known", reason_of(found))
        waiting = {(check.rule, check.object): check.missing for check in self.undecided}
        for name, thing in self._things(cluster, waiting):
            return Waste("not known", f"{name} is undecided: {'; '.join(waiting[name, thing.id])}")
        return Waste("nothing found", "by the settings that were judged")

    def _things(self, cluster: Cluster, wanted: Collection[tuple[str, str]]) -> Iterator[tuple[str, Thing]]:
        """The things of a cluster among some, each given by a rule and an id."""
        for name in sorted({rule for rule, _ in wanted} & self.words.keys()):
            for thing in things(self.subjects[name], self.world):
                if (name, thing.id) in wanted and known(cluster_of(thing, self.world)) == cluster:
                    yield name, thing


def _amount(saving: Saving) -> Waste:
    found = saving.found
    hours = between(node_hours(found.node_time.least), node_hours(found.node_time.most))
    run = f"of a {readable(saving.run_time)} run on {counted(saving.nodes, 'node')} (simulated)"
    if found.money is None:
        return Waste(hours, f"{run}; no price of these nodes is known: set --price")
    part = f", without {counted(saving.unpriced, 'node')} that have no list price" if saving.unpriced else ""
    return Waste(between(money(found.money.least), money(found.money.most)), f"{hours} {run}{part}")
