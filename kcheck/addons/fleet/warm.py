"""What checks need, in the memory of the process that they are forked from: the more repositories it gets, the more.

Most of what a small repository takes is to import, to load and to compile. A check does that for itself, and it is gone
with it; so what several checks have needed is done once for those that follow, if they are many.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
from collections import Counter
from typing import TYPE_CHECKING

from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.code import code
from kcheck.addons.fleet.task import Outcome, Task
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine import rules
from kcheck.text.bundled import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEW, _SEVERAL = 2, 4
"""Checks that take longer without what is imported and loaded than with it; and without an example of a cloud."""
_SEEN = 2
"""Repositories of a cloud after which others are expected."""
_READERS = ("inventory", "kubernetes", "text.syntax", "terraform", "engine.words", "scale")
"""Packages of which a check imports what its files need."""


def warm(clouds: Iterable[str] = CLOUDS) -> dict[str, Outcome]:
    """Load and compile what rules need by checking an example of each cloud; what is found, by the cloud.

    No answer of the system is kept by that: what depends on a repository is asked again in its own check.
    """
    _load()
    with contextlib.chdir(EXAMPLES):
        return {cloud: check(Task(cloud, os.path.join(EXAMPLES, f"{cloud}-training"))) for cloud in clouds}


class Memory:
    """What a process has in memory for the checks that are forked from it."""

    def __init__(self) -> None:
        self.is_loaded = False
        self.clouds: set[str] = set()
        """Those of which an example was checked."""
        self._tasks = self._checks = 0
        self._seen: Counter[str] = Counter()
        code()
        _freeze()

    def learn(self, outcome: Outcome) -> None:
        """Learn from a task what others may need."""
        self._tasks += 1
        self._checks += not outcome.is_unchanged
        if outcome.rows is not None:
            self._seen.update({cluster.cloud for cluster in outcome.rows.clusters})

    def prepare(self, task: Task) -> None:
        """Have ready for a task what those after it will need, too."""
        changed = 1.0 if task.past is None else self._checks / max(1, self._tasks)
        likely = task.more * changed
        if likely < _FEW:
            return
        new = self._wanted() if likely >= _SEVERAL else set()
        if new or not self.is_loaded:
            gc.disable()
            warm(sorted(new))
            self.clouds |= new
            self.is_loaded = True
            _freeze()

    def _wanted(self) -> set[str]:
        """The clouds of which an example is still to be checked; one at least, as most of it is needed for any."""
        new = {cloud for cloud, count in self._seen.items() if count >= _SEEN} - self.clouds
        return new if new or self.clouds else {max(CLOUDS, key=self._seen.__getitem__)}


def _load() -> None:
    for name in _READERS:
        package = importlib.import_module(f"kcheck.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    rules.load()


def _freeze() -> None:
    """Have forked processes share what is there as long as nobody writes to it."""
    gc.collect()
    gc.freeze()
    gc.enable()  # this process is here for long
