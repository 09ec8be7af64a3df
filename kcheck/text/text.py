"""Source files as bytes: spans, positions, edits; offsets in bytes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from importlib import import_module
from io import BytesIO
from itertools import accumulate
from typing import NamedTuple, TypeVar, cast

from msgspec import Struct

T = TypeVar("T")
K = TypeVar("K", bound="Hashable")

BOM = b"\xef\xbb\xbf"


class Position(NamedTuple):
    """Line and column as editors show them: from 1, the column in code points."""

    line: int
    column: int


class Source:
    """A file as it was read.

    `path` is as findings print it: relative to the working directory, with forward slashes. `bundled`: part of kcheck,
    so that nothing is reported in it. `derived`: a part of a file in another form, on the same lines, which cannot be
    edited. `private`: only the lines of a finding are ever shown. `syntax` it was read as, and the `tree` read once.

    Not a Struct: finding out that there is nothing to check must not take the 25 ms of importing msgspec.
    """

    def __init__(
        self, path: str, data: bytes, bundled: bool = False, derived: bool = False, private: bool = False,
        syntax: str = "",
    ) -> None:  # fmt: skip
        self.path = path
        self.data = data
        self.bundled = bundled
        self.derived = derived
        self.private = private
        self.syntax = syntax
        self.tree: object = None

    def __repr__(self) -> str:
        return f"Source({self.path!r})"

    @cached_property
    def uneditable(self) -> Source:
        """Source for values written in another form, which no fix edits."""
        return self if self.derived else Source(self.path, self.data, derived=True)

    @cached_property
    def line_starts(self) -> array[int]:
        """Byte offset of the start of each line, in a compact array."""
        starts = array("Q", accumulate(map(len, BytesIO(self.data)), initial=0))
        if self.data[-1:] not in (b"", b"\n"):
            starts.pop()  # its last line has no end, after which another would begin
        return starts

    def line_number(self, offset: int) -> int:
        """Return the line (from 1) that holds byte `offset`."""
        return bisect_right(self.line_starts, offset)

    def position(self, offset: int) -> Position:
        """Return line and column of byte `offset`; a byte-order mark takes no column."""
        line = self.line_number(offset)
        start = self.line_starts[line - 1]
        if line == 1 and self.data.startswith(BOM):
            start = min(len(BOM), offset)
        return Position(line, len(self.data[start:offset].decode("utf-8", "replace")) + 1)

    def line(self, number: int) -> str:
        """Return the text of line `number` (from 1), without its line end."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.data)
        raw = self.data[starts[number - 1] : end]
        if number == 1:
            raw = raw.removeprefix(BOM)
        return raw.decode("utf-8", "replace").rstrip("\r\n")

    def line_start(self, offset: int) -> int:
        """Return the start of the line that holds byte `offset`."""
        return self.line_starts[self.line_number(offset) - 1]

    def line_end(self, offset: int) -> int:
        """Return the end of the line that holds byte `offset`, before its line end."""
        end = self.data.find(b"\n", offset)
        end = len(self.data) if end == -1 else end
        return end - (self.data[end - 1 : end] == b"\r")

    def before(self, offset: int) -> str:
        """Return the line of byte `offset` up to that byte, without a byte-order mark."""
        start = self.line_start(offset)
        line = self.data[start:offset]
        return (line.removeprefix(BOM) if start == 0 else line).decode("utf-8", "replace")

    def span(self, start: int, end: int) -> Span:
        """Return the span from `start` up to, not including, `end`."""
        return Span(self, start, end)

    @property
    def newline(self) -> str:
        """Line end of this file, judged by its first one."""
        first = self.data.find(b"\n")
        return "\r\n" if first > 0 and self.data[first - 1 : first] == b"\r" else "\n"


class Span(NamedTuple):
    """A half-open range of bytes of a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """Source text of the span."""
        return self.source.data[self.start : self.end].decode("utf-8", "replace")

    @property
    def line(self) -> tuple[str, int]:
        """Path of the file, and the line (from 1) in which the span begins."""
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
        """Position of the start."""
        return self.source.position(self.start)

    @property
    def finish(self) -> Position:
        """Position after the last byte of the span."""
        return self.source.position(self.end)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys that lead to the span; empty if its syntax has no outline."""
        keys = cast("Callable[[Span], tuple[str, ...]] | None", self._outline(0))
        return keys(self) if keys is not None else ()

    def holds(self, other: Span) -> bool:
        """Whether another span lies in it."""
        return self.source is other.source and self.start <= other.start and other.end <= self.end

    def member(self, name: str) -> Span | None:
        """Return the value of an attribute that begins here, as written."""
        find = cast("Callable[[Span, str], Span | None] | None", self._outline(1))
        return find(self, name) if find is not None else None

    def _outline(self, number: int) -> object:
        """Import a function of its syntax's outline; None if it has none."""
        module, *functions = _OUTLINES.get(self.source.syntax, ("",))
        return getattr(import_module(f"kcheck.text.syntax.{module}"), functions[number]) if functions[number:] else None


_OUTLINES = {
    "hcl": ("hcl.names", "keys", "member"),
    "yaml": ("key_paths", "in_yaml"),
    "json": ("key_paths", "in_json", "json_member"),
    "plan": ("json", "key_of"),  # too large to be read again
}
"""Syntax -> its module, and the functions for the keys of a place and for an attribute; few places are asked."""


class Problem(Struct, frozen=True):
    """A part of a file that could not be read: message and span."""

    message: str
    span: Span


def not_text(span: Span) -> Problem | None:
    """Return a problem for the first bytes that are not UTF-8; else None."""
    try:
        span.source.data[span.start : span.end].decode()
    except UnicodeDecodeError as error:
        return Problem("not UTF-8 text", span.source.span(span.start + error.start, span.start + error.end))
    return None


class Skipped(Struct, frozen=True):
    """A folder, file, module call or output that was not read.

    `line` is 0 for a whole file or folder. `remedy`: how to have it read, if possible. `by_choice`: kcheck leaves it
    out on purpose, such as third-party code, so that it is no gap. `what`: words for what happened to it.
    """

    path: str
    reason: str
    line: int = 0
    remedy: str = ""
    by_choice: bool = False
    what: str = "not read"


class Edit(Struct, frozen=True):
    """Replacement of the bytes of `span` by `text`."""

    span: Span
    text: str


class OverlapError(ValueError):
    """Two edits want the same bytes."""


def apply(data: bytes, edits: list[Edit]) -> bytes:
    """Apply edits of one source; all other bytes stay as they are.

    Identical edits count once. Insertions at the same offset keep the order they were given in. Raises OverlapError if
    two different edits touch the same bytes.
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
    """Count the leading parts that two split texts share: folders, words or lines."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group items by a key, in their order."""
    result: dict[K, list[T]] = {}
    for thing in things:
        result.setdefault(key(thing), []).append(thing)
    return result
