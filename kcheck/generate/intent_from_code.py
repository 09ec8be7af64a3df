"""The intent of an existing cluster, from its code."""

from __future__ import annotations

import re
from collections import Counter
from math import ceil
from typing import TYPE_CHECKING

from kcheck.config import schemas, settings
from kcheck.config.config import ConfigError
from kcheck.files.tree import Tree
from kcheck.generate import recommended
from kcheck.generate.system_nodes import non_training_nodes
from kcheck.model.image_names import parse
from kcheck.reading import inventory
from kcheck.scale.world import World
from kcheck.source.elements import wrap
from kcheck.source.units import minor_version, whole_number
from kcheck.source.values import Known, Origin, known, number
from kcheck.terraform.resource import BlockRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.model import Cluster, NodePool, PodTemplate, Workload
    from kcheck.reading.inventory import Reading
    from kcheck.source.text import Span
    from kcheck.terraform.module import Module

_PROVIDERS = {"eks": "aws", "gke": "google", "ack": "alicloud"}
_PLACES = {"eks": ("aws_subnet", "availability_zone"), "ack": ("alicloud_vswitch", "zone_id")}
"""Where zones are written, if not at the pools."""

_OWN = ("kube-system", "default", "kube-public")


def read(path: str) -> tuple[str, dict[str, object]]:
    """The cloud of the only cluster below a path, and its intent fields.

    Raises:
        ConfigError: there is no cluster there, or more than one.
    """
    config = settings.load([path])
    reading = inventory.read(Tree([path], None, config.exclude, config.boundary), config)
    world = World(reading.inventory, config)
    clusters = reading.inventory.clusters
    if len(clusters) != 1:
        roots = sorted({cluster.root for cluster in clusters})
        more = f": {', '.join(roots[:6])}; name the folder of one" if len(roots) > 1 else ""
        raise ConfigError(f"--from {path}: {len(clusters) or 'no'} clusters there{more}")
    cluster = clusters[0]
    found = {name: value for name, value in _fields(cluster, reading, world) if value not in (None, [], {})}
    return cluster.cloud, {name: value for name, value in found.items() if _is_field(name, value, cluster.place)}


def _is_field(name: str, value: object, place: Span) -> bool:
    """Whether a value is valid in an intent."""
    data = wrap({name: value}, Origin((place,)))
    return isinstance(data, Known) and not schemas.differences(data, "intent", "field", "the intent")


