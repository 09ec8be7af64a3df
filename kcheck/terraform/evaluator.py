"""Evaluate HCL expressions like Terraform; unknown values stay Unknown."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

from msgspec.structs import replace

from kcheck.terraform import attempts, convert, functions, type_rules
from kcheck.terraform.access import attribute, each_branch, index, spliced
from kcheck.terraform.budget import BudgetError
from kcheck.terraform.functions.signature import not_null
from kcheck.terraform.operators import alike, common_symbol, first_reason, negated, operate
from kcheck.terraform.partial_collections import (
    Entry,
    Gathering,
    branches_of,
    derived,
    either,
    entries_of,
    gathered,
    items_of,
    settled,
)
from kcheck.terraform.scope import Names, Scope
from kcheck.terraform.type_rules import type_of
from kcheck.text import scalars
from kcheck.text.data_types import ANYTHING, DYNAMIC, ListData, Null, SetData
from kcheck.text.keys import key_of
from kcheck.text.need import first_unknown
from kcheck.text.scalars import AbsentError, EvaluationError, UncaughtError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.template import normal
from kcheck.text.text import Span
from kcheck.text.values import Datum, Either, Known, Origin, Partial, Piece, Rendered, Symbol, Unknown, Unrendered


def evaluate(expression: nodes.Expression, scope: Scope) -> Datum:
    """Evaluate an expression; Terraform's errors become Unknown with their message."""
    try:
        return _part(expression, scope)
    except RecursionError:
        return Unknown("the expression is nested too deeply", Origin((expression.span,)))


def value_of(expression: nodes.Expression, scope: Scope) -> Datum:
    """Evaluate an expression. Raises EvaluationError if Terraform would refuse it."""
    return _EVALUATORS[type(expression)](expression, scope)


def _part(expression: nodes.Expression, scope: Scope) -> Datum:
    """Evaluate a subexpression; an error makes only this value unknown."""
    if scope.strict:
        return value_of(expression, scope)
    try:
        return settled(value_of(expression, scope), _here(expression))
    except EvaluationError as error:
        return Unknown(str(error)[:_LONGEST], _here(expression))
    except BudgetError as error:
        return scope.budget.refuse(error, _here(expression))


def value_in(body: nodes.Body, name: str, scope: Scope) -> Datum | None:
    """Evaluate an attribute of a body; None if it is not set."""
    entry = body.attributes.get(name)
    return evaluate(entry.expression, scope) if entry is not None else None


_LONGEST = 500
"""Maximum characters of a reason, because it may quote a value."""


def _here(expression: nodes.Expression, *, literal: bool = False) -> Origin:
    return Origin((expression.span,), literal)


def _template(node: nodes.Template, scope: Scope) -> Datum:
    if node.wraps and isinstance(inner := node.parts[0], nodes.Expression):
        return _passed_on(value_of(inner, scope), node.span)
    return _text(node, scope, Origin((node.span,)))


def _text(node: nodes.Template, scope: Scope, origin: Origin) -> Datum:
    pieces = tuple(_pieces(node, scope))
    scope.budget.write(sum([len(piece.text) for piece in pieces]))
    unknown = first_unknown(piece.datum for piece in pieces)
    if unknown is None:
        text = normal("".join(piece.text for piece in pieces))
        return Known(text, origin) if node.quoted else Rendered(text, origin, pieces=pieces)
    # a text with the same unknown parts is the same text
    identity = "".join(_identity(piece.datum) or piece.text for piece in pieces)
    scope.budget.write(len(identity))
    symbol = Symbol(f'"{identity}"', "text")
    if (
        node.quoted
        and type(unknown) is Either
        and not any(isinstance(p.datum, Unknown) and p.datum is not unknown for p in pieces)
    ):
        return _text_of_each(unknown, pieces, origin, symbol)
    return Unrendered(unknown.reason, origin, symbol, pieces=pieces)


