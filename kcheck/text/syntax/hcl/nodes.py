"""Syntax tree of HCL for the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeVar, cast

from msgspec import Struct

from kcheck.text import scalars
from kcheck.text.text import Problem, Span
from kcheck.text.values import Piece

Part = TypeVar("Part")


class Expression(Struct, eq=False):
    """An expression; `span` excludes the blanks around it."""

    span: Span


class Literal(Expression):
    """A number, a boolean, null, or a quoted string without interpolation."""

    value: str | int | Fraction | bool | None


def number(span: Span, text: str) -> Expression:
    """Parse a number; Invalid if it has more digits than kcheck computes with."""
    try:
        return Literal(span, scalars.to_number(text))
    except scalars.EvaluationError as error:
        return Invalid(span, str(error))


class Template(Expression):
    """A quoted string or heredoc with interpolations or directives."""

    parts: tuple[Expression | Piece, ...]
    quoted: bool

    @property
    def wraps(self) -> bool:
        """Whether it is a single interpolation, as in `"${x}"`, and so has its value."""
        one = self.parts[0] if len(self.parts) == 1 and self.quoted else None
        return isinstance(one, Expression) and not isinstance(one, TemplateIf | TemplateFor)


class TemplateIf(Expression):
    """`%{ if c }yes%{ else }no%{ endif }`."""

    condition: Expression
    yes: Template
    no: Template


class TemplateFor(Expression):
    """`%{ for k, v in collection }body%{ endfor }`."""

    key: str | None
    name: str
    collection: Expression
    body: Template


class Tuple(Expression):
    """`[a, b]`; in a `flat` list, items of quoted lists are merged."""

    items: tuple[Expression, ...]
    flat: bool = False


class Object(Expression, eq=False):
    """`{ key = value }`; a bare key is a Literal."""

    entries: tuple[tuple[Expression, Expression], ...]


class Variable(Expression, eq=False):
    """First name of a reference: `var`, `local`, `azurerm_subnet`, a loop variable."""

    name: str


class GetAttr(Expression):
    """`target.name`."""

    target: Expression
    name: str


class Index(Expression):
    """`target[key]`, or the legacy `target.0`."""

    target: Expression
    key: Expression


class Splat(Expression):
    """`target[*].rest` or `target.*.rest`; `each` is the rest, applied to an Element."""

    target: Expression
    each: Expression


class Element(Expression):
    """Current element inside a splat."""


class Call(Expression):
    """`name(arguments...)`; `spread` if the three dots are written."""

    name: str
    arguments: tuple[Expression, ...]
    spread: bool


class Conditional(Expression):
    """`condition ? yes : no`."""

    condition: Expression
    yes: Expression
    no: Expression


class Operation(Expression):
    """`left operator right`, or `operator right` if left is None."""

    operator: str
    left: Expression | None
    right: Expression


class For(Expression):
    """`[for k, v in c : value if condition]`, or with a `result_key` a map."""

    key: str | None
    name: str
    collection: Expression
    result_key: Expression | None
    value: Expression
    grouped: bool
    condition: Expression | None


class Invalid(Expression):
    """An expression that could not be read."""

    reason: str


class Attribute(Struct, dict=True):
    """One `name = expression` of a body; the expression is built on demand."""

    name: str
    span: Span
    value_span: Span
    build: Callable[[], Expression]

    @cached_property
    def expression(self) -> Expression:
        """Expression on the right."""
        expression = self.build()
        self.build = partial(_itself, expression)  # what it was built from is of no use any more
        return expression


class Block(Struct):
    """`type "label" { body }`; `header` ends before the opening brace.

    `below`: further keys, still missing, below which its content would be written.
    """

    type: str
    labels: tuple[str, ...]
    body: Body
    span: Span
    header: Span
    below: tuple[str, ...] = ()


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions in it."""
    left = [expression]
    while left:
        yield (one := left.pop())
        left += reversed([*children(one)])


def children(expression: Expression) -> Iterator[Expression]:
    """Yield the direct parts of an expression."""
    for name in expression.__struct_fields__:
        yield from _inside(getattr(expression, name))


def moved(part: Part, place: Span) -> Part:
    """Copy an expression, or a part of one, with all its spans set to `place`."""
    found: object = part
    if isinstance(part, Span):
        found = place
    elif isinstance(part, Expression | Piece):
        found = type(part)(*(moved(getattr(part, name), place) for name in part.__struct_fields__))
    elif isinstance(part, tuple):
        found = tuple(moved(one, place) for one in part)
    return cast("Part", found)


def is_choice(condition: Expression) -> bool:
    """Whether a condition depends on an input of the code."""
    names = {node.name for node in walk(condition) if isinstance(node, Variable)}
    return not names.isdisjoint({"var", "local", "terraform"})


def _inside(value: object) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple) and not isinstance(value, Span):
        for item in value:
            yield from _inside(item)


def _itself(expression: Expression) -> Expression:
    return expression


def as_block(node: Object) -> Block:
    """Convert an object to a block without type."""
    entries = {
        key.span.text: Attribute(
            key.span.text, key.span.source.span(key.span.start, value.span.end), value.span, partial(_itself, value)
        )
        for key, value in node.entries
    }
    return Block("", (), Body(node.span, entries), node.span, node.span)


class Body(Struct):
    """The body of a block or file; `span` reaches from brace to brace."""

    span: Span
    attributes: dict[str, Attribute] = {}
    blocks: list[Block] = []

    def literal(self, name: str) -> Literal | None:
        """Return the literal that an attribute is set to; None for anything else."""
        entry = self.attributes.get(name)
        expression = entry.expression if entry is not None else None
        return expression if isinstance(expression, Literal) else None

    def written(self, name: str) -> str:
        """Return the value of an attribute as written, without quotes."""
        entry = self.attributes.get(name)
        return entry.value_span.text.strip('"') if entry is not None else ""

    def all(self, block_type: str) -> list[Block]:
        """List the nested blocks of one type, in order."""
        return [block for block in self.blocks if block.type == block_type]

    def nested(self) -> Iterator[Block]:
        """Yield all blocks inside, each before those inside it."""
        stack = [self]
        while stack:
            for block in stack.pop().blocks:
                yield block
                stack.append(block.body)


class File(Struct, frozen=True):
    """A parsed file; `problems` are the pieces missing from `body`."""

    body: Body
    problems: tuple[Problem, ...]
    old: bool = False
