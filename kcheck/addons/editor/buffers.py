"""Texts that are being typed: of those that cannot be read, the last one that could stands."""

from __future__ import annotations

from bisect import bisect_right
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.files.tree import HCL, MANIFESTS, VARIABLES, display_path, holds_objects
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.text.text import Problem


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
        problem = problem_of(text)
        if problem is None:
            self._good[real] = data
            return None
        good = self._good.get(real)
        return None if good is None else StandIn(text, problem, good)


def problem_of(text: Source) -> Problem | None:
    """The first thing in a text that cannot be read; None if there is none, or its syntax is not one of ours."""
    if text.path.endswith((*HCL, *VARIABLES)) and not text.path.endswith(".json"):
        from kcheck.text.syntax.hcl.parse import parse

        return next(iter(parse(text).problems), None)
    if text.path.endswith(MANIFESTS) and holds_objects(text.data):
        from kcheck.text.syntax import yaml

        return next((found.problem for found in yaml.documents(text) if found.problem is not None), None)
    return None


def moved(offset: int, before: bytes, after: bytes) -> int:
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
