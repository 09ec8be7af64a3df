"""Checks of manifests that may be applied to several clusters: decided where all of these agree."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.engine.evaluator import Evaluator
from kcheck.model import Autoscaler, Container, Image, KarpenterPool, PodTemplate
from kcheck.source.findings import Related, Undecided
from kcheck.source.values import Known, Origin
from kcheck.words import raw_views
from kcheck.words.views import wanted

if TYPE_CHECKING:
    from kcheck.engine.rule import Rule
    from kcheck.model import Candidates, Cluster, Thing
    from kcheck.scale.world import World
    from kcheck.source.findings import Finding
    from kcheck.syntax import cel

_MOST = 64
"""A check is decided for so many clusters at most."""
_BUDGET = 40_000
"""So many are looked at in a run, which takes about six seconds; what is left stays undecided."""


def candidates(check: Undecided, thing: Thing, world: World) -> Candidates | None:
    """The clusters that a thing may be on, where a check of it waits for one of them; else None."""
    homes = world.inventory.candidates_of
    if not homes or not check.missing:
        return None
    owner = world.images.uses(thing)[0][0] if isinstance(thing, Image) else thing
    found = homes.get(world.deployed.workload(owner) if isinstance(owner, PodTemplate | Container) else owner)
    waits = found is not None and not {found.reason, found.size_reason}.isdisjoint(check.missing)
    return found if waits else None


def decide(
    rule: Rule, condition: cel.Expression, check: Undecided, thing: Thing, world: World
) -> tuple[bool | Undecided, tuple[Cluster, ...]]:
    """What a check gives on every cluster that a thing may be on, and these; where they differ, what is missing."""
    found = candidates(check, thing, world)
    checks = world.remember("checks of several clusters", "", count)
    if found is None or not 0 < len(found.clusters) <= _MOST or next(checks) * len(found.clusters) > _BUDGET:
        return check, ()
    fields = wanted(condition).get(rule.subject, {})
    first: bool | Undecided | None = None
    for cluster in found.clusters:
        view = raw_views.view(rule.subject, _placed(thing, cluster), world.assuming(cluster), fields)
        verdict = Evaluator(view).verdict(rule, condition)
        if first is not None and verdict != first:
            return replace(check, missing=(found.reason,)), ()
        first = verdict
    return (check, ()) if first is None else (first, found.clusters)


def finding(rule: Rule, thing: Thing, world: World, clusters: tuple[Cluster, ...]) -> Finding | None:
    """What is reported: of several clusters the mildest finding; None where a size is known and small."""
    if not clusters:
        return _finding(rule, thing, world)
    found = [_finding(rule, _placed(thing, cluster), world.assuming(cluster)) for cluster in clusters]
    least, cluster = min(zip(found, clusters, strict=True), key=lambda pair: pair[0].severity if pair[0] else -1)
    if least is None:
        return None
    note = f"computed for this cluster; true of all {len(clusters):,} that may run it"
    return replace(least, related=(*least.related, Related(cluster.place, note)))


def _placed(thing: Thing, cluster: Cluster) -> Thing:
    """The thing on one of the clusters that it may be on, where it says itself on which it is."""
    if not isinstance(thing, Autoscaler | KarpenterPool):
        return thing
    return replace(thing, cluster=Known(cluster, Origin((thing.place,))))


def _finding(rule: Rule, thing: Thing, world: World) -> Finding | None:
    from kcheck.engine.rule_words import looked_at

    evaluator = Evaluator(raw_views.view(rule.subject, thing, world, looked_at(rule)))
    severity = evaluator.severity(rule)
    return evaluator.finding(rule, severity) if severity is not None else None
