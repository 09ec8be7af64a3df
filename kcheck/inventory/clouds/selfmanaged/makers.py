"""Clusters of k3s, RKE, RKE2, Talos and OpenShift."""

import os
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.reader import blocks_below, taints_of, text_of, unique_identity
from kcheck.inventory.clouds.selfmanaged import clusters
from kcheck.inventory.embedded import machines
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.patches import merged_template
from kcheck.kubernetes.record import MappingRecord, datum
from kcheck.model import CONTROL_PLANE, NOTHING, Addresses, Cluster, Inventory, NodePool, PodRange, Scheduling
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance, ObjectRecord, objects_in
from kcheck.text.partly_known import address_of, listed
from kcheck.text.syntax import embedded_yaml, yaml
from kcheck.text.text import Skipped, Source, grouped
from kcheck.text.values import Blocks, Datum, Known, Origin, Record, Unknown, Unset, Value, known

_SERVERS = ("k3s", "rke2")
_BLOCKS = frozenset((
    "canal", "flannel", "vxlan", "host-gw", "wireguard", "wireguard-native", "ipsec", "udp",
    "OVNKubernetes", "OpenShiftSDN",
))  # fmt: skip
"""Network plugins, and backends of Flannel, with which nodes have blocks cut by the controller manager."""


def read(root: Module, kinds: set[str], objects: Iterable[Object], inventory: Inventory) -> None:
    """Add the clusters that a root module creates without kubeadm."""
    at = root.configuration.folder, root.environment
    for item in {item.kind: item for item in reversed(list(objects)) if item.kind in _SERVERS}.values():
        add(*at, Fields(clusters.CLOUD, item.kind, MappingRecord(item.root, item.span)), item.kind, inventory)
    sources = [one for _, one in root.sources(machines.TALOS)] if kinds & machines.MAKERS else []
    for name, own in grouped(sources, lambda one: text_of(one.entry("cluster_name") or NOTHING)).items():
        patched = [*own, *root.instances(_APPLY)] if _APPLY in kinds else own
        patches = [(patch, one) for one in patched for patch in listed(one.entry("config_patches"))]
        fields = Fields(clusters.CLOUD, _TALOS, _Documented(own[0], patches))
        add(*at, fields, f"{_TALOS}/{name}" if name else _TALOS, inventory)
    for kind in sorted(kinds & _RANCHER):
        for instance in root.instances(kind):
            within = next(blocks_below(instance, "rke_config"), instance)
            if kind != "rancher2_cluster" or within is not instance:  # others are imported, or of a cloud
                text = within.entry("cluster_yaml" if kind == "rke_cluster" else "machine_global_config")
                record = _Documented(instance, [(text, within)])
                apart = [] if kind != "rancher2_cluster" else _pools_of(instance, root)
                add(*at, Fields(clusters.CLOUD, kind, record), instance.address, inventory, apart)


def _pools_of(cluster: Instance, root: Module) -> list[Fields]:
    """Return the node pools that refer to a Rancher cluster."""
    found = [Fields(clusters.CLOUD, _POOL, one) for one in root.instances(_POOL)]
    return [one for one in found if address_of(one.raw("cluster")) == cluster.address]


def installed(sources: Iterable[Source], inventory: Inventory) -> Iterator[Skipped]:
    """Add the clusters of OpenShift's installer; yield those with several ranges."""
    for source in sources:
        for root in (document.root for document in yaml.documents(source)):
            ranges = [yaml.text(one, "cidr") for one in yaml.items(root, "networking", "clusterNetwork")]
            if not isinstance(root, yaml.Mapping) or len([cidr for cidr in ranges if ":" not in cidr]) > 1:
                yield registry.unjudged(source.span(0, 0), _INSTALLER, "several ranges of pods are not read")
            else:
                fields = Fields(clusters.CLOUD, _INSTALLER, MappingRecord(root))
                address = f"{_INSTALLER}/{known(fields.text('name')) or '?'}"
                add(os.path.dirname(source.path) or ".", "", fields, address, inventory)


_POOL = "rancher2_node_pool"
_TALOS, _APPLY, _INSTALLER = "talos", "talos_machine_configuration_apply", "install-config"
_RANCHER = {"rke_cluster", "rancher2_cluster", "rancher2_cluster_v2"}


