"""Kubernetes objects of a tree, and parts that could not be read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text import placeholders
from kcheck.text.files.tree import Tree, holds_objects
from kcheck.text.syntax import embedded_yaml, yaml
from kcheck.text.syntax.scan import every_kind, kinds_named
from kcheck.text.text import Problem, Source, Span, leading
from kcheck.text.values import DatumValue, Known, Origin, Piece, Unknown, Unset, Value, pieces_of

T = TypeVar("T")

Data = dict[str, "yaml.Scalar | Source"]
"""Texts of a ConfigMap by key: a scalar, or a file that holds it."""


class Kinds(Struct, frozen=True):
    """Kinds of objects to read, None for all.

    Other kinds are read if their text has all of `others`, except kinds in `never`. Objects of `quiet` kinds are all
    read, but broken ones are only reported if they have a mark.
    """

    names: frozenset[str] | None
    marks: Mapping[str, tuple[bytes, ...]] = {}
    others: tuple[bytes, ...] = ()
    never: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()

    def __contains__(self, kind: str) -> bool:
        return self.names is None or kind in self.names

    def with_kinds(self, kinds: frozenset[str] | None) -> Kinds:
        """Add kinds, with any text; None stands for all."""
        if kinds is None or self.names is None:
            return Kinds(None)
        marks = {kind: own for kind, own in self.marks.items() if kind not in kinds}
        return replace(self, names=self.names | kinds, marks=marks, quiet=self.quiet - kinds)

    def noted(self) -> Kinds:
        """Return the kinds whose broken documents are reported."""
        silent = self.quiet - self.marks.keys()
        return replace(self, names=self.names and self.names - silent, others=(), quiet=frozenset())

    def includes(self, kind: str, data: bytes) -> bool:
        """Whether a document with an object of a kind is read."""
        if kind not in self:
            return bool(self.others) and kind not in self.never and all(mark in data for mark in self.others)
        return kind not in self.marks or kind in self.quiet or any(mark in data for mark in self.marks[kind])


class Object(Struct, frozen=True):
    """A Kubernetes object as written, or as rendered by the kustomization in `scope`.

    `holder` is the object that contains and creates it.
    """

    kind: str
    api_version: str
    root: yaml.Mapping
    span: Span
    scope: str = ""
    holder: yaml.Mapping | None = None

    @property
    def owner_path(self) -> str:
        """Scope of the object: the folder of its kustomization, else its file."""
        return self.scope or self.span.source.path

    @property
    def folder(self) -> str:
        """Folder of its kustomization, else of its file."""
        return self.scope or os.path.dirname(self.span.source.path) or "."


class Manifests(Struct):
    """Objects of a tree. `templates` are files that need rendering first."""

    objects: list[Object]
    problems: list[Problem]
    templates: list[Source]

    def take(self) -> list[Object]:
        """Return the objects and drop them here, to free memory."""
        found, self.objects = self.objects, []
        return found

    def merged_with(self, other: Manifests) -> Manifests:
        """Return the union of both."""
        return Manifests(
            self.objects + other.objects,
            list(dict.fromkeys(self.problems + other.problems)),
            list(dict.fromkeys(self.templates + other.templates)),
        )


def read(sources: list[Source], kinds: Kinds) -> Manifests:
    """Read all manifests. Never raises: errors become problems.

    A broken document is a problem if it may hold one of the `kinds`; None stands for all.
    """
    result = Manifests([], [], [])
    for source in sources:
        read_one(source, kinds, result)
    return result


def may_hold(data: bytes, kinds: Kinds) -> bool:
    """Whether a document may hold an object of some kinds, without parsing."""
    if kinds.names is None or not holds_objects(data):
        return holds_objects(data)
    found = kinds_named(data)
    if not found or (False, "") in found:  # flow style, or a kind that a template fills in
        return True
    own = {kind for indented, kind in found if not indented}  # of the object itself, unless all of it is indented
    if not own or any(kind.endswith("List") for kind in own):
        own = {kind for _, kind in found}
    return any(kinds.includes(kind, data) or kind.endswith("List") for kind in own)


def holds_only(data: bytes, kinds: Kinds, alone: frozenset[str]) -> bool:
    """Whether a file holds only objects of kinds in `alone`, without parsing.

    False is always a safe answer.
    """
    named = every_kind(data)
    return bool(named) and all(kind in alone or (kind and not kinds.includes(kind, data)) for kind in named)


def read_one(source: Source, kinds: Kinds, result: Manifests) -> None:
    """Add the objects of a file to a result."""
    for document in embedded_yaml.filled(source, lambda data: may_hold(data, kinds)):
        if document.problem is not None:
            if kinds.others and not may_hold(document.span.text.encode(), kinds.noted()):
                continue  # what nobody asked for by name may be something else
            if placeholders.is_template(source.data):
                if source not in result.templates:
                    result.templates.append(source)
            else:
                result.problems.append(document.problem)
        elif document.root is not None:
            result.objects += objects_in(document.root)


def objects_in(node: yaml.Node, depth: int = 0) -> Iterator[Object]:
    """Yield the object of a document, or the objects of a List."""
    root = yaml.resolve(node)
    if not isinstance(root, yaml.Mapping):
        return
    kind, version = yaml.text(root, "kind"), yaml.text(root, "apiVersion")
    if not kind or not version:
        return
    items = yaml.get(root, "items")
    if kind.endswith("List") and isinstance(items, yaml.Sequence) and depth < 3:
        for item in items.items:
            yield from objects_in(item, depth + 1)
        return
    yield Object(kind, version, root, _header(root))
    if kind in _HOLDERS and depth < 3:
        path, *keys = _HOLDERS[kind]
        for item in yaml.items(root, *path.split(".")):
            inner = yaml.get(item, *keys)
            if isinstance(inner, yaml.Scalar):  # applied as it is
                yield from (found for one in embedded_documents(inner) for found in objects_in(one, depth + 1))
            elif inner is not None:
                yield from (replace(one, holder=root) for one in objects_in(inner, depth + 1))


_MANIFEST = ("spec.templates", "resource", "manifest")
_HOLDERS = {
    "AppWrapper": ("spec.components", "template"),
    **dict.fromkeys(("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"), _MANIFEST),
    "CronWorkflow": ("spec.workflowSpec.templates", *_MANIFEST[1:]),
}
"""Kind -> path of a list, and the keys of its items with whole objects, or YAML of them as Argo Workflows has it."""


def value_of(node: yaml.Scalar) -> Value[DatumValue]:
    """Return a scalar's value with its span; Unset if null, Unknown for a placeholder."""
    if type(node) is yaml.Computed:
        datum = node.datum
        null = isinstance(datum, Known) and datum.value is None
        return Unset(datum.origin or Origin((node.span,))) if null else datum
    value = yaml.value(node)
    origin = Origin((node.span,), literal=True)
    if isinstance(value, str):
        if placeholders.is_encrypted(value):
            return Unknown(placeholders.encrypted(node.span), Origin((node.span,)))
        if placeholders.first(value):
            return _filled_in(node)
    return Unset(origin) if value is None else Known(value, origin)


