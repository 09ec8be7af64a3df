"""format() and formatlist(), with Go's verbs."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.terraform import convert
from kcheck.terraform.convert import EvaluationError
from kcheck.terraform.functions.serial import json_text
from kcheck.terraform.functions.signature import Table, anything, check, present, settled, text
from kcheck.values import Datum, Known

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = Table()

_VERB = re.compile(
    r"%(?P<flags>[ +\-0#]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?(?:\[(?P<index>\d+)\])?(?P<verb>.)", re.DOTALL
)


@TABLE.function(text, rest=anything)
def _format(template: str, *arguments: Datum) -> str:
    used: set[int] = set()
    position = 0

    def fill(match: re.Match[str]) -> str:
        nonlocal position
        if match["verb"] == "%":
            return "%"
        position = int(match["index"]) if match["index"] else position + 1
        if not 1 <= position <= len(arguments):
            raise EvaluationError(f"format() has no argument for `{match[0]}`")
        used.add(position)
        return _filled(match, arguments[position - 1])

    result = _VERB.sub(fill, template)
    if len(used) < len(arguments) and "[" not in template:
        raise EvaluationError(f"format() has {len(arguments)} arguments and uses {len(used)}")
    return result


def _filled(match: re.Match[str], argument: Datum) -> str:
    verb, flags = match["verb"], match["flags"]
    width = int(match["width"] or 0)
    precision = int(match["precision"]) if match["precision"] else None
    check(argument)
    shown = _shown(verb, flags, precision, argument)
    pad = "0" if "0" in flags and "-" not in flags and verb not in "sqvt" else " "
    if pad == "0" and shown[:1] in ("-", "+"):
        return shown[0] + shown[1:].rjust(width - 1, "0")
    return shown.ljust(width) if "-" in flags else shown.rjust(width, pad)


def _shown(verb: str, flags: str, precision: int | None, argument: Datum) -> str:
    value = settled(argument)
    if verb == "v":
        if "#" in flags or value is None or isinstance(value, dict | tuple):
            return json_text(argument)
        return convert.to_string(value)
    present(argument)
    if verb == "t":
        return "true" if convert.to_bool(value) else "false"
    if verb in "sq":
        shown = convert.to_string(value)
        shown = shown[:precision] if precision is not None else shown
        return json_text(Known(shown, argument.origin)) if verb == "q" and argument.origin else shown
    number = convert.to_number(value)
    return ("+" if "+" in flags and number >= 0 else "") + _number(verb, number, precision, flags)


def _number(verb: str, number: int | Fraction, precision: int | None, flags: str) -> str:
    if verb in "dxXob" and not isinstance(number, int):
        raise EvaluationError(f"format() needs a whole number for `%{verb}`")
    if verb == "d":
        return str(number)
    if verb in "xXob":
        prefix = {"x": "0x", "X": "0X", "o": "0", "b": "0b"}[verb] if "#" in flags else ""
        return prefix + format(int(number), verb)
    if verb == "f":
        digits = 6 if precision is None else precision
        scaled = round(Fraction(number) * 10**digits)
        whole, rest = divmod(abs(scaled), 10**digits)
        return ("-" if scaled < 0 else "") + str(whole) + (f".{rest:0{digits}d}" if digits else "")
    if verb in "eEgG":
        return format(float(number), verb if precision is None else f".{precision}{verb}")
    raise EvaluationError(f"format() does not know `%{verb}`")


@TABLE.function(text, rest=anything)
def _formatlist(template: str, *arguments: Datum) -> list[str]:
    """One text for each element of the lists; what is not a list is used for each."""
    lengths = {len(items) for items in map(settled, arguments) if isinstance(items, tuple)}
    if len(lengths) > 1:
        raise EvaluationError("formatlist() needs lists of one length")
    return [_format(template, *row) for row in _rows(arguments, lengths.pop() if lengths else 1)]


def _rows(arguments: tuple[Datum, ...], count: int) -> Iterator[list[Datum]]:
    for i in range(count):
        yield [items[i] if isinstance(items := settled(argument), tuple) else argument for argument in arguments]
