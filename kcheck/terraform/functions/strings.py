"""Functions of text."""

import posixpath
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from unicodedata import category

from kcheck.terraform.budget import Budget
from kcheck.terraform.functions.encoding import json_text
from kcheck.terraform.functions.signature import Table, anything, check, integer, present, settled, strings, text
from kcheck.terraform.partial_collections import gathered, items_of
from kcheck.text import scalars
from kcheck.text.data_types import STRING, Null, list_of
from kcheck.text.need import NotKnown, first_unknown, or_unknown
from kcheck.text.partly_known import distinct
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError, floating
from kcheck.text.values import Datum, Either, Joined, Known, Origin, Partial, Symbol, Unknown

TABLE = Table()
_MOST_BLANKS = 10_000
_WIDEST = 10_000  # a guard against a width that fills the memory
_MOST_DIGITS = 4_000  # of a float; Python converts 4,300
_VERB = regex(
    r"%(?:%|(?P<flags>[ +\-0#]*)(?P<width>\d{1,9})?(?:\.(?P<precision>\d{0,9}))?"
    r"(?:\[(?P<index>\d{1,9})\])?(?P<verb>[a-zA-Z])|)"
)
"""Matches a verb of format(), as in Go."""
_WHOLE, _PREFIX = "dxXob", regex(r"[-+ ]?(?:0[xXb])?")
_BLANKS = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def clusters(value: str) -> list[str]:
    """Split a text into grapheme clusters: combining marks stay with their letter."""
    if value.isascii() and "\r" not in value:
        return list(value)
    letters = "".join(map(_letter, value))
    return [value[match.start() : match.end()] for match in _CLUSTER.finditer(letters)]


def _cased(value: str, change: Callable[[str], str]) -> str:
    """Change case letter by letter like Go: a letter never becomes two."""
    return change(value) if value.isascii() else "".join(_one(letter, change) for letter in value)


def _one(letter: str, change: Callable[[str], str]) -> str:
    if letter == "İ" and change is str.lower:
        return "i"
    found = (change(letter), letter.title() if change is str.upper else "")
    return next((new for new in found if len(new) == 1), letter)


TABLE.add(
    text,
    upper=lambda value: _cased(value, str.upper),
    lower=lambda value: _cased(value, str.lower),
    strrev=lambda value: "".join(reversed(clusters(value))),
    trimspace=lambda value: value.strip(_BLANKS),
    chomp=lambda value: value.rstrip("\r\n"),
)
TABLE.add(
    text,
    text,
    trim=lambda value, cut: value.strip(cut) if cut else value,
    trimprefix=str.removeprefix,
    trimsuffix=str.removesuffix,
    startswith=str.startswith,
    endswith=str.endswith,
    strcontains=str.__contains__,
)


@TABLE.function(text)
def _title(value: str) -> str:
    result, start = [], True
    for letter in value:
        result.append(_cased(letter, str.title) if start else letter)
        start = not (letter.isalnum() or letter == "_" or (not letter.isascii() and not letter.isspace()))
    return "".join(result)


@TABLE.function(text, integer, integer)
def _substr(value: str, offset: int, length: int) -> str:
    letters = clusters(value)
    to_end = length < 0 or (offset < 0 and not length)  # as Terraform has it
    offset = max(0, offset + len(letters)) if offset < 0 else offset
    return "".join(letters[offset:] if to_end else letters[offset : offset + length])


@TABLE.function(integer, text, counted=True)
def _indent(count: int, value: str, budget: Budget) -> str:
    if not 0 <= count <= _MOST_BLANKS:
        raise EvaluationError(f"indent() cannot indent by {count} spaces")
    budget.write(len(value) + count * value.count("\n"))
    return value.replace("\n", "\n" + " " * count)


@TABLE.function(text, strings, rest=strings, counted=True)
def _join(separator: str, *lists: tuple[Datum, ...], budget: Budget) -> str | Datum:
    parts = [part for values in lists for part in values]
    unknown = first_unknown(parts)
    if unknown is None:
        texts = [text(part) for part in parts]
        budget.write(len(separator) * len(texts) + sum(map(len, texts)))
        return separator.join(texts)
    symbol = unknown.symbol if len(parts) == 1 else None  # one alone stays what it is
    return Joined(unknown.reason, symbol=symbol, separator=separator, parts=tuple(parts))


