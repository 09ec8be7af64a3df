"""Steps of the path at which a fix writes something, where they are not plain keys."""

from __future__ import annotations


class Json(str):
    """An attribute whose value is JSON text, written with `jsonencode`."""

    __slots__ = ()


class MapName(str):
    """An attribute whose value is an object, where others with members are nested blocks."""

    __slots__ = ()


class Item(str):
    """A step to the item of a list that has this text as its `name`."""

    __slots__ = ()
