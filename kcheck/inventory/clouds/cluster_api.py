"""Clusters and pools of Cluster API, of a managed cloud or self-managed."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.reader import machine_of, or_default, unique_identity
from kcheck.inventory.clouds.selfmanaged import clusters as selfmanaged
from kcheck.inventory.clouds.selfmanaged.clusters import Calico
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.record import MappingRecord
from kcheck.text.need import need, or_unknown
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Record, Unknown, Unset, Value, equals, known, mapped

_OWN = selfmanaged.CLOUD
_GROUP = "cluster.x-k8s.io/"
_KUBEADM = "KubeadmControlPlane"
_BARE_METAL = "Metal3"
"""Prefix of machine kinds without types: https://github.com/metal3-io/cluster-api-provider-metal3"""
_POOLS = ("MachineDeployment", "MachinePool")
_BOUNDS = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-{}-size"
"""Annotations with the Cluster Autoscaler's bounds of a pool."""


def read(objects: Iterable[Object], inventory: model.Inventory) -> None:
    """Add the clusters of Cluster API objects."""
    every = list(objects)
    own = [item for item in every if _GROUP in item.api_version]
    found = _Objects(own, every)
    for item in own:
        if item.kind == "Cluster" and item.api_version.startswith(_GROUP):
            _Cluster(item, found, inventory).add()


class _Objects:
    """Objects by kind and name; among duplicates, the nearest."""

    def __init__(self, objects: list[Object], every: list[Object]) -> None:
        self.every = every
        self.by_name: dict[tuple[str, str], list[Object]] = {}
        self.pools: dict[str, list[Object]] = {}
        for item in objects:
            self.by_name.setdefault((item.kind, yaml.text(item.root, "metadata", "name")), []).append(item)
            if item.kind in _POOLS:
                self.pools.setdefault(yaml.text(item.root, "spec", "clusterName"), []).append(item)

    def find(self, kind: str, name: str, near: Object) -> Object | None:
        beside = _beside(near, self.by_name.get((kind, name), []))
        return beside[0] if len(beside) == 1 else None

    def referred(self, near: Object, *path: str) -> tuple[str, Object | None]:
        """Return the kind of a reference, and its object if it is in the tree."""
        kind, name = yaml.text(near.root, *path, "kind"), yaml.text(near.root, *path, "name")
        return kind, self.find(kind, name, near) if kind else None

    def pools_of(self, cluster: Object) -> list[Object]:
        """List a cluster's machine pools: in its file, its folder, or all."""
        return _beside(cluster, self.pools.get(yaml.text(cluster.root, "metadata", "name"), []))


def _beside(near: Object, alike: list[Object]) -> list[Object]:
    own = [item for item in alike if item.owner_path == near.owner_path]
    return own or [item for item in alike if item.folder == near.folder] or alike


def _fields(item: Object, resource: str = "", cloud: str = _OWN) -> Fields:
    return Fields(cloud, resource or item.kind, MappingRecord(item.root, item.span))


