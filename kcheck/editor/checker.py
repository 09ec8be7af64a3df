"""Checks a folder again and again, while somebody types in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from kcheck.editor.buffers import Buffers
from kcheck.editor.snapshot import Snapshot
from kcheck.engine import linter
from kcheck.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kcheck.config.config import Config

    Overlay: TypeAlias = Mapping[str, bytes | None]
    Settings: TypeAlias = Callable[[Overlay], Config]


class Checker:
    """Checks one folder with the settings that hold there."""

    def __init__(self, folder: str, settings: Settings) -> None:
        self.folder = folder
        self._settings = settings
        self._buffers = Buffers()

    def check(self, texts: Mapping[str, bytes]) -> Iterator[Snapshot]:
        """Check the folder with some unsaved texts, by real paths.

        Raises:
            ConfigError: the settings make no sense.
            deadline.CancelledError: nobody wants to know any more.
        """
        stand_ins = self._buffers.stand_ins(texts)
        overlay = {**texts, **{real: one.good for real, one in stand_ins.items()}}
        config = self._settings(overlay)
        tree = Tree([self.folder], overlay, config.exclude, config.boundary)
        yield Snapshot(self.folder, tree, config, linter.run(tree, config), stand_ins)
