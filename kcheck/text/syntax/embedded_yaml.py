"""Read YAML from texts made of pieces, each with its span."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text import placeholders
from kcheck.text.need import first_unknown
from kcheck.text.syntax import yaml
from kcheck.text.text import Problem, Source, Span
from kcheck.text.values import Datum, Known, Origin, Piece, Unknown

_UNKNOWN = "unknown-part"
"""Stands for an unknown part while a text is parsed."""


def documents(pieces: tuple[Piece, ...]) -> Iterator[yaml.Target]:
    """Yield the YAML documents in a text joined from pieces, skipping invalid ones."""
    return (root for root in read(pieces) if not isinstance(root, Problem))


def read(pieces: tuple[Piece, ...], wanted: Callable[[bytes], bool] = bool) -> Iterator[yaml.Target | Problem]:
    """Yield the `wanted` YAML documents in a text made of pieces."""
    text = _Text(pieces)
    for document in filled(text.source, wanted):
        if document.problem is not None:
            place = document.problem.span
            yield replace(document.problem, span=text.span(place.start, place.end))
        elif document.root is not None:
            yield text.placed(document.root)


def filled(source: Source, wanted: Callable[[bytes], bool]) -> list[yaml.Document]:
    """Return the YAML documents of a file with placeholders for templates."""
    found = list(yaml.documents(source, wanted))
    if not any(document.problem for document in found):
        return found
    instead = placeholders.without_templating(source.data)
    again = list(yaml.documents(source, wanted, instead)) if instead is not None else found
    return found if any(document.problem for document in again) else again


def lines(pieces: tuple[Piece, ...]) -> list[list[Piece]]:
    """Split a text joined from pieces into lines, each with its pieces."""
    result: list[list[Piece]] = [[]]
    for piece in pieces:
        for part in _by_line(piece):
            result[-1].append(part)
            if part.text.endswith("\n"):
                result.append([])
    return result


def _by_line(piece: Piece) -> Iterator[Piece]:
    if isinstance(piece.datum, Unknown) or "\n" not in piece.text[:-1]:
        yield piece
        return
    for text, span, same in _aligned(piece):
        at = span.start
        for line in re.findall(r"[^\n]*\n|[^\n]+", text):
            place = Span(span.source, at, at + len(line.encode())) if same else span
            at = place.end
            yield Piece(line, place, None if same else Known(line, Origin((span,))))


def embedded_lines(scalar: yaml.Scalar) -> tuple[Piece, ...]:
    """Split a scalar that contains YAML into lines, with spans if they are unescaped."""
    source, data = scalar.source, scalar.source.data
    if scalar.style == "literal":
        pieces = []
        at = data.find(b"\n", scalar.start) + 1
        for line in scalar.text.splitlines(keepends=True):
            end = data.find(b"\n", at) + 1 or len(data)
            bare = data[at:end].rstrip(b"\r\n")
            text = line.rstrip("\n").encode()
            if not bare.endswith(text):
                break
            stop = end if line.endswith("\n") else at + len(bare)
            pieces.append(Piece(line, source.span(at + len(bare) - len(text), stop)))
            at = end
        else:
            return tuple(pieces)
    inner = scalar.span if scalar.style == "plain" else source.span(scalar.start + 1, scalar.end - 1)
    if inner.text == scalar.text:
        return (Piece(scalar.text, inner),)
    return (Piece(scalar.text, scalar.span, Known(scalar.text, Origin((scalar.span,)))),)


def data(node: yaml.Node) -> Datum:
    """Convert a tree to data with the spans of its parts."""
    node = yaml.resolve(node)
    origin = Origin((node.span,))
    if isinstance(node, yaml.Computed):
        return node.datum
    if isinstance(node, yaml.Scalar):
        return Known(yaml.value(node), origin)
    if isinstance(node, yaml.Sequence):
        return Known(tuple(map(data, node.items)), origin)
    entries = {key: data(entry.value) for key, entry in yaml.entries(node).items()}
    return Known(dict(sorted(entries.items())), origin)


class _Segment(Struct, frozen=True):
    """Bytes of a joined text from one span; `verbatim` without escapes."""

    start: int
    end: int
    span: Span
    verbatim: bool
    datum: Datum | None


class _Text:
    """A text joined from pieces, parsed, and mapped back to their spans."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        parts: list[bytes] = []
        self.done: dict[yaml.Target, yaml.Target] = {}
        self.segments: list[_Segment] = []
        at = 0
        for piece in pieces:
            unknown = isinstance(piece.datum, Unknown)
            for text, span, verbatim in [(_UNKNOWN, piece.span, False)] if unknown else _aligned(piece):
                data = text.encode("utf-8", "replace")
                self.segments.append(_Segment(at, at + len(data), span, verbatim, piece.datum))
                parts.append(data)
                at += len(data)
        self.source = Source(pieces[0].span.source.path if pieces else "", b"".join(parts), derived=True)
        self.starts = [segment.start for segment in self.segments]
        self.ends = [segment.end for segment in self.segments]

    def _at(self, start: int, end: int) -> list[_Segment]:
        touched = self.segments[bisect_right(self.ends, start) : bisect_left(self.starts, end)]
        if touched:
            return touched
        last = bisect_right(self.starts, start) - 1
        return self.segments[last : last + 1]

    def span(self, start: int, end: int) -> Span:
        """Return where a part of the text is written."""
        touched = self._at(start, end)
        first, last = touched[0], touched[-1]
        begin = first.span.start + (start - first.start if first.verbatim else 0)
        finish = last.span.start + end - last.start if last.verbatim else last.span.end
        if first.span.source is not last.span.source:
            finish = first.span.end
        return Span(first.span.source, begin, max(begin, finish))

    def placed(self, node: yaml.Node) -> yaml.Target:
        """Return a node with the spans of its pieces; aliased nodes are visited once."""
        node = yaml.resolve(node)
        if node not in self.done:
            self.done[node] = self._placed(node)
        return self.done[node]

    def _placed(self, node: yaml.Target) -> yaml.Target:
        if isinstance(node, yaml.Scalar):
            return self._scalar(node)
        span = self.span(node.start, node.end)
        if isinstance(node, yaml.Sequence):
            return yaml.Sequence(*span, node.anchor, tuple(map(self.placed, node.items)), node.flow)
        entries = (yaml.Pair(self._scalar(e.key), self.placed(e.value)) for e in yaml.entries(node).values())
        return yaml.Mapping(*span, node.anchor, tuple(entries), node.flow)

    def _scalar(self, node: yaml.Scalar) -> yaml.Scalar:
        touched = self._at(node.start, node.end)
        span = self.span(node.start, node.end)
        if all(segment.verbatim for segment in touched) and len(touched) == 1:
            return replace(node, source=span.source, start=span.start, end=span.end)
        unknown = first_unknown(s.datum for s in touched)
        value = yaml.value(node)
        only = touched[0].datum if [(one.start, one.end) for one in touched] == [(node.start, node.end)] else None
        origin = (only.origin if only is not None else None) or Origin((span,))
        symbol = only.symbol if isinstance(only, Unknown) else None
        datum: Datum = Known(value, origin) if unknown is None else Unknown(unknown.reason, origin, symbol)
        return yaml.Computed(*span, None, node.text, node.style, node.tag, datum)


def _aligned(piece: Piece) -> list[tuple[str, Span, bool]]:
    """Split a piece into lines with their spans."""
    raw = piece.span.text
    if piece.datum is not None:
        return [(piece.text, piece.span, False)]
    if raw == piece.text:
        return [(piece.text, piece.span, True)]
    texts, lines = piece.text.split("\n"), raw.split("\n")
    if len(texts) != len(lines):
        return [(piece.text, piece.span, False)]
    result = []
    at = piece.span.start
    for i, (text, line) in enumerate(zip(texts, lines, strict=True)):
        bare = line.removesuffix("\r")
        end = at + len(bare.encode())
        newline = "\n" if i < len(texts) - 1 else ""
        same = bare.endswith(text)
        begin = end - len(text.encode()) if same else at
        result.append((text, Span(piece.span.source, begin, end), same))
        if newline:
            result.append((newline, Span(piece.span.source, end, at + len(line.encode()) + 1), len(line) == len(bare)))
        at += len(line.encode()) + 1
    return result
