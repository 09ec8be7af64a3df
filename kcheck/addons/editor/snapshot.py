"""Immutable state of a folder: its code, and what kcheck found in it."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple, TypeVar, cast

from kcheck.config.config import Config
from kcheck.engine.linter import Result
from kcheck.inventory.reading import Reading
from kcheck.scale.world import World
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.save import LineMatcher
from kcheck.text.files.tree import HCL, MANIFESTS, VARIABLES, Tree, display_path, holds_objects
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Problem, Source, Span

T = TypeVar("T")


class Snapshot:
    """Everything read and found in a folder; never changes.

    `named` is the folder's path in the editor, which may lead through a link. `stand_ins` are files, by real path,
    whose last readable text was checked instead of the editor's. A `partial` snapshot has new findings only for what
    changed, and those of the last run for the rest.
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
        self._addresses: dict[str, str] = {}
        self._made: dict[Callable[[Snapshot], object], object] = {}

    def once(self, make: Callable[[Snapshot], T]) -> T:
        """Call a function on this snapshot once, and return its result."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("T", self._made[make])

    @property
    def reading(self) -> Reading:
        """Files and inventory."""
        return self.result.reading

    @property
    def world(self) -> World:
        """Inventory with everything computed from it."""
        return self.result.world

    def source(self, real: str) -> Source | None:
        """Return the checked file with a real path; None if kcheck has not read it."""
        return self._sources.get(real)

    def shown(self, span: Span) -> Span:
        """Convert a span of the checked text to the editor's text."""
        stand_in = self.stand_ins.get(self.real_path(span.source))
        if stand_in is None:
            return span
        start, end = (_moved(offset, stand_in.good, stand_in.text.data) for offset in span[1:])
        return stand_in.text.span(start, max(start, end))

    def real_path(self, source: Source) -> str:
        """Return a file's real path; empty for kcheck's own files and derived sources."""
        return self._paths.get(source, "")

    def address(self, path: str) -> str:
        """Return a path's URI, under the folder's name in the editor."""
        from kcheck.addons.editor.positions import uri

        if path not in self._addresses:
            real = system.real_path(path)
            inside = contains_path(self.folder, real)
            own = os.path.join(self._named, os.path.relpath(real, self.folder)) if inside else real
            self._addresses[path] = uri(own)
        return self._addresses[path]

    @cached_property
    def _sources(self) -> dict[str, Source]:
        return {real: source for real, source in self.tree.sources.items() if source is not None}

    @cached_property
    def _paths(self) -> dict[Source, str]:
        return {source: real for real, source in self._sources.items()}


class StandIn(NamedTuple):
    """A file with a syntax error, and the readable bytes checked instead."""

    text: Source
    problem: Problem
    good: bytes


class Buffers:
    """Remembers the last readable text of each open file."""

    def __init__(self) -> None:
        self._good: dict[str, bytes] = {}
        self._seen: dict[str, tuple[bytes, StandIn | None]] = {}

    def stand_ins(self, texts: Mapping[str, bytes]) -> dict[str, StandIn]:
        """Return stand-ins for unreadable texts that once were readable."""
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
    """Return the first syntax error; None without one."""
    if text.path.endswith((*HCL, *VARIABLES)) and not text.path.endswith(".json"):
        return next(iter(parse(text).problems), None)
    if text.path.endswith(MANIFESTS) and holds_objects(text.data):
        return next((found.problem for found in yaml.documents(text) if found.problem is not None), None)
    return None


def _moved(offset: int, before: bytes, after: bytes) -> int:
    blocks = _equal_lines(before, after)
    own, other, size = blocks[bisect_right(blocks, offset, key=lambda block: block[0]) - 1]
    return other + min(offset - own, size)


def kept(offset: int, before: bytes, after: bytes) -> int | None:
    """Map an offset to another text; None if its line is not there."""
    if before == after:
        return offset
    blocks = _equal_lines(before, after)
    own, other, size = blocks[bisect_right(blocks, offset, key=lambda block: block[0]) - 1]
    return other + offset - own if offset - own < size else None


@lru_cache(maxsize=16)  # all findings of a half-typed file come together
def _equal_lines(before: bytes, after: bytes) -> list[tuple[int, int, int]]:
    """List blocks of common lines: offset in each text, and length in bytes."""
    ours, theirs = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found = [(0, 0, 0)]
    begins = [list(accumulate(map(len, lines), initial=0)) for lines in (ours, theirs)]
    for own, other, count in LineMatcher(ours, theirs).get_matching_blocks():
        size = begins[0][own + count] - begins[0][own]
        found.append((begins[0][own], begins[1][other], size))
    return found
