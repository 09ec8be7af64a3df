"""Self-managed clusters, instance groups and subnets from kops."""

from collections.abc import Iterable

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.reader import growing, machine_of, or_default, unique_identity
from kcheck.inventory.clouds.selfmanaged import clusters
from kcheck.inventory.clouds.selfmanaged.clusters import CLOUD
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.record import MappingRecord
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped, reason_of, with_origin

GROUP = "InstanceGroup"
_API = ("kops.k8s.io/", "kops/")
_OWNER = "kops.k8s.io/cluster"
_CONTROL = ("Master", "ControlPlane")
_BLOCKS = ("kubenet", "flannel", "canal", "kuberouter", "kopeio", "cilium")
"""Network plugins that give each node a block cut by the controller manager."""


def read(objects: Iterable[Object], inventory: model.Inventory) -> None:
    """Add the clusters of kops."""
    own = [item for item in objects if item.api_version.startswith(_API)]
    groups = [item for item in own if item.kind == GROUP]
    for item in own:
        if item.kind == "Cluster":
            cluster = _Cluster(item, inventory)
            beside = [group for group in groups if yaml.text(group.root, "metadata", "labels", _OWNER) == cluster.label]
            near = [group for group in beside if group.folder == item.folder]
            cluster.add(near or beside)


