"""Add Kubernetes objects and chart releases to the lists of an inventory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kcheck.config.config import Config
from kcheck.inventory import autoscalers
from kcheck.inventory.reading import Described, Kept, OfFile, Reading
from kcheck.kubernetes import field_errors, gitops, helm_releases, images
from kcheck.kubernetes.charts import Chart, Charts, with_parts
from kcheck.kubernetes.helm_releases import Release
from kcheck.kubernetes.objects import Manifests, Object, objects_in
from kcheck.kubernetes.workloads import gpu_sharing, jobs, prometheus, queues, references
from kcheck.model import Addon, Inventory, Manifest, Raw, Thing
from kcheck.text import deadline
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.tree import Tree
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.values import Known, Origin, mapped

if TYPE_CHECKING:
    from kcheck.kubernetes.render import Rendering


def add(described: Described, inventory: Inventory) -> list[Thing]:
    """Add model objects to the inventory's lists."""
    for name, thing in described:
        getattr(inventory, name).append(thing)
    return [thing for _, thing in described]


def add_releases(found: Iterable[Release], inventory: Inventory) -> list[Thing]:
    """Add what releases install: add-ons, autoscalers, images and queue settings."""
    return [thing for release in found for thing in add(_of_release(release), inventory)]


def _of_release(release: Release) -> Described:
    ignores = mapped(release.scalar("settings", "ignoreDRARequests"), lambda value: value is True)
    addons = [Addon(release.address, release.place, release.chart, version=release.version, ignores_claims=ignores)]
    if release.rendered:
        return [("addons", addon) for addon in addons]
    addons += [addon for item in _in_values(release) for addon in _installed_products(item)]
    workload = images.workload(release)
    return [
        *(("addons", addon) for addon in addons),
        *(("autoscalers", autoscaler) for autoscaler in autoscalers.of_release(release)),
        *([("workloads", workload)] if workload is not None else ()),
        *(("sharings", sharing) for sharing in gpu_sharing.of_release(release)),
        *((queues.LISTS[type(one)], one) for one in (*queues.of_release(release), *prometheus.of_release(release))),
    ]


def deploy(release: Release, charts: Charts, inventory: Inventory, wanted: Raw) -> list[Thing]:
    """Add what a release installs: its chart's objects, or its values."""
    objects = _rendered(release, charts)
    inner = Objects(list(objects), inventory, charts, wanted).add_all(objects) if objects else []
    return [*add_releases(charts.expanded(release), inventory), *inner]


def render_deployed(objects: Iterable[Object], charts: Charts) -> list[Object]:
    """Render the tree's charts that objects deploy, recursively."""
    result: list[Object] = []
    todo = [(one, frozenset[str]()) for one in helm_releases.read(objects, charts.find, charts.named)]
    for release, above in todo:
        if release.folder not in above:  # one may deploy itself
            own = _rendered(release, charts)
            result += own
            within = above | {release.folder}
            todo += ((one, within) for one in helm_releases.read(own, charts.find, charts.named))
    return result


def _rendered(release: Release, charts: Charts) -> list[Object]:
    """Render the chart of a release with its values."""
    chart = charts.of(release)
    if chart is None or chart.library or contains_path(chart.folder, release.place.source.path):
        return []
    rendering = render_chart(chart, charts, release)
    charts.problems += rendering.problems
    if rendering.refused is not None:
        charts.failed[chart.folder] = rendering.refused
    elif not rendering.problems:
        charts.rendered.add(chart.folder)
    return rendering.objects


def render_chart(chart: Chart, charts: Charts, release: Release | None = None) -> Rendering:
    """Render a chart and its subcharts, each with its part of the values; all or none."""
    from kcheck.kubernetes.render import Rendering
    from kcheck.kubernetes.template_functions import unsupported

    members, family = list(chart.members(release or chart.release())), tuple(with_parts(chart))
    whole = Rendering(chart, charts, members[0][0] if release is not None else None, family)
    for values, part in () if charts.helm else members[1:]:
        if part is None:
            whole.refuse(unsupported("charts that are not in charts/", "Chart.yaml:1"))
        elif not part.library:
            own = Rendering(part, charts, values, family)
            whole.objects += own.objects
            whole.refuse(own.refused, os.path.relpath(part.folder, chart.folder))
    return whole


