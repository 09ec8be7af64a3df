"""The words of the rules: what each subject's fields are called, what they mean, and where they come from.

A view is the plain data that CEL sees of one subject. Unknown fields are absent from it, unset ones are null.
Lists and records of other subjects hold their plain fields only, so a view is finite and has no cycles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from kcheck import demands
from kcheck.derive import basics, gpus, limits, needs, plane, pools, ranges, scaling, spot, wider
from kcheck.model import NOTHING, Autoscaler, Cluster, NodePool, PodRange, Subnet, Thing
from kcheck.values import Origin, Unknown, Unset, known, reason_of
from kcheck.walls.model import Wall
from kcheck.words import pods as pods_words
from kcheck.words import queues as queue_words
from kcheck.words.field import Field, made, simple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.text import Span
    from kcheck.world import World

ID = "_id"


_TARGET = made(
    "target", "int", "nodes the cluster is meant to reach: --nodes, else the sum of its pools' maxima",
    lambda cluster, world: world.target(cluster), "nodes",
)  # fmt: skip

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "cluster": (
        made("cloud", "string", "eks, gke, aks, ack or selfmanaged", lambda c, _w: basics.computed(c, c.cloud)),
        simple("name", "string", "the cluster's name"),
        simple("version", "string", "Kubernetes version as written"),
        simple("location", "string", "region or zone as written"),
        simple("zonal", "bool", "whether its control plane is in one zone (GKE)"),
        simple("provisioned", "bool", "whether the cloud adds nodes beside the pools: Autopilot, EKS Auto Mode, node auto-provisioning"),
        simple("tier", "string", "control-plane tier: Free, Standard, Premium (AKS), standard, tier-xl ... (EKS)"),
        simple("network_plugin", "string", "what gives pods their network: azure, kubenet, none (AKS), vpc-cni (EKS)"),
        simple("network_mode", "string", "node-subnet or overlay, of the azure plugin; VPC_NATIVE or ROUTES (GKE)"),
        simple("network_policy", "string", "what enforces network policies"),
        made("prefix_delegation", "bool", "whether nodes take blocks of addresses for their pods (EKS)",
              lambda c, _w: c.cni.prefix_delegation if c.cni else NOTHING, nullable=True),
        simple("service_cidr", "string", "range of services"),
        simple("outbound_type", "string", "how nodes reach the internet"),
        simple("outbound_ips", "int", "public addresses of the outbound load balancer", "addresses"),
        simple("load_balancer", "string", "standard or basic (AKS)"),
        simple("backend_type", "string", "NodeIP or NodeIPConfiguration: how nodes are behind the load balancer (AKS)"),
        simple("outbound_ports", "int", "outbound ports that a node has for itself; 0 where the cloud divides them (AKS)", "ports"),
        simple("data_plane", "string", "what moves packets: azure or cilium (AKS), ADVANCED_DATAPATH ... (GKE)"),
        simple("security_group", "string", "basic or enterprise (ACK)"),
        made("minor", "int", "minor version of Kubernetes", plane.minor, nullable=True),
        made("services", "int", "Services of the manifests that take an address", plane.services, "services"),
        made("service_addresses", "int", "addresses that Services can have; null without a range", needs.service_addresses, "addresses", nullable=True),
        made("quotas", "string", "the quotas that its target needs, with their codes; null if none is known", needs.asked, nullable=True),
        made("sufficient_outbound_ips", "int", "public addresses with room for the outbound ports of all nodes",
              needs.outbound_addresses, "addresses", nullable=True),
        made("device_plugin", "bool", "whether a device plugin for GPUs is installed by the same code", needs.device_plugin),
        made("etcd_data_dir", "string", "folder of etcd's data (self-managed)", plane.setting("data_dir"), nullable=True),
        made("etcd_quota", "int", "most that etcd's database may have (self-managed)", plane.setting("etcd_quota"), "bytes", nullable=True),
        made("events_apart", "bool", "whether events have an etcd of their own (self-managed)", plane.events_apart, nullable=True),
        made("reads_inflight", "int", "reads that the API server takes at a time (self-managed)", plane.setting("reads_inflight"), "requests", nullable=True),
        made("writes_inflight", "int", "writes that it takes at a time (self-managed)", plane.setting("writes_inflight"), "requests", nullable=True),
        made("controller_qps", "int", "requests a second of the controllers (self-managed)", plane.setting("controller_qps"), nullable=True),
        made("heartbeats", "int", "writes a second by which its kubelets say that they live", plane.heartbeats),
        made("creation_time", "int", "how long its controllers take to create a pod for each node (self-managed)", plane.creation_time, "seconds", nullable=True),
        _TARGET,
        made("max_nodes", "int", "sum of the pools' maxima", lambda c, w: w.maximum(c), "nodes"),
        made("asked", "int", "nodes asked for by --nodes or in the settings; null if none were",
              lambda c, w: basics.computed(c, w.asked(c)), "nodes", nullable=True),
        made("autoscaled", "bool", "whether any pool is autoscaled", pools.autoscaled),
        made("plain", "bool", "whether any of its pools is without GPUs, so that other pods have a place", pools.plain),
        made("grown_by", "string", "what grows its pools: aks, gke, auto-mode, karpenter, cluster-autoscaler; null if nothing is found",
              lambda c, w: w.grown_by(c), nullable=True),
        made("deployed_here", "bool", "whether something that is installed into it is in the same code", pools.deployed_here),
        made("batch", "bool", "whether it is for jobs: a GPU or spot pool, or a Job among its manifests", pools.batch),
        made("pools_count", "int", "number of its node pools", lambda c, w: basics.count(c, w.all_pools(c)), "pools"),
        made("zones", "int", "zones, or subnets, that its widest pool is spread over", pools.widest),
        made("whole_gpu_pods", "int", "pods that run for ever with one whole GPU each", gpus.whole_cards, "pods"),
        made("shares_gpus", "bool", "whether anything in the code shares cards", gpus.shared),
        Field("pools", "records", "pool", "", False, "its node pools", lambda c, w: w.all_pools(c)),
    ),
    "pool": (
        simple("name", "string", "the pool's name"),
        simple("mode", "string", "System or User (AKS)"),
        simple("autoscaled", "bool", "whether an autoscaler sets its size", nullable=False),
        simple("min_nodes", "int", "smallest size", "nodes", nullable=False),
        simple("max_nodes", "int", "largest size; the fixed size of a pool that is not autoscaled", "nodes", nullable=False),
        made("nodes", "int", "nodes when the cluster reaches its target", lambda p, w: w.nodes(p), "nodes"),
        made("max_count", "int", "largest size as it is written: per zone on GKE", pools.max_count),
        made("wanted_nodes", "int", "nodes that its biggest job or the target needs", pools.wanted_nodes, "nodes"),
        made("wanted_count", "int", "wanted_nodes as it would be written", pools.wanted_count),
        made("wanted", "string", "what wants them, with its verb", pools.wanted),
        made("size_is_default", "bool", "whether its maximum is a module's default", lambda p, _w: basics.is_default(p, p.max_nodes)),
        made("counted_nodes", "int", "nodes that the cloud's limit of a pool counts: those of the fullest zone (GKE), with surge (AKS), all (EKS)",
              pools.counted, "nodes"),
        made("jobs_need", "int", "nodes that the biggest GPU workload of its cluster fills; null if there is none",
              pools.jobs_need, "nodes", nullable=True),
        made("managed", "bool", "whether the cloud runs the group, not the user", lambda p, _w: basics.computed(p, p.managed)),
        simple("instance_types", "string", "machine types", kind="list"),
        simple("gpu", "bool", "whether its nodes have GPUs or other accelerators", nullable=False),
        simple("max_pods", "int", "pods a node may run", "pods"),
        made("surge_nodes", "int", "nodes that an upgrade adds", pools.surge, "nodes"),
        made("addresses_per_node", "int", "addresses one node takes of its subnet",
              demands.addresses_per_node, "addresses"),
        made("crowded", "bool", "whether a subnet of its nodes is full before its clusters reach their targets", pools.crowded),
        made("idle_cost", "string", "what its smallest size costs an hour, in brackets; empty without a price", pools.idle_cost),
        made("pod_addresses_per_node", "int", "addresses that one node takes for its pods: a block, or one each", pools.pod_addresses, "addresses"),
        made("pod_addresses_if_few", "int", "the same for the pods that a GPU node runs", pools.pod_addresses_if_few, "addresses"),
        simple("spot", "bool", "whether its nodes are spot"),
        simple("taints", "string", "its taints, key=value:Effect", kind="list"),
        made("closed", "bool", "whether a taint keeps pods away that do not tolerate it", pools.closed),
        made("zones", "int", "zones, or subnets, that its nodes are spread over", pools.zones),
        made("times", "int", "by how many zones its written size is multiplied", lambda p, _w: basics.computed(p, p.times)),
        made("parallel_upgrades", "int", "nodes that an upgrade replaces at a time", pools.parallel, "nodes", nullable=True),
        made("sufficient_parallel", "int", "a tenth of them, as far as the cloud allows; null where a percentage is written",
              pools.sufficient_parallel, "nodes", nullable=True),
        made("upgrade_rounds", "int", "how often it does that until it is through", pools.rounds),
        simple("drain_timeout", "int", "how long an upgrade waits for the pods of a node", "seconds", nullable=False),
        simple("disk_type", "string", "type of the boot disks"),
        simple("disk_size", "int", "size of the boot disks in GB"),
        simple("image", "string", "what the nodes run: AMI type (EKS), image type (GKE)"),
        made("efa", "int", "EFA interfaces of a node that take an address", pools.efa_of("efa"), nullable=True),
        made("efa_only", "int", "EFA interfaces of a node that take none", pools.efa_of("efa-only"), nullable=True),
        made("nvme", "int", "GB of local disks of its smallest machine (EKS)", pools.nvme, "GB"),
        simple("local_disks", "bool", "whether the start-up of a node joins them; null where nothing is written"),
        simple("charge", "string", "PostPaid or PrePaid (ACK)"),
        simple("deployment_set", "string", "deployment set of its machines (ACK)"),
        made("biggest_job", "string", "the biggest GPU job that fits its nodes; null if there is none", pools.job_pods, nullable=True),
        made("only_type", "string", "its machine type, if it has one only; null if it has several", spot.only_type, nullable=True),
        made("fallback", "bool", "whether another pool takes the pods of a spot pool on demand, with an autoscaler", spot.fallback),
        made("zones_left", "int", "zones, or subnets, that a spot pool could be in too; 0 where something keeps its nodes together", spot.zones_left),
        simple("bid", "string", "how a spot pool bids: SpotAsPriceGo, SpotWithPriceLimit (ACK)"),
        made("price_caps", "int", "machine types for which a most is written that a spot pool pays", spot.caps, nullable=True),
        made("uncapped", "string", "machine types without one, where another has one; null if all have", spot.uncapped, nullable=True),
        made("low_cap", "string", "a cap below the list price on demand, with both; null where there is none", spot.low_cap, nullable=True),
        Field("subnets", "records", "subnet", "", False, "the subnets of its nodes", pools.subnets_of),
        Field("cluster", "record", "cluster", "", False, "its cluster", basics.cluster_of),
    ),
    "subnet": (
        simple("name", "string", "the subnet's name"),
        simple("cidr", "string", "its IPv4 range", nullable=False),
        made("prefix", "int", "length of its prefix", ranges.prefix),
        made("usable_addresses", "int", "addresses that are not reserved by the cloud", demands.room, "addresses"),
        made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
        made("addresses_needed", "int", "addresses its pools need at least at their sizes, surge included",
              ranges.needed, "addresses"),
        made("needs", "string", "addresses_needed, or at least so many where not all of it is known", ranges.needs),
        made("overflows", "bool", "whether it is full before its clusters reach their targets", demands.overflows),
        made("sum", "string", "the arithmetic of addresses_needed",
              ranges.arithmetic, nullable=True),
        made("by_default", "bool", "whether it is too small only because of sizes that nobody wrote", ranges.by_default),
        made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True),
        made("addresses_per_node", "int", "addresses of the hungriest node in it", ranges.widest, "addresses"),
        made("room", "int", "how many of these nodes fit, no surge", ranges.room, "nodes"),
        made("holds_pods", "bool", "whether pods take addresses of it", ranges.holds_pods),
        made("sufficient_cidr", "string", "next free block of the network that is big enough; null if there is none",
              wider.sufficient_cidr, nullable=True),
        made("pools_count", "int", "number of pools in it", lambda s, w: basics.count(s, w.subnet_pools(s)), "pools"),
        made("for_pods", "bool", "whether it holds pods and no nodes", lambda s, w: basics.computed(s, w.for_pods(s))),
        Field("pools", "records", "pool", "", False, "pools whose nodes are in it", lambda s, w: w.subnet_pools(s)),
    ),
    "pod_range": (
        simple("name", "string", "name of the range, or of its cluster"),
        simple("cidr", "string", "its IPv4 range", nullable=False),
        made("addresses", "int", "its addresses, and those of the ranges that continue it", demands.room, "addresses"),
        made("block", "int", "length of the prefix of the block that a node takes; null if its pools differ",
              ranges.range_block, nullable=True),
        made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
        made("addresses_needed", "int", "addresses that the blocks of all nodes take, surge included",
              ranges.needed, "addresses"),
        made("needs", "string", "addresses_needed, or at least so many where not all of it is known", ranges.needs),
        made("overflows", "bool", "whether it is full before its clusters reach their targets", demands.overflows),
        made("sum", "string", "the arithmetic of addresses_needed",
              ranges.arithmetic, nullable=True),
        made("by_default", "bool", "whether it is too small only because of sizes that nobody wrote", ranges.by_default),
        made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True),
        made("sufficient_cidr", "string", "the range widened until it has room; null if that overlaps",
              wider.sufficient_range, nullable=True),
        made("pools_count", "int", "number of pools in it", lambda r, w: basics.count(r, w.range_pools(r)), "pools"),
        Field("pools", "records", "pool", "", False, "pools whose pods are in it", lambda r, w: w.range_pools(r)),
    ),
    "wall": (
        made("mechanism", "string", "what ends the growth: subnet, pod-range, cluster-limit ...", lambda w, _w: basics.computed(w, w.mechanism)),
        made("what", "string", "what people call it", lambda w, _w: basics.computed(w, w.what)),
        made("scope", "string", "the cluster, pool, subnet or range that it ends", lambda w, _w: basics.computed(w, w.scope)),
        made("kind", "string", "hard, quota or recommended", lambda w, _w: basics.computed(w, w.kind)),
        made("nodes", "int", "nodes of the cluster when it is met; the bound where only one is known", limits.nodes, "nodes"),
        made("reach", "string", "the same, with at most or at least where it is a bound", limits.reach),
        made("target", "string", "nodes that the cluster is meant to reach, with at least where not all is known", limits.target),
        made("short", "bool", "whether it is met before the target; unknown where the bounds do not tell", limits.short),
        made("arithmetic", "string", "how the number is worked out", lambda w, _w: basics.computed(w, w.arithmetic)),
        made("move", "string", "how the wall is moved", lambda w, _w: basics.computed(w, w.move)),
        made("cause", "string", "the value that makes the wall", limits.cause, nullable=True),
        Field("pools", "records", "pool", "", False, "the pools that meet it", lambda w, _w: list(w.pools)),
        Field("cluster", "record", "cluster", "", False, "its cluster", basics.cluster_of),
    ),
    "autoscaler": (
        made("kind", "string", "cluster-autoscaler, or gke where Google runs it", lambda a, _w: basics.computed(a, a.kind)),
        simple("profile", "string", "BALANCED or OPTIMIZE_UTILIZATION (GKE), cluster-autoscaler or goatscaler (ACK)"),
        simple("provisioning", "bool", "whether node auto-provisioning is on (GKE)"),
        simple("max_unready_nodes", "int", "unready nodes always tolerated (ok-total-unready-count)", "nodes", nullable=False),
        simple("max_unready_percentage", "int", "share of unready nodes above which it stops", "percent", nullable=False),
        simple("bulk_delete", "int", "empty nodes deleted at once", "nodes", nullable=False),
        simple("unneeded_time", "int", "how long a node is idle before it is deleted", "seconds", nullable=False),
        simple("unready_time", "int", "how long an unready node is idle before it is deleted", "seconds", nullable=False),
        simple("delay_after_add", "int", "pause of scale-down after a scale-up", "seconds", nullable=False),
        simple("delay_after_failure", "int", "pause of scale-down after a failed one", "seconds", nullable=False),
        simple("scan_interval", "int", "period of its loop", "seconds", nullable=False),
        simple("new_pod_delay", "int", "age below which pending pods are ignored", "seconds", nullable=False),
        simple("provision_time", "int", "how long it waits for a node", "seconds", nullable=False),
        simple("expander", "string", "how it chooses among pools", nullable=False),
        made("nodes", "int", "nodes it adds and removes up to the target", scaling.growable_nodes, "nodes"),
        made("batch", "bool", "whether its cluster is for jobs: a GPU or spot pool, or a Job among its manifests", pools.batch),
        made("unready_stop", "int", "unready nodes at which it stops, all its nodes registered", scaling.unready_stop, "nodes"),
        made("deletion_time", "int", "time it needs at least to delete these nodes", scaling.deletion_time, "seconds"),
        made("sufficient_bulk_delete", "int", "bulk_delete with which deletion is fast enough, rounded as people do",
              scaling.sufficient_batch, "nodes", nullable=True),
        made("idle_waste", "string", "what unneeded_time costs, once for each of these nodes",
              lambda a, w: scaling.waste(a, w, a.unneeded_time, 1)),
        made("deletion_waste", "string", "what deletion_time costs: on average a node waits half of it",
              lambda a, w: scaling.waste(a, w, scaling.deletion_time(a, w), 2)),
        Field("cluster", "record", "cluster", "", False, "its cluster", basics.cluster_of),
    ),
    "flag": (
        simple("name", "string", "its name without dashes", nullable=False),
        simple("value", "string", "its value as written"),
        made("lifetime", "string", "since or until when upstream has it", scaling.lifetime),
        simple("version", "string", "version of the autoscaler: its image's tag", nullable=False),
        made("minor", "int", "minor version of the autoscaler", scaling.autoscaler_minor),
        made("first_minor", "int", "first minor version with it; null before 1.16", scaling.flag_first, nullable=True),
        made("removed_minor", "int", "first minor version without it; null if it is still there", scaling.flag_removed, nullable=True),
        made("successor", "string", "the flag that replaces it; null if there is none or it is set too", scaling.successor, nullable=True),
    ),
    **pods_words.SUBJECTS,
    **queue_words.SUBJECTS,
    "input": (
        made("kind", "string", "unreadable, templates, unused-suppression or bare-suppression",
              lambda i, _w: basics.computed(i, i.kind)),
        made("text", "string", "what is wrong", lambda i, _w: basics.computed(i, i.text)),
    ),
}  # fmt: skip
"""Subject -> its words. docs/words.md is printed from this table."""


_LISTS = {
    "priority_class": "classes", "queue": "queues", "namespace": "namespaces", "scheduler": "schedulers",
    "admission": "admissions", "sharing": "sharings", "quota": "limits",
}  # fmt: skip
"""Subject -> where the inventory keeps its things."""


def things(subject: str, world: World) -> list[Any]:
    """All subjects of one kind."""
    inventory = world.inventory
    match subject:
        case "cluster":
            return inventory.clusters
        case "pool":
            return inventory.pools
        case "subnet":
            return inventory.subnets
        case "wall":
            return limits.every(world)
        case "autoscaler":
            return [a for a in inventory.autoscalers if scaling.has_work(a, world)]
        case "pod_range":
            return inventory.ranges
        case "flag":
            return [flag for autoscaler in inventory.autoscalers for flag in autoscaler.flags]
        case "workload":
            return inventory.workloads
        case "template":
            return [template for workload in inventory.workloads for template in workload.templates]
        case "container":
            return [
                c for workload in inventory.workloads for template in workload.templates for c in template.containers
            ]
        case "image":
            return [uses[0][1] for uses in world.images.values()]
    return list(getattr(inventory, _LISTS[subject])) if subject in _LISTS else world.inputs


def cloud_of(thing: Thing, world: World) -> str:
    """The cloud whose limits hold for a thing; `any` where it is not known."""
    if isinstance(thing, Cluster | Subnet | PodRange):
        return thing.cloud
    if isinstance(thing, Wall):
        return thing.cluster.cloud
    if isinstance(thing, NodePool | Autoscaler) or thing in world.inventory.cluster_of:
        cluster = known(basics.cluster_of(thing, world))
        return cluster.cloud if cluster else "any"
    return "any"


Wanted: TypeAlias = "dict[str, Wanted]"
"""Fields that are looked at, each with those that are looked at of the records it holds."""


def wanted(paths: Iterable[str]) -> Wanted:
    """The fields that paths such as `pool.cluster.tier` lead to, the subject itself first."""
    result: Wanted = {}
    for path in paths:
        inner = result
        for step in path.replace("[]", "").split("."):
            inner = inner.setdefault(step, {})
    return result


class View:
    """The plain data of one subject, with the reasons of what is missing and the origins of what is there.

    Only the `wanted` fields are worked out; None stands for all of them.
    """

    def __init__(self, subject: str, thing: Thing, world: World, fields: Wanted | None = None) -> None:
        self.subject = subject
        self.thing = thing
        self.world = world
        self.missing: dict[str, str] = {}
        self._things: list[tuple[str, Any]] = []
        self._records: list[dict[str, Any]] = []
        self.data = self._record(subject, thing, subject, fields, nested=False)

    def _record(self, subject: str, thing: Any, path: str, fields: Wanted | None, *, nested: bool) -> dict[str, Any]:
        result: dict[str, Any] = {ID: len(self._things)}
        self._things.append((subject, thing))
        self._records.append(result)
        for field in SUBJECTS[subject]:
            if (nested and field.kind in ("record", "records")) or (fields is not None and field.name not in fields):
                continue
            inner = None if fields is None else fields[field.name]
            where = f"{path}.{field.name}"
            value = field.read(thing, self.world)
            if isinstance(value, list):
                result[field.name] = [self._record(field.type, item, where, inner, nested=True) for item in value]
            elif isinstance(value, Unknown):
                self.missing.setdefault(where, value.reason)
            elif isinstance(value, Unset) and field.nullable:
                result[field.name] = None
            elif isinstance(value, Unset):
                self.missing.setdefault(where, reason_of(value))
            elif type(value.value) is int and abs(value.value) > _LARGEST:
                self.missing.setdefault(where, f"{field.name} is larger than any number of it can be")
            elif field.kind == "record":
                result[field.name] = self._record(field.type, value.value, where, inner, nested=True)
            else:
                result[field.name] = self._checked(field, value.value, where)
        return result

    def _checked(self, field: Field, value: Any, where: str) -> Any:
        """The value, if it has the type that the table promises."""
        items = value if field.kind == "list" else value.values() if field.kind == "map" else (value,)
        if not all(type(item) is _PYTHON[field.type] for item in items):
            raise TypeError(f"{where} is {value!r}, not {field.type}: a bug in the reader of {self.thing.id}")
        return list(items) if field.kind == "list" else value

    def record(self, number: int) -> dict[str, Any]:
        """A record of this view by its number."""
        return self._records[number]

    def origin(self, record: int, name: str) -> Origin:
        """Where a field of a record of this view comes from; its thing's place for what is computed.

        Raises:
            KeyError: the record's subject has no such field.
        """
        subject, thing = self._things[record]
        value = word(subject, name).read(thing, self.world)
        origin = None if isinstance(value, list) else value.origin
        return origin if origin is not None and origin.spans else Origin((thing.place,))

    def owner(self, record: int) -> tuple[str, str]:
        """The subject of a record of this view, and the id of its thing."""
        subject, thing = self._things[record]
        return subject, thing.id

    def field(self, record: int, name: str) -> Field:
        """The word behind a field of a record of this view."""
        return word(self._things[record][0], name)

    def place(self) -> Span:
        """Where the subject is declared."""
        return self.thing.place


_LARGEST = 10**15
_PYTHON: dict[str, type] = {"int": int, "string": str, "bool": bool}


def word(subject: str, name: str) -> Field:
    """The field of a subject with that name.

    Raises:
        KeyError: there is no such word.
    """
    for field in SUBJECTS[subject]:
        if field.name == name:
            return field
    raise KeyError(f"{subject}.{name}")