def _text_of_each(choice: Either, pieces: tuple[Piece, ...], origin: Origin, symbol: Symbol) -> Datum:
    """Evaluate a template with a choice among its parts: to one text for each branch."""
    found: list[Datum] = []
    for branch in choice.branches:
        if not isinstance(branch, Known) or not isinstance(branch.value, str | int | Fraction):
            return Unknown(choice.reason, origin, symbol)
        text = scalars.to_string(branch.value)
        found.append(Known("".join(text if piece.datum is choice else piece.text for piece in pieces), origin))
    return derived(Unknown(choice.reason, origin), found, symbol)


def _identity(datum: Datum | None) -> str:
    if isinstance(datum, Unknown) and datum.symbol and datum.symbol.attribute == "text":
        return datum.symbol.address.strip('"')
    return "${" + convert.identity(datum).removeprefix("?") + "}" if isinstance(datum, Unknown) else ""


def _pieces(node: nodes.Template, scope: Scope) -> Iterator[Piece]:
    for part in node.parts:
        if isinstance(part, Piece):
            yield part
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
                steps = _steps_of_round(part.span)
                for entry in entries_of(collection):
                    scope.budget.spend(steps)
                    yield from _pieces(part.body, _inner(part, entry, scope))
        else:
            value = value_of(part, scope)
            if isinstance(value, Known) and (value.value is None or isinstance(value.value, dict | tuple)):
                raise EvaluationError("only text, numbers and booleans can be put into a template")
            yield Piece(scalars.to_string(value.value) if isinstance(value, Known) else "", part.span, value)


def _tuple(node: nodes.Tuple, scope: Scope) -> Datum:
    values = (_part(item, scope) for item in node.items)
    return scope.budget.hold(Known(tuple(spliced(values) if node.flat else values), _here(node)))


def _object(node: nodes.Object, scope: Scope) -> Datum:
    """Evaluate an object; the last of equal keys wins."""
    result = Gathering(_here(node))
    for key, value in node.entries:
        result.add(_part(key, scope), _part(value, scope))
    return scope.budget.hold(result.map())


def _variable(node: nodes.Variable, scope: Scope, *, alone: bool = True) -> Datum:
    found = scope.lookup(node.name)
    if found is None:
        error = UncaughtError if node.name in ("count", "each", "self") else EvaluationError
        raise error(f"`{node.name}` is not a name that can be used here")
    if alone and isinstance(found, Known) and isinstance(found.value, Names) and found.value.prefix == node.name:
        raise UncaughtError(f"`{node.name}` alone is not a reference")
    return found


def _reference(node: nodes.Expression, scope: Scope) -> Datum:
    """Evaluate a chain of attribute and index steps."""
    value = _passed_on(_steps(node, scope), node.span)
    return scope.budget.hold(value) if type(value) is Either else value  # a choice of choices grows


def _passed_on(value: Datum, span: Span) -> Datum:
    if isinstance(value, Unknown):
        origin = value.origin.used(span) if value.origin else Origin((span,))
        return Unknown(value.reason, origin, value.symbol) if type(value) is Unknown else replace(value, origin=origin)
    return replace(value, origin=value.origin.used(span))


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
        return _splat_of(_steps(node.target, scope), node, scope)
    return _variable(node, scope, alone=False) if isinstance(node, nodes.Variable) else value_of(node, scope)


def _splat_of(target: Datum, node: nodes.Splat, scope: Scope) -> Datum:
    if isinstance(target, Either):
        return each_branch(target, lambda branch: _splat_of(branch, node, scope))

    def each(item: Datum) -> Datum:
        scope.budget.spend(_ROUND)
        return _steps(node.each, scope.with_names(**{_ELEMENT: item}))

    if isinstance(target, Partial) and isinstance(target.part, tuple):
        items = ((each(item), why) for item, why in items_of(target))
        return scope.budget.hold(gathered(items, _here(node)))
    if isinstance(target, Unknown):
        return Unknown(target.reason, target.origin, target.symbol and Symbol(target.symbol.address, "?"))
    value = target.value
    if value is None:
        if type(target) is Null and target.type.kind in ("list", "set", "tuple"):
            raise EvaluationError("a splat of a null list")
        return Known((), _here(node))
    # a splat on a single value treats it as a list of one
    found = tuple(each(item) for item in (value if isinstance(value, tuple) else (target,)))
    if not isinstance(value, ListData | SetData):
        return scope.budget.hold(Known(found, _here(node)))
    types = {one for one in map(type_of, found) if one not in (ANYTHING, DYNAMIC)}
    if len(types) > 1:
        raise EvaluationError("a splat of a list gives elements of different types")
    element = types.pop() if types else DYNAMIC
    if not found:
        element = type_rules.of_step(node.each, value.element)
    return scope.budget.hold(Known(ListData.of(found, element), _here(node)))


