"""What earlier runs on a folder decided, and the things of a later one for which that still holds.

For an editor, which shows first what a change is about: things in the changed files and of their clusters are decided
at once. For all else the outcomes of the run before stand, until the rest is decided, too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kcheck.model import Cluster
from kcheck.text.files.tree import TERRAFORM, VARIABLES
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.engine.deciding import Checks, Outcome
    from kcheck.inventory.reading import Reading
    from kcheck.model import Inventory, Thing
    from kcheck.text.text import Source
    from kcheck.text.values import Value


class _Affected(NamedTuple):
    """What a change is about: files, clusters by their ids, and root modules."""

    paths: frozenset[str]
    clusters: frozenset[str]
    roots: frozenset[str]

    def holds(self, thing: Thing) -> bool:
        """Whether a thing is in a changed file, or belongs to what depends on one."""
        if thing.place.source.path in self.paths or getattr(thing, "root", None) in self.roots:
            return True
        cluster = _cluster_of(thing)
        return cluster is not None and cluster.id in self.clusters


class Earlier:
    """The outcomes of runs on one folder.

    Each run begins, may decide a part, decides the rest, and ends.
    """

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._now: dict[tuple[str, Thing], Outcome] = {}
        self._taken: dict[int, Outcome] = {}
        self._sources: dict[str, Source] = {}
        self._clusters: dict[str, set[str]] = {}
        self._changed: set[str] = set()
        self._affected: _Affected | None = None

    def begin(self, reading: Reading) -> bool:
        """Begin a run; gives whether some things of it depend on what has changed, and the others can wait."""
        before, after = self._sources, {source.path: source for source in reading.sources}
        self._changed |= {path for path in before.keys() | after.keys() if before.get(path) is not after.get(path)}
        clusters = _clusters(reading.inventory)
        self._affected = self._affected_by_changes(reading, clusters) if self._outcomes else None
        self._sources, self._clusters = after, clusters
        self._now, self._taken = {}, {}
        return self._affected is not None

    def decide_rest(self) -> None:
        """Go on with all things that this run has not decided yet."""
        self._affected, self._taken = None, {}

    def end(self, final: Sequence[tuple[Checks, Sequence[Outcome]]]) -> None:
        """End a run with the outcomes of all its things, which stand for a later one.

        Of several things with one id nothing is kept.
        """
        found: dict[tuple[str, str], Outcome | None] = {}
        for checks, outcomes in final:
            for thing, outcome in zip(checks.things, outcomes, strict=True):
                key = (checks.subject, thing.id)
                found[key] = None if key in found else outcome
        self._outcomes = {key: outcome for key, outcome in found.items() if outcome is not None}
        self._changed.clear()

    def outcome(self, checks: Checks, thing: Thing) -> Outcome:
        """What the rules of a subject say of a thing: as it was decided, or as it is decided now."""
        key = (checks.subject, thing)
        if key in self._now:
            return self._now[key]
        if self._affected is not None and not self._affected.holds(thing):
            stands = self._outcomes.get((checks.subject, thing.id))
            if stands is not None:
                self._taken[id(stands)] = stands
                return stands
        self._now[key] = checks.outcome(thing)
        return self._now[key]

    def is_taken(self, outcome: Outcome) -> bool:
        """Whether an outcome is of the run before."""
        return id(outcome) in self._taken

    def _affected_by_changes(self, reading: Reading, clusters: dict[str, set[str]]) -> _Affected | None:
        """What depends on the changed files, as far as that can be told from them; None if it may be everything."""
        found: set[str] = set()
        roots: set[str] = set()
        for path in self._changed:
            if path.endswith((*TERRAFORM, *VARIABLES)):
                folder = os.path.dirname(path) or "."
                own = {
                    root.configuration.folder
                    for root in reading.roots
                    if any(module.configuration.folder == folder for module in root.all())
                }
                if not own:
                    return None
                roots |= own
            else:
                found |= self._clusters.get(path, set()) | clusters.get(path, set())
        found |= {cluster.id for cluster in reading.inventory.clusters if cluster.root in roots}
        return _Affected(frozenset(self._changed), frozenset(found), frozenset(roots))


def _clusters(inventory: Inventory) -> dict[str, set[str]]:
    """The ids of the clusters on which the things of a file run, by its path."""
    result: dict[str, set[str]] = {}
    for thing, cluster in inventory.cluster_of.items():
        result.setdefault(thing.place.source.path, set()).add(cluster.id)
    return result


def _cluster_of(thing: Thing) -> Cluster | None:
    """The cluster that a thing is a part of."""
    if isinstance(thing, Cluster):
        return thing
    found: Cluster | Value[Cluster] | None = getattr(thing, "cluster", None)
    return found if found is None or isinstance(found, Cluster) else known(found)
