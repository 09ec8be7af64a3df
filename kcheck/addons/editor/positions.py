"""Places in bytes, and as an editor counts them: lines and columns from 0, paths as URIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import uris

from kcheck.text.text import BOM

if TYPE_CHECKING:
    from kcheck.text.text import Source, Span

_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""How many bytes of an encoding a column takes."""


class Positions:
    """Positions for a client that counts columns in code units of an encoding: utf-8, utf-16 or utf-32."""

    def __init__(self, encoding: str = "utf-16") -> None:
        self._codec, self._width = _WIDTHS.get(encoding, _WIDTHS["utf-16"])

    def position(self, source: Source, offset: int) -> types.Position:
        """The position of byte `offset`."""
        text = source.before(offset)
        return types.Position(source.line_number(offset) - 1, len(text.encode(self._codec, "replace")) // self._width)

    def range(self, span: Span) -> types.Range:
        """A span as a range."""
        return types.Range(self.position(span.source, span.start), self.position(span.source, span.end))

    def first_line(self, span: Span) -> types.Range:
        """A span as a range that ends with its first line: nobody wants a whole block underlined."""
        end = min(span.end, max(span.start, span.source.line_end(span.start)))
        return self.range(span.source.span(span.start, end))

    def offset(self, source: Source, position: types.Position) -> int:
        """The byte at a position; the end of the line or of the file where it is beyond."""
        starts = source.line_starts
        if position.line >= len(starts):
            return len(source.data)
        start = starts[position.line]
        line = source.data[start : source.line_end(start)]
        skipped = len(BOM) if position.line == 0 and line.startswith(BOM) else 0
        units = (
            line[skipped:].decode("utf-8", "replace").encode(self._codec, "replace")[: position.character * self._width]
        )
        return start + skipped + len(units.decode(self._codec, "ignore").encode())


def uri(path: str) -> str:
    """The URI of a path of the file system."""
    return uris.from_fs_path(path) or ""


def path(address: str) -> str:
    """The path of a URI; empty if it is of no file, such as a buffer that was never saved."""
    return uris.to_fs_path(address) or "" if uris.urlparse(address)[0] == "file" else ""
