"""Fields that a kind does not have, and values of another type than theirs."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, convert

from kcheck.kubernetes.objects import value_of
from kcheck.model import FieldError
from kcheck.text import bundled, placeholders
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown, Unset
from kcheck.text.yaml_nodes import Stated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.kubernetes.objects import Object
    from kcheck.text.yaml_nodes import Node

_WANTED = {
    "string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "scalar": "a number or a text", "[": "a list", "{": "a map",
}  # fmt: skip
"""Type -> how messages name it; by its bracket that of a list or map."""


_TO_FILL_IN = regex(r"[A-Z][A-Z0-9_-]*")
"""A text such as NUM_NODES, which a script replaces."""


class _Table(Struct):
    """Fields of known kinds, as profiles/any/fields.json has them.

    `kinds`: "apiVersion kind" -> its type, and the release that it is taken from. `types`: name -> type of each field.
    """

    kinds: dict[str, tuple[str, str]]
    types: dict[str, dict[str, str]]


@cache
def _table() -> _Table:
    return convert(bundled.load(os.path.join(bundled.PROFILES, "any", "fields.json")), _Table)


def errors(item: Object, label: str) -> Iterator[FieldError]:
    """Yield the fields of an object that its kind does not have, or whose value the API server refuses.

    `label` is the identity of the object. Terraform has checks and names of its own for the objects of its resources.
    """
    type_, release = _table().kinds.get(f"{item.api_version} {item.kind}", ("", ""))
    if type_ and not isinstance(item.root, Stated):
        yield from _Walk(label, type_, f"{item.kind} in {release}").errors(item.root, type_, ())


class _Walk:
    """Compares the nodes of one object with its type, each node once, however many aliases lead to it."""

    def __init__(self, label: str, type_: str, release: str) -> None:
        self._label, self._type, self._release = label, type_, release
        self._seen: set[tuple[int, str]] = set()

    def errors(self, node: Node, type_: str, path: tuple[str, ...]) -> Iterator[FieldError]:
        target = yaml.resolve(node)
        if type_ == "any" or (id(target), type_) in self._seen:
            return
        if isinstance(target, yaml.Scalar):
            if not _fits(target, type_):
                yield self._error(target, path, _WANTED.get(type_) or _WANTED["[" if type_[0] == "[" else "{"])
            return
        self._seen.add((id(target), type_))
        if isinstance(target, yaml.Sequence) and type_[0] == "[":
            for number, item in enumerate(target.items):
                yield from self.errors(item, type_[1:-1], (*path, f"[{number}]"))
        elif isinstance(target, yaml.Mapping) and (type_[0] == "{" or type_ in _table().types):
            yield from self._members(target, type_, path)
        else:
            yield self._error(target, path, _WANTED.get(type_) or _WANTED["[" if type_[0] == "[" else "{"])

    def _members(self, target: yaml.Mapping, type_: str, path: tuple[str, ...]) -> Iterator[FieldError]:
        fields = _table().types.get(type_)
        for name, entry in yaml.entries(target).items():
            own = (*path, name)
            if fields is None:
                yield from self.errors(entry.value, type_[1:-1], own)
            elif name in fields:
                yield from self.errors(entry.value, fields[name], own)
            elif name[:1] != "$" and not placeholders.first(name):  # such as $patch, for kustomize
                yield self._error(entry.key, own, None, self._meant(name, path, type_))

    def _error(
        self, node: yaml.Target, path: tuple[str, ...], wanted: str | None, meant: str | None = None
    ) -> FieldError:
        text = "a list" if isinstance(node, yaml.Sequence) else "a map"
        if isinstance(node, yaml.Scalar):
            text = node.text if wanted is None else node.span.text.partition("\n")[0]
        own = _written(path)
        return FieldError(
            f"{self._label}#{own}", node.span, path=own, written=Known(text, Origin((node.span,))),
            wanted=wanted, meant=meant, release=self._release,
        )  # fmt: skip

    def _meant(self, name: str, path: tuple[str, ...], type_: str) -> str | None:
        """Return the field of that name around or below a place, the nearest first, else one of nearly that name."""
        from difflib import get_close_matches

        types = _table().types
        around = ((path[:depth], one) for depth, one in enumerate(self._types_along(path)))
        for at, one in (*reversed(list(around)), *_below(path, type_)):
            if name in types.get(one, ()):
                return _written((*at, name))
        close = get_close_matches(name, list(types[type_]), 1, 0.75)
        return _written((*path, close[0])) if close else None

    def _types_along(self, path: tuple[str, ...]) -> Iterator[str]:
        """Yield the types of an object's parts down to a place, from its own."""
        type_ = self._type
        for step in path:
            yield type_
            type_ = _table().types.get(type_, {}).get(step) or type_[1:-1]


def _below(path: tuple[str, ...], type_: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the parts of a type with their paths, itself first, each type once."""
    types, todo, seen = _table().types, [(path, type_)], {type_}
    for at, one in todo:
        yield at, one
        for key, inner in types[one].items():
            items = inner.strip("[]")
            if items in types and items not in seen:
                seen.add(items)
                todo.append(((*at, key) if items == inner else (*at, key, "[]"), items))


def _written(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[", "[")


def _fits(node: yaml.Scalar, type_: str) -> bool:
    """Whether a single value may stand where a type is wanted; one that somebody fills in or computes may."""
    if isinstance(node, yaml.Computed):
        return True
    value = value_of(node)
    if isinstance(value, Unknown | Unset):
        return True
    match value.value:
        case bool():
            return type_ == "boolean"
        case int():
            return type_ in ("integer", "number", "scalar")
        case float() as number:
            return type_ in ("number", "scalar") or (type_ == "integer" and number.is_integer())
        case _:
            return type_ in ("string", "scalar") or _TO_FILL_IN.fullmatch(node.text) is not None
