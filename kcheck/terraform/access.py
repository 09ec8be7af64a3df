"""Steps into values: attributes and indexes, of what is known and of what only the cloud knows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.source import scalars
from kcheck.source.scalars import AbsentError, EvaluationError
from kcheck.source.values import Answer, Datum, Either, Known, SetData, Symbol, Unknown, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def attribute(target: Datum, name: str) -> Datum:
    """`target.name`.

    Raises:
        EvaluationError: the target has no such attribute.
    """
    if isinstance(target, Unknown):
        if isinstance(target, Either):
            return each_branch(target, lambda branch: attribute(branch, name))
        asked = target.echo(name) if isinstance(target, Answer) else None
        if isinstance(asked, Known):
            return asked
        symbol = target.symbol
        if symbol is not None:
            symbol = Symbol(symbol.address, f"{symbol.attribute}.{name}" if symbol.attribute else name)
        return Unknown(target.reason, target.origin, symbol)
    value = target.value
    if isinstance(value, dict):
        if name in value:
            return value[name]
        message = f"there is no attribute `{name}`"
        if target.origin.spans:
            raise AbsentError(message, target.origin.below(name))
        raise EvaluationError(message)
    if value is not None and hasattr(value, "attribute"):
        return value.attribute(name)
    if isinstance(value, tuple) and not isinstance(value, SetData):
        raise EvaluationError(f"`.{name}` on a list; `[*].{name}` or an index is meant")
    raise EvaluationError(f"there is no attribute `{name}` on {kind_name(value)}")


def each_branch(target: Either, step: Callable[[Datum], Datum]) -> Datum:
    """A step into a value that is one of several; a branch that has no such part is left out."""
    branches = []
    for branch in target.branches:
        try:
            branches.append(step(branch))
        except EvaluationError:
            continue
    symbols = {branch.symbol for branch in branches if isinstance(branch, Unknown)}
    only = symbols.pop() if len(branches) == len(symbols) == 1 else None
    return Either(target.reason, target.origin, only if target.symbol else None, branches=tuple(branches))


def index(target: Datum, key: Datum) -> Datum:
    """`target[key]`.

    Raises:
        EvaluationError: the target has no such element.
    """
    if isinstance(target, Unknown):
        if isinstance(target, Either):
            return each_branch(target, lambda branch: index(branch, key))
        symbol = target.symbol and target.symbol.element(key)
        return (
            replace(target, symbol=symbol)
            if isinstance(target, Answer)
            else Unknown(target.reason, target.origin, symbol)
        )
    value = target.value
    if not getattr(value, "certain", True):
        return target  # one instance stands for all where their number is not known
    if isinstance(key, Unknown):
        reference = key_of(key)
        if reference is not None and isinstance(value, dict) and reference in value:
            return attribute(target, reference)
        return Unknown(key.reason, target.origin)
    if isinstance(value, tuple) and not isinstance(value, SetData):
        number = scalars.to_number(key.value)
        if not isinstance(number, int) or not 0 <= number < len(value):
            raise EvaluationError(f"the list has {len(value)} elements, there is no element {number}")
        return value[number]
    if isinstance(value, dict) or hasattr(value, "attribute"):
        return attribute(target, scalars.to_string(key.value))
    raise EvaluationError(f"{kind_name(value)} cannot be indexed")


def spliced(values: Iterable[Datum]) -> Iterator[Datum]:
    """The items of a list, with those of the lists in it in their place."""
    for value in values:
        if isinstance(value, Known) and isinstance(value.value, tuple):
            yield from value.value
        else:
            yield value


def kind_name(value: object) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | Fraction):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a set" if isinstance(value, SetData) else "this value"
