"""The one place where Terraform and Kubernetes meet: read a tree, join both sides."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING

from kcheck import profiles
from kcheck.files import matches
from kcheck.model import Addon, Autoscaler, Inventory, Sharing
from kcheck.values import Known, Origin, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config import Config
    from kcheck.files import Tree
    from kcheck.kubernetes.objects import Object
    from kcheck.model import Cluster, Thing
    from kcheck.syntax.problem import Problem
    from kcheck.terraform.module import Module
    from kcheck.terraform.variables import Variables
    from kcheck.text import Source


@dataclass
class Reading:
    """Everything that was read of a tree.

    `problems` could not be read; `templates` maps a folder to the manifests in it that are templates; `sources`
    are all files that were looked into; `variables` knows the tfvars files. Of the manifests, Terraform has
    `asked` for some, and `filled` some as templates.
    """

    inventory: Inventory
    problems: list[Problem]
    templates: dict[str, list[Source]]
    sources: list[Source]
    variables: Variables | None = None
    asked: set[Source] = field(default_factory=set)
    filled: set[Source] = field(default_factory=set)


def read(tree: Tree, config: Config) -> Reading:
    """Read the Terraform and the manifests of a tree into one inventory."""
    reading = Reading(Inventory(), [], {}, [])
    if tree.folders or tree.plans:
        _terraform(tree, config, reading)
    if tree.manifests:
        _manifests(tree, reading)
    _place(reading.inventory, config)
    if any(addon.tree is not None for addon in reading.inventory.addons):
        import_module("kcheck.clouds.karpenter").read(reading.inventory)
    reading.problems = list(dict.fromkeys(reading.problems))
    reading.sources = list(dict.fromkeys(reading.sources))
    return reading


def _terraform(tree: Tree, config: Config, reading: Reading) -> None:
    from kcheck.terraform.roots import Loader

    inventory = reading.inventory
    loader = Loader(tree, config)
    roots = loader.roots() if tree.folders else []
    roots += _plans(tree, reading)
    kinds = {root: root.kinds() for root in roots}
    for cloud, prefixes in profiles.CLOUDS.items():
        if prefixes and any(kind.startswith(prefixes) for own in kinds.values() for kind in own):
            begins = (*prefixes, *profiles.BESIDE[cloud])
            own = [root for root in roots if any(kind.startswith(begins) for kind in kinds[root])]
            import_module(f"kcheck.clouds.{cloud}").read(own, inventory)
    for root in roots:
        if any(kind.startswith(_IN_CLUSTER) for kind in kinds[root]):
            _deployed(root, kinds[root], inventory)
    reading.problems += [*loader.problems, *loader.variables.problems]
    reading.problems += [problem for root in roots for module in root.all() for problem in module.problems]
    reading.sources += [source for folder in tree.folders for source in (*folder.terraform, *folder.variables)]
    reading.variables = loader.variables
    reading.asked, reading.filled = loader.asked, loader.templates()


def _plans(tree: Tree, reading: Reading) -> Iterator[Module]:
    """The root modules that plans describe."""
    if not tree.plans:
        return
    from kcheck.syntax.problem import Problem
    from kcheck.terraform import plan

    for source in tree.plans:
        root = plan.read(source)
        if isinstance(root, Problem):
            reading.problems.append(root)
        else:
            yield root
    reading.sources += tree.plans


_IN_CLUSTER = ("helm_", "kubernetes_", "kubectl_", "k8s_")


def _deployed(root: Module, kinds: set[str], inventory: Inventory) -> None:
    """What a root module deploys into clusters."""
    from kcheck import autoscalers
    from kcheck.embedded import objects, providers, releases
    from kcheck.workloads import sharings

    for item, instance in objects.read(root, kinds):
        cluster = providers.cluster_of(instance, root, inventory.clusters)
        inventory.cluster_of |= {thing: cluster for thing in _objects([item], inventory) if cluster}
    for release, instance in releases.read(root):
        things: list[Thing] = [Addon(release.address, release.place, release.chart)]
        things += autoscalers.of_release(release)
        things += sharings.of_release(release)
        inventory.addons += [thing for thing in things if isinstance(thing, Addon)]
        inventory.autoscalers += [thing for thing in things if isinstance(thing, Autoscaler)]
        inventory.sharings += [thing for thing in things if isinstance(thing, Sharing)]
        cluster = providers.cluster_of(instance, root, inventory.clusters)
        inventory.cluster_of |= {thing: cluster for thing in things if cluster}


def _manifests(tree: Tree, reading: Reading) -> None:
    from kcheck.kubernetes import objects
    from kcheck.workloads import jobs, queues

    own = [source for source in tree.manifests if source not in reading.filled]
    clusters = {"ClusterConfig": "eksctl", "ClusterConfiguration": "selfmanaged", "Pod": "selfmanaged"}
    manifests = objects.read(
        own, frozenset((*jobs.KINDS, *queues.KINDS, "NodePool", "EC2NodeClass", "Service", *clusters))
    )
    found = {clusters[item.kind] for item in manifests.objects if item.kind in clusters}
    for reader in sorted(found):
        import_module(f"kcheck.clouds.{reader}").read(manifests.objects, reading.inventory)
    # what Terraform deploys from a file of the tree is already there
    deployed = {_label(thing) for thing in (*reading.inventory.workloads, *reading.inventory.addons)}
    rest = [
        item
        for item in manifests.objects
        if item.span.source not in reading.asked
        or not deployed.intersection(map(_label, _objects([item], Inventory())))
    ]
    _objects(rest, reading.inventory)
    reading.problems += manifests.problems
    reading.templates = manifests.template_folders()
    reading.sources += tree.manifests


def _label(thing: Thing) -> str:
    """What tells one object from others of a cluster: its id without the file."""
    return thing.id.rpartition(":")[2]


def _objects(objects: list[Object], inventory: Inventory) -> list[Thing]:
    """Add what objects are to the inventory: workloads, autoscalers, and what shows an add-on."""
    from kcheck import autoscalers
    from kcheck.workloads import jobs, queues

    workload = list(jobs.read(objects))
    found = [autoscaler for item in objects for autoscaler in autoscalers.of_object(item)]
    addons = list(_shown(objects))
    services = list(jobs.services(objects))
    inventory.services += services
    inventory.workloads += workload
    inventory.autoscalers += found
    inventory.addons += addons
    others = list(queues.read(objects))
    for thing in others:
        getattr(inventory, queues.LISTS[type(thing)]).append(thing)
    return [*workload, *found, *addons, *services, *others]


def _shown(objects: list[Object]) -> Iterator[Addon]:
    """What is installed into a cluster, told by objects that only it understands."""
    from kcheck.syntax import yaml

    for item in objects:
        if item.api_version.startswith("karpenter."):
            name = Known("karpenter", Origin((item.span,)))
            label = yaml.get(item.root, "metadata", "name")
            own = label.text if isinstance(label, yaml.Scalar) else "?"
            yield Addon(f"{item.span.source.path}:{item.kind}/{own}", item.span, name, item.root)


def _place(inventory: Inventory, config: Config) -> None:
    """Say on which cluster each workload, add-on and autoscaler runs."""
    roots = [(cluster, [] if cluster.root == "." else cluster.root.split("/")) for cluster in inventory.clusters]
    by_path: dict[str, Cluster | None] = {}

    def cluster_of(thing: Thing) -> Cluster | None:
        path = thing.place.source.path
        if path not in by_path:
            by_path[path] = _cluster_of(path, roots, config)
        return inventory.cluster_of.get(thing) or by_path[path]

    for thing in inventory.placed():
        cluster = cluster_of(thing)
        if cluster is not None:
            inventory.cluster_of[thing] = cluster
    for i, autoscaler in enumerate(inventory.autoscalers):
        cluster = cluster_of(autoscaler) if isinstance(autoscaler.cluster, Unknown) else None
        if cluster is not None:
            inventory.autoscalers[i] = replace(autoscaler, cluster=Known(cluster, Origin((autoscaler.place,))))


def _cluster_of(path: str, roots: list[tuple[Cluster, list[str]]], config: Config) -> Cluster | None:
    """The cluster that the settings name, else the only one, or the one whose root shares most folders with a file."""
    for environment in config.environments:
        if any(matches(path, pattern) for pattern in environment.manifests):
            wanted = (environment.root, environment.name)
            own = [cluster for cluster, _ in roots if (cluster.root, cluster.environment) == wanted]
            return own[0] if len(own) == 1 else None
    folders = path.split("/")[:-1]
    shared = [_common(folders, steps) for _, steps in roots]
    most = max(shared, default=0)
    best = [cluster for (cluster, _), depth in zip(roots, shared, strict=True) if depth == most]
    return best[0] if len(best) == 1 else None


def _common(first: list[str], second: list[str]) -> int:
    """How many leading folders two paths share."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count