def charts_of(tree: Tree, reading: Reading, config: Config) -> Charts:
    """Return the charts of the tree, searched at the first call."""
    if reading.charts is None:
        reading.charts = Charts(tree, config)
    return reading.charts


class Objects:
    """Adds model objects for Kubernetes objects to an inventory.

    Settings are searched `among` a list, which is then emptied: an object's tree takes twice the memory of its model,
    so it is dropped before the next one.
    """

    def __init__(self, among: list[Object], inventory: Inventory, charts: Charts, wanted: Raw) -> None:
        self._inventory = inventory
        self._charts = charts
        self._wanted = wanted
        self._workloads = jobs.Workloads(among)
        inventory.synced += gitops.syncs(among, charts.top)
        self._watchers = list(queues.watchers(among))
        among.clear()

    def add_all(self, objects: Iterable[Object]) -> list[Thing]:
        """Add everything all objects describe, and the roles of watching daemons."""
        return [*self.add_each(objects), *self.add_watchers()]

    def add_each(self, objects: Iterable[Object]) -> list[Thing]:
        """Add everything each object describes."""
        return [thing for item in objects for thing in self._add(item)]

    def add_file(
        self, source: Source, read: Callable[[], Iterable[Object]], found: Manifests, kept: Kept | None
    ) -> None:
        """Add everything the objects of an independent file describe.

        Problems are added to `found`.
        """
        own = kept.get(source) if kept is not None else None
        if own is None:
            before = len(found.problems)
            described = [one for item in read() for one in self.of(item)]
            own = OfFile(described, found.problems[before:], source in found.templates)
            if kept is not None:
                kept.keep(source, own)
        else:
            found.problems += own.problems
            found.templates += [source] if own.is_template else []
        add(own.described, self._inventory)

    def _add(self, item: Object) -> list[Thing]:
        own = add(self.of(item), self._inventory)
        for release in helm_releases.read([item], self._charts.find, self._charts.named):
            own += add_releases(self._charts.expanded(release), self._inventory)
        if item.scope:
            self._inventory.scope_of |= dict.fromkeys(own, item.scope)
        return own

    def of(self, item: Object) -> Described:
        """List the model objects that an object describes by itself."""
        deadline.check()
        workload, label = self._workloads.of(item), jobs.identity(item)
        found: Described = []
        if self._wanted.kinds is None or item.kind in self._wanted.kinds:
            raw = Manifest(label, item.span, item.kind, item.api_version, item.root)
            found.append(("objects", raw))
        if workload is not None:
            found.append(("workloads", workload))
        found += [("autoscalers", autoscaler) for autoscaler in autoscalers.of_object(item)]
        found += [("addons", addon) for addon in _installed_products(item)]
        found += [("services", service) for service in jobs.services(item)]
        found += [("definitions", one) for one in references.defined(item, label)]
        found += [("field_errors", error) for error in field_errors.errors(item, label)]
        return [*found, *((queues.LISTS[type(one)], one) for one in queues.read(item))]

    def add_watchers(self) -> list[Thing]:
        """Add the roles of daemons that watch objects."""
        return add([("watchers", watcher) for watcher in self._watchers], self._inventory)


def _in_values(release: Release) -> Iterator[Object]:
    """Yield Karpenter objects in the values of a release."""
    for node in yaml.walk(release.values):
        if isinstance(node, yaml.Mapping) and node.own("apiVersion") is not None:
            yield from objects_in(node)


def _installed_products(item: Object) -> Iterator[Addon]:
    """Yield installed products, recognised by objects that only they use."""
    if item.api_version.startswith("karpenter."):
        name = Known("karpenter", Origin((item.span,)))
        label = yaml.get(item.root, "metadata", "name")
        own = label.text if isinstance(label, yaml.Scalar) else "?"
        yield Addon(f"{item.owner_path}:{item.kind}/{own}", item.span, name, item.root)
