"""AKS clusters, node pools and subnets from azurerm resources."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import machines, profiles
from kcheck.inventory.clouds import accounts, api_access, nat_gateways, registry
from kcheck.inventory.clouds.aks import networks, pools
from kcheck.inventory.clouds.aks.cloud import dynamic_addresses, static_addresses
from kcheck.inventory.clouds.reader import (
    Reader,
    blocks_below,
    bound_of,
    gpu_of,
    or_default,
    read_all,
    resolve_reference,
    text_of,
    text_reference,
    unresolved_reference,
)
from kcheck.text.partly_known import either
from kcheck.text.regex import regex
from kcheck.text.values import (
    Known,
    Origin,
    Unknown,
    Unset,
    Value,
    candidates,
    equals,
    first_set,
    known,
    mapped,
    reason_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.config.numbers.fields import Fields
    from kcheck.model import Inventory
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.values import Blocks, Record

CLOUD = "aks"
CLUSTER = "azurerm_kubernetes_cluster"
POOL = "azurerm_kubernetes_cluster_node_pool"
DEFAULT_POOL = "azurerm_kubernetes_cluster.default_node_pool"
SUBNET = "azurerm_subnet"
NETWORK = "azurerm_virtual_network"
INLINE_SUBNET = "azurerm_virtual_network.subnet"
ARM = "azapi_resource"
ARM_CLUSTER = "azapi_resource.managedClusters"
ARM_POOL = "azapi_resource.agentPools"

_INLINE_POOLS = {
    "default_node_pool": DEFAULT_POOL,
    "agent_pool_profile": "azurerm_kubernetes_cluster.agent_pool_profile",
    "agentPoolProfiles": ARM_POOL,
}
"""Names of pools inside a cluster -> tables of their fields."""
_OF_CLUSTER = (DEFAULT_POOL, _INLINE_POOLS["agent_pool_profile"])
"""Tables of pools that run the system."""
_KARPENTER = "karpenter"
"""Grower with node auto-provisioning, instead of the Cluster Autoscaler."""
_SUBNET_ID = regex(r"/virtualNetworks/([^/$]+)/subnets/([^/$]+)$", re.IGNORECASE)
_CLUSTER_ID = regex(r"/managedClusters/([^/$]+)$", re.IGNORECASE)
_SUBSCRIPTION = regex(r"/subscriptions/([\w-]+)(?:/|$)", re.IGNORECASE)
_GROUP = regex(r"/resourceGroups/([^/$]+)", re.IGNORECASE)
_REGION = regex(r"[a-z]+\d?")
_ID = regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_SUBSCRIPTION = "the provider has no subscription_id in this code"
_NO_REGION = "location is not set"


def read(roots: Iterable[Module], inventory: Inventory) -> None:
    """Add the AKS clusters of root modules to the inventory."""
    read_all([_Aks(root) for root in roots], inventory)


class _Aks(Reader):
    def __init__(self, root: Module) -> None:
        super().__init__(CLOUD, root, (POOL, ARM))

    def networks(self) -> None:
        for instance, fields in self.each(NETWORK):
            self.network(instance, fields.text("name"), fields.texts("cidrs"))

    def subnets(self) -> None:
        for instance, network in zip(self.root.instances(NETWORK), self.found.networks, strict=True):
            origin = Origin((instance.span,))
            for i, record in enumerate(blocks_below(instance, "subnet")):
                fields = self.fields(INLINE_SUBNET, record)
                address = f"{instance.address}.subnet[{i}]"
                self.subnet(address, fields, Known(network, origin))
        for instance, fields in self.each(SUBNET):
            found = resolve_reference(fields.raw("network"), self.by_reference(model.Network, NETWORK))
            owner = found or self.find_named(fields.text("network"), model.Network, "virtual network")
            self.subnet(instance.address, fields, owner)
        nat_gateways.hold(self, "azurerm_private_endpoint")

    @cached_property
    def subnets_by_address(self) -> dict[str, model.Subnet]:
        """Subnets by address, also by those of data sources."""
        result = {subnet.address: subnet for subnet in self.found.subnets}
        for address, record in self.root.sources(SUBNET):
            name, network = record.entry("name"), record.entry("virtual_network_name")
            if isinstance(name, Known) and isinstance(network, Known):
                found = self._subnet_named(Known(str(name.value), name.origin), str(network.value))
                if found is not None:
                    result[address] = found
        return result

    # --- clusters and pools

    def clusters(self) -> None:
        for instance in self.root.instances(CLUSTER):
            name = "default_node_pool"
            if known(instance.blocks(name)) == () and known(instance.blocks("agent_pool_profile")) != ():
                name = "agent_pool_profile"
            self._with_pools(instance, self.fields(CLUSTER, instance), instance.blocks(name), name)
        for instance in self._arm("managedClusters"):
            self._with_pools(instance, self.fields(ARM_CLUSTER, instance), _profiles(instance), "agentPoolProfiles")

    def _arm(self, kind: str) -> Iterator[Instance]:
        for instance in self.pool_instances[ARM]:
            written = instance.entry("type")
            if isinstance(written, Known) and str(written.value).partition("@")[0].lower().endswith(f"/{kind}".lower()):
                yield instance

    def _with_pools(self, instance: Instance, fields: Fields, nested: Blocks, what: str) -> None:
        cluster = self._with_windows(self._cluster(instance, fields, nested, what))
        self.found.clusters.append(cluster)
        owner: Value[model.Cluster] = Known(cluster, Origin((instance.span,)))
        if not equals(cluster.grower, _KARPENTER):
            scaling = self.fields(f"{fields.resource}.autoscaler", instance)
            place = next(blocks_below(instance, "auto_scaler_profile"), instance).span
            self.found.autoscalers.append(
                scaling.record_of(model.Autoscaler, f"{cluster.id}/autoscaler", place, owner, "cluster-autoscaler")
            )
        self._range(fields, cluster)
        for i, record in enumerate(known(nested) or ()):
            pool = self.fields(_INLINE_POOLS[what], record, instance)
            address = f"{instance.address}.{what}" + ("" if pool.resource == DEFAULT_POOL else f"[{i}]")
            self._pool(pool, address, owner)

    def pools(self) -> None:
        addresses = self.by_reference(model.Cluster, CLUSTER)
        kinds = [(POOL, instance) for instance in self.pool_instances[POOL]]
        kinds += [(ARM_POOL, instance) for instance in self._arm("agentPools")]
        for kind, instance in kinds:
            fields = self.fields(kind, instance)
            owner = resolve_reference(fields.raw("cluster"), addresses) or self._cluster_with_id(fields.text("cluster"))
            self._pool(fields, instance.address, owner)

    def _cluster_with_id(self, value: Value[str]) -> Value[model.Cluster]:
        match = _CLUSTER_ID.search(text_of(value) or "")
        if match is None:
            return unresolved_reference(value, "cluster")
        return self.find_named(Known(match[1], value.origin or Origin(())), model.Cluster, "cluster")

    def _subnet_named(self, name: Value[str], network: str) -> model.Subnet | None:
        """Find a subnet by name and network name, in this or another root."""

        def is_in(subnet: model.Subnet) -> bool:
            return isinstance(subnet.network, Known) and equals(subnet.network.value.name, network)

        return known(self.find_named(name, model.Subnet, "subnet", is_in))

    def _range(self, fields: Fields, cluster: model.Cluster) -> None:
        """Add the range of the pods, if they can have their own."""
        mode = networks.mode_of(cluster)
        modes = {one.value for one in candidates(mode)}
        if modes and not modes <= {"overlay", "kubenet"}:
            return
        cidr = fields.text("pod_cidr")
        if isinstance(cidr, Unset):
            cidr = (
                Known(self.defaults["network.pod_cidr"].text, cidr.origin)
                if modes
                else Unknown(reason_of(mode), cidr.origin)
            )
        block = profiles.limits(CLOUD)["pod_range.block"].number
        self.add_range(cluster, cidr, Known(block, Origin((cluster.place,))))

    def _cluster(self, instance: Instance, fields: Fields, nested: Blocks, what: str) -> model.Cluster:
        automatic = fields.resource == ARM_CLUSTER and equals(fields.text("sku"), "Automatic")
        gap = nested.reason if isinstance(nested, Unknown) else ""
        gap = f"{what} is not set" if known(nested) == () and not automatic else gap
        plugin, mode = networks.network(fields, automatic=automatic)
        tier = fields.text("tier")
        if isinstance(tier, Known) and tier.value == "Paid":  # azurerm up to 3.50
            tier = Known("Standard", tier.origin)
        if automatic:  # its tier cannot be chosen
            tier = Known("Standard", fields.text("sku").origin or Origin((instance.span,)))
        default_pool = next(iter(known(nested) or ()), None)
        subnet = self.fields(_INLINE_POOLS[what], default_pool).raw("subnet") if default_pool else None
        ips, own_list = networks.public_addresses(fields, subnet, self)
        return fields.record_of(
            model.Cluster, self.identity(instance.address), instance.span, CLOUD, instance.address, self.folder,
            gap=self.gap or gap, name=fields.text("name"), version=fields.text("version"),
            environment=self.root.environment,
            provisioned=Known(automatic, Origin((instance.span,))) if automatic else model.NOTHING,
            network_plugin=plugin, network_mode=mode, tier=tier, outbound_ips=ips, outbound_list=own_list,
            api_ranges=api_access.ranges(fields),
            grower=mapped(fields.text("provisioning"), lambda mode: _KARPENTER if mode == "Auto" else CLOUD),
            **_place(self, instance, fields),
        )  # fmt: skip

    def _with_windows(self, cluster: model.Cluster) -> model.Cluster:
        """Add the cluster's upgrade windows, if they are a separate resource."""
        own = next(self._arm("maintenanceConfigurations"), None)
        window = Known("maintenanceConfigurations", Origin((own.span,))) if own else None
        return replace(cluster, upgrade_window=window, image_window=window) if window else cluster

    def _pool(self, fields: Fields, address: str, owner: Value[model.Cluster]) -> None:
        place, cluster, autoscaled = fields.record.span, known(owner), fields.flag("autoscaled")
        names = {one: ("auto_scaling_enabled", f"{one}_count", "node_count") for one in ("min", "max")}
        least, most = (bound_of(fields, one, autoscaled, own) for one, own in names.items())
        pool = model.NodePool(
            self.identity(address),
            place,
            address,
            owner,
            fields.text("name"),
            self.folder,
            mode=Known("System", Origin((place,))) if fields.resource in _OF_CLUSTER else fields.text("mode"),
            size=model.Size(autoscaled, least, most, count_written=fields.number("count")),
            upgrade=pools.upgrade(fields, cluster),
            machine=self._machine(fields),
            addresses=self._addresses(fields, cluster, Origin((place,))),
            market=_market(fields),
            scheduling=fields.record_of(model.Scheduling, taints=self._taints(fields), taint_form="text"),
            placement=fields.record_of(model.Placement),
            system=fields.record_of(model.System),
            ignored=fields.ignored,
        )
        self.found.pools.append(pool)

    def _machine(self, fields: Fields) -> model.Machine:
        name = fields.text("instance_type")
        types = mapped(name, lambda one: (one,))
        gpu = or_default(gpu_of(CLOUD, types), lambda at: Known(value=False, origin=at))
        size = self._disk_size(fields, name)
        return fields.record_of(model.Machine, instance_types=types, gpu=gpu, gpus=self._gpus(name), disk_size=size)

    def _disk_size(self, fields: Fields, machine: Value[str]) -> Value[int]:
        """Return the boot disk's size; a managed disk's follows the vCPUs."""
        written = fields.number("disk_size")
        if not isinstance(written, Unset) or not equals(fields.text("disk_type"), "Managed"):
            return written
        found = mapped(machine, pools.managed_disk)
        if isinstance(found, Unknown):
            return found
        size = known(found)
        return written if size is None else Known(size, written.origin)

    def _addresses(self, fields: Fields, cluster: model.Cluster | None, place: Origin) -> model.Addresses:
        subnet, of_pods = self._subnet_of(fields, "subnet"), self._subnet_of(fields, "pod_subnet")
        pod_range = self.ranges.get(cluster.id) if cluster and isinstance(of_pods, Unset) else None
        allocation, max_pods = fields.text("allocation"), self._max_pods(fields, cluster, of_pods)
        pods_inside = _pods_take_addresses(cluster, of_pods)
        if isinstance(subnet, Unset) and cluster is not None and known(pods_inside):
            subnet = self._subnet_of_aks(cluster, subnet, is_first=fields.resource in _OF_CLUSTER)
        return model.Addresses(
            mapped(subnet, lambda found: (found,)),
            self.candidates(subnet, fields.raw("subnet"), self.subnets_by_address),
            pods_inside,
            max_pods,
            pod_subnets=mapped(of_pods, lambda found: (found,)),
            pod_addresses=_pod_addresses(allocation, max_pods, place),
            allocation=allocation,
            pod_range=Unset(place) if pod_range is None else Known(pod_range, place),
        )

    def _subnet_of_aks(self, cluster: model.Cluster, unset: Unset, *, is_first: bool) -> Value[model.Subnet]:
        """Return the subnet that AKS makes for pools that name none."""
        address = f"{cluster.address}.aks-subnet"
        made = self.subnets_by_address.get(address)
        if made is None and is_first:
            cidr = Known(self.defaults["network.subnet"].text, unset.origin)
            made = self.subnets_by_address[address] = model.Subnet(
                self.identity(address), cluster.place, CLOUD, address, self.folder, self.gap,
                name=Known("aks-subnet", unset.origin), cidr=cidr, network=model.NOTHING,
            )  # fmt: skip
            self.found.subnets.append(made)
        return unset if made is None else Known(made, unset.origin)

    def _gpus(self, instance_type: Value[str]) -> Value[int]:
        """Return the GPUs of a node; Unset for sizes whose number Azure does not publish."""
        if not isinstance(instance_type, Known):
            return instance_type
        cards = machines.gpus(CLOUD, instance_type.value)
        if not cards and machines.has_accelerator(CLOUD, instance_type.value):
            return model.NOTHING
        return Known(cards or 0, instance_type.origin)

    def _taints(self, fields: Fields) -> Value[tuple[str, ...]]:
        """Return the taints, or CriticalAddonsOnly if a default pool asks for it."""
        if fields.resource == DEFAULT_POOL and known(fields.flag("critical_only")):
            return mapped(fields.flag("critical_only"), lambda _: ("CriticalAddonsOnly=true:NoSchedule",))
        return fields.texts("taints")

    def _max_pods(self, fields: Fields, cluster: model.Cluster | None, pod_subnet: Value[model.Subnet]) -> Value[int]:
        written = fields.number("max_pods")
        if not isinstance(written, Unset):
            return written
        mode = networks.mode_of(cluster)
        modes = candidates(mode)
        if not modes:
            return Unknown(
                f"max_pods is not set and its default depends on the network: {reason_of(mode)}", mode.origin
            )
        if not isinstance(pod_subnet, Unset):
            return Unknown(
                "max_pods is not set; the documented defaults for a pod subnet contradict each other (110, 250)"
            )
        keys = (f"max_pods.{one.value.replace('-', '_')}" for one in modes)
        return either(
            [Known(self.defaults[key].number, written.origin) for key in keys], reason_of(mode), written.origin
        )

    def _subnet_of(self, fields: Fields, name: str) -> Value[model.Subnet]:
        found = resolve_reference(fields.raw(name), self.subnets_by_address)
        if found is not None:
            return found
        value = fields.text(name)
        match = _SUBNET_ID.search(text_of(value) or "")
        subnet = self._subnet_named(Known(match[2], value.origin or Origin(())), match[1]) if match else None
        return Known(subnet, value.origin or Origin(())) if subnet else unresolved_reference(value, "subnet")


