"""Helm releases of manifests, Argo CD and Flux: charts and values in every form."""

from __future__ import annotations

import posixpath
import re
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from kcheck.kubernetes import flags
from kcheck.kubernetes.objects import embedded_documents, unknown_scalar, value_of
from kcheck.model import NOTHING
from kcheck.text import placeholders
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.kubernetes.objects import Named, Object
    from kcheck.text.text import Source, Span

    Find: TypeAlias = Callable[[Source, str], Source | None]
    """Finds a file of a source's repository by its path from the top."""

KINDS = frozenset({"Application", "ApplicationSet", "HelmRelease"})
_STEP = regex(r"((?:\\.|[^.\[\\])+)|\[(\d{1,9})\]", re.DOTALL)
_ARCHIVE = regex(r"(.+?)-v?\d[\w.+-]*\.tgz")

Path: TypeAlias = tuple[str | int, ...]
Overlay: TypeAlias = "dict[str | int, Overlay | yaml.Target]"


class Release(Struct, frozen=True, eq=False, dict=True):
    """A Helm release: chart name without repository, version, and values.

    `sets` are single values by path, which override `trees`; later trees override earlier ones. `gap` says why values
    may be missing. `folder` is that of a chart in the tree, which is `rendered` if its objects are read. `whole` says
    that the chart's own values are among the trees, and `parts` are the keys of its dependencies. `kind` and `name` are
    for messages. `room` is the list to which a new one of `sets` would be added.
    """

    address: str
    place: Span
    chart: Value[str]
    version: Value[str]
    trees: tuple[yaml.Target, ...] = ()
    sets: dict[Path, yaml.Target] = {}
    gap: str = ""
    kind: str = "helm_release"
    name: Value[str] = NOTHING
    folder: str = ""
    whole: bool = False
    rendered: bool = False
    parts: frozenset[str] = frozenset()
    room: Missing | None = None

    @cached_property
    def values(self) -> yaml.Target | None:
        """Return all values as one tree, each with its span."""
        return laid_over(merged(self.trees), self.sets)

    def scalar(self, *path: str | int) -> Value[object]:
        """Return the scalar at a path: Unset if no values set it, Unknown if some may."""
        node = self.values
        for step in path:
            if isinstance(node, yaml.Computed) and isinstance(node.datum, Unknown):
                return node.datum
            node = yaml.get(node, step)
        if isinstance(node, yaml.Scalar):
            return value_of(node)
        place = Origin((self.place,))
        return Unknown(self.gap, place) if self.gap else Unset(place)

    def names(self, *path: str | int) -> dict[str, Span]:
        """Return the keys below a path, with their spans."""
        return {name: entry.key.span for name, entry in yaml.pairs(self.values, *path).items()}

    def items(self, *path: str | int) -> tuple[list[yaml.Scalar], str]:
        """Return the scalars of the list at a path, and why some may be missing."""
        node = yaml.get(self.values, *path)
        scalars = yaml.scalars(node)
        return scalars, next(filter(None, map(flags.unknown, (node, *scalars))), self.gap)


# --- values, joined


def merged(trees: Iterable[yaml.Node]) -> yaml.Target | None:
    """Merge values as Helm does: maps by key; of other values the last wins."""
    result: yaml.Target | None = None
    done: dict[tuple[yaml.Target, yaml.Target], yaml.Target] = {}
    for tree in trees:
        target = yaml.resolve(tree)
        result = target if result is None else _merge(result, target, done)
    return result


def _merge(
    under: yaml.Target, over: yaml.Target, done: dict[tuple[yaml.Target, yaml.Target], yaml.Target]
) -> yaml.Target:
    if not isinstance(under, yaml.Mapping) or not isinstance(over, yaml.Mapping):
        return over
    if (under, over) not in done:
        entries = yaml.entries(under)
        for name, entry in yaml.entries(over).items():
            old = entries.get(name)
            value = yaml.resolve(entry.value)
            entries[name] = yaml.Pair(entry.key, _merge(yaml.resolve(old.value), value, done) if old else value)
        done[under, over] = yaml.Mapping(*over.span, None, tuple(entries.values()), flow=False)
    return done[under, over]


