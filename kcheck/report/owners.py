"""Clusters that findings belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.engine.words.subjects import SUBJECTS, things
from kcheck.model import Cluster, Thing
from kcheck.report.places import by_name
from kcheck.scale.basics import cluster_of
from kcheck.text.values import Known, known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.scale.world import World
    from kcheck.text.findings import Finding

_OWNERS = ("cluster", "workload", "template", "autoscaler", "pool", "pools", "workloads", "jobs")
"""Fields that lead from a thing to its cluster, the most reliable first."""


def owners(findings: Sequence[Finding], world: World) -> list[list[int]]:
    """List the clusters of each finding, numbered from 1; empty if unknown."""
    rules = by_name(world)
    number_of = {cluster.id: number for number, cluster in enumerate(world.inventory.clusters, 1)}
    subjects: dict[str, set[str]] = {}
    for finding in findings:
        subjects.setdefault(rules[finding.rule].subject, set()).update(finding.objects)
    found: dict[tuple[str, str], set[int]] = {}
    for subject, wanted in subjects.items():
        for thing in things(subject, world) if number_of and subject in SUBJECTS else ():
            if thing.id in wanted:
                found[subject, thing.id] = {number_of[one.id] for one in _owners(subject, thing, world)}
    return [
        sorted(set().union(*(found.get((rules[one.rule].subject, name), ()) for name in one.objects)))
        for one in findings
    ]


def _owners(subject: str, thing: Thing, world: World) -> list[Cluster]:
    if isinstance(thing, Cluster):
        return [thing]
    fields = {field.name: field for field in SUBJECTS[subject] if field.kind in ("record", "records")}
    for name in _OWNERS:
        value = fields[name].read(thing, world) if name in fields else []
        single = [value.value] if isinstance(value, Known) else []
        inner = [one for one in (value if isinstance(value, list) else single) if isinstance(one, Thing)]
        if inner:
            return [owner for one in inner for owner in _owners(fields[name].type, one, world)]
    own = known(cluster_of(thing, world))
    return [own] if own is not None else []
