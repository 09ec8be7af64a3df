"""Texts of ConfigMaps that are in the tree, as objects or made by a kustomization."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcheck.kubernetes.objects import objects_in
from kcheck.source.text import leading
from kcheck.syntax import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.files.tree import Tree
    from kcheck.source.text import Source

Data = dict[str, "yaml.Scalar | Source"]
"""The texts of a ConfigMap by key: a scalar, or a file that holds it."""


@dataclass
class ConfigMaps:
    """The ConfigMaps of a tree, looked for by name when one is asked for."""

    tree: Tree
    _found: dict[str, list[tuple[str, Data]]] = field(default_factory=dict)

    def data(self, source: Source, name: str) -> Data | None:
        """The ConfigMap of that name that is nearest to a file; None if there is none, or several are as near."""
        if name not in self._found:
            self._found[name] = [*self._objects(name), *self._generated(name)]
        own = os.path.dirname(source.path).split("/")
        near = [(leading(own, path.split("/")), data) for path, data in self._found[name]]
        most = max((depth for depth, _ in near), default=0)
        best = [data for depth, data in near if depth == most]
        return best[0] if len(best) == 1 else None

    def _objects(self, name: str) -> Iterator[tuple[str, Data]]:
        """ConfigMaps that are written as objects; documents without the name are never parsed."""
        raw = name.encode()
        for source in self.tree.manifests:
            if raw not in source.data or b"ConfigMap" not in source.data:
                continue
            for document in yaml.documents(source, lambda data: raw in data and b"ConfigMap" in data):
                for item in objects_in(document.root) if document.root is not None else ():
                    called = yaml.get(item.root, "metadata", "name")
                    if item.kind == "ConfigMap" and isinstance(called, yaml.Scalar) and called.text == name:
                        yield os.path.dirname(source.path), _texts(yaml.get(item.root, "data"))

    def _generated(self, name: str) -> Iterator[tuple[str, Data]]:
        """ConfigMaps that kustomizations make of files and of literals."""
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
        for node in _items(yaml.get(entry, "files")):
            key, sign, path = node.text.partition("=")
            found = self.tree.source(os.path.join(folder, path if sign else key))
            if found is not None:
                data[key if sign else os.path.basename(key)] = found
        for node in _items(yaml.get(entry, "literals")):
            key, _, text = node.text.partition("=")
            data[key] = yaml.Scalar(*node.span, None, text.strip("\"'"), "double", None)
        return data


def _texts(node: yaml.Target | None) -> Data:
    entries = yaml.entries(node) if isinstance(node, yaml.Mapping) else {}
    found = {name: yaml.resolve(entry.value) for name, entry in entries.items()}
    return {name: value for name, value in found.items() if isinstance(value, yaml.Scalar)}


def _items(node: yaml.Target | None) -> list[yaml.Scalar]:
    found = map(yaml.resolve, node.items) if isinstance(node, yaml.Sequence) else ()
    return [item for item in found if isinstance(item, yaml.Scalar)]