def laid_over(tree: yaml.Target | None, sets: dict[Path, yaml.Target]) -> yaml.Target | None:
    """Set single values in a tree by path."""
    overlay: Overlay = {}
    for path, value in sets.items():
        inner = overlay
        for step in path[:-1]:
            below = inner.get(step)
            inner[step] = inner = below if isinstance(below, dict) else {}
        if path:
            inner[path[-1]] = value
    return _laid(tree, overlay) if overlay else tree


def _laid(tree: yaml.Target | None, overlay: Overlay) -> yaml.Target:
    parts = {
        step: _laid(yaml.get(tree, step), part) if isinstance(part, dict) else part for step, part in overlay.items()
    }
    span = tree.span if isinstance(tree, yaml.Mapping | yaml.Sequence) else next(iter(parts.values())).span
    if all(isinstance(step, int) for step in parts):
        items = yaml.items(tree)
        for step in sorted(parts, key=int):
            items[int(step) : int(step) + 1] = [parts[step]]
        return yaml.Sequence(*span, None, tuple(items), flow=False)
    entries = yaml.pairs(tree)
    for step, value in parts.items():
        old = entries.get(str(step))
        deeper = isinstance(overlay[step], dict)
        key = old.key if old and deeper else yaml.Scalar(*value.span, None, str(step), "double", None)
        entries[str(step)] = yaml.Pair(key, value)
    return yaml.Mapping(*span, None, tuple(entries.values()), flow=False)


def path_of(name: str) -> Path:
    r"""Parse a key of `--set` into steps, such as `a.b\.c[0]`."""
    steps = ((match[1], match[2]) for match in _STEP.finditer(name))
    return tuple(re.sub(r"\\(.)", r"\1", text) if text else int(number) for text, number in steps)


def chart_name(value: Value[str]) -> Value[str]:
    """Return the name of a chart without path, address or archive suffix."""
    if not isinstance(value, Known):
        return value
    name = str(value.value).rstrip("/").rpartition("/")[2]
    archive = _ARCHIVE.fullmatch(name)
    return Known(archive[1] if archive else name, value.origin)


# --- Argo CD and Flux


def read(objects: Iterable[Object], find: Find, named: Named) -> Iterator[Release]:
    """Yield the releases among some objects."""
    for item in objects:
        group = item.api_version.partition("/")[0]
        if item.kind == "HelmRelease" and group == "helm.toolkit.fluxcd.io":
            yield _flux(item, find, named)
        elif item.kind == "Application" and group == "argoproj.io":
            yield from _argo(item, yaml.get(item.root, "spec"), find)
        elif item.kind == "ApplicationSet" and group == "argoproj.io":
            patch = yaml.get(item.root, "spec", "templatePatch")
            gap = "`templatePatch` may change it" if patch is not None else ""
            yield from _argo(item, yaml.get(item.root, "spec", "template", "spec"), find, gap)


def of_kustomization(root: yaml.Mapping, folder: str, find: Find) -> Iterator[Release]:
    """Yield the charts of a kustomization; `find` looks up files beside it."""
    changes = next((key for key in _CHANGES if yaml.get(root, key) is not None), "")
    home = yaml.text(root, "helmGlobals", "chartHome") or "charts"
    for node in yaml.items(root, "helmCharts"):
        name, merge = yaml.text(node, "name"), yaml.text(node, "valuesMerge") or "override"
        gap = f"`{changes}` of the kustomization may change it" if changes else ""
        values, place = ReleaseValues(find, gap), node.span
        own, inline = yaml.get(node, "valuesFile"), yaml.get(node, "valuesInline")
        first = own if isinstance(own, yaml.Scalar) and (merge != "replace" or inline is None) else None
        if merge == "merge":
            values.add(inline)
        if first is not None:
            values.file(first, first.text)
        if merge != "merge":
            values.add(inline)
        for other in yaml.scalars(node, "additionalValuesFiles"):
            values.file(other, other.text)
        near = find(node.source, f"{home}/{name}/Chart.yaml") if name else None
        yield Release(
            f"{folder}/helmCharts/{yaml.text(node, 'releaseName') or name}", place, _entry(node, place, "name"),
            _entry(node, place, "version"), trees=tuple(values.trees), sets=values.sets, gap=values.gap, kind="Chart",
            name=_entry(node, place, "releaseName" if yaml.text(node, "releaseName") else "name"),
            folder=posixpath.dirname(near.path) if near else "",
        )  # fmt: skip


