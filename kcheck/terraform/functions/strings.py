"""Functions of text."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from kcheck.terraform.functions.signature import NotKnownError, Table, anything, integer, settled, strings, text
from kcheck.terraform.functions.signature import text as text_of
from kcheck.terraform.partial_collections import gathered, items_of
from kcheck.text.data_types import STRING, list_of
from kcheck.text.partly_known import distinct
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Either, Joined, Known, Origin, Partial, Symbol, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.terraform.budget import Budget

TABLE = Table()
_MOST_BLANKS = 10_000
_BLANKS = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def clusters(value: str) -> list[str]:
    """Split a text into grapheme clusters."""
    if value.isascii() and "\r" not in value:
        return list(value)
    from kcheck.terraform.functions import graphemes  # most texts need none of its tables

    return graphemes.split(value)


def _cased(value: str, change: Callable[[str], str]) -> str:
    """Change case letter by letter like Go: a letter never becomes two."""
    return change(value) if value.isascii() else "".join(_one(letter, change) for letter in value)


def _one(letter: str, change: Callable[[str], str]) -> str:
    if letter == "İ" and change is str.lower:
        return "i"
    found = (change(letter), letter.title() if change is str.upper else "")
    return next((new for new in found if len(new) == 1), letter)


@TABLE.function(text)
def _upper(value: str) -> str:
    return _cased(value, str.upper)


@TABLE.function(text)
def _lower(value: str) -> str:
    return _cased(value, str.lower)


@TABLE.function(text)
def _title(value: str) -> str:
    result, start = [], True
    for letter in value:
        result.append(_cased(letter, str.title) if start else letter)
        start = not (letter.isalnum() or letter == "_" or (not letter.isascii() and not letter.isspace()))
    return "".join(result)


@TABLE.function(text)
def _strrev(value: str) -> str:
    return "".join(reversed(clusters(value)))


@TABLE.function(text, integer, integer)
def _substr(value: str, offset: int, length: int) -> str:
    letters = clusters(value)
    if offset < 0:
        offset = max(0, offset + len(letters))
    return "".join(letters[offset:] if length < 0 else letters[offset : offset + length])


@TABLE.function(text, text)
def _trim(value: str, cut: str) -> str:
    return value.strip(cut) if cut else value


@TABLE.function(text)
def _trimspace(value: str) -> str:
    return value.strip(_BLANKS)


@TABLE.function(text, text)
def _trimprefix(value: str, prefix: str) -> str:
    return value.removeprefix(prefix)


@TABLE.function(text, text)
def _trimsuffix(value: str, suffix: str) -> str:
    return value.removesuffix(suffix)


@TABLE.function(text, text)
def _startswith(value: str, prefix: str) -> bool:
    return value.startswith(prefix)


@TABLE.function(text, text)
def _endswith(value: str, suffix: str) -> bool:
    return value.endswith(suffix)


@TABLE.function(text, text)
def _strcontains(value: str, part: str) -> bool:
    return part in value


@TABLE.function(text)
def _chomp(value: str) -> str:
    return value.rstrip("\r\n")


@TABLE.function(integer, text, counted=True)
def _indent(count: int, value: str, budget: Budget) -> str:
    if not 0 <= count <= _MOST_BLANKS:
        raise EvaluationError(f"indent() by {count} blanks")
    budget.write(len(value) + count * value.count("\n"))
    return value.replace("\n", "\n" + " " * count)


@TABLE.function(text, rest=strings, counted=True)
def _join(separator: str, *lists: tuple[Datum, ...], budget: Budget) -> str | Datum:
    if not lists:
        raise EvaluationError("join() needs at least one list")
    parts = [part for values in lists for part in values]
    unknown = next((part for part in parts if isinstance(part, Unknown)), None)
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
        raise NotKnownError(value.reason, value.symbol and Symbol(value.symbol.address, "?"))
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
    named = [(text_of(item), item) for item in values]
    named.sort(key=lambda pair: pair[0])
    return [item if isinstance(settled(item), str) else name for name, item in named]


@TABLE.function(anything, gives=list_of(STRING))
def _compact(given: Datum) -> Datum:
    """compact(); a value with a symbol exists after apply, so it is neither null nor empty."""
    found: list[tuple[Datum, Unknown | None]] = []
    for item, why in items_of(given) if isinstance(given, Partial) else ((item, None) for item in strings(given)):
        if isinstance(item, Unknown):
            found.append((item, why or (None if item.symbol is not None else item)))
        elif settled(item) is not None and text_of(item) != "":
            found.append((item if isinstance(item.value, str) else Known(text_of(item), item.origin), why))
    return gathered(found, Origin(()))


@TABLE.function(text)
def _basename(path: str) -> str:
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


@TABLE.function(text)
def _dirname(path: str) -> str:
    folder = posixpath.normpath(path[: path.rfind("/") + 1])
    return "/" + folder.lstrip("/") if folder.startswith("/") else folder