class _Cluster:
    """A Cluster with the objects it references."""

    def __init__(self, item: Object, objects: _Objects, inventory: model.Inventory) -> None:
        self.item = item
        self.objects = objects
        self.inventory = inventory
        self.fields = _fields(item)
        self.place = item.span
        self.origin = Origin((item.span,))
        self.kind, self.control = objects.referred(item, "spec", "controlPlaneRef")
        clouds = [cloud for cloud in registry.every() if cloud.provider and self.kind.startswith(f"{cloud.provider}M")]
        self.cloud = clouds[0].name if clouds and self.kind.endswith(registry.PROVIDER_KINDS[0]) else _OWN
        self.address = f"Cluster/{known(self.fields.text('name')) or '?'}"
        self.identity = unique_identity(f"{self.cloud}/{item.owner_path}:{self.address}", inventory)

    def add(self) -> None:
        services = selfmanaged.ipv4(_joined(self.fields.texts("services")))
        cluster = model.Cluster(
            self.identity, self.place, self.cloud, self.address, self.item.folder, gap="",
            name=self.fields.text("name"), version=self.fields.text("version"), service_cidr=services,
        )  # fmt: skip
        cluster = self._own(cluster) if self.cloud == _OWN else self._managed(cluster)
        self.inventory.clusters.append(cluster)
        addresses = self._addresses(cluster)
        pools = [*self._control_nodes(cluster), *self._machines(cluster), *self._topology(cluster)]
        self.inventory.pools += [replace(pool, addresses=addresses) for pool in pools]

    def _managed(self, cluster: model.Cluster) -> model.Cluster:
        """Complete a cluster from the control plane that the cloud runs."""
        if self.control is None:
            why = f"its {self.kind} is not in this code"
            return replace(cluster, version=Unknown(why, self.origin), location=Unknown(why, self.origin))
        fields = _fields(self.control, cloud=self.cloud)
        name, mode = or_default(fields.text("name"), lambda _: cluster.name), cluster.network_mode
        if "network_mode" in profiles.table(self.cloud)[self.kind]:
            mode = mapped(fields.text("network_mode"), str.lower)
        return fields.record_of(
            model.Cluster, cluster.id, cluster.place, self.cloud, cluster.address, cluster.root, gap="", name=name,
            version=fields.text("version"), service_cidr=cluster.service_cidr, network_mode=mode,
            region=mapped(fields.text("location"), registry.cloud(self.cloud).region),
        )  # fmt: skip

    def _own(self, cluster: model.Cluster) -> model.Cluster:
        """Complete a cluster from kubeadm's control plane configuration."""
        if self.control is None or self.kind != _KUBEADM:
            return cluster
        fields, listed = _fields(self.control), not self.control.api_version.endswith("/v1beta1")
        outside = not isinstance(fields.texts("external"), Unset)

        plane = fields.record_of(
            model.Plane,
            data_dir=model.NOTHING if outside else fields.text("data_dir"),
            etcd_quota=model.NOTHING if outside else mapped(fields.number("etcd_quota"), selfmanaged.quota),
            serial_pulls=self._serial_pulls(self.control),
        )
        spelled = {name: selfmanaged.spelled(getattr(plane, name), listed=listed) for name in plane.__struct_fields__}
        return replace(
            cluster,
            version=or_default(fields.text("version"), lambda _: cluster.version),
            plane=replace(plane, **spelled),
            dns_replicas=Known(profiles.settings(_OWN)["coredns.replicas"].number, self.origin),
        )

    def _addresses(self, cluster: model.Cluster) -> model.Addresses:
        """Return the addresses of nodes and pods; Cluster API creates the networks."""
        subnets = Unknown("Cluster API creates the subnets", self.origin)
        cidr = _joined(self.fields.texts("pods"))
        if self.cloud != _OWN:
            block = profiles.limits(self.cloud).get("pod_range.block")
            apart = equals(cluster.network_mode, "overlay") or equals(cluster.network_plugin, "kubenet")
            where: Value[model.PodRange] = model.NOTHING
            if block and apart and not isinstance(selfmanaged.ipv4(cidr), Unset):
                where = selfmanaged.pod_range(cluster, cidr, Known(block.number, self.origin), self.inventory)
            return model.Addresses(subnets, pod_range=where)
        if self.control is None or self.kind != _KUBEADM:
            what = self.kind or "the control plane"
            return selfmanaged.blocks_of(cluster, Unknown(f"{what} is not read", self.origin))
        fields = _fields(self.control)
        calico = Calico(self.objects.every, self.item.folder)
        if calico.found:
            return calico.addresses(cluster, cidr, self.inventory)
        if known(fields.flag("allocates")) is False:
            why = "the network plugin assigns pod addresses, not the controller manager"
            return selfmanaged.blocks_of(cluster, Unknown(why, self.origin))
        found = selfmanaged.pod_range(cluster, cidr, fields.number("node_mask"), self.inventory)
        return selfmanaged.blocks_of(cluster, found)

    # --- pools

    def _control_nodes(self, cluster: model.Cluster) -> Iterator[model.NodePool]:
        if self.cloud != _OWN:
            return
        if self.kind == _KUBEADM and self.control is not None:
            count = _fields(self.control).number("replicas")
        elif not isinstance(self.fields.text("topology"), Unset):
            count = self.fields.number("replicas")
        else:
            count = Unknown(f"the machines of {self.kind or 'the control plane'} are not read", self.origin)
        place = self.control.span if self.control is not None else self.place
        pool = selfmanaged.node_pool(cluster, "control plane", selfmanaged.fixed_size(count, self.origin), place=place)
        if self.kind == _KUBEADM and self.control is not None:
            for path in (("machineTemplate", "spec"), ("machineTemplate",)):
                kind, machines = self.objects.referred(self.control, "spec", *path, "infrastructureRef")
                if machines is not None:
                    pool = self._with_machines(pool, kind, machines)
                    break
        yield replace(pool, mode=Known(model.CONTROL_PLANE, self.origin))

    def _machines(self, cluster: model.Cluster) -> Iterator[model.NodePool]:
        for item in self.objects.pools_of(self.item):
            fields = _fields(item, "Machines")
            kind, machines = self.objects.referred(item, "spec", "template", "spec", "infrastructureRef")
            name = known(fields.text("name")) or "?"
            pool = selfmanaged.node_pool(cluster, name, _size(fields), place=item.span)
            if item.kind == "MachineDeployment":
                pool = selfmanaged.upgraded(pool, fields.text("max_surge"))
            if kind.startswith(_BARE_METAL):
                yield self._of_bare_metal(pool, item)
            else:
                yield self._with_machines(pool, kind, machines)

    def _of_bare_metal(self, pool: model.NodePool, item: Object) -> model.NodePool:
        """Complete a pool of bare-metal machines, which cost the same when off."""
        config, origin = self._config(item), Origin((pool.place,))
        registration = yaml.get(config, "joinConfiguration", "nodeRegistration")
        return replace(
            pool,
            machine=selfmanaged.machine(selfmanaged.labels(registration), origin),
            market=model.Market(reservation=Known("machines of one's own", origin)),
            scheduling=selfmanaged.scheduling(registration, origin),
            system=selfmanaged.system(config),
        )

    def _config(self, item: Object) -> yaml.Node | None:
        """Find the kubeadm configuration of a pool's machines, or of the control plane."""
        if item.kind == _KUBEADM:
            return yaml.get(item.root, "spec", "kubeadmConfigSpec")
        _, template = self.objects.referred(item, "spec", "template", "spec", "bootstrap", "configRef")
        return yaml.get(template.root, "spec", "template", "spec") if template is not None else None

    def _serial_pulls(self, control: Object) -> Value[bool]:
        """Whether kubelets pull images serially, by the first patch in the code."""
        configs = map(self._config, (*self.objects.pools_of(self.item), control))
        found = next((one for config in configs if (one := selfmanaged.serial_pulls(config)) is not None), None)
        return found or Unknown("the kubelets' configuration is in patches or in the image", self.origin)

    def _with_machines(self, pool: model.NodePool, kind: str, item: Object | None) -> model.NodePool:
        """Complete a pool from its machine template, or from its group in the cloud."""
        cloud = next((one.name for one in registry.every() if one.provider and kind.startswith(one.provider)), "")
        table = profiles.table(cloud).get(kind) if cloud else None
        if item is None or table is None:
            why = f"its {kind or 'machine template'} is not {'in this code' if table else 'read'}"
            return replace(pool, machine=model.Machine(instance_types=Unknown(why, Origin((pool.place,)))))
        fields = _fields(item, cloud=cloud)
        types = mapped(fields.text("instance_type"), lambda name: (name,))
        machine = machine_of(fields, cloud, types)
        if kind.endswith("Template"):
            return replace(pool, machine=machine)
        low, high = fields.number("min"), fields.number("max")
        size = pool.size if isinstance(high, Unset) else model.Size(Known(value=True, origin=self.origin), low, high)
        if registry.cloud(cloud).zones_of_pools == "region" and isinstance(high, Known):
            why = "the bounds are per zone, and the zones are not read"
            size = model.Size(
                Known(value=True, origin=self.origin), Unknown(why, low.origin), Unknown(why, high.origin)
            )
        spot = (
            mapped(fields.text("capacity"), lambda one: one.lower() == "spot") if "capacity" in table else model.NOTHING
        )
        return replace(
            pool,
            upgrade=model.Upgrade(Unknown("the surge is the cloud's default", Origin((item.span,)))),
            name=or_default(fields.text("name"), lambda _: pool.name),
            managed=True,
            mode=fields.text("mode") if "mode" in table else model.NOTHING,
            size=size,
            machine=machine,
            market=model.Market(spot),
            scheduling=fields.record_of(model.Scheduling),
            system=fields.record_of(model.System),
        )

    def _topology(self, cluster: model.Cluster) -> Iterator[model.NodePool]:
        """Yield the pools listed in a cluster with a ClusterClass."""
        for kind in ("machineDeployments", "machinePools"):
            for node in yaml.items(self.item.root, "spec", "topology", "workers", kind):
                if isinstance(node, yaml.Mapping):
                    fields = Fields(_OWN, "Cluster.machines", MappingRecord(node))
                    name = known(fields.text("name")) or "?"
                    pool = selfmanaged.node_pool(cluster, name, _size(fields), place=node.span)
                    why = f"the class {known(self.fields.text('topology'))} chooses the machines"
                    yield replace(pool, machine=model.Machine(instance_types=Unknown(why, Origin((node.span,)))))


def _joined(cidrs: Value[tuple[str, ...]]) -> Value[str]:
    if isinstance(cidrs, Known) and not cidrs.value:
        return Unset(cidrs.origin)
    return mapped(cidrs, ",".join)


def _size(fields: Fields) -> model.Size:
    """Return the size of a pool: the bounds in its annotations, else its replicas."""
    origin = Origin((fields.record.span,))
    low, high = (_bound(fields.record, bound) for bound in ("min", "max"))
    if high is None:
        return selfmanaged.fixed_size(fields.number("replicas"), origin)
    return model.Size(Known(value=True, origin=origin), low or Known(0, origin), high)


@or_unknown
def _bound(record: Record, bound: str) -> Value[int] | None:
    """Return a bound in a pool's annotations; None if not written."""
    for step in ("metadata", "annotations"):
        if not (inner := need(record.blocks(step))):
            return None
        record = inner[0]
    written = record.entry(_BOUNDS.format(bound))
    return None if written is None else selfmanaged.number_in(written)
