"""Define the words of rules."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from kcheck.scale import basics
from kcheck.text.need import NotKnown
from kcheck.text.values import NOTHING, Known, Origin, Unset

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Thing
    from kcheck.scale.world import World
    from kcheck.text.values import Value


Read: TypeAlias = "Callable[[Any, World], Value[object] | list[Any]]"
"""Reads a word of a thing of its subject: a value, or a list of things."""


class Field(Struct, frozen=True):
    """One word. `kind` is scalar, list or map (of scalars), records (list of another subject) or record (one of it).

    `type` is int, string, bool, or the other subject's name; `unit` is how messages print it. A `direct` word is a
    field of the model, whose candidates count where it is not known. Of a `bounded` number perhaps only the bounds are
    known, so it may be compared by < and > only, and once in a condition.
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
        """Read this word of a thing; Unknown where it lacks a value that it needs."""
        try:
            return self.compute(thing, world)
        except NotKnown as error:
            return error.missing


def simple(
    name: str, type_: str, meaning: str, unit: str = "", *, nullable: bool = True, kind: str = "scalar", of: str = ""
) -> Field:
    """Define a field of the model, or of its record `of`, as a word."""
    get = attrgetter(f"{of}.{name}" if of else name)
    return Field(
        name, kind, type_, unit, nullable, meaning=meaning, compute=lambda thing, _world: get(thing), direct=True
    )  # fmt: skip


def made(
    name: str, type_: str, meaning: str, read: Read, unit: str = "", *, nullable: bool = False,
    kind: str = "scalar", bounded: bool = False,
) -> Field:  # fmt: skip
    """Define a computed scalar."""
    return Field(name, kind, type_, unit, nullable, meaning=meaning, compute=read, bounded=bounded)


def record(name: str, subject: str, meaning: str, read: Read, *, nullable: bool = False) -> Field:
    """Define a field that is one thing of another subject."""
    return Field(name, "record", subject, unit="", nullable=nullable, meaning=meaning, compute=read)


def records(name: str, subject: str, meaning: str, read: Read) -> Field:
    """Define a field that lists things of another subject."""
    return Field(name, "records", subject, unit="", nullable=False, meaning=meaning, compute=read)


def flag(name: str, meaning: str, *, of: str = "") -> Field:
    """Define a bool of the model that is false where nothing is written."""
    get = attrgetter(f"{of}.{name}" if of else name)

    def read(thing: object, _world: World) -> Value[object]:
        value = get(thing)
        return Known(value=False, origin=value.origin) if isinstance(value, Unset) else value

    return Field(name, "scalar", "bool", unit="", nullable=False, meaning=meaning, compute=read, direct=True)


def named(meaning: str) -> Field:
    """Define the name of a thing; where none is written, its address in the code."""

    def read(thing: Thing, _world: World) -> Value[object]:
        value: Value[str] = attrgetter("name")(thing)
        return Known(getattr(thing, "address", thing.id), value.origin) if isinstance(value, Unset) else value

    return made("name", "string", meaning, read)


def plain(name: str, type_: str, meaning: str, unit: str = "") -> Field:
    """Define a field of the model that is always known."""
    return made(name, type_, meaning, lambda thing, _world: basics.computed(thing, getattr(thing, name)), unit)


def part(name: str, type_: str, meaning: str, unit: str = "", *, nullable: bool = False) -> Field:
    """Define a field of a part of a fact, such as one pool's share of a subnet; None is null."""
    get = attrgetter(name)

    def read(thing: object, _world: World) -> Value[object]:
        value = get(thing)
        return NOTHING if value is None else Known(value, Origin(()))

    return Field(name, "scalar", type_, unit, nullable, meaning=meaning, compute=read)
