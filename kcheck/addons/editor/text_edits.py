"""New bytes of files as edits that an editor makes: small ones, at the positions that it counts."""

from __future__ import annotations

from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING

from lsprotocol import types

from kcheck.text.text import Source, steps

if TYPE_CHECKING:
    from kcheck.addons.editor.positions import Positions


class UneditableError(Exception):
    """A file that an editor shows otherwise than it is, and why."""


def text_edits(source: Source, new: bytes, positions: Positions) -> list[types.TextEdit]:
    """The edits that turn a file into new bytes; what stays is left alone, so that a cursor stays where it is.

    Raises:
        UneditableError: the positions of an editor would be others.
    """
    check_editable(source.path, source.data, new)
    before, after = list(BytesIO(source.data)), list(BytesIO(new))
    starts, ends = list(accumulate(map(len, before), initial=0)), list(accumulate(map(len, after), initial=0))
    result = []
    for kind, first, last, to, stop in steps(before, after):
        if kind == "equal":
            continue
        start, text = starts[first], new[ends[to] : ends[stop]]
        head, tail = _shared(source.data[start : starts[last]], text)
        span = source.span(start + head, starts[last] - tail)
        result.append(types.TextEdit(positions.range(span), text[head : len(text) - tail].decode()))
    return result


def check_editable(path: str, *texts: bytes) -> None:
    """Refuse texts whose places an editor counts otherwise.

    Raises:
        UneditableError: that is so.
    """
    for text in texts:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise UneditableError(f"{path} is not UTF-8") from error
        if b"\r" in text.replace(b"\r\n", b""):
            raise UneditableError(f"{path} has carriage returns inside its lines")


def _shared(before: bytes, after: bytes) -> tuple[int, int]:
    """How many bytes at the begin and at the end of two texts are equal, in whole characters and line ends."""
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    while head and (_is_inside(before, head) or _is_inside(after, head)):
        head -= 1
    most -= head
    tail = next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)
    while tail and (_is_inside(before, len(before) - tail) or _is_inside(after, len(after) - tail)):
        tail -= 1
    return head, tail


def _is_inside(text: bytes, at: int) -> bool:
    """Whether a place is inside a character, or between the two of a line end."""
    return text[at : at + 1] != b"" and (0x80 <= text[at] < 0xC0 or text[at - 1 : at + 1] == b"\r\n")