def _profiles(instance: Instance) -> Blocks:
    record: Record = instance
    for step in ("body", "properties"):
        nested = record.blocks(step)
        if isinstance(nested, Unknown) or not nested.value:
            return nested
        record = nested.value[0]
    return record.blocks("agentPoolProfiles")


def _market(fields: Fields) -> model.Market:
    spot = mapped(fields.text("priority"), lambda priority: priority == "Spot")
    reservation = fields.text("reservation")
    named = text_reference(reservation)
    return model.Market(spot, price_caps=_caps(fields), reservation=named, reservation_id=reservation)


def _caps(fields: Fields) -> Value[dict[str, str]]:
    """Return the spot price cap; Unset for -1, the on-demand price."""
    cap, name = fields.text("max_price"), known(fields.text("instance_type"))
    if not isinstance(cap, Known):
        return cap
    if name is None:
        return Unknown("the size of its machines is not known", cap.origin)
    return Known({name: cap.value}, cap.origin) if not cap.value.startswith("-") else Unset(cap.origin)


def _pod_addresses(allocation: Value[str], max_pods: Value[int], place: Origin) -> Value[tuple[int, int]]:
    """Return pod subnet addresses of a node with one pod."""
    limits = profiles.limits(CLOUD)
    batch = limits["pod_subnet.batch"].number
    if isinstance(allocation, Unknown):
        return allocation
    if equals(allocation, "StaticBlock"):
        return mapped(max_pods, lambda pods: (static_addresses(pods, batch),) * 2)
    least = dynamic_addresses(1, batch, limits["pod_subnet.spare"].number)
    return Known((least, least), place)


