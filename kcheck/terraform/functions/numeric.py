"""Functions of numbers."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from kcheck.terraform.budget import BudgetError
from kcheck.terraform.functions.signature import Table, anything, integer, items, number, present, settled, truths
from kcheck.terraform.operators import INFINITE, bits_of, in_bits, operate
from kcheck.text.data_types import NUMBER, list_of
from kcheck.text.need import NotKnown
from kcheck.text.scalars import EvaluationError, rounded, to_bool, to_number
from kcheck.text.values import Datum, Origin, Unknown

TABLE = Table()
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_DIGITS = 4_000
_LONGEST = 1024  # elements of a range, Terraform's own limit


def _precise(datum: Datum, compute: Callable[[int | Fraction], int | Fraction] = rounded) -> Datum:
    """Compute with a number, which keeps its precision."""
    return in_bits(compute(number(datum)), bits_of(datum), Origin(()))


TABLE.function(anything, name="abs")(lambda datum: _precise(datum, lambda value: value if value > 0 else -value))
TABLE.function(anything, name="ceil")(lambda datum: _precise(datum, math.ceil))
TABLE.function(anything, name="floor")(lambda datum: _precise(datum, math.floor))
TABLE.function(integer, bits=64, name="signum")(lambda value: (value > 0) - (value < 0))


TABLE.function(_precise, rest=_precise, name="max")(lambda *values: max(values, key=number))
TABLE.function(_precise, rest=_precise, name="min")(lambda *values: min(values, key=number))


@TABLE.function(items)
def _sum(values: tuple[Datum, ...]) -> Datum:
    if not values:
        raise EvaluationError("sum() of an empty list")
    return reduce(lambda a, b: operate("+", a, b, Origin(())), map(_precise, values))


def _float(compute: Callable[[], float]) -> int | Fraction:
    """Compute with floats, like Terraform's log and pow."""
    try:
        result = compute()
    except (ZeroDivisionError, OverflowError):
        result = math.inf
    except ValueError:
        result = math.nan
    if isinstance(result, complex) or math.isnan(result):
        raise EvaluationError("the result is not a number")
    if math.isinf(result):
        raise NotKnown(Unknown(INFINITE))
    return Fraction(result) if result else to_number(repr(result))


TABLE.function(number, number, bits=53, name="log")(lambda of, base: _float(lambda: _ln(float(of)) / _ln(float(base))))


def _ln(value: float) -> float:
    """Compute Go's math.log, whose last bit differs from C's."""
    fraction, exponent = math.frexp(value)
    if value <= 0:
        return math.nan if value else -math.inf
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    t1 = s2 * (6.666666666666735130e-01 + s4 * (2.857142874366239149e-01 + s4 * (
        1.818357216161805012e-01 + s4 * 1.479819860511658591e-01)))  # fmt: skip
    t2 = s4 * (3.999999999940941908e-01 + s4 * (2.222219843214978396e-01 + s4 * 1.531383769920937332e-01))
    half = 0.5 * f * f
    high, low = exponent * 6.93147180369123816490e-01, exponent * 1.90821492927058770002e-10
    return high - ((half - (s * (half + (t1 + t2)) + low)) - f)


TABLE.function(number, number, bits=53, name="pow")(lambda of, power: _float(lambda: _power(float(of), float(power))))


def _power(value: float, power: float) -> float:
    """Compute Go's math.Pow, whose last bits differ from C's."""
    if value == 0 and power < 0:
        return math.inf
    if value == 0 or power == 0 or abs(power) >= 2**63:
        return math.pow(value, power)
    if abs(power) == 0.5:
        return math.sqrt(value) if power > 0 else 1 / math.sqrt(value)
    if power != int(power):  # it depends on the processor
        raise NotKnown(Unknown("a fractional power is not computed"))
    result, exponent = 1.0, 0
    base, shift = math.frexp(value)
    count = int(abs(power))
    while count:
        if abs(shift) > 1 << 12:
            exponent += shift
            break
        if count & 1:
            result, exponent = result * base, exponent + shift
        base, shift, count = base * base, shift << 1, count >> 1
        if base < 0.5:
            base, shift = base + base, shift - 1
    return math.ldexp(1 / result, -exponent) if power < 0 else math.ldexp(result, exponent)


def _digits(datum: Datum) -> str:
    """Return the text of a number for parseint(), which refuses numbers."""
    value = present(datum)
    if not isinstance(value, str):
        raise EvaluationError("parseint() reads strings only")
    return str(value)


@TABLE.function(_digits, integer)
def _parseint(value: str, base: int) -> Datum:
    if not 2 <= base <= 62:
        raise EvaluationError("the base must be between 2 and 62")
    if len(value) > _MOST_DIGITS:
        raise BudgetError("the number has too many digits")
    sign, body = (-1, value[1:]) if value.startswith("-") else (1, value.removeprefix("+"))
    digits = list(map(_DIGITS.find, body if base > 36 else body.lower()))
    if not digits or not all(0 <= digit < base for digit in digits):
        raise EvaluationError(f'cannot parse "{value}" as a base {base} integer')
    found = sign * reduce(lambda result, digit: result * base + digit, digits)
    return in_bits(found, max(64, found.bit_length()), Origin(()))


@TABLE.function(number, number, number, optional=2, gives=list_of(NUMBER))
def _range(
    first: int | Fraction, last: int | Fraction | None = None, step: int | Fraction | None = None
) -> list[int | Fraction]:
    start, end = (0, first) if last is None else (first, last)
    if step is None:
        step = 1 if start <= end else -1
    if (step < 0 < end - start) or (step > 0 > end - start):
        raise EvaluationError("the step leads away from the end")
    found = [rounded(start)]
    while found[-1] > end if step < 0 else found[-1] < end:
        if len(found) > _LONGEST:
            raise EvaluationError("more than 1024 values were generated")
        found.append(rounded(found[-1] + rounded(step)))
    return found[:-1]


def _truths(values: tuple[Datum, ...], decisive: bool) -> bool:
    """Whether an element equals `decisive`; the others may then be unknown."""
    missing: NotKnown | None = None
    for item in values:
        try:
            value = settled(item)
        except NotKnown as error:
            missing = missing or error
            continue
        if (False if value is None else to_bool(value)) == decisive:
            return True
    if missing:
        raise missing
    return False


TABLE.add(
    truths,
    alltrue=lambda values: not _truths(values, decisive=False),
    anytrue=lambda values: _truths(values, decisive=True),
)