def is_null(node: yaml.Node) -> bool:
    """Whether a node is a literal null."""
    target = yaml.resolve(node)
    return isinstance(target, yaml.Scalar) and not isinstance(target, yaml.Computed) and yaml.value(target) is None


def _filled_in(node: yaml.Scalar) -> Value[DatumValue]:
    """Return the value of a scalar with placeholders, each with a default."""
    text = placeholders.with_defaults(node.text)
    missing, origin = placeholders.first(text), Origin((node.span,))
    if missing:
        missing = placeholders.first(node.span.text) or missing  # what stands there, whatever was read instead
        return Unknown(placeholders.reason(missing), origin)
    value = yaml.value(replace(node, text=text))
    return Unset(origin) if value is None else Known(value, origin)


def unknown_scalar(why: str, span: Span) -> yaml.Computed:
    """Build an unknown value, placed at whatever sets it."""
    return yaml.Computed(*span, None, "", "double", None, Unknown(why, Origin((span,))))


def embedded_documents(node: yaml.Scalar) -> Iterator[yaml.Target]:
    """Yield the YAML documents in a string; spans are exact without escapes."""
    if isinstance(node, yaml.Computed):
        pieces = pieces_of(node.datum)
        if not pieces and not isinstance(node.datum, Unknown):
            pieces = (Piece(node.text, node.span),)
    else:
        pieces = embedded_yaml.embedded_lines(node) if node.text.strip() else ()
    return embedded_yaml.documents(pieces) if pieces else iter(())


def _header(root: yaml.Mapping) -> Span:
    for entry in root.entries:
        if isinstance(entry.key, yaml.Scalar) and entry.key.text == "kind":
            return entry.key.span.source.span(entry.key.span.start, yaml.resolve(entry.value).span.end)
    return root.span


# --- objects that others name


class Named(Struct):
    """Objects of a tree by kind and name, searched on demand."""

    tree: Tree
    _found: dict[tuple[str, str], list[tuple[str, yaml.Mapping]]] = {}
    _made: dict[str, list[tuple[str, Data]]] = {}

    def object(self, source: Source, kind: str, name: str) -> yaml.Mapping | None:
        """Find the object nearest to a file; None if there is none or several."""
        return _nearest(source, self._objects(kind, name))

    def data(self, source: Source, name: str) -> Data | None:
        """Return the texts of the nearest ConfigMap; None if there is none."""
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
            for entry in yaml.items(root, "configMapGenerator"):
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
    found = {name: yaml.resolve(entry.value) for name, entry in yaml.pairs(node).items()}
    return {name: value for name, value in found.items() if isinstance(value, yaml.Scalar)}
