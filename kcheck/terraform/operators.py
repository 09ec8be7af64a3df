"""Operators on values, with HCL's rules: exact numbers, and `&&` and `||` that one side can decide."""

from __future__ import annotations

from fractions import Fraction

from kcheck.source import scalars
from kcheck.source.scalars import EvaluationError
from kcheck.source.values import Datum, Known, Origin, Unknown


def first_reason(*values: Datum) -> str:
    """Why the first of the values that is not known is not."""
    return next((value.reason for value in values if isinstance(value, Unknown)), "a part of it is not known")


def logic(operator: str, left: Datum, right: Datum, origin: Origin) -> Datum:
    """`&&` and `||`: one side can decide alone, also when the other is not known."""
    decisive = operator == "||"
    known = [scalars.to_bool(side.value) for side in (left, right) if isinstance(side, Known)]
    if decisive in known:
        return Known(decisive, origin)
    if len(known) == 2:
        return Known(not decisive, origin)
    return Unknown(first_reason(left, right), origin)


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
