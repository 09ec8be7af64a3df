"""Environments of root modules, found from variable files beside or below them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.config.config import Environment
from kcheck.terraform.variables import is_automatic
from kcheck.text.files.boundary import contains_path
from kcheck.text.regex import regex
from kcheck.text.text import leading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.terraform.configuration import Configuration
    from kcheck.terraform.variables import Variables
    from kcheck.text.files.tree import Tree

MANY = 12
"""Maximum number of variable files per root that are checked without being asked for."""
_LAYERS = frozenset({"common", "shared", "global", "globals", "base", "defaults", "all"})
"""Names of variable files that every environment shares."""
_NO_ENVIRONMENT = regex(
    r"(?:^|[^a-z])(?:example|sample|template)s?(?:$|[^a-z])|(?:^|[^a-z])(?:tests|e2e|fixtures?|testdata)/"
)
"""Paths of variable files for examples and tests."""


def environments(
    configurations: Iterable[Configuration], variables: Variables, tree: Tree
) -> dict[str, list[Environment]]:
    """Find the environments of each root: one for each variable file that sets its variables.

    Shared variable files are part of every environment. A root with automatic variable files may be one by itself.
    """
    roots = {one.folder: one for one in configurations}
    owned = _own_variable_files(roots, variables, tree) if tree.variables else {}
    return {
        folder: list(_environments(folder, sets, unset(roots[folder], variables), _has_own_file(folder, tree)))
        for folder, sets in owned.items()
    }


def unset(configuration: Configuration, variables: Variables) -> set[str]:
    """List the variables of a root that have no value."""
    given = variables.values_for(configuration)
    declared = configuration.variables.items()
    return {name for name, block in declared if "default" not in block.body.attributes and name not in given}


def _has_own_file(folder: str, tree: Tree) -> bool:
    own = tree.folder(folder)
    return own is not None and any(is_automatic(source.path) for source in own.variables)


def _own_variable_files(
    roots: dict[str, Configuration], variables: Variables, tree: Tree
) -> dict[str, dict[str, set[str]]]:
    """Map each root to its variable files and the names they set; files below the root win."""
    result: dict[str, dict[str, set[str]]] = {}
    for path in tree.variables:
        source, folder = tree.source(path), tree.folder(os.path.dirname(path) or ".")
        if source is None or (is_automatic(path) and folder is not None and folder.terraform):
            continue
        names = set(variables.assignments(source))
        for owner in _nearest(source.path, names, roots):
            if not _NO_ENVIRONMENT.search(_path_beyond(source.path, owner).lower()):
                result.setdefault(owner, {})[source.path] = names
    inside = {owner: [path for path in sets if contains_path(owner, path)] for owner, sets in result.items()}
    return {owner: {path: sets[path] for path in inside[owner] or sets} for owner, sets in result.items()}


def _nearest(path: str, names: set[str], roots: dict[str, Configuration]) -> list[str]:
    """List the roots nearest to a variable file, among those that declare most of its variables."""
    declared = {folder: len(names & root.variables.keys()) for folder, root in roots.items()}
    whole = [folder for folder, count in declared.items() if names and count == len(names)]
    fitting = whole or [folder for folder, count in declared.items() if names and 2 * count >= len(names)]
    folders = path.split("/")[:-1]
    shared = {one: leading(folders, [] if one == "." else one.split("/")) for one in fitting}
    return [folder for folder, depth in shared.items() if depth == max(shared.values())]


def _path_beyond(path: str, root: str) -> str:
    """Drop the folders that a path shares with a root."""
    parts = path.split("/")
    return "/".join(parts[leading(parts[:-1], root.split("/")) :])


def _environments(folder: str, sets: dict[str, set[str]], missing: set[str], as_is: bool) -> Iterator[Environment]:
    below = [path for path in sets if _stem(path).lower() in _LAYERS]
    below += [path for path in sets if path not in below and _stands_alone(path, sets, missing)]
    rest = set().union(*(names for path, names in sets.items() if path not in below))
    left = missing.intersection(rest).difference(
        *(sets[path] for path in below)
    )  # what only those of environments give
    others = [path for path in sets if path not in below and (not left or sets[path] & left)]
    if not others or (as_is and not missing and not below and len(others) == 1):
        yield Environment(folder, _stem(below[-1]) if below else "", tuple(below))
    for path, name in zip(others, _labels(others), strict=True):
        yield Environment(folder, name, (*below, path))


def _stands_alone(path: str, sets: dict[str, set[str]], missing: set[str]) -> bool:
    """Whether a file sets a missing variable and overlaps with no other file."""
    rest = [names for other, names in sets.items() if other != path]
    return bool(rest and sets[path] & missing) and not any(sets[path] & names for names in rest)


def _stem(path: str) -> str:
    return os.path.basename(path).partition(".")[0]


def _labels(paths: list[str]) -> list[str]:
    """Label variable files distinctly, by name or else by folder."""
    whole = [os.path.basename(path).removesuffix(".json").removesuffix(".tfvars") for path in paths]
    steps = [[_stem(path), name, *reversed(path.split("/")[:-1])] for path, name in zip(paths, whole, strict=True)]
    if whole == ["terraform"] and len(steps[0]) > 2:
        return steps[0][2:3]
    for parts in zip(*steps, strict=False):
        if len(set(parts)) == len(parts):
            return list(parts)
    return ["-".join(reversed(parts[1:])) for parts in steps]
