"""The one place where Terraform and Kubernetes meet: read a tree, join both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from kcheck import profiles
from kcheck.files import matches
from kcheck.model import Addon, Inventory
from kcheck.values import Known, Origin, Unset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config import Config
    from kcheck.files import Tree
    from kcheck.kubernetes.objects import Object
    from kcheck.model import Autoscaler, Cluster
    from kcheck.syntax.problem import Problem
    from kcheck.terraform.module import Module
    from kcheck.terraform.variables import Variables
    from kcheck.text import Source
    from kcheck.values import Value


@dataclass
class Reading:
    """Everything that was read of a tree.

    `problems` could not be read; `templates` maps a folder to the manifests in it that are templates; `sources`
    are all files that were looked into; `variables` knows the tfvars files.
    """

    inventory: Inventory
    problems: list[Problem]
    templates: dict[str, list[Source]]
    sources: list[Source]
    variables: Variables | None = None


def read(tree: Tree, config: Config) -> Reading:
    """Read the Terraform and the manifests of a tree into one inventory."""
    inventory = Inventory()
    problems: list[Problem] = []
    sources: list[Source] = []
    variables = None
    if tree.folders:
        from kcheck.terraform.roots import Loader

        loader = Loader(tree, config)
        roots = loader.roots()
        kinds = [root.kinds() for root in roots]
        for cloud, prefix in profiles.CLOUDS.items():
            own = [root for root, types in zip(roots, kinds, strict=True) if any(t.startswith(prefix) for t in types)]
            for root in own:
                import_module(f"kcheck.clouds.{cloud}").read(root, inventory)
        inventory.addons += [addon for root in roots for addon in _releases(root)]
        problems += [*loader.problems, *loader.variables.problems]
        variables = loader.variables
        problems += [problem for root in roots for module in root.all() for problem in module.problems]
        sources += [source for folder in tree.folders for source in (*folder.terraform, *folder.variables)]
    templates: dict[str, list[Source]] = {}
    found: list[tuple[Autoscaler, Object]] = []
    if tree.manifests:
        from kcheck import autoscalers, workloads
        from kcheck.kubernetes import objects

        manifests = objects.read(tree.manifests)
        inventory.workloads += workloads.read(manifests.objects)
        inventory.addons += _shown(manifests.objects)
        found = list(autoscalers.read(manifests.objects))
        problems += manifests.problems
        templates = manifests.template_folders()
        sources += tree.manifests
    _place(inventory, found, config)
    unique = list(dict.fromkeys(problems))
    return Reading(inventory, unique, templates, list(dict.fromkeys(sources)), variables)


def _shown(objects: list[Object]) -> Iterator[Addon]:
    """What is installed into a cluster, told by objects that only it understands."""
    for item in objects:
        if item.api_version.startswith("karpenter."):
            yield Addon(f"{item.span.source.path}:{item.kind}", item.span, Known("karpenter", Origin((item.span,))))


def _releases(root: Module) -> Iterator[Addon]:
    """The Helm releases of a root module."""
    for instance in root.instances("helm_release"):
        chart = instance.entry("chart")
        name: Value[str] = chart if chart is not None else Unset(Origin((instance.span,)))
        folder = root.configuration.folder
        yield Addon(instance.address if folder == "." else f"{folder}:{instance.address}", instance.span, name)


def _place(inventory: Inventory, found: list[tuple[Autoscaler, Object]], config: Config) -> None:
    """Say on which cluster each workload, add-on and autoscaler runs."""
    for thing in (*inventory.workloads, *inventory.addons):
        cluster = _cluster_of(thing.place.source.path, inventory.clusters, config)
        if cluster is not None:
            inventory.cluster_of[thing] = cluster
    for autoscaler, item in found:
        cluster = _cluster_of(item.span.source.path, inventory.clusters, config)
        owner = autoscaler.cluster if cluster is None else Known(cluster, Origin((item.span,)))
        inventory.autoscalers.append(replace(autoscaler, cluster=owner))


def _cluster_of(path: str, clusters: list[Cluster], config: Config) -> Cluster | None:
    """The cluster that the settings name, else the only one, or the one whose root shares most folders with a file."""
    for environment in config.environments:
        if any(matches(path, pattern) for pattern in environment.manifests):
            own = [c for c in clusters if (c.root, c.environment) == (environment.root, environment.name)]
            return own[0] if len(own) == 1 else None
    folders = path.split("/")[:-1]
    shared = [_common(folders, [] if cluster.root == "." else cluster.root.split("/")) for cluster in clusters]
    best = [cluster for cluster, depth in zip(clusters, shared, strict=True) if depth == max(shared)]
    return best[0] if len(best) == 1 else None


def _common(first: list[str], second: list[str]) -> int:
    """How many leading folders two paths share."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count
