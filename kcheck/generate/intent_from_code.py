"""The intent of an existing cluster, from its code: what is read, and what had to be assumed."""

from __future__ import annotations

import os
import re
from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kcheck.config import schemas
from kcheck.config.config import Config, ConfigError
from kcheck.files.disk import Disk
from kcheck.files.tree import Tree
from kcheck.generate import intent as intents
from kcheck.generate import recommended, training_pools
from kcheck.generate.system_nodes import non_training_nodes
from kcheck.generate.training_pools import TrainingPools, because
from kcheck.model.image_names import parse
from kcheck.numbers import machines
from kcheck.reading import inventory
from kcheck.scale.world import World
from kcheck.source.elements import wrap
from kcheck.source.units import minor_version, whole_number
from kcheck.source.values import Known, Origin, Unknown, Unset, known, number, plain
from kcheck.terraform.resource import BlockRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from kcheck.generate.intent import Intent
    from kcheck.model import Cluster, PodTemplate, Workload
    from kcheck.reading.inventory import Reading
    from kcheck.source.text import Span
    from kcheck.source.values import Value
    from kcheck.terraform.module import Module

_PROVIDERS = {
    "eks": ("aws", "allowed_account_ids"), "gke": ("google", "project"), "aks": ("azurerm", "subscription_id"),
    "ack": ("alicloud", "account_id"),
}  # fmt: skip
"""The provider of a cloud, and where it says whose the cluster is."""

_OWN = ("kube-system", "default", "kube-public")
_PUBLIC = ("docker.io", "quay.io", "nvcr.io", "ghcr.io")
_RECORDED = "intent.yaml"
_ABSENT = "not in the code"


class Found(Struct):
    """What is read of a cluster: fields of the intent by their dotted names, and what is not.

    `unclear` says why a field could not be read, `missing` the same of those without which nothing is made; `left_out`
    are sentences about what of the code no intent can say. There may be a `recorded` intent beside the code.
    """

    cloud: str
    fields: dict[str, object] = field(default_factory=dict)
    unclear: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    recorded: bool = False


class Source(NamedTuple):
    """Paths with the code of a cluster, how they are read, and the name of the cluster where there are several."""

    paths: tuple[str, ...]
    config: Config
    cluster: str = ""

    def __str__(self) -> str:
        return f"--from {' --from '.join(self.paths)}"


def intent_of(source: Source, cloud: str | None, given: Mapping[str, object]) -> Intent:
    """The intent of the cluster below some paths; `given` fields win over what the code says.

    An intent file beside the code says what code cannot, as far as the code still is what follows from it.

    Raises:
        ConfigError: there is no cluster there, or more than one, it is of another `cloud`, or it is unknown what
            machines it has or how many.
    """
    found = read(source)
    if cloud and cloud != found.cloud:
        raise ConfigError(f"{source} is a cluster on {found.cloud}, not on {cloud}")
    _recall(found, source)
    given = flat(given)
    lacking = {name: why for name, why in found.missing.items() if name not in given}
    if lacking:
        reasons = dict.fromkeys(lacking.values())
        told = "; ".join(
            f"{' and '.join(name for name in lacking if lacking[name] == why)} cannot be read: {why}" for why in reasons
        )
        raise ConfigError(f"{source}: {told}; give {_remedy(lacking)}")
    return _completed(found, given, source)


def _remedy(lacking: Mapping[str, str]) -> str:
    """What to add to the command, so that nothing is missing."""
    ways = ["--nodes" if name == "nodes" else f"{name}: in a file with --intent" for name in lacking]
    told = " and ".join(ways)
    return f"{told}, or --var-file" if any("var." in why for why in lacking.values()) else told


def _completed(found: Found, given: Mapping[str, object], source: Source) -> Intent:
    """The intent with what is assumed: fields of the code that do not go together are left out, too."""
    from kcheck.generate.assembly import drafted

    fields, unclear = dict(found.fields), dict(found.unclear)
    while True:
        try:
            made = intents.with_defaults(found.cloud, nested({**fields, **given}))
        except ConfigError as error:
            top = re.split(r"[.:]", str(error))[0]
            own = [name for name in fields if name.partition(".")[0] == top and name not in given]
            if not own or top in ("machines", "nodes", "gpus"):
                raise ConfigError(f"{source}: {error}") from error
            unclear |= dict.fromkeys(own, str(error).partition(": ")[2])
            for name in own:
                del fields[name]
            continue
        mode, usual = fields.get("network.mode"), str(recommended.values(found.cloud)["intent.mode"])
        if mode in (None, usual) or "network.mode" in given or drafted(made) is not None:
            break
        unclear["network.mode"] = f"{mode} of the code is impossible for this cluster"
        del fields["network.mode"]
    return _with_assumptions(made, found, unclear, given.keys(), given.keys() | fields.keys())


