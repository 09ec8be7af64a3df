"""Keys that are no plain text: path steps for fixes, and unknown keys."""

from collections.abc import Iterable, Iterator
from itertools import count

from kcheck.text.values import Datum, Key, Known, Origin, Unknown, UnknownKey


class Json(str):
    """An attribute whose value is JSON text, written with `jsonencode`."""

    __slots__ = ()


class MapName(str):
    """An attribute whose value is an object, not a nested block."""

    __slots__ = ()


class Item(str):
    """A step to the list item with this text as its `name`."""

    __slots__ = ()


def loose_keys(keys: Iterable[Key]) -> list[UnknownKey]:
    """List the keys that may turn out to be any key, unlike cloud ids."""
    found = ((key, key.datum.symbol) for key in keys if isinstance(key, UnknownKey))
    return [key for key, of in found if of is None or of.attribute == "text" or "?" in of.attribute]


def by_name(entries: dict[Key, Datum]) -> dict[Key, Datum]:
    """Sort the entries of a map by the names of their keys."""
    return {key: entries[key] for key in sorted(entries, key=str)}


def key_of(datum: Unknown) -> UnknownKey | None:
    """Return the map key of an unknown name; None without a known identity."""
    symbol = datum.symbol
    if symbol is None or "?" in symbol.attribute:
        return None
    name = symbol.address.strip('"') if symbol.attribute == "text" else f"{symbol.address}.{symbol.attribute}"
    return UnknownKey(f"<{name}>", datum)


def stand_ins(datum: Unknown) -> Iterator[UnknownKey]:
    """Yield names of an unknown key; without an identity it is named after its reason."""
    first = key_of(datum) or UnknownKey(f"<{datum.reason.partition(' ')[0]}>", datum)
    yield first
    for number in count(2):
        yield UnknownKey(f"{first.name[:-1]}#{number}>", datum)


def key_datum(key: Key, origin: Origin) -> Datum:
    """Return the key of an element in a loop, placed at the element."""
    return key.datum if isinstance(key, UnknownKey) else Known(key, Origin(origin.spans, why="a key gives it"))
