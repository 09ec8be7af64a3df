"""Functions of sets."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from kcheck.source.scalars import EvaluationError
from kcheck.source.values import Datum, Known, Origin, Partial, SetData, Unknown
from kcheck.terraform import convert
from kcheck.terraform.functions.collections import unique
from kcheck.terraform.functions.signature import Table, anything, check, items
from kcheck.terraform.partial import gathered, items_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.terraform.budget import Budget

TABLE = Table()


def _alike(sets: Iterable[tuple[Datum, ...]]) -> list[dict[str, Datum]]:
    """The elements of all sets converted to one type, by their identity."""
    groups = [list(values) for values in sets]
    flat = iter(convert.unify([item for values in groups for item in values]))
    return [{convert.identity(item): item for item in [next(flat) for _ in values]} for values in groups]


@TABLE.function(items, rest=items, deep=True)
def _setunion(*sets: tuple[Datum, ...]) -> SetData:
    return convert.to_set(unique(tuple(item for values in sets for item in values)))


@TABLE.function(items, rest=items, deep=True)
def _setintersection(*sets: tuple[Datum, ...]) -> SetData:
    _certain(sets)
    first, *others = _alike(sets)
    return convert.to_set([item for name, item in first.items() if all(name in other for other in others)])


@TABLE.function(items, items, deep=True)
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


@TABLE.function(rest=anything, deep=True, counted=True)
def _setproduct(*given: Datum, budget: Budget) -> list[tuple[Datum, ...]] | SetData | Datum:
    if len(given) < 2:
        raise EvaluationError("setproduct() needs at least two sets")
    if any(isinstance(one, Partial) for one in given):
        return _combinations(given, budget)
    sets = [items(one) for one in given]
    size = 1
    for values in sets:
        size *= len(values)
    budget.count(size)
    budget.spend(size * len(sets))
    rows = list(product(*(convert.unify(values) for values in sets)))
    if not any(isinstance(values, SetData) for values in sets):
        return rows
    found: list[Datum] = [Known(row, row[0].origin or Origin(())) for row in rows]
    return SetData(sorted(found, key=convert.sort_key))


def _combinations(given: tuple[Datum, ...], budget: Budget) -> Datum:
    """The combinations of sets of which not all is known."""
    rows: list[tuple[tuple[Datum, ...], Unknown | None]] = [((), None)]
    for one in given:
        found = list(items_of(one))
        budget.spend(len(rows) * len(found) * len(given))
        rows = [((*row, item), why or missing) for row, why in rows for item, missing in found]
    return gathered(((Known(row, Origin(())), why) for row, why in rows), Origin(()))