def _pods_take_addresses(cluster: model.Cluster | None, pod_subnet: Value[model.Subnet]) -> Value[bool]:
    mode = networks.mode_of(cluster)
    found = {one.value == "node-subnet" and isinstance(pod_subnet, Unset) for one in candidates(mode)}
    return Known(found.pop(), mode.origin or Origin(())) if len(found) == 1 else Unknown(reason_of(mode), mode.origin)


def _place(reader: Reader, instance: Instance, fields: Fields) -> accounts.Place:
    """Return the subscription, region and resource group of a cluster."""
    parent, place = fields.text("parent"), instance.span
    of_provider = accounts.of_provider(reader, instance, "subscription")
    account = accounts.first(place, _NO_SUBSCRIPTION, _part(parent, _SUBSCRIPTION), of_provider)
    region = accounts.first(place, _NO_REGION, fields.text("location"))
    return {
        "account": accounts.proper(mapped(account, str.lower), _ID),
        "region": accounts.proper(mapped(region, registry.cloud(CLOUD).region), _REGION),
        "group": mapped(first_set(_part(parent, _GROUP), fields.text("group")), str.lower),
    }


def _part(value: Value[str], pattern: re.Pattern[str]) -> Value[str]:
    """Return a part of an ARM id; Unset if absent."""
    found = pattern.search(text_of(value) or "")
    return Known(found[1], value.origin or Origin(())) if found is not None else Unset(value.origin or Origin(()))
