"""Collections as Terraform's type system (cty) compares and converts them: unified types, sets, identities."""

from __future__ import annotations

from fractions import Fraction
from operator import is_
from typing import TYPE_CHECKING

from kcheck.source import placeholders
from kcheck.source.scalars import EvaluationError, kind, to_string
from kcheck.source.values import Datum, Known, Origin, SetData, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.source.values import DatumValue
    from kcheck.syntax.json import Node

_PRIMITIVE = {"string", "number", "bool"}


def equal(a: Datum, b: Datum) -> bool | None:
    """Whether two values are equal by `==`: deeply, never across types; None if unknown."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return _same_symbol(a, b)
    x, y = a.value, b.value
    type_of = kind(x)
    if type_of != kind(y):
        return False
    if type_of == "resource":
        return True if x is y else None
    if isinstance(x, dict) and isinstance(y, dict):
        return _all_equal((x[key], y[key]) for key in x) if x.keys() == y.keys() else False
    if isinstance(x, tuple) and isinstance(y, tuple):
        return _all_equal(zip(x, y, strict=True)) if len(x) == len(y) else False
    return bool(x == y)


def _same_symbol(a: Datum, b: Datum) -> bool | None:
    """An attribute that is unknown yet still equals itself."""
    if isinstance(a, Unknown) and isinstance(b, Unknown) and a.symbol is not None and a.symbol == b.symbol:
        return None if "?" in a.symbol.attribute else True
    return None


def _all_equal(pairs: Iterable[tuple[Datum, Datum]]) -> bool | None:
    result: bool | None = True
    for a, b in pairs:
        same = equal(a, b)
        if same is False:
            return False
        if same is None:
            result = None
    return result


def unify(items: Sequence[Datum]) -> list[Datum]:
    """The elements converted to one type, as for `tolist([1, "a"])` and the branches of a conditional.

    Nulls, and values that are unknown, fit any type. An element that needs no conversion is handed back as it is.

    Raises:
        EvaluationError: no one type fits all.
    """
    kinds = {kind(item.value) for item in items if isinstance(item, Known) and item.value is not None}
    if len(kinds) > 1:
        if kinds == {"list", "set"}:  # a set among lists is used in its order
            return _unify_lists(items)
        if "string" not in kinds or not kinds <= _PRIMITIVE:
            raise EvaluationError(f"no single type fits {' and '.join(sorted(kinds))}")
        return [_as_string(item) for item in items]
    if kinds in ({"list"}, {"set"}):
        return _unify_lists(items)
    return _unify_maps(items) if kinds == {"map"} else list(items)


def _as_string(item: Datum) -> Datum:
    if isinstance(item, Unknown) or item.value is None or isinstance(item.value, str):
        return item
    return Known(to_string(item.value), item.origin)


def _unify_lists(items: Sequence[Datum]) -> list[Datum]:
    """Unify tuples: element by element if of equal length, else as lists."""
    lists = [item.value for item in items if isinstance(item, Known) and isinstance(item.value, tuple)]
    rows = [list(value) for value in lists]
    if all(len(row) == len(rows[0]) for row in rows):
        try:
            columns = [unify(column) for column in zip(*rows, strict=True)]
        except EvaluationError:
            rows = _together(rows)
        else:
            rows = [[column[at] for column in columns] for at in range(len(rows))]
    else:
        rows = _together(rows)
    return _restored(items, (type(value)(row) for value, row in zip(lists, rows, strict=True)))


def _unify_maps(items: Sequence[Datum]) -> list[Datum]:
    """Unify objects: attribute by attribute if equal, else as maps."""
    maps = [item.value for item in items if isinstance(item, Known) and isinstance(item.value, dict)]
    keys = [list(value) for value in maps]
    rows = [list(value.values()) for value in maps]
    first = set(keys[0])
    if all(set(names) == first for names in keys):
        ordered = sorted(first)
        try:
            columns = [unify([value[name] for value in maps]) for name in ordered]
        except EvaluationError:
            rows = _together(rows)
        else:
            keys = [ordered] * len(maps)
            rows = [[column[at] for column in columns] for at in range(len(maps))]
    else:
        rows = _together(rows)
    return _restored(items, (dict(zip(names, row, strict=True)) for names, row in zip(keys, rows, strict=True)))


def _together(rows: list[list[Datum]]) -> list[list[Datum]]:
    flat = iter(unify([item for row in rows for item in row]))
    return [[next(flat) for _ in row] for row in rows]


def _restored(items: Sequence[Datum], values: Iterator[DatumValue]) -> list[Datum]:
    """The known elements with their new values, everything else where it was."""
    return [item if isinstance(item, Unknown) or item.value is None else _renewed(item, next(values)) for item in items]


def _renewed(item: Known[DatumValue], new: DatumValue) -> Datum:
    """The element with its new value; itself if unchanged."""
    old = item.value
    if isinstance(old, dict) and isinstance(new, dict):
        same = all(old[key] is new[key] for key in old)
    else:
        same = isinstance(old, tuple) and isinstance(new, tuple) and all(map(is_, old, new))
    return item if same else Known(new, item.origin)


def kind_name(value: object) -> str:
    """What a value is, as text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | Fraction):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a set" if isinstance(value, SetData) else "this value"


def identity(datum: Datum) -> str:
    """A text that is equal for equal set elements, ordered like Terraform's sets."""
    if isinstance(datum, Unknown):
        if datum.symbol:
            return f"?{datum.symbol.address}.{datum.symbol.attribute}"
        name = datum.reason.removesuffix(" has no value")
        if name != datum.reason:  # a variable
            return f"?{name}"
        written = datum.origin.spans[0] if datum.origin and datum.origin.spans else None
        return f"?{written.source.path}:{written.start}:{datum.reason}" if written else f"?{id(datum)}"
    value = datum.value
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, dict):
        parts = (f'"{key}":{identity(value[key])};' for key in sorted(value))
        return "{" + "".join(parts) + "}"
    if isinstance(value, tuple):
        return "[" + "".join(identity(item) + ";" for item in value) + "]"
    match kind(value):
        case "null":
            return "~"
        case "bool":
            return "T" if value else "F"
        case "number":
            return to_string(value)
    return f"?{id(value)}"


def sort_key(datum: Datum) -> tuple[int, object]:
    """The sort key of a set element; nulls and unknowns come last."""
    if isinstance(datum, Unknown):
        return (7, 0)
    value = datum.value
    match kind(value):
        case "null":
            return (6, 0)
        case "bool":
            return (0, value)
        case "number":
            return (1, value)
        case "string":
            return (2, value)  # the order of code points is that of UTF-8
    return (3, identity(datum))


def to_set(items: Sequence[Datum]) -> SetData:
    """A set: elements of one type, each once, in Terraform's order.

    Values that are unknown stay, the same symbol once.

    Raises:
        EvaluationError: no one type fits all elements.
    """
    unique: dict[str, Datum] = {}
    for item in unify(items):
        unique.setdefault(identity(item), item)
    return SetData(sorted(unique.values(), key=sort_key))


def from_json(node: Node) -> Datum:
    """A JSON value as a datum; its scalars can be changed where they stand."""
    value = node.value
    if isinstance(value, dict):
        return Known({key: from_json(member.value) for key, member in value.items()}, Origin((node.span,)))
    if isinstance(value, list):
        return Known(tuple(map(from_json, value)), Origin((node.span,)))
    if isinstance(value, str) and placeholders.is_encrypted(value):
        return Unknown(placeholders.encrypted(node.span), Origin((node.span,)))
    return Known(value, Origin((node.span,), literal=not node.span.source.private))
