"""Convert strings, numbers and booleans like Terraform (cty)."""

import re
from bisect import bisect_left
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

from kcheck.text.data_types import SetData, Short
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin

_NUMBER = regex(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
BITS = 512
"""Precision of Terraform's numbers, in bits."""

_EXACT = 150  # that many decimal digits survive that precision
_LARGEST = 4000  # of digits and of exponents: a guard against numbers that fill the memory
_MOST_OF_TERRAFORM = 646_456_993
"""Largest exponent that Terraform accepts (MaxExp of Go's big.Float)."""
_SHORT = 20
"""Shorter numbers of digits alone are read without a pattern: nearly all."""
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class _MinusZero(int):
    def __str__(self) -> str:
        return "-0"


MINUS_ZERO = _MinusZero(0)


def is_negative(number: int | Fraction) -> bool:
    """Whether a number has a minus sign; zero may have one."""
    return number < 0 or number is MINUS_ZERO


class EvaluationError(ValueError):
    """An error that Terraform itself would report; `try()` and `can()` catch it."""


class UncaughtError(EvaluationError):
    """An error that no `try` catches."""


class AbsentError(EvaluationError):
    """An object lacks an attribute. `origin` is where it would be written."""

    def __init__(self, message: str, origin: Origin) -> None:
        super().__init__(message)
        self.origin = origin


def kind(value: object) -> str:
    """Return HCL's name for the kind of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | Fraction):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, SetData):
        return "set"
    if isinstance(value, tuple):
        return "list"
    return "map" if isinstance(value, dict) else "resource"


def exact(datum: Known[object]) -> int | Fraction:
    """Convert a value to an exact number; a short one prints fewer digits than it has."""
    return datum.exact if type(datum) is Short and datum.exact is not None else to_number(datum.value)


def whole(number: int | Fraction) -> int | Fraction:
    """Convert a number to int if it is whole."""
    return int(number) if isinstance(number, Fraction) and number.denominator == 1 else number


def rounded(number: int | Fraction, bits: int = BITS) -> int | Fraction:
    """Round a number to the precision of Terraform's numbers, or to fewer bits."""
    numerator, denominator = number.numerator, number.denominator
    if numerator.bit_length() <= bits and not denominator & (denominator - 1):
        return number
    mantissa, unit = _mantissa(number, bits)
    return whole(mantissa * unit)


def _mantissa(number: int | Fraction, bits: int) -> tuple[int, Fraction]:
    """Split a number into a mantissa of some bits and a power of two."""
    unit = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - bits)
    mantissa = round(number / unit)
    return (mantissa, unit) if mantissa.bit_length() <= bits else (round(number / (unit * 2)), unit * 2)


def to_string(value: object) -> str:
    """Convert a string, number or boolean to text, or raise EvaluationError."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() <= BITS else decimal(value)
    if isinstance(value, Fraction):
        return decimal(value)
    raise EvaluationError(f"a string is needed, not {_article(value)}")


def to_number(value: object) -> int | Fraction:
    """Convert a number or a decimal string. Raises EvaluationError if it is neither."""
    if isinstance(value, str):
        if len(value) < _SHORT and value.isdecimal() and value.isascii():
            return int(value)
        match = _NUMBER.fullmatch(value)
        if match is None:
            error = UncaughtError if value.lstrip("+-") in ("Inf", "inf") else EvaluationError
            raise error(f'cannot convert "{value}" to number')
        written = match[1] or "0"
        exponent = int(written.lstrip("+-0")[:_SHORT] or 0) * (-1 if written[0] == "-" else 1)
        if exponent > _MOST_OF_TERRAFORM:
            raise EvaluationError(f"a number is needed, not one with the exponent {exponent}")
        if len(value) > _LARGEST or abs(exponent) > _LARGEST:
            raise UncaughtError("the number has too many digits")
        number = whole(Fraction(value.replace(".e", "e").replace(".E", "E").removesuffix(".")))
        return MINUS_ZERO if number == 0 and value.startswith("-") else number
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return whole(value)
    raise EvaluationError(f"a number is needed, not {_article(value)}")


def to_bool(value: object) -> bool:
    """Convert a boolean or a string, or raise EvaluationError."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in _TRUTH:
            return _TRUTH[value]
        raise EvaluationError(f'cannot convert "{value}" to bool; only "true" and "false" are allowed')
    raise EvaluationError(f"a bool is needed, not {_article(value)}")


def _article(value: object) -> str:
    name = kind(value)
    return name if name == "null" else f"a {name}"


def digits(number: int | Fraction, bits: int = BITS) -> tuple[str, int]:
    """Return the fewest digits that identify a number, and its exponent.

    `("15", 1)` is 1.5, `("15", -1)` is 0.015.
    """
    text, point = _figures(number, _EXACT)
    if bits == BITS and _number(text, point) == number:
        return text.rstrip("0"), point
    mantissa, unit = _mantissa(number, bits)

    def suffice(count: int) -> bool:
        distance = abs(_number(*_figures(mantissa * unit, count)) - mantissa * unit)
        return distance < unit / 2 or (distance == unit / 2 and mantissa % 2 == 0)

    text, point = _figures(mantissa * unit, bisect_left(range(BITS), True, 1, key=suffice))
    return text.rstrip("0"), point


def _figures(number: int | Fraction, count: int) -> tuple[str, int]:
    """Round a number to some digits; return them, and those before the point."""
    found = Context(count, Emin=MIN_EMIN, Emax=MAX_EMAX).divide(Decimal(number.numerator), Decimal(number.denominator))
    return "".join(map(str, found.as_tuple().digits)).ljust(count, "0"), found.adjusted() + 1


def _number(figures: str, point: int) -> Fraction:
    return int(figures) * Fraction(10) ** (point - len(figures))


def decimal(number: int | Fraction, bits: int = BITS) -> str:
    """Format a number like Terraform: decimal digits without an exponent."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    text, point = digits(-number if number < 0 else number, bits)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{text}"
    if point >= len(text):
        return sign + text + "0" * (point - len(text))
    return f"{sign}{text[:point]}.{text[point:]}"


def floating(verb: str, number: int | Fraction, precision: int | None) -> str:
    """Format an exact number by Go's verbs for floats."""
    sign, size = ("-" if is_negative(number) else ""), abs(Fraction(number))
    places = 6 if precision is None else precision
    if verb == "f":
        whole, rest = divmod(round(size * 10**places), 10**places)
        return sign + to_string(whole) + (f".{rest:0{places}d}" if places else "")
    if verb in "eE":
        return sign + _scientific(*_figures(size, places + 1), places, verb)
    if precision is None:
        (figures, point), limit = digits(size) if size else ("0", 1), 6
    else:
        figures, point = _figures(size, max(precision, 1))
        figures = figures.rstrip("0") or "0"
        limit = max(precision, 1)
        limit = len(figures) if limit > len(figures) >= point else limit
    if not -4 <= point - 1 < limit:
        return sign + _scientific(figures, point, len(figures) - 1, "e" if verb == "g" else "E")
    return sign + decimal(_number(figures, point))


def _scientific(figures: str, point: int, places: int, letter: str) -> str:
    exponent = point - 1 if figures.strip("0") else 0
    fraction = f".{figures[1 : places + 1]}" if places else ""
    return f"{figures[0]}{fraction}{letter}{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