@TABLE.function(text, anything, gives=list_of(STRING), counted=True)
def _split(separator: str, value: Datum, budget: Budget) -> list[str] | tuple[Datum, ...]:
    if isinstance(value, Joined) and value.separator == separator and not separator.isalnum():
        return value.parts  # ids hold no separators of lists
    if isinstance(value, Unknown):
        raise NotKnown(Unknown(value.reason, symbol=value.symbol and Symbol(value.symbol.address, "?")))
    whole = text(value)
    budget.count(whole.count(separator))
    return whole.split(separator) if separator else list(whole)


@TABLE.function(anything, gives=list_of(STRING))
def _sort(given: Datum) -> list[Datum | str] | Datum:
    """sort(); elements that are strings already keep their origin."""
    if isinstance(given, Partial):
        return given
    values = strings(given)
    unknown = next((item for item in values if isinstance(item, Unknown) and item.symbol is not None), None)
    if unknown is not None and unknown.symbol is not None and distinct(values) == len(values):
        where = f"sort({unknown.symbol.address}.{unknown.symbol.attribute})"  # as many, in an order that is unknown
        places = (Symbol(where, f"[{at}]") for at in range(len(values)))
        return [Either(unknown.reason, unknown.origin, place, branches=values) for place in places]
    named = [(text(item), item) for item in values]
    named.sort(key=lambda pair: pair[0])
    return [item if isinstance(settled(item), str) else name for name, item in named]


@TABLE.function(anything, gives=list_of(STRING))
def _compact(given: Datum) -> Datum:
    """compact(); a value with a symbol is neither null nor empty."""
    found: list[tuple[Datum, Unknown | None]] = []
    for item, why in items_of(given) if isinstance(given, Partial) else ((item, None) for item in strings(given)):
        if isinstance(item, Unknown):
            found.append((item, why or (None if item.symbol is not None else item)))
        elif settled(item) is not None and text(item) != "":
            found.append((item if isinstance(item.value, str) else Known(text(item), item.origin), why))
    return gathered(found, Origin(()))


