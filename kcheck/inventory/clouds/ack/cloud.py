"""ACK: the behaviour of its clusters."""

from collections.abc import Iterable, Iterator, Mapping

from kcheck.config.numbers import profiles
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.config.numbers.reserved import GI, MI, Node, Reserved, eviction, taken
from kcheck.inventory.clouds.cloud import Cloud, Limit, Reference
from kcheck.model import Autoscaler, Cluster, NodePool
from kcheck.text.amount import Amount, exactly
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Value, equals, known, mapped, reason_of

_SIZE = regex(r"-(?:c\d+g\d+|\d+x)$")


class Ack(Cloud):
    """Alibaba Cloud Container Service for Kubernetes."""

    name = "ack"
    reservation = "alicloud_ecs_capacity_reservation"
    reservation_ids = r"eap-\w+"
    node_ids = "alicloud://"
    autoscaler_provider = "alicloud"
    label_domains = ("aliyun.com", "aliyun.accelerator", "alibabacloud.com", "ack.node.gpu.schedule")
    zone_labels = ("topology.diskplugin.csi.alibabacloud.com/zone",)
    sharing_label = "ack.node.gpu.schedule"
    gpu_labels = ("aliyun.accelerator/",)
    resources = ("alicloud_cs_",)
    beside = ("alicloud_vpc", "alicloud_vswitch")
    references = (
        Reference("vpc_id", ("alicloud_vpc",)),
        Reference("vswitch_ids", ("alicloud_vswitch",), many=True),
        Reference("worker_vswitch_ids", ("alicloud_vswitch",), many=True),
        Reference("pod_vswitch_ids", ("alicloud_vswitch",), many=True),
        Reference("cluster_id", ("alicloud_cs_managed_kubernetes", "alicloud_cs_kubernetes")),
    )
    picks_service_range = True

    def gpu_family(self, family: str) -> str:
        """Strip the machine size from a family: gn7i for gn7i-c16g1 and gn7i-2x."""
        return _SIZE.sub("", family)

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:
        """Yield the limits of the edition, the network plugin and a basic security group."""
        tier, plugin = cluster.tier, cluster.network_plugin
        if equals(tier, "ack.standard"):
            text = "the limit of an ACK Basic cluster, which cannot be raised"
            yield Limit("cluster-limit", "basic.nodes", tier, text)
            return
        if equals(plugin, "flannel"):
            most = numbers["flannel.ceiling"].value
            text = f"one route of the VPC per node; up to {most:,} on request"
            yield Limit("flannel-routes", "flannel.nodes", plugin, text)
            yield Limit("cluster-limit", "flannel.ceiling", plugin, "the quota cannot be raised further")
        elif equals(plugin, "terway"):
            text = f"the default; up to {numbers['terway.ceiling'].value:,} on request"
            yield Limit("cluster-limit", "terway.nodes", plugin, text)
            yield Limit("cluster-limit", "terway.ceiling", plugin, "the quota cannot be raised further")
        if equals(plugin, "terway") and equals(cluster.security_group, "basic"):
            yield self._security_group(cluster, numbers)
        if not isinstance(tier, Known):
            yield Limit("cluster-limit", "basic.nodes", tier, unknown=reason_of(tier))

    def _security_group(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Limit:
        """Return the limit of a basic security group, which nodes and pods share."""
        entry, least = numbers["security_group.basic"], numbers["terway.least_pod_addresses"].number
        most = least + profiles.settings(self.name)["terway.idle_pool"].number
        nodes = Amount(entry.number // (1 + most), entry.number // (1 + least))
        text = f"{entry.number:,} addresses, of which a node takes {1 + least} to {1 + most} with one pod"
        return Limit("security-group", "security_group.basic", cluster.security_group, text, nodes)

    def pool_limit(self, autoscalers: Iterable[Autoscaler]) -> Limit | None:
        """Return the nodes per pool of ACK's Cluster Autoscaler; None for another."""
        own = list(autoscalers)
        if not any(equals(one.profile, "cluster-autoscaler") for one in own):
            return None
        text = "ACK's rating for its Cluster Autoscaler, per pool"
        return Limit("engine", "autoscaler.nodes", own[0].profile, text)

    def fabric_interfaces(self, pool: NodePool, most: int) -> Value[int]:
        """Return `most` with the add-on that attaches fabric interfaces, else 0."""
        cluster = known(pool.cluster)
        if cluster is None:
            return Unknown(f"the cluster of {pool.display_name} is not read", Origin((pool.place,)))
        return mapped(cluster.fabric_addon, lambda there: most if there else 0)

    def reserved(self, node: Node) -> Reserved:
        """Estimate reserved resources by vCPUs, and by pods or memory."""
        limits, settings = profiles.limits(self.name), profiles.settings(self.name)
        threshold = Amount(eviction().low, limits["reserved.eviction_at_most"].number * MI)
        old_cpu = taken(limits["reserved.cpu_before"].text, node.cpu, 1000)
        old_memory = taken(limits["reserved.memory_before"].text, node.memory, GI)
        cpu, memory = taken(limits["reserved.cpu"].text, node.cpu, 1000), _reserved_by_pods(node)
        if node.minor is None:
            memory = Amount(min(memory.low, old_memory), max(memory.high or 0, old_memory))
            return Reserved(Amount(min(cpu, old_cpu), max(cpu, old_cpu)), memory, threshold)
        if node.minor < settings["reserved.by_pods_from"].number:
            return Reserved(exactly(old_cpu), exactly(old_memory), threshold)
        return Reserved(exactly(cpu), memory, threshold)


def terway_pods(interfaces: int, addresses: int) -> int:
    """Count the pods of a node that get VPC addresses.

    https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/work-with-terway: 210 on a g7.4xlarge.
    """
    return (interfaces - 1) * addresses


def _reserved_by_pods(node: Node) -> Amount:
    """Estimate reserved memory by maximum pods, else by its addresses."""
    from kcheck.config.numbers import machines  # the tables of all types

    limits = profiles.limits("ack")
    share = node.memory * profiles.settings("ack")["reserved.most_of_memory"].number // 100
    base, each = limits["reserved.memory"].number, limits["reserved.memory_of_pod"].number
    interfaces = machines.interfaces("ack", node.machine)
    pods = terway_pods(*interfaces) if node.pods is None and interfaces else node.pods
    least = min(share, (base + each * (node.pods or 0)) * MI)
    if pods is None:
        return Amount(least, share)
    return Amount(least, min(share, (base + each * (pods + limits["reserved.host_pods"].number)) * MI))


CLOUD = Ack()
