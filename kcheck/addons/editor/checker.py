"""Check a folder repeatedly during editing, with the outcomes of earlier runs for what a change does not affect.

A first pass decides the things in the changed files and of their clusters, and reuses the outcomes of the run before
for all others; a second pass decides those, too.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from kcheck.addons.editor.snapshot import Buffers, Snapshot
from kcheck.engine.linter import Linter
from kcheck.inventory.reading import Kept
from kcheck.model import Cluster
from kcheck.text.files.tree import TERRAFORM, VARIABLES, Tree
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kcheck.config.config import Config
    from kcheck.engine.deciding import Checks, Outcome
    from kcheck.inventory.reading import Reading
    from kcheck.model import Inventory, Thing
    from kcheck.text.text import Source
    from kcheck.text.values import Value

    Overlay: TypeAlias = Mapping[str, bytes | None]
    Settings: TypeAlias = Callable[[Overlay], Config]

_SHORT = 0.3
"""Seconds up to which a run shows all results at once."""


class Checker:
    """Checks a folder, given by real path, with its settings; `named` is the path the editor uses."""

    def __init__(self, folder: str, settings: Settings, named: str = "") -> None:
        self.folder = folder
        self._named = named
        self._settings = settings
        self._buffers = Buffers()
        self._kept = Kept()
        self._earlier = Earlier()
        self._setting = ""
        self._seconds = 0.0

    def check(self, texts: Mapping[str, bytes], *, in_parts: bool = True) -> Iterator[Snapshot]:
        """Check the folder with unsaved texts, keyed by real path.

        If runs are slow and `in_parts`, the first snapshot decides anew only what the changes affect, the next one
        everything.

        Raises:
            ConfigError: the settings are invalid.
            deadline.CancelledError: the check was cancelled.
        """
        begin = time.perf_counter()
        stand_ins = self._buffers.stand_ins(texts)
        overlay = {**texts, **{real: one.good for real, one in stand_ins.items()}}
        config = self._settings(overlay)
        setting = repr(replace(config, boundary=None))
        if setting != self._setting:  # what was read and decided depends on the settings
            self._setting, self._kept, self._earlier = setting, Kept(), Earlier()
        tree = Tree([self.folder], overlay, config.exclude, config.boundary, self._kept.sources)
        linter = Linter(tree, config, kept=self._kept)
        snapshot = partial(Snapshot, self.folder, tree, config, stand_ins=stand_ins, named=self._named)
        if self._earlier.begin(linter.reading) and in_parts and self._seconds > _SHORT:
            yield snapshot(linter.result(decide=self._earlier.decide), partial=True)
        self._earlier.decide_rest()
        result = linter.result(decide=self._earlier.decide)
        self._earlier.end()
        self._seconds = time.perf_counter() - begin
        yield snapshot(result)


# --- outcomes of earlier runs


class _Affected(NamedTuple):
    """Changed files, and the clusters (by id) and root modules that depend on them."""

    paths: frozenset[str]
    clusters: frozenset[str]
    roots: frozenset[str]

    def holds(self, thing: Thing) -> bool:
        """Whether a thing is in a changed file, or in a cluster or root module that depends on one."""
        if thing.place.source.path in self.paths or getattr(thing, "root", None) in self.roots:
            return True
        cluster = _cluster_of(thing)
        return cluster is not None and cluster.id in self.clusters


class Earlier:
    """Outcomes of runs on one folder. Each run begins, may decide a part, decides the rest, and ends."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._now: dict[tuple[str, Thing], Outcome] = {}
        self._sources: dict[str, Source] = {}
        self._clusters: dict[str, set[str]] = {}
        self._changed: set[str] = set()
        self._affected: _Affected | None = None

    def begin(self, reading: Reading) -> bool:
        """Begin a run; return whether the changes affect only some of its things, so that the others can wait."""
        before, after = self._sources, {source.path: source for source in reading.sources}
        self._changed |= {path for path in before.keys() | after.keys() if before.get(path) is not after.get(path)}
        clusters = _clusters(reading.inventory)
        self._affected = self._affected_by_changes(reading, clusters) if self._outcomes else None
        self._sources, self._clusters = after, clusters
        self._now = {}
        return self._affected is not None

    def decide_rest(self) -> None:
        """Decide from now on everything that this run has not decided yet."""
        self._affected = None

    def decide(self, checks: Checks, thing: Thing) -> Outcome:
        """Decide the rules of a subject on a thing, once in a run; reuse an outcome that cannot have changed."""
        key = (checks.subject, thing)
        if key not in self._now:
            if self._affected is not None and not self._affected.holds(thing):
                earlier = self._outcomes.get((checks.subject, thing.id))
                if earlier is not None:
                    return earlier
            self._now[key] = checks.outcome(thing)
        return self._now[key]

    def end(self) -> None:
        """End a run that has decided everything: its outcomes are those to reuse, except of things that share an id."""
        found: dict[tuple[str, str], Outcome | None] = {}
        for (subject, thing), outcome in self._now.items():
            key = (subject, thing.id)
            found[key] = None if key in found else outcome
        self._outcomes = {key: outcome for key, outcome in found.items() if outcome is not None}
        self._changed.clear()

    def _affected_by_changes(self, reading: Reading, clusters: dict[str, set[str]]) -> _Affected | None:
        """Find what depends on the changed files; None if it may be everything."""
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
    """Map the path of each file to the ids of the clusters on which its things run."""
    result: dict[str, set[str]] = {}
    for thing, cluster in inventory.cluster_of.items():
        result.setdefault(thing.place.source.path, set()).add(cluster.id)
    return result


def _cluster_of(thing: Thing) -> Cluster | None:
    """Return the cluster that a thing belongs to."""
    if isinstance(thing, Cluster):
        return thing
    found: Cluster | Value[Cluster] | None = getattr(thing, "cluster", None)
    return found if found is None or isinstance(found, Cluster) else known(found)
