"""Read a tree, and join Terraform and Kubernetes into one inventory."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.inventory import assignment
from kcheck.inventory.clouds import registry
from kcheck.model import Inventory, Raw, Resource
from kcheck.text import deadline
from kcheck.text.files.configurations import BLUEPRINT, SCRIPT
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.config.config import Config
    from kcheck.inventory.incremental import Kept
    from kcheck.kubernetes.charts import Chart, Charts
    from kcheck.kubernetes.kustomize import Rendering
    from kcheck.kubernetes.objects import Kinds, Object
    from kcheck.model import Thing
    from kcheck.terraform.configuration import Configuration
    from kcheck.terraform.module import Module
    from kcheck.terraform.variables import Variables
    from kcheck.text.files.tree import Tree
    from kcheck.text.findings import Skipped
    from kcheck.text.syntax.problem import Problem
    from kcheck.text.text import Source


class Reading(Struct):
    """Everything that was read of a tree.

    `problems` could not be read; `templates` maps a folder to the manifests in it that are templates; `sources`
    are all files that were looked into; `variables` knows the tfvars files; `gaps` is what kustomizations do that is
    not rendered. Terraform has `asked` for some files, such as values of charts, and `filled` some manifests as
    templates. `charts` are those of the tree; of the `unrendered` ones, with the number of their templates, only the
    values were read. `roots` are the root modules of Terraform. `skipped` is what was not read.
    """

    inventory: Inventory
    problems: list[Problem]
    templates: dict[str, list[Source]]
    sources: list[Source]
    variables: Variables | None = None
    gaps: list[Problem] = []
    asked: set[Source] = set()
    filled: set[Source] = set()
    charts: Charts | None = None
    unrendered: list[tuple[Chart, int]] = []
    roots: list[Module] = []
    skipped: list[Skipped] = []


_HELM_ASKED = "settings of a repository do not run helm"


_NOTHING_RAW = Raw()


def read(tree: Tree, config: Config, wanted: Raw = _NOTHING_RAW, kept: Kept | None = None) -> Reading:
    """Read the Terraform and manifests of a tree into one inventory, with the `wanted` raw things.

    What is `kept` of a run before is not read again.
    """
    before = kept.terraform(tree) if kept is not None else None
    reading = before or Reading(Inventory(), [], {}, [])
    if before is None and (tree.folders or tree.plans or tree.units or BLUEPRINT in tree.configurations):
        _terraform(tree, config, reading, wanted)
        if kept is not None:
            kept.keep_terraform(tree, reading)
    rendered = (
        _render_charts(tree, config, reading) if tree.charts and config.render and not config.render_refused else []
    )
    if tree.manifests or tree.kustomizations or rendered:
        _manifests(tree, reading, rendered, wanted, kept)
    if tree.configurations:
        _configurations(tree, reading)
    if tree.charts:
        _charts_alone(tree, reading)
    if reading.charts is not None:
        reading.problems += reading.charts.problems
        reading.sources += reading.charts.sources
    kustomized = map(os.path.dirname, tree.kustomizations)
    reading.inventory.rendered = frozenset((*tree.charts, *kustomized, *reading.templates))
    assignment.assign_clusters(reading.inventory, config)
    if any(addon.tree is not None for addon in reading.inventory.addons):
        import_module("kcheck.inventory.clouds.karpenter").read(reading.inventory)
    if tree.charts and config.render_refused:
        from kcheck.text.findings import Skipped

        reading.skipped.append(Skipped(config.places["render"], _HELM_ASKED, remedy="--render helm does"))
    reading.skipped = list(dict.fromkeys((*tree.skipped, *reading.skipped)))
    reading.problems = list(dict.fromkeys(reading.problems))
    reading.sources += sorted(reading.asked, key=lambda source: source.path)
    reading.sources = list(dict.fromkeys(reading.sources))
    if kept is not None:
        kept.sources = {real: source for real, source in tree.sources().items() if source is not None}
    return reading


def _terraform(tree: Tree, config: Config, reading: Reading, wanted: Raw) -> None:
    from kcheck.inventory.embedded import machines
    from kcheck.terraform import missing_modules
    from kcheck.terraform.roots import Loader

    inventory = reading.inventory
    loader = Loader(tree, config)
    reading.roots = loader.roots() if tree.folders or tree.units else []
    inventory.libraries = frozenset(root.configuration.folder for root in reading.roots if root.is_library)
    roots = [*reading.roots, *_plans(tree, reading), *loader.written(_blueprints(tree))]
    kinds = {root: root.kinds() for root in roots}
    for cloud in registry.every():
        if cloud.resources and any(kind.startswith(cloud.resources) for own in kinds.values() for kind in own):
            begins = (*cloud.resources, *cloud.beside)
            cloud.read([root for root in roots if any(kind.startswith(begins) for kind in kinds[root])], inventory)
        for root in (root for root in roots if cloud.cache in kinds[root]):
            found = (cloud.registry_cache(root, instance) for instance in root.instances(cloud.cache))
            inventory.mirrors += [mirror for mirror in found if mirror is not None]
    booted = [machines.read(root, kinds[root]) for root in roots]
    _objects_of_clusters([item for found, _ in booted for item in found], inventory)
    reading.skipped += [one for _, skipped in booted for one in skipped]
    for root in roots:
        deadline.check()
        if any(kind.startswith(_IN_CLUSTER) for kind in kinds[root]):
            _deployed_by_terraform(root, kinds[root], tree, reading, wanted)
        _deployed_by_others(root, tree, reading)
        types = kinds[root] if wanted.types is None else kinds[root] & wanted.types
        inventory.resources += _resources(root, types)
    reading.skipped += missing_modules.skipped(reading.roots, registry.cluster_families())
    reading.problems += [*loader.problems, *loader.variables.problems]
    reading.problems += [problem for root in roots for module in root.all() for problem in module.problems]
    reading.sources += [source for folder in tree.folders for source in (*folder.terraform, *folder.variables)]
    reading.skipped += [one for root in roots for one in root.budget.skipped()] + loader.skipped
    reading.variables = loader.variables
    reading.asked, reading.filled = loader.asked, loader.templates()


def _blueprints(tree: Tree) -> Iterator[tuple[str, Configuration]]:
    """What blueprints declare, with their names."""
    if BLUEPRINT in tree.configurations:
        for cloud in registry.every():
            yield from cloud.blueprints(tree.configurations)


def _plans(tree: Tree, reading: Reading) -> Iterator[Module]:
    """The root modules that plans describe."""
    if not tree.plans:
        return
    from kcheck.terraform import plan
    from kcheck.text.syntax.problem import Problem

    references = [one for cloud in registry.every() for one in cloud.references]
    targets: dict[str, tuple[str, ...]] = {}
    for one in references:
        targets[one.attribute] = (*targets.get(one.attribute, ()), *one.kinds)
    lists = {one.attribute for one in references if one.many}
    for source in tree.plans:
        root = plan.read(source, targets, lists)
        if isinstance(root, Problem):
            reading.problems.append(root)
        else:
            yield root
    reading.sources += tree.plans


_HELM = regex(
    r"\b(?:set|set_values|\w*karpenter\w*|\w*cluster.autoscaler\w*|\w*values\w*|\w*helm\w*|chart\w*)[\"']?[ \t]*[=:]"
)
"""What the call of a module has in its text that gives values to charts, or hands them on by a name."""
_IN_CLUSTER = ("helm_", "kubernetes_", "kubectl_", "k8s_")


_CALLS = regex(r'(?:module\.[\w-]+(?:\["(?:\\.|[^"])*"\]|\[[^\]]*\])?\.)*')
"""The modules that an address begins with."""


def _resources(root: Module, types: Iterable[str]) -> Iterator[Resource]:
    """The instances of some types of resources, those of called modules included."""
    folder, environment = root.configuration.folder, root.environment
    where = "" if folder == "." and not environment else f"{folder}{f'@{environment}' if environment else ''}:"
    for kind in sorted(types):
        for instance in root.instances(kind):
            address = instance.address
            if instance.complete:
                module = address[: len(address) - len(_CALLS.sub("", address, count=1))].removesuffix(".")
                yield Resource(f"{where}{address}", instance.span, kind, address, module, instance)


def _deployed_by_terraform(root: Module, kinds: set[str], tree: Tree, reading: Reading, wanted: Raw) -> None:
    """Deployments of a root module."""
    from kcheck.inventory import deployed
    from kcheck.inventory.embedded import objects, providers, releases

    inventory = reading.inventory
    for item, instance in objects.read(root, kinds):
        cluster = providers.cluster_of(instance, root, inventory.clusters)
        things = deployed.Objects([item], inventory, _charts(tree, reading), wanted).add_all([item])
        inventory.cluster_of |= {thing: cluster for thing in things if cluster}
    for release, instance in releases.read(root):
        cluster = providers.cluster_of(instance, root, inventory.clusters)
        things = deployed.add_releases(_charts(tree, reading).expanded(release), inventory)
        inventory.cluster_of |= {thing: cluster for thing in things if cluster}


def _deployed_by_others(root: Module, tree: Tree, reading: Reading) -> None:
    """Deployments of published modules, as far as their arguments describe them."""
    calls = [(call, names) for call, names in root.calls_of_others() if _HELM.search(call.block.span.text)]
    if not calls:
        return
    from kcheck.inventory import deployed
    from kcheck.inventory.embedded import providers, wrappers

    for release, instance in wrappers.read(root, calls):
        cluster = providers.cluster_of(instance, root, reading.inventory.clusters)
        things = deployed.add_releases(_charts(tree, reading).expanded(release), reading.inventory)
        reading.inventory.cluster_of |= {thing: cluster for thing in things if cluster}


def _charts(tree: Tree, reading: Reading) -> Charts:
    """The charts of the tree, found when the first release or chart asks for them."""
    if reading.charts is None:
        from kcheck.kubernetes.charts import Charts

        reading.charts = Charts(tree)
    return reading.charts


def _render_charts(tree: Tree, config: Config, reading: Reading) -> list[Object]:
    """Render charts with helm; charts that fail are a problem, and read without it."""
    from kcheck.kubernetes.render import Rendering, program

    helm, charts, found = program(config.helm_values), _charts(tree, reading), []
    for chart in charts.all:
        if not chart.library:
            rendering = Rendering(helm, chart, charts, config.helm_values, traced=config.traced)
            reading.problems += rendering.problems
            if not rendering.problems:
                charts.rendered.add(chart.folder)
                found += rendering.objects
    return found


def _charts_alone(tree: Tree, reading: Reading) -> None:
    """Charts that nothing in the tree deploys, with their own values, and a note on skipped templates."""
    from kcheck.inventory import deployed

    charts = _charts(tree, reading)
    reading.unrendered = list(charts.templates(reading.templates).values())
    for chart in charts.all:
        if chart.folder not in charts.used | charts.rendered and not chart.library:
            deployed.add_releases(chart.expanded(chart.release()), reading.inventory)


def _manifests(tree: Tree, reading: Reading, rendered: list[Object], wanted: Raw, kept: Kept | None) -> None:
    from kcheck.inventory import deployed
    from kcheck.inventory.manifests import Plain
    from kcheck.kubernetes import objects, releases, syncs
    from kcheck.kubernetes.workloads import jobs, queues, references, unknown_kinds

    charts = _charts(tree, reading)
    clusters = {kind: cloud for cloud in registry.every() for kind in cloud.objects}
    more = ("NodePool", "Provisioner", "Service", *(one.node_class for one in registry.every() if one.node_class))
    read_here = jobs.KINDS | queues.KINDS | references.KINDS
    names = frozenset((
        *read_here, *clusters, *releases.KINDS, *syncs.KINDS, *registry.cluster_api_kinds(), *more
    ))  # fmt: skip
    kinds = objects.Kinds(
        names, queues.MARKS, unknown_kinds.MARKS, unknown_kinds.NEVER, quiet=references.KINDS
    ).with_kinds(wanted.kinds)
    kustomized = _kustomized(tree, kinds, charts, reading) if tree.kustomizations else None
    elsewhere = reading.filled | (kustomized.named if kustomized is not None else set())
    sources = [source for source in tree.manifests if source not in elsewhere and not charts.renders(source)]
    plain = Plain(sources, kinds, (jobs.ALONE | references.ALONE) - clusters.keys())
    manifests, made = plain.manifests, list(rendered)
    if kustomized is not None:
        made += kustomized.manifests.objects
        kustomized.manifests.objects = []
    substituted: Callable[[Iterable[Object]], Iterable[Object]] = list
    if any(item.kind == "Kustomization" for item in (*manifests.objects, *made)):
        from kcheck.kubernetes import substitutions

        substituted = substitutions.of((*manifests.objects, *made), charts.top, charts.named)
        manifests.objects, made = list(substituted(manifests.objects)), list(substituted(made))
    every = [*manifests.objects, *made]
    _objects_of_clusters(every, reading.inventory, tree.kernel)
    if any(item.kind == "Cluster" for item in every):
        from kcheck.inventory.clouds import cluster_api

        cluster_api.read(every, reading.inventory)
    # what Terraform deploys from a file of the tree is already there
    there = reading.inventory
    labels = {_label(thing) for thing in (*there.workloads, *there.addons, *there.objects)}

    def missing(objects: Iterable[Object]) -> list[Object]:
        return [
            item
            for item in objects
            if item.span.source not in reading.asked
            or labels.isdisjoint(map(_label, deployed.Objects([item], Inventory(), charts, wanted).add_all([item])))
        ]

    manifests.objects, made = missing(manifests.objects), missing(made)
    every = [*manifests.objects, *made]
    if kept is not None:
        among = {item.span.source for item in every}, set(kustomized.sources if kustomized is not None else ())
        kept.begin((kinds, wanted.kinds, *among))
    reader = deployed.Objects(every, there, charts, wanted)
    for source, read_objects in plain.in_turn():
        if plain.is_alone(source):
            own = kept if substituted is list and source not in reading.asked else None
            reader.add_file(source, lambda: missing(substituted(read_objects())), manifests, own)  # noqa: B023 - at once
        else:
            reader.add_each(read_objects())
    reader.add_each(_dropping(made))
    reader.add_watchers()
    if kept is not None:
        kept.end()
    found = plain.read() if kustomized is None else plain.read().merged_with(kustomized.manifests)
    reading.problems += found.problems
    reading.templates = found.template_folders()
    reading.sources += tree.manifests


def _kustomized(tree: Tree, kinds: Kinds, charts: Charts, reading: Reading) -> Rendering:
    """What kustomizations render; releases of charts are added."""
    from kcheck.inventory import deployed
    from kcheck.kubernetes import kustomize

    result = kustomize.read(tree, kinds)
    reading.gaps = result.gaps
    reading.sources += result.sources
    for release in result.releases:
        deployed.add_releases(charts.expanded(release), reading.inventory)
    return result


def _dropping(objects: list[Object]) -> Iterator[Object]:
    """The objects of a list, which is emptied."""
    objects.reverse()
    while objects:
        yield objects.pop()


def _objects_of_clusters(objects: list[Object], inventory: Inventory, kernel: Iterable[Source] = ()) -> None:
    """Clusters written as objects, with the kernel settings of their nodes."""
    kinds = {item.kind for item in objects}
    for cloud in registry.every():
        if not kinds.isdisjoint(cloud.objects):
            cloud.read_objects(objects, inventory)
            cloud.read_kernel(kernel, inventory)


def _configurations(tree: Tree, reading: Reading) -> None:
    """The clusters that files of other tools describe."""
    scripts = [source for source in tree.configurations.get(SCRIPT, ()) if source not in reading.asked]
    if scripts:
        from kcheck.kubernetes import boot_scripts

        found = [item for source in scripts for item in boot_scripts.objects(boot_scripts.whole(source))]
        _objects_of_clusters(found, reading.inventory, tree.kernel)
    for cloud in registry.every():
        if not tree.configurations.keys().isdisjoint(cloud.files):
            reading.skipped += cloud.read_files(tree.configurations, reading.inventory)
            cloud.read_kernel(tree.kernel, reading.inventory)
    reading.sources += [source for sources in tree.configurations.values() for source in sources]


def _label(thing: Thing) -> str:
    """The label of an object within its cluster: its id without the file."""
    return thing.id.rpartition(":")[2]
