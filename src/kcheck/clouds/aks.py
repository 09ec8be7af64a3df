"""azurerm resources to AKS clusters, node pools and Azure subnets."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kcheck import profiles
from kcheck.clouds.fields import Fields
from kcheck.model import Autoscaler, Cluster, Inventory, Network, NodePool, Subnet
from kcheck.values import Known, Origin, Unknown, Unset, Value

if TYPE_CHECKING:
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance, Record
    from kcheck.text import Span
    from kcheck.values import Datum

CLOUD = "aks"
CLUSTER = "azurerm_kubernetes_cluster"
POOL = "azurerm_kubernetes_cluster_node_pool"
DEFAULT_POOL = "azurerm_kubernetes_cluster.default_node_pool"
SUBNET = "azurerm_subnet"
NETWORK = "azurerm_virtual_network"
INLINE_SUBNET = "azurerm_virtual_network.subnet"
AUTOSCALER_FIELDS = (
    "max_unready_nodes", "max_unready_percentage", "bulk_delete", "unneeded_time", "unready_time", "delay_after_add",
    "delay_after_failure", "scan_interval", "new_pod_delay", "provision_time", "expander",
)  # fmt: skip


def read(root: Module, inventory: Inventory) -> None:
    """Add the AKS clusters of one root module to the inventory."""
    if CLUSTER not in root.kinds():
        return
    reader = _Reader(root)
    reader.networks()
    reader.clusters()
    inventory.networks += reader.found.networks
    inventory.subnets += reader.found.subnets
    inventory.clusters += reader.found.clusters
    inventory.autoscalers += reader.found.autoscalers
    inventory.pools += reader.found.pools


class _Reader:
    """Reads one root module; links are followed within it."""

    def __init__(self, root: Module) -> None:
        self.root = root
        self.found = Inventory()
        self.defaults = profiles.settings(CLOUD)
        self.pool_instances = list(root.instances(POOL))
        # what a broken file or an unknown count leaves out is unknown, not absent
        self.complete = all(not module.configuration.incomplete for module in root.all()) and all(
            instance.certain for instance in self.pool_instances
        )

    def identity(self, address: str) -> str:
        """What people and machines call a resource; its root is named where it is not the working directory."""
        folder = self.root.configuration.folder
        return f"{CLOUD}/{address}" if folder == "." else f"{CLOUD}/{folder}:{address}"

    # --- networks and subnets

    def networks(self) -> None:
        for instance in self.root.instances(NETWORK):
            fields = Fields(CLOUD, NETWORK, instance)
            network = Network(
                self.identity(instance.address), instance.span, instance.address, fields["name"], fields["cidrs"]
            )
            self.found.networks.append(network)
            self._inline_subnets(instance, network)
        for instance in self.root.instances(SUBNET):
            fields = Fields(CLOUD, SUBNET, instance)
            network_of = self._network(fields)
            self._subnet(fields, instance.address, instance.span, network_of)

    def _inline_subnets(self, instance: Instance, network: Network) -> None:
        nested = instance.blocks("subnet")
        if isinstance(nested, Unknown):
            return
        origin = Origin((instance.span,))
        for i, record in enumerate(nested):
            fields = Fields(CLOUD, INLINE_SUBNET, record)
            self._subnet(fields, f"{instance.address}.subnet[{i}]", record.span, Known(network, origin))

    def _subnet(self, fields: Fields, address: str, place: Span, network: Value[Network]) -> None:
        root = self.root.configuration.folder
        subnet = Subnet(
            self.identity(address), place, CLOUD, address, root, self.complete, fields["name"], fields["cidr"], network
        )
        self.found.subnets.append(subnet)

    def _network(self, fields: Fields) -> Value[Network]:
        """The network of a subnet: named by reference, or by a name that one network of the root has."""
        datum = fields.raw("network")
        linked = _linked(datum, {network.address: network for network in self.found.networks})
        if linked is not None:
            return linked
        name = fields["network"]
        if isinstance(name, Known):
            named = [network for network in self.found.networks if _same(network.name, name.value)]
            if len(named) == 1:
                return Known(named[0], name.origin)
            return Unknown(f"no single virtual network named {name.value} in this root", name.origin)
        return name

    @cached_property
    def subnets_by_address(self) -> dict[str, Subnet]:
        """The subnets by what refers to them: their address, or a data source that names one of this root."""
        result = {subnet.address: subnet for subnet in self.found.subnets}
        by_name: dict[str, list[Subnet]] = {}
        for subnet in self.found.subnets:
            if isinstance(subnet.name, Known):
                by_name.setdefault(subnet.name.value, []).append(subnet)
        for address, record in self.root.sources(SUBNET):
            name, network = record.entry("name"), record.entry("virtual_network_name")
            if not isinstance(name, Known) or not isinstance(network, Known):
                continue
            named = [s for s in by_name.get(str(name.value), []) if _is_in(s, str(network.value))]
            if len(named) == 1:
                result[address] = named[0]
        return result

    # --- clusters and pools

    def clusters(self) -> None:
        for instance in self.root.instances(CLUSTER):
            fields = Fields(CLOUD, CLUSTER, instance)
            cluster = self._cluster(instance, fields)
            self.found.clusters.append(cluster)
            values = {name: fields[f"autoscaler.{name}"] for name in AUTOSCALER_FIELDS}
            place = _first_span(instance, "auto_scaler_profile")
            self.found.autoscalers.append(Autoscaler(f"{cluster.id}/autoscaler", place, cluster, **values))
            nested = instance.blocks("default_node_pool")
            for record in () if isinstance(nested, Unknown) else nested:
                origin = Origin((instance.span,))
                pool = Fields(CLOUD, DEFAULT_POOL, record)
                self._pool(pool, f"{instance.address}.default_node_pool", record.span, Known(cluster, origin), cluster)
        addresses = {cluster.address: cluster for cluster in self.found.clusters}
        for instance in self.pool_instances:
            fields = Fields(CLOUD, POOL, instance)
            linked = _linked(fields.raw("cluster"), addresses)
            owner: Value[Cluster] = linked if linked is not None else _unlinked(fields["cluster"], "cluster")
            known = owner.value if isinstance(owner, Known) else None
            self._pool(fields, instance.address, instance.span, owner, known)

    def _cluster(self, instance: Instance, fields: Fields) -> Cluster:
        nested = instance.blocks("default_node_pool")
        complete = self.complete and not isinstance(nested, Unknown) and bool(nested)
        mode = fields["network_mode"]
        if isinstance(mode, Unset):
            plugin = fields["network_plugin"]
            if isinstance(plugin, Known) and plugin.value == "azure":
                mode = Known(self.defaults["network.mode_of_azure"].value, mode.origin)
        elif isinstance(mode, Known):
            mode = Known(mode.value.lower(), mode.origin)  # written "Overlay" up to azurerm 3.61
        pod_cidr = fields["pod_cidr"]
        if isinstance(pod_cidr, Unset) and _pods_have_own_range(fields["network_plugin"], mode):
            pod_cidr = Known(self.defaults["network.pod_cidr"].value, pod_cidr.origin)
        tier = fields["tier"]
        if isinstance(tier, Known) and tier.value == "Paid":  # azurerm up to 3.50
            tier = Known("Standard", tier.origin)
        plugin = fields["network_plugin"]
        if isinstance(plugin, Unset):
            reason = "network_profile is absent: azurerm sends nothing and AKS chooses; write network_plugin explicitly"
            plugin = Unknown(reason, plugin.origin)
            mode = Unknown(reason, mode.origin) if isinstance(mode, Unset) else mode
            pod_cidr = Unknown(reason, pod_cidr.origin) if isinstance(pod_cidr, Unset) else pod_cidr
        return Cluster(
            self.identity(instance.address),
            instance.span,
            CLOUD,
            instance.address,
            self.root.configuration.folder,
            complete,
            network_plugin=plugin,
            network_mode=mode,
            pod_cidr=pod_cidr,
            tier=tier,
            **{
                name: fields[name]
                for name in (
                    "name",
                    "version",
                    "location",
                    "network_policy",
                    "service_cidr",
                    "outbound_type",
                    "outbound_ips",
                )
            },
        )

    def _pool(self, fields: Fields, address: str, place: Span, owner: Value[Cluster], cluster: Cluster | None) -> None:
        autoscaled = fields["autoscaled"]
        pod_subnet = self._subnet_of(fields, "pod_subnet")
        in_subnet = _pods_take_addresses(cluster, pod_subnet)
        pool = NodePool(
            self.identity(address),
            place,
            address,
            owner,
            fields["name"],
            fields["mode"] if fields.resource == POOL else Known("System", Origin((place,))),
            autoscaled,
            min_nodes=self._size(fields, autoscaled, "min"),
            max_nodes=self._size(fields, autoscaled, "max"),
            instance_type=fields["instance_type"],
            max_pods=self._max_pods(fields, cluster, pod_subnet),
            surge=self._surge(fields, cluster),
            subnet=self._subnet_of(fields, "subnet"),
            pod_subnet=pod_subnet,
            pods_take_addresses=in_subnet,
            spot=_map(fields["priority"], lambda priority: priority == "Spot"),
            zones=fields["zones"],
            labels=fields["labels"],
            taints=fields["taints"],
        )
        self.found.pools.append(pool)

    def _size(self, fields: Fields, autoscaled: Value[bool], bound: str) -> Value[int]:
        """The bound of an autoscaled pool, or the fixed size of another."""
        if not isinstance(autoscaled, Known):
            return Unknown(_reason(autoscaled, "auto_scaling_enabled"), autoscaled.origin)
        size: Value[int] = fields[bound] if autoscaled.value else fields["count"]
        if isinstance(size, Unset):
            what = f"{bound}_count" if autoscaled.value else "node_count"
            return Unknown(f"{what} is not written", size.origin)
        return size

    def _max_pods(self, fields: Fields, cluster: Cluster | None, pod_subnet: Value[Subnet]) -> Value[int]:
        written: Value[int] = fields["max_pods"]
        if not isinstance(written, Unset):
            return written
        mode = _mode(cluster)
        if isinstance(mode, Unknown):
            return Unknown(
                f"max_pods is not written and its default depends on the network: {mode.reason}", mode.origin
            )
        if not isinstance(pod_subnet, Unset):
            return Unknown(
                "max_pods is not written; the documented defaults for a pod subnet contradict each other (110, 250)"
            )
        entry = self.defaults.get(f"max_pods.{mode.value.replace('-', '_')}")
        return Known(int(entry.value), written.origin) if entry else written

    def _surge(self, fields: Fields, cluster: Cluster | None) -> Value[str]:
        """What an upgrade adds: as written, nothing with max_unavailable and on spot pools, else AKS's default."""
        written: Value[str] = fields["max_surge"]
        if not isinstance(written, Unset):
            return written
        priority = fields["priority"]
        if isinstance(priority, Known) and priority.value == "Spot":
            return Known("0", written.origin)
        if isinstance(fields["max_unavailable"], Known):
            return Known("0", written.origin)
        version = cluster.version if cluster else Unset(written.origin)
        if isinstance(version, Unknown):
            return Unknown(version.reason, version.origin)
        old = isinstance(version, Known) and _minor(version.value) < (1, 32)
        key = "surge.before_1_32" if old else "surge.from_1_32"
        return Known(str(self.defaults[key].value), written.origin)

    def _subnet_of(self, fields: Fields, name: str) -> Value[Subnet]:
        datum = fields.raw(name)
        linked = _linked(datum, self.subnets_by_address)
        return linked if linked is not None else _unlinked(fields[name], "subnet")


