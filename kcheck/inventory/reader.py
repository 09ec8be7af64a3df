"""Read a tree, and join Terraform and Kubernetes into one inventory."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.inventory.clouds import registry
from kcheck.inventory.reading import Reading
from kcheck.model import NOWHERE, Candidates, Inventory, Raw
from kcheck.text.files.configurations import BLUEPRINT, SCRIPT
from kcheck.text.files.patterns import matches
from kcheck.text.text import Skipped, leading
from kcheck.text.values import Known, Origin, Unknown, known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.config.config import Config
    from kcheck.inventory.reading import Kept
    from kcheck.model import Cluster, Thing
    from kcheck.text.files.tree import Tree


_HELM_ASKED = "settings of a repository do not run helm"
_NOTHING_RAW = Raw()


def read(tree: Tree, config: Config, wanted: Raw = _NOTHING_RAW, kept: Kept | None = None) -> Reading:
    """Read the Terraform and manifests of a tree into one inventory, with the `wanted` raw things.

    What is `kept` of a run before is not read again.
    """
    before = kept.terraform(tree) if kept is not None else None
    reading = before or Reading(Inventory(), [], {}, [])
    if before is None and (tree.folders or tree.plans or tree.units or BLUEPRINT in tree.configurations):
        from kcheck.inventory import terraform

        terraform.read(tree, config, reading, wanted)
        if kept is not None:
            kept.keep_terraform(tree, reading)
    if tree.manifests or tree.kustomizations or tree.charts:
        from kcheck.inventory import manifests

        renders = tree.charts and config.render and not config.render_refused
        rendered = manifests.render_charts(tree, config, reading) if renders else []
        if tree.manifests or tree.kustomizations or rendered:
            manifests.read(tree, reading, rendered, wanted, kept)
    if tree.configurations:
        _configurations(tree, reading)
    if tree.charts:
        manifests.read_charts(tree, reading)
    if reading.charts is not None:
        reading.problems += reading.charts.problems
        reading.sources += reading.charts.sources
    kustomized = map(os.path.dirname, tree.kustomizations)
    reading.inventory.rendered = frozenset((*tree.charts, *kustomized, *reading.templates))
    _assign_clusters(reading.inventory, config)
    if any(addon.tree is not None for addon in reading.inventory.addons):
        import_module("kcheck.inventory.clouds.karpenter").read(reading.inventory)
    if tree.charts and config.render_refused:
        reading.skipped.append(Skipped(config.places["render"], _HELM_ASKED, remedy="--render helm does"))
    reading.skipped = list(dict.fromkeys((*tree.skipped, *reading.skipped)))
    reading.problems = list(dict.fromkeys(reading.problems))
    reading.sources += sorted(reading.asked, key=lambda source: source.path)
    reading.sources = list(dict.fromkeys(reading.sources))
    if kept is not None:
        kept.sources = {real: source for real, source in tree.sources().items() if source is not None}
    return reading


def _configurations(tree: Tree, reading: Reading) -> None:
    """The clusters that files of other tools describe."""
    scripts = [source for source in tree.configurations.get(SCRIPT, ()) if source not in reading.asked]
    if scripts:
        from kcheck.kubernetes import boot_scripts

        found = [item for source in scripts for item in boot_scripts.objects(boot_scripts.whole(source))]
        registry.read_objects(found, reading.inventory, tree.kernel)
    for cloud in registry.every():
        if not tree.configurations.keys().isdisjoint(cloud.files):
            reading.skipped += cloud.read_files(tree.configurations, reading.inventory)
            cloud.read_kernel(tree.kernel, reading.inventory)
    reading.sources += [source for sources in tree.configurations.values() for source in sources]


_SETTING = "choose with `manifests:` under `clusters:` in kcheck.yaml"
_SHOWN = 3
"""So many clusters are named where one of them is meant."""


def _assign_clusters(inventory: Inventory, config: Config) -> None:
    """Say on which cluster each workload, add-on and autoscaler runs, or may run."""
    roots = [(cluster, [] if cluster.root == "." else cluster.root.split("/")) for cluster in inventory.clusters]
    by_path: dict[str, Cluster | Candidates] = {}

    def home(thing: Thing) -> Cluster | Candidates:
        path = f"{inventory.scope_of[thing]}/" if thing in inventory.scope_of else thing.place.source.path
        if path not in by_path:
            by_path[path] = _home(path, roots, config)
        return inventory.cluster_of.get(thing) or by_path[path]

    for thing in inventory.deployed_things():
        found = home(thing)
        if isinstance(found, Candidates):
            inventory.candidates_of[thing] = found
        else:
            inventory.cluster_of[thing] = found
    for i, autoscaler in enumerate(inventory.autoscalers):
        if not isinstance(autoscaler.cluster, Unknown):
            continue
        found, place = home(autoscaler), Origin((autoscaler.place,))
        if not isinstance(found, Candidates):
            inventory.autoscalers[i] = replace(autoscaler, cluster=Known(found, place))
        elif not autoscaler.managed:
            inventory.autoscalers[i] = replace(autoscaler, cluster=Unknown(found.reason, place))
            inventory.candidates_of[inventory.autoscalers[i]] = found


def _home(path: str, roots: Sequence[tuple[Cluster, list[str]]], config: Config) -> Cluster | Candidates:
    """The cluster from the settings, else the only one, else the one in the nearest folder."""
    folders = path.split("/")[:-1]
    for environment in config.environments:
        if any(matches(path, pattern) for pattern in environment.manifests):
            wanted = (environment.root, environment.name)
            own = [cluster for cluster, _ in roots if (cluster.root, cluster.environment) == wanted]
            if not own:
                way = "correct its `root:` in kcheck.yaml"
                return Candidates((), f"kcheck.yaml gives {path} to {environment.root}, which has no cluster", way)
            return own[0] if len(own) == 1 else _one_of(path, own)
    shared = [leading(folders, steps) for _, steps in roots]
    most = max(shared, default=0)
    best = [cluster for (cluster, _), depth in zip(roots, shared, strict=True) if depth == most]
    if len(best) == 1:
        return best[0]
    # all files of the first folder that no root shares have the same candidates
    where = "/".join(folders[: most + 1]) + "/" if len(folders) > most else path
    return _one_of(where, best) if best else NOWHERE


def _one_of(where: str, clusters: list[Cluster]) -> Candidates:
    """Several clusters that something may be on."""
    for names in (
        [known(cluster.name) or "" for cluster in clusters],
        [cluster.root for cluster in clusters],
        [cluster.id for cluster in clusters],
    ):
        if "" not in names and len(set(names)) == len(names):
            break
    left = len(names) - _SHOWN
    named = [*names[:_SHOWN], f"{left:,} others"] if left > 1 else names
    what = f"{where} may run on {', '.join(named[:-1])} or {named[-1]}"
    apart = len({(cluster.root, cluster.environment) for cluster in clusters}) > 1
    return Candidates(
        tuple(clusters), what, _SETTING if apart else "one root module creates them, so kcheck.yaml cannot choose"
    )
