"""Add Terraform clusters, machines and deployments of modules to an inventory."""

from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import chain, islice

from kcheck.config.config import Config
from kcheck.config.numbers import names, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.cloud import Cloud
from kcheck.inventory.clouds.reader import blocks_below, identity
from kcheck.inventory.embedded import machines
from kcheck.inventory.reading import Reading
from kcheck.model import Candidates, Cluster, Raw, Reservation, Resource
from kcheck.terraform import missing_modules, providers
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance
from kcheck.terraform.roots import Loader
from kcheck.text import deadline
from kcheck.text.deadline import Tell
from kcheck.text.files.configurations import COMMANDS
from kcheck.text.files.tree import Tree
from kcheck.text.regex import regex
from kcheck.text.text import Problem, Skipped
from kcheck.text.values import Known, Unknown, known


def read(tree: Tree, config: Config, reading: Reading, wanted: Raw, tell: Tell) -> None:
    """Add everything the root modules of a tree declare and deploy."""
    inventory = reading.inventory
    loader = Loader(tree, config, tell)
    reading.roots = loader.roots(registry.cluster_families()) if tree.folders or tree.units else []
    inventory.libraries = frozenset(root.configuration.folder for root in reading.roots if root.is_library)
    reading.blueprints = loader.written(_blueprints(tree))
    roots = [*reading.roots, *_plans(tree, reading), *reading.blueprints]
    kinds = {root: root.kinds() for root in deadline.each(roots, "root modules", tell)}
    for cloud in registry.every():
        if cloud.resources and any(kind.startswith(cloud.resources) for own in kinds.values() for kind in own):
            begins = (*cloud.resources, *cloud.beside)
            own = [root for root in roots if any(kind.startswith(begins) for kind in kinds[root])]
            tell(f"reading {cloud.name} in {len(own):,} of {len(roots):,} root modules")
            cloud.read(own, inventory)
            inventory.reservations += [one for root in own for one in _reservations(root, cloud)]
        for root in (root for root in roots if cloud.cache in kinds[root]):
            found = (cloud.registry_cache(root, instance) for instance in root.instances(cloud.cache))
            inventory.mirrors += [mirror for mirror in found if mirror is not None]
    booted = [machines.read(root, kinds[root]) for root in roots]
    registry.read_objects([item for one in booted for item in one.objects], inventory)
    reading.skipped += [skipped for one in booted for skipped in one.skipped]
    for root, one in zip(roots, booted, strict=True):
        if one.objects or not kinds[root].isdisjoint((*machines.MAKERS, *names.listed("nodes"))):
            import_module("kcheck.inventory.clouds.selfmanaged.makers").read(root, kinds[root], one.objects, inventory)
            nodes = import_module("kcheck.inventory.clouds.selfmanaged.machines")
            reading.machines += nodes.groups(root, kinds[root], one.starts, inventory)
    for root in roots:
        deadline.check()
        _deploy(root, kinds[root], tree, config, reading, wanted)
        types = kinds[root] if wanted.types is None else kinds[root] & wanted.types
        inventory.resources += _resources(root, types)
    reading.skipped += [one for root in roots for one in _unjudged(root, kinds[root], inventory.clusters)]
    reading.skipped += missing_modules.skipped(reading.roots, registry.cluster_families())
    reading.problems += [*loader.problems, *loader.variables.problems]
    reading.problems += [problem for root in roots for module in root.all() for problem in module.problems]
    reading.sources += [source for folder in tree.folders for source in (*folder.terraform, *folder.variables)]
    reading.skipped += [one for root in roots for one in root.budget.skipped()] + loader.skipped
    reading.variables, reading.environments = loader.variables, loader.environments
    reading.asked, reading.filled = loader.asked, loader.templates()


_VARIABLE = regex(r"(!?)var\.(\w+)")
_SWITCH = regex(rf"{_VARIABLE.pattern}(?:\s*&&\s*{_VARIABLE.pattern})*\s*\?\s*1\s*:\s*0")
"""Pattern of a count that is 1 if all its variables are true, or false."""
_NOT_MADE = "cluster not made with these values"
_TAG = "kubernetes.io/cluster/"
"""Tag of machines that are nodes."""


def _unjudged(root: Module, kinds: set[str], clusters: Iterable[Cluster]) -> Iterator[Skipped]:
    """Yield clusters that are not judged, and those no environment creates."""
    table, made = profiles.other_clusters(), {cluster.place for cluster in clusters}
    makers = {one.address.partition("/")[0] for one in clusters if one.root == root.configuration.folder}
    for kind in sorted(one for one in kinds.intersection(table["terraform"]) if one.partition("_")[0] not in makers):
        yield from (registry.unjudged(one.span, one.address) for one in root.instances(kind) if one.span not in made)
    for module, block, address in root.left_out(frozenset(table["judged"])):
        count = block.body.attributes.get("count") if module is root else None
        text = count.value_span.text if count is not None else ""
        flags = [f"--var {one[2]}={'false' if one[1] else 'true'}" for one in _VARIABLE.finditer(text)]
        remedy = f"{' '.join(flags)} makes it" if _SWITCH.fullmatch(text) else ""
        if (place := module.scope.place or block.header) not in made:
            yield Skipped(place.source.path, address, place.begin.line, remedy, by_choice=True, what=_NOT_MADE)
    nodes = () if makers else root.left_out(frozenset(names.listed("nodes")))
    own = ((one.header, name) for _, one, name in nodes if _TAG in one.span.text and not one.header.source.bundled)
    for place, address in islice(own, 1):
        yield Skipped(place.source.path, address, place.begin.line, by_choice=True, what=_NOT_MADE)


