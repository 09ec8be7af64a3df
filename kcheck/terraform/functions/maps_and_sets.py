"""Functions of maps and sets; unknown entries are passed on."""

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from types import NoneType
from typing import cast

from msgspec.structs import replace

from kcheck.terraform import convert
from kcheck.terraform.access import index
from kcheck.terraform.budget import Budget
from kcheck.terraform.functions.collections import unique
from kcheck.terraform.functions.signature import (
    Table,
    anything,
    check,
    entries,
    give,
    items,
    ordered,
    settled,
    strings,
    text,
)
from kcheck.terraform.partial_collections import Gathering, either, entries_of, gathered, items_of
from kcheck.terraform.type_rules import type_of, unify
from kcheck.text import scalars
from kcheck.text.data_types import DYNAMIC, STRING, ListData, MapData, SetData, Type, list_of, set_of
from kcheck.text.keys import by_name, key_of, loose_keys
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Either, Key, Known, Origin, Partial, Unknown, UnknownKey, known

TABLE = Table()
_NOWHERE = Origin(())
_EMPTY = Type("object")


@TABLE.function(anything, anything, anything, optional=1, part=True)
def _lookup(given: Datum, wanted: Datum, default: Datum | None = None) -> Datum:
    """lookup(); an existing entry wins over the default."""
    key = key_of(wanted) if isinstance(wanted, Unknown) else text(wanted)
    if isinstance(given, Partial):
        if default is None or key in given.part:
            return index(given, wanted)
        return either(given.reason, given.origin, [index(given, wanted), default])
    values = entries(given)
    if default is not None and isinstance(values, MapData):
        default = convert.convert(default, values.element)
    if key is not None and key in values:
        return values[key]
    why = wanted if isinstance(wanted, Unknown) else None
    loose = loose_keys(values)
    if values and (why or loose):  # it may be any of the keys, or a key may turn out to be it
        branches = values.values() if why else [values[one] for one in loose]
        reason = (why or loose[0].datum).reason
        return Either(reason, given.origin, branches=(*branches, *(() if default is None else (default,))))
    if default is None:
        raise EvaluationError(f'the map has no element "{key}"')
    if key is not None and given.origin and isinstance(default, Known) and default.origin.literal:
        written = default.origin.written
        if default.origin.spans == (written,):
            return replace(default, origin=given.origin.below(str(key)).used(written))
    return default


@TABLE.function(rest=anything)
def _merge(*maps: Datum) -> Datum | dict[Key, Datum]:
    """merge(); the result has the last map's origin."""
    result: dict[Key, Datum] = {}
    origin: Origin | None = None
    if any(isinstance(given, Unknown) for given in maps):
        return _merged(maps)
    for given in maps:
        values = settled(given)
        if values is None and type_of(given).kind in ("dynamic", "object", "map"):
            continue
        if not isinstance(values, dict):
            raise EvaluationError(f"a map is needed, not a {scalars.kind(values)}")
        result |= values
        origin = given.origin
    ordered = by_name(result)
    types = {
        _EMPTY if one.kind == "object" and isinstance(known(given), NoneType) else one
        for given, one in zip(maps, map(type_of, maps), strict=True)
    }
    if len(types) == 1 and (only := types.pop()).kind == "map":
        ordered = MapData.of(ordered, only.element)
    return Known(ordered, origin) if origin and origin.spans else ordered


def _merged(maps: tuple[Datum, ...]) -> Datum:
    """Merge maps of which some are unknown; later maps may overwrite earlier entries."""
    result = Gathering(_NOWHERE)
    for given in maps:
        if isinstance(given, Known) and given.value is None:
            continue
        if isinstance(given, Known) and not isinstance(given.value, dict):
            raise EvaluationError(f"a map is needed, not a {scalars.kind(given.value)}")
        for entry in entries_of(given):
            result.merge(entry)
    return result.map()


@TABLE.function(anything)
def _keys(given: Datum) -> list[str | Datum] | Datum:
    if isinstance(given, Partial | Either):
        return gathered(((entry.key, entry.why) for entry in entries_of(given)), _NOWHERE)
    found: list[str | Datum] = [key.datum if isinstance(key, UnknownKey) else key for key in by_name(entries(given))]
    return convert.convert(give(found, _NOWHERE), list_of(STRING)) if isinstance(known(given), MapData) else found


@TABLE.function(anything)
def _values(given: Datum) -> list[Datum] | Datum:
    if isinstance(given, Partial | Either):
        return gathered(items_of(given), _NOWHERE)
    values = entries(given)
    found = list(by_name(values).values())
    if isinstance(values, MapData):
        return Known(ListData.of(found, type_of(given).element), _NOWHERE)
    return found


@TABLE.function(strings, anything)
def _zipmap(names: tuple[Datum, ...], listed: Datum) -> dict[Key, Datum]:
    if isinstance(listed, Unknown):  # there are as many as there are names
        values = tuple(index(listed, Known(at, _NOWHERE)) for at in range(len(names)))
    else:
        values = ordered(listed)
    keys = [(key_of(name) if isinstance(name, Unknown) else None) or text(name) for name in names]
    if len(keys) != len(values):
        raise EvaluationError(f"number of keys ({len(keys)}) does not match number of values ({len(values)})")
    result = by_name(dict(zip(keys, values, strict=True)))
    if isinstance(listed, Known) and isinstance(values, ListData):
        result = MapData.of(result, type_of(listed).element)
    return result


def _set(datum: Datum) -> SetData:
    items(datum)
    return cast("SetData", items(convert.convert(datum, set_of(DYNAMIC))))


def _element(sets: Sequence[SetData]) -> Type:
    """Return the element type that fits all sets; raise EvaluationError without one."""
    types = {values.element for values in sets if values or values.element != DYNAMIC} or {DYNAMIC}
    found = unify(list(types))
    if found is None or (found == DYNAMIC and len(types) > 1):
        raise EvaluationError("the sets must have elements of one type")
    return found


def _named(values: SetData, element: Type) -> dict[Key, Datum]:
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


@TABLE.function(anything, anything, rest=anything, deep=True, counted=True)
def _setproduct(*given: Datum, budget: Budget) -> SetData | ListData | Datum:
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
    """Return the common element type of one argument, or raise EvaluationError."""
    if isinstance(values, ListData | SetData):
        return values.element
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
