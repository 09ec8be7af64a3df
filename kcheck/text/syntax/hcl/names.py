"""Keys that lead to a span in HCL: labels, attributes, items."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import attrgetter

from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source, Span
from kcheck.text.values import Piece

_start = attrgetter("span.start")


def keys(span: Span) -> tuple[str, ...]:
    """Return the keys that lead to a span, into embedded YAML."""
    outline = of(span.source)
    return tuple(_of_body(outline.body, span, outline))


def member(span: Span, name: str) -> Span | None:
    """Return the value of an attribute of the block that begins at a span."""
    entry = next(
        (b.body.attributes.get(name) for b in of(span.source).blocks(span) if b.span.start == span.start), None
    )
    return entry.value_span if entry is not None else None


class Outline:
    """Parts of a file by position."""

    def __init__(self, body: nodes.Body) -> None:
        self.body = body
        self._levels: dict[int, list[nodes.Block | nodes.Attribute]] = {}

    def part(self, body: nodes.Body, at: int) -> nodes.Block | nodes.Attribute | None:
        """Return the last part of a body that begins at or before a byte."""
        level = self._levels.get(id(body))
        if level is None:
            level = self._levels[id(body)] = sorted([*body.blocks, *body.attributes.values()], key=_start)
        near = bisect_right(level, at, key=_start) - 1
        return level[near] if near >= 0 else None

    def blocks(self, span: Span) -> Iterator[nodes.Block]:
        """Yield the blocks around the start of a span, outermost first."""
        found = self.part(self.body, span.start)
        while isinstance(found, nodes.Block):
            yield found
            found = self.part(found.body, span.start)

    def value(self, span: Span) -> nodes.Attribute | None:
        """Find the attribute whose value contains a span."""
        body = self.body
        for block in self.blocks(span):
            body = block.body
        found = self.part(body, span.start)
        return found if isinstance(found, nodes.Attribute) and found.value_span.holds(span) else None


@lru_cache(maxsize=4)  # several findings of a file, and several changes, come together
def of(source: Source) -> Outline:
    """Parse the outline of a file."""
    return Outline(parse(source).body)


def inner(expression: nodes.Expression, span: Span) -> nodes.Expression | None:
    """Find the part of an expression that contains a span."""
    parts: Iterable[nodes.Expression] = ()
    if isinstance(expression, nodes.Object):
        parts = _entry(expression, span) or ()
    elif isinstance(expression, nodes.Tuple):
        at = bisect_right(expression.items, span.start, key=_start) - 1
        parts = expression.items[max(at, 0) : at + 1]
    else:
        parts = nodes.children(expression)
    return next((part for part in parts if part.span.holds(span)), None)


def expression_at(span: Span) -> nodes.Expression | None:
    """Find the expression at a span; None if there is none."""
    entry = of(span.source).value(span)
    node = entry.expression if entry is not None else None
    while node is not None and node.span[1:] != span[1:]:
        node = inner(node, span)
    return node


def _entry(own: nodes.Object, span: Span) -> tuple[nodes.Expression, nodes.Expression] | None:
    """Return the key and value of an object where one of them contains a span."""
    at = bisect_right(own.entries, span.start, key=lambda entry: entry[0].span.start) - 1
    found = own.entries[at] if at >= 0 else ()
    return own.entries[at] if any(part.span.holds(span) for part in found) else None


def _of_body(own: nodes.Body, span: Span, outline: Outline) -> Iterator[str]:
    found = outline.part(own, span.start)
    if found is None or not found.span.holds(span):
        return
    if isinstance(found, nodes.Block):
        yield " ".join((found.type, *(f'"{label}"' for label in found.labels)))
        yield from _named(found.body, _of_body(found.body, span, outline))
    else:
        yield found.name
        yield from _of_expression(found.expression, span)


def _named(own: nodes.Body, found: Iterator[str]) -> Iterator[str]:
    """Yield the keys below a block, which may count under its name."""
    for at, key in enumerate(found):
        literal = own.literal("name") if key == "value" and not at else None
        yield str(literal.value) if literal is not None else key


def _of_expression(expression: nodes.Expression, span: Span, *, whole: bool = True) -> Iterator[str]:
    """Yield the keys below an attribute; items count in `whole` lists."""
    if isinstance(expression, nodes.Object):
        entry = _entry(expression, span)
        if entry is not None:
            key, value = entry
            yield str(key.value) if isinstance(key, nodes.Literal) else key.span.text
            yield from _of_expression(value, span)
    elif isinstance(expression, nodes.Template | nodes.Literal) and expression.span != span:
        yield from _of_text(expression, span)
    elif isinstance(expression, nodes.Tuple):
        at = bisect_right(expression.items, span.start, key=_start) - 1
        if at >= 0 and expression.items[at].span.holds(span):
            if whole:
                yield f"[{at}]"
            yield from _of_expression(expression.items[at], span, whole=whole)
    else:
        found = inner(expression, span)
        if found is not None:
            yield from _of_expression(found, span, whole=False)


def _of_text(text: nodes.Template | nodes.Literal, span: Span) -> Iterator[str]:
    from kcheck.text.syntax import key_paths

    source = text.span.source
    if isinstance(text, nodes.Template):
        pieces = tuple(part if isinstance(part, Piece) else Piece("unknown", part.span) for part in text.parts)
    elif text.span.text.startswith("<<"):
        begin, end = source.line_end(text.span.start) + 1, source.line_start(text.span.end - 1)
        pieces = (Piece(source.span(begin, end).text, source.span(begin, end)),)
    else:
        return
    yield from key_paths.in_text(pieces, span)
