"""The types of Terraform's values, and the values that hold theirs: lists, sets, maps and typed nulls.

A plain tuple is one of Terraform's tuples, a plain dict one of its objects: their types are those of their parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.values import Known

if TYPE_CHECKING:
    from fractions import Fraction  # noqa: F401

    from kcheck.text.values import Datum


class Type(NamedTuple):
    """A type: of a single value, a collection with one part, or a structure with several.

    `names` are the attributes of an object, sorted as its `parts` are; `optional` those that may be absent from what
    is converted to it.
    """

    kind: str
    parts: tuple[Type, ...] = ()
    names: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()

    @property
    def element(self) -> Type:
        """The type of the elements of a collection."""
        return self.parts[0]


STRING, NUMBER, BOOL = Type("string"), Type("number"), Type("bool")

DYNAMIC = Type("dynamic")
"""The type of a bare `null`; as what is wanted it takes any type."""

ANYTHING = Type("anything")
"""The type of what kcheck does not know: it fits everywhere."""

PRIMITIVE = frozenset({"string", "number", "bool"})


def list_of(element: Type) -> Type:
    """The type of lists with such elements."""
    return Type("list", (element,))


def set_of(element: Type) -> Type:
    """The type of sets with such elements."""
    return Type("set", (element,))


def map_of(element: Type) -> Type:
    """The type of maps with such elements."""
    return Type("map", (element,))


class ListData(tuple["Datum", ...]):
    """The elements of a list, all of the type `element`; None stands for the type of the first."""

    element: Type | None = None

    @classmethod
    def of(cls, items: object, element: Type | None) -> ListData:
        """A list with elements of a type."""
        result = cls(items)  # type: ignore[arg-type]
        result.element = element
        return result


class SetData(tuple["Datum", ...]):
    """The elements of a set, in Terraform's order, all of the type `element`."""

    element: Type | None = None


class MapData(dict[str, "Datum"]):
    """The elements of a map, all of the type `element`."""

    element: Type | None = None


class Null(Known[None], kw_only=True):
    """A null of a type, such as an attribute of an object that is absent."""

    type: Type


class Short(Known["int | Fraction"], kw_only=True):
    """A number of fewer bits than others: a count, and what it is divided by another."""

    bits: int
