"""Functions of sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from kcheck.terraform import convert
from kcheck.terraform.budget import Budget
from kcheck.terraform.functions.collections import unique
from kcheck.terraform.functions.signature import Table, anything, check, items
from kcheck.terraform.partial_collections import gathered, items_of
from kcheck.terraform.type_rules import element_type, type_of, unify
from kcheck.text.data_types import DYNAMIC, ListData, SetData, Type, set_of
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Known, Origin, Partial, Unknown

TABLE = Table()


def _set(datum: Datum) -> SetData:
    items(datum)
    values = items(convert.convert(datum, set_of(DYNAMIC)))
    return values if isinstance(values, SetData) else SetData(values)


def _element(sets: Sequence[SetData]) -> Type:
    """Return the element type that fits all sets; raise EvaluationError without one."""
    types = [element_type(values, values.element) for values in sets]
    found = unify([one for one, values in zip(types, sets, strict=True) if values or one != DYNAMIC] or [DYNAMIC])
    if found is None:
        raise EvaluationError("the sets must have elements of one type")
    return found


def _named(values: SetData, element: Type) -> dict[str, Datum]:
    return {convert.identity(item): item for item in (convert.to_type(item, element) for item in values)}


@TABLE.function(_set, rest=_set, deep=True)
def _setunion(*sets: SetData) -> SetData:
    element = _element(sets)
    return convert.set_data(
        unique(tuple(item for values in sets for item in _named(values, element).values())), element
    )


@TABLE.function(_set, rest=_set, deep=True)
def _setintersection(*sets: SetData) -> SetData:
    _certain(sets)
    element = _element(sets)
    first, *others = (_named(values, element) for values in sets)
    return convert.set_data([item for name, item in first.items() if all(name in other for other in others)], element)


@TABLE.function(_set, _set, deep=True)
def _setsubtract(left: SetData, right: SetData) -> SetData:
    if left and right:
        _certain((left, right))
    element = _element((left, right))
    other = _named(right, element)
    return convert.set_data([item for name, item in _named(left, element).items() if name not in other], element)


def _certain(sets: Iterable[tuple[Datum, ...]]) -> None:
    """Require known elements, because a symbol may turn out to equal any other."""
    for values in sets:
        for item in values:
            check(item)


@TABLE.function(rest=anything, deep=True, counted=True)
def _setproduct(*given: Datum, budget: Budget) -> SetData | ListData | Datum:
    if len(given) < 2:
        raise EvaluationError("setproduct() needs at least two sets")
    if any(isinstance(one, Partial) for one in given):
        return _combinations(given, budget)
    sets = [items(one) for one in given]
    size = prod(map(len, sets))
    budget.count(size)
    budget.spend(size * len(sets))
    parts = tuple(_element_of(values) for values in sets)
    columns = ([convert.to_type(item, part) for item in values] for values, part in zip(sets, parts, strict=True))
    rows: list[Datum] = [Known(row, row[0].origin or Origin(())) for row in product(*columns)]
    element = Type("tuple", parts)
    if any(isinstance(values, SetData) for values in sets):
        return convert.set_data(rows, element)
    return ListData.of(rows, element)


def _element_of(values: tuple[Datum, ...]) -> Type:
    """Return the common element type of one factor; raise EvaluationError without one."""
    if isinstance(values, ListData | SetData):
        return element_type(values, values.element)
    found = unify([type_of(item) for item in values] or [DYNAMIC])
    if found is None:
        raise EvaluationError("all elements of a set must have one type")
    return found


def _combinations(given: tuple[Datum, ...], budget: Budget) -> Datum:
    rows: list[tuple[tuple[Datum, ...], Unknown | None]] = [((), None)]
    for one in given:
        found = list(items_of(one))
        budget.spend(len(rows) * len(found) * len(given))
        rows = [((*row, item), why or missing) for row, why in rows for item, missing in found]
    return gathered(((Known(row, Origin(())), why) for row, why in rows), Origin(()))
