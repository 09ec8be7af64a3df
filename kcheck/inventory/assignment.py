"""Assignment of manifests to clusters, or to candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.inventory.clouds import registry
from kcheck.model import NOWHERE, Autoscaler, Candidates, Workload
from kcheck.text.files.patterns import matches
from kcheck.text.regex import regex
from kcheck.text.text import leading
from kcheck.text.values import Known, Origin, Unknown, known, sure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.config.config import Config
    from kcheck.model import Cluster, Inventory, Thing

_SETTING = "choose with `manifests:` under `clusters:` in kcheck.yaml"
_SHOWN = 3
"""Most clusters that a message names."""


_OF_ANOTHER = Candidates((), "no cluster of its cloud in this tree", NOWHERE.way)


def assign_clusters(inventory: Inventory, config: Config) -> None:
    """Assign workloads, add-ons and autoscalers to clusters, or to candidates."""
    roots = [(cluster, [] if cluster.root == "." else cluster.root.split("/")) for cluster in inventory.clusters]
    by_path: dict[tuple[str, frozenset[str]], Cluster | Candidates] = {}

    def home(thing: Thing) -> Cluster | Candidates:
        path = f"{inventory.scope_of[thing]}/" if thing in inventory.scope_of else thing.place.source.path
        key = path, _other_clouds(thing) if roots else frozenset[str]()
        if key not in by_path:
            found = _home(path, [one for one in roots if one[0].cloud not in key[1]], config)
            by_path[key] = _OF_ANOTHER if found is NOWHERE and roots else found
        return inventory.cluster_of.get(thing) or by_path[key]

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


_PROVIDER = regex(r"--cloud-provider[= ](\w+)")


def _other_clouds(thing: Thing) -> frozenset[str]:
    """Return the clouds a thing excludes because it names another, in an autoscaler flag or a node label."""
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


def _home(path: str, roots: Sequence[tuple[Cluster, list[str]]], config: Config) -> Cluster | Candidates:
    """Find the cluster of a path: from kcheck.yaml, else the only one, else the one in the nearest folder."""
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
    for names in (
        [known(cluster.name) or "" for cluster in clusters],
        [cluster.environment for cluster in clusters],
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
