"""Numbers as Go prints them with the verbs %f, %e and %g."""

from __future__ import annotations

from fractions import Fraction

from kcheck.text import scalars


def floating(verb: str, number: int | Fraction, precision: int | None) -> str:
    """The verbs that Go has for floats, for exact numbers: %g without a precision writes all digits."""
    sign, size = ("-" if scalars.is_negative(number) else ""), abs(Fraction(number))
    if verb == "f":
        places = 6 if precision is None else precision
        whole, rest = divmod(round(size * 10**places), 10**places)
        return sign + scalars.to_string(whole) + (f".{rest:0{places}d}" if places else "")
    exact = scalars.digits(size) if size else ("0", 1)
    if verb in "eE":
        places = 6 if precision is None else precision
        return sign + _scientific(*_rounded(size, exact, places + 1), places, verb)
    if precision is None:
        digits, point, limit = *exact, 6
    else:
        digits, point = _rounded(size, exact, max(precision, 1))
        digits = digits.rstrip("0") or "0"
        limit = max(precision, 1)
        limit = len(digits) if limit > len(digits) >= point else limit
    if not -4 <= point - 1 < limit:
        return sign + _scientific(digits, point, len(digits) - 1, "e" if verb == "g" else "E")
    return sign + scalars.decimal(Fraction(int(digits)) * Fraction(10) ** (point - len(digits)))


def _rounded(size: Fraction, exact: tuple[str, int], count: int) -> tuple[str, int]:
    """`count` digits of a number, and the place of the point."""
    point = exact[1]
    digits = str(round(size / Fraction(10) ** (point - count))).rjust(count, "0")
    return digits[:count], point + len(digits) - count


def _scientific(digits: str, point: int, places: int, letter: str) -> str:
    exponent = point - 1 if digits.strip("0") else 0
    fraction = f".{digits[1 : places + 1]}" if places else ""
    return f"{digits[0]}{fraction}{letter}{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
