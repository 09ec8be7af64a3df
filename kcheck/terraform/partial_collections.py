"""Partly known collections: certain and possible elements."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from kcheck.terraform import convert
from kcheck.text import scalars
from kcheck.text.data_types import SetData, Short
from kcheck.text.keys import by_name, key_datum, key_of, loose_keys, stand_ins
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, DatumValue, Either, Elements, Key, Known, Origin, Partial, Symbol, Unknown, known

MOST_BRANCHES = 64
"""Maximum number of branches in a choice; with more, the value is plain unknown."""


MOST_ELEMENTS = 1_000
"""Maximum number of possible elements kept apart; more become a single unknown one."""


class Entry(NamedTuple):
    """Element of a collection with its key or index; `why` says why it may not exist."""

    key: Datum
    item: Datum
    why: Unknown | None = None


def either(reason: str, origin: Origin | None, branches: Iterable[Datum], symbol: Symbol | None = None) -> Datum:
    """Make a choice of values; a single value stays itself.

    A single branch that may fail, such as an element at an unknown index, stays a choice so that `try` sees it.
    """
    found: list[Datum] = []
    refusable = False
    seen: set[object] = set()
    for branch in branches:
        refusable = refusable or type(branch) is Either
        for one in branches_of(branch):
            name = _same(one)
            if name not in seen:
                seen.add(name)
                found.append(one)
    if len(found) == 1 and not refusable:
        return found[0]
    if len(found) > MOST_BRANCHES:
        return Unknown(reason, origin, symbol)
    return Either(reason, origin, symbol, branches=tuple(found))


def derived(choice: Unknown, branches: Iterable[Datum], symbol: Symbol | None = None) -> Datum:
    """Make a choice of values derived from the branches of another choice."""
    return either(choice.reason, choice.origin, [Either(choice.reason, branches=tuple(branches))], symbol)


def branches_of(datum: Datum) -> tuple[Datum, ...]:
    """List the branches of a choice; any other value is its only one."""
    return datum.branches if type(datum) is Either else (datum,)


def _same(datum: Datum) -> object:
    """Return the comparison key of a branch."""
    if isinstance(datum, Known):
        value = datum.value
        return (type(value), value) if isinstance(value, str | int) or value is None else id(datum)
    return (datum.symbol or datum.reason) if type(datum) is Unknown else id(datum)


def settled(datum: Datum, origin: Origin) -> Datum:
    """Return the value on which all branches of a choice agree; other data unchanged."""
    if type(datum) is not Either or not datum.branches:
        return datum
    first, *others = datum.branches
    if not all(convert.equal(first, other) for other in others):
        return datum
    if isinstance(first, Known) and first.origin.literal and others:  # to change one would leave the others
        return Known(first.value, origin)
    return first


def entries_of(collection: Datum) -> Iterator[Entry]:
    """Yield the certain and possible elements, or raise EvaluationError."""
    if isinstance(collection, Partial):
        for some in (collection.part, collection.rest):
            for entry in _entries(some, collection.origin):
                key = entry.key if not isinstance(some, tuple) or isinstance(some, SetData) else _why(collection)
                yield entry._replace(key=key, why=None if some is collection.part else collection)
    elif isinstance(collection, Either):
        yield from _of_branches(collection)
    elif isinstance(collection, Unknown):
        key = _why(collection)
        symbol = collection.symbol and collection.symbol.element(key)
        yield Entry(key, Unknown(collection.reason, collection.origin, symbol), collection)
    else:
        yield from _entries(collection.value, collection.origin)


def is_map(collection: Datum) -> bool:
    """Whether a collection is a map or object, as far as known."""
    if isinstance(collection, Either):
        return any(map(is_map, collection.branches))
    value = collection.part if isinstance(collection, Partial) else known(collection)
    return isinstance(value, dict)


def items_of(collection: Datum) -> Iterator[tuple[Datum, Unknown | None]]:
    """Yield the elements of a collection, each with a reason if uncertain."""
    return ((entry.item, entry.why) for entry in entries_of(collection))


def _why(datum: Unknown) -> Unknown:
    return Unknown(datum.reason, datum.origin)


def _entries(value: DatumValue, origin: Origin | None) -> Iterator[Entry]:
    place = origin or Origin(())
    if isinstance(value, dict):
        for name in sorted(value, key=str):
            yield Entry(key_datum(name, value[name].origin or place), value[name])
    elif isinstance(value, SetData):
        for item in value:
            yield Entry(item, item)
    elif isinstance(value, tuple):
        for at, item in enumerate(value):
            yield Entry(Short(at, Origin((item.origin or place).spans), bits=64), item)
    else:
        raise EvaluationError(f"{convert.kind_name(value)} cannot be iterated")


def _of_branches(collection: Either) -> Iterator[Entry]:
    """Yield the elements of all branches; those in every branch are certain."""
    found: list[dict[str, Entry]] = []
    keyed, room = is_map(collection), MOST_ELEMENTS
    for branch in collection.branches:
        try:
            entries = list(islice(entries_of(branch), room + 1))
        except EvaluationError:
            continue
        room -= len(entries)
        if room < 0:
            yield from entries_of(_why(collection))
            return
        names = (convert.identity(entry.key if keyed else entry.item) for entry in entries)
        found.append(dict(zip(names, entries, strict=True)))
    why = _why(collection)
    for name in dict.fromkeys(name for entries in found for name in entries):
        same = [entries[name] for entries in found if name in entries]
        item = either(collection.reason, collection.origin, [entry.item for entry in same])
        sure = len(same) == len(found) and not any(entry.why for entry in same)
        yield Entry(same[0].key if keyed else why, item, None if sure else collection)


class Gathering:
    """Collects the elements of a new map one by one, certain and possible."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.why: Unknown | None = None
        self.part: dict[Key, Datum] = {}
        self.rest: dict[Key, Datum] = {}

    def add(self, key: Datum, item: Datum, why: Unknown | None = None) -> Key:
        """Add an element, with a reason if uncertain; return its name."""
        if isinstance(key, Unknown) and why is not None:
            key = _why(key)  # it stands for several
        return self.put(self.free(key), item, why)

    def put(self, name: Key, item: Datum, why: Unknown | None) -> Key:
        """Add an element under a free name."""
        if why is None:
            self.part[name] = item
        elif name not in self.part:
            self.rest[name] = item
        self.why = self.why or why
        return name

    def merge(self, entry: Entry) -> None:
        """Add an element that replaces an earlier one with the same key."""
        why = entry.why
        name = (key_of(entry.key) if isinstance(entry.key, Unknown) else None) or self.free(entry.key)
        if why is None:
            self.rest.pop(name, None)
            self.part[name] = entry.item
            return
        self.why = self.why or why
        is_loose = bool(loose_keys([name]))
        for some in (self.part, self.rest):
            for other in some if is_loose else {name} & some.keys():
                some[other] = either(why.reason, why.origin, (some[other], entry.item))
        if name not in self.part:
            self.rest.setdefault(name, entry.item)

    def free(self, key: Datum) -> Key:
        """Return the name of a key; unknown keys get distinct names."""
        if isinstance(key, Known):
            return scalars.to_string(key.value)
        return next(one for one in stand_ins(key) if one not in self.part and one not in self.rest)

    def map(self) -> Datum:
        """Build the map."""
        part = by_name(self.part)
        if not self.rest or self.why is None:
            return Known(part, self.origin)
        if len(self.part) + len(self.rest) > MOST_ELEMENTS:
            return _why(self.why)
        return _partial(self.why, self.origin, part, by_name(self.rest))


def gathered(items: Iterable[tuple[Datum, Unknown | None]], origin: Origin) -> Datum:
    """Build a list of elements, each with a reason if uncertain."""
    part: list[Datum] = []
    rest: list[Datum] = []
    reasons: list[Unknown] = []
    seen: set[object] = set()
    for item, why in items:
        if why is None:
            part.append(item)
            continue
        reasons.append(why)
        if _same(item) not in seen:  # each stands for any number
            seen.add(_same(item))
            rest.append(item)
    if not reasons:
        return Known(tuple(part), origin)
    if len(part) + len(rest) > MOST_ELEMENTS:
        part, rest = [], [_why(reasons[0])]
    return _partial(reasons[0], origin, tuple(part), tuple(rest))


def _partial(why: Unknown, origin: Origin, part: Elements, rest: Elements) -> Partial:
    only = next(iter(rest.values() if isinstance(rest, dict) else rest)) if len(rest) == 1 and not part else None
    symbol = only.symbol if isinstance(only, Unknown) else None
    return Partial(why.reason, origin, symbol and Symbol(symbol.address, "?"), part=part, rest=rest)