def _with_assumptions(
    made: Intent, found: Found, unclear: Mapping[str, str], given: Collection[str], told: Collection[str]
) -> Intent:
    """An intent that lists what nobody `told`, and what of the code is left out."""
    before = [line for line in made.assumed if line.partition(":")[0] not in given]
    usual = {name: value for name, value in _values(made).items() if name not in told}
    now = [f"{name}: {value}; {unclear[name]}" for name, value in usual.items() if name in unclear]
    if not found.recorded and (absent := [f"{name} {value}" for name, value in usual.items() if name not in unclear]):
        now.append(f"{_ABSENT}: {'; '.join(absent)}")
    return replace(made, assumed=tuple(dict.fromkeys([*before, *now, *found.left_out])))


def _values(made: Intent) -> dict[str, str]:
    """The fields of an intent that have to be said by somebody, as they are written."""
    several = len(str(recommended.values(made.cloud)["intent.modes"]).split(", ")) > 1
    found = {
        "name": made.name, "account": made.account, "region": made.region, "zones": ", ".join(made.zones),
        "kubernetes": made.kubernetes, "machines": ", ".join(made.machines), "gpus": str(made.gpus),
        "job.nodes": f"{made.job_nodes:,}", "job.hours": f"{made.job_hours:,}",
        "teams": ", ".join(f"{team.name} {team.share}%" for team in made.teams), "tiers": ", ".join(made.tiers),
        "scheduler": made.scheduler, "autoscaler": made.autoscaler, "installer": made.installer,
        "registry": made.registry, "image": made.image, "network.mode": made.mode if several else "",
        "network.range": made.range or "chosen by size",
        "network.api_ranges": ", ".join(made.api_ranges) or "none",
    }  # fmt: skip
    if machines.machine(made.cloud, made.machine) is not None:
        del found["gpus"]
    return {name: value for name, value in found.items() if value}


