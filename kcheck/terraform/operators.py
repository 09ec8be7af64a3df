"""Operators with HCL's rules and numbers of 512 bits."""

from collections.abc import Callable
from fractions import Fraction
from operator import ge, gt, le, lt

from kcheck.terraform import convert, type_rules
from kcheck.text import scalars
from kcheck.text.data_types import ANYTHING, DYNAMIC, Short, Type
from kcheck.text.scalars import MINUS_ZERO, EvaluationError
from kcheck.text.values import Datum, DatumValue, Known, Origin, Symbol, Unknown

INFINITE = "the number is infinite"
"""Reason for an infinite result: Terraform computes one, but it is hardly usable."""


def first_reason(*values: Datum) -> str:
    """Return the reason of the first unknown value."""
    return next((value.reason for value in values if isinstance(value, Unknown)), "part of it is not known")


def logic(operator: str, left: Datum, right: Datum, origin: Origin) -> Datum:
    """Evaluate `&&` or `||`; one side can decide alone even if the other is unknown."""
    decisive = operator == "||"
    known = [scalars.to_bool(side.value) for side in (left, right) if isinstance(side, Known)]
    if decisive in known:
        return Known(decisive, origin)
    return Known(not decisive, origin) if len(known) == 2 else Unknown(first_reason(left, right), origin)


def operate(operator: str, left: Datum, right: Datum, origin: Origin) -> Datum:
    """Evaluate an operation with two sides, or raise EvaluationError."""
    if operator in ("==", "!="):
        same = convert.equal(left, right)
        if same is None:
            return Unknown(first_reason(left, right), origin)
        return Known(same == (operator == "=="), origin)
    if operator in ("&&", "||"):
        return logic(operator, left, right, origin)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return Unknown(first_reason(left, right), origin)
    a, b = (scalars.rounded(scalars.exact(side)) for side in (left, right))
    if operator in _COMPARISONS:
        return Known(_COMPARISONS[operator](a, b), origin)
    if operator == "/" and b == 0 and a != 0:
        return Unknown(INFINITE, origin)
    bits = bits_of(left) if operator == "%" else max(bits_of(left), bits_of(right))
    result = arithmetic(operator, a, b, bits)
    if operator == "*" and bits < scalars.BITS:  # a product keeps all digits
        bits = max(bits, (result.numerator // (result.numerator & -result.numerator or 1)).bit_length())
    return in_bits(result, min(bits, scalars.BITS), origin)


def bits_of(datum: Datum) -> int:
    """Return the precision of a number in bits."""
    return datum.bits if type(datum) is Short else scalars.BITS


def in_bits(number: int | Fraction, bits: int, origin: Origin) -> Datum:
    """Round a number to a precision in bits."""
    exact = scalars.rounded(number, bits)
    if bits == scalars.BITS:
        return Known(exact, origin)
    fits = exact == 0 or (isinstance(exact, int) and exact.bit_length() <= bits)
    shown = exact if fits else scalars.whole(Fraction(scalars.decimal(exact, bits)))
    return Short(shown, origin, bits=bits, exact=exact)


def negated(datum: Known[DatumValue], origin: Origin) -> Datum:
    """Negate a number; zero becomes minus zero."""
    number = scalars.exact(datum)
    result = 0 if number is MINUS_ZERO else MINUS_ZERO if number == 0 else -number
    return in_bits(result, bits_of(datum), origin)


def arithmetic(operator: str, a: int | Fraction, b: int | Fraction, bits: int) -> int | Fraction:
    """Compute `a operator b` before rounding; raise EvaluationError for 0 / 0."""
    if operator == "/" and b == 0:
        raise EvaluationError("zero cannot be divided by zero")
    if operator == "%" and b == 0:
        return a  # as Terraform has it
    match operator:
        case "+":
            result = a + b
        case "-":
            result = a - b
        case "*":
            result = a * b
        case "/":
            result = Fraction(a) / Fraction(b)
        case _:  # "%": the sign follows the dividend, as in Go
            times = int(scalars.rounded(Fraction(a) / Fraction(b)))
            result = Fraction(a) - scalars.rounded(Fraction(b) * times, bits)
    if operator in "*/":
        negative = scalars.is_negative(a) != scalars.is_negative(b)
    else:
        negative = a is MINUS_ZERO and scalars.is_negative(b) == (operator == "+")
    return MINUS_ZERO if negative and result == 0 else scalars.whole(result)


_COMPARISONS: dict[str, Callable[[int | Fraction, int | Fraction], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def common_symbol(yes: Datum, no: Datum) -> Symbol | None:
    """Return the identity common to both branches, which may be null."""
    symbols = {value.symbol for value in (yes, no) if isinstance(value, Unknown)}
    empty = all(isinstance(value, Unknown) or value.value is None for value in (yes, no))
    return symbols.pop() if empty and len(symbols) == 1 else None


def alike(value: Datum, wanted: Type) -> Datum:
    """Convert the chosen branch to a type that fits both."""
    own = type_rules.type_of(value)
    if own == ANYTHING or wanted in (own, DYNAMIC, ANYTHING):
        return value
    found = wanted if own == DYNAMIC else type_rules.unify([own, wanted])
    if found is None:
        raise EvaluationError(f"the branches of a conditional must have one type, not {own.kind} and {wanted.kind}")
    beside = (own.kind, wanted.kind) in (("tuple", "list"), ("object", "map")) and type_rules.unify(own.parts)
    if found.parts == (DYNAMIC,) and beside not in (False, DYNAMIC) and len({*own.parts} - {ANYTHING}) > 1:
        raise EvaluationError(f"the parts of a {own.kind} must have one type beside a {wanted.kind} of any")
    return convert.convert(value, found)
