"""Texts that are being typed: of those that cannot be read, the last one that could stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.editor.snapshot import StandIn
from kcheck.files.tree import HCL, MANIFESTS, VARIABLES, display_path, holds_objects
from kcheck.source.text import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.syntax.problem import Problem


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
        problem = problem_of(text)
        if problem is None:
            self._good[real] = data
            return None
        good = self._good.get(real)
        return None if good is None else StandIn(text, problem, good)


def problem_of(text: Source) -> Problem | None:
    """The first thing in a text that cannot be read; None if there is none, or its syntax is not one of ours."""
    if text.path.endswith((*HCL, *VARIABLES)) and not text.path.endswith(".json"):
        from kcheck.syntax.hcl.parse import parse

        return next(iter(parse(text).problems), None)
    if text.path.endswith(MANIFESTS) and holds_objects(text.data):
        from kcheck.syntax import yaml

        return next((found.problem for found in yaml.documents(text) if found.problem is not None), None)
    return None


def moved(offset: int, before: bytes, after: bytes) -> int:
    """Where a byte of a text is in a later one: what stands before and behind the change stays where it was."""
    first, last = _same(before, after)
    if offset <= first:
        return offset
    if offset >= len(before) - last:
        return offset + len(after) - len(before)
    return min(offset, len(after) - last)


def kept(offset: int, before: bytes, after: bytes) -> int | None:
    """Where a byte of a text is in another one, if its whole line is the same there."""
    if before == after:
        return offset
    first, last = _same(before, after)
    begin, end = before.rfind(b"\n", 0, offset) + 1, before.find(b"\n", offset)
    if 0 <= end < first or (end < 0 and first == len(before)):
        return offset
    return offset + len(after) - len(before) if begin >= len(before) - last else None


def _same(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes two texts share at the begin, and behind them at the end."""
    both = min(len(before), len(after))
    first = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), both)
    rest = both - first
    return first, next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
