"""The words of the rules: what each subject's fields are called, what they mean, and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcheck import demands
from kcheck.derive import basics, dns, gpus, growth, limits, needs, plane, pools, ranges, scaling, spot, wider
from kcheck.model import NOTHING, Autoscaler, Cluster, KarpenterPool, NodePool, PodRange, Subnet, Thing
from kcheck.values import known
from kcheck.walls.model import Wall
from kcheck.words import autoscaling
from kcheck.words import pods as pods_words
from kcheck.words import queues as queue_words
from kcheck.words.field import Field, made, simple

if TYPE_CHECKING:
    from kcheck.world import World


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
        made("serial_pulls", "bool", "whether its kubelets pull one image at a time (self-managed)", plane.setting("serial_pulls"), nullable=True),
        made("dns_replicas", "int", "replicas that CoreDNS keeps whatever the size; null where it scales, or a cache is on each node",
              dns.replicas, "replicas", nullable=True),
        made("dns_sufficient", "int", "replicas for its target by the usual rule", dns.sufficient, "replicas"),
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
        made("neighbours", "int", "others that the kernel of a node knows at most; null where the cloud sets it", dns.neighbours, nullable=True),
        simple("streaming", "bool", "whether containers start before their image is there (GKE)", nullable=False),
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
        made("better_disk", "bool", "whether its machines can boot from a faster disk; on AKS one of their own", pools.better_disk),
        simple("image", "string", "what the nodes run: AMI type (EKS), image type (GKE)"),
        made("efa", "int", "EFA interfaces of a node that take an address", pools.efa_of("efa"), nullable=True),
        made("efa_only", "int", "EFA interfaces of a node that take none", pools.efa_of("efa-only"), nullable=True),
        made("nvme", "int", "GB of local disks of its smallest machine (EKS)", pools.nvme, "GB"),
        simple("local_disks", "bool", "whether the start-up of a node joins them; null where nothing is written"),
        simple("charge", "string", "PostPaid or PrePaid (ACK)"),
        simple("on_demand_fallback", "bool", "whether a spot pool takes nodes at full price where there are no others (ACK)"),
        simple("location_policy", "string", "in which zones it grows: BALANCED or ANY (GKE)"),
        made("engine", "string", "profile of the autoscaler of its cluster: cluster-autoscaler, goatscaler (ACK); null if not written",
             growth.engine, nullable=True),
        made("kept_for_system_pods", "bool", "whether the autoscaler keeps a node while a pod of kube-system is on it", growth.kept_for_system_pods),
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
    **autoscaling.SUBJECTS,
    **pods_words.SUBJECTS,
    **queue_words.SUBJECTS,
    "input": (
        made("kind", "string", "unreadable, templates, chart, not-rendered, unused-suppression or bare-suppression",
              lambda i, _w: basics.computed(i, i.kind)),
        made("text", "string", "what is wrong", lambda i, _w: basics.computed(i, i.text)),
    ),
}  # fmt: skip
"""Subject -> its words. docs/words.md is printed from this table."""


_LISTS = {
    "priority_class": "classes", "queue": "queues", "kube_namespace": "namespaces", "scheduler": "schedulers",
    "admission": "admissions", "sharing": "sharings", "quota": "limits", "object": "objects", "resource": "resources",
}  # fmt: skip
"""Subject -> where the inventory keeps its things."""


def things(subject: str, world: World) -> list[Any]:
    """All subjects of one kind."""
    inventory = world.inventory
    whole = [workload for workload in inventory.workloads if not workload.partial]
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
        case "karpenter_pool":
            return inventory.karpenter
        case "pod_range":
            return inventory.ranges
        case "flag":
            return [flag for autoscaler in inventory.autoscalers for flag in autoscaler.flags]
        case "workload":
            return whole
        case "template":
            return [template for workload in whole for template in workload.templates]
        case "container":
            return [c for workload in whole for template in workload.templates for c in template.containers]
        case "image":
            return [uses[0][1] for uses in world.images.values()]
    return list(getattr(inventory, _LISTS[subject])) if subject in _LISTS else world.inputs


def cloud_of(thing: Thing, world: World) -> str:
    """The cloud whose limits hold for a thing; `any` where it is not known."""
    if isinstance(thing, Cluster | Subnet | PodRange):
        return thing.cloud
    if isinstance(thing, Wall):
        return thing.cluster.cloud
    if isinstance(thing, NodePool | Autoscaler | KarpenterPool) or thing in world.inventory.cluster_of:
        cluster = known(basics.cluster_of(thing, world))
        return cluster.cloud if cluster else "any"
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
