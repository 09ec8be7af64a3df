"""Texts that templates made, read as YAML: each part with its place in the code, also where some are not known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck.syntax import yaml
from kcheck.text import Source, Span
from kcheck.values import Datum, Known, Origin, Piece, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.syntax.problem import Problem

_UNKNOWN = "unknown-part"
"""What stands for a part of a text that is not known while the text is parsed."""


def documents(pieces: tuple[Piece, ...], problems: list[Problem] | None = None) -> Iterator[yaml.Target]:
    """The YAML documents in a text that was joined from pieces; what cannot be read goes to the problems."""
    text = _Text(pieces)
    for document in yaml.documents(text.source):
        if document.root is not None:
            yield text.placed(document.root)
        elif document.problem is not None and problems is not None:
            problem = document.problem
            problems.append(problem._replace(span=text.place(problem.span.start, problem.span.end)))


def data(node: yaml.Node) -> Datum:
    """A tree as data, with the places of its parts."""
    node = yaml.resolve(node)
    origin = Origin((node.span,))
    if isinstance(node, yaml.Given):
        return node.datum
    if isinstance(node, yaml.Scalar):
        return Known(yaml.value(node), origin)
    if isinstance(node, yaml.Sequence):
        return Known(tuple(map(data, node.items)), origin)
    entries: dict[str, Any] = {key: data(entry.value) for key, entry in yaml.entries(node).items()}
    return Known(dict(sorted(entries.items())), origin)


class _Segment(NamedTuple):
    """Bytes of the joined text that come from one place; `verbatim` ones are written there as they are."""

    start: int
    end: int
    span: Span
    verbatim: bool
    datum: Datum | None


class _Text:
    """A text joined from its pieces, parsed, and put back to where the pieces are written."""

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
        self.source = Source(pieces[0].span.source.path, b"".join(parts), derived=True)

    def _at(self, start: int, end: int) -> list[_Segment]:
        """The segments that a part of the text lies in."""
        return [s for s in self.segments if s.start < end and start < s.end] or [
            s for s in self.segments if s.start <= start <= s.end
        ][-1:]

    def place(self, start: int, end: int) -> Span:
        """Where a part of the text is written."""
        touched = self._at(start, end)
        first, last = touched[0], touched[-1]
        begin = first.span.start + (start - first.start if first.verbatim else 0)
        finish = last.span.start + end - last.start if last.verbatim else last.span.end
        if first.span.source is not last.span.source:
            finish = first.span.end
        return Span(first.span.source, begin, max(begin, finish))

    def placed(self, node: yaml.Node) -> yaml.Target:
        """A node with the places of its pieces; what an alias stands for is placed once."""
        node = yaml.resolve(node)
        if node not in self.done:
            self.done[node] = self._placed(node)
        return self.done[node]

    def _placed(self, node: yaml.Target) -> yaml.Target:
        if isinstance(node, yaml.Scalar):
            return self._scalar(node)
        span = self.place(node.start, node.end)
        if isinstance(node, yaml.Sequence):
            return yaml.Sequence(*span, node.anchor, tuple(map(self.placed, node.items)), node.flow)
        entries = (yaml.Entry(self._key(e.key), self.placed(e.value)) for e in yaml.entries(node).values())
        return yaml.Mapping(*span, node.anchor, tuple(entries), node.flow)

    def _key(self, key: yaml.Scalar) -> yaml.Scalar:
        found = self._scalar(key)
        return found if isinstance(found, yaml.Scalar) else key

    def _scalar(self, node: yaml.Scalar) -> yaml.Scalar:
        touched = self._at(node.start, node.end)
        span = self.place(node.start, node.end)
        if all(segment.verbatim for segment in touched) and len(touched) == 1:
            return replace(node, source=span.source, start=span.start, end=span.end)
        unknown = next((s.datum for s in touched if isinstance(s.datum, Unknown)), None)
        value = yaml.value(node)
        origin = Origin((span,))
        only = touched[0].datum if len(touched) == 1 else None
        if only is not None and only.origin and (touched[0].start, touched[0].end) == (node.start, node.end):
            origin = only.origin
        datum: Datum = Known(value, origin) if unknown is None else Unknown(unknown.reason, origin)
        return yaml.Given(*span, None, node.text, node.style, node.tag, datum)


def _aligned(piece: Piece) -> list[tuple[str, Span, bool]]:
    """The lines of a piece with where they are written: what a template takes off is before or behind them."""
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
