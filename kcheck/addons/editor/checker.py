"""Check a folder during editing, and reuse outcomes that cannot have changed.

A first pass decides the objects of changed files and of their clusters; it reuses the outcomes of the run before
for all others, and the simulated savings of that run. A second pass decides those, too.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from kcheck.addons.editor.snapshot import Buffers, Snapshot
from kcheck.engine.affected import Affected, affected
from kcheck.engine.linter import Linter
from kcheck.inventory.reading import Kept
from kcheck.model import Autoscaler
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kcheck.config.config import Config
    from kcheck.engine.rule_outcomes import Checks, Outcome
    from kcheck.model import Thing
    from kcheck.text.text import Source

    Overlay: TypeAlias = Mapping[str, bytes | None]
    Settings: TypeAlias = Callable[[Overlay], Config]

_SHORT = 0.3
"""Seconds up to which a run shows all results at once."""


class Checker:
    """Checks a folder with its settings; `named` is its path in the editor."""

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
        everything. Raises ConfigError if the settings are invalid, deadline.CancelledError if the check was cancelled.
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
        if self._earlier.begin(linter) and in_parts and self._seconds > _SHORT:
            linter.world.is_first_look = True
            yield snapshot(linter.result(decide=self._earlier.decide), partial=True)
        linter.world.is_first_look = False
        self._earlier.decide_rest()
        result = linter.result(decide=self._earlier.decide)
        self._earlier.end()
        self._seconds = time.perf_counter() - begin
        yield snapshot(result)


# --- outcomes of earlier runs


class Earlier:
    """Outcomes of runs on one folder, reused by the next run."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._now: dict[tuple[str, Thing], Outcome] = {}
        self._sources: dict[str, Source] = {}
        self._changed: set[str] = set()
        self._affected: Affected | None = None
        self._estimates: dict[tuple[str, str], object] = {}

    def begin(self, linter: Linter) -> bool:
        """Begin a run; return whether changes affect only some objects."""
        reading = linter.reading
        before, after = self._sources, {source.path: source for source in reading.sources}
        self._changed |= {path for path in before.keys() | after.keys() if before.get(path) is not after.get(path)}
        found = affected(self._changed, reading, linter.world) if self._outcomes else None
        self._affected = found and found._replace(whole=set())  # workloads in other files can wait
        self._sources, self._now, linter.world.estimates = after, {}, self._estimates
        return self._affected is not None

    def decide_rest(self) -> None:
        """Stop restricting this run to affected objects."""
        self._affected = None

    def decide(self, checks: Checks, thing: Thing) -> Outcome:
        """Run the rules of a subject on an object, or reuse the outcome."""
        key = (checks.subject, thing)
        if key not in self._now:
            if self._affected is not None and not self._affected.holds(thing, checks.world):
                earlier = self._outcomes.get((checks.subject, thing.id))
                if earlier is not None:
                    return earlier
            if checks.world.is_first_look and isinstance(thing, Autoscaler):
                return checks.outcome(thing)
            self._now[key] = checks.outcome(thing)
        return self._now[key]

    def end(self) -> None:
        """End a complete run and keep its outcomes for the next."""
        found: dict[tuple[str, str], Outcome | None] = {}
        for (subject, thing), outcome in self._now.items():
            key = (subject, thing.id)
            found[key] = None if key in found else outcome
        self._outcomes = {key: outcome for key, outcome in found.items() if outcome is not None}
        self._changed.clear()