def _linked(datum: Datum | None, things: dict[str, Any]) -> Known[Any] | None:
    """The thing whose id or name the datum refers to."""
    if not isinstance(datum, Unknown) or datum.symbol is None or datum.symbol.attribute not in ("id", "name"):
        return None
    thing = things.get(datum.symbol.address)
    return None if thing is None else Known(thing, datum.origin or Origin((thing.place,)))


def _is_in(subnet: Subnet, network: str) -> bool:
    return isinstance(subnet.network, Known) and _same(subnet.network.value.name, network)


def _unlinked(value: Value[Any], what: str) -> Value[Any]:
    """A reference that leads out of this root."""
    if isinstance(value, Known):
        return Unknown(f"the {what} is given as an id and is not in this root", value.origin)
    return value


def _mode(cluster: Cluster | None) -> Known[str] | Unknown:
    """How pods get addresses: node-subnet, overlay or kubenet."""
    if cluster is None:
        return Unknown("the pool's cluster is not known")
    plugin, mode = cluster.network_plugin, cluster.network_mode
    if isinstance(plugin, Known):
        if plugin.value == "kubenet":
            return Known("kubenet", plugin.origin)
        if plugin.value != "azure":
            return Unknown(f"network_plugin is {plugin.value}", plugin.origin)
        if isinstance(mode, Known):
            return mode
    return Unknown(_reason(plugin if isinstance(plugin, Unknown) else mode, "network_plugin"), plugin.origin)


