"""Fields that a kind does not have, and values of a wrong type."""

import os
from collections.abc import Iterator
from functools import cache

from msgspec import Struct, convert

from kcheck.kubernetes.objects import Object, value_of
from kcheck.model import FieldError
from kcheck.text import bundled, placeholders
from kcheck.text.files.tree import TERRAFORM
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown
from kcheck.text.yaml_nodes import Node, Stated

_WANTED = {
    "string": "a text", "integer": "a whole number", "number": "a number", "boolean": "a boolean",
    "scalar": "a number or a text",
}  # fmt: skip
"""Type of a single value -> how messages name it."""


_MOST = 100
"""Most errors of one object: a file that is no manifest after all has one a line."""


def _is_placeholder(node: yaml.Target) -> bool:
    """Whether a map or list is a name to replace, such as `[YOUR_KEY]`."""
    if isinstance(node, yaml.Sequence):
        return node.flow and len(node.items) == 1 and bool(placeholders.of_number(node.span.text.strip("[ ]")))
    entries = node.entries if isinstance(node, yaml.Mapping) and node.flow else ()
    return len(entries) == 1 and isinstance(entries[0].value, yaml.Scalar) and not entries[0].value.span.text


class _Table(Struct):
    """Fields of known kinds, from profiles/any/fields.json.

    `kinds`: "apiVersion kind" -> its type, and the release it is taken from. `types`: name -> type of each field.
    """

    kinds: dict[str, tuple[str, str]]
    types: dict[str, dict[str, str]]


@cache
def _table() -> _Table:
    return convert(bundled.load(os.path.join(bundled.PROFILES, "any", "fields.json")), _Table)


def errors(item: Object, label: str) -> list[FieldError]:
    """List unknown fields of an object, and values the API server refuses.

    `label` is the identity of the object. Terraform has checks and names of its own for the objects of its resources.
    """
    type_, release = _table().kinds.get(f"{item.api_version} {item.kind}", ("", ""))
    walk = _Walk(label, type_, f"{item.kind} in {release}")
    if type_ and not isinstance(item.root, Stated):
        walk.visit(item.root, type_, ())
    return walk.found


class _Walk:
    """Compares the nodes of one object with its type, each once."""

    def __init__(self, label: str, type_: str, release: str) -> None:
        self._label, self._type, self._release = label, type_, release
        self._seen: set[tuple[int, str]] = set()
        self.found: list[FieldError] = []

    def visit(self, node: Node, type_: str, path: tuple[str, ...]) -> None:
        """Record the errors of a node and of everything below it."""
        target = yaml.resolve(node)
        if type_ == "any" or (id(target), type_) in self._seen or len(self.found) == _MOST:
            return
        if type(target) is not yaml.Mapping and isinstance(target, yaml.Scalar):
            if not _fits(target, type_):
                self._mistyped(target, path, type_)
            return
        self._seen.add((id(target), type_))
        if isinstance(target, yaml.Mapping) and (type_[0] == "{" or type_ in _table().types):
            self._members(target, type_, path)
        elif isinstance(target, yaml.Sequence) and type_[0] == "[":
            for number, item in enumerate(target.items):
                self.visit(item, type_[1:-1], (*path, f"[{number}]"))
        elif type_ != "string" or not (_is_placeholder(target) or target.source.path.endswith(TERRAFORM)):
            self._mistyped(target, path, type_)  # in Terraform, yamlencode makes a text of it

    def _members(self, target: yaml.Mapping, type_: str, path: tuple[str, ...]) -> None:
        fields = _table().types.get(type_)
        for name, entry in yaml.entries(target).items():
            inner = type_[1:-1] if fields is None else fields.get(name)
            if inner == "any" or (inner and type(entry.value) is yaml.Scalar and _fits(entry.value, inner)):
                continue  # as nearly all are
            own = (*path, name)
            if inner:
                self.visit(entry.value, inner, own)
            elif name[:1] == "$" or own == ("sops",) or placeholders.first(name):
                continue  # for kustomize, and for sops
            elif len(self.found) < _MOST:
                meant = self._meant(name, path, type_)
                right = meant[-1] if meant and meant[:-1] == path else None
                self._note(entry.key, own, name, right, meant=_written(meant) or None)

    def _mistyped(self, node: yaml.Target, path: tuple[str, ...], type_: str) -> None:
        text, right = "a list" if isinstance(node, yaml.Sequence) else "a map", None
        if isinstance(node, yaml.Scalar):
            kind = {str: "text", bool: "boolean"}.get(type(yaml.value(node)), "number")
            text = f"the {kind} {(node.text.splitlines() or [''])[0]}"
            right = node.text if type_ == "string" and not node.tag else None
        self._note(node, path, text, right, wanted=_WANTED.get(type_, "a list" if type_[0] == "[" else "a map"))

    def _note(
        self, node: yaml.Target, path: tuple[str, ...], text: str, right: str | None, *, wanted: str | None = None,
        meant: str | None = None,
    ) -> None:  # fmt: skip
        own, written = _written(path), Known(text, Origin((node.span,), literal=True))
        is_plain = isinstance(node, yaml.Scalar) and node.span.text.strip("\"'") == node.text
        self.found.append(FieldError(
            f"{self._label}#{own}", node.span, path=own, written=written, wanted=wanted, meant=meant,
            right=right if is_plain else None, release=self._release,
        ))  # fmt: skip

    def _meant(self, name: str, path: tuple[str, ...], type_: str) -> tuple[str, ...]:
        """Find the nearest field with that name, else one named alike."""
        from difflib import get_close_matches

        types = _table().types
        around = ((path[:depth], one) for depth, one in enumerate(self._types_along(path)))
        for at, one in (*reversed(list(around)), *_below(path, type_)):
            if name in types.get(one, ()):
                return (*at, name)
        close = get_close_matches(name, list(types[type_]), 1, 0.75)
        return (*path, close[0]) if close else ()

    def _types_along(self, path: tuple[str, ...]) -> Iterator[str]:
        """Yield the type that contains each step of a path, outermost first."""
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
    """Whether a scalar is valid for a type; placeholders and computed values are.

    `on` and `yes` are texts for kustomize and booleans for kubectl.
    """
    if type(node) is yaml.Computed:
        return True
    match yaml.value(node):
        case str():
            plain = type_ in ("string", "scalar") or isinstance(value_of(node), Unknown)
            return plain or bool(placeholders.of_number(node.text))
        case None:
            return True
        case bool():
            return type_ == "boolean" or (type_ == "string" and node.text.lower() not in ("true", "false"))
        case int():
            return type_ in ("integer", "number", "scalar")
        case float() as number:
            return type_ in ("number", "scalar") or (type_ == "integer" and number.is_integer())
