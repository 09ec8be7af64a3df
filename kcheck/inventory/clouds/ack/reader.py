"""ACK clusters, node pools and vSwitches from alicloud resources."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import fabrics, machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import accounts, nat_gateways
from kcheck.inventory.clouds.accounts import Place
from kcheck.inventory.clouds.ack.cloud import terway_pods
from kcheck.inventory.clouds.reader import (
    Reader,
    blocks_below,
    bound_of,
    machine_of,
    not_empty,
    read_all,
    resolve_list,
    resolve_reference,
    taint_form,
    taints_of,
    text_reference,
    unresolved_reference,
)
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance
from kcheck.text import scalars
from kcheck.text.need import first_unknown, need, or_unknown
from kcheck.text.partly_known import address_of
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Record, Unknown, Unset, Value, known, mapped

CLOUD = "ack"
CLUSTER = "alicloud_cs_managed_kubernetes"
DEDICATED = "alicloud_cs_kubernetes"
ADDON = "alicloud_cs_kubernetes_addon"
INLINE_ADDON = "alicloud_cs_managed_kubernetes.addons"
WORKERS = "alicloud_cs_managed_kubernetes.workers"
POOL = "alicloud_cs_kubernetes_node_pool"
AUTOSCALER = "alicloud_cs_autoscaling_config"
SUBNET = "alicloud_vswitch"
NETWORK = "alicloud_vpc"
MORE = "alicloud_vpc_ipv4_cidr_block"


def read(roots: Iterable[Module], inventory: model.Inventory) -> None:
    """Add the ACK clusters of root modules to the inventory."""
    read_all([_Ack(root) for root in roots], inventory)


class _Ack(Reader):
    def __init__(self, root: Module) -> None:
        super().__init__(CLOUD, root, (POOL,))

    def networks(self) -> None:
        self.networks_of(NETWORK, MORE)

    def subnets(self) -> None:
        for instance, fields in self.each(SUBNET):
            found = resolve_reference(fields.raw("network"), self.by_reference(model.Network, NETWORK))
            network = found or unresolved_reference(fields.text("network"), "VPC")
            self.subnet(instance.address, fields, network)
        nat_gateways.hold(self, "alicloud_nat_gateway")

    # --- clusters

    def clusters(self) -> None:
        addons = [self.fields(ADDON, instance) for instance in self.root.instances(ADDON)]
        for kind in (CLUSTER, DEDICATED):
            for instance, fields in self.each(kind):
                own = (addon for addon in addons if address_of(addon.raw("cluster")) == instance.address)
                self._cluster(instance, fields, [*self._addons(instance), *(addon.text("name") for addon in own)])

    def _addons(self, instance: Instance) -> Iterator[Value[str]]:
        nested = instance.blocks("addons")
        if isinstance(nested, Unknown):
            yield nested
            return
        for record in nested.value:
            addon = self.fields(INLINE_ADDON, record)
            if not known(addon.flag("disabled")):
                yield addon.text("name")

    def _cluster(self, instance: Instance, fields: Fields, addons: list[Value[str]]) -> None:
        place = Origin((instance.span,))
        dedicated = fields.resource == DEDICATED
        cluster = fields.record_of(
            model.Cluster, self.identity(instance.address), instance.span, CLOUD, instance.address, self.folder,
            gap=self.gap, name=fields.text("name"), environment=self.root.environment, version=fields.text("version"),
            provisioned=fields.flag("auto_mode"), tier=Known("dedicated", place) if dedicated else fields.text("tier"),
            network_plugin=_plugin(fields, addons), fabric_addon=_fabric_addon(addons, place),
            api_ranges=_api_ranges(fields), security_group=_security_group(fields),
            outbound_ips=nat_gateways.snat_addresses(self, instance.span),
            pod_subnets=resolve_list(fields.raw("pod_subnets"), self.subnets_by_address, "vSwitch"),
            subnet_ids=fields.texts("subnets"), **_place_of(self, instance),
        )  # fmt: skip
        self.found.clusters.append(cluster)
        if known(cluster.network_plugin) != "terway":
            self.add_range(cluster, fields.text("pod_cidr"), fields.number("node_mask"))
        self._workers(instance, Known(cluster, place))

    def _workers(self, instance: Instance, owner: Value[model.Cluster]) -> None:
        """Read the workers that old code declares inside the cluster."""
        fields = self.fields(WORKERS, instance)
        if not isinstance(fields.number("count"), Unset):
            self._pool(fields, f"{instance.address}.workers", owner)

    # --- pools

    def pools(self) -> None:
        for instance, fields in self.each(POOL):
            self._pool(fields, instance.address, self._owner(fields))
        for instance, fields in self.each(AUTOSCALER):
            own = self.identity(instance.address), instance.span, self._owner(fields), CLOUD
            self.found.autoscalers.append(fields.record_of(model.Autoscaler, *own))

    def _owner(self, fields: Fields) -> Value[model.Cluster]:
        found = resolve_reference(fields.raw("cluster"), self.by_reference(model.Cluster, CLUSTER))
        return found or unresolved_reference(fields.text("cluster"), "cluster")

    @or_unknown
    def _scaled(self, fields: Fields) -> Value[bool]:
        """Whether a pool is autoscaled; a bare `scaling_config` turns it on."""
        if not need(fields.record.blocks("scaling_config")):
            return Known(value=False, origin=Origin((fields.record.span,)))
        return fields.flag("scaling")

    def _pool(self, fields: Fields, address: str, owner: Value[model.Cluster]) -> None:
        record, types, inside = fields.record, fields.texts("instance_types"), fields.resource == POOL
        place, form = Origin((record.span,)), taint_form(record, "taints")
        pool = model.NodePool(
            self.identity(address),
            record.span,
            address,
            owner,
            fields.text("name") if inside else Known("workers", place),
            self.folder,
            size=_size(fields, self._scaled(fields)),
            upgrade=model.Upgrade(Known(model.Surge(), place), mapped(fields.number("max_unavailable"), model.Surge)),
            machine=replace(machine_of(fields, CLOUD, types), image_disk=fields.number("data_disk")),
            addresses=self._addresses(fields, types, known(owner), place),
            market=_market(fields, record) if inside else fields.record_of(model.Market),
            scheduling=(
                model.Scheduling(_pairs(record, "labels", "key", "value"), taints_of(record, "taints"), form)
                if inside
                else model.Scheduling(taint_form=form)
            ),
            placement=fields.record_of(model.Placement),
            system=fields.record_of(model.System, hub_mirror=_hub_mirror(record)),
            kubelet=fields.record_of(model.Kubelet),
        )
        self.found.pools.append(pool)

    def _addresses(
        self, fields: Fields, types: Value[tuple[str, ...]], cluster: model.Cluster | None, place: Origin
    ) -> model.Addresses:
        subnets = not_empty(resolve_list(fields.raw("subnets"), self.subnets_by_address, "vSwitch"), "vswitch_ids")
        pod_range = self.ranges.get(cluster.id) if cluster else None
        return model.Addresses(
            subnets,
            self.candidates(subnets, fields.raw("subnets"), self.subnets_by_address),
            Known(value=False, origin=place),
            self._max_pods(fields, types, cluster) if fields.resource == POOL else model.NOTHING,
            pod_subnets=cluster.pod_subnets if cluster else model.NOTHING,
            pod_addresses=Known(_pod_addresses(), place),
            pod_range=Known(pod_range, place) if pod_range else Unset(place),
            subnet_ids=fields.texts("subnets"),
            own=_own_addresses(types, cluster, place),
        )

    def _max_pods(self, fields: Fields, types: Value[tuple[str, ...]], cluster: model.Cluster | None) -> Value[int]:
        """Return a node's maximum pods, by interfaces or as set."""
        plugin = known(cluster.network_plugin) if cluster else None
        if plugin == "terway":
            found = [machines.interfaces(CLOUD, name) for name in known(types) or ()]
            if not found or None in found:
                return Unknown("the interfaces of its instance types are not known", types.origin)
            return mapped(types, lambda _: min(terway_pods(*one) for one in found if one))
        written = fields.number("max_pods")
        pod_range = self.ranges.get(cluster.id) if cluster else None
        block = pod_range.block if pod_range else model.NOTHING
        return mapped(block, lambda prefix: 1 << (32 - prefix)) if isinstance(written, Unset) else written