@TABLE.function(text)
def _basename(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or ("/" if path else ".")


@TABLE.function(text)
def _dirname(path: str) -> str:
    folder = posixpath.normpath(path[: path.rfind("/") + 1])
    return "/" + folder.lstrip("/") if folder.startswith("/") else folder


# --- format() and formatlist(), with Go's verbs


def _argument(datum: Datum) -> Datum:
    """Return an argument of format(), or raise NotKnown for an untyped null."""
    if isinstance(datum, Known) and datum.value is None and type(datum) is not Null:
        raise NotKnown(Unknown("null has no type"))
    return datum


@TABLE.function(text, rest=_argument, counted=True)
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
    precision = None if match["precision"] is None else int(match["precision"] or 0)
    if max(width, precision or 0) > (_MOST_DIGITS if verb in "eEfFgG" else _WIDEST):
        raise EvaluationError(f"the field is too wide for format(): `{match[0]}`")
    check(argument)
    shown = _shown(verb, flags, precision, argument)
    missing = width - len(clusters(shown)) if width else 0
    if missing <= 0 or verb == "t":
        return shown
    if "-" in flags:
        return shown + ("0" if "0" in flags and verb in "sqv" else " ") * missing
    if "0" not in flags or (verb in _WHOLE and precision is not None):
        return " " * missing + shown
    at = 0 if verb in "sqv" or (found := _PREFIX.match(shown)) is None else found.end()
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
        shown = "".join(clusters(shown)[: precision or None])
        return json_text(Known(shown, Origin(()))) if verb == "q" else shown
    shortest = verb in "gG" and precision is None
    number = scalars.to_number(value) if shortest or not isinstance(argument, Known) else scalars.exact(argument)
    sign = ("+" if "+" in flags else " " if " " in flags else "") if not scalars.is_negative(number) else ""
    return sign + _number(verb, number, precision, flags)


def _number(verb: str, number: int | Fraction, precision: int | None, flags: str) -> str:
    if verb in _WHOLE:
        if not isinstance(number, int):
            raise EvaluationError(f"format() needs a whole number for `%{verb}`")
        digits = scalars.to_string(abs(number)) if verb == "d" else format(abs(number), verb)
        prefix = {"d": "", "x": "0x", "X": "0X", "o": "0", "b": "0b"}[verb] if "#" in flags else ""
        digits = "" if precision == 0 and not number else digits.zfill(precision or 0)
        return ("-" if number < 0 else "") + prefix + digits
    if verb in "feEgG":
        return floating(verb, number, precision)
    raise EvaluationError(f"format() does not know `%{verb}`")


@TABLE.function(text, rest=_argument, gives=list_of(STRING), counted=True)
def _formatlist(template: str, *arguments: Datum, budget: Budget) -> list[Datum | str]:
    """formatlist(): one text per list element; scalars repeat."""
    lengths = {len(items) for items in map(settled, arguments) if isinstance(items, tuple)}
    if len(lengths) > 1:
        raise EvaluationError("formatlist() needs lists of one length")
    rows = (
        [items[at] if isinstance(items := settled(argument), tuple) else argument for argument in arguments]
        for at in range(lengths.pop() if lengths else 1)
    )
    return [or_unknown(_format)(template, *row, budget=budget) for row in rows]


# --- grapheme clusters of Unicode 15, as Terraform counts characters
#
# The grammar is that of textseg, Terraform's library, over one letter per character. The package `regex` is not used:
# it takes a tenth of a second to import and joins Indic letters as Unicode 15.1 does.

_HANGUL = r"(?:L+(?:G?V+T*|HT*|G?)|GV*T*|V+T*|HT*|T+)"
_EXTENSION = r"(?:[ES]|Z(?:XE*)?)*"
_SEQUENCE = rf"(?:{_HANGUL}{_EXTENSION}|XE*{_EXTENSION}|Z[ZES]*|II?{_EXTENSION}|[OES][EZS]*)"
_CLUSTER = regex(rf"RN|P+{_SEQUENCE}?|{_SEQUENCE}|.")

_BY_CATEGORY = {"Mn": "E", "Me": "E", "Mc": "S", "Cc": "C", "Cf": "C", "Zl": "C", "Zp": "C"}
_RANGES = {  # what its category does not tell
    "I": "1f1e6-1f1ff",
    "L": "1100-115f a960-a97c",
    "V": "1160-11a7 d7b0-d7c6",
    "T": "11a8-11ff d7cb-d7fb",
    "P": ("600-605 6dd 70f 890-891 8e2 d4e 110bd 110cd 111c2-111c3 1193f 11941 11a3a 11a84-11a89 11d46 11f02 "),
    "E": (
        "9be 9d7 b3e b57 bbe bd7 cc2 cd5-cd6 d3e d57 dcf ddf ece 1b35 200c 302e-302f ff9e-ff9f 10efd-10eff 11241 "
        "1133e 11357 114b0 114bd 115af 11930 11f00-11f01 11f36-11f3a 11f40 11f42 13440 13447-13455 1d165 1d16e-1d172 "
        "1e08f 1e4ec-1e4ef 1f3fb-1f3ff e0020-e007f "
    ),
    "S": ("cf3 e33 eb3 11f03 11f34-11f35 11f3e-11f3f 11f41 "),
    "O": ("102b-102c 1038 1062-1064 1067-106d 1083 1087-108c 108f 109a-109c 1a61 1a63-1a64 aa7b aa7d 11720-11721 "),
    "C": ("fffd 2065 fff0-fff8 13439-1343f e0000 e0002-e001f e0080-e00ff e01f0-e0fff "),
    "X": (
        "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 2388 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab "
        "25b6 25c0 25fb-25fe 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271d 2721 2728 2733-2734 "
        "2744 2747 274c 274e 2753-2755 2757 2763-2767 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 "
        "2b55 3030 303d 3297 3299 1f000-1f0ff 1f10d-1f10f 1f12f 1f16c-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f1ad-1f1e5 "
        "1f201-1f20f 1f21a 1f22f 1f232-1f23a 1f23c-1f23f 1f249-1f3fa 1f400-1f53d 1f546-1f64f 1f680-1f6ff 1f774-1f77f "
        "1f7d5-1f7ff 1f80c-1f80f 1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8ff 1f90c-1f93a 1f93c-1f945 1f947-1faff "
        "1fc00-1fffd "
    ),
}


@cache
def _table() -> dict[int, str]:
    result = {0x0D: "R", 0x0A: "N", 0x200D: "Z"}
    for letter, ranges in _RANGES.items():
        for one in ranges.split():
            first, _, last = one.partition("-")
            result |= dict.fromkeys(range(int(first, 16), int(last or first, 16) + 1), letter)
    return result


def _letter(character: str) -> str:
    code = ord(character)
    if 0xAC00 <= code <= 0xD7A3:
        return "H" if (code - 0xAC00) % 28 else "G"
    return _table().get(code) or _BY_CATEGORY.get(category(character), "O")
