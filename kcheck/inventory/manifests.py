"""Add plain and rendered manifests to an inventory."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.inventory.clouds import registry
from kcheck.inventory.deployed import Objects, add_releases, charts_of, render_chart, render_deployed
from kcheck.kubernetes import gitops, helm_commands, helm_releases, objects
from kcheck.kubernetes.workloads import jobs, places, pod_groups, queues, references
from kcheck.model import Inventory, Raw, Thing
from kcheck.text import deadline
from kcheck.text.text import Skipped, Source, grouped
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.config.config import Config
    from kcheck.inventory.reading import Kept, Reading
    from kcheck.kubernetes.charts import Charts
    from kcheck.kubernetes.kustomize import Rendering as Kustomized
    from kcheck.kubernetes.objects import Kinds, Manifests, Object
    from kcheck.text.deadline import Tell
    from kcheck.text.files.tree import Tree


class PlainManifests:
    """Manifests that no tool renders.

    Files with only kinds in `alone`, which no other object needs, are read one by one: all trees at once took half of
    the memory of a large run. All other manifests are in `manifests`.
    """

    def __init__(self, sources: list[Source], kinds: Kinds, alone: frozenset[str]) -> None:
        self._sources = sources
        self._order = {source: number for number, source in enumerate(sources)}
        self._kinds = kinds
        self.alone = {source for source in sources if objects.holds_only(source.data, kinds, alone)}
        self.manifests = objects.read([source for source in sources if source not in self.alone], kinds)

    def leave_out_rendered(self, charts: Charts) -> None:
        """Leave out the templates of charts rendered after they were read."""
        self._sources = [source for source in self._sources if not charts.renders(source)]
        left = set(self._sources)
        self.manifests.objects = [item for item in self.manifests.objects if item.span.source in left]

    def in_turn(self, tell: Tell) -> Iterator[tuple[Source, Callable[[], list[Object]]]]:
        """Yield all files in order, each with a function that reads it once."""
        known = grouped(self.manifests.take(), lambda item: item.span.source)
        for source in deadline.each(self._sources, "manifests", tell):
            if source in self.alone:
                yield source, partial(self._read, source)
            elif source in known:
                yield source, partial(known.pop, source)

    def _read(self, source: Source) -> list[Object]:
        objects.read_one(source, self._kinds, self.manifests)
        return self.manifests.take()

    def read(self) -> Manifests:
        """Return problems and templates, in the order of the files."""
        self.manifests.problems.sort(key=lambda problem: self._order[problem.span.source])
        self.manifests.templates.sort(key=self._order.__getitem__)
        return self.manifests


def read(
    tree: Tree, config: Config, reading: Reading, rendered: list[Object], wanted: Raw, kept: Kept | None, tell: Tell
) -> None:
    """Add everything that manifests, kustomizations and `rendered` charts describe."""
    charts = charts_of(tree, reading, config)
    clusters = frozenset(kind for cloud in registry.every() for kind in cloud.objects)
    kinds = _kinds(clusters).with_kinds(wanted.kinds)
    kustomized = _kustomized(tree, kinds, charts, reading) if tree.kustomizations else None
    elsewhere = reading.filled | (kustomized.named if kustomized is not None else set())
    sources = [source for source in tree.manifests if source not in elsewhere and not charts.renders(source)]
    plain = PlainManifests(sources, kinds, (jobs.ALONE | references.ALONE) - clusters)
    manifests, made = plain.manifests, [*rendered, *(kustomized.manifests.take() if kustomized is not None else ())]
    made += render_deployed([*manifests.objects, *made], charts) if tree.charts else []
    plain.leave_out_rendered(charts)
    substituted: Callable[[Iterable[Object]], Iterable[Object]] = list
    if any(item.kind == "Kustomization" for item in (*manifests.objects, *made)):
        substituted = gitops.substituting((*manifests.objects, *made), charts.top, charts.named)
        manifests.objects, made = list(substituted(manifests.objects)), list(substituted(made))
    _read_clusters([*manifests.objects, *made], tree, reading)
    missing = _not_deployed(reading, charts, wanted)
    manifests.objects, made = missing(manifests.objects), missing(made)[::-1]
    among = [*manifests.objects, *made[::-1]]
    if kept is not None:
        rendered_from = set(kustomized.sources if kustomized is not None else ())
        kept.begin((kinds, wanted.kinds, {item.span.source for item in among}, rendered_from))
    reader = Objects(among, reading.inventory, charts, wanted)
    for source, read_objects in plain.in_turn(tell):
        if source in plain.alone:
            own = kept if substituted is list and source not in reading.asked else None
            reader.add_file(source, lambda: missing(substituted(read_objects())), manifests, own)  # noqa: B023 - at once
        else:
            reader.add_each(read_objects())
    reader.add_each(made.pop() for _ in range(len(made)))
    reader.add_watchers()
    pod_groups.join(reading.inventory)
    found = plain.read() if kustomized is None else plain.read().merged_with(kustomized.manifests)
    reading.problems += found.problems
    reading.templates = grouped(found.templates, lambda source: os.path.dirname(source.path) or ".")
    reading.sources += tree.manifests
    reading.alone = plain.alone - reading.asked if substituted is list else set()


def _kinds(clusters: frozenset[str]) -> Kinds:
    """Return the kinds of objects to read, including the given cluster kinds."""
    classes = (cloud.node_class for cloud in registry.every() if cloud.node_class)
    names = frozenset((
        *jobs.KINDS, *queues.KINDS, *references.KINDS, *clusters, *helm_releases.KINDS, *gitops.KINDS, *classes,
        *registry.cluster_api_kinds(), *profiles.other_clusters()["manifests"], "NodePool", "Provisioner", "Service",
    ))  # fmt: skip
    return objects.Kinds(names, queues.MARKS, places.MARKS, places.NEVER, quiet=references.KINDS)


def _read_clusters(every: list[Object], tree: Tree, reading: Reading) -> None:
    registry.read_objects(every, reading.inventory, tree.kernel)
    others = profiles.other_clusters()["manifests"]
    unjudged = (item for item in every[::-1] if item.api_version.partition("/")[0] in others.get(item.kind, ()))
    once = {(item.folder, item.kind): item for item in unjudged}
    reading.skipped += (registry.unjudged(item.span, item.kind) for item in once.values())
    if any(item.kind == "Cluster" for item in every):
        from kcheck.inventory.clouds import cluster_api

        cluster_api.read(every, reading.inventory)


def _not_deployed(reading: Reading, charts: Charts, wanted: Raw) -> Callable[[Iterable[Object]], list[Object]]:
    """Return a filter for objects in files that Terraform does not deploy."""
    there = reading.inventory
    labels = {_label(thing) for thing in (*there.workloads, *there.addons, *there.objects)}
    return lambda objects: [
        item
        for item in objects
        if item.span.source not in reading.asked
        or labels.isdisjoint(map(_label, Objects([item], Inventory(), charts, wanted).add_all([item])))
    ]


def _kustomized(tree: Tree, kinds: Kinds, charts: Charts, reading: Reading) -> Kustomized:
    """Render kustomizations and add their chart releases."""
    from kcheck.kubernetes import kustomize

    result = kustomize.read(tree, kinds)
    reading.gaps = result.gaps
    for gap in result.losses:
        place = gap.span
        reading.skipped.append(Skipped(place.source.path, gap.message, place.begin.line, "see `kubectl kustomize`"))
    reading.sources += result.sources
    for release in result.releases:
        add_releases(charts.expanded(release), reading.inventory)
    return result


def render_charts(tree: Tree, config: Config, reading: Reading) -> list[Object]:
    """Render charts, with helm if requested; charts that fail are read unrendered."""
    charts, found = charts_of(tree, reading, config), []
    commands = cache(lambda: list(helm_commands.commands(charts)))
    for chart in charts.all:
        if chart.library or chart.folder in charts.rendered or chart.folder in charts.failed:
            continue
        rendering = render_chart(chart, charts)
        if rendering.refused is not None and not charts.may_deploy(chart):
            tried = (render_chart(chart, charts, one) for one in helm_commands.releases(chart, charts, commands()))
            rendering = next((one for one in tried if one.refused is None), rendering)
        reading.problems += rendering.problems
        if rendering.refused is not None:
            charts.refused[chart.folder] = rendering.refused
        elif (charts.helm or rendering.objects) and not rendering.problems:
            charts.rendered.add(chart.folder)
            found += rendering.objects
    return found


def unrendered(reading: Reading) -> Iterator[Skipped]:
    """Yield folders with templates of manifests, and charts that were not rendered."""
    for folder, sources in reading.templates.items():
        yield Skipped(f"{folder}/", f"{counted(len(sources), 'template')} of manifests", remedy="render and check them")
    for chart, _ in reading.unrendered:
        why = reading.charts.refused.get(chart.folder) if reading.charts is not None else None
        if why is not None:
            path, _, line = why.place.rpartition(":")
            remedy = (
                "--render helm renders it" if why.unsupported else "give it values with --helm-values and --render helm"
            )
            reason = f"the chart {chart.label} was not rendered: {why}"
            folder = "" if chart.folder == "." and path else f"{chart.folder}/"
            yield Skipped(f"{folder}{path}", reason, int(line or 0), remedy)


def read_charts(tree: Tree, config: Config, reading: Reading) -> None:
    """Add charts that nothing deploys, with their own values."""
    charts = charts_of(tree, reading, config)
    charts.refused |= charts.failed
    found, whole = charts.templates(reading.templates).values(), charts.rendered - charts.refused.keys()
    reading.unrendered = [one for one in found if one[0].folder not in whole]
    for chart in charts.all:
        if chart.folder not in charts.used | charts.rendered and not chart.library:
            add_releases(chart.expanded(chart.release()), reading.inventory)


def _label(thing: Thing) -> str:
    """Return an object's label within its cluster: its id without the file."""
    return thing.id.rpartition(":")[2]
