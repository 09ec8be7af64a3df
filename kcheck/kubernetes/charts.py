"""Helm charts in the tree: their values, dependencies and templates."""

from __future__ import annotations

import os
import posixpath
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.config import Config, ConfigError, find_program
from kcheck.kubernetes.helm_releases import Release
from kcheck.kubernetes.objects import Named
from kcheck.text import placeholders
from kcheck.text.files.tree import CHART, Tree, display_path
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.kubernetes.template_functions import TemplateError
    from kcheck.text.text import Problem, Source

VALUES = ("values.yaml", "values.yml")
MOST_RELEASES = 500
"""Most charts that are rendered for releases, as a line of a manifest can name a large one."""
_DEPLOYERS = (b"argoproj.io", b"helm.toolkit.fluxcd.io", b"helmCharts")


class Dependency(Struct, frozen=True, eq=False):
    """A dependency of a chart; its values are below `key`."""

    name: Value[str]
    key: str
    version: Value[str]
    condition: str = ""
    repository: str = ""


class Chart(Struct, frozen=True, eq=False):
    """A folder with a Chart.yaml. `parts` are the charts below its `charts` folder."""

    folder: str
    source: Source
    name: Value[str]
    version: Value[str]
    values: yaml.Mapping | None
    dependencies: tuple[Dependency, ...] = ()
    library: bool = False
    parts: list[Chart] = []

    def release(self) -> Release:
        """Build a release of the chart with only its own values."""
        place = self.name.origin.written if isinstance(self.name, Known) else self.source.span(0, 0)
        return Release(f"Chart/{self.label}", place, self.name, self.version, kind="Chart", name=self.name)

    @property
    def label(self) -> str:
        """Name of the chart, or of its folder."""
        return known(self.name) or posixpath.basename(self.folder)

    def expanded(self, release: Release) -> Iterator[Release]:
        """Yield a release of this chart with its default values, then its dependencies."""
        return (one for one, _ in self.members(release))

    def members(self, release: Release) -> Iterator[tuple[Release, Chart | None]]:
        """Yield a release of this chart and of its dependencies."""
        own = (self.values,) if self.values is not None else ()
        listed = {known(dependency.name) for dependency in self.dependencies}
        others = [Dependency(part.name, part.label, part.version) for part in self.parts if part.label not in listed]
        dependencies = (*self.dependencies, *others)
        keys = frozenset(dependency.key for dependency in dependencies)
        whole = replace(release, trees=(*own, *release.trees), whole=True, chart=self.name, parts=keys)
        yield whole, self
        parts = {part.label: part for part in self.parts}
        for dependency in dependencies:
            if not _is_off(dependency, whole):
                part = parts.get(known(dependency.name) or "")
                below = _below(dependency, whole)
                yield from part.members(below) if part is not None else ((below, None),)


def _below(dependency: Dependency, release: Release) -> Release:
    """Return a release of a dependency, with the values for it."""
    trees = [node for node in (yaml.get(release.values, dependency.key),) if isinstance(node, yaml.Mapping)]
    shared = yaml.get(release.values, "global")
    if shared is not None:
        key = yaml.Scalar(*shared.span, None, "global", "double", None)
        trees.append(yaml.Mapping(*shared.span, None, (yaml.Pair(key, shared),), flow=False))
    address = f"{release.address}/{dependency.key}"
    return replace(
        release, address=address, chart=dependency.name, version=dependency.version, trees=tuple(trees), sets={},
        whole=False, parts=frozenset(),
    )  # fmt: skip


def _is_off(dependency: Dependency, release: Release) -> bool:
    """Whether the first condition set for a dependency disables it."""
    for condition in filter(None, dependency.condition.split(",")):
        value = release.scalar(*condition.strip().split("."))
        if isinstance(value, Known) and isinstance(value.value, bool):
            return not value.value
    return False