def _market(fields: Fields, record: Record) -> model.Market:
    spot = mapped(fields.text("bid"), lambda strategy: strategy != "NoSpot")
    own = fields.text("reservation")
    return fields.record_of(
        model.Market, spot=spot, price_caps=_caps(record), reservation=text_reference(own), reservation_id=own
    )


def _caps(record: Record) -> Value[dict[str, str]]:
    """Return the spot price cap of each machine type; Unset if not written."""
    found = _pairs(record, "spot_price_limit", "instance_type", "price_limit")
    return found if not isinstance(found, Known) or found.value else Unset(record.absent(("spot_price_limit",)))


@or_unknown
def _pairs(record: Record, kind: str, key: str, value: str) -> Value[dict[str, str]]:
    """Convert nested key-value blocks to a map; Unknown if any part is."""
    nested, found = need(record.blocks(kind)), {}
    for one in nested:
        name, text = (need(part) if part else None for part in map(one.entry, (key, value)))
        try:
            found[str(name or "")] = "" if text is None else scalars.to_string(text)
        except scalars.EvaluationError as error:
            return Unknown(f"`{value}`: {error}", Origin((one.span,)))
    return Known(found, Origin(((*nested, record)[0].span,)))


def _pod_addresses() -> tuple[int, int]:
    """Return bounds on the pod addresses that a node with one pod takes."""
    least = profiles.limits(CLOUD)["terway.least_pod_addresses"].number
    return least, least + profiles.settings(CLOUD)["terway.idle_pool"].number