def _reservations(root: Module, cloud: Cloud) -> Iterator[Reservation]:
    for instance in root.instances(cloud.reservation) if cloud.reservation in root.kinds() else ():
        fields = Fields(cloud.name, cloud.reservation, instance)
        label = identity(cloud.name, root, instance.address)
        folder, environment = root.configuration.folder, root.environment
        yield fields.record_of(
            Reservation, label, instance.span, instance.address, folder, environment, size=fields.number("size")
        )


def _blueprints(tree: Tree) -> Iterator[tuple[str, Configuration]]:
    for cloud in registry.every():
        kind, reader = cloud.blueprints or ("", "")
        if kind in tree.configurations:
            yield from import_module(f"{cloud.__module__.rpartition('.')[0]}.{reader}").read(tree.configurations)
    if COMMANDS in tree.configurations:
        yield from import_module("kcheck.inventory.clouds.commands").read(tree.configurations)


def _plans(tree: Tree, reading: Reading) -> Iterator[Module]:
    if not tree.plans:
        return
    from kcheck.terraform import plan

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
"""Marks in a module call that passes values to charts."""
_MANIFESTS = regex(r"apiVersion|\b\w*manifests?\b")
"""Marks in a module call that passes objects."""
_IN_CLUSTER = ("helm_", "kubernetes_", "kubectl_", "k8s_")


_CALLS = regex(r'(?:module\.[\w-]+(?:\["(?:\\.|[^"])*"\]|\[[^\]]*\])?\.)*')
"""Module calls at the start of an address."""


def _resources(root: Module, types: Iterable[str]) -> Iterator[Resource]:
    """Yield the instances of some resource types, including those of called modules."""
    folder, environment = root.configuration.folder, root.environment
    where = "" if folder == "." and not environment else f"{folder}{f'@{environment}' if environment else ''}:"
    for kind in sorted(types):
        for instance in root.instances(kind):
            address = instance.address
            if instance.complete:
                module = address[: len(address) - len(_CALLS.sub("", address, count=1))].removesuffix(".")
                yield Resource(f"{where}{address}", instance.span, kind, address, module, instance)


def _deploy(root: Module, kinds: set[str], tree: Tree, config: Config, reading: Reading, wanted: Raw) -> None:
    """Add what resources and published modules deploy."""
    calls = [(call, names, call.block.span.text) for call, names in root.calls_of_others()]
    helm = [(call, names) for call, names, text in calls if _HELM.search(text)]
    applied = [(call, names) for call, names, text in calls if _MANIFESTS.search(text)]
    if not helm and not applied and not any(kind.startswith(_IN_CLUSTER) for kind in kinds):
        return
    from kcheck.inventory import deployed
    from kcheck.inventory.embedded import objects, releases

    inventory, charts = reading.inventory, deployed.charts_of(tree, reading, config)
    places = partial(_cluster_of, root=root, clusters=inventory.clusters)
    for item, instance in chain(objects.read(root, kinds), objects.in_arguments(applied)):
        things = deployed.Objects([item], inventory, charts, wanted).add_all([item])
        inventory.place(things, places(instance))
    for release, instance in chain(releases.read(root), releases.in_arguments(root, helm)):
        inventory.place(deployed.deploy(release, charts, inventory, wanted), places(instance))


def _cluster_of(instance: Instance, root: Module, clusters: list[Cluster]) -> Cluster | Candidates | None:
    """Find the cluster that a resource's provider connects to; None if unknown."""
    here = root.configuration.folder, root.environment
    own = [cluster for cluster in clusters if (cluster.root, cluster.environment) == here]
    if len(own) == 1:
        return own[0]
    block = getattr(instance, "block", None)  # none in a plan
    if block is not None and block.type == "module":  # its arguments name it, if they do
        named = [c for c in own if f"{'.'.join(c.address.split('.')[:2])}." in block.span.text]
        return named[0] if len(named) == 1 else None
    provider = providers.provider_block(instance, root)
    blocks = (provider, *blocks_below(provider, "kubernetes")) if provider is not None else ()  # those of helm
    host = next((host for one in blocks if (host := one.entry("host")) is not None), None)
    symbol = host.symbol if isinstance(host, Unknown) else None
    inner = _INNER.search(symbol.address) if symbol and symbol.attribute == "text" else None
    address = inner[1] if inner else symbol.address if symbol else ""
    found = [c for c in own if f"{c.address}.".startswith(f"{address}.")]
    return found[0] if len(found) == 1 else _asked(address, root, clusters)


_INNER = regex(r"\$\{(.*)\.\w+\}")
"""Address in a text, as in `https://${google_container_cluster.main.endpoint}`."""


def _asked(address: str, root: Module, clusters: list[Cluster]) -> Cluster | Candidates | None:
    """Find the cluster that a data source looks up, or candidates."""
    kind = next((one for one in profiles.other_clusters()["judged"] if f"data.{one}." in f".{address}"), "")
    record = dict(root.sources(kind)).get(address)
    name = record.entry("name") if record is not None else None
    if isinstance(name, Unknown) and len(clusters) > 1:
        what = f"{address} asks for a cluster by name: {name.reason}"
        return Candidates(tuple(clusters), what, "give it in a variable file")
    named = [one for one in clusters if isinstance(name, Known) and known(one.name) == name.value]
    named = [one for one in named if one.environment == root.environment] or named
    return named[0] if len(named) == 1 else None
