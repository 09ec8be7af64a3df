"""Align `=` and comments like `terraform fmt` in edited lines.

How lines are grouped: https://github.com/hashicorp/hcl/blob/main/hclwrite/format.go (linesForFormat, formatCells).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcheck.text.syntax.hcl.trees import tokens
from kcheck.text.text import Edit, apply

_OPENING = frozenset({"{", "[", "(", "template_interpolation_start", "template_directive_start"})
_CLOSING = frozenset({"}", "]", ")", "template_interpolation_end", "template_directive_end"})


class _Line(NamedTuple):
    """A line in up to three cells, with the blanks before the second and the third."""

    lead: str
    gap: int
    assign: str
    space: int
    comment: str

    @property
    def column(self) -> int:
        """Number of characters before the second cell."""
        return len(self.lead) + self.gap

    @property
    def width(self) -> int:
        """Number of characters up to the blanks before the comment."""
        return self.column + len(self.assign)


def apply_aligned(data: bytes, edits: list[Edit]) -> bytes:
    """Apply edits; lines that were aligned are aligned again.

    Raises OverlapError if two different edits touch the same bytes.
    """
    new = apply(data, edits)
    before = Lines(data)
    touched: set[int] = set()
    shift = 0
    after: Lines | None = None
    for start, end, size in sorted((e.span.start, e.span.end, len(e.text.encode())) for e in dict.fromkeys(edits)):
        first, last = before.number(start), before.number(end)
        lines = range(first, last + 1 + (start == end))
        if before.is_aligned(lines):
            after = after or Lines(new)
            if before.has(first, "assign"):
                after.open(after.number(start + shift))
            begin, finish = after.number(start + shift), after.number(start + shift + size)
            begin -= before.is_joined(first - 1)  # a line that leaves its run leaves it narrower
            finish += before.is_joined(last)
            touched.update(range(begin, finish + 1))
        elif start == end:
            after = after or Lines(new)
            after.follow(start + shift, start + shift + size)
        shift += size - (end - start)
    return after.aligned(touched) if after else new


def align_all(data: bytes) -> bytes:
    """Align all runs of lines."""
    cells = Lines(data)
    return cells.aligned(set(range(len(cells.lines))))


class Lines:
    """Lines of a file as cells, computed lazily; a heredoc belongs to its first line."""

    def __init__(self, data: bytes) -> None:
        found = list(tokens(data))
        within = sorted(_within(data, found))
        self.lines: list[bytes] = []
        self.starts = [0]
        for at in (match.start() for match in re.finditer(b"\n", data)):
            near = bisect_right(within, (at, len(data))) - 1
            if near < 0 or within[near][1] <= at:
                self.lines.append(data[self.starts[-1] : at])
                self.starts.append(at + 1)
        self.lines.append(data[self.starts[-1] :])
        self.known: dict[int, _Line | None] = {}
        self.marks: dict[int, list[tuple[str, int]]] = {}
        for kind, start in found:
            number = self.number(start)
            self.marks.setdefault(number, []).append((kind, start - self.starts[number]))

    def number(self, offset: int) -> int:
        """Return the number of the line that holds a byte, from 0."""
        return bisect_right(self.starts, offset) - 1

    def begins(self, offset: int) -> bool:
        """Whether a line begins at a byte, outside heredocs and block comments."""
        return self.starts[self.number(offset)] == offset

    def at(self, number: int) -> _Line | None:
        """Return a line split into cells; None without anything to align."""
        if number not in self.known:
            self.known[number] = self._cut(number) if 0 <= number < len(self.lines) else None
        return self.known[number]

    def _cut(self, number: int) -> _Line | None:
        raw = self.lines[number].rstrip(b"\r")
        equals, comment, net = -1, len(raw), 0
        for i, (kind, at) in enumerate(self.marks.get(number, ())):
            if kind == "=" and i and equals < 0:
                equals, net = at, 0
            net += (kind in _OPENING) - (kind in _CLOSING)
            if kind == "comment" and i and not raw.startswith(b"/*", at):
                comment = at
        whole = equals >= 0 and not net  # an expression over several lines is not aligned
        split = equals if whole else comment
        lead, assign = _text(raw[:split]), _text(raw[split:comment])
        bare_lead, bare_assign = lead.rstrip(" \t"), assign.rstrip(" \t")
        last = assign if whole else lead
        if not whole and comment == len(raw):
            return None
        gap = len(lead) - len(bare_lead) if whole else 0
        return _Line(bare_lead, gap, bare_assign, len(last) - len(last.rstrip(" \t")), _text(raw[comment:]))

    def open(self, number: int) -> None:
        """Remove extra spaces before `=` if its expression now covers several lines."""
        marks, line = self.marks.get(number, ()), self.lines[number]
        at = next((at for i, (kind, at) in enumerate(marks) if kind == "=" and i), None)
        if at is not None and not self.has(number, "assign"):
            self.lines[number] = line[:at].rstrip(b" \t") + b" " + line[at:]

    def follow(self, start: int, end: int) -> None:
        """Put the `=` of new lines in the column of the lines above, if these are aligned."""
        for number in range(self.number(start), self.number(end) + 1):
            above, line, first = self.at(number - 1), self.at(number), self.starts[number]
            if above and line and above.assign and line.assign and start <= first < end:
                before = self.at(number - 2)
                if above.gap == 1 and not (before and before.column == above.column):
                    continue
                gap = max(line.gap, above.column - len(line.lead))
                self.known[number] = line._replace(gap=gap)
                self.lines[number] = self.lines[number].replace(b"=", b" " * (gap - line.gap) + b"=", 1)

    def is_joined(self, number: int) -> bool:
        """Whether a line is aligned together with the next one."""
        return any(self.has(number, cell) and self.has(number + 1, cell) for cell in ("assign", "comment"))

    def is_aligned(self, numbers: Iterable[int]) -> bool:
        """Whether the runs around some lines are aligned as by `terraform fmt`."""
        return all(self.at(number) == line for number, line in self._changed(set(numbers)))

    def aligned(self, numbers: set[int]) -> bytes:
        """Return the bytes with the runs around some lines aligned."""
        for number, line in self._changed(numbers):
            text = line.lead + " " * line.gap + line.assign + " " * line.space + line.comment
            end = b"\r" if self.lines[number].endswith(b"\r") else b""
            self.lines[number] = text.encode("utf-8", "surrogateescape") + end
        return b"\n".join(self.lines)

    def _changed(self, numbers: set[int]) -> Iterator[tuple[int, _Line]]:
        """Yield the aligned lines of all runs that contain some lines."""
        result: dict[int, _Line] = {}
        for run in self._runs(numbers, "assign"):
            width = max(len(line.lead) for _, line in run)
            result |= {number: line._replace(gap=width - len(line.lead) + 1) for number, line in run}
        for run in self._runs(numbers | set(result), "comment"):
            own = [(number, result.get(number, line)) for number, line in run]
            width = max(line.width for _, line in own)
            result |= {number: line._replace(space=width - line.width + 1) for number, line in own}
        yield from result.items()

    def _runs(self, numbers: set[int], cell: str) -> Iterator[list[tuple[int, _Line]]]:
        """Yield the runs of neighbouring lines with a cell that contain some lines."""
        done: set[int] = set()
        for number in sorted(numbers):
            if number in done or not self.has(number, cell):
                continue
            while self.has(number - 1, cell):
                number -= 1  # noqa: PLW2901 - to the begin of the run
            run: list[tuple[int, _Line]] = []
            while (line := self.at(number)) and getattr(line, cell):
                run.append((number, line))
                number += 1  # noqa: PLW2901
            done.update(at for at, _ in run)
            yield run

    def has(self, number: int, cell: str) -> bool:
        """Whether a line has a cell."""
        return bool(getattr(self.at(number), cell, ""))


def _within(data: bytes, found: list[tuple[str, int]]) -> Iterator[tuple[int, int]]:
    """Yield heredocs and block comments, in which a newline does not end a line."""
    heredocs: list[int] = []
    opened = False
    for kind, start in found:
        if kind == "comment" and data.startswith(b"/*", start):
            yield start, data.find(b"*/", start)
        elif kind in ("<<", "<<-"):
            heredocs.append(start)
            opened = True
        elif kind == "heredoc_identifier" and heredocs:
            if not opened:
                yield heredocs.pop(), start
            opened = False


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
