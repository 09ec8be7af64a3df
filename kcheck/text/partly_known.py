"""Partly known values: their elements, candidates and names in the code."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, TypeVar, cast

from kcheck.text.values import Datum, Either, Known, Origin, Partial, Unknown, Unset, Value, candidates

T = TypeVar("T")


def possible(datum: Datum | None) -> Iterator[Datum]:
    """Yield the candidates of a value, or of the elements of a list."""
    if isinstance(datum, Either):
        for branch in datum.branches:
            yield from possible(branch)
    elif isinstance(datum, Partial):
        for element in datum.elements():
            yield from possible(element)
    elif isinstance(datum, Known) and isinstance(datum.value, tuple):
        for item in datum.value:
            yield from possible(item)
    elif datum is not None:
        yield datum


def either(values: Iterable[Known[T]], reason: str, origin: Origin | None) -> Known[T] | Unknown:
    """Return one of several values, or the value itself if all are equal."""
    found = list(values)
    same = all(one.value == found[0].value for one in found)
    return found[0] if same else Either(reason, origin, branches=tuple(cast("Datum", one) for one in found))


def may_equal(value: Value[str], text: str) -> bool:
    """Whether the value is, or may be, this text."""
    return any(one.value == text for one in candidates(value)) or (isinstance(value, Unknown) and not candidates(value))


def same_value(first: Value[object], second: Value[object]) -> bool:
    """Whether two values are equal, or come from the same unknown source."""
    if isinstance(first, Known) and isinstance(second, Known):
        return bool(first.value == second.value)
    if not isinstance(first, Unknown) or not isinstance(second, Unknown) or first.reason != second.reason:
        return False
    if first.symbol is not None or second.symbol is not None:
        return first.symbol == second.symbol
    if first.origin is None or second.origin is None or not first.origin.spans:
        return False
    spans, others = first.origin.spans, second.origin.spans
    uses = {used.text for used in (*spans[1:2], *others[1:2])}  # `var.ranges.pods` and `var.ranges.gpus` differ
    return spans[:1] == others[:1] and len(uses) <= 1


def name_in_code(origin: Origin | None, otherwise: str) -> str:
    """Return the name of a value in the code, else `otherwise`."""
    uses = [span.text.strip('"${} ') for span in (origin.spans if origin else ())]
    names = [use for use in uses if "." in use and "\n" not in use and use.replace(".", "").isidentifier()]
    variable = next((name for name in names if name.startswith("var.")), None)
    return variable or (names[-1] if names else otherwise)


def distinct(items: Sequence[Datum]) -> int | None:
    """Count the distinct values of a list; None if two may be equal.

    Values that only the cloud knows differ by identity: `names[0]` is not `names[1]`.
    """
    found: list[object] = []
    for item in items if len(items) > 1 else ():
        symbol = item.symbol if isinstance(item, Unknown) else None
        if isinstance(item, Unknown) and (symbol is None or "?" in symbol.attribute):
            return None
        found.append(item.value if isinstance(item, Known) else symbol)
    kinds = {type(one) for one in found}
    is_plain = not kinds & {tuple, dict} and len(kinds) <= 1
    return len(items) if len(items) < 2 else len(set(found)) if is_plain else None


def listed(datum: Datum | None) -> tuple[Datum, ...]:
    """Return the elements of a list, or a single value as a list; empty if absent."""
    if isinstance(datum, Known) and isinstance(datum.value, tuple):
        return datum.value
    return () if datum is None else (datum,)


def string(datum: Datum | None) -> str | None:
    """Return a text; None for anything else, including unknown text."""
    return datum.value if isinstance(datum, Known) and isinstance(datum.value, str) else None


def address_of(datum: object) -> str:
    """Return the address of the resource that a reference leads to."""
    return datum.symbol.address if isinstance(datum, Unknown) and datum.symbol is not None else ""


MOST_CHOICES = 16
"""Most combinations of candidates that are distinguished."""


def choices(datum: Datum) -> Either | None:
    """Return all candidates of a value or list; None if one is unknown."""
    if type(datum) is Either:
        items: tuple[Datum, ...] = (datum,)
    else:
        items = datum.value if isinstance(datum, Known) and isinstance(datum.value, tuple) else ()
    first = next((item for item in items if type(item) is Either), None)
    if first is None:
        return None
    found = [item.branches if type(item) is Either else (item,) for item in items]
    known = all(isinstance(one, Known) and one.value is not None for some in found for one in some)
    if not known or prod(map(len, found)) > MOST_CHOICES:
        return None
    origin = datum.origin or Origin(())
    rows = product(*found)
    branches = (row[0] if datum is first else Known(row, origin) for row in rows)
    return Either(first.reason, origin, first.symbol, branches=tuple(branches))


def wrap(value: Any, origin: Origin) -> Datum:
    """Convert plain Python data to a datum whose parts all have the same origin."""
    if isinstance(value, dict):
        return Known({str(key): wrap(item, origin) for key, item in value.items()}, origin)
    if isinstance(value, list | tuple):
        return Known(tuple(wrap(item, origin) for item in value), origin)
    if isinstance(value, float):
        value = Fraction(repr(value))
    if isinstance(value, Fraction) and value.denominator == 1:
        value = int(value)
    return Known(value, origin)


def members(value: Value[object] | None) -> dict[str, Datum]:
    """Return the entries of a map or object by name; none for other values."""
    entries = value.value if isinstance(value, Known) else None
    return {str(key): item for key, item in entries.items()} if isinstance(entries, dict) else {}


def plain(datum: Value[object]) -> Any:
    """Convert a value to plain Python data, or raise ValueError if unknown."""
    if isinstance(datum, Unset):
        return None
    if isinstance(datum, Unknown):
        raise ValueError(datum.reason)
    if isinstance(value := datum.value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value
