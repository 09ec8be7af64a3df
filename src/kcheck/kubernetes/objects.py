"""The Kubernetes objects of a tree, and what could not be read of them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck.files import holds_objects
from kcheck.syntax import yaml
from kcheck.values import Known, Origin, Unset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.syntax.problem import Problem
    from kcheck.text import Source, Span
    from kcheck.values import Value


class Object(NamedTuple):
    """One Kubernetes object as it is written."""

    kind: str
    api_version: str
    root: yaml.Mapping
    span: Span


@dataclass
class Manifests:
    """What the manifests of a tree hold. `templates` are files that a template engine must render first."""

    objects: list[Object]
    problems: list[Problem]
    templates: list[Source]

    def template_folders(self) -> dict[str, list[Source]]:
        """The templates by folder, in order."""
        folders: dict[str, list[Source]] = {}
        for source in self.templates:
            folders.setdefault(os.path.dirname(source.path) or ".", []).append(source)
        return folders


def read(sources: list[Source], kinds: frozenset[str] | None) -> Manifests:
    """Read all manifests. Never raises: what cannot be read becomes a problem, templates are set apart.

    A broken document is a problem if it may hold one of the `kinds`; None stands for all.
    """
    result = Manifests([], [], [])
    for source in sources:
        _read(source, kinds, result)
    return result


_KIND = re.compile(rb"^([ \t-]*)[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?(\w*)", re.MULTILINE)


def _may_hold(data: bytes, kinds: frozenset[str] | None) -> bool:
    """Whether a document may hold an object of some kinds, or a list: told without parsing."""
    if kinds is None or not holds_objects(data):
        return holds_objects(data)
    found = {(bool(indent), kind.decode()) for indent, kind in _KIND.findall(data)}
    if not found or (False, "") in found:  # flow style, or a kind that a template fills in
        return True
    return any(kind in kinds or kind.endswith("List") for _, kind in found)


def _read(source: Source, kinds: frozenset[str] | None, result: Manifests) -> None:
    for document in yaml.documents(source, lambda data: _may_hold(data, kinds)):
        if document.problem is not None:
            if yaml.is_template(source.data):
                if source not in result.templates:
                    result.templates.append(source)
            else:
                result.problems.append(document.problem)
        elif document.root is not None:
            result.objects += objects_in(document.root)


def objects_in(node: yaml.Node, depth: int = 0) -> Iterator[Object]:
    """The object of a document, or those of a List."""
    root = yaml.resolve(node)
    if not isinstance(root, yaml.Mapping):
        return
    kind, version = _text(root, "kind"), _text(root, "apiVersion")
    if not kind or not version:
        return
    items = yaml.get(root, "items")
    if kind.endswith("List") and isinstance(items, yaml.Sequence) and depth < 3:
        for item in items.items:
            yield from objects_in(item, depth + 1)
    else:
        yield Object(kind, version, root, _header(root))


def value_of(node: yaml.Scalar) -> Value[Any]:
    """What a scalar says, with its place; Unset where it is null."""
    if isinstance(node, yaml.Given):
        datum = node.datum
        null = isinstance(datum, Known) and datum.value is None
        return Unset(datum.origin or Origin((node.span,))) if null else datum
    value = yaml.value(node)
    origin = Origin((node.span,), literal=True)
    return Unset(origin) if value is None else Known(value, origin)


def _text(root: yaml.Mapping, key: str) -> str:
    node = yaml.get(root, key)
    return node.text if isinstance(node, yaml.Scalar) else ""


def _header(root: yaml.Mapping) -> Span:
    """The line that names the object: its `kind:`."""
    for entry in root.entries:
        if isinstance(entry.key, yaml.Scalar) and entry.key.text == "kind":
            return entry.key.span.source.span(entry.key.span.start, yaml.resolve(entry.value).span.end)
    return root.span
