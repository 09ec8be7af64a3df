"""Clusters whose makers give each node a block of the pods' range: k3s, RKE2 and Talos."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import text_of, unique_identity
from kcheck.inventory.clouds.selfmanaged import clusters
from kcheck.inventory.embedded import machines
from kcheck.kubernetes.patches import merged_template
from kcheck.kubernetes.record import MappingRecord, datum
from kcheck.model import NOTHING, Cluster, Inventory
from kcheck.terraform.resource import Instance, ObjectRecord
from kcheck.text.syntax import texts, yaml
from kcheck.text.text import grouped
from kcheck.text.values import Datum, Known, Origin, Unknown, Unset, known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.kubernetes.objects import Object
    from kcheck.terraform.module import Module

_SERVERS = ("k3s", "rke2")
_BLOCKS = frozenset({"canal", "flannel", "vxlan", "host-gw", "wireguard", "wireguard-native", "ipsec", "udp"})
"""Network plugins, and backends of Flannel, with which nodes have blocks cut by the controller manager."""


def read(root: Module, kinds: set[str], objects: Iterable[Object], inventory: Inventory) -> None:
    """Add the clusters that a root module makes with other tools than kubeadm; of equal servers, the first decides."""
    for item in {item.kind: item for item in reversed(list(objects)) if item.kind in _SERVERS}.values():
        add(root, Fields(clusters.CLOUD, item.kind, MappingRecord(item.root, item.span)), item.kind, inventory)
    sources = [one for _, one in root.sources(machines.TALOS)] if kinds & machines.TALOS_KINDS else []
    for name, own in grouped(sources, lambda one: text_of(one.entry("cluster_name") or NOTHING)).items():
        patched = [*own, *root.instances(_APPLY)] if _APPLY in kinds else own
        fields = Fields(clusters.CLOUD, _TALOS, _patched(own[0], patched))
        add(root, fields, f"{_TALOS}/{name}" if name else _TALOS, inventory)


_TALOS, _APPLY = "talos", "talos_machine_configuration_apply"


def _patched(source: Instance, patched: Iterable[Instance]) -> ObjectRecord:
    """Return a machine configuration of Talos, with what its patches set of the cluster."""
    found: dict[str, Datum] = {name: one for name in source.names() if (one := source.entry(name)) is not None}
    merged: yaml.Mapping | None = None
    for instance in patched:
        listed = instance.entry("config_patches")
        for patch in listed.value if isinstance(listed, Known) and isinstance(listed.value, tuple) else (listed,):
            pieces = () if patch is None else machines.pieces_in(patch, instance)
            if isinstance(patch, Unknown) and not pieces:
                return ObjectRecord(Known({**found, "cluster": patch}, Origin((source.span,))))
            for document in texts.documents(pieces):
                if isinstance(document, yaml.Mapping):
                    merged = merged_template(merged, document) if merged is not None else document
    if isinstance(part := yaml.get(merged, "cluster"), yaml.Mapping):
        found["cluster"] = datum(part)
    return ObjectRecord(Known(found, Origin((source.span,))))


def add(root: Module, fields: Fields, address: str, inventory: Inventory) -> None:
    """Add a cluster of a root module by the table of its maker, with an unknown number of nodes."""
    folder, place = root.configuration.folder, fields.record.span
    origin = Origin((place,))
    where = "" if folder == "." else f"{folder}:"
    cluster = Cluster(
        unique_identity(f"{clusters.CLOUD}/{where}{address}", inventory), place, clusters.CLOUD, address, folder,
        gap="", name=fields.text("name") if fields.has("name") else Unset(origin), version=fields.text("version"),
        environment=root.environment, service_cidr=clusters.ipv4(fields.text("service_cidr")),
    )  # fmt: skip
    inventory.clusters.append(cluster)
    plugin = fields.text("plugin")
    if isinstance(plugin, Unset) or known(plugin) in _BLOCKS:
        found = clusters.pod_range(cluster, fields.text("pod_cidr"), fields.number("node_mask"), inventory)
        addresses = clusters.blocks_of(found, origin)
    else:
        why = f"how {known(plugin) or 'its network plugin'} assigns pod addresses is not known"
        addresses = replace(clusters.blocks_of(None, origin), pod_range=Unknown(why, plugin.origin or origin))
    size = clusters.unknown_size(f"the nodes of {address} are not in this code; set --nodes N", origin)
    inventory.pools.append(clusters.node_pool(cluster, "nodes", size, addresses))