_CHANGES = ("patches", "patchesStrategicMerge", "patchesJson6902", "images", "replacements", "replicas", "transformers")
"""Fields of a kustomization that change what its charts produce."""


def sources_of(spec: yaml.Node | None) -> list[yaml.Target]:
    """List the sources of an Application of Argo CD."""
    several, only = yaml.get(spec, "sources"), yaml.get(spec, "source")
    if isinstance(several, yaml.Sequence):
        return yaml.items(several)
    return [only] if only is not None else []


def _argo(item: Object, spec: yaml.Node | None, find: Find, gap: str = "") -> Iterator[Release]:
    for i, source in enumerate(sources_of(spec)):
        helm = yaml.get(source, "helm")
        values, folder = ReleaseValues(find, gap), yaml.text(source, "path")
        if yaml.get(source, "chart") is None and helm is None and not (folder and _chart_in(folder, item, find)):
            continue  # a folder of manifests, or one that only lends its files to the others
        for name in yaml.scalars(helm, "valueFiles"):
            top = name.text.partition("/")[2] if name.text.startswith("$") else f"{folder}/{name.text}"
            values.file(name, top)
        whole = yaml.get(helm, "valuesObject")
        values.add(whole if whole is not None else yaml.get(helm, "values"))
        for kind in ("parameters", "fileParameters"):
            for parameter in yaml.items(helm, kind):
                values.parameter(parameter, known=kind == "parameters")
        chart = _entry(source, item.span, "chart" if yaml.get(source, "chart") is not None else "path")
        yield _release(item, chart, _entry(source, item.span, "targetRevision"), values, folder, f"#{i}" if i else "")


def _flux(item: Object, find: Find, named: Named) -> Release:
    spec = yaml.get(item.root, "spec")
    inner = yaml.get(spec, "chart", "spec")
    values = ReleaseValues(find, "`postRenderers` may change it" if yaml.get(spec, "postRenderers") is not None else "")
    in_git = yaml.text(inner, "sourceRef", "kind") == "GitRepository"
    chart = _entry(inner, item.span, "chart")
    version = _entry(inner, item.span, "version")
    if inner is None:
        chart, version = _referred(item, named)
    for name in yaml.scalars(inner, "valuesFiles"):
        values.file(name, name.text if in_git else "")
    for other in yaml.items(spec, "valuesFrom"):
        values.other(other, named)
    values.add(yaml.get(spec, "values"))
    folder = chart.value if in_git and isinstance(chart, Known) else ""
    return _release(item, chart, version, values, folder)


def _referred(item: Object, named: Named) -> tuple[Value[str], Value[str]]:
    """Return the chart and version that a Flux release takes from another object."""
    ref = yaml.get(item.root, "spec", "chartRef")
    kind, name = yaml.text(ref, "kind"), yaml.text(ref, "name")
    spec = yaml.get(named.object(item.span.source, kind, name), "spec") if kind and name else None
    if kind == "HelmChart" and spec is not None:
        return _entry(spec, item.span, "chart"), _entry(spec, item.span, "version")
    if kind == "OCIRepository" and spec is not None:
        given = yaml.get(spec, "ref")
        return _entry(spec, item.span, "url"), _entry(given, item.span, "tag" if yaml.text(given, "tag") else "semver")
    missing = Unknown(f"the chart is in {kind} {name}".rstrip(), Origin((item.span,)))
    return missing, missing


def _release(
    item: Object, chart: Value[str], version: Value[str], values: ReleaseValues, folder: str, label: str = ""
) -> Release:
    name = _entry(yaml.get(item.root, "metadata"), item.span, "name")
    address = f"{item.kind}/{name.value if isinstance(name, Known) else '?'}{label}"
    trees = tuple(values.trees)
    folder = _chart_in(folder, item, values.find) if folder else ""
    return Release(
        address, item.span, chart=chart_name(chart), version=version, trees=trees, sets=values.sets, gap=values.gap,
        kind=item.kind, name=name, folder=folder,
    )  # fmt: skip


