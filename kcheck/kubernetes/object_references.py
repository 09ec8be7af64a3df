"""Objects named by other objects, in the tree or among generated ConfigMaps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from kcheck.kubernetes.objects import objects_in
from kcheck.text.syntax import yaml
from kcheck.text.text import leading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text.files.tree import Tree
    from kcheck.text.text import Source

Data = dict[str, "yaml.Scalar | Source"]
"""Texts of a ConfigMap by key: a scalar, or a file that holds it."""


T = TypeVar("T")


class Named(Struct):
    """Objects of a tree by kind and name, searched on demand."""

    tree: Tree
    _found: dict[tuple[str, str], list[tuple[str, yaml.Mapping]]] = {}
    _made: dict[str, list[tuple[str, Data]]] = {}

    def object(self, source: Source, kind: str, name: str) -> yaml.Mapping | None:
        """Find the object nearest to a file; None if there is none or several."""
        return _nearest(source, self._objects(kind, name))

    def data(self, source: Source, name: str) -> Data | None:
        """Return the texts of the ConfigMap nearest to a file; None if there is none or several."""
        if name not in self._made:
            written = [(path, _texts(yaml.get(root, "data"))) for path, root in self._objects("ConfigMap", name)]
            self._made[name] = [*written, *self._generated(name)]
        return _nearest(source, self._made[name])

    def _objects(self, kind: str, name: str) -> list[tuple[str, yaml.Mapping]]:
        if (kind, name) not in self._found:
            self._found[kind, name] = list(self._read(kind, name))
        return self._found[kind, name]

    def _read(self, kind: str, name: str) -> Iterator[tuple[str, yaml.Mapping]]:
        marks = kind.encode(), name.encode()
        for source in self.tree.manifests:
            if not all(mark in source.data for mark in marks):
                continue
            for document in yaml.documents(source, lambda data: all(mark in data for mark in marks)):
                for item in objects_in(document.root) if document.root is not None else ():
                    called = yaml.get(item.root, "metadata", "name")
                    if item.kind == kind and isinstance(called, yaml.Scalar) and called.text == name:
                        yield os.path.dirname(source.path), item.root

    def _generated(self, name: str) -> Iterator[tuple[str, Data]]:
        """Yield ConfigMaps that kustomizations generate from files and literals."""
        for path in self.tree.kustomizations:
            source = self.tree.source(path)
            if source is None or name.encode() not in source.data or b"configMapGenerator" not in source.data:
                continue
            root = next((document.root for document in yaml.documents(source)), None)
            listed = yaml.get(root, "configMapGenerator")
            for entry in listed.items if isinstance(listed, yaml.Sequence) else ():
                called = yaml.get(entry, "name")
                if isinstance(called, yaml.Scalar) and called.text == name:
                    yield os.path.dirname(source.path), self._entry(entry, os.path.dirname(path))

    def _entry(self, entry: yaml.Node, folder: str) -> Data:
        data: Data = {}
        for node in yaml.scalars(entry, "files"):
            key, sign, path = node.text.partition("=")
            found = self.tree.source(os.path.join(folder, path if sign else key))
            if found is not None:
                data[key if sign else os.path.basename(key)] = found
        for node in yaml.scalars(entry, "literals"):
            key, _, text = node.text.partition("=")
            data[key] = yaml.Scalar(*node.span, None, text.strip("\"'"), "double", None)
        return data


def _nearest(source: Source, found: list[tuple[str, T]]) -> T | None:
    own = os.path.dirname(source.path).split("/")
    near = [(leading(own, path.split("/")), one) for path, one in found]
    most = max((depth for depth, _ in near), default=0)
    best = [one for depth, one in near if depth == most]
    return best[0] if len(best) == 1 else None


def _texts(node: yaml.Target | None) -> Data:
    entries = yaml.entries(node) if isinstance(node, yaml.Mapping) else {}
    found = {name: yaml.resolve(entry.value) for name, entry in entries.items()}
    return {name: value for name, value in found.items() if isinstance(value, yaml.Scalar)}