_ELEMENT = "*"


def _element(_node: nodes.Element, scope: Scope) -> Datum:
    found = scope.lookup(_ELEMENT)
    if found is None:
        raise EvaluationError("`[*]` or `.*` stands outside of a splat expression")
    return found


def _call(node: nodes.Call, scope: Scope) -> Datum:
    name = node.name.removeprefix("core::")
    special = _SPECIAL.get(name) or scope.special(name)
    if special is not None:
        return scope.budget.hold(special(node, scope))
    function = functions.FUNCTIONS.get(name)
    if function is None:
        return Unknown(functions.reason_for(name), _here(node))
    arguments = [_opaque(_part(argument, scope)) for argument in node.arguments]
    if node.spread:
        last = arguments.pop()
        if isinstance(last, Unknown):
            return Unknown(last.reason, _here(node))
        if not isinstance(last.value, tuple):
            raise EvaluationError("only a list can be spread with `...`")
        arguments += last.value
    value = function(arguments, _here(node), scope.budget)
    choices = [at for at, argument in enumerate(arguments) if type(argument) is Either]
    if type(value) is not Unknown or len(choices) != 1:
        return value
    at, branches = choices[0], []
    place = value.origin or Origin(())
    for branch in branches_of(arguments[at]):
        with suppress(EvaluationError):  # a branch that fails is left out
            branches.append(function([*arguments[:at], branch, *arguments[at + 1 :]], place, scope.budget))
    return derived(value, branches, value.symbol) if branches else value


def _opaque(value: Datum) -> Datum:
    """Replace a whole resource passed to a function by Unknown."""
    if isinstance(value, Known) and hasattr(value.value, "attribute"):
        return Unknown("a whole resource is passed to a function", value.origin, getattr(value.value, "symbol", None))
    return value


_SPECIAL: dict[str, Callable[[nodes.Call, Scope], Datum]] = {
    "try": lambda node, scope: attempts.first(node.arguments, partial(value_of, scope=scope.strictly())),
    "can": lambda node, scope: attempts.succeeds(node, partial(value_of, scope=scope.strictly())),
}


def _conditional(node: nodes.Conditional, scope: Scope) -> Datum:
    condition = value_of(node.condition, scope)
    if isinstance(condition, Known):
        chosen, other = (node.yes, node.no) if scalars.to_bool(condition.value) else (node.no, node.yes)
        value = value_of(chosen, scope)
        if isinstance(value, Known) and isinstance(chosen, nodes.Literal) and nodes.is_choice(node.condition):
            value = Known(value.value, _here(node))  # what is meant for one environment is for a person to change
        beside = type_rules.despite(other, partial(evaluate, scope=scope.strictly()))
        if isinstance(value, Known) and isinstance(value.value, tuple):
            scope.budget.compare(value, value)
        return alike(value, beside)
    yes, no = evaluate(node.yes, scope), evaluate(node.no, scope)
    scope.budget.compare(yes, no)
    if convert.equal(yes, no):  # to change one branch would leave the other
        return Known(yes.value, _here(node)) if isinstance(yes, Known) and yes.origin.literal else yes
    branches = [*branches_of(yes), *branches_of(no)]
    with suppress(EvaluationError):  # both have one type
        branches = convert.unify(branches)
    symbol = common_symbol(yes, no)
    if len(branches) > 2:
        return derived(Unknown(condition.reason, _here(node)), branches, symbol)
    return either(condition.reason, _here(node), branches, symbol)


