"""Clusters in proposed settings: root modules with their variable files and manifests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.config import Environment
from kcheck.text.text import grouped
from kcheck.text.values import Known, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.inventory.reading import Reading
    from kcheck.model import Cluster, Inventory

TESTS = frozenset({"tests", "test", "e2e", "fixtures", "fixture"})
EXAMPLES = frozenset({"examples", "example", "samples", "sample"})
_MANY = 3
"""Folders of the same name that are excluded one by one; more are excluded by a pattern."""
_DEPTH = 3
"""Leading folders of a path that are shown for manifests."""
_TELLS_NOTHING = frozenset({
    "terraform", "infra", "infrastructure", "live", "envs", "environments", "modules", "stacks", "k8s", "kubernetes",
    "cluster", "clusters", "deploy", "deployment", "deployments", "manifests", "apps", "base", "main", "src",
})  # fmt: skip
"""Folder names too common to name a cluster."""


def folders_to_exclude(folders: Iterable[str]) -> list[str]:
    """List test and example folders among those with clusters, if there are other clusters too.

    Without any others, examples count as the repository's main content.
    """
    inside: dict[frozenset[str], list[str]] = {TESTS: [], EXAMPLES: []}
    others = 0
    for folder in folders:
        for names, found in inside.items():
            top = _top(folder, names)
            if top is not None:
                found.append(top)
                break
        else:
            others += 1
    result: list[str] = []
    if others or inside[EXAMPLES]:
        result += inside[TESTS]
    if others:
        result += inside[EXAMPLES]
    return _patterns(sorted(set(result)))


def _top(folder: str, names: frozenset[str]) -> str | None:
    """Return the outermost folder on the path that has one of the names."""
    parts = folder.split("/")
    return next(("/".join(parts[: i + 1]) for i, part in enumerate(parts) if part in names), None)


def _patterns(folders: Iterable[str]) -> list[str]:
    by_name = grouped(folders, os.path.basename)
    return [path for name, own in by_name.items() for path in ([f"**/{name}"] if len(own) > _MANY else own)]


# --- environments


def environments(reading: Reading) -> list[Environment]:
    """List root modules with clusters, once for every variable file that makes an environment."""
    clusters = {(cluster.root, cluster.environment) for cluster in reading.inventory.clusters}
    result: list[Environment] = []
    for root in reading.roots:
        folder, name = root.configuration.folder, root.environment
        found = next((one for one in reading.environments if (one.root, one.name) == (folder, name)), None)
        workspace = name if isinstance(root.workspace, Known) else ""  # its variable files are found by its name
        if (folder, name) in clusters:
            result.append(found or Environment(folder, workspace, workspace=workspace))
    return result


# --- manifests


def with_manifests(entries: list[Environment], inventory: Inventory) -> tuple[list[Environment], list[str]]:
    """Add the manifest folders that name exactly one cluster; also return folders that name none."""
    clusters = [(cluster, _folder_names(cluster)) for cluster in inventory.clusters]
    if len(clusters) < 2:
        return entries, []
    found: dict[tuple[str, str], dict[str, None]] = {}
    left: dict[str, None] = {}
    for folder in _unassigned_folders(inventory):
        names = [
            (cluster, "/".join(folder[: i + 1]))
            for i, part in enumerate(folder)
            for cluster, words in clusters
            if part.lower() in words and not any(part.lower() in other for c, other in clusters if c is not cluster)
        ]
        if len({cluster.id for cluster, _ in names}) == 1:
            cluster, path = names[0]
            found.setdefault((cluster.root, cluster.environment), {})[path] = None
        elif not any(_is_in_root(cluster.root, folder) for cluster, _ in clusters):  # two clusters of one root
            left["/".join(folder[:_DEPTH])] = None
    wanted = [replace(entry, manifests=tuple(found.get((entry.root, entry.name), ()))) for entry in entries]
    return wanted, list(left)


def _unassigned_folders(inventory: Inventory) -> Iterator[list[str]]:
    seen = set()
    for thing in inventory.deployed_things():
        folder = inventory.scope_of.get(thing) or os.path.dirname(thing.place.source.path)
        if thing not in inventory.cluster_of and folder and folder not in seen:
            seen.add(folder)
            yield folder.split("/")


def _is_in_root(root: str, folder: list[str]) -> bool:
    return root == "." or folder[: root.count("/") + 1] == root.split("/")


def _folder_names(cluster: Cluster) -> set[str]:
    words = {cluster.environment, known(cluster.name) or "", *cluster.root.split("/")}
    return {word.lower() for word in words} - _TELLS_NOTHING - {"", ".", ".."}
