"""Functions of maps; entries are passed on unchanged, unknown ones too."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType

from msgspec.structs import replace

from kcheck.terraform import convert
from kcheck.terraform.access import index, loose_key
from kcheck.terraform.functions.signature import Table, anything, entries, give, ordered, settled, strings, text
from kcheck.terraform.partial_collections import Entry, Gathering, either, entries_of, gathered
from kcheck.terraform.type_rules import type_of
from kcheck.text import scalars
from kcheck.text.data_types import DYNAMIC, STRING, ListData, MapData, Type, list_of
from kcheck.text.keys import Reference, key_of
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Either, Known, Origin, Partial, Unknown, known

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
        default = convert.convert(default, values.element or DYNAMIC)
    if key is not None and key in values:
        return values[key]
    why = wanted if isinstance(wanted, Unknown) else None
    loose = loose_key(values)
    if values and (why or loose):  # it may be any of the keys, or a key may turn out to be it
        branches = values.values() if why else [item for name, item in values.items() if name == loose]
        reason = why.reason if why else loose.datum.reason if loose else ""
        return Either(reason, given.origin, branches=(*branches, *(() if default is None else (default,))))
    if default is None:
        raise EvaluationError(f'the map has no element "{key}"')
    if key is not None and given.origin and isinstance(default, Known) and default.origin.literal:
        written = default.origin.written
        if default.origin.spans == (written,):
            return replace(default, origin=given.origin.below(key).used(written))
    return default


@TABLE.function(rest=anything)
def _merge(*maps: Datum) -> Datum | dict[str, Datum]:
    """merge(); the result has the last map's origin, where a missing entry would be written."""
    result: dict[str, Datum] = {}
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
    ordered = dict(sorted(result.items()))
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
            result.merge(entry, given if isinstance(given, Unknown) else None)
    return result.map()


@TABLE.function(anything)
def _keys(given: Datum) -> list[str | Datum] | Datum:
    found = _all_keys(given)
    if not isinstance(known(given), MapData) or not isinstance(found, list):
        return found
    return convert.convert(give(found, _NOWHERE), list_of(STRING))


def _all_keys(given: Datum) -> list[str | Datum] | Datum:
    if isinstance(given, Partial | Either):
        return _listed(given, [entry._replace(item=entry.key) for entry in entries_of(given)])
    return [key.datum if isinstance(key, Reference) else key for key in sorted(entries(given))]


@TABLE.function(anything)
def _values(given: Datum) -> list[Datum] | Datum:
    if isinstance(given, Partial | Either):
        return _listed(given, entries_of(given))
    values = entries(given)
    found = [values[key] for key in sorted(values)]
    if isinstance(values, MapData):
        return Known(ListData.of(found, type_of(given).element), _NOWHERE)
    return found


def _listed(given: Unknown, found: Iterable[Entry]) -> Datum:
    return gathered(((entry.item, None if entry.sure else given) for entry in found), _NOWHERE)


@TABLE.function(strings, anything)
def _zipmap(names: tuple[Datum, ...], listed: Datum) -> dict[str, Datum]:
    if isinstance(listed, Unknown):  # there are as many as there are names
        values = tuple(index(listed, Known(at, _NOWHERE)) for at in range(len(names)))
    else:
        values = ordered(listed)
    keys = [(key_of(name) if isinstance(name, Unknown) else None) or text(name) for name in names]
    if len(keys) != len(values):
        raise EvaluationError(f"number of keys ({len(keys)}) does not match number of values ({len(values)})")
    result = dict(sorted(dict(zip(keys, values, strict=True)).items()))
    if isinstance(listed, Known) and isinstance(values, ListData):
        result = MapData.of(result, type_of(listed).element)
    return result
