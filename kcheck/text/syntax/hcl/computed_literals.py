"""Literals in computed HCL values that a fix may change: a closed list of forms."""

from msgspec import Struct

from kcheck.text.files.tree import HCL
from kcheck.text.ip_ranges import parse_cidr, with_newbits
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Source, Span
from kcheck.text.values import Piece


class Part(Struct, frozen=True):
    """A literal in a computed value: its place and new text."""

    span: Span
    value: str | int


def literal_to_change(span: Span, old: str, new: str) -> Part | None:
    """Find the literal to change so that the expression at `span` gives `new` instead of `old`.

    It is in the new bits of `cidrsubnet`, or the text at the beginning or the end of a template. None for other forms.
    """
    found = _newbits(span)
    if found is not None:
        place, bits = found
        network, wanted = parse_cidr(old), parse_cidr(new)
        if network is None or wanted is None:
            return None
        more = bits - network.prefixlen + wanted.prefixlen
        return Part(place, more) if with_newbits(network, bits, more) == wanted else None
    expression = _parsed(span)
    if not isinstance(expression, nodes.Template) or not expression.quoted:
        return None
    first, last = expression.parts[0], expression.parts[-1]
    if isinstance(last, Piece) and old.endswith(last.text) and new.startswith(old.removesuffix(last.text)):
        return _text(span, last, new.removeprefix(old.removesuffix(last.text)))
    if isinstance(first, Piece) and old.startswith(first.text) and new.endswith(old.removeprefix(first.text)):
        return _text(span, first, new.removesuffix(old.removeprefix(first.text)))
    return None


def _newbits(span: Span) -> tuple[Span, int] | None:
    """Return the literal new bits of the `cidrsubnet` call at a span, with their place; None for anything else."""
    call = _parsed(span)
    if not isinstance(call, nodes.Call) or call.name != "cidrsubnet" or len(call.arguments) != 3:
        return None
    bits = call.arguments[1]
    if not isinstance(bits, nodes.Literal) or type(bits.value) is not int:
        return None
    return _moved(span, bits.span), bits.value


_BEFORE = "x = "


def _parsed(span: Span) -> nodes.Expression | None:
    """Parse the expression at a span on its own; None if it is not in HCL."""
    if not span.source.path.endswith(HCL):
        return None
    from kcheck.text.syntax.hcl.parse import parse

    entry = parse(Source(span.source.path, f"{_BEFORE}{span.text}\n".encode())).body.attributes.get("x")
    return entry.expression if entry else None


def _moved(outer: Span, inner: Span) -> Span:
    """Convert a span in an expression parsed on its own to its place in the file."""
    begin = outer.start - len(_BEFORE)
    return outer.source.span(begin + inner.start, begin + inner.end)


def _text(outer: Span, text: Piece, new: str) -> Part | None:
    """Return the change of a template's text; None if the old or new one needs escapes."""
    span = _moved(outer, text.span)
    plain = new and not any(character in new for character in '"\\$%\n')
    return Part(span, new) if span.text == text.text and plain else None
