"""Define the words of rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

from msgspec import Struct

from kcheck.model import Thing
from kcheck.scale.world import World
from kcheck.text.amount import Amount
from kcheck.text.need import NotKnown
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value

Read: TypeAlias = "Callable[[Any, World], object]"
"""Reads a word of a thing of its subject: a list of things, a number as far as it is known, a value, or plain data.

Plain data has the place of its thing; None stands for unset.
"""


_VALUES, _PLAIN = (Known, Unset, Unknown), (str, int, bool, tuple, list, dict, type(None))


class Field(Struct, frozen=True):
    """One word; `kind` is scalar, list, map, records or record.

    `type` is int, string, bool, or the other subject's name; messages print `unit`. A `direct` word is a field of the
    model, whose candidates count if it is unknown. If a number is `bounded`, only its bounds may be known, so a
    condition may compare it only once, by < or >.
    """

    name: str
    kind: str
    type: str
    unit: str
    nullable: bool
    meaning: str
    compute: Read
    direct: bool = False
    bounded: bool = False

    def read(self, thing: object, world: World) -> Value[object] | list[Any]:
        """Read this word of an object; Unknown if a value it needs is missing."""
        return self.valued(self.found(thing, world), thing)

    def found(self, thing: object, world: World) -> object:
        """Read this word as it is computed: a value or plain data."""
        try:
            return self.compute(thing, world)
        except NotKnown as error:
            return error.missing

    def valued(self, found: object, thing: object) -> Value[object] | list[Any]:
        """Give plain data the origin of its object."""
        if (type(found) not in _PLAIN and isinstance(found, _VALUES)) or (
            self.kind == "records" and isinstance(found, list)
        ):
            return found
        origin = Origin((thing.place,) if isinstance(thing, Thing) else ())
        if isinstance(found, Amount):
            return found.value(origin)
        return Unset(origin) if found is None else Known(found, origin)


def simple(name: str, type_: str, meaning: str, unit: str = "", *, nullable: bool = True) -> Field:
    """Define a word for a property of a model class, or a field of two classes."""
    return Field(name, "scalar", type_, unit, nullable, meaning=meaning, compute=_value(name, ""), direct=True)


def made(
    name: str, type_: str, meaning: str, read: Read, unit: str = "", *, nullable: bool = False,
    kind: str = "scalar", bounded: bool = False,
) -> Field:  # fmt: skip
    """Define a computed scalar."""
    return Field(name, kind, type_, unit, nullable, meaning=meaning, compute=read, bounded=bounded)


def record(name: str, subject: str, meaning: str, read: Read, *, nullable: bool = False) -> Field:
    """Define a word whose value is one object of another subject."""
    return Field(name, "record", subject, unit="", nullable=nullable, meaning=meaning, compute=read)


def records(name: str, subject: str, meaning: str, read: Read) -> Field:
    """Define a word whose value is a list of objects of another subject."""
    return Field(name, "records", subject, unit="", nullable=False, meaning=meaning, compute=read)


def named(meaning: str) -> Field:
    """Define the word for the name of an object, else its address."""

    def read(thing: Thing, _world: World) -> Value[object]:
        value: Value[str] = attrgetter("name")(thing)
        return Known(getattr(thing, "address", thing.id), value.origin) if isinstance(value, Unset) else value

    return made("name", "string", meaning, read)


_WORD = regex(r"Annotated\[(Value\[)?(?:(tuple|dict)\[(?:str, )?)?(\w+)(?:, \.\.\.)?\]*( \| None)?, (['\"].*)\]")
_QUOTED = regex(r"'([^']*)'|\"([^\"]*)\"")
_KINDS = {None: "scalar", "tuple": "list", "dict": "map"}


def annotated(model: type, **records: type) -> tuple[Field, ...]:
    """Define the words that the annotations of a class describe.

    `Annotated[Value[int], meaning, unit, note]`: without a note, unset is null. Notes are `never null`, and of a bool
    `false if unset`. A field that is no Value is always known; where it is None, null.
    """
    return tuple(
        _described(f"{prefix}.{name}" if prefix else name, found)
        for prefix, one in (("", model), *records.items())
        for name, annotation in one.__annotations__.items()
        if (found := _WORD.fullmatch(str(getattr(annotation, "__forward_arg__", annotation))))
    )


def _described(path: str, found: re.Match[str]) -> Field:
    value, kind, type_, optional, about = found.groups()
    meaning, unit, note = (*(one or other for one, other in _QUOTED.findall(about)), "", "")[:3]
    nullable = not note if value else bool(optional)
    read = _value(path, note)
    type_, name = _TYPES.get(type_, type_), path.rpartition(".")[2]
    return Field(name, _KINDS[kind], type_, unit, nullable, meaning=meaning, compute=read, direct=bool(value))


_TYPES = {"str": "string"}


def _value(path: str, note: str) -> Read:
    get = attrgetter(path)
    if note != "false if unset":
        return lambda thing, _world: get(thing)

    def read(thing: object, _world: World) -> Value[object]:
        value = get(thing)
        return Known(value=False, origin=value.origin) if isinstance(value, Unset) else value

    return read
