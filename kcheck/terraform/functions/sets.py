"""Functions of sets."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from kcheck.source.scalars import EvaluationError
from kcheck.source.values import Datum, Known, Origin, SetData
from kcheck.terraform import convert
from kcheck.terraform.functions.collections import unique
from kcheck.terraform.functions.signature import Table, check, items

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE = Table()
_LARGEST = 100_000  # combinations: far more than anybody writes


def _alike(sets: Iterable[tuple[Datum, ...]]) -> list[dict[str, Datum]]:
    """The elements of all sets converted to one type, by their identity."""
    groups = [list(values) for values in sets]
    flat = iter(convert.unify([item for values in groups for item in values]))
    return [{convert.identity(item): item for item in [next(flat) for _ in values]} for values in groups]


@TABLE.function(items, rest=items)
def _setunion(*sets: tuple[Datum, ...]) -> SetData:
    return convert.to_set(unique(tuple(item for values in sets for item in values)))


@TABLE.function(items, rest=items)
def _setintersection(*sets: tuple[Datum, ...]) -> SetData:
    _certain(sets)
    first, *others = _alike(sets)
    return convert.to_set([item for name, item in first.items() if all(name in other for other in others)])


@TABLE.function(items, items)
def _setsubtract(left: tuple[Datum, ...], right: tuple[Datum, ...]) -> SetData:
    if left and right:
        _certain((left, right))
    first, other = _alike((left, right))
    return convert.to_set([item for name, item in first.items() if name not in other])


def _certain(sets: Iterable[tuple[Datum, ...]]) -> None:
    """A symbol may turn out to equal any element, so here every element must be known."""
    for values in sets:
        for item in values:
            check(item)


@TABLE.function(rest=items)
def _setproduct(*sets: tuple[Datum, ...]) -> list[tuple[Datum, ...]] | SetData:
    if len(sets) < 2:
        raise EvaluationError("setproduct() needs at least two sets")
    size = 1
    for values in sets:
        size *= len(values)
    if size > _LARGEST:
        raise EvaluationError(f"setproduct() of {size} combinations")
    rows = list(product(*(convert.unify(values) for values in sets)))
    if not any(isinstance(values, SetData) for values in sets):
        return rows
    found: list[Datum] = [Known(row, row[0].origin or Origin(())) for row in rows]
    return SetData(sorted(found, key=convert.sort_key))
