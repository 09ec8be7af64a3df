"""AKS: the behaviour of its clusters."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.config.numbers.reserved import MI, Node, Reserved, eviction, taken
from kcheck.inventory.clouds.cloud import Cloud, Label, Limit, Reference
from kcheck.text.amount import Amount, exactly
from kcheck.text.partly_known import may_equal
from kcheck.text.values import Known, equals, known, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.model import Cluster, Mirror, NodePool
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

_REGISTRY = "azurerm_container_registry"
_MB, _GB = 10**6, 10**9
_SPOT = "kubernetes.azure.com/scalesetpriority"


class Aks(Cloud):
    """Azure Kubernetes Service."""

    name = "aks"
    reservation = "azurerm_capacity_reservation"
    reservation_ids = r"/subscriptions/.+"
    resources = ("azurerm_kubernetes_", "azapi_resource")
    beside = ("azurerm_virtual_network", "azurerm_subnet")
    extended_plan = "AKSLongTermSupport"
    provider = "Azure"
    references = (
        Reference("vnet_subnet_id", ("azurerm_subnet",)),
        Reference("pod_subnet_id", ("azurerm_subnet",)),
        Reference("kubernetes_cluster_id", ("azurerm_kubernetes_cluster",)),
        Reference("virtual_network_name", ("azurerm_virtual_network",)),
    )
    node_class = "AKSNodeClass"
    cache = "azurerm_container_registry_cache_rule"
    autoscaler_provider = "azure"
    label_domains = ("kubernetes.azure.com",)
    pool_labels = ("agentpool", "kubernetes.azure.com/agentpool")
    node_ids = "azure://"
    gpu_labels = ("kubernetes.azure.com/accelerator",)
    spot_label = Label(_SPOT, "spot")
    spot_labels = (_SPOT,)
    spot_taint = f"{_SPOT}=spot:NoSchedule"
    admits_asked_resources = True  # https://github.com/Azure/AKS/issues/1449
    runs_dns = True
    zones_of_pools = "listed"
    reserves_by_machine = True

    def region(self, location: str) -> str:
        """Convert a region's display name: `West Europe` to `westeurope`."""
        return location.replace(" ", "").lower()

    def has_own_addresses(self, cluster: Cluster) -> bool:
        """Whether AKS creates the cluster's outbound load balancer or NAT gateway."""
        return known(cluster.outbound_type) in ("loadBalancer", "managedNATGateway")

    def registry_cache(self, root: Module, instance: Instance) -> Mirror | None:
        """Read a registry cache rule: of a registry, a namespace, or an image."""
        from kcheck.inventory.clouds.reader import resolve_reference

        fields = Fields(self.name, self.cache, instance)
        source, target = str(known(fields.text("source")) or ""), known(fields.text("target"))
        registries = {one.address: Fields(self.name, _REGISTRY, one).text("name") for one in root.instances(_REGISTRY)}
        owner = resolve_reference(fields.raw("registry"), registries)
        name = known(owner.value) if owner is not None else None
        upstream, _, path = source.partition("/")
        parts = (f"{name or '<registry>'}.azurecr.io", str(target or "<repository>").removesuffix("*").rstrip("/"))
        return self.mirror(root, instance, upstream, path, parts)

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:
        """Yield the limits of the tier, the route table and network policies."""
        tier, free, paid = cluster.tier, numbers["free_tier.ceiling"], numbers["standard_tier.nodes"]
        if not isinstance(tier, Known):
            why = f"{free.value:,} of the Free tier, {paid.value:,} of the others: {reason_of(tier)}"
            nodes = Amount(free.number, paid.number)
            yield Limit("cluster-limit", "standard_tier.nodes", tier, why, nodes)
        elif tier.value == "Free":
            yield Limit("cluster-limit", "free_tier.ceiling", tier, "the limit of the Free tier")
            text = "Microsoft's recommendation for the Free tier"
            yield Limit("control-plane", "free_tier.recommended", tier, text)
        else:
            yield Limit("cluster-limit", "standard_tier.nodes", tier, f"the limit of the {tier.value} tier")
        if may_equal(cluster.network_plugin, "kubenet") and not equals(cluster.network_mode, "overlay"):
            sure, least = equals(cluster.network_plugin, "kubenet"), numbers["kubenet.nodes"].number
            some = None if sure else Amount(least, None)
            text = reason_of(cluster.network_plugin) if some else "one route per node in the route table"
            yield Limit("kubenet-routes", "kubenet.nodes", cluster.network_plugin, text, some, counts_surge=not some)
        if may_equal(cluster.network_policy, "azure"):
            sure, least = equals(cluster.network_policy, "azure"), numbers["network_policy.nodes"].number
            some = None if sure else Amount(least, None)
            text = "the limit of Azure's Network Policy Manager" if some is None else reason_of(cluster.network_policy)
            yield Limit("network-policy", "network_policy.nodes", cluster.network_policy, text, some)

    def pods_limit(self, cluster: Cluster, pools: Iterable[NodePool]) -> str:
        """Return the name of the pod limit; '' where pods take node addresses."""
        own = [pool.addresses for pool in pools if known(pool.addresses.pod_subnets)]
        if own:
            return "" if any(equals(one.allocation, "StaticBlock") for one in own) else "pod_subnet.pods"
        return "overlay.pods" if equals(cluster.network_mode, "overlay") else ""

    def outbound_nodes(self, ports: int, addresses: int, ports_per_address: int) -> int:
        """Count the nodes with outbound ports on Azure's load balancer.

        https://learn.microsoft.com/azure/aks/load-balancer-standard: 1,000 ports with 7 addresses of 64,000: 448 nodes.
        """
        return ports_per_address * addresses // ports

    def has_pool_quota(self, pool: NodePool) -> bool:
        """Whether the pool is a single placement group, for InfiniBand."""
        return any(map(self.joins_in_scale_set, known(pool.machine.instance_types) or ()))

    def joins_in_scale_set(self, machine: str) -> bool:
        """Whether a size has InfiniBand, which joins the machines of one scale set."""
        from kcheck.inventory.clouds.aks import pools

        return pools.fabric(machine)

    def boots_from_own_disk(self, machine: str, vcpus: int) -> bool | None:
        """Whether a size has a local disk large enough for the boot disk; None if unclear."""
        from kcheck.inventory.clouds.aks import pools

        return pools.ephemeral(machine, vcpus)

    def reserved(self, node: Node) -> Reserved:
        """Estimate reserved resources by vCPUs, and by pods or memory."""
        limits, settings = profiles.limits(self.name), profiles.settings(self.name)
        steps = limits["reserved.cpu"].text
        documented = min(node.cpu, limits["reserved.documented_vcpus"].number * 1000)
        cpu = Amount(taken(steps, documented, 1000), taken(steps, node.cpu, 1000))
        share = node.memory * settings["reserved.most_of_memory"].number // 100
        base, each = limits["reserved.memory"].number, limits["reserved.memory_of_pod"].number
        low = min(share, (base + each * (node.pods or 0)) * _MB)
        high = share if node.pods is None else min(share, (base + each * node.pods) * MI)
        before = taken(limits["reserved.memory_before"].text, node.memory, _GB)
        threshold = limits["reserved.eviction_before"].number * MI
        if node.minor is None:
            memory = Amount(min(low, before), max(high, before))
            return Reserved(cpu, memory, Amount(eviction().low, threshold))
        if node.minor < settings["reserved.by_pods_from"].number:
            return Reserved(cpu, exactly(before), exactly(threshold))
        return Reserved(cpu, Amount(low, high), eviction())


def dynamic_addresses(pods: int, batch: int, spare: int) -> int:
    """Count the addresses of a node in batches that keep `spare` free.

    https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-pod-subnet: 16 at a time, 16 more below 8.
    """
    return batch * ceil((pods + spare) / batch)


def static_addresses(max_pods: int, block: int) -> int:
    """Count the addresses of a node with static /28 blocks.

    https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-pod-subnet: least is wasted with 16 x N - 1 pods.
    """
    return block * ceil((max_pods + 1) / block)


CLOUD = Aks()
