"""Operators with HCL's rules: exact numbers; one side can decide `&&` and `||`."""

from __future__ import annotations

from fractions import Fraction

from kcheck.source import scalars
from kcheck.source.scalars import EvaluationError
from kcheck.source.values import Datum, Known, Origin, Symbol, Unknown
from kcheck.terraform import convert


def first_reason(*values: Datum) -> str:
    """Why the first of the values that is unknown is not."""
    return next((value.reason for value in values if isinstance(value, Unknown)), "part of it is not known")


def logic(operator: str, left: Datum, right: Datum, origin: Origin) -> Datum:
    """`&&` and `||`: one side can decide alone, also when the other is unknown."""
    decisive = operator == "||"
    known = [scalars.to_bool(side.value) for side in (left, right) if isinstance(side, Known)]
    if decisive in known:
        return Known(decisive, origin)
    if len(known) == 2:
        return Known(not decisive, origin)
    return Unknown(first_reason(left, right), origin)


def operate(operator: str, left: Datum, right: Datum, origin: Origin) -> Datum:
    """The result of an operation with two sides.

    Raises:
        EvaluationError: Terraform would refuse it.
    """
    if operator in ("==", "!="):
        same = convert.equal(left, right)
        if same is None:
            return Unknown(first_reason(left, right), origin)
        return Known(same == (operator == "=="), origin)
    if operator in ("&&", "||"):
        return logic(operator, left, right, origin)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return Unknown(first_reason(left, right), origin)
    return Known(arithmetic(operator, scalars.to_number(left.value), scalars.to_number(right.value)), origin)


def arithmetic(operator: str, a: int | Fraction, b: int | Fraction) -> bool | int | Fraction:
    """`a operator b`, exactly.

    Raises:
        EvaluationError: division by zero.
    """
    if operator == "/" and b == 0:
        raise EvaluationError("division by zero")
    if operator == "%" and b == 0:
        return a  # as Terraform has it
    result: bool | int | Fraction
    match operator:
        case "+":
            result = a + b
        case "-":
            result = a - b
        case "*":
            result = a * b
        case "/":
            result = Fraction(a) / Fraction(b)
        case "%":  # the sign follows the dividend, as in Go
            result = Fraction(a) - Fraction(b) * int(Fraction(a) / Fraction(b))
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case _:
            raise EvaluationError(f"unknown operator `{operator}`")
    return int(result) if isinstance(result, Fraction) and result.denominator == 1 else result


def common_symbol(yes: Datum, no: Datum) -> Symbol | None:
    """The identity common to all branches: `cond ? x.id : null` is x or nothing."""
    symbols = {value.symbol for value in (yes, no) if isinstance(value, Unknown)}
    empty = all(isinstance(value, Unknown) or value.value is None for value in (yes, no))
    return symbols.pop() if empty and len(symbols) == 1 else None


def alike(value: Datum, other: Datum) -> Datum:
    """Branches of a conditional in one type: beside a string, a number becomes a string."""
    if not isinstance(value, Known) or not isinstance(other, Known):
        return value
    if isinstance(value.value, dict) or hasattr(value.value, "attribute"):
        return value
    try:
        return convert.unify([value, other])[0]
    except EvaluationError:
        return value
