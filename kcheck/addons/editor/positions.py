"""Conversion of byte offsets and paths to LSP positions (from 0) and URIs."""

from lsprotocol import types
from pygls import uris

from kcheck.text.text import BOM, Source, Span

_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""Codec, and bytes per code unit."""


class Positions:
    """Positions for a client that counts columns in utf-8, utf-16 or utf-32 units."""

    def __init__(self, encoding: str = "utf-16") -> None:
        self._codec, self._width = _WIDTHS.get(encoding, _WIDTHS["utf-16"])

    def position(self, source: Source, offset: int) -> types.Position:
        """Convert a byte offset to a position."""
        text = source.before(offset)
        return types.Position(source.line_number(offset) - 1, len(text.encode(self._codec, "replace")) // self._width)

    def range(self, span: Span) -> types.Range:
        """Convert a span to a range."""
        return types.Range(self.position(span.source, span.start), self.position(span.source, span.end))

    def first_line(self, span: Span) -> types.Range:
        """Convert a span to a range on its first line."""
        end = min(span.end, max(span.start, span.source.line_end(span.start)))
        return self.range(span.source.span(span.start, end))

    def offset(self, source: Source, position: types.Position) -> int:
        """Convert a position to a byte offset, clamped to the end of the line or file."""
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
    """Convert a path to a URI."""
    return uris.from_fs_path(path) or ""


def path(address: str) -> str:
    """Convert a URI to a path; empty if it is no file, such as a buffer never saved."""
    return uris.to_fs_path(address) or "" if uris.urlparse(address)[0] == "file" else ""