def _size(fields: Fields, scaled: Value[bool]) -> model.Size:
    """Return minimum and maximum of a pool, equal without autoscaling."""
    names = ("scaling_config", "scaling_config.max_size", "desired_size")
    least, most = (bound_of(fields, one, scaled, names) for one in ("min", "max"))
    return model.Size(scaled, least, most)


def _plugin(fields: Fields, addons: list[Value[str]]) -> Value[str]:
    """Find the network plugin by add-on, else by the pods' range or vSwitches."""
    for addon in addons:
        name = known(addon) or ""
        if "flannel" in name or "terway" in name:
            return Known("flannel" if "flannel" in name else "terway", addon.origin or Origin(()))
    for name, field in (("terway", "pod_subnets"), ("flannel", "pod_cidr")):
        raw = fields.raw(field)
        if raw is not None and not (isinstance(raw, Known) and not raw.value):
            return Known(name, raw.origin or Origin((fields.record.span,)))
    return first_unknown(addons) or Unknown("neither pod_cidr nor pod_vswitch_ids nor a network add-on is written")


def _fabric_addon(addons: list[Value[str]], place: Origin) -> Value[bool]:
    patterns = fabrics.plugins(CLOUD)
    for addon in addons:
        if any(one.search(known(addon) or "") for one in patterns):
            return Known(value=True, origin=addon.origin or place)
    return first_unknown(addons) or Known(value=False, origin=place)


def _own_addresses(
    types: Value[tuple[str, ...]], cluster: model.Cluster | None, place: Origin
) -> Value[tuple[int, int]]:
    """Return bounds on the vSwitch addresses that a node takes.

    The first card's ordinary interface becomes an elastic RDMA interface; the controller creates one per other card:
    https://github.com/AliyunContainerService/alibabacloud-erdma-controller/blob/main/internal/controller/eri.go
    """
    addon = cluster.fabric_addon if cluster is not None else model.NOTHING
    found = [fabrics.fabric(CLOUD, name) for name in known(types) or ()]
    cards = [one.interfaces if one is not None else 1 for one in found] or [1]
    if not isinstance(addon, (Known, Unknown)) or known(addon) is False:
        return Known((1, 1), place)
    return Known((min(cards) if known(addon) else 1, max(cards)), place)


def _hub_mirror(record: Record) -> Value[bool]:
    """Whether containerd on a pool's nodes has mirrors for Docker Hub."""
    found = [one.entry("registry_mirrors") for one in blocks_below(record, "containerd_config")]
    unknown = first_unknown(found)
    return unknown or Known(any(bool(one.value) for one in found if isinstance(one, Known)), Origin((record.span,)))


def _security_group(fields: Fields) -> Value[str]:
    """Return basic or enterprise; Unknown if the group is given."""
    if not isinstance(fields.text("security_group"), Unset):
        return Unknown("the security group is given", fields.text("security_group").origin)
    return mapped(fields.flag("enterprise_group"), lambda large: "enterprise" if large else "basic")


def _api_ranges(fields: Fields) -> Value[tuple[str, ...]]:
    """Return no ranges for a private API server; Unknown for a public one."""
    public = fields.flag("api_public")
    if known(public):
        return Unknown("the load balancer may restrict the public address of the API server", public.origin)
    return mapped(public, lambda _: ())


_RAM_ROLE = regex(r"acs:ram::(\d+):")
_NO_ACCOUNT = "the alicloud provider does not say its account (account_id, assume_role)"
_NO_REGION = "the alicloud provider has no region in this code"


def _place_of(reader: Reader, instance: Instance) -> Place:
    """Return account and region, which are written only in the provider."""
    account, role, region = (accounts.of_provider(reader, instance, name) for name in ("account", "role", "region"))
    return {
        "account": accounts.first(instance.span, _NO_ACCOUNT, account, accounts.of_role(role, _RAM_ROLE)),
        "region": accounts.first(instance.span, _NO_REGION, region),
    }