def _right(node: nodes.Operation, left: Datum | None, scope: Scope) -> Datum:
    """Evaluate the right side; in Terraform 1.12 the left one may decide alone."""
    decisive = {"&&": False, "||": True}.get(node.operator)
    if decisive is None or not isinstance(left, Known) or scalars.to_bool(left.value) != decisive:
        return value_of(node.right, scope)
    try:
        return not_null(value_of(node.right, scope))
    except UncaughtError:
        raise
    except EvaluationError:
        return left


def _operation(node: nodes.Operation, scope: Scope) -> Datum:
    origin = _here(node)
    left = None if node.left is None else value_of(node.left, scope)
    right = _right(node, left, scope)
    if left is None:
        if isinstance(right, Unknown):
            return Unknown(right.reason, origin)
        if node.operator == "!":
            return Known(not scalars.to_bool(right.value), origin)
        literal = right.origin.literal and isinstance(node.right, nodes.Literal)
        return negated(right, Origin((node.span,), literal))
    if type(left) is type(right) is Known and isinstance(left.value, tuple | dict):
        scope.budget.compare(left, right)
    result = operate(node.operator, left, right, origin)
    if isinstance(result, Known):
        scope.budget.number(result.value)
    if type(result) is not Unknown or not (isinstance(left, Either) or isinstance(right, Either)):
        return result
    found = [operate(node.operator, a, b, origin) for a in branches_of(left) for b in branches_of(right)]
    return derived(result, found) if found else result


def _inner(node: nodes.For | nodes.TemplateFor, entry: Entry, scope: Scope) -> Scope:
    names = {node.name: entry.item}
    if node.key is not None:
        names[node.key] = entry.key
    return Scope(names, scope)


_ROUND = 4  # steps of a round of a loop whose code is short


def _steps_of_round(loop: Span) -> int:
    return _ROUND + ((loop.end - loop.start) >> 4)


def rounds(node: nodes.For, scope: Scope) -> Iterator[tuple[Scope, Unknown | None]]:
    """Yield the scope of each round of a loop, or raise EvaluationError."""
    collection = value_of(node.collection, scope)
    steps = _steps_of_round(node.span)
    for entry in entries_of(collection):
        scope.budget.spend(steps)
        inner, why = _inner(node, entry, scope), entry.why
        if node.condition is not None:
            condition = value_of(node.condition, inner)
            if isinstance(condition, Known) and not scalars.to_bool(condition.value):
                continue
            why = why or (condition if isinstance(condition, Unknown) else None)
        yield inner, why


def _for(node: nodes.For, scope: Scope) -> Datum:
    if node.result_key is None:
        items = ((_part(node.value, inner), why) for inner, why in rounds(node, scope))
        return scope.budget.hold(gathered(items, _here(node)))
    result = Gathering(_here(node))
    if node.grouped:
        return _grouped(node, node.result_key, result, scope)
    for inner, why in rounds(node, scope):
        key = value_of(node.result_key, inner)
        if isinstance(key, Known) and why is None and scalars.to_string(key.value) in result.part:
            raise EvaluationError(f'the key "{key.value}" occurs twice in a `for`; `...` would group the values')
        result.add(key, _part(node.value, inner), why)
    return scope.budget.hold(result.map())


def _grouped(node: nodes.For, result_key: nodes.Expression, result: Gathering, scope: Scope) -> Datum:
    groups: dict[object, tuple[Datum, list[tuple[Datum, Unknown | None]]]] = {}
    for inner, why in rounds(node, scope):
        key = value_of(result_key, inner)
        name = key_of(key) if isinstance(key, Unknown) else scalars.to_string(key.value)
        if name is None:
            return Unknown(first_reason(key), _here(node))
        groups.setdefault(name, (key, []))[1].append((_part(node.value, inner), why))
    for key, items in groups.values():
        reasons = [why for _, why in items]
        result.add(key, gathered(items, _here(node)), None if None in reasons else reasons[0])
    return scope.budget.hold(result.map())


def _invalid(node: nodes.Invalid, _scope: Scope) -> Datum:
    raise EvaluationError(node.reason)


_EVALUATORS: dict[type[nodes.Expression], Callable[[Any, Scope], Datum]] = {
    nodes.Literal: lambda node, _scope: Known(node.value, _here(node, literal=True)),
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
