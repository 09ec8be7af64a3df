"""The words of the rules: what each subject's fields are called, what they mean, and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck import demands
from kcheck.derive import basics, limits, needs, plane, pools, pulls, ranges, scaling, wider
from kcheck.model import NOTHING, Autoscaler, Cluster, Manifest, NodePool, PodRange, Subnet, Thing, Workload
from kcheck.values import Value, known
from kcheck.walls.model import Wall

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.world import World


class Field(NamedTuple):
    """One word. `kind` is scalar, list (of scalars), records (list of another subject) or record (one of it).

    `type` is int, string, bool, or the other subject's name; `unit` says how messages print it.
    """

    name: str
    kind: str
    type: str
    unit: str
    nullable: bool
    meaning: str
    read: Callable[[Any, World], Value[Any] | list[Any]]


def _simple(
    name: str, type_: str, meaning: str, unit: str = "", *, nullable: bool = True, kind: str = "scalar"
) -> Field:
    """A field that is a field of the model."""
    return Field(name, kind, type_, unit, nullable, meaning, lambda thing, _world: getattr(thing, name))


def _made(
    name: str, type_: str, meaning: str, read: Callable[[Any, World], Any], unit: str = "", *, nullable: bool = False
) -> Field:
    """A scalar that is computed."""
    return Field(name, "scalar", type_, unit, nullable, meaning, read)


_TARGET = _made(
    "target", "int", "nodes the cluster is meant to reach: --nodes, else the sum of its pools' maxima",
    lambda cluster, world: world.target(cluster), "nodes",
)  # fmt: skip

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "cluster": (
        _made("cloud", "string", "eks, gke, aks, ack or selfmanaged", lambda c, _w: basics.computed(c, c.cloud)),
        _simple("name", "string", "the cluster's name"),
        _simple("version", "string", "Kubernetes version as written"),
        _simple("location", "string", "region or zone as written"),
        _simple("zonal", "bool", "whether its control plane is in one zone (GKE)"),
        _simple("provisioned", "bool", "whether the cloud adds nodes beside the pools: Autopilot, EKS Auto Mode, node auto-provisioning"),
        _simple("tier", "string", "control-plane tier: Free, Standard, Premium (AKS), standard, tier-xl ... (EKS)"),
        _simple("network_plugin", "string", "what gives pods their network: azure, kubenet, none (AKS), vpc-cni (EKS)"),
        _simple("network_mode", "string", "node-subnet or overlay, of the azure plugin; VPC_NATIVE or ROUTES (GKE)"),
        _simple("network_policy", "string", "what enforces network policies"),
        _made("prefix_delegation", "bool", "whether nodes take blocks of addresses for their pods (EKS)",
              lambda c, _w: c.cni.prefix_delegation if c.cni else NOTHING, nullable=True),
        _simple("service_cidr", "string", "range of services"),
        _simple("outbound_type", "string", "how nodes reach the internet"),
        _simple("outbound_ips", "int", "public addresses of the outbound load balancer", "addresses"),
        _simple("load_balancer", "string", "standard or basic (AKS)"),
        _simple("backend_type", "string", "NodeIP or NodeIPConfiguration: how nodes are behind the load balancer (AKS)"),
        _simple("outbound_ports", "int", "outbound ports that a node has for itself; 0 where the cloud divides them (AKS)", "ports"),
        _simple("data_plane", "string", "what moves packets: azure or cilium (AKS), ADVANCED_DATAPATH ... (GKE)"),
        _simple("security_group", "string", "basic or enterprise (ACK)"),
        _made("minor", "int", "minor version of Kubernetes", plane.minor, nullable=True),
        _made("services", "int", "Services of the manifests that take an address", plane.services, "services"),
        _made("service_addresses", "int", "addresses that Services can have; null without a range", needs.service_addresses, "addresses", nullable=True),
        _made("quotas", "string", "the quotas that its target needs, with their codes; null if none is known", needs.asked, nullable=True),
        _made("sufficient_outbound_ips", "int", "public addresses with room for the outbound ports of all nodes",
              needs.outbound_addresses, "addresses", nullable=True),
        _made("device_plugin", "bool", "whether a device plugin for GPUs is installed by the same code", needs.device_plugin),
        _made("etcd_data_dir", "string", "folder of etcd's data (self-managed)", plane.setting("data_dir"), nullable=True),
        _made("etcd_quota", "int", "most that etcd's database may have (self-managed)", plane.setting("etcd_quota"), "bytes", nullable=True),
        _made("events_apart", "bool", "whether events have an etcd of their own (self-managed)", plane.events_apart, nullable=True),
        _made("reads_inflight", "int", "reads that the API server takes at a time (self-managed)", plane.setting("reads_inflight"), "requests", nullable=True),
        _made("writes_inflight", "int", "writes that it takes at a time (self-managed)", plane.setting("writes_inflight"), "requests", nullable=True),
        _made("controller_qps", "int", "requests a second of the controllers (self-managed)", plane.setting("controller_qps"), nullable=True),
        _made("heartbeats", "int", "writes a second by which its kubelets say that they live", plane.heartbeats),
        _made("creation_time", "int", "how long its controllers take to create a pod for each node (self-managed)", plane.creation_time, "seconds", nullable=True),
        _TARGET,
        _made("max_nodes", "int", "sum of the pools' maxima", lambda c, w: w.maximum(c), "nodes"),
        _made("asked", "int", "nodes asked for by --nodes or in the settings; null if none were",
              lambda c, w: basics.computed(c, w.asked(c)), "nodes", nullable=True),
        _made("autoscaled", "bool", "whether any pool is autoscaled", pools.autoscaled),
        _made("plain", "bool", "whether any of its pools is without GPUs, so that other pods have a place", pools.plain),
        _made("grown_by", "string", "what grows its pools: aks, gke, auto-mode, karpenter, cluster-autoscaler; null if nothing is found",
              lambda c, w: w.grown_by(c), nullable=True),
        _made("deployed_here", "bool", "whether something that is installed into it is in the same code", pools.deployed_here),
        _made("batch", "bool", "whether it is for jobs: a GPU or spot pool, or a Job among its manifests", pools.batch),
        _made("pools_count", "int", "number of its node pools", lambda c, w: basics.count(c, w.all_pools(c)), "pools"),
        _made("zones", "int", "zones, or subnets, that its widest pool is spread over", pools.widest),
        Field("pools", "records", "pool", "", False, "its node pools", lambda c, w: w.all_pools(c)),
    ),
    "pool": (
        _simple("name", "string", "the pool's name"),
        _simple("mode", "string", "System or User (AKS)"),
        _simple("autoscaled", "bool", "whether an autoscaler sets its size", nullable=False),
        _simple("min_nodes", "int", "smallest size", "nodes", nullable=False),
        _simple("max_nodes", "int", "largest size; the fixed size of a pool that is not autoscaled", "nodes", nullable=False),
        _made("nodes", "int", "nodes when the cluster reaches its target", lambda p, w: w.nodes(p), "nodes"),
        _made("max_count", "int", "largest size as it is written: per zone on GKE", pools.max_count),
        _made("wanted_nodes", "int", "nodes that its biggest job or the target needs", pools.wanted_nodes, "nodes"),
        _made("wanted_count", "int", "wanted_nodes as it would be written", pools.wanted_count),
        _made("wanted", "string", "what wants them, with its verb", pools.wanted),
        _made("size_is_default", "bool", "whether its maximum is a module's default", lambda p, _w: basics.is_default(p, p.max_nodes)),
        _made("counted_nodes", "int", "nodes that the cloud's limit of a pool counts: those of the fullest zone (GKE), with surge (AKS), all (EKS)",
              pools.counted, "nodes"),
        _made("jobs_need", "int", "nodes that the biggest GPU workload of its cluster fills; null if there is none",
              pools.jobs_need, "nodes", nullable=True),
        _made("managed", "bool", "whether the cloud runs the group, not the user", lambda p, _w: basics.computed(p, p.managed)),
        _simple("instance_types", "string", "machine types", kind="list"),
        _simple("gpu", "bool", "whether its nodes have GPUs or other accelerators", nullable=False),
        _simple("max_pods", "int", "pods a node may run", "pods"),
        _made("surge_nodes", "int", "nodes that an upgrade adds", pools.surge, "nodes"),
        _made("addresses_per_node", "int", "addresses one node takes of its subnet",
              demands.addresses_per_node, "addresses"),
        _made("crowded", "bool", "whether a subnet of its nodes is full before its clusters reach their targets", pools.crowded),
        _made("idle_cost", "string", "what its smallest size costs an hour, in brackets; empty without a price", pools.idle_cost),
        _made("pod_addresses_per_node", "int", "addresses that one node takes for its pods: a block, or one each", pools.pod_addresses, "addresses"),
        _made("pod_addresses_if_few", "int", "the same for the pods that a GPU node runs", pools.pod_addresses_if_few, "addresses"),
        _simple("spot", "bool", "whether its nodes are spot"),
        _simple("taints", "string", "its taints, key=value:Effect", kind="list"),
        _made("closed", "bool", "whether a taint keeps pods away that do not tolerate it", pools.closed),
        _made("zones", "int", "zones, or subnets, that its nodes are spread over", pools.zones),
        _made("times", "int", "by how many zones its written size is multiplied", lambda p, _w: basics.computed(p, p.times)),
        _made("parallel_upgrades", "int", "nodes that an upgrade replaces at a time", pools.parallel, "nodes", nullable=True),
        _made("sufficient_parallel", "int", "a tenth of them, as far as the cloud allows; null where a percentage is written",
              pools.sufficient_parallel, "nodes", nullable=True),
        _made("upgrade_rounds", "int", "how often it does that until it is through", pools.rounds),
        _simple("drain_timeout", "int", "how long an upgrade waits for the pods of a node", "seconds", nullable=False),
        _simple("disk_type", "string", "type of the boot disks"),
        _simple("disk_size", "int", "size of the boot disks in GB"),
        _simple("image", "string", "what the nodes run: AMI type (EKS), image type (GKE)"),
        _made("efa", "int", "EFA interfaces of a node that take an address", pools.efa_of("efa"), nullable=True),
        _made("efa_only", "int", "EFA interfaces of a node that take none", pools.efa_of("efa-only"), nullable=True),
        _made("nvme", "int", "GB of local disks of its smallest machine (EKS)", pools.nvme, "GB"),
        _simple("local_disks", "bool", "whether the start-up of a node joins them; null where nothing is written"),
        _simple("charge", "string", "PostPaid or PrePaid (ACK)"),
        _simple("deployment_set", "string", "deployment set of its machines (ACK)"),
        _made("biggest_job", "string", "the biggest GPU job that fits its nodes; null if there is none", pools.job_pods, nullable=True),
        Field("subnets", "records", "subnet", "", False, "the subnets of its nodes", pools.subnets_of),
        Field("cluster", "record", "cluster", "", False, "its cluster", basics.cluster_of),
    ),
    "subnet": (
        _simple("name", "string", "the subnet's name"),
        _simple("cidr", "string", "its IPv4 range", nullable=False),
        _made("prefix", "int", "length of its prefix", ranges.prefix),
        _made("usable_addresses", "int", "addresses that are not reserved by the cloud", demands.room, "addresses"),
        _made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
        _made("addresses_needed", "int", "addresses its pools need at least at their sizes, surge included",
              ranges.needed, "addresses"),
        _made("needs", "string", "addresses_needed, or at least so many where not all of it is known", ranges.needs),
        _made("overflows", "bool", "whether it is full before its clusters reach their targets", demands.overflows),
        _made("sum", "string", "the arithmetic of addresses_needed",
              ranges.arithmetic, nullable=True),
        _made("by_default", "bool", "whether it is too small only because of sizes that nobody wrote", ranges.by_default),
        _made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True),
        _made("addresses_per_node", "int", "addresses of the hungriest node in it", ranges.widest, "addresses"),
        _made("room", "int", "how many of these nodes fit, no surge", ranges.room, "nodes"),
        _made("holds_pods", "bool", "whether pods take addresses of it", ranges.holds_pods),
        _made("sufficient_cidr", "string", "next free block of the network that is big enough; null if there is none",
              wider.sufficient_cidr, nullable=True),
        _made("pools_count", "int", "number of pools in it", lambda s, w: basics.count(s, w.subnet_pools(s)), "pools"),
        _made("for_pods", "bool", "whether it holds pods and no nodes", lambda s, w: basics.computed(s, w.for_pods(s))),
        Field("pools", "records", "pool", "", False, "pools whose nodes are in it", lambda s, w: w.subnet_pools(s)),
    ),
    "pod_range": (
        _simple("name", "string", "name of the range, or of its cluster"),
        _simple("cidr", "string", "its IPv4 range", nullable=False),
        _made("addresses", "int", "its addresses, and those of the ranges that continue it", demands.room, "addresses"),
        _made("block", "int", "length of the prefix of the block that a node takes; null if its pools differ",
              ranges.range_block, nullable=True),
        _made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
        _made("addresses_needed", "int", "addresses that the blocks of all nodes take, surge included",
              ranges.needed, "addresses"),
        _made("needs", "string", "addresses_needed, or at least so many where not all of it is known", ranges.needs),
        _made("overflows", "bool", "whether it is full before its clusters reach their targets", demands.overflows),
        _made("sum", "string", "the arithmetic of addresses_needed",
              ranges.arithmetic, nullable=True),
        _made("by_default", "bool", "whether it is too small only because of sizes that nobody wrote", ranges.by_default),
        _made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True),
        _made("sufficient_cidr", "string", "the range widened until it has room; null if that overlaps",
              wider.sufficient_range, nullable=True),
        _made("pools_count", "int", "number of pools in it", lambda r, w: basics.count(r, w.range_pools(r)), "pools"),
        Field("pools", "records", "pool", "", False, "pools whose pods are in it", lambda r, w: w.range_pools(r)),
    ),
    "wall": (
        _made("mechanism", "string", "what ends the growth: subnet, pod-range, cluster-limit ...", lambda w, _w: basics.computed(w, w.mechanism)),
        _made("what", "string", "what people call it", lambda w, _w: basics.computed(w, w.what)),
        _made("scope", "string", "the cluster, pool, subnet or range that it ends", lambda w, _w: basics.computed(w, w.scope)),
        _made("kind", "string", "hard, quota or recommended", lambda w, _w: basics.computed(w, w.kind)),
        _made("nodes", "int", "nodes of the cluster when it is met; the bound where only one is known", limits.nodes, "nodes"),
        _made("reach", "string", "the same, with at most or at least where it is a bound", limits.reach),
        _made("target", "string", "nodes that the cluster is meant to reach, with at least where not all is known", limits.target),
        _made("short", "bool", "whether it is met before the target; unknown where the bounds do not tell", limits.short),
        _made("arithmetic", "string", "how the number is worked out", lambda w, _w: basics.computed(w, w.arithmetic)),
        _made("move", "string", "how the wall is moved", lambda w, _w: basics.computed(w, w.move)),
        _made("cause", "string", "the value that makes the wall", limits.cause, nullable=True),
        Field("pools", "records", "pool", "", False, "the pools that meet it", lambda w, _w: list(w.pools)),
        Field("cluster", "record", "cluster", "", False, "its cluster", basics.cluster_of),
    ),
    "autoscaler": (
        _made("kind", "string", "cluster-autoscaler, or gke where Google runs it", lambda a, _w: basics.computed(a, a.kind)),
        _simple("profile", "string", "BALANCED or OPTIMIZE_UTILIZATION (GKE), cluster-autoscaler or goatscaler (ACK)"),
        _simple("provisioning", "bool", "whether node auto-provisioning is on (GKE)"),
        _simple("max_unready_nodes", "int", "unready nodes always tolerated (ok-total-unready-count)", "nodes", nullable=False),
        _simple("max_unready_percentage", "int", "share of unready nodes above which it stops", "percent", nullable=False),
        _simple("bulk_delete", "int", "empty nodes deleted at once", "nodes", nullable=False),
        _simple("unneeded_time", "int", "how long a node is idle before it is deleted", "seconds", nullable=False),
        _simple("unready_time", "int", "how long an unready node is idle before it is deleted", "seconds", nullable=False),
        _simple("delay_after_add", "int", "pause of scale-down after a scale-up", "seconds", nullable=False),
        _simple("delay_after_failure", "int", "pause of scale-down after a failed one", "seconds", nullable=False),
        _simple("scan_interval", "int", "period of its loop", "seconds", nullable=False),
        _simple("new_pod_delay", "int", "age below which pending pods are ignored", "seconds", nullable=False),
        _simple("provision_time", "int", "how long it waits for a node", "seconds", nullable=False),
        _simple("expander", "string", "how it chooses among pools", nullable=False),
        _made("nodes", "int", "nodes it adds and removes up to the target", scaling.growable_nodes, "nodes"),
        _made("batch", "bool", "whether its cluster is for jobs: a GPU or spot pool, or a Job among its manifests", pools.batch),
        _made("unready_stop", "int", "unready nodes at which it stops, all its nodes registered", scaling.unready_stop, "nodes"),
        _made("deletion_time", "int", "time it needs at least to delete these nodes", scaling.deletion_time, "seconds"),
        _made("sufficient_bulk_delete", "int", "bulk_delete with which deletion is fast enough, rounded as people do",
              scaling.sufficient_batch, "nodes", nullable=True),
        _made("idle_waste", "string", "what unneeded_time costs, once for each of these nodes",
              lambda a, w: scaling.waste(a, w, scaling.growable_nodes(a, w), a.unneeded_time, 1)),
        _made("deletion_waste", "string", "what deletion_time costs: on average a node waits half of it",
              lambda a, w: scaling.waste(a, w, scaling.growable_nodes(a, w), scaling.deletion_time(a, w), 2)),
        Field("cluster", "record", "cluster", "", False, "its cluster", basics.cluster_of),
    ),
    "flag": (
        _simple("name", "string", "its name without dashes", nullable=False),
        _simple("value", "string", "its value as written"),
        _made("lifetime", "string", "since or until when upstream has it", scaling.lifetime),
        _simple("version", "string", "version of the autoscaler: its image's tag", nullable=False),
        _made("minor", "int", "minor version of the autoscaler", scaling.autoscaler_minor),
        _made("first_minor", "int", "first minor version with it; null before 1.16", scaling.flag_first, nullable=True),
        _made("removed_minor", "int", "first minor version without it; null if it is still there", scaling.flag_removed, nullable=True),
        _made("successor", "string", "the flag that replaces it; null if there is none or it is set too", scaling.successor, nullable=True),
    ),
    "workload": (
        _made("kind", "string", "Deployment, Job, ...", lambda w, _world: basics.computed(w, w.kind)),
        _simple("name", "string", "its name"),
        _simple("namespace", "string", "its namespace as written"),
        _made("per_node", "bool", "whether every node runs it", lambda w, _world: basics.computed(w, w.per_node)),
        _simple("pods", "int", "pods at once", "pods", nullable=False),
        _made("nodes", "int", "nodes that run a pod of it", lambda w, world: world.workload_nodes(w), "nodes"),
        _simple("gpus", "int", "GPUs of one pod", "GPUs", nullable=False),
        _simple("pull_secrets", "bool", "whether it names pull secrets", nullable=False),
        Field("cluster", "record", "cluster", "", False, "the cluster it runs on", basics.cluster_of),
    ),
    "image": (
        _simple("text", "string", "the image as written", nullable=False),
        _simple("registry", "string", "host of its registry; docker.io for every spelling of Docker Hub", nullable=False),
        _made("mirrored", "string", "the image on the mirror that the settings name for its registry; null without one",
              pulls.mirrored, nullable=True),
        _made("user", "string", "kind and name of the workload that runs it on most nodes", pulls.user),
        _made("nodes", "int", "nodes that pull it", lambda i, w: w.image_nodes(i), "nodes"),
        _made("signed_in", "bool", "whether the workload names pull secrets",
              lambda i, w: pulls.owner(i, w).pull_secrets),
        _made("hub_images", "int", "Docker Hub images of one pod of the workload",
              lambda i, w: basics.computed(i, len(w.hub_images(pulls.owner(i, w)))), "images"),
        _made("pulls", "int", "pulls by fresh nodes through one public address", pulls.pulls, "pulls"),
        _made("out_of_pulls_at", "int", "the node at which anonymous pulls run out", pulls.out_of_pulls_at, "nodes"),
        _made("egress", "string", "the public addresses that all nodes share", pulls.egress),
        Field("others", "records", "image", "", False, "its other places in the file", pulls.others),
    ),
    "input": (
        _made("kind", "string", "unreadable, templates, unused-suppression or bare-suppression",
              lambda i, _w: basics.computed(i, i.kind)),
        _made("text", "string", "what is wrong", lambda i, _w: basics.computed(i, i.text)),
    ),
}  # fmt: skip
"""Subject -> its words. docs/words.md is printed from this table."""


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
        case "object":
            return inventory.objects
        case "resource":
            return inventory.resources
        case "image":
            return [uses[0][1] for uses in world.images.values()]
    return world.inputs


def cloud_of(thing: Thing, world: World) -> str:
    """The cloud whose limits hold for a thing; `any` where it is not known."""
    if isinstance(thing, Cluster | Subnet | PodRange):
        return thing.cloud
    if isinstance(thing, Wall):
        return thing.cluster.cloud
    if isinstance(thing, NodePool | Autoscaler | Workload):
        cluster = known(basics.cluster_of(thing, world))
        return cluster.cloud if cluster else "any"
    if isinstance(thing, Manifest) and thing in world.inventory.cluster_of:
        return world.inventory.cluster_of[thing].cloud
    return "any"


def word(subject: str, name: str) -> Field:
    """The field of a subject with that name.

    Raises:
        KeyError: there is no such word.
    """
    for field in SUBJECTS[subject]:
        if field.name == name:
            return field
    raise KeyError(f"{subject}.{name}")
