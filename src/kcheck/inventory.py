"""The one place where Terraform and Kubernetes meet: read a tree, join both sides."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from kcheck.model import Inventory

if TYPE_CHECKING:
    from kcheck.config import Config
    from kcheck.files import Tree
    from kcheck.syntax.problem import Problem
    from kcheck.text import Source

CLOUDS = ("aks",)


@dataclass
class Reading:
    """Everything that was read of a tree.

    `problems` could not be read; `templates` maps a folder to the manifests in it that are templates; `sources`
    are all files that were looked into.
    """

    inventory: Inventory
    problems: list[Problem]
    templates: dict[str, list[Source]]
    sources: list[Source]


def read(tree: Tree, config: Config) -> Reading:
    """Read the Terraform and the manifests of a tree into one inventory."""
    inventory = Inventory()
    problems: list[Problem] = []
    sources: list[Source] = []
    if tree.folders:
        from kcheck.terraform.roots import Loader

        loader = Loader(tree, config.var_files)
        roots = loader.roots()
        for cloud in CLOUDS:
            reader = import_module(f"kcheck.clouds.{cloud}")
            for root in roots:
                reader.read(root, inventory)
        problems += loader.problems
        problems += [problem for root in roots for module in root.all() for problem in module.problems]
        sources += [source for folder in tree.folders for source in (*folder.terraform, *folder.variables)]
    templates: dict[str, list[Source]] = {}
    if tree.manifests:
        from kcheck import workloads
        from kcheck.kubernetes import objects

        manifests = objects.read(tree.manifests)
        inventory.workloads += workloads.read(manifests.objects)
        problems += manifests.problems
        templates = manifests.template_folders()
        sources += tree.manifests
    _place(inventory)
    unique = list(dict.fromkeys(problems))
    return Reading(inventory, unique, templates, list(dict.fromkeys(sources)))


def _place(inventory: Inventory) -> None:
    """Say on which cluster each workload runs: the only one, or the one in the nearest common folder."""
    clusters = inventory.clusters
    for workload in inventory.workloads:
        folders = workload.place.source.path.split("/")[:-1]
        shared = [_common(folders, [] if cluster.root == "." else cluster.root.split("/")) for cluster in clusters]
        best = [cluster for cluster, depth in zip(clusters, shared, strict=True) if depth == max(shared)]
        if len(best) == 1:
            inventory.cluster_of[workload] = best[0]


def _common(first: list[str], second: list[str]) -> int:
    """How many leading folders two paths share."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count
