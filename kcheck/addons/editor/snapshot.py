"""One state of the code, and what kcheck says of it."""

from __future__ import annotations

import os
from bisect import bisect_right
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.tree import HCL, MANIFESTS, VARIABLES, display_path, holds_objects
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.config.config import Config
    from kcheck.engine.linter import Result
    from kcheck.inventory.reading import Reading
    from kcheck.scale.world import World
    from kcheck.text.files.tree import Tree
    from kcheck.text.text import Problem, Span


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
        start, end = (_moved(offset, stand_in.good, stand_in.text.data) for offset in span[1:])
        return stand_in.text.span(start, max(start, end))

    def real_path(self, source: Source) -> str:
        """The real path of a file; empty for what is part of kcheck, or in no file of its own."""
        return self._paths.get(source, "")

    def address(self, path: str) -> str:
        """The URI of a path, as the editor names what is in the folder."""
        from kcheck.addons.editor.positions import uri

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


class StandIn(NamedTuple):
    """A file that is half typed: its `text` in the editor, what is wrong with it, and what is checked instead."""

    text: Source
    problem: Problem
    good: bytes


class Buffers:
    """Remembers the last readable text of each file that an editor has open."""

    def __init__(self) -> None:
        self._good: dict[str, bytes] = {}
        self._seen: dict[str, tuple[bytes, StandIn | None]] = {}

    def stand_ins(self, texts: Mapping[str, bytes]) -> dict[str, StandIn]:
        """The texts that cannot be read, and of each what is to be checked instead, if there is anything."""
        for gone in self._seen.keys() - texts.keys():
            del self._seen[gone]
            self._good.pop(gone, None)
        for real, data in texts.items():
            if real not in self._seen or self._seen[real][0] != data:
                self._seen[real] = (data, self._look(real, data))
        return {real: one for real, (_, one) in self._seen.items() if one is not None}

    def _look(self, real: str, data: bytes) -> StandIn | None:
        text = Source(display_path(real), data)
        problem = _problem_of(text)
        if problem is None:
            self._good[real] = data
            return None
        good = self._good.get(real)
        return None if good is None else StandIn(text, problem, good)


def _problem_of(text: Source) -> Problem | None:
    """The first thing in a text that cannot be read; None if there is none, or its syntax is not one of ours."""
    if text.path.endswith((*HCL, *VARIABLES)) and not text.path.endswith(".json"):
        return next(iter(parse(text).problems), None)
    if text.path.endswith(MANIFESTS) and holds_objects(text.data):
        return next((found.problem for found in yaml.documents(text) if found.problem is not None), None)
    return None


def _moved(offset: int, before: bytes, after: bytes) -> int:
    """Where a byte of a text is in another one: lines that are in both stay together."""
    blocks = _equal_lines(before, after)
    own, other, size = blocks[bisect_right(blocks, offset, key=lambda block: block[0]) - 1]
    return other + min(offset - own, size)


def kept(offset: int, before: bytes, after: bytes) -> int | None:
    """Where a byte of a text is in another one, if its whole line is there, too."""
    if before == after:
        return offset
    blocks = _equal_lines(before, after)
    own, other, size = blocks[bisect_right(blocks, offset, key=lambda block: block[0]) - 1]
    return other + offset - own if offset - own < size else None


@lru_cache(maxsize=16)  # all findings of a half-typed file come together
def _equal_lines(before: bytes, after: bytes) -> list[tuple[int, int, int]]:
    """Where lines begin that both texts have, in each of them, and how many bytes they are."""
    ours, theirs = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found = [(0, 0, 0)]
    begins = [list(accumulate(map(len, lines), initial=0)) for lines in (ours, theirs)]
    for own, other, count in SequenceMatcher(None, ours, theirs, autojunk=len(ours) > _LONG).get_matching_blocks():
        size = begins[0][own + count] - begins[0][own]
        found.append((begins[0][own], begins[1][other], size))
    return found


_LONG = 2_000
"""Lines: in longer texts, those that are everywhere tell nothing."""