class _Documented:
    """A record extended by the block `document`: the YAML documents in its arguments."""

    def __init__(self, record: Record, arguments: Iterable[tuple[Datum | None, Record]]) -> None:
        self.record = record
        self.span = record.span
        self.entry = record.entry
        self.names = record.names
        self.document: Datum | None = None
        merged: yaml.Mapping | None = None
        for argument, owner in arguments:
            pieces = () if argument is None else machines.pieces_in(argument, owner)
            if isinstance(argument, Unknown) and not pieces:
                self.document = argument
                return
            for found in embedded_yaml.documents(pieces):
                if isinstance(found, yaml.Mapping):
                    merged = merged_template(merged, found) if merged is not None else found
        self.document = datum(merged) if merged is not None else None

    def blocks(self, kind: str) -> Blocks:
        """Return the nested blocks of one type, or the documents."""
        return objects_in(self.document, ObjectRecord) if kind == "document" else self.record.blocks(kind)

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return where an argument would be written; nowhere in a document."""
        return Origin((self.span,)) if path[0] == "document" else self.record.absent(path)


def add(
    folder: str, environment: str, fields: Fields, address: str, inventory: Inventory, apart: Iterable[Fields] = ()
) -> None:
    """Add a cluster by the table of its tool, with its groups of nodes."""
    place = fields.record.span
    origin = Origin((place,))
    where = "" if folder == "." else f"{folder}:"
    cluster = Cluster(
        unique_identity(f"{clusters.CLOUD}/{where}{address}", inventory), place, clusters.CLOUD, address, folder,
        gap="", name=fields.text("name") if fields.has("name") else Unset(origin), version=fields.text("version"),
        environment=environment, service_cidr=clusters.ipv4(fields.text("service_cidr")),
    )  # fmt: skip
    inventory.clusters.append(cluster)
    plugin = fields.text("plugin")
    if isinstance(plugin, Unset) or known(plugin) in _BLOCKS:
        found: Value[PodRange] = clusters.pod_range(
            cluster, fields.text("pod_cidr"), fields.number("node_mask"), inventory
        )
    else:
        why = f"how {known(plugin) or 'its network plugin'} assigns pod addresses is not known"
        found = Unknown(why, plugin.origin or origin)
    addresses = clusters.blocks_of(cluster, found)
    groups = [*_groups(fields), *apart]
    for name, own in grouped(groups, _named).items():
        inventory.pools.append(_pool(cluster, name, own, addresses))
    if any(_is_worker(one) and (not one.has("count") or known(one.number("count")) != 0) for one in groups):
        return
    why = f"the nodes of {address} are not in this code; set --nodes N"
    inventory.pools.append(clusters.node_pool(cluster, "nodes", clusters.unknown_size(why, origin), addresses))


def _groups(fields: Fields) -> Iterator[Fields]:
    """Yield the groups of nodes, or single ones, and the control plane."""
    table = profiles.table(clusters.CLOUD)
    for name in ("groups", "control"):
        paths = table[fields.resource][name]["path"].split(" | ") if fields.has(name) else ()
        found = (list(blocks_below(fields.record, *path.split("."))) for path in paths)
        yield from (Fields(clusters.CLOUD, f"{fields.resource}.group", one) for one in next(filter(None, found), ()))


def _is_worker(group: Fields) -> bool:
    """Whether a group's nodes run user pods, by their roles or the group's name."""
    roles = group.read("worker")
    return isinstance(roles, Unknown) or any(word in str(known(roles)) for word in ("true", "worker", "edge"))


def _named(group: Fields) -> str:
    return text_of(group.text("name")) or ("nodes" if _is_worker(group) else "control plane")


def _pool(cluster: Cluster, name: str, own: list[Fields], addresses: Addresses) -> NodePool:
    """Return a pool of the groups, or the single nodes, with one name."""
    first, place = own[0], own[0].record.span
    origin = Origin((place,))
    count = first.number("count") if first.has("count") else Known(len(own), origin)
    if first.has("count") and len(own) > 1:
        count = Unknown(f"several pools of {cluster.address} have names that are not known", origin)
    pool = clusters.node_pool(cluster, name, clusters.fixed_size(count, origin), addresses, place)
    pool = replace(pool, mode=NOTHING if _is_worker(first) else Known(CONTROL_PLANE, origin))
    if first.has("instance_type"):
        kind = first.text("instance_type")
        return pool if isinstance(kind, Unset) else replace(pool, machine=clusters.machine_of(kind, origin))
    labels = first.mapping("labels") if len(own) == 1 or first.has("count") else NOTHING
    return replace(pool, scheduling=Scheduling(labels, taints_of(first.record, "taints")))
