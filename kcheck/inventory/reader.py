"""Read a tree, and join Terraform and Kubernetes into one inventory."""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from kcheck.config.config import Config
from kcheck.inventory.clouds import registry
from kcheck.inventory.reading import Kept, Reading
from kcheck.model import NOWHERE, Autoscaler, Candidates, Cluster, Inventory, Raw, Sync, Thing, Workload
from kcheck.text.deadline import Tell, no_progress
from kcheck.text.files import system
from kcheck.text.files.configurations import BLUEPRINTS, NAMED, SCRIPT
from kcheck.text.files.patterns import matches
from kcheck.text.files.tree import Tree
from kcheck.text.regex import regex
from kcheck.text.text import Skipped, leading
from kcheck.text.units import clipped
from kcheck.text.values import Known, Origin, Unknown, equals, known, sure

_HELM_ASKED = "settings of a repository do not run helm"
_NOTHING_RAW = Raw()


def read(
    tree: Tree, config: Config, wanted: Raw = _NOTHING_RAW, kept: Kept | None = None, tell: Tell = no_progress
) -> Reading:
    """Read a tree into one inventory, with the `wanted` raw things.

    `kept` reuses what the previous run read of unchanged files.
    """
    before = kept.terraform(tree) if kept is not None else None
    reading = before or Reading(Inventory(), [], {}, [])
    written = not tree.configurations.keys().isdisjoint(BLUEPRINTS)
    if before is None and (tree.folders or tree.plans or tree.units or written):
        from kcheck.inventory import terraform

        terraform.read(tree, config, reading, wanted, tell)
        if kept is not None:
            kept.keep_terraform(tree, reading)
    if tree.manifests or tree.kustomizations or tree.charts:
        from kcheck.inventory import manifests

        rendered = manifests.render_charts(tree, config, reading) if tree.charts else []
        if tree.manifests or tree.kustomizations or rendered:
            manifests.read(tree, config, reading, rendered, wanted=wanted, kept=kept, tell=tell)
        if tree.charts:
            manifests.read_charts(tree, config, reading)
        reading.skipped += manifests.unrendered(reading)
    _configurations(tree, reading)
    kustomized = map(os.path.dirname, tree.kustomizations)
    reading.inventory.rendered = frozenset((*tree.charts, *kustomized, *reading.templates))
    _assign_clusters(reading.inventory, config, [one.path for one in reading.skipped if one.what == registry.UNJUDGED])
    if any(addon.tree is not None for addon in reading.inventory.addons):
        import_module("kcheck.inventory.clouds.karpenter").read(reading.inventory)
    if tree.charts and config.render_refused:
        reading.skipped.append(Skipped(config.places["render"], _HELM_ASKED, remedy="--render helm does"))
    reading.skipped = [*tree.skipped, *reading.skipped]
    reading.finish()
    if kept is not None:
        kept.end()
        kept.sources = tree.sources
    return reading


def _configurations(tree: Tree, reading: Reading) -> None:
    """Read clusters from files of other tools, and join their machines."""
    scripts = [source for source in tree.configurations.get(SCRIPT, ()) if source not in reading.asked]
    if scripts:
        from kcheck.kubernetes import boot_scripts

        found = [item for source in scripts for item in boot_scripts.objects(boot_scripts.whole(source))]
        registry.read_objects(found, reading.inventory, tree.kernel)
    for cloud in registry.every():
        if not tree.configurations.keys().isdisjoint(cloud.files):
            reading.skipped += cloud.read_files(tree.configurations, reading.inventory)
            cloud.read_kernel(tree.kernel, reading.inventory)
    judged = {one.place.source.path for one in (*reading.inventory.clusters, *reading.inventory.pools)}
    for kind, pattern, why in NAMED:
        for source in tree.configurations.get(kind, ()):
            for match in islice(pattern.finditer(source.data), 0 if source.path in judged else 1):
                place = source.span(*match.span(1))
                what = " ".join(place.text.replace("\\", " ").split())
                reading.skipped.append(registry.unjudged(place, clipped(what, 80), why))
    reading.sources += [source for sources in tree.configurations.values() for source in sources]
    if reading.machines:
        nodes = import_module("kcheck.inventory.clouds.selfmanaged.machines")
        reading.skipped += nodes.join(reading.machines, reading.inventory)


# --- clusters of manifests

