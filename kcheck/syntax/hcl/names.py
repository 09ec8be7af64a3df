"""The keys of a place in HCL: blocks with labels, attributes, keys of objects, items of lists."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kcheck.source.values import Piece
from kcheck.syntax.hcl import nodes
from kcheck.syntax.hcl.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.source.text import Source, Span


def keys(span: Span) -> tuple[str, ...]:
    """The keys of a place, from the top of the file down; below a text of YAML also those of that."""
    return tuple(_of_body(body(span.source), span))


def member(span: Span, name: str) -> Span | None:
    """The value of an attribute of the block that begins at a place."""
    entries = (
        block.body.attributes.get(name) for block in body(span.source).nested() if block.span.start == span.start
    )
    return next((entry.value_span for entry in entries if entry is not None), None)


@lru_cache(maxsize=4)  # several findings of a file, and several changes, come together
def body(source: Source) -> nodes.Body:
    """All of a file."""
    return parse(source).body


def _of_body(own: nodes.Body, span: Span) -> Iterator[str]:
    for block in own.blocks:
        if _holds(block.span, span):
            yield " ".join((block.type, *(f'"{label}"' for label in block.labels)))
            yield from _named(block.body, _of_body(block.body, span))
            return
    for entry in own.attributes.values():
        if _holds(entry.span, span):
            yield entry.name
            yield from _of_expression(entry.expression, span)
            return


def _named(own: nodes.Body, found: Iterator[str]) -> Iterator[str]:
    """The keys below a block; of one with a name and a value, the value has that name."""
    for at, key in enumerate(found):
        entry = own.attributes.get("name") if key == "value" and not at else None
        literal = entry.expression if entry is not None else None
        yield str(literal.value) if isinstance(literal, nodes.Literal) else key


def _of_expression(expression: nodes.Expression, span: Span, *, whole: bool = True) -> Iterator[str]:
    """The keys below an attribute; items have numbers where the list is the `whole` value, not a part of it."""
    if isinstance(expression, nodes.Object):
        for key, value in expression.entries:
            if _holds(key.span, span) or _holds(value.span, span):
                yield str(key.value) if isinstance(key, nodes.Literal) else key.span.text
                yield from _of_expression(value, span)
                return
    elif isinstance(expression, nodes.Template | nodes.Literal) and expression.span != span:
        yield from _of_text(expression, span)
    elif isinstance(expression, nodes.Tuple):
        for at, item in enumerate(expression.items):
            if _holds(item.span, span):
                if whole:
                    yield f"[{at}]"
                yield from _of_expression(item, span, whole=whole)
                return
    else:
        for inner in nodes.children(expression):
            if _holds(inner.span, span):
                yield from _of_expression(inner, span, whole=False)
                return


def _of_text(text: nodes.Template | nodes.Literal, span: Span) -> Iterator[str]:
    """Keys of a place in the YAML that a text is."""
    from kcheck.syntax import names

    source = text.span.source
    if isinstance(text, nodes.Template):
        parts = ((part, part.span) if isinstance(part, nodes.Text) else ("unknown", part.span) for part in text.parts)
        pieces = tuple(Piece(part, place) for part, place in parts)
    elif text.span.text.startswith("<<"):
        begin, end = source.line_end(text.span.start) + 1, source.line_start(text.span.end - 1)
        pieces = (Piece(source.span(begin, end).text, source.span(begin, end)),)
    else:
        return
    yield from names.in_text(pieces, span)


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
