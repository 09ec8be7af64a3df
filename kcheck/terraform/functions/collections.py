"""Functions of lists and maps; elements are passed on unchanged, unknown ones too."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kcheck.terraform import convert, type_rules
from kcheck.terraform.access import each_branch, index
from kcheck.terraform.functions.signature import (
    Table,
    alike,
    anything,
    check,
    entries,
    integer,
    items,
    not_null,
    ordered,
    present,
    settled,
    text,
)
from kcheck.terraform.functions.strings import clusters
from kcheck.terraform.partial_collections import MOST_ELEMENTS, Gathering, gathered, is_map, items_of
from kcheck.terraform.type_rules import type_of
from kcheck.text import scalars
from kcheck.text.data_types import BOOL, DYNAMIC, NUMBER, STRING, ListData, Null, SetData, Type, list_of, map_of, set_of
from kcheck.text.need import NotKnown
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Either, Key, Known, Origin, Partial, Secret, Unknown, concealed, known, parts

TABLE = Table()
_NOWHERE = Origin(())


@TABLE.function(present, bits=64)
def _length(value: object) -> int:
    if isinstance(value, str):
        return len(clusters(value))
    if isinstance(value, tuple | dict):
        return len(value)
    raise EvaluationError("length() needs a string or a collection")


@TABLE.function(anything, rest=anything)
def _concat(*lists: Datum) -> list[Datum] | Datum:
    if not any(isinstance(values, Unknown) for values in lists):
        found = [item for values in lists for item in ordered(values)]
        if not all(isinstance(known(values), ListData) for values in lists):
            return found
        element = type_rules.unify([element for values in lists if (element := type_of(values).element) != DYNAMIC])
        return found if element is None else _list(found, element)
    return gathered((part for values in lists for part in items_of(values)), _NOWHERE)


@TABLE.function(anything, integer, integer)
def _slice(datum: Datum, start: int, end: int) -> list[Datum] | ListData:
    """slice(), also of an unknown list such as zones: its length is known."""
    if isinstance(datum, Unknown):
        symbol = datum.symbol
        if isinstance(datum, Either | Partial) or not 0 <= start <= end <= start + MOST_ELEMENTS:
            raise NotKnown(Unknown(datum.reason, symbol=symbol))
        places = (Known(at, Origin(())) for at in range(start, end))
        return [Unknown(datum.reason, datum.origin, symbol and symbol.element(at)) for at in places]
    values = ordered(datum)
    if not 0 <= start <= end <= len(values):
        raise EvaluationError(f"slice(): {start} to {end} is outside of a list of {len(values)} elements")
    part = values[start:end]
    return ListData.of(part, values.element) if isinstance(values, ListData) else list(part)


def _list(found: Iterable[Datum], element: Type) -> Datum:
    return Known(ListData.of([convert.to_type(item, element) for item in found], element), _NOWHERE)


@TABLE.function(anything, anything, part=True)
def _element(given: Datum, place: Datum) -> Datum:
    if isinstance(given, Partial):
        return index(given, place)
    values = ordered(given)
    if not values:
        raise EvaluationError("element() of an empty list")
    if isinstance(place, Unknown):
        return index(given, place)
    at = integer(place)
    if at < 0 and at % len(values) and not isinstance(values, ListData):
        raise EvaluationError("element() takes no negative index of a tuple")
    return values[at % len(values)]


@TABLE.function(items, part=True)
def _one(values: tuple[Datum, ...]) -> Datum | None:
    if len(values) > 1:
        raise EvaluationError("one() takes at most one element")
    if values or not isinstance(values, ListData | SetData):
        return values[0] if values else None
    return Null(None, _NOWHERE, type=values.element)


@TABLE.function(rest=anything, deep=True)
def _coalesce(*values: Datum) -> Datum:
    """coalesce(); a value with a symbol is neither null nor empty."""
    for item in convert.unify(values):
        if isinstance(item, Partial) or (isinstance(item, Unknown) and item.symbol is not None):
            return item
        value = None if _resource(item) else settled(item)
        if _resource(item) or (value is not None and value != ""):
            return item
    raise EvaluationError("coalesce() has no argument that is neither null nor empty")


def _resource(item: Datum) -> bool:
    return isinstance(item, Known) and scalars.kind(item.value) == "resource"


@TABLE.function(rest=anything)
def _coalescelist(*values: Datum) -> Datum:
    if {type_of(item).kind for item in values if isinstance(item, Known)} - {"list", "tuple"}:
        raise EvaluationError("coalescelist() takes lists only")
    for item in values:
        if type(item) is Null:
            continue
        if item.part if isinstance(item, Partial) else items(item):
            return item
        if isinstance(item, Partial):
            raise NotKnown(Unknown(item.reason))
    raise EvaluationError("coalescelist() has no argument that is not empty")


@TABLE.function(anything)
def _flatten(given: Datum) -> list[Datum] | Datum:
    if not isinstance(given, Partial):
        items(given)
    return gathered(_flat(given, None), _NOWHERE)


def _flat(given: Datum, why: Unknown | None) -> Iterator[tuple[Datum, Unknown | None]]:
    """Yield the elements of nested lists, with a reason if their number is unknown."""
    found = [(item, why or missing) for item, missing in items_of(given)]
    single = any(isinstance(item, Known) and not isinstance(item.value, tuple) for item, _ in found)
    for item, doubt in found:
        if isinstance(known(item), tuple) or (isinstance(item, Partial | Either) and not is_map(item)):
            try:
                yield from list(_flat(item, doubt))
            except EvaluationError:  # one of several values, none of them a list
                yield item, doubt
        elif type(item) is Unknown and not single and (item.symbol is None or item.symbol.attribute == "?"):
            yield item, item
        else:
            yield item, doubt


@TABLE.function(anything)
def _reverse(given: Datum) -> list[Datum] | Datum:
    if isinstance(given, Partial):
        return given
    values = items(given)
    found = reversed(values)
    return _list(found, type_of(given).element) if isinstance(values, ListData | SetData) else list(found)


@TABLE.function(alike, integer, deep=True)
def _chunklist(values: ListData, size: int) -> Datum:
    if size < 0:
        raise EvaluationError("the size must be positive")
    chunks = (values[at : at + size] for at in range(0, len(values), size)) if size else [values] if values else []
    found = [Known(ListData.of(chunk, values.element), _NOWHERE) for chunk in chunks]
    return Known(ListData.of(found, list_of(values.element)), _NOWHERE)


@TABLE.function(anything, deep=True)
def _distinct(given: Datum) -> list[Datum] | Datum:
    if isinstance(given, Partial) and isinstance(given.part, tuple):
        return replace(given, part=tuple(unique(given.part)))
    values = alike(given)
    return _list(unique(values), values.element)


def unique(values: tuple[Datum, ...]) -> list[Datum]:
    """List the distinct elements; raise NotKnown if one may equal another."""
    if len(values) > 1:
        for item in values:
            comparable(item)
    result: dict[Key, Datum] = {}
    for item in convert.unify(values):
        result.setdefault(convert.identity(item), item)
    return list(result.values())


def comparable(datum: Datum) -> None:
    """Require a value or a symbol in every part, or raise NotKnown."""
    if isinstance(datum, Unknown):
        if datum.symbol is None:
            raise NotKnown(Unknown(datum.reason))
        return
    for part in parts(datum.value):
        comparable(part)


@TABLE.function(anything, not_null, deep=True)
def _contains(given: Datum, wanted: Datum) -> bool:
    if isinstance(given, Partial) and isinstance(given.part, tuple):
        return _matches(wanted, (*given.part, Unknown(given.reason, given.origin)))
    return _matches(wanted, items(given))


def _matches(wanted: Datum, values: tuple[Datum, ...] | list[Datum]) -> bool:
    unsure: tuple[Datum, ...] = ()
    for item in values:
        same = convert.equal(item, wanted)
        if same:
            return True
        if same is None:
            unsure = unsure or (item, wanted)
    for value in unsure:  # a part of one is unknown
        check(value)
    return False


@TABLE.function(ordered, not_null, bits=64, deep=True)
def _index(values: tuple[Datum, ...], wanted: Datum) -> int:
    for at, item in enumerate(values):
        if _matches(wanted, [item]):
            return at
    raise EvaluationError("item not found")


@TABLE.function(alike, alike, alike, deep=True)
def _matchkeys(values: ListData, keys: tuple[Datum, ...], wanted: tuple[Datum, ...]) -> Datum:
    if len(values) != len(keys):
        raise EvaluationError("length of keys and values should be equal")
    both = convert.unify([*keys, *wanted])
    known, search = both[: len(keys)], both[len(keys) :]
    found = [value for value, key in zip(values, known, strict=True) if _matches(key, search)]
    return _list(found, values.element)


def _lists(datum: Datum) -> dict[Key, Datum]:
    entries(datum)
    return entries(convert.convert(datum, map_of(list_of(STRING))))


@TABLE.function(_lists, gives=map_of(list_of(STRING)))
def _transpose(values: dict[Key, Datum]) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for key in sorted(map(str, values)):
        for name in map(text, items(values[key])):
            result.setdefault(name, []).append(key)
    return {name: result[name] for name in sorted(result)}


TABLE.add(
    anything,
    ephemeralasnull=lambda datum: datum,
    sensitive=lambda datum: concealed(datum, "the value is sensitive"),
    nonsensitive=lambda datum: datum.datum if isinstance(datum, Secret) else datum,
)


@TABLE.function(anything)
def _issensitive(datum: Datum) -> bool:
    if isinstance(datum, Unknown) and not isinstance(datum, Secret):
        raise NotKnown(Unknown(datum.reason))
    return isinstance(datum, Secret)


def _conversion(name: str, want: Type) -> None:
    """Register tostring, tolist, tomap and so on."""

    def implementation(datum: Datum) -> Datum:
        if isinstance(datum, Either):
            return each_branch(datum, implementation)
        if isinstance(datum, Partial) and isinstance(datum.part, tuple) and isinstance(datum.rest, tuple):
            if name == "tolist":
                return replace(datum, part=(*datum.part,), rest=(*datum.rest,))
            if name == "toset":
                return replace(datum, part=convert.to_set(unique(datum.part)), rest=SetData.of(datum.rest, DYNAMIC))
        if isinstance(datum, Unknown):
            return datum
        value = settled(datum)
        if name == "toset" and isinstance(value, tuple) and not isinstance(value, SetData):
            unique(value)
        if name == "tolist" and isinstance(value, SetData) and len(value) > 1 and not all(map(_has_order, value)):
            return Known((Unknown("the order of a set is not known", datum.origin),) * len(value), datum.origin)
        return convert.convert(datum, want)

    TABLE.add(anything, **{name: implementation})


def _has_order(item: Datum) -> bool:
    """Whether the position of an element in a set follows from its value."""
    return isinstance(item, Known) and not _resource(item) and all(map(_has_order, parts(item.value)))


TABLE.function(rest=anything, name="list")(lambda *values: Known(values, _NOWHERE))  # removed in Terraform 0.15


@TABLE.function(rest=anything)
def _map(*values: Datum) -> Datum:
    """map() of alternating keys and values, removed in Terraform 0.15."""
    names, members = values[::2], values[1::2]
    if len(names) != len(members):
        raise EvaluationError("map() needs pairs of keys and values")
    result = Gathering(_NOWHERE)
    for name, member in zip(names, members, strict=True):
        result.add(name, member)
    return result.map()


_conversion("tostring", STRING)
_conversion("tonumber", NUMBER)
_conversion("tobool", BOOL)
_conversion("tolist", list_of(DYNAMIC))
_conversion("toset", set_of(DYNAMIC))
_conversion("tomap", map_of(DYNAMIC))
