"""Read each field of an intent from the code of a cluster."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from math import ceil

from kcheck.generate import recommended, selfmanaged, training_pools
from kcheck.generate.recommended import non_training_nodes
from kcheck.generate.training_pools import TrainingPools
from kcheck.inventory.clouds.api_access import EVERYONE
from kcheck.inventory.reading import Reading
from kcheck.model import KUEUE_PRIORITY, Cluster, PodTemplate, Workload
from kcheck.model.image_names import parse
from kcheck.scale.world import World
from kcheck.terraform.resource import BlockRecord
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.need import first_unknown
from kcheck.text.partly_known import plain
from kcheck.text.units import minor_version, whole_number
from kcheck.text.values import NOTHING, Known, Origin, Unknown, Unset, Value, known, number

PROVIDERS = {
    "eks": ("aws", "allowed_account_ids"), "gke": ("google", "project"), "aks": ("azurerm", "subscription_id"),
    "ack": ("alicloud", "account_id"),
}  # fmt: skip
"""Terraform provider of a cloud, and its attribute with the account."""

_INSTALLERS = {"ClusterConfiguration": "kubeadm", "kubespray": "kubespray", "Cluster": "cluster-api"}
"""Installers by the kind of object or inventory that a cluster is read from."""

_MOST_UNREAD = 5

_REGION = "topology.kubernetes.io/region"
_OWN = ("kube-system", "default", "kube-public")
_PUBLIC = ("docker.io", "quay.io", "nvcr.io", "ghcr.io")


def _plain(value: object) -> Known[object]:
    return Known(value, Origin(()))


class CodeReader:
    """Reads the fields of an intent from code, one by one."""

    def __init__(self, cluster: Cluster, reading: Reading, world: World) -> None:
        self.cluster, self.reading, self.world = cluster, reading, world
        self.usual = recommended.values(cluster.cloud)
        self.training: TrainingPools = training_pools.choose(cluster, world)
        own = reading.inventory.cluster_of
        self.jobs = [one for one in reading.inventory.workloads if one.batch and own.get(one) is cluster]
        own_objects = reading.inventory.objects if "intent.installers" in self.usual else ()
        self.objects = selfmanaged.beside(cluster, own_objects)
        if cluster.plane is not None:  # most installers name no machines, nor do they tell training nodes apart
            unread = f"kcheck reads no machine types of a self-managed cluster ({cluster.place.location})"
            self.training.unread = "" if self._gpus_of_pods() else unread
            self.training.unsized, self.training.left_out, self.training.assumed = "", [], []

    def fields(self) -> Iterator[tuple[str, Value[object]]]:
        """Yield every field with its value, or with none if the code does not set it."""
        training, cluster, nodes = self.training, self.cluster, self._nodes()
        yield "name", _name(cluster.name)
        yield "account", self._account()
        yield "region", self._region()
        yield "zones", self._zones()
        yield "kubernetes", self._version()
        yield "nodes", _plain(nodes)
        yield "machines", _plain(training.machines or None)
        yield "gpus", _plain(training.gpus if training.gpus or training.machines else self._gpus_of_pods())
        yield "accelerator", _plain(training.accelerator)
        yield "spot.share", _plain(self._spot(nodes))
        yield "spot.price_cap", _plain(self._price_cap())
        yield from ((f"job.{name}", _plain(value)) for name, value in self._job().items())
        yield "teams", _plain(self._teams(nodes) or None)
        yield "tiers", _plain(self._tiers() or None)
        yield "scheduler", _plain(self._scheduler())
        yield "autoscaler", self._autoscaler()
        yield "installer", _plain(self._installer())
        yield from ((name, _plain(value)) for name, value in self._image())
        yield "network.mode", _plain(self._mode())
        fabric = self._fabric()
        cards = selfmanaged.cards(self.objects, self._resource(fabric or ""))
        unnamed = Unknown(f"the code has {fabric}, but no network cards that kcheck reads", Origin((cluster.place,)))
        yield "network.fabric", unnamed if fabric in selfmanaged.BY_CARDS and not cards else _plain(fabric)
        yield "network.cards", _plain(cards or None)
        yield "network.in_use", _plain(self._in_use() or None)
        yield "network.api_ranges", self._api_ranges()

    def doubts(self) -> Iterator[str]:
        """Yield fields that could not be read, and settings that may mislead."""
        skipped = [one for one in self.reading.skipped if not one.by_choice]
        lines = [f"{one.path}{f':{one.line}' if one.line else ''}: {one.reason}" for one in skipped]
        lines += [f"{one.span.location}: {one.message}" for one in self.reading.problems]
        if self._tiers() and not self._used_tiers():
            yield f"tiers are all priority classes of the code: {', '.join(self._tiers())}; no job there uses one"
        if profiles := known(self.cluster.serverless):
            place = self.cluster.place.location
            yield f"left out: the Fargate profiles {', '.join(profiles)} ({place}); all pods get nodes"
        if lines:
            yield f"not read: {first_ones(lines, _MOST_UNREAD)}"

    # --- where it is

    def _account(self) -> Value[object]:
        """Read the account from the provider, else from the registry's name in an image."""
        _, attribute = PROVIDERS.get(self.cluster.cloud, ("", ""))
        value = self._of_provider(attribute)
        if isinstance(value, Known) and isinstance(value.value, tuple) and value.value:
            value = value.value[0]  # of allowed_account_ids
        if isinstance(value, Known):
            return _plain(plain(value))
        texts = [known(image.text) or "" for job in self.jobs for image in job.images]
        match = next((match for text in texts if (match := self._own_registry.match(text))), None)
        return _plain(match[1]) if match and match.groups() else value

    @cached_property
    def _own_registry(self) -> re.Pattern[str]:
        """Pattern of image names in the cloud's usual registry; its group is the account."""
        pattern = re.escape(str(self.usual["intent.registry"])).replace(r"\{account\}", "([^./]+)", 1)
        return re.compile(re.sub(r"\\\{\w+\\\}", "[^./]+", pattern) + "/")

    def _region(self) -> Value[object]:
        """Read the region from the cluster, else from node labels, else from the provider."""
        location = self.cluster.location
        if isinstance(location, Known):
            text = re.sub(r"\s", "", str(location.value).lower())
            return _plain(text.rpartition("-")[0] if known(self.cluster.zonal) else text)
        pools = self.world.pools.of_cluster(self.cluster) if self.cluster.plane is not None else ()
        labelled = {(known(pool.scheduling.labels) or {}).get(_REGION) for pool in pools} - {None}
        if len(labelled) == 1:
            return _plain(labelled.pop())
        value = self._of_provider("region")
        return value if isinstance(location, Unset) or isinstance(value, Known) else location

    def _of_provider(self, attribute: str) -> Value[object]:
        """Read an attribute of the cloud's provider, preferring the one without alias."""
        provider, _ = PROVIDERS.get(self.cluster.cloud, ("", ""))
        own = self.cluster.root, self.cluster.environment
        found: list[Value[object]] = []
        for root in self.reading.roots:
            if not attribute or (root.configuration.folder, root.environment) != own:
                continue
            for block in sorted(root.configuration.providers, key=lambda block: "alias" in block.body.attributes):
                if block.labels[:1] == (provider,):
                    entry = BlockRecord(block, root.scope).entry(attribute)
                    found += [entry] if isinstance(entry, Known | Unknown) else []
        return next((value for value in found if isinstance(value, Known)), next(iter(found), NOTHING))

    def _zones(self) -> Value[object]:
        """Read the zones from training pools, subnets, the cluster or manifests."""
        pools = self.training.pools or self.world.pools.of_cluster(self.cluster)
        of_pools = {zone for pool in pools for zone in known(pool.placement.zones) or ()}
        subnets = [subnet for pool in pools for subnet in known(pool.addresses.subnets) or ()]
        of_subnets = {zone for subnet in subnets if (zone := known(subnet.zone))}
        own = of_pools or of_subnets or set(known(self.cluster.node_locations) or ())
        own = own or set(selfmanaged.zones(self.objects))
        if not own and known(self.cluster.zonal) and (location := known(self.cluster.location)):
            own = {location}
        if own:
            return _plain(sorted(own))
        unknown = first_unknown(pool.placement.zones for pool in pools)
        return unknown or next((one.zone for one in subnets if isinstance(one.zone, Unknown)), NOTHING)

    # --- what it has

    def _version(self) -> Value[object]:
        minor = minor_version(known(self.cluster.version) or "")
        oldest = str(self.usual["intent.oldest"])
        if minor is None:
            return self.cluster.version
        if minor < (minor_version(oldest) or 0):
            return Unknown(f"1.{minor} is past standard support", self.cluster.version.origin)
        return _plain(f"1.{minor}")

    def _nodes(self) -> int | None:
        """Count training nodes: by the target, else by pools, at least the largest job."""
        asked = self.cluster.plane is not None or self.world.sizes.requested(self.cluster) is not None
        if self.training.unsized and not asked:
            return None
        nodes = self._of_target() if asked else self.training.nodes
        return max(nodes, self._job_nodes()) or None

    def _of_target(self) -> int:
        """Return the training nodes of a target."""
        cloud, target = self.cluster.cloud, known(self.world.sizes.target(self.cluster)) or 0
        least = max(1, target - non_training_nodes(cloud, target))
        return next((n for n in range(least, target) if n + non_training_nodes(cloud, n) >= target), target)

    def _spot(self, nodes: int | None) -> int | None:
        """Return the smallest percentage that covers the spot nodes; None without any."""
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
            return _plain("managed" if "managed" in able else "cluster-autoscaler" if self._grows() else able[0])
        return _plain(tool.value) if tool.value in able else Unknown(f"{tool.value} is not generated", tool.origin)

    def _grows(self) -> bool:
        """Whether Cluster API sets bounds for pools."""
        sizes = [pool.size for pool in self.world.pools.of_cluster(self.cluster) if known(pool.size.autoscaled)]
        return self._installer() == "cluster-api" and any(known(size.max_nodes) is not None for size in sizes)

    def _installer(self) -> str | None:
        kind = self.cluster.address.partition("/")[0]
        return _INSTALLERS.get(kind) if "intent.installers" in self.usual else None

    def _fabric(self) -> str | None:
        """Return the GPU network that jobs request; None if unknown."""
        templates = [one for job in self.jobs for one in job.templates if number(one.gpus, 0)]
        containers = [container for one in templates for container in one.containers]
        if "intent.fabrics" not in self.usual or not templates:
            return None
        asked = {name for container in containers for name, _ in container.extended}
        able = str(self.usual["intent.fabrics"]).split(", ")
        found = [one for one in able if self._resource(one) in asked]
        if found:
            return found[0] if len(found) == 1 else None
        return "none" if not any(container.rdma for container in containers) else None

    def _resource(self, fabric: str) -> str:
        return str(self.usual.get(f"fabric.{fabric.replace('-', '_')}", ""))

    def _mode(self) -> str | None:
        able = str(self.usual["intent.modes"]).split(", ")
        own = (known(self.cluster.network_mode) or "").lower().replace("_", "-"), known(self.cluster.network_plugin)
        return able[0] if len(able) == 1 else next((one for one in own if one in able), None)

    def _in_use(self) -> list[str]:
        pools = self.world.pools.of_cluster(self.cluster)
        own = {known(subnet.network) for pool in pools for subnet in known(pool.addresses.subnets) or ()}
        every = self.reading.inventory.networks
        return sorted({cidr for one in every if own and one not in own for cidr in known(one.cidrs) or ()})

    def _api_ranges(self) -> Value[object]:
        """Read the ranges that reach the API server; Unknown if open to everyone."""
        allowed = self.cluster.api_ranges
        if not isinstance(allowed, Known):
            return allowed if isinstance(allowed, Unknown) else NOTHING
        if any(parse_cidr(cidr) == parse_cidr(EVERYONE) for cidr in allowed.value):
            return Unknown("the code lets every address reach the API server", allowed.origin)
        return _plain(list(allowed.value))

    # --- what runs on it

    def _largest_job(self) -> tuple[Workload, PodTemplate] | None:
        """Find the job with the most pods for training pools."""
        every = [
            (job, one) for job in self.jobs for one in job.templates if known(one.count) and self._is_training(one)
        ]
        return max(every, key=lambda pair: number(pair[1].count, 0), default=None)

    def _is_training(self, pods: PodTemplate) -> bool:
        pools = self.training.pools
        if not pools:
            return True
        if self.training.gpus and not pods.on_accelerators:
            return False
        return any(self.world.pools.fit(pods, pool).fits is not False for pool in pools)

    def _gpus_of_pods(self) -> int | None:
        return max((number(one.gpus, 0) for job in self.jobs for one in job.templates), default=0) or None

    def _job_nodes(self) -> int:
        """Count nodes of the largest job: one per pod, or as many as its GPUs fill."""
        found = self._largest_job()
        if found is None:
            return 0
        pods, own, each = number(found[1].count, 0), number(found[1].gpus, 0), self.training.gpus
        return ceil(pods * own / each) if own and each else int(pods)

    def _job(self) -> dict[str, int]:
        """Read nodes, hours and deadline of the largest job."""
        nodes, found = self._job_nodes(), self._largest_job()
        seconds = known(found[0].deadline) if found else None
        usual = 3600 * int(recommended.values("any")["job.deadline"])
        return ({"nodes": nodes} if nodes else {}) | ({"hours": ceil(seconds * 100 / usual)} if seconds else {})

    def _teams(self, nodes: int | None) -> list[dict[str, object]]:
        """Read teams from namespaces with GPU quotas, with shares by queues."""
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
        found: dict[str, int] = {}
        for queue in self.reading.inventory.queues:
            name, quotas = known(queue.name), known(queue.guaranteed) or {}
            gpus = next((count for resource, count in quotas.items() if resource.endswith("/gpu")), 0)
            if name and gpus:
                found[name] = gpus
        return found

    def _tiers(self) -> list[str]:
        """List the priority classes other than Kubernetes' own, least urgent first."""
        classes = [one for one in self.reading.inventory.classes if not one.kueue and isinstance(one.number, Known)]
        ordered = sorted(classes, key=lambda one: number(one.number, 0))
        names = dict.fromkeys(name for one in ordered if (name := known(one.name)))
        return [name for name in names if not name.startswith("system-")]

    def _used_tiers(self) -> set[str]:
        classes = {known(template.priority) for job in self.jobs for template in job.templates}
        classes |= {(known(job.labels) or {}).get(KUEUE_PRIORITY) for job in self.jobs}
        return {name for name in self._tiers() if name in classes}

    def _scheduler(self) -> str | None:
        systems = Counter(known(job.queue_system) for job in self.jobs)
        kinds = {queue.kind for queue in self.reading.inventory.queues}
        if systems.get("volcano") or "Queue" in kinds or self.reading.inventory.schedulers:
            return "volcano"
        return "kueue" if systems.get("kueue") or kinds else "none" if self.jobs else None

    def _image(self) -> Iterator[tuple[str, str]]:
        """Yield registry and image of the largest job, unless in a public registry."""
        found = self._largest_job()
        containers = [one for one in found[1].containers if not one.init] if found else []
        main = sorted(containers, key=lambda one: not known(one.gpu))  # sidecars of a fabric ask for no GPUs
        for text in filter(None, (known(one.image) for one in main)):
            image = parse(text)
            if image and image.tag and image.registry not in _PUBLIC:
                path, _, name = image.repository.rpartition("/")
                yield "registry", "/".join(filter(None, (image.registry, path)))
                yield "image", f"{name}:{image.tag}"
                return


def first_ones(lines: list[str], most: int) -> str:
    """Join the first lines, and count the rest."""
    more = f"; and {len(lines) - most} more" if len(lines) > most else ""
    return f"{'; '.join(lines[:most])}{more}"


def _name(name: Value[str]) -> Value[object]:
    """Convert a cluster name to a valid one; Unknown if it is too short."""
    if not isinstance(name, Known):
        return name
    fit = "".join(c if c.isalnum() else "-" for c in name.value.lower()).lstrip("-0123456789")[:20].rstrip("-")
    why = f"{name.value} is too short" if name.value else "it is empty"
    return _plain(fit) if len(fit) > 1 else Unknown(why, name.origin)
