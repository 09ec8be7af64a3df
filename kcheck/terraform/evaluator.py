"""Evaluate HCL expressions as Terraform would, with values that are not known yet kept as Unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kcheck.source import scalars
from kcheck.source.scalars import AbsentError, EvaluationError
from kcheck.source.values import (
    Datum,
    Either,
    Known,
    Origin,
    Piece,
    Reference,
    Rendered,
    SetData,
    Symbol,
    Unknown,
    Unrendered,
    key_of,
)
from kcheck.syntax.hcl import nodes
from kcheck.syntax.problem import Problem
from kcheck.terraform import convert, functions
from kcheck.terraform.access import attribute, each_branch, index, kind_name, spliced
from kcheck.terraform.operators import arithmetic, first_reason, logic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kcheck.source.text import Span
    from kcheck.source.values import DatumValue


class Scope:
    """The names that an expression may use: those of its module, and loop variables over them."""

    def __init__(self, names: Mapping[str, Datum], outer: Scope | None = None, place: Span | None = None) -> None:
        self.names = names
        self.outer = outer
        self.place: Span | None = place or (outer.place if outer else None)
        """What stands for the code of a skeleton: the call, or the element of `for_each` in the caller."""

    def lookup(self, name: str) -> Datum | None:
        """The value of a first name, or None."""
        found = self.names.get(name)
        return self.outer.lookup(name) if found is None and self.outer is not None else found

    def with_names(self, place: Span | None = None, /, **names: Datum) -> Scope:
        """An inner scope that adds names."""
        return Scope(names, self, place)

    def special(self, name: str) -> Callable[[nodes.Call, Scope], Datum] | None:
        """A function that needs more than its arguments, such as the files of the module."""
        return None if self.outer is None else self.outer.special(name)

    def report(self, problem: Problem) -> None:
        """Take note of something that Terraform would refuse."""
        if self.outer is not None:
            self.outer.report(problem)

    def checked(self, value: Datum, name: str, place: Span) -> Datum:
        """The value of something; that it depends on itself is reported."""
        if isinstance(value, Unknown) and value.reason == circular(name):
            self.report(Problem(value.reason, place))
        return value


def circular(name: str) -> str:
    """What is said of something that depends on itself."""
    return f"{name} refers to itself"


def evaluate(expression: nodes.Expression, scope: Scope) -> Datum:
    """The value of an expression; errors that Terraform would report become Unknown with their message."""
    try:
        return value_of(expression, scope)
    except EvaluationError as error:
        return Unknown(str(error), Origin((expression.span,)))
    except RecursionError:
        return Unknown("the expression is nested too deeply", Origin((expression.span,)))


def value_of(expression: nodes.Expression, scope: Scope) -> Datum:
    """The value of an expression.

    Raises:
        EvaluationError: Terraform would refuse it.
    """
    return _EVALUATORS[type(expression)](expression, scope)


def _here(expression: nodes.Expression, *, literal: bool = False) -> Origin:
    return Origin((expression.span,), literal)


def _literal(node: nodes.Literal, _scope: Scope) -> Datum:
    return Known(node.value, _here(node, literal=True))


def _template(node: nodes.Template, scope: Scope) -> Datum:
    if len(node.parts) == 1 and node.quoted and isinstance(node.parts[0], nodes.Expression):
        inner = node.parts[0]
        if not isinstance(inner, nodes.TemplateIf | nodes.TemplateFor):
            return _passed_on(value_of(inner, scope), node.span)
    return _text(node, scope, Origin((node.span,)))


def _text(node: nodes.Template, scope: Scope, origin: Origin) -> Datum:
    """The text of a template with all its parts filled in."""
    pieces = tuple(_pieces(node, scope))
    unknown = next((piece.datum for piece in pieces if isinstance(piece.datum, Unknown)), None)
    if unknown is None:
        text = "".join(piece.text for piece in pieces)
        return Known(text if node.quoted else rendered(text, pieces), origin)
    # a text with the same unknown parts is the same text
    identity = "".join(_identity(piece.datum) or piece.text for piece in pieces)
    symbol = Symbol(f'"{identity}"', "text")
    if node.quoted:
        return Unknown(unknown.reason, origin, symbol)
    return Unrendered(unknown.reason, origin, symbol, pieces)


def _identity(datum: Datum | None) -> str:
    if isinstance(datum, Unknown) and datum.symbol and datum.symbol.attribute == "text":
        return datum.symbol.address.strip('"')
    return "${" + convert.identity(datum).removeprefix("?") + "}" if isinstance(datum, Unknown) else ""


def rendered(text: str, pieces: tuple[Piece, ...]) -> Rendered:
    """A text that knows its parts."""
    result = Rendered(text)
    result.pieces = pieces
    return result


def _pieces(node: nodes.Template, scope: Scope) -> Iterator[Piece]:
    """The parts of a template: its own text, and what is filled in."""
    for part in node.parts:
        if isinstance(part, nodes.Text):
            yield Piece(part, part.span)
        elif isinstance(part, nodes.TemplateIf):
            condition = value_of(part.condition, scope)
            if isinstance(condition, Unknown):
                yield Piece("", part.span, condition)
            else:
                yield from _pieces(part.yes if scalars.to_bool(condition.value) else part.no, scope)
        elif isinstance(part, nodes.TemplateFor):
            collection = value_of(part.collection, scope)
            if isinstance(collection, Unknown):
                yield Piece("", part.span, collection)
            else:
                for inner in _loop(collection, part.key, part.name, scope):
                    yield from _pieces(part.body, inner)
        else:
            value = value_of(part, scope)
            if isinstance(value, Known) and (value.value is None or isinstance(value.value, dict | tuple)):
                raise EvaluationError("only text, numbers and booleans can be put into a template")
            yield Piece(scalars.to_string(value.value) if isinstance(value, Known) else "", part.span, value)


def _tuple(node: nodes.Tuple, scope: Scope) -> Datum:
    values = (value_of(item, scope) for item in node.items)
    return Known(tuple(spliced(values) if node.flat else values), _here(node))


def _object(node: nodes.Object, scope: Scope) -> Datum:
    result: dict[str, Datum] = {}
    for key_node, value_node in node.entries:
        key = value_of(key_node, scope)
        name = _key(key)
        if name is None:
            return Unknown(first_reason(key), _here(node))
        result[name] = value_of(value_node, scope)
    return Known(dict(sorted(result.items())), _here(node))


def _key(key: Datum) -> str | None:
    """The key of a map; None where not even its identity is known."""
    return key_of(key) if isinstance(key, Unknown) else scalars.to_string(key.value)


def _variable(node: nodes.Variable, scope: Scope) -> Datum:
    found = scope.lookup(node.name)
    if found is None:
        raise EvaluationError(f"`{node.name}` is not a name that can be used here")
    return found


def _reference(node: nodes.Expression, scope: Scope) -> Datum:
    """A chain of steps: the value, with the place of the whole chain added to where it comes from."""
    return _passed_on(_steps(node, scope), node.span)


def _passed_on(value: Datum, span: Span) -> Datum:
    if isinstance(value, Unknown):
        origin = value.origin.used(span) if value.origin else Origin((span,))
        return Unknown(value.reason, origin, value.symbol) if type(value) is Unknown else replace(value, origin=origin)
    return Known(value.value, value.origin.used(span))


def _steps(node: nodes.Expression, scope: Scope) -> Datum:
    if isinstance(node, nodes.GetAttr):
        try:
            target = _steps(node.target, scope)
        except AbsentError as error:
            raise AbsentError(str(error), error.origin.below(node.name)) from error
        return attribute(target, node.name)
    if isinstance(node, nodes.Index):
        return index(_steps(node.target, scope), value_of(node.key, scope))
    if isinstance(node, nodes.Splat):
        return _splat(node, scope)
    return value_of(node, scope)


def _splat(node: nodes.Splat, scope: Scope) -> Datum:
    return _splat_of(_steps(node.target, scope), node, scope)


def _splat_of(target: Datum, node: nodes.Splat, scope: Scope) -> Datum:
    if isinstance(target, Either):
        return each_branch(target, lambda branch: _splat_of(branch, node, scope))
    if isinstance(target, Unknown):
        return Unknown(target.reason, target.origin, target.symbol and Symbol(target.symbol.address, "?"))
    value = target.value
    if value is None:
        return Known((), _here(node))
    if not getattr(value, "certain", True):
        address = str(getattr(value, "address", ""))
        return Unknown(f"the number of {address} is not known", _here(node), Symbol(address, "?"))
    # a splat on a single value treats it as a list of one
    items = value if isinstance(value, tuple) else (target,)
    return Known(tuple(_steps(node.each, scope.with_names(**{_ELEMENT: item})) for item in items), _here(node))


_ELEMENT = "*"


def _element(_node: nodes.Element, scope: Scope) -> Datum:
    found = scope.lookup(_ELEMENT)
    if found is None:
        raise EvaluationError("a splat without a list")
    return found


def _call(node: nodes.Call, scope: Scope) -> Datum:
    name = node.name.removeprefix("core::")
    special = _SPECIAL.get(name) or scope.special(name)
    if special is not None:
        return special(node, scope)
    function = functions.FUNCTIONS.get(name)
    if function is None:
        return Unknown(functions.reason_for(name), _here(node))
    arguments = [_opaque(value_of(argument, scope)) for argument in node.arguments]
    if node.spread:
        last = arguments.pop()
        if isinstance(last, Unknown):
            return Unknown(last.reason, _here(node))
        if not isinstance(last.value, tuple):
            raise EvaluationError("only a list can be spread with `...`")
        arguments += last.value
    return function(arguments, _here(node))


def _opaque(value: Datum) -> Datum:
    """A whole resource handed to a function: its parts are not known there."""
    if isinstance(value, Known) and hasattr(value.value, "attribute"):
        return Unknown("a whole resource is passed to a function", value.origin, getattr(value.value, "symbol", None))
    return value


def _try(node: nodes.Call, scope: Scope) -> Datum:
    """The first argument that can be evaluated. A default in place of an absent attribute is written where that is."""
    problem = "try() has no argument that can be evaluated"
    absent: AbsentError | None = None
    for argument in node.arguments:
        try:
            value = value_of(argument, scope)
        except EvaluationError as error:
            problem = str(error)
            absent = absent or (error if isinstance(error, AbsentError) else None)
            continue
        empty = isinstance(argument, nodes.Tuple | nodes.Object) and isinstance(value, Known) and not value.value
        if absent is None or not isinstance(value, Known) or not (empty or isinstance(argument, nodes.Literal)):
            return value
        return Known(value.value, absent.origin.used(argument.span))
    raise EvaluationError(problem)


def _can(node: nodes.Call, scope: Scope) -> Datum:
    try:
        value = value_of(node.arguments[0], scope)
    except EvaluationError:
        return Known(value=False, origin=_here(node))
    return Unknown(value.reason, _here(node)) if isinstance(value, Unknown) else Known(value=True, origin=_here(node))


_SPECIAL: dict[str, Callable[[nodes.Call, Scope], Datum]] = {"try": _try, "can": _can}


def _conditional(node: nodes.Conditional, scope: Scope) -> Datum:
    condition = value_of(node.condition, scope)
    if isinstance(condition, Known):
        chosen, other = (node.yes, node.no) if scalars.to_bool(condition.value) else (node.no, node.yes)
        value = value_of(chosen, scope)
        if isinstance(value, Known) and isinstance(chosen, nodes.Literal) and nodes.is_choice(node.condition):
            value = Known(value.value, _here(node))  # what is meant for one environment is for a person to change
        return _alike(value, evaluate(other, scope))
    yes, no = evaluate(node.yes, scope), evaluate(node.no, scope)
    if convert.equal(yes, no):  # to change one branch would leave the other
        return Known(yes.value, _here(node)) if isinstance(yes, Known) and yes.origin.literal else yes
    return Either(condition.reason, _here(node), _common(yes, no), branches=(yes, no))


def _common(yes: Datum, no: Datum) -> Symbol | None:
    """The identity that a value keeps whichever branch is taken: `cond ? x.id : null` is x or nothing."""
    symbols = {value.symbol for value in (yes, no) if isinstance(value, Unknown)}
    empty = all(isinstance(value, Unknown) or value.value is None for value in (yes, no))
    return symbols.pop() if empty and len(symbols) == 1 else None


def _alike(value: Datum, other: Datum) -> Datum:
    """Both branches of a conditional have one type: beside a string, a number becomes a string."""
    if not isinstance(value, Known) or not isinstance(other, Known):
        return value
    if isinstance(value.value, dict) or hasattr(value.value, "attribute"):
        return value
    try:
        return convert.unify([value, other])[0]
    except EvaluationError:
        return value


def _operation(node: nodes.Operation, scope: Scope) -> Datum:
    right = value_of(node.right, scope)
    origin = _here(node)
    if node.left is None:
        if isinstance(right, Unknown):
            return Unknown(right.reason, origin)
        if node.operator == "!":
            return Known(not scalars.to_bool(right.value), origin)
        literal = right.origin.literal and isinstance(node.right, nodes.Literal)
        return Known(-scalars.to_number(right.value), Origin((node.span,), literal))
    left = value_of(node.left, scope)
    if node.operator in ("==", "!="):
        same = convert.equal(left, right)
        if same is None:
            return Unknown(first_reason(left, right), origin)
        return Known(same == (node.operator == "=="), origin)
    if node.operator in ("&&", "||"):
        return logic(node.operator, left, right, origin)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return Unknown(first_reason(left, right), origin)
    a, b = scalars.to_number(left.value), scalars.to_number(right.value)
    return Known(arithmetic(node.operator, a, b), origin)


def _loop(collection: Datum, key: str | None, name: str, scope: Scope) -> Iterator[Scope]:
    """The scopes of a `for`, one an element."""
    if isinstance(collection, Unknown):
        raise EvaluationError(collection.reason)
    value = collection.value
    pairs: list[tuple[DatumValue, Datum]]
    if isinstance(value, dict):
        pairs = [(k, value[k]) for k in sorted(value)]
    elif isinstance(value, SetData):
        pairs = [(item.value if isinstance(item, Known) else None, item) for item in value]
    elif isinstance(value, tuple):
        pairs = list(enumerate(value))
    else:
        raise EvaluationError(f"{kind_name(value)} cannot be iterated")
    for k, item in pairs:
        names = {name: item}
        if key is not None:
            names[key] = item if isinstance(value, SetData) else _step(k, item.origin or collection.origin)
        yield Scope(names, scope)


def _step(key: DatumValue, origin: Origin) -> Datum:
    """The key or index of an element in a loop."""
    return key.datum if isinstance(key, Reference) else Known(key, origin)


def _for(node: nodes.For, scope: Scope) -> Datum:
    collection = value_of(node.collection, scope)
    if isinstance(collection, Unknown):
        return Unknown(collection.reason, _here(node))
    items: list[Datum] = []
    entries: dict[str, Datum] = {}
    groups: dict[str, list[Datum]] = {}
    for inner in _loop(collection, node.key, node.name, scope):
        if node.condition is not None:
            condition = value_of(node.condition, inner)
            if isinstance(condition, Unknown):
                return Unknown(condition.reason, _here(node))
            if not scalars.to_bool(condition.value):
                continue
        value = value_of(node.value, inner)
        if node.result_key is None:
            items.append(value)
            continue
        key = value_of(node.result_key, inner)
        name = _key(key)
        if name is None:
            return Unknown(first_reason(key), _here(node))
        if node.grouped:
            groups.setdefault(name, []).append(value)
        elif name in entries:
            raise EvaluationError(f'the key "{name}" occurs twice in a `for`; `...` would group the values')
        else:
            entries[name] = value
    if node.result_key is None:
        return Known(tuple(items), _here(node))
    if node.grouped:
        entries = {name: Known(tuple(values), _here(node)) for name, values in groups.items()}
    return Known(dict(sorted(entries.items())), _here(node))


def _invalid(node: nodes.Invalid, _scope: Scope) -> Datum:
    raise EvaluationError(node.reason)


_EVALUATORS: dict[type[nodes.Expression], Callable[[Any, Scope], Datum]] = {
    nodes.Literal: _literal,
    nodes.Template: _template,
    nodes.Tuple: _tuple,
    nodes.Object: _object,
    nodes.Variable: _variable,
    nodes.GetAttr: _reference,
    nodes.Index: _reference,
    nodes.Splat: _reference,
    nodes.Element: _element,
    nodes.Call: _call,
    nodes.Conditional: _conditional,
    nodes.Operation: _operation,
    nodes.For: _for,
    nodes.Invalid: _invalid,
}
