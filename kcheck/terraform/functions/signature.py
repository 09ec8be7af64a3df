"""Convert function arguments and handle nulls and unknown values in one place."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from msgspec.structs import replace

from kcheck.terraform import convert
from kcheck.terraform.budget import Budget
from kcheck.terraform.operators import in_bits
from kcheck.text import scalars
from kcheck.text.data_types import BOOL, DYNAMIC, STRING, ListData, MapData, SetData, Type, list_of
from kcheck.text.need import NotKnown
from kcheck.text.partly_known import plain
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl.template import normal
from kcheck.text.values import Datum, Key, Known, Origin, Symbol, Unknown, parts

Kind: TypeAlias = Callable[[Datum], object]
"""Converts an argument for an implementation."""

F = TypeVar("F", bound=Callable[..., object])


Function: TypeAlias = Callable[[list[Datum], Origin, Budget], Datum]
"""Applies a Terraform function to the arguments of a call at a place.

Raises EvaluationError if Terraform would refuse them, BudgetError if it takes more than the budget has left.
"""

RESOURCE = "a whole resource is passed to a function"


class Table(dict[str, Function]):
    """Functions by name."""

    def function(
        self, *kinds: Kind, rest: Kind | None = None, optional: int = 0, part: bool = False, gives: Type | None = None,
        bits: int = scalars.BITS, deep: bool = False, counted: bool = False, name: str = "",
    ) -> Callable[[F], F]:  # fmt: skip
        """Register an implementation, by default under its own name.

        `kinds` convert the arguments (the last `optional` of them may be absent), `rest` converts all others.
        The result may be plain data, data with Datum parts, or a Datum; without an origin it gets that of the call.
        With `part` the result is a part of the first argument and keeps the link to its resource.
        `gives` is the type of the result if its parts do not tell, `bits` its precision.
        `deep` functions convert or compare all parts of their arguments.
        `counted` ones get the budget, because results may be far larger than arguments.
        """

        def enter(implementation: F) -> F:
            called = name or implementation.__name__.strip("_")

            def call(args: list[Datum], origin: Origin, budget: Budget) -> Datum:
                if len(args) < len(kinds) - optional or (rest is None and len(args) > len(kinds)):
                    raise EvaluationError(f"{called}() does not take {len(args)} arguments")
                if not part:
                    budget.read(args, deep=deep)
                try:
                    values = _converted(args, (*kinds, *[rest or anything] * (len(args) - len(kinds))))
                    made = implementation(*values, budget=budget) if counted else implementation(*values)
                    if type(made) is list:
                        budget.spend(len(made))  # before each becomes a datum
                    result = _typed(_placed(give(made, origin), origin), gives, bits)
                except NotKnown as error:
                    of = args[0] if part else None
                    of_part = Symbol(of.symbol.address, "?") if isinstance(of, Unknown) and of.symbol else None
                    return Unknown(error.missing.reason, origin, of_part or error.missing.symbol)
                return result if part else budget.hold(result)

            self[called] = call
            return implementation

        return enter

    def add(self, *kinds: Kind, **functions: Callable[..., object]) -> None:
        """Register functions by name that take the same arguments."""
        for name, implementation in functions.items():
            self.function(*kinds, name=name)(implementation)


def _converted(args: list[Datum], kinds: Sequence[Kind]) -> list[object]:
    """Convert all arguments, or raise the error of any, then NotKnown."""
    values: list[object] = []
    missing: list[NotKnown] = []
    for arg, kind in zip(args, kinds, strict=False):
        try:
            values.append(kind(arg))
        except NotKnown as error:
            missing.append(error)
    if missing:
        raise missing[0]
    return values


def _typed(value: Datum, gives: Type | None, bits: int) -> Datum:
    """Convert a result to its type, a number to its precision."""
    if bits != scalars.BITS and isinstance(value, Known) and isinstance(value.value, int | Fraction):
        return in_bits(value.value, bits, value.origin)
    return value if gives is None else convert.convert(value, gives)


def _placed(value: Datum, origin: Origin) -> Datum:
    """Place a result at the call if it has no place of its own."""
    return value if value.origin is None or value.origin.spans else replace(value, origin=origin)


def give(value: Any, origin: Origin) -> Datum:
    """Convert a result to a datum; parts that are data already keep their origin."""
    if isinstance(value, Known | Unknown):
        return value
    if isinstance(value, dict) and not isinstance(value, MapData):
        return Known({key: give(item, origin) for key, item in value.items()}, origin)
    if isinstance(value, list | tuple) and not isinstance(value, ListData | SetData):
        return Known(tuple(give(item, origin) for item in value), origin)
    if isinstance(value, Fraction):
        return Known(scalars.rounded(scalars.whole(value)), origin)
    return Known(normal(value), origin) if type(value) is str else Known(value, origin)


def settled(datum: Datum) -> object:
    """Return a value whose top level is known, or raise NotKnown."""
    if isinstance(datum, Unknown):
        raise NotKnown(Unknown(datum.reason))
    if scalars.kind(datum.value) == "resource":
        raise NotKnown(Unknown(RESOURCE))
    return datum.value


def present(datum: Datum) -> object:
    """Return a value, or raise NotKnown, or EvaluationError if null."""
    value = settled(datum)
    if value is None:
        raise EvaluationError("an argument must not be null")
    return value


def text(datum: Datum) -> str:
    """Convert an argument to a string."""
    return scalars.to_string(present(datum))


def number(datum: Datum) -> int | Fraction:
    """Convert an argument to an exact number."""
    present(datum)
    return scalars.exact(cast("Known[object]", datum))


def integer(datum: Datum) -> int:
    """Convert an argument to a whole number of 64 bits, or raise EvaluationError."""
    value = number(datum)
    if not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise EvaluationError("a whole number of at most 64 bits is needed")
    return value


def anything(datum: Datum) -> Datum:
    """Return the argument unchanged: known, null or unknown."""
    return datum


def not_null(datum: Datum) -> Datum:
    """Return the argument, or raise EvaluationError if null."""
    if isinstance(datum, Known) and datum.value is None:
        raise EvaluationError("an argument must not be null")
    return datum


def items(datum: Datum) -> tuple[Datum, ...]:
    """Return a list, tuple or set as it is, or raise EvaluationError."""
    value = present(datum)
    if not isinstance(value, tuple):
        raise EvaluationError(f"a list is needed, not a {scalars.kind(value)}")
    return value


def ordered(datum: Datum) -> tuple[Datum, ...]:
    """List the elements of a list or tuple, or raise EvaluationError."""
    value = items(datum)
    if isinstance(value, SetData):
        raise EvaluationError("a list is needed, a set has no order")
    return value


def entries(datum: Datum) -> dict[Key, Datum]:
    """Return the entries of a map or object, or raise EvaluationError."""
    value = present(datum)
    if not isinstance(value, dict):
        raise EvaluationError(f"a map is needed, not a {scalars.kind(value)}")
    return value


def alike(datum: Datum, element: Type = DYNAMIC) -> ListData:
    """Convert an argument to a list with elements of one type."""
    items(datum)
    return cast("ListData", items(convert.convert(datum, list_of(element))))


strings = partial(alike, element=STRING)
truths = partial(alike, element=BOOL)


def data(datum: Datum) -> object:
    """Convert an argument to plain data, or raise NotKnown."""
    check(datum)
    return plain(datum)


def check(datum: Datum) -> None:
    """Require that all parts are known. Raises NotKnown if some part is not."""
    for item in parts(settled(datum)):
        check(item)
