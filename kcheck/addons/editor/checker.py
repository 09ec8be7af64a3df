"""Check a folder repeatedly during editing."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from kcheck.addons.editor.incremental import Earlier
from kcheck.addons.editor.snapshot import Buffers, Snapshot
from kcheck.engine.linter import Linter
from kcheck.inventory.reading import Kept
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kcheck.config.config import Config

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
