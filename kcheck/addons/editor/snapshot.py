"""One state of the code, and what kcheck says of it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.addons.editor.buffers import moved
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path

if TYPE_CHECKING:
    from kcheck.addons.editor.buffers import StandIn
    from kcheck.config.config import Config
    from kcheck.engine.linter import Result
    from kcheck.inventory.reader import Reading
    from kcheck.scale.world import World
    from kcheck.text.files.tree import Tree
    from kcheck.text.text import Source, Span


class Snapshot:
    """What was read of a folder, and what was found in it. Whoever asks looks at it only, so it never changes.

    The editor may have `named` the folder through a link. A file has one name there, however kcheck came to it.

    `stand_ins` are files whose last readable text was checked instead of what the editor has, by their real paths. A
    `partial` one has new findings for what changed, and those of the run before for all else.
    """

    def __init__(
        self, folder: str, tree: Tree, config: Config, result: Result, stand_ins: dict[str, StandIn],
        *, named: str = "", partial: bool = False,
    ) -> None:  # fmt: skip
        self.folder = folder
        self._named = named or folder
        self.tree = tree
        self.config = config
        self.result = result
        self.stand_ins = stand_ins
        self.partial = partial

    @property
    def reading(self) -> Reading:
        """The files and the inventory."""
        return self.result.reading

    @property
    def world(self) -> World:
        """The inventory with all that is computed from it."""
        return self.result.world

    def source(self, real: str) -> Source | None:
        """The file at a real path as it was checked; None if kcheck has not looked into it."""
        return self._sources.get(real)

    def shown(self, span: Span) -> Span:
        """A place of what was checked, in the text that the editor shows."""
        stand_in = self.stand_ins.get(self.real_path(span.source))
        if stand_in is None:
            return span
        start, end = (moved(offset, stand_in.good, stand_in.text.data) for offset in span[1:])
        return stand_in.text.span(start, max(start, end))

    def real_path(self, source: Source) -> str:
        """The real path of a file; empty for what is part of kcheck, or in no file of its own."""
        return self._paths.get(source, "")

    def address(self, path: str) -> str:
        """The URI of a path, as the editor names what is in the folder."""
        from kcheck.addons.editor.positions import (
            uri,  # with the libraries of the language server, which watch does without
        )

        if path not in self._addresses:
            real = system.real_path(path)
            inside = contains_path(self.folder, real)
            own = os.path.join(self._named, os.path.relpath(real, self.folder)) if inside else real
            self._addresses[path] = uri(own)
        return self._addresses[path]

    @cached_property
    def _addresses(self) -> dict[str, str]:
        return {}

    @cached_property
    def _sources(self) -> dict[str, Source]:
        return {real: source for real, source in self.tree.sources().items() if source is not None}

    @cached_property
    def _paths(self) -> dict[Source, str]:
        return {source: real for real, source in self._sources.items()}
