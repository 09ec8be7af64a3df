"""Terraform's types, and typed values: lists, sets, maps and typed nulls.

A plain tuple is one of Terraform's tuples, a plain dict one of its objects: their types follow from their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Self

from msgspec import Struct

from kcheck.text.values import Datum, Elements, Key, Known


class Type(Struct, frozen=True):
    """A type: single, of a collection, or of a structure.

    `names` are the attributes of an object, in the order of its `parts`. `optional` attributes may be absent before
    conversion to the type.
    """

    kind: str
    parts: tuple[Type, ...] = ()
    names: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()

    @property
    def element(self) -> Type:
        """Type of the elements of a collection."""
        return self.parts[0]


STRING, NUMBER, BOOL = Type("string"), Type("number"), Type("bool")

DYNAMIC = Type("dynamic")
"""Type of a bare `null`; as a wanted type it accepts any."""

ANYTHING = Type("anything")
"""Type of a value that kcheck does not know; it fits everywhere."""

PRIMITIVE = frozenset({"string", "number", "bool"})


def list_of(element: Type) -> Type:
    """Return the type of a list with these elements."""
    return Type("list", (element,))


def set_of(element: Type) -> Type:
    """Return the type of a set with these elements."""
    return Type("set", (element,))


def map_of(element: Type) -> Type:
    """Return the type of a map with these elements."""
    return Type("map", (element,))


class _Typed:
    """Elements that all have the type `element`."""

    element: Type

    @classmethod
    def of(cls, items: object, element: Type) -> Self:
        """Make a collection with elements of a type."""
        result = cls(items)  # type: ignore[call-arg]
        result.element = element
        return result


class ListData(_Typed, tuple["Datum", ...]):
    """Elements of a list."""


class SetData(_Typed, tuple["Datum", ...]):
    """Elements of a set, in Terraform's order."""


class MapData(_Typed, dict["Key", "Datum"]):
    """Elements of a map."""


def each(value: Elements, change: Callable[[Datum], Datum]) -> Elements:
    """Apply a function to each element of a collection."""
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    items = map(change, value)
    return type(value).of(items, value.element) if isinstance(value, ListData | SetData) else tuple(items)


class Null(Known[None], kw_only=True):
    """A typed null, such as an absent attribute of an object."""

    type: Type


class Short(Known["int | Fraction"], kw_only=True):
    """A number with lower precision than usual, such as a count."""

    bits: int
    exact: int | Fraction | None = None