def flat(fields: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested fields by dotted names."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def nested(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields by dotted names, nested again."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        outer, _, inner = name.partition(".")
        if inner:
            own = found.setdefault(outer, {})
            assert isinstance(own, dict)  # noqa: S101 - no name is both
            own[inner] = value
        else:
            found[name] = value
    return found


# --- the intent that was written down


def _recall(found: Found, source: Source) -> None:
    """Take fields of the intent file beside the code where the code still says what follows from that file."""
    recorded = _recorded(source)
    if recorded is None:
        return
    from kcheck.generate.assembly import as_tree, drafted

    try:
        files = drafted(intents.with_defaults(found.cloud, recorded))
    except ConfigError:
        return
    if files is None:
        return
    tree, config = as_tree(files)
    try:
        then = _read(inventory.read(tree, config), config, source)
    except ConfigError:
        return
    found.recorded = True
    for name, value in flat(recorded).items():
        if found.fields.get(name) == then.fields.get(name):
            found.fields[name] = value
            found.missing.pop(name, None)
    found.left_out = [line for line in found.left_out if line not in then.left_out]


def _recorded(source: Source) -> dict[str, object] | None:
    """The intent file beside the code; None if there is none that is valid."""
    for folder in source.paths:
        path = os.path.join(folder, _RECORDED)
        if Disk(boundary=source.config.boundary).read(path) is not None:
            try:
                return intents.load(path)
            except ConfigError:
                return None
    return None


# --- the code


def read(source: Source) -> Found:
    """What the code of the only cluster below some paths says.

    Raises:
        ConfigError: there is no cluster there, or more than one.
    """
    config = source.config
    return _read(
        inventory.read(Tree(list(source.paths), None, config.exclude, config.boundary), config), config, source
    )


def _read(reading: Reading, config: Config, source: Source) -> Found:
    world = World(reading.inventory, config)
    cluster = _only(reading.inventory.clusters, source)
    found = Found(cluster.cloud)
    reader = _Reader(cluster, reading, world)
    for name, value in reader.fields():
        if isinstance(value, Known):
            if value.value in (None, [], {}, ""):
                continue
            if _is_field(name, value.value, cluster.place):
                found.fields[name] = value.value
            else:
                found.unclear[name] = f"{value.value} of the code is nothing that an intent can say"
        elif why := because(value, cluster.place).removeprefix(": "):
            found.unclear[name] = why
    training = reader.training
    if training.unread:
        found.missing["machines"] = training.unread
    if "nodes" not in found.fields:
        found.missing["nodes"] = training.unsized or training.unread or "the maxima of the pools are 0"
    found.left_out = [*training.assumed, *training.left_out]
    return found


def _only(clusters: list[Cluster], source: Source) -> Cluster:
    """The cluster that is meant.

    Raises:
        ConfigError: it is not there, or there are others.
    """
    named = [one for one in clusters if source.cluster in ("", one.address, one.id, known(one.name))]
    if len(named) == 1:
        return named[0]
    if not named and clusters:
        names = sorted({known(one.name) or one.address for one in clusters})
        raise ConfigError(f"{source}: no cluster {source.cluster} there, but {', '.join(names[:6])}")
    if not named:
        raise ConfigError(f"{source}: no clusters there")
    names = sorted({known(cluster.name) or cluster.address for cluster in named})
    roots = sorted({cluster.root for cluster in named})
    ways = [f"name the folder of one ({', '.join(roots[:6])})"] if len(roots) > 1 else []
    ways += [f"choose one with --cluster ({', '.join(names[:6])})"] if len(names) > 1 else []
    raise ConfigError(f"{source}: {len(named)} clusters there; {' or '.join(ways) or 'they have the same name'}")


def _is_field(name: str, value: object, place: Span) -> bool:
    """Whether a value is valid in an intent."""
    data = wrap(nested({name: value}), Origin((place,)))
    return isinstance(data, Known) and not schemas.differences(data, "intent", "field", "the intent")


def _plain(value: object) -> Known[object]:
    return Known(value, Origin(()))


class _Reader:
    """Reads the fields of an intent one by one."""

    def __init__(self, cluster: Cluster, reading: Reading, world: World) -> None:
        self.cluster, self.reading, self.world = cluster, reading, world
        self.usual = recommended.values(cluster.cloud)
        self.training: TrainingPools = training_pools.choose(cluster, world)
        own = reading.inventory.cluster_of
        self.jobs = [one for one in reading.inventory.workloads if one.batch and own.get(one) is cluster]
        if cluster.plane is not None:  # kubeadm names no machines: it does not tell training nodes apart
            self.training.unread = "" if self._gpus_of_pods() else "kubeadm's configuration names no machines"
            self.training.unsized, self.training.left_out, self.training.assumed = "", [], []

    def fields(self) -> Iterator[tuple[str, Value[object]]]:
        """Every field with its value; one that nothing says has none."""
        training, cluster, nodes = self.training, self.cluster, self._nodes()
        yield "name", _name(cluster.name)
        yield "account", self._account()
        yield "region", self._region()
        yield "zones", self._zones()
        yield "kubernetes", self._version()
        yield "nodes", _plain(nodes)
        yield "machines", _plain(training.machines)
        yield "gpus", _plain(training.gpus if training.gpus or training.machines else self._gpus_of_pods())
        yield "spot.share", _plain(self._spot(nodes))
        yield "spot.price_cap", _plain(self._price_cap())
        yield from ((f"job.{name}", _plain(value)) for name, value in self._job().items())
        yield "teams", _plain(self._teams(nodes))
        yield "tiers", _plain(self._tiers())
        yield "scheduler", _plain(self._scheduler())
        yield "autoscaler", self._autoscaler()
        yield from ((name, _plain(value)) for name, value in self._image())
        yield "network.mode", _plain(self._mode())
        yield "network.in_use", _plain(self._in_use())

    # --- where it is

    def _account(self) -> Value[object]:
        """The account in the provider's settings, else in the name of the registry."""
        _, attribute = _PROVIDERS.get(self.cluster.cloud, ("", ""))
        value = self._of_provider(attribute)
        if isinstance(value, Known):
            own = plain(value)
            return _plain(own[0] if isinstance(own, list) and own else own)
        pattern = re.escape(str(self.usual["intent.registry"])).replace(r"\{account\}", "([^./]+)", 1)
        pattern = re.sub(r"\\\{\w+\\\}", "[^./]+", pattern)
        texts = [known(image.text) or "" for job in self.jobs for image in job.images]
        match = next((match for text in texts if (match := re.match(pattern, text))), None)
        return _plain(match[1]) if match and match.groups() else value

    def _region(self) -> Value[object]:
        """Of the cluster where it has one, else of the provider."""
        location = self.cluster.location
        if isinstance(location, Known):
            text = re.sub(r"\s", "", str(location.value).lower())
            return _plain(text.rpartition("-")[0] if known(self.cluster.zonal) else text)
        value = self._of_provider("region")
        return value if isinstance(location, Unset) or isinstance(value, Known) else location

    def _of_provider(self, attribute: str) -> Value[object]:
        """An attribute of the cloud's provider; the one without an alias first."""
        provider, _ = _PROVIDERS.get(self.cluster.cloud, ("", ""))
        found: list[Value[object]] = []
        for root in self.reading.roots:
            if not attribute or not _makes(root, self.cluster):
                continue
            for block in sorted(root.configuration.providers, key=lambda block: "alias" in block.body.attributes):
                if block.labels[:1] == (provider,):
                    entry = BlockRecord(block, root.scope).entry(attribute)
                    found += [entry] if isinstance(entry, Known | Unknown) else []
        return next((value for value in found if isinstance(value, Known)), next(iter(found), Unset(Origin(()))))

    def _zones(self) -> Value[object]:
        """The zones of the training pools, else of their subnets, else of the cluster."""
        pools = self.training.pools or self.world.pools.of_cluster(self.cluster)
        of_pools = {zone for pool in pools for zone in known(pool.placement.zones) or ()}
        subnets = [subnet for pool in pools for subnet in known(pool.addresses.subnets) or ()]
        of_subnets = {zone for subnet in subnets if (zone := known(subnet.zone))}
        own = of_pools or of_subnets or set(known(self.cluster.node_locations) or ())
        if not own and known(self.cluster.zonal):
            own = {str(known(self.cluster.location))}
        if own:
            return _plain(sorted(own))
        unknown = next((pool.placement.zones for pool in pools if isinstance(pool.placement.zones, Unknown)), None)
        return unknown or next((one.zone for one in subnets if isinstance(one.zone, Unknown)), Unset(Origin(())))

    # --- what it has

    def _version(self) -> Value[object]:
        minor = minor_version(known(self.cluster.version) or "")
        oldest = str(self.usual["intent.oldest"])
        if minor is None:
            return self.cluster.version
        if minor < (minor_version(oldest) or 0):
            return Unknown(f"1.{minor} is out of its standard support", self.cluster.version.origin)
        return _plain(f"1.{minor}")

    def _nodes(self) -> int | None:
        """Training nodes: of a target that somebody asked for, else of the pools; at least those of the largest job."""
        asked = self.cluster.plane is not None or self.world.sizes.requested(self.cluster) is not None
        nodes = self._of_target() if asked else 0 if self.training.unsized else self.training.nodes
        return max(nodes, self._job_nodes()) or None

    def _of_target(self) -> int:
        """The training nodes of a target; all of it if it is too small for others."""
        cloud, target = self.cluster.cloud, known(self.world.sizes.target(self.cluster)) or 0
        least = max(1, target - non_training_nodes(cloud, target))
        return next((n for n in range(least, target) if n + non_training_nodes(cloud, n) >= target), target)

    def _spot(self, nodes: int | None) -> int | None:
        """Percent of the nodes that is spot: the least that is as many nodes."""
        if not nodes or not self.training.spot:
            return None
        if self.training.spot == self.training.nodes:
            return 100
        spot = nodes - (self.training.nodes - self.training.spot)
        return max(1, min(99, ceil(spot * 100 / nodes)))

    def _price_cap(self) -> float | None:
        caps = {cap for pool in self.training.pools for cap in (known(pool.market.price_caps) or {}).values()}
        cap = caps.pop() if len(caps) == 1 else ""
        return float(cap) if re.fullmatch(r"\d+(\.\d+)?", cap) and float(cap) else None

    def _autoscaler(self) -> Value[object]:
        tool = self.world.autoscaling.tool(self.cluster)
        able = str(self.usual["intent.autoscalers"]).split(", ")
        if not isinstance(tool, Known):
            return tool if isinstance(tool, Unknown) else _plain("none" if "none" in able else None)
        if tool.value == self.cluster.cloud:
            return _plain("managed" if "managed" in able else able[0])
        return _plain(tool.value) if tool.value in able else Unknown(f"{tool.value} is not generated", tool.origin)

    def _mode(self) -> str | None:
        """How pods get addresses, by the name that intents have for it."""
        able = str(self.usual["intent.modes"]).split(", ")
        own = (known(self.cluster.network_mode) or "").lower().replace("_", "-"), known(self.cluster.network_plugin)
        return able[0] if len(able) == 1 else next((one for one in own if one in able), None)

    def _in_use(self) -> list[str]:
        """What other networks of the same code have."""
        pools = self.world.pools.of_cluster(self.cluster)
        own = {known(subnet.network) for pool in pools for subnet in known(pool.addresses.subnets) or ()}
        every = self.reading.inventory.networks
        return sorted({cidr for one in every if own and one not in own for cidr in known(one.cidrs) or ()})

    # --- what runs on it

    def _largest_job(self) -> tuple[Workload, PodTemplate] | None:
        every = [(job, template) for job in self.jobs for template in job.templates if known(template.count)]
        return max(every, key=lambda pair: number(pair[1].count, 0), default=None)

    def _gpus_of_pods(self) -> int | None:
        return max((number(one.gpus, 0) for job in self.jobs for one in job.templates), default=0) or None

    def _job_nodes(self) -> int:
        """Nodes of the largest job: one for each of its pods, or as many as its GPUs fill."""
        found = self._largest_job()
        if found is None:
            return 0
        pods, own, each = number(found[1].count, 0), number(found[1].gpus, 0), self.training.gpus
        return ceil(pods * own / each) if own and each else int(pods)

    def _job(self) -> dict[str, int]:
        """The largest job; its deadline is a multiple of what it takes."""
        nodes, found = self._job_nodes(), self._largest_job()
        seconds = known(found[0].deadline) if found else None
        usual = 3600 * int(recommended.values("any")["job.deadline"])
        return ({"nodes": nodes} if nodes else {}) | ({"hours": ceil(seconds * 100 / usual)} if seconds else {})

    def _teams(self, nodes: int | None) -> list[dict[str, object]]:
        """The namespaces with quotas of GPUs, with shares by their queues, else by the quotas."""
        quotas: dict[str, int] = {}
        for quota in sorted(self.reading.inventory.limits, key=lambda one: (one.place.source.path, one.place.start)):
            name, hard = known(quota.namespace), known(quota.hard) or {}
            gpus = next((n for key, text in hard.items() if key.endswith("/gpu") and (n := whole_number(text))), 0)
            if name and name not in _OWN and quota.kind == "ResourceQuota" and gpus:
                quotas[name] = gpus
        queues = self._queues()
        shares = {name: queues[name] for name in quotas} if quotas and quotas.keys() <= queues.keys() else quotas
        every = (nodes or 0) * (self.training.gpus or self._gpus_of_pods() or 0)
        total = max(every, sum(shares.values()))
        return [{"name": name, "share": max(1, round(count * 100 / total))} for name, count in shares.items()]

    def _queues(self) -> dict[str, int]:
        """GPUs that queues guarantee, by their names."""
        found: dict[str, int] = {}
        for queue in self.reading.inventory.queues:
            name, quotas = known(queue.name), known(queue.guaranteed) or {}
            gpus = next((count for resource, count in quotas.items() if resource.endswith("/gpu")), 0)
            if name and gpus:
                found[name] = gpus
        return found

    def _tiers(self) -> list[str]:
        """The priority classes that are not of Kubernetes, the least urgent first."""
        classes = [one for one in self.reading.inventory.classes if not one.kueue and isinstance(one.number, Known)]
        ordered = sorted(classes, key=lambda one: number(one.number, 0))
        names = dict.fromkeys(name for one in ordered if (name := known(one.name)))
        return [name for name in names if not name.startswith("system-")]

    def _scheduler(self) -> str | None:
        systems = Counter(known(job.queue_system) for job in self.jobs)
        kinds = {queue.kind for queue in self.reading.inventory.queues}
        if systems.get("volcano") or "Queue" in kinds or self.reading.inventory.schedulers:
            return "volcano"
        return "kueue" if systems.get("kueue") or kinds else "none" if self.jobs else None

    def _image(self) -> Iterator[tuple[str, str]]:
        """The registry and the image of the largest job, unless a public registry has it."""
        found = self._largest_job()
        texts: Iterable[str | None] = (known(one.text) for one in found[0].images) if found else ()
        for text in texts:
            image = parse(text) if text else None
            if image and image.tag and image.registry not in _PUBLIC:
                path, _, name = image.repository.rpartition("/")
                yield "registry", "/".join(filter(None, (image.registry, path)))
                yield "image", f"{name}:{image.tag}"
                return


def _name(name: Value[str]) -> Value[object]:
    """A name that is valid for all parts of a cluster."""
    if not isinstance(name, Known):
        return name
    fit = "".join(c if c.isalnum() else "-" for c in name.value.lower()).strip("-0123456789")[:20].rstrip("-")
    return _plain(fit) if len(fit) > 1 else Unknown(f"{name.value} is too short", name.origin)


def _makes(root: Module, cluster: Cluster) -> bool:
    """Whether a cluster is of a root module, in the same environment."""
    return root.configuration.folder == cluster.root and root.environment == cluster.environment
