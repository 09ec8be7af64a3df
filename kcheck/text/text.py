"""Source files as bytes: spans, positions, edits, and what could not be read. The unit everywhere is the byte."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import cached_property
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

T = TypeVar("T")
K = TypeVar("K", bound="Hashable")

BOM = b"\xef\xbb\xbf"


class Position(NamedTuple):
    """A place as a person counts it: both from 1, the column in code points."""

    line: int
    column: int


class Source:
    """One file as it was read.

    `path` is as findings print it: relative to the working directory, with forward slashes. A `bundled` one is
    part of kcheck; nothing is ever reported in it. A `derived` one holds a part of a file in another form, on the
    same lines; it cannot be edited. Of a `private` one, only what a finding is about is ever shown. `syntax` is
    the name of what it was read as.

    No Struct: who looks whether there is anything to check does not wait 25 ms for the import of msgspec.
    """

    def __init__(
        self,
        path: str,
        data: bytes,
        bundled: bool = False,
        derived: bool = False,
        private: bool = False,
        syntax: str = "",
    ) -> None:
        self.path = path
        self.data = data
        self.bundled = bundled
        self.derived = derived
        self.private = private
        self.syntax = syntax

    def __repr__(self) -> str:
        return f"Source({self.path!r})"

    @cached_property
    def line_starts(self) -> array[int]:
        """Byte offset of the start of each line; an array takes a fifth of the memory of a list of numbers."""
        starts = array("Q", accumulate(map(len, BytesIO(self.data)), initial=0))
        if self.data[-1:] not in (b"", b"\n"):
            starts.pop()  # its last line has no end, after which another would begin
        return starts

    def line_number(self, offset: int) -> int:
        """The line (from 1) that holds byte `offset`."""
        return bisect_right(self.line_starts, offset)

    def position(self, offset: int) -> Position:
        """Line and column of byte `offset`; a byte-order mark takes no column."""
        line = self.line_number(offset)
        start = self.line_starts[line - 1]
        if line == 1 and self.data.startswith(BOM):
            start = min(len(BOM), offset)
        return Position(line, len(self.data[start:offset].decode("utf-8", "replace")) + 1)

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its line end."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.data)
        raw = self.data[starts[number - 1] : end]
        if number == 1:
            raw = raw.removeprefix(BOM)
        return raw.decode("utf-8", "replace").rstrip("\r\n")

    def line_start(self, offset: int) -> int:
        """The begin of the line that holds byte `offset`."""
        return self.line_starts[self.line_number(offset) - 1]

    def line_end(self, offset: int) -> int:
        """The end of the line that holds byte `offset`, before its line end."""
        end = self.data.find(b"\n", offset)
        end = len(self.data) if end == -1 else end
        return end - (self.data[end - 1 : end] == b"\r")

    def before(self, offset: int) -> str:
        """The line of byte `offset` up to that byte, without a byte-order mark."""
        start = self.line_start(offset)
        line = self.data[start:offset]
        return (line.removeprefix(BOM) if start == 0 else line).decode("utf-8", "replace")

    def span(self, start: int, end: int) -> Span:
        """The bytes from `start` up to, not including, `end`."""
        return Span(self, start, end)

    @property
    def newline(self) -> str:
        """The line end of this file, judged by its first one."""
        first = self.data.find(b"\n")
        return "\r\n" if first > 0 and self.data[first - 1 : first] == b"\r" else "\n"


class Span(NamedTuple):
    """Half-open range of bytes of a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The source text of the span."""
        return self.source.data[self.start : self.end].decode("utf-8", "replace")

    @property
    def line(self) -> tuple[str, int]:
        """The file, and the line in which the span begins, from 1."""
        return self.source.path, self.begin.line

    @property
    def location(self) -> str:
        """Path and line, as `main.tf:3`."""
        return f"{self.source.path}:{self.begin.line}"

    @property
    def exact_location(self) -> str:
        """Path, line and column, as `main.tf:3:5`."""
        return f"{self.location}:{self.begin.column}"

    @property
    def begin(self) -> Position:
        """Where the span begins."""
        return self.source.position(self.start)

    @property
    def finish(self) -> Position:
        """Where the span ends: the first position after it."""
        return self.source.position(self.end)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under which this is written, from the top of the file down; empty if its syntax is not read."""
        outline = OUTLINES.get(self.source.syntax)
        return outline.keys(self) if outline is not None else ()

    def member(self, name: str) -> Span | None:
        """The whole value of an attribute of the block or map that begins here, as it is written."""
        outline = OUTLINES.get(self.source.syntax)
        return outline.member(self, name) if outline is not None else None


class Problem(Struct, frozen=True):
    """A part of a file that could not be read: kcheck's own words and the place."""

    message: str
    span: Span


class Skipped(Struct, frozen=True):
    """Something that was not read: a folder, a file, a module call, the output of another tool.

    `line` is 0 for a whole file or folder. `remedy` says how to have it read, if there is a way. What kcheck leaves
    out `by_choice`, such as the code of others, is no gap. `what` became of it is said first.
    """

    path: str
    reason: str
    line: int = 0
    remedy: str = ""
    by_choice: bool = False
    what: str = "not read"


class Outline(NamedTuple):
    """The syntax of a source at a place: its keys, and the value of an attribute below it."""

    keys: Callable[[Span], tuple[str, ...]]
    member: Callable[[Span, str], Span | None]


OUTLINES: dict[str, Outline] = {}
"""By the names of syntaxes; `syntax/outlines.py` fills it."""


class Edit(NamedTuple):
    """Replace the bytes of `span` by `text`."""

    span: Span
    text: str


class OverlapError(ValueError):
    """Two edits want the same bytes."""


def apply(data: bytes, edits: list[Edit]) -> bytes:
    """Apply edits of one source, from the end backwards; all other bytes stay as they are.

    Identical edits count once. Insertions at the same offset keep the order they were given in.

    Raises:
        OverlapError: two different edits touch the same bytes.
    """
    unique = list(dict.fromkeys(edits))
    ordered = sorted(enumerate(unique), key=lambda item: (item[1].span.start, item[1].span.end, item[0]))
    end = 0
    parts: list[bytes] = []
    for _, edit in ordered:
        if edit.span.start < end:
            raise OverlapError(f"edits overlap at byte {edit.span.start}")
        parts += [data[end : edit.span.start], edit.text.encode()]
        end = edit.span.end
    parts.append(data[end:])
    return b"".join(parts)


def leading(first: Sequence[object], second: Sequence[object]) -> int:
    """Number of leading parts that two split texts share: folders, words or lines."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


_LONG = 2_000
"""Texts of more lines are compared by their rare lines only: the others would take minutes."""

Step = tuple[str, int, int, int, int]
"""What becomes of some lines, as difflib says it: equal, replace, delete or insert, and their ranges."""


def steps(old: list[bytes], new: list[bytes]) -> Iterator[Step]:
    """Steps that turn the lines of one text into those of another."""
    from difflib import SequenceMatcher

    head = leading(old, new)
    tail = leading(old[head:][::-1], new[head:][::-1])
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    yield "equal", 0, head, 0, head
    matcher = SequenceMatcher(None, before, after, autojunk=len(after) > _LONG)
    for kind, start, end, to, stop in matcher.get_opcodes():
        yield kind, start + head, end + head, to + head, stop + head
    yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Things by what a function says of them, in their order."""
    result: dict[K, list[T]] = {}
    for thing in things:
        result.setdefault(key(thing), []).append(thing)
    return result