_HOW_TO_ASSIGN = "choose with `manifests:` under `clusters:` in kcheck.yaml"
_SHOWN = 3
"""Most clusters that a message names."""
_Root: TypeAlias = tuple[Cluster, list[str]]
"""Cluster with the folders that lead to its root module."""
_OF_ANOTHER = Candidates((), "no cluster of its cloud in this tree", NOWHERE.way)


def _assign_clusters(inventory: Inventory, config: Config, unjudged: Sequence[str]) -> None:
    """Assign workloads, add-ons and autoscalers to clusters."""
    home = _Homes(inventory, config, unjudged).home
    addons, inventory.addons = inventory.addons, []
    for addon in addons:
        owners = _owners(home(addon)) if equals(addon.name, "karpenter") else ()
        copies = [replace(addon) for _ in owners] if len(owners) > 1 else [addon]
        inventory.addons += copies
        inventory.cluster_of |= zip(copies, owners, strict=False)
    for thing in inventory.deployed_things():
        inventory.place((thing,), home(thing))
    autoscalers, inventory.autoscalers = inventory.autoscalers, []
    for autoscaler in autoscalers:
        found, place = home(autoscaler), Origin((autoscaler.place,))
        if not isinstance(autoscaler.cluster, Unknown) or (autoscaler.managed and not _owners(found)):
            inventory.autoscalers.append(autoscaler)
        elif owners := _owners(found):
            inventory.autoscalers += [replace(autoscaler, cluster=Known(one, place)) for one in owners]
        elif isinstance(found, Candidates):
            inventory.autoscalers.append(replace(autoscaler, cluster=Unknown(found.reason, place)))
            inventory.candidates_of[inventory.autoscalers[-1]] = found


def _owners(found: Cluster | Candidates) -> tuple[Cluster, ...]:
    """Return the clusters an object is certainly on: one, or all candidates."""
    if isinstance(found, Candidates):
        return found.clusters if found.on_each else ()
    return (found,)


_PROVIDER = regex(r"--cloud-provider[= ](\w+)")


def _other_clouds(thing: Thing) -> frozenset[str]:
    """Return the clouds an object cannot be on, by its flags and labels."""
    providers: set[str | None] = set()
    domains: list[str] = []
    if isinstance(thing, Autoscaler):
        providers = {str(known(flag.value)) for flag in thing.flags if known(flag.name) == "cloud-provider"}
    elif isinstance(thing, Workload):
        terms = [term for one in thing.templates for term in sure(one.selection) or ()]
        domains = [one.key.partition("/")[0] for term in terms for one in term]
        providers = {name for one in thing.templates for c in one.containers for name in _PROVIDER.findall(c.text)}
    if not providers and not domains:
        return frozenset()
    clouds = {one.name: one for one in registry.every() if one.autoscaler_provider}
    named = {name for name, one in clouds.items() if one.autoscaler_provider in providers}
    named |= {name for name, one in clouds.items() if any(domain.endswith(one.label_domains) for domain in domains)}
    return frozenset(clouds.keys() - named) if named else frozenset()