class Charts:
    """Charts of a tree, and files that releases name."""

    def __init__(self, tree: Tree, config: Config) -> None:
        self.tree = tree
        self.config = config
        self.problems: list[Problem] = []
        self.sources: list[Source] = []
        self.used: set[str] = set()
        """Folders of charts that a release of the tree deploys."""
        self.rendered: set[str] = set()
        """Folders of charts that were rendered, with their own values or those of releases."""
        self.failed: dict[str, TemplateError] = {}
        """Reasons why charts were not rendered with the values of a release, by folder."""
        self.left = MOST_RELEASES
        self.refused: dict[str, TemplateError] = {}
        """Reasons why charts were not rendered without helm, by folder."""
        self.named = Named(tree)
        self._tops: dict[str, str] = {}

    @cached_property
    def all(self) -> list[Chart]:
        """Top-level charts with their dependencies."""
        found: dict[str, Chart] = {}
        for folder in sorted(dict.fromkeys(map(display_path, self.tree.charts))):
            chart = self._read(folder)
            if chart is not None:
                found[folder] = chart
        tops: list[Chart] = []
        for folder, chart in found.items():
            above, name = posixpath.split(posixpath.dirname(folder))
            owner = found.get(above or ".") if name == "charts" else None
            (owner.parts if owner else tops).append(chart)
        return tops

    @cached_property
    def _by_folder(self) -> dict[str, Chart]:
        return {chart.folder: chart for top in self.all for chart in with_parts(top)}

    @cached_property
    def helm(self) -> str:
        """Path of helm, empty if it must not run. Raises ConfigError if missing."""
        if not self.config.render or self.config.render_refused:
            return ""
        for path in self.config.helm_values:
            if not os.path.isfile(path):
                raise ConfigError(f"--helm-values {path}: no such file")
        return find_program("helm", "--render helm")

    def of(self, release: Release) -> Chart | None:
        """Return the chart of the tree that a release deploys."""
        return self._by_folder.get(release.folder) if release.folder else None

    def find(self, source: Source, path: str) -> Source | None:
        """Find a file by its path in a source's repository; None if missing."""
        top = self.top(source)
        wanted = os.path.join(top, path.lstrip("/"))
        found = self.tree.source(wanted)
        if found is not None and posixpath.basename(found.path) != CHART:
            self.sources.append(found)
            self.tree.note_encrypted(found)
        return found

    def top(self, source: Source) -> str:
        """Return the top folder of the repository that holds a source."""
        folder = posixpath.dirname(source.path) or "."
        if folder not in self._tops:
            self._tops[folder] = self.tree.repository(folder)
        return self._tops[folder]

    def values(self, paths: tuple[str, ...]) -> list[yaml.Mapping]:
        """Read values files; skip missing ones and those that are not maps."""
        found = [source for source in map(self.tree.source, paths) if source is not None]
        self.sources += found
        for source in found:
            self.tree.note_encrypted(source)
        return [root for root in map(self._root, found) if root is not None]

    def expanded(self, release: Release) -> Iterable[Release]:
        """Return a release with its chart's values, and releases of its dependencies."""
        chart = self.of(release)
        if chart is None:
            return (release,)
        self.used.add(chart.folder)
        if chart.folder in self.rendered and chart.folder not in self.failed:
            return (replace(release, rendered=True),)
        return chart.expanded(release)

    @cached_property
    def _deployers(self) -> list[str]:
        """Texts of files that may deploy charts."""
        sources = (*self.tree.manifests, *filter(None, map(self.tree.source, self.tree.kustomizations)))
        found = (source.data for source in sources if any(name in source.data for name in _DEPLOYERS))
        return [data.decode(errors="replace") for data in found]

    def may_deploy(self, chart: Chart) -> bool:
        """Whether something in the tree may deploy a chart with other values."""
        names = {chart.label, posixpath.basename(chart.folder)}
        return chart.folder in self.used or any(name in text for name in names for text in self._deployers)

    def templates(self, folders: dict[str, list[Source]]) -> dict[str, tuple[Chart, list[Source]]]:
        """Return the charts with their templates, which are removed from `folders`."""
        result: dict[str, tuple[Chart, list[Source]]] = {}
        for folder in sorted(folders):
            owner = self._owner(folder)
            if owner is not None:
                result.setdefault(owner.folder, (owner, []))[1].extend(folders.pop(folder))
        return result

    def renders(self, source: Source) -> bool:
        """Whether a file is a template of a chart that was rendered."""
        owner = self._owner(posixpath.dirname(source.path) or ".") if self.rendered else None
        return owner is not None and owner.folder in self.rendered and "templates" in source.path.split("/")

    def _owner(self, folder: str) -> Chart | None:
        tops = {chart.folder: chart for chart in self.all}
        while folder not in tops and folder != (above := posixpath.dirname(folder) or "."):
            folder = above
        return tops.get(folder)

    def _read(self, folder: str) -> Chart | None:
        source = self.tree.source(os.path.join(folder, CHART))
        root = self._root(source) if source is not None else None
        if source is None or root is None:
            return None
        self.sources.append(source)
        paths = (os.path.join(folder, name) for name in VALUES)
        values = next((found for found in map(self.tree.source, paths) if found is not None), None)
        if values is not None:
            self.sources.append(values)
        older = self.tree.source(os.path.join(folder, "requirements.yaml"))
        listed = yaml.get(root, "dependencies") or (yaml.get(self._root(older), "dependencies") if older else None)
        return Chart(
            folder=folder,
            source=source,
            name=_text(root, "name", source),
            version=_text(root, "version", source),
            values=self._root(values) if values is not None else None,
            dependencies=tuple(_dependency(item, source) for item in yaml.items(listed)),
            library=known(_text(root, "type", source)) == "library",
        )

    def _root(self, source: Source) -> yaml.Mapping | None:
        """Return the map in a file's first document; None for templates and other content."""
        for document in yaml.documents(source):
            if document.problem is not None and not placeholders.is_template(source.data):
                self.problems.append(document.problem)
            return document.root if isinstance(document.root, yaml.Mapping) else None
        return None


def with_parts(chart: Chart) -> Iterator[Chart]:
    """Yield a chart, and those below its `charts` folder."""
    yield chart
    for part in chart.parts:
        yield from with_parts(part)


def _dependency(item: yaml.Node, source: Source) -> Dependency:
    name, alias = _text(item, "name", source), _text(item, "alias", source)
    condition, repository = known(_text(item, "condition", source)), known(_text(item, "repository", source))
    key = known(alias) or known(name) or ""
    return Dependency(name, key, _text(item, "version", source), condition or "", repository or "")


def _text(node: yaml.Node, name: str, source: Source) -> Value[str]:
    found = yaml.get(node, name)
    if not isinstance(found, yaml.Scalar) or not found.text:
        return Unset(Origin((source.span(0, 0),)))
    return Known(found.text, Origin((found.span,), literal=True))
