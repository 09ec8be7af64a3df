"""AKS: the behaviour of its clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.aks import nodes as arithmetic
from kcheck.inventory.clouds.cloud import Cloud, Label, Limit, Reference
from kcheck.text.interval import Interval
from kcheck.text.values import Known, candidates, equals, known, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.config.numbers.reserved import Node, Reserved
    from kcheck.model import Cluster, Inventory, Mirror, NodePool
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

_REGISTRY = "azurerm_container_registry"
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
        """The name of a region for programs."""
        return location.replace(" ", "").lower()

    def has_own_addresses(self, cluster: Cluster) -> bool:
        """Whether AKS makes the load balancer or NAT gateway by which it goes out."""
        return known(cluster.outbound_type) in ("loadBalancer", "managedNATGateway")

    def read(self, roots: Sequence[Module], inventory: Inventory) -> None:
        """Read the clusters of root modules."""
        from kcheck.inventory.clouds.aks import reader

        reader.read(roots, inventory)

    def registry_cache(self, root: Module, instance: Instance) -> Mirror | None:
        """Read a cache rule of Azure Container Registry, of a registry, of a user of it by a `*`, or of one image."""
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
        """Those of the tier, of kubenet's route table, of Azure's network policies."""
        tier, free, paid = cluster.tier, numbers["free_tier.ceiling"], numbers["standard_tier.nodes"]
        if not isinstance(tier, Known):
            why = f"{free.value:,} of the Free tier, {paid.value:,} of the others: {reason_of(tier)}"
            nodes = Interval(free.number, paid.number)
            yield Limit("cluster-limit", "standard_tier.nodes", tier, why, nodes)
        elif tier.value == "Free":
            yield Limit("cluster-limit", "free_tier.ceiling", tier, "the limit of the Free tier")
            text = "Microsoft's recommendation for the Free tier"
            yield Limit("control-plane", "free_tier.recommended", tier, text)
        else:
            yield Limit("cluster-limit", "standard_tier.nodes", tier, f"the limit of the {tier.value} tier")
        plugins = candidates(cluster.network_plugin)
        if any(one.value == "kubenet" for one in plugins):
            some = None if len(plugins) == 1 else Interval(numbers["kubenet.nodes"].number, None)
            text = reason_of(cluster.network_plugin) if some else "one route per node in the route table"
            yield Limit("kubenet-routes", "kubenet.nodes", cluster.network_plugin, text, some, counts_surge=not some)
        if equals(cluster.network_policy, "azure"):
            text = "the limit of Azure's Network Policy Manager"
            yield Limit("network-policy", "network_policy.nodes", cluster.network_policy, text)

    def pods_limit(self, cluster: Cluster, pools: Iterable[NodePool]) -> str:
        """That of a pod subnet, or of overlay; none for pods in the subnet of their nodes, and for static blocks."""
        own = [pool.addresses for pool in pools if known(pool.addresses.pod_subnets)]
        if own:
            return "" if any(equals(one.allocation, "StaticBlock") for one in own) else "pod_subnet.pods"
        return "overlay.pods" if equals(cluster.network_mode, "overlay") else ""

    def outbound_nodes(self, ports: int, addresses: int, ports_per_address: int) -> int:
        """Nodes that have outbound ports on the load balancer."""
        return arithmetic.snat_nodes(ports, addresses, ports_per_address)

    def has_pool_quota(self, pool: NodePool) -> bool:
        """Whether its machines have InfiniBand: their scale set is a single placement group."""
        return any(map(self.joins_in_scale_set, known(pool.machine.instance_types) or ()))

    def joins_in_scale_set(self, machine: str) -> bool:
        """Whether a size has InfiniBand, which joins the machines of one scale set."""
        from kcheck.inventory.clouds.aks import machines

        return machines.fabric(machine)

    def boots_from_own_disk(self, machine: str, vcpus: int) -> bool | None:
        """Whether a size has a local disk that is large enough for the boot disk."""
        from kcheck.inventory.clouds.aks import machines

        return machines.ephemeral(machine, vcpus)

    def reserved(self, node: Node) -> Reserved:
        """What AKS reserves."""
        return arithmetic.reserved(node)


CLOUD = Aks()