class _Cluster:
    def __init__(self, item: Object, inventory: model.Inventory) -> None:
        self.item = item
        self.inventory = inventory
        self.fields = Fields(CLOUD, "kops", MappingRecord(item.root, item.span))
        self.place = item.span
        self.origin = Origin((item.span,))
        self.label = known(self.fields.text("name")) or ""
        self.address = f"kops/{self.label or '?'}"
        self.identity = unique_identity(f"{CLOUD}/{item.owner_path}:{self.address}", inventory)
        found = yaml.pairs(item.root, "spec", "networking")
        self.plugin = next((name for name in (*_BLOCKS, "calico", "amazonvpc") if name in found), "")
        wanted = (known(self.fields.text("provider")) or "aws").lower()
        self.machines = next((one.name for one in registry.every() if one.provider.lower() == wanted), "")

    def add(self, groups: list[Object]) -> None:
        fields, main = self.fields, self._etcd("main")
        quota = (
            model.NOTHING if main is None else clusters.spelled(main.number("etcd_quota"), listed=True, within="env")
        )
        cluster = fields.record_of(
            model.Cluster,
            self.identity,
            self.place,
            CLOUD,
            self.address,
            self.item.folder,
            gap="" if groups else "its instance groups are not in this code",
            name=fields.text("name"),
            version=fields.text("version"),
            service_cidr=clusters.ipv4(or_default(fields.text("service_cidr"), lambda _: self._services())),
            plane=fields.record_of(
                model.Plane,
                data_dir=model.NOTHING,  # kops gives etcd volumes of its own
                etcd_quota=mapped(quota, clusters.quota),
                event_servers=Known("/events#", self.origin) if self._etcd("events") else Unset(self.origin),
                reads_inflight=_bare(fields.number("reads_inflight")),
                writes_inflight=_bare(fields.number("writes_inflight")),
                controller_burst=_bare(fields.number("controller_burst")),
                features=mapped(fields.text("features"), lambda on: f"GenericWorkload={on}"),
            ),
        )
        self.inventory.clusters.append(cluster)
        addresses, subnets = self._addresses(cluster), self._subnets(cluster)
        for item in groups:
            pool = self._group(item, cluster, addresses, subnets)
            if pool is not None:
                self.inventory.pools.append(pool)

    def _services(self) -> Value[str]:
        """Return the Service range that kops chooses."""
        whole = self.fields.text("overall")
        if not isinstance(whole, Known) or parse_cidr(whole.value) is None:
            return whole
        return Known(profiles.settings(CLOUD)["kops.service_cidr"].text, replace(whole.origin, literal=False))

    def _pods(self) -> Value[str]:
        """Return the pod range that kops derives from nonMasqueradeCIDR."""
        whole = self.fields.text("overall")
        network = parse_cidr(whole.value) if isinstance(whole, Known) else None
        if network is None or not isinstance(whole, Known):
            return whole
        if network.prefixlen == network.max_prefixlen:
            return Unknown(f"{whole.value} is too small for pods", whole.origin)
        return Known(str(list(network.subnets(1))[1]), replace(whole.origin, literal=False))

    def _etcd(self, name: str) -> Fields | None:
        found = self._records("etcdClusters", "kops.etcd")
        return next((one for one in found if known(one.text("name")) == name), None)

    def _records(self, kind: str, resource: str) -> list[Fields]:
        nodes = yaml.items(self.item.root, "spec", kind)
        return [Fields(CLOUD, resource, MappingRecord(node)) for node in nodes if isinstance(node, yaml.Mapping)]

    def _addresses(self, cluster: model.Cluster) -> model.Addresses:
        cidr = or_default(self.fields.text("pod_cidr"), lambda _: self._pods())
        if self.plugin == "calico":
            return clusters.addresses_of_calico(cluster, cidr, self.fields.number("max_pods"), self.inventory)
        of_kubernetes = self.plugin != "cilium" or known(self.fields.text("cilium_mode")) == "kubernetes"
        if self.plugin in _BLOCKS and of_kubernetes:
            found = clusters.pod_range(cluster, cidr, self.fields.number("node_mask"), self.inventory)
            return clusters.blocks_of(cluster, found)
        why = Unknown(f"how {self.plugin or 'its network plugin'} assigns pod addresses is not read", self.origin)
        return model.Addresses(pod_range=why, pods_take_addresses=why)

    def _subnets(self, cluster: model.Cluster) -> dict[str, model.Subnet]:
        result = {}
        for fields in self._records("subnets", "kops.subnet"):
            name = known(fields.text("name")) or "?"
            why = f"kops chooses the range of the subnet {name}"
            cidr = or_default(fields.text("cidr"), lambda origin, why=why: Unknown(why, origin))  # type: ignore[misc]
            balancer = equals(self.fields.text("balancer"), "Internal") and equals(fields.text("type"), "Private")
            result[name] = model.Subnet(
                f"{self.identity}/{name}", fields.record.span, self.machines or CLOUD, f"{self.address}/{name}",
                cluster.root, "", name=fields.text("name"), cidr=cidr, network=model.NOTHING, zone=fields.text("zone"),
                held=int(balancer),
            )  # fmt: skip
        self.inventory.subnets += result.values()
        return result

    # --- groups

    def _group(
        self, item: Object, cluster: model.Cluster, addresses: model.Addresses, subnets: dict[str, model.Subnet]
    ) -> model.NodePool | None:
        """Read a group of machines; None for groups that are not nodes."""
        fields = Fields(CLOUD, "kops.group", MappingRecord(item.root, item.span))
        role = known(fields.text("role")) or "Node"
        if role == "Bastion":
            return None
        low, high = fields.number("min"), fields.number("max")
        origin = Origin((item.span,))
        size = model.Size(growing(low, high), _written(low), _written(high))
        pool = clusters.node_pool(cluster, known(fields.text("name")) or "?", size, addresses, item.span)
        if role not in _CONTROL:
            pool = clusters.upgraded(
                pool, or_default(fields.text("max_surge"), lambda _: self.fields.text("max_surge"))
            )
        one = mapped(fields.text("instance_type"), lambda name: (name,))
        types = or_default(fields.texts("instance_types"), lambda _: one)
        unknown = fields.record_of(model.Machine, instance_types=types)
        machine = machine_of(fields, self.machines, types) if self.machines else unknown
        named = [subnets.get(name) for name in known(fields.texts("subnets")) or ()]
        found = [subnet for subnet in named if subnet is not None]
        where: Value[tuple[model.Subnet, ...]] = Unknown("its subnets are not those of the cluster", origin)
        if found and len(found) == len(named):
            where = Known(tuple(found), origin)
        price = fields.text("price")
        spot: Value[bool] = model.NOTHING if isinstance(price, Unset) else mapped(price, bool)
        return replace(
            pool,
            mode=Known(model.CONTROL_PLANE, origin) if role in _CONTROL else model.NOTHING,
            machine=machine,
            addresses=replace(addresses, subnets=where),
            market=model.Market(spot),
            scheduling=model.Scheduling(fields.mapping("labels"), _taints(fields), taint_form="text"),
        )


def _bare(value: Value[int]) -> Value[int]:
    """Mark the place of a number that kops accepts only without quotes."""
    why = "kops needs a number here, without quotes"
    return with_origin(value, replace(value.origin, why=why)) if value.origin is not None else value


def _written(size: Value[int]) -> Value[int]:
    """Return a size; Unknown if not written, as kops then chooses one."""
    return Unknown(reason_of(size), size.origin) if isinstance(size, Unset) else size


def _taints(fields: Fields) -> Value[tuple[str, ...]]:
    """Return the taints of a group as `key=value:Effect`; Unset if empty."""
    found = fields.texts("taints")
    return Unset(found.origin) if isinstance(found, Known) and not found.value else found