class _Homes:
    """Clusters of objects by path; `unjudged` are files of other clusters."""

    def __init__(self, inventory: Inventory, config: Config, unjudged: Sequence[str]) -> None:
        self._inventory, self._config, self._unjudged = inventory, config, unjudged
        self._roots = [(one, [] if one.root == "." else one.root.split("/")) for one in inventory.clusters]
        called = any(cluster.root not in inventory.libraries for cluster in inventory.clusters)
        self._libraries = inventory.libraries - {"."} if called else frozenset[str]()
        self._senders = {one.place: one for one in inventory.synced}
        jobs = (one for one in inventory.workloads if any(known(pods.gpus) != 0 for pods in one.templates))
        folders = {tuple(self._path(job).split("/")[:-1]) for job in jobs}
        self._with_jobs = {folder[:depth] for folder in folders for depth in range(1, len(folder) + 1)}
        self._of_path = cache(self._cluster_of_path)

    def home(self, thing: Thing) -> Cluster | Candidates:
        """Find the cluster of an object."""
        others = _other_clouds(thing) if self._roots else frozenset[str]()
        found = self._of_path(self._path(thing), others, self._senders.get(thing.place))
        return self._inventory.cluster_of.get(thing) or self._inventory.candidates_of.get(thing) or found

    def _path(self, thing: Thing) -> str:
        scopes = self._inventory.scope_of
        return f"{scopes[thing]}/" if thing in scopes else thing.place.source.path

    def _cluster_of_path(self, path: str, others: frozenset[str], sync: Sync | None) -> Cluster | Candidates:
        """Find the cluster of a path: by kcheck.yaml, GitOps, or nearest folder."""
        roots = [one for one in self._roots if one[0].cloud not in others]
        if sync is None and self._senders:
            folder = f"{system.real_path(os.path.dirname(path))}/"
            sync = next((one for one in self._inventory.synced if one.folders.match(folder)), None)
        found = self._of_settings(path, roots) or (_sent(sync, roots) if sync is not None else None)
        found = found or self._nearest(path, roots, sync)
        if isinstance(found, Cluster) and found.root in self._libraries and not path.startswith(f"{found.root}/"):
            return Candidates((), f"the nearest cluster, of {found.root}, is made by what calls it", _HOW_TO_ASSIGN)
        return _OF_ANOTHER if found is NOWHERE and self._roots else found

    def _of_settings(self, path: str, roots: Sequence[_Root]) -> Cluster | Candidates | None:
        for environment in self._config.environments:
            if any(matches(path, pattern) for pattern in environment.manifests):
                wanted = (environment.root, environment.name)
                own = [cluster for cluster, _ in roots if (cluster.root, cluster.environment) == wanted]
                if not own:
                    way = "correct its `root:` in kcheck.yaml"
                    return Candidates((), f"kcheck.yaml gives {path} to {environment.root}, which has no cluster", way)
                return own[0] if len(own) == 1 else _one_of(path, own)
        return None

    def _nearest(self, path: str, roots: Sequence[_Root], sync: Sync | None) -> Cluster | Candidates:
        """Find the cluster in the nearest folder.

        If the tree has several clusters, one with its own GPU jobs does not get the jobs of a neighbouring folder.
        """
        folders = path.split("/")[:-1]
        shared = [leading(folders, steps) for _, steps in roots]
        most = max(shared, default=0)
        best = [cluster for (cluster, _), depth in zip(roots, shared, strict=True) if depth == most]
        best = [cluster for cluster in best if cluster.environment in folders] or best
        nearer = next((one for one in self._unjudged if best and leading(folders, one.split("/")[:-1]) > most), None)
        if nearer is not None:
            what = f"the cluster of {nearer}, which is not judged, may run what is near it"
            return Candidates(tuple(best), what, _HOW_TO_ASSIGN, elsewhere=True)
        # all files of the first folder that no root shares have the same candidates
        where = "/".join(folders[: most + 1]) + "/" if len(folders) > most else path
        if len(best) == 1:
            branch = tuple(best[0].root.split("/")[: most + 1])
            alone = len(roots) == 1 and not self._unjudged
            if alone or most in (len(folders), len(branch)) or branch not in self._with_jobs:
                return best[0]
            what = f"{best[0].id} is beside jobs of {'/'.join(branch)}/, so {where} may run on another"
            return Candidates((best[0],), what, _HOW_TO_ASSIGN, elsewhere=True)
        if best and sync is not None and sync.where:
            what = f"{sync.name} is sent to {sync.where}, by no name of a cluster here"
            return Candidates(tuple(best), what, _HOW_TO_ASSIGN)
        return _one_of(where, best) if best else NOWHERE


def _sent(sync: Sync, roots: Sequence[_Root]) -> Cluster | Candidates | None:
    """Find the cluster that GitOps names; None if it is not in the tree."""
    sent = [cluster for cluster, _ in roots if known(cluster.name) in sync.names]
    once = len({known(one.name) for one in sent}) == len(sent)
    return sent[0] if len(sent) == 1 else replace(_one_of(sync.name, sent), on_each=once) if sent else None


def _one_of(where: str, clusters: list[Cluster]) -> Candidates:
    ways = zip(*((known(one.name) or "", one.environment, one.root, one.id) for one in clusters), strict=True)
    unique = (way for way in ways if "" not in way and len(set(way)) == len(clusters))
    names = next(unique, [one.id for one in clusters])
    left = len(names) - _SHOWN
    named = [*names[:_SHOWN], f"{left:,} others"] if left > 1 else names
    what = f"{where} may run on {', '.join(named[:-1])} or {named[-1]}"
    apart = len({(cluster.root, cluster.environment) for cluster in clusters})
    way = _HOW_TO_ASSIGN if apart > 1 else "one root module creates them, so kcheck.yaml cannot choose"
    on_each = apart == len(clusters) and len({cluster.root for cluster in clusters}) == 1
    return Candidates(tuple(clusters), what, way, on_each)
