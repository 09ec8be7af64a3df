"""format() and formatlist(), with Go's verbs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.terraform.functions.serial import json_text
from kcheck.terraform.functions.signature import NotKnownError, Table, anything, check, present, settled, text
from kcheck.terraform.functions.strings import clusters
from kcheck.text import scalars
from kcheck.text.data_types import STRING, list_of
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError, floating
from kcheck.text.values import Datum, Known, Origin, Unknown

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from kcheck.terraform.budget import Budget

TABLE = Table()

_VERB = regex(
    r"%(?:%|(?P<flags>[ +\-0#]*)(?P<width>\d{1,9})?(?:\.(?P<precision>\d{1,9}))?"
    r"(?:\[(?P<index>\d{1,9})\])?(?P<verb>[a-zA-Z])|)"
)
_WIDEST = 10_000  # a guard against a width that fills the memory


@TABLE.function(text, rest=anything, counted=True)
def _format(template: str, *arguments: Datum, budget: Budget) -> str:
    last = position = 0

    def fill(match: re.Match[str]) -> str:
        nonlocal last, position
        if match["verb"] is None:
            if match[0] == "%%":
                return "%"
            raise EvaluationError(f"format() does not know the verb at {match.start()} of `{template}`")
        position = int(match["index"]) if match["index"] else position + 1
        if not 1 <= position <= len(arguments):
            raise EvaluationError(f"format() has no argument for `{match[0]}`")
        last = max(last, position)
        filled = _filled(match, arguments[position - 1])
        budget.write(len(filled))
        return filled

    result = _VERB.sub(fill, template)
    if last < len(arguments):
        raise EvaluationError(f"format() has {len(arguments)} arguments and uses {last}")
    return result


def _filled(match: re.Match[str], argument: Datum) -> str:
    verb, flags = match["verb"], match["flags"]
    width = int(match["width"] or 0)
    precision = int(match["precision"]) if match["precision"] else None
    if max(width, precision or 0) > _WIDEST:
        raise EvaluationError(f"format() is asked for too wide a field: `{match[0]}`")
    check(argument)
    shown = _shown(verb, flags, precision, argument)
    missing = width - len(clusters(shown)) if width else 0
    if missing <= 0 or verb == "t":
        return shown
    if "-" in flags:
        return shown + " " * missing
    if "0" not in flags:
        return " " * missing + shown
    at = 1 if verb not in "sqv" and shown[:1] in ("-", "+", " ") else 0
    return shown[:at] + "0" * missing + shown[at:]


def _shown(verb: str, flags: str, precision: int | None, argument: Datum) -> str:
    value = settled(argument)
    if verb == "v":
        if "#" not in flags and isinstance(value, str):
            return value
        if "#" not in flags and isinstance(value, int | Fraction) and not isinstance(value, bool):
            return floating("g", value, None)
        return json_text(argument)
    present(argument)
    if verb == "t":
        return "true" if scalars.to_bool(value) else "false"
    if verb in "sq":
        shown = scalars.to_string(value)
        shown = shown if precision is None else "".join(clusters(shown)[:precision])
        return json_text(Known(shown, Origin(()))) if verb == "q" else shown
    number = scalars.exact(argument) if isinstance(argument, Known) else scalars.to_number(value)
    sign = ("+" if "+" in flags else " " if " " in flags else "") if not scalars.is_negative(number) else ""
    return sign + _number(verb, number, precision, flags)


def _number(verb: str, number: int | Fraction, precision: int | None, flags: str) -> str:
    if verb in "dxXob":
        if not isinstance(number, int):
            raise EvaluationError(f"format() needs a whole number for `%{verb}`")
        if verb == "d":
            return scalars.to_string(number + 0)
        prefix = {"x": "0x", "X": "0X", "o": "0", "b": "0b"}[verb] if "#" in flags else ""
        return ("-" if number < 0 else "") + prefix + format(abs(number), verb)
    if verb in "feEgG":
        return floating(verb, number, precision)
    raise EvaluationError(f"format() does not know `%{verb}`")


@TABLE.function(text, rest=anything, gives=list_of(STRING), counted=True)
def _formatlist(template: str, *arguments: Datum, budget: Budget) -> list[Datum | str]:
    """formatlist(): one text per list element; scalars repeat."""
    lengths = {len(items) for items in map(settled, arguments) if isinstance(items, tuple)}
    if len(lengths) > 1:
        raise EvaluationError("formatlist() needs lists of one length")
    return [_line(template, row, budget) for row in _rows(arguments, lengths.pop() if lengths else 1)]


def _line(template: str, row: list[Datum], budget: Budget) -> Datum | str:
    try:
        line: str = _format(template, *row, budget=budget)
    except NotKnownError as error:
        return Unknown(error.reason)
    return line


def _rows(arguments: tuple[Datum, ...], count: int) -> Iterator[list[Datum]]:
    for i in range(count):
        yield [items[i] if isinstance(items := settled(argument), tuple) else argument for argument in arguments]