def _fields(cluster: Cluster, reading: Reading, world: World) -> Iterator[tuple[str, object]]:
    """Every field of which something is known."""
    every, usual = world.pools.of_cluster(cluster), recommended.values(cluster.cloud)
    training = _training(every)
    spot = sum(_nodes(pool, world) for pool in training if known(pool.market.spot))
    told = training and cluster.plane is None  # kubeadm tells no nodes apart
    nodes = sum(_nodes(pool, world) for pool in training) if told else _nodes_of_target(cluster, world)
    jobs = [
        one for one in reading.inventory.workloads if one.batch and reading.inventory.cluster_of.get(one) is cluster
    ]
    yield "name", _name(known(cluster.name))
    yield "region", _region(cluster, reading)
    yield "zones", _zones(cluster, training, reading)
    minor, oldest = minor_version(known(cluster.version) or ""), minor_version(str(usual["intent.oldest"])) or 0
    yield "kubernetes", f"1.{minor}" if minor and minor >= oldest else None
    nodes = max(nodes, _nodes_of_largest_job(jobs, training))
    yield "nodes", nodes or None
    yield "machines", _machines(training)
    yield "gpus", next((found for pool in training if (found := known(pool.machine.gpus))), None)
    yield "spot", {"share": spot * 100 // nodes} if spot and nodes else None
    yield "job", _job(jobs, training)
    yield "teams", _teams(reading)
    classes = [one for one in reading.inventory.classes if not one.kueue and isinstance(one.number, Known)]
    ordered = sorted(classes, key=lambda one: number(one.number, 0))
    yield "tiers", [name for one in ordered if (name := known(one.name)) and not name.startswith("system-")]
    yield "scheduler", _scheduler(reading, jobs)
    grown = known(world.autoscaling.tool(cluster))
    able = str(usual["intent.autoscalers"]).split(", ")
    yield "autoscaler", grown if grown in able else None
    yield from _image(jobs)
    yield "network", _network(cluster, reading, world)


def _training(pools: list[NodePool]) -> list[NodePool]:
    """The training pools: those with GPUs, else those without system pods."""
    gpus = [pool for pool in pools if known(pool.machine.gpu)]
    return gpus or [pool for pool in pools if known(pool.mode) != "System" and "system" not in (known(pool.name) or "")]


def _nodes(pool: NodePool, world: World) -> int:
    return known(world.sizes.of_pool(pool)) or 0


def _nodes_of_target(cluster: Cluster, world: World) -> int:
    """The training nodes of a target; all of it if it is too small for others."""
    target = known(world.sizes.target(cluster)) or 0
    least = max(1, target - non_training_nodes(cluster.cloud, target))
    return next((n for n in range(least, target) if n + non_training_nodes(cluster.cloud, n) >= target), target)


def _name(name: str | None) -> str | None:
    """A name that is valid for all parts of a cluster."""
    fit = "".join(c if c.isalnum() else "-" for c in (name or "").lower()).strip("-0123456789")[:20].rstrip("-")
    return fit if len(fit) > 1 else None


def _region(cluster: Cluster, reading: Reading) -> str | None:
    """Of the cluster where it has one, else of the provider."""
    location = known(cluster.location)
    if location and not known(cluster.zonal):
        return str(location)
    for root in reading.roots:
        if _makes(root, cluster):
            for block in root.configuration.providers:
                if block.labels[:1] == (_PROVIDERS.get(cluster.cloud),):
                    return _text(_value(BlockRecord(block, root.scope), "region"))
            for instance in root.instances("azurerm_kubernetes_cluster"):
                return _text(_value(instance, "location"))
    return None


def _makes(root: Module, cluster: Cluster) -> bool:
    """Whether a cluster is of a root module, in the same environment."""
    return root.configuration.folder == cluster.root and root.environment == cluster.environment


def _value(record: BlockRecord, name: str) -> object:
    """An attribute as it is evaluated; None if unknown."""
    found = record.entry(name)
    return known(found) if found is not None else None


def _text(value: object) -> str | None:
    """A name of a place; None for what stands for one."""
    return value if isinstance(value, str) and re.fullmatch(r"[a-z0-9-]+", value) else None


def _zones(cluster: Cluster, pools: list[NodePool], reading: Reading) -> list[str]:
    """The zones of the training pools, else of the subnets."""
    of_pools = {zone for pool in pools for zone in known(pool.placement.zones) or ()}
    own = of_pools | set(known(cluster.node_locations) or ())
    if own or cluster.cloud not in _PLACES:
        return sorted(own)
    kind, attribute = _PLACES[cluster.cloud]
    found = (
        _text(_value(instance, attribute))
        for root in reading.roots
        if _makes(root, cluster)
        for instance in root.instances(kind)
    )
    return sorted({zone for zone in found if zone})


def _machines(pools: list[NodePool]) -> list[str]:
    """Machine types, those on demand first, the most used first."""
    ordered = sorted(pools, key=lambda pool: (known(pool.market.spot) is True, -(known(pool.size.max_nodes) or 0)))
    return list(dict.fromkeys(name for pool in ordered for name in known(pool.machine.instance_types) or ()))


def _largest_job(jobs: list[Workload]) -> tuple[Workload, PodTemplate] | None:
    every = [(job, template) for job in jobs for template in job.templates if known(template.count)]
    return max(every, key=lambda pair: number(pair[1].count, 0), default=None)


def _nodes_of_largest_job(jobs: list[Workload], pools: list[NodePool]) -> int:
    """Nodes of the largest job: one for each of its pods, or as many as its GPUs fill."""
    found = _largest_job(jobs)
    if found is None:
        return 0
    pods, own = number(found[1].count, 0), number(found[1].gpus, 0)
    each = next((gpus for pool in pools if (gpus := known(pool.machine.gpus))), 0)
    return ceil(pods * own / each) if own and each else int(pods)


def _job(jobs: list[Workload], pools: list[NodePool]) -> dict[str, int]:
    """The largest job; its deadline is a multiple of what it takes."""
    nodes, found = _nodes_of_largest_job(jobs, pools), _largest_job(jobs)
    seconds = known(found[0].deadline) if found else None
    usual = 3600 * int(recommended.values("any")["job.deadline"])
    return ({"nodes": nodes} if nodes else {}) | ({"hours": ceil(seconds * 100 / usual)} if seconds else {})


def _teams(reading: Reading) -> list[dict[str, object]]:
    """The namespaces that have a quota of GPUs, with shares by it."""
    found: dict[str, int] = {}
    for quota in reading.inventory.limits:
        name, hard = known(quota.namespace), known(quota.hard) or {}
        gpus = next((count for key, text in hard.items() if key.endswith("/gpu") and (count := whole_number(text))), 0)
        if name and name not in _OWN and quota.kind == "ResourceQuota" and gpus:
            found[name] = gpus
    total = sum(found.values())
    if not total:
        return []
    return [{"name": name, "share": max(1, count * 100 // total)} for name, count in sorted(found.items())]


def _scheduler(reading: Reading, jobs: list[Workload]) -> str | None:
    systems = Counter(known(job.queue_system) for job in jobs)
    kinds = {queue.kind for queue in reading.inventory.queues}
    if systems.get("volcano") or "Queue" in kinds or reading.inventory.schedulers:
        return "volcano"
    return "kueue" if systems.get("kueue") or kinds else None


def _image(jobs: list[Workload]) -> Iterator[tuple[str, str]]:
    """The registry and the image of the largest job, unless a public registry has it."""
    found = _largest_job(jobs)
    texts: Iterable[str | None] = (known(one.text) for one in found[0].images) if found else ()
    for text in texts:
        image = parse(text) if text else None
        if image and image.tag and image.registry not in ("docker.io", "quay.io", "nvcr.io", "ghcr.io"):
            yield "registry", image.registry
            yield "image", f"{image.repository}:{image.tag}"
            return


def _network(cluster: Cluster, reading: Reading, world: World) -> dict[str, object]:
    """What other networks of the same code have."""
    subnets = [subnet for pool in world.pools.of_cluster(cluster) for subnet in known(pool.addresses.subnets) or ()]
    own = {known(subnet.network) for subnet in subnets}
    taken = {cidr for one in reading.inventory.networks if one not in own for cidr in known(one.cidrs) or ()}
    return {"in_use": sorted(taken)} if taken and own else {}