def _pods_have_own_range(plugin: Value[str], mode: Value[str]) -> bool:
    return (isinstance(plugin, Known) and plugin.value == "kubenet") or (
        isinstance(mode, Known) and mode.value == "overlay"
    )


def _pods_take_addresses(cluster: Cluster | None, pod_subnet: Value[Subnet]) -> Value[bool]:
    """Whether pods take addresses of the subnet of their nodes."""
    mode = _mode(cluster)
    if isinstance(mode, Unknown):
        return mode
    return Known(mode.value == "node-subnet" and isinstance(pod_subnet, Unset), mode.origin)


def _reason(value: Value[Any], name: str) -> str:
    return value.reason if isinstance(value, Unknown) else f"{name} is not written"


def _same(value: Value[str], text: str) -> bool:
    return isinstance(value, Known) and value.value == text


def _map(value: Value[Any], change: Any) -> Value[Any]:
    return Known(change(value.value), value.origin) if isinstance(value, Known) else value


def _minor(version: str) -> tuple[int, int]:
    parts = version.split(".")
    digits = [int(part) for part in parts[:2] if part.isdigit()]
    return (digits[0], digits[1]) if len(digits) == 2 else (1, 99)


def _first_span(instance: Instance, kind: str) -> Span:
    nested: tuple[Record, ...] | Unknown = instance.blocks(kind)
    return nested[0].span if not isinstance(nested, Unknown) and nested else instance.span
