"""GKE clusters, node pools and subnets from google resources."""

from collections.abc import Iterable

from kcheck import model
from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import accounts, api_access, nat_gateways, registry
from kcheck.inventory.clouds.gke import pools
from kcheck.inventory.clouds.gke.cloud import AUTOPILOT
from kcheck.inventory.clouds.gke.ranges import POOL, Owner, RangeReader, Secondary, given, outside
from kcheck.inventory.clouds.reader import (
    N,
    Reader,
    blocks_below,
    bound_of,
    read_all,
    resolve_reference,
    taints_of,
    text_of,
    unresolved_reference,
    why_missing,
)
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance
from kcheck.text.need import first_unknown, need, or_unknown
from kcheck.text.partly_known import same_value
from kcheck.text.regex import regex
from kcheck.text.units import seconds
from kcheck.text.values import Known, Origin, Record, Unknown, Unset, Value, because, equals, known, mapped

CLOUD = "gke"
CLUSTER = "google_container_cluster"
INLINE_POOL = "google_container_cluster.node_pool"
DEFAULT_POOL = "google_container_cluster.default_pool"
SUBNET = "google_compute_subnetwork"
RANGE = "google_compute_subnetwork.secondary_ip_range"
NETWORK = "google_compute_network"

_REGION = regex(r"[a-z]+-[a-z]+\d+")
_PROJECT = regex(r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
"""https://docs.cloud.google.com/resource-manager/docs/creating-managing-projects; older ones begin with a domain."""
_NO_ZONE = "location is not set, and the provider has no zone"
_NO_PROJECT = "project is not set, and the google provider has none in this code"
_RESOURCES = {model.Network: NETWORK, model.Subnet: SUBNET, model.Cluster: CLUSTER}


def read(roots: Iterable[Module], inventory: model.Inventory) -> None:
    """Add the GKE clusters of root modules to the inventory."""
    secondary: dict[str, list[Secondary]] = {}
    owners: dict[str, Owner] = {}
    read_all([_Gke(root, secondary, owners) for root in roots], inventory)


class _Gke(RangeReader):
    def networks(self) -> None:
        for instance, fields in self.each(NETWORK):
            self.network(instance, fields.text("name"), Unset(Origin((instance.span,))))
            if known(fields.flag("automatic")):
                self._automatic(instance, f"the subnets of {instance.address}")

    def _automatic(self, instance: Instance, what: str) -> None:
        """Reserve the addresses of a network in auto mode."""
        cidr = Known(self.defaults["network.automatic_range"].text, Origin((instance.span,)))
        self.reserve(f"{self.identity(instance.address)}/automatic", instance.span, what, cidr)

    def subnets(self) -> None:
        for instance, fields in self.each(SUBNET):
            network = self._find(fields, "network", model.Network)
            subnet = self.subnet(instance.address, fields, network)
            nested = instance.blocks("secondary_ip_range")
            read = [self.fields(RANGE, record) for record in blocks_below(instance, "secondary_ip_range")]
            self.secondary[subnet.id] = [
                Secondary(
                    f"{subnet.id}/{known(one.text('name')) or i}", one.text("name"), one.text("cidr"), one.record.span
                )
                for i, one in enumerate(read)
            ]
            if isinstance(nested, Unknown):
                self.reserve(subnet.id, instance.span, f"a secondary range of {instance.address}", nested)
            for found in self.secondary[subnet.id]:
                self.reserve(found.id, found.place, f"a secondary range of {instance.address}", found.cidr)

    # --- clusters

    def clusters(self) -> None:
        for instance, fields in self.each(CLUSTER):
            cluster = self._cluster(instance, fields)
            self.found.clusters.append(cluster)
            plane = fields.text("plane_cidr")
            if isinstance(fields.text("subnet"), Unset):  # in auto mode, as nobody says where
                self._automatic(instance, "the subnets of its network")
            if not isinstance(plane, Unset):
                self.reserve(f"{cluster.id}/plane", instance.span, f"the control plane of {instance.address}", plane)
            home = self.owners[cluster.id] = Owner(cluster, fields, self._find(fields, "subnet", model.Subnet))
            if known(fields.flag("autopilot")):
                continue
            self.range_of_cluster(home)
            self.found.autoscalers.append(_autoscaler(cluster, fields))
            self._own_pools(instance, fields, Known(cluster, Origin((instance.span,))))

    def _cluster(self, instance: Instance, fields: Fields) -> model.Cluster:
        nested = instance.blocks("node_pool")
        autopilot, private = fields.flag("autopilot"), fields.flag("private_nodes")
        location, zonal = _location(self, instance, fields)
        near = nat_gateways.near(self, location)
        ips = nat_gateways.addresses(near) if known(private) else model.NOTHING
        is_decided = known(autopilot) or isinstance(autopilot, Unknown)
        return model.Cluster(
            self.identity(instance.address), instance.span, CLOUD, instance.address, self.folder,
            self.gap or (nested.reason if isinstance(nested, Unknown) else ""), name=fields.text("name"),
            environment=self.root.environment, version=fields.text("version"),
            tier=mapped(autopilot, lambda _: AUTOPILOT) if is_decided else model.NOTHING,
            support_plan=fields.text("support_plan"), upgrade_channel=fields.text("support_plan"),
            upgrade_window=fields.text("upgrade_window"), location=location, node_locations=fields.texts("zones"),
            monitored=fields.texts("monitored"), zonal=zonal,
            provisioned=autopilot if is_decided else fields.flag("provisioning"),
            network_mode=fields.text("network_mode"), service_cidr=self._services(fields),
            api_ranges=self._api_ranges(instance, fields),
            outbound_type=mapped(private, lambda inside: "nat" if inside else model.NODE_ADDRESSES), outbound_ips=ips,
            outbound_list=mapped(ips, lambda _: "nat_ips"),
            outbound_ports=nat_gateways.ports(near) if known(private) else model.NOTHING,
            data_plane=fields.text("network_policy"),
            subnet_ids=mapped(self._find(fields, "subnet", model.Subnet), lambda subnet: (subnet.id,)),
            pods_take_addresses=mapped(given(fields.text("pod_range")), lambda _: False),
            **_place(self, instance, fields, location),
        )  # fmt: skip

    def _own_pools(self, instance: Instance, fields: Fields, owner: Value[model.Cluster]) -> None:
        """Add the pools inside a cluster: inline ones, else the default pool if kept."""
        nested, removed = instance.blocks("node_pool"), known(fields.flag("remove_default_pool"))
        if isinstance(nested, Unknown):
            return
        for i, record in enumerate(nested.value):
            pool = self.fields(INLINE_POOL, record, instance)
            if not (removed and equals(pool.text("name"), "default-pool")):
                self._pool(pool, f"{instance.address}.node_pool[{i}]", owner)
        pool = self.fields(DEFAULT_POOL, instance)
        kept = not nested.value and not removed
        if kept and not isinstance(pool.number("count"), Unset):
            self._pool(pool, f"{instance.address}.default_pool", owner)

    def _services(self, fields: Fields) -> Value[str]:
        name = given(fields.text("service_range"))
        if isinstance(name, Unset):
            return fields.text("service_cidr")
        subnet = known(self._find(fields, "subnet", model.Subnet))
        found = self.secondary_named(subnet, name)
        return found.cidr if found else outside(name, "services_secondary_range_name")

    @or_unknown
    def _api_ranges(self, instance: Instance, fields: Fields) -> Value[tuple[str, ...]]:
        """Return the ranges that reach the API server; none if the block lists none."""
        addresses = fields.flag("api_addresses")
        if known(addresses) is False:
            return mapped(addresses, lambda _: ())
        outer = need(instance.blocks("master_authorized_networks_config"))
        if not outer:
            return api_access.ranges(fields)
        inner = need(outer[0].blocks("cidr_blocks"))
        cidrs = [need(self.fields(f"{CLUSTER}.cidr_blocks", one).text("cidr")) for one in inner]
        return Known(tuple(dict.fromkeys(cidrs)), Origin((outer[0].span,)))

    def _find(self, fields: Fields, name: str, kind: type[N]) -> Value[N]:
        """Find the object that a field refers to, by id, name or path."""
        found = resolve_reference(fields.raw(name), self.by_reference(kind, _RESOURCES[kind]))
        if found is not None:
            return found
        value = fields.text(name)
        text = text_of(value)
        last = None if text is None else text.rpartition("/")[2]
        if last and "$" not in last:
            return self.find_named(Known(last, value.origin or Origin((fields.record.span,))), kind, name)
        alike = [thing for thing in self.things(kind) if same_value(thing.name, value)]
        if len(alike) != 1:
            return unresolved_reference(value, name)
        return Known(alike[0], value.origin or Origin((fields.record.span,)))

    # --- pools

    def pools(self) -> None:
        for instance, fields in self.each(POOL):
            self._pool(fields, instance.address, self._find(fields, "cluster", model.Cluster))

    def _pool(self, fields: Fields, address: str, owner: Value[model.Cluster]) -> None:
        record, default = fields.record, fields.resource == DEFAULT_POOL
        origin, home = Origin((record.span,)), self.owners[owner.value.id] if isinstance(owner, Known) else None
        machine = pools.machine(fields)
        own, other = fields.flag("spot"), fields.flag("preemptible")
        spot = own if known(own) or (isinstance(own, Unknown) and not known(other)) else other
        upgrade = model.Upgrade(Known(model.Surge(self.defaults["pool.max_surge"].number), origin), Unset(origin))
        pool = model.NodePool(
            self.identity(address), record.span, address, owner,
            Known("default-pool", origin) if default else fields.text("name"), self.folder,
            size=_size(fields, self._zones(fields, home)),
            upgrade=upgrade if default else pools.upgrade(fields, machine.gpu, spot), machine=machine,
            addresses=self._addresses(fields, address, home),
            market=fields.record_of(
                model.Market, spot, reservation=_reservation(fields), reservation_id=_reservation_name(fields)
            ),
            scheduling=fields.record_of(model.Scheduling, taints=_taints(record)),
            placement=fields.record_of(model.Placement),
            system=fields.record_of(
                model.System,
                streaming=pools.streaming(fields, home.fields if home is not None else None),
                hub_mirror=pools.hub_mirror(record),
            ),
            ignored=fields.ignored,
        )  # fmt: skip
        self.found.pools.append(pool)
        self.found.sharings += pools.sharing(fields, pool)

    def _addresses(self, fields: Fields, address: str, home: Owner | None) -> model.Addresses:
        subnet = self._subnet(fields, home)
        return model.Addresses(
            mapped(subnet, lambda found: (found,)),
            self._may_be_in(subnet, fields, home),
            Known(value=False, origin=Origin((fields.record.span,))),
            self._max_pods(fields, home),
            pod_range=self._range_of(fields, address, home),
        )

    def _zones(self, fields: Fields, home: Owner | None) -> Value[int]:
        """Count the zones of a pool, as its counts are per zone.

        An empty list, and a reference to the cluster's own zones, count as not set.
        """
        own, written = fields.count("zones"), fields.raw("zones")
        shared = home and isinstance(written, Unknown) and written.symbol == (home.cluster.address, "node_locations")
        is_set = not isinstance(own, Unset) and known(own) != 0
        if is_set and fields.resource != DEFAULT_POOL and not shared:
            return own
        if home is None:
            why = "the zones of the pool are those of its cluster, which is not in this code; set node_locations"
            return Unknown(why, own.origin)
        cluster, zonal = home.cluster, home.cluster.zonal
        if not isinstance(zonal, Known):
            return Unknown(why_missing(zonal, "location"), zonal.origin)
        listed = home.fields.count("zones")
        if isinstance(listed, Unknown):
            return because(listed, listed.origin)
        if zonal.value:  # the list leaves out the cluster's own zone
            return Known(1 + (known(listed) or 0), cluster.location.origin or Origin((cluster.place,)))
        if isinstance(listed, Unset) or not known(listed):
            return Known(self.defaults["cluster.zones"].number, Origin((cluster.place,)))
        return listed

    def _subnet(self, fields: Fields, home: Owner | None) -> Value[model.Subnet]:
        if not isinstance(fields.text("subnet"), Unset):
            return self._find(fields, "subnet", model.Subnet)
        return home.subnet if home is not None else Unknown("the pool's cluster is not in this code")

    def _may_be_in(self, found: Value[model.Subnet], fields: Fields, home: Owner | None) -> tuple[model.Subnet, ...]:
        """List the subnets that the pool's or else the cluster's reference may resolve to."""
        own = fields.raw("subnet")
        datum = own if own is not None or home is None else home.fields.raw("subnet")
        return self.candidates(found, datum, self.by_reference(model.Subnet, SUBNET))

    def _max_pods(self, fields: Fields, home: Owner | None) -> Value[int]:
        own = fields.number("max_pods")
        if not isinstance(own, Unset):
            return own
        if home is None:
            return Unknown("max_pods_per_node is not set, and the pool's cluster is not in this root module")
        found = home.fields.number("max_pods")
        if not isinstance(found, Known):
            return found
        written = found.origin.missing is None  # another value belongs to the pool, not to the cluster and all of them
        return Known(found.value, Origin(found.origin.spans) if written else own.origin)

    def _range_of(self, fields: Fields, address: str, home: Owner | None) -> Value[model.PodRange]:
        """Return the range for the pod blocks of a pool, else of its cluster."""
        origin = Origin((fields.record.span,))
        if home is None:
            return Unknown("the pool's cluster is not in this root module")
        name, cidr = given(fields.text("pod_range")), fields.text("pod_cidr")
        if isinstance(name, Unset) and isinstance(cidr, Unset):
            shared = self.ranges.get(home.cluster.id)
            return Known(shared, origin) if shared else Unset(origin)
        own = Secondary(f"{self.identity(address)}/pods", name, cidr, fields.record.span)
        found = self.range_named(own, "pod_range", home, known(self._subnet(fields, home)))
        return Known(self.pod_range(found, home.cluster, Unset(origin)), origin)


def _size(fields: Fields, spread: Value[int]) -> model.Size:
    """Return the size of a pool; default pools are never autoscaled."""
    scaling = fields.record.blocks("autoscaling")
    place = (*(known(scaling) or ()), fields.record)[0].span
    autoscaled = (
        Unknown(scaling.reason, (scaling.origin or Origin(())).outside(place))
        if isinstance(scaling, Unknown)
        else Known(bool(scaling.value), Origin((place,)))
    )
    total = known(autoscaled) and not isinstance(fields.number("total_max"), Unset)
    least, most = (_bound(fields, autoscaled, spread, bound) for bound in ("min", "max"))
    written = model.NOTHING if known(fields.flag("drifts")) else fields.number("count_written")
    return model.Size(autoscaled, least, most, spread, written, times=model.NOTHING if total else spread)


def _bound(fields: Fields, autoscaled: Value[bool], spread: Value[int], bound: str) -> Value[int]:
    """Return a bound of a pool: totals as written, or counts times zones."""
    if known(autoscaled) and not isinstance(fields.number(f"total_{bound}"), Unset):
        return fields.number(f"total_{bound}")
    in_zone = bound_of(fields, bound, autoscaled, ("autoscaling", f"{bound}_node_count", "node_count"))
    if isinstance(spread, Known):
        return mapped(in_zone, lambda count: count * spread.value)
    why = Unknown(why_missing(spread, "node_locations"), spread.origin)
    return why if isinstance(in_zone, Known) else because(in_zone, in_zone.origin)


def _reservation(fields: Fields) -> Value[str]:
    """Return the specific reservation of a pool's machines; Unset for ANY_RESERVATION."""
    affinity = fields.text("reservation")
    return Unset(affinity.origin) if isinstance(affinity, Known) and affinity.value != _SPECIFIC else affinity


_SPECIFIC = "SPECIFIC_RESERVATION"


def _reservation_name(fields: Fields) -> Value[str]:
    """Return the name of a pool's specific reservation, if it is the only one."""
    listed = fields.raw("reservation_names")
    items = listed.value if isinstance(listed, Known) and isinstance(listed.value, tuple) else ()
    if not isinstance(_reservation(fields), Known) or len(items) != 1:
        return listed if isinstance(listed, Unknown) else model.NOTHING
    only = items[0]
    return Known(str(only.value), only.origin) if isinstance(only, Known) else only


@or_unknown
def _taints(record: Record) -> Value[tuple[str, ...]]:
    nested = need(record.blocks("node_config"))
    return taints_of(nested[0], "taint") if nested else Unset(record.absent(("node_config", "taint")))


_LIMITS = "google_container_cluster.resource_limits"


def _autoscaler(cluster: model.Cluster, fields: Fields) -> model.Autoscaler:
    """Build a cluster's autoscaler, by its profile."""
    profile = fields.text("profile")
    unset = Unset(profile.origin or Origin(()))
    unneeded = seconds(profiles.settings(CLOUD)["autoscaler.unneeded_time"].text)
    most, place = _provisioning_limits(fields)
    unknown = first_unknown(most.values())
    cards = {name: amount.value for name, amount in most.items() if isinstance(amount, Known) and "-" in name}
    return model.Autoscaler(
        f"{cluster.id}/autoscaler",
        cluster.place,
        Known(cluster, Origin((cluster.place,))),
        "gke",
        profile=profile,
        provisioning=fields.flag("provisioning"),
        unneeded_time=Known(unneeded, unset.origin) if equals(profile, "BALANCED") else unset,
        max_cores=most.get("cpu", model.NOTHING),
        max_memory=most.get("memory", model.NOTHING),
        max_accelerators=unknown or (Known(cards, place) if place else model.NOTHING),
    )


def _provisioning_limits(fields: Fields) -> tuple[dict[str, Value[int]], Origin | None]:
    """Return the limits of auto-provisioning by resource, and their span."""
    on, outer = fields.flag("provisioning"), fields.record.blocks("cluster_autoscaling")
    if not (known(on) or isinstance(on, Unknown)):
        return {}, None
    nested = outer.value[0].blocks("resource_limits") if isinstance(outer, Known) and outer.value else outer
    limits = [Fields(CLOUD, _LIMITS, record) for record in known(nested) or ()]
    inputs = (nested, on, *(own.text("resource") for own in limits))
    if unknown := first_unknown(inputs):
        return {"cpu": unknown, "memory": unknown}, unknown.origin
    place = Origin((limits[0].record.span,)) if limits else None
    return {known(own.text("resource")) or "": own.number("most") for own in limits}, place


def _place(reader: Reader, instance: Instance, fields: Fields, location: Value[str]) -> accounts.Place:
    """Return the project, region and location of a cluster."""
    of_provider = accounts.of_provider(reader, instance, "project")
    project = accounts.first(instance.span, _NO_PROJECT, fields.text("project"), of_provider)
    return {
        "account": accounts.proper(mapped(project, lambda text: text.removeprefix("projects/")), _PROJECT),
        "region": accounts.proper(mapped(location, registry.cloud(CLOUD).region), _REGION),
        "group": location,
    }


def _location(reader: Reader, instance: Instance, fields: Fields) -> tuple[Value[str], Value[bool]]:
    """Return the location of a cluster, and whether it is a zone.

    https://github.com/hashicorp/terraform-provider-google/blob/main/google/tpgresource/regional_utils.go
    """
    location = fields.text("location")
    if not isinstance(location, Unset):
        return location, _is_zone(location, fields.flag("regional"))
    zone = accounts.first(instance.span, _NO_ZONE, accounts.of_provider(reader, instance, "zone"))
    return zone, Known(value=True, origin=Origin((instance.span,)))


def _is_zone(location: Value[str], regional: Value[bool]) -> Value[bool]:
    """Whether a location is a zone; if that is unknown, a module's `regional` decides."""
    zonal = mapped(location, lambda text: registry.cloud(CLOUD).region(text) != text)
    is_known = isinstance(zonal, Known) or not isinstance(regional, Known)
    return zonal if is_known else mapped(regional, lambda flag: not flag)