def _chart_in(folder: str, item: Object, find: Find) -> str:
    """Return the folder as findings print it; '' if it holds no chart."""
    own = find(item.span.source, f"{folder}/Chart.yaml")
    return posixpath.dirname(own.path) or "." if own else ""


class ReleaseValues:
    """Collects the values of a release, the weakest first."""

    def __init__(self, find: Find, gap: str) -> None:
        self.find = find
        self.gap = gap
        self.trees: list[yaml.Target] = []
        self.sets: dict[Path, yaml.Target] = {}

    def add(self, node: yaml.Target | None) -> None:
        """Add values given as a map, or as a text that holds one."""
        if isinstance(node, yaml.Scalar):
            found = [root for root in embedded_documents(node) if isinstance(root, yaml.Mapping)]
            if isinstance(node, yaml.Computed) and isinstance(node.datum, Unknown) and not found:
                self.gap = node.datum.reason
            elif not found and node.text.strip():
                self.gap = "the values are placeholders"
            self.trees += found
        elif isinstance(node, yaml.Mapping):
            self.trees.append(node)

    def file(self, name: yaml.Scalar, path: str) -> None:
        """Add a values file by its path from the top of the repository."""
        self.read(None if not path or "://" in path else self.find(name.source, path), name.text)

    def read(self, source: Source | None, name: str) -> None:
        """Add a values file that was found by its name, or is missing."""
        roots = [document.root for document in yaml.documents(source)] if source is not None else []
        if source is None:
            self.gap = f"the values file {name} is missing"
        elif not roots or not isinstance(roots[0], yaml.Mapping):
            self.gap = f"{source.path} has no values that can be read" if source.data.strip() else self.gap
        else:
            self.trees.append(roots[0])

    def parameter(self, node: yaml.Node, *, known: bool) -> None:
        """Add a single value, as `--set` does."""
        name, value = yaml.get(node, "name"), yaml.get(node, "value")
        if not isinstance(name, yaml.Scalar):
            return
        if not known or not isinstance(value, yaml.Scalar):
            value = unknown_scalar(f"`{name.text}` is read from a file", yaml.resolve(node).span)
        force = yaml.get(node, "forceString")
        if isinstance(value, yaml.Scalar) and not isinstance(value, yaml.Computed):
            texts_only = isinstance(force, yaml.Scalar) and yaml.value(force) is True
            value = yaml.Scalar(*value.span, None, value.text, "double" if texts_only else "plain", None)
        self.sets[path_of(name.text)] = value

    def other(self, node: yaml.Node, named: Named) -> None:
        """Add values of a ConfigMap or Secret: all of them, or one by its path."""
        path = yaml.get(node, "targetPath")
        label = " ".join(yaml.text(node, key) for key in ("kind", "name"))
        reason = f"the values of {label} are not read"
        name = yaml.text(node, "name")
        data = named.data(yaml.resolve(node).source, name) if label.startswith("ConfigMap ") else None
        found = (data or {}).get(yaml.text(node, "valuesKey") or "values.yaml")
        if isinstance(found, yaml.Scalar) and isinstance(path, yaml.Scalar):
            self.sets[path_of(path.text)] = yaml.Scalar(*found.span, None, found.text, "plain", None)
        elif isinstance(found, yaml.Scalar):
            self.add(found)
        elif found is not None and path is None:
            self.read(found, label)
        elif isinstance(path, yaml.Scalar):
            self.sets[path_of(path.text)] = unknown_scalar(reason, yaml.resolve(node).span)
        else:
            self.gap = reason


def _entry(node: yaml.Node | None, place: Span, name: str) -> Value[str]:
    found = yaml.get(node, name)
    if not isinstance(found, yaml.Scalar):
        return Unset(Origin((place,)))
    value = value_of(found)
    return Known(placeholders.with_defaults(found.text), value.origin) if isinstance(value, Known) else value
