"""Which entries the settings need: root modules that make clusters, their variable files and their manifests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.config import Environment
from kcheck.terraform.variables import is_automatic
from kcheck.text.regex import regex
from kcheck.text.text import grouped, leading
from kcheck.text.values import Known, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.inventory.reading import Reading
    from kcheck.model import Cluster, Inventory
    from kcheck.terraform.module import Module
    from kcheck.text.files.tree import Tree

TESTS = frozenset({"tests", "test", "e2e", "fixtures", "fixture"})
EXAMPLES = frozenset({"examples", "example", "samples", "sample"})
_MANY = 3
"""So many folders of one name are excluded one by one, more by a pattern."""
_DEPTH = 3
"""So many folders of a path say where manifests are."""
_LAYERS = frozenset({"common", "shared", "global", "globals", "base", "defaults", "all"})
"""Names of variable files that go before others."""
_NO_ENVIRONMENT = regex(r"(?:^|[^a-z])(?:example|sample|template|test)s?(?:$|[^a-z])")
"""Parts of paths of variable files that nobody runs anything with."""
_TELLS_NOTHING = frozenset({
    "terraform", "infra", "infrastructure", "live", "envs", "environments", "modules", "stacks", "k8s", "kubernetes",
    "cluster", "clusters", "deploy", "deployment", "deployments", "manifests", "apps", "base", "main", "src",
})  # fmt: skip
"""Names of folders that many repositories have, whatever is in them."""


def folders_to_exclude(folders: Iterable[str]) -> list[str]:
    """Of the folders that hold clusters, those of tests and of examples, where there are others too.

    Examples count as what the repository is about if there is nothing else.
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
    """The outermost folder of some names that a folder is in."""
    parts = folder.split("/")
    return next(("/".join(parts[: i + 1]) for i, part in enumerate(parts) if part in names), None)


def _patterns(folders: Iterable[str]) -> list[str]:
    by_name = grouped(folders, os.path.basename)
    return [path for name, own in by_name.items() for path in ([f"**/{name}"] if len(own) > _MANY else own)]


# --- environments


def environments(reading: Reading, tree: Tree) -> list[Environment]:
    """The root modules that make clusters, each once for every variable file that makes it another one."""
    clusters = {cluster.root for cluster in reading.inventory.clusters}
    owned = _own_variable_files(reading, tree)
    result: list[Environment] = []
    for root in reading.roots:
        folder = root.configuration.folder
        if isinstance(root.workspace, Known):  # its variable files are found by its name
            result += [Environment(folder, root.environment, workspace=root.environment)] if folder in clusters else []
            continue
        sets = owned.get(folder, {})
        if folder in clusters or _unset_variables(root, reading) & set().union(*sets.values()):
            result += _root_environments(folder, sets, _unset_variables(root, reading))
    return result


def _own_variable_files(reading: Reading, tree: Tree) -> dict[str, dict[str, set[str]]]:
    """By the folder of a root, the variable files that are for it alone, with the names that each sets."""
    result: dict[str, dict[str, set[str]]] = {}
    roots = {root.configuration.folder: set(root.configuration.variables) for root in reading.roots}
    for path in tree.variables:
        source, folder = tree.source(path), tree.folder(os.path.dirname(path) or ".")
        read = is_automatic(path) and folder is not None and folder.terraform
        if source is None or reading.variables is None or read:
            continue
        names = set(reading.variables.assignments(source))
        owner = _nearest(source.path, [root for root, declared in roots.items() if names and names <= declared])
        if owner is not None and not _NO_ENVIRONMENT.search(_path_beyond(source.path, owner).lower()):
            result.setdefault(owner, {})[source.path] = names
    return result


def _nearest(path: str, roots: list[str]) -> str | None:
    """The root that shares most folders with a file; None if there are several."""
    folders = path.split("/")[:-1]
    shared = [leading(folders, [] if root == "." else root.split("/")) for root in roots]
    best = [root for root, depth in zip(roots, shared, strict=True) if depth == max(shared)]
    return best[0] if len(best) == 1 else None


def _path_beyond(path: str, root: str) -> str:
    """The part of a path that is not also the way to a root."""
    parts = path.split("/")
    return "/".join(parts[leading(parts[:-1], root.split("/")) :])


def _unset_variables(root: Module, reading: Reading) -> set[str]:
    """The variables of a root that nothing gives a value."""
    configuration = root.configuration
    given = reading.variables.values_for(configuration) if reading.variables else {}
    return {
        name
        for name, block in configuration.variables.items()
        if "default" not in block.body.attributes and name not in given
    }


def _root_environments(folder: str, sets: dict[str, set[str]], missing: set[str]) -> Iterator[Environment]:
    """The environments of one root: its variable files are alternatives, but those that all of them need."""
    below = [path for path in sets if _stem(path).lower() in _LAYERS]
    below += [path for path in sets if path not in below and _stands_alone(path, sets, missing)]
    left = missing.difference(*(sets[path] for path in below))  # what only those of the environments can give
    others = [path for path in sets if path not in below and (not left or sets[path] & left)]
    plain = not missing and not below
    if not others or (plain and len(others) == 1):
        yield Environment(folder, _stem(below[-1]) if below else "", tuple(below))
    for path, name in zip(others, _labels(others), strict=True):
        yield Environment(folder, name, (*below, path))


def _stands_alone(path: str, sets: dict[str, set[str]], missing: set[str]) -> bool:
    """Whether a file sets what is missing, and nothing that another one sets: it is needed beside them."""
    rest = [names for other, names in sets.items() if other != path]
    return bool(rest and sets[path] & missing) and not any(sets[path] & names for names in rest)


def _stem(path: str) -> str:
    return os.path.basename(path).partition(".")[0]


def _labels(paths: list[str]) -> list[str]:
    """What tells variable files apart: their names, else those of folders that they are in."""
    whole = [os.path.basename(path).removesuffix(".json").removesuffix(".tfvars") for path in paths]
    steps = [[_stem(path), name, *reversed(path.split("/")[:-1])] for path, name in zip(paths, whole, strict=True)]
    if whole == ["terraform"] and len(steps[0]) > 2:
        return steps[0][2:3]
    for parts in zip(*steps, strict=False):
        if len(set(parts)) == len(parts):
            return list(parts)
    return ["-".join(reversed(parts[1:])) for parts in steps]


# --- manifests


def with_manifests(entries: list[Environment], inventory: Inventory) -> tuple[list[Environment], list[str]]:
    """The entries with the folders of manifests that bear the name of one cluster, and folders that bear none."""
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
    """The folders of what runs on some cluster, and is not known on which."""
    seen = set()
    for thing in inventory.deployed_things():
        folder = inventory.scope_of.get(thing) or os.path.dirname(thing.place.source.path)
        if thing not in inventory.cluster_of and folder and folder not in seen:
            seen.add(folder)
            yield folder.split("/")


def _is_in_root(root: str, folder: list[str]) -> bool:
    """Whether a folder is that of a root or below it."""
    return root == "." or folder[: root.count("/") + 1] == root.split("/")


def _folder_names(cluster: Cluster) -> set[str]:
    """What a folder may be called that is for this cluster."""
    words = {cluster.environment, known(cluster.name) or "", *cluster.root.split("/")}
    return {word.lower() for word in words} - _TELLS_NOTHING - {"", ".", ".."}
