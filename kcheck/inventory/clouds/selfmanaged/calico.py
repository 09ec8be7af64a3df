"""Calico's own management of addresses: its pools, blocks, and whether nodes borrow from each other's blocks.

https://docs.tigera.io/calico/latest/reference/resources/ippool and .../ipamconfig
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.selfmanaged import clusters
from kcheck.kubernetes.record import MappingRecord
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.kubernetes.objects import Object
    from kcheck.model import Addresses, Cluster, Inventory

_KINDS = ("Installation", "IPPool", "IPAMConfiguration")
_GROUPS = ("operator.tigera.io/", "crd.projectcalico.org/", "projectcalico.org/")


class Calico:
    """What the manifests beside a cluster say of Calico; else all manifests, where they say it once."""

    def __init__(self, objects: Iterable[Object], folder: str) -> None:
        every = [item for item in objects if _is_of_calico(item)]
        own = [item for item in every if item.folder == folder]
        self.parts = {item.kind: Fields(clusters.CLOUD, item.kind, MappingRecord(item.root)) for item in own or every}
        self.found = bool(own) or len({(item.kind, item.folder) for item in every}) == len(self.parts) > 0

    def addresses(self, cluster: Cluster, cidr: Value[str], most: Value[int], inventory: Inventory) -> Addresses:
        """The addresses of nodes and of their pods: whole blocks where nodes may not borrow, else single addresses."""
        pools = [self.parts[kind] for kind in ("IPPool", "Installation") if kind in self.parts]
        cidr = next((own for own in (one.text("cidr") for one in pools) if not isinstance(own, Unset)), cidr)
        origin, ipam = Origin((cluster.place,)), self.parts.get("IPAMConfiguration")
        if ipam is not None and known(ipam.flag("strict")):
            size: Value[int] = Known(profiles.settings(clusters.CLOUD)["calico.block"].number, origin)
            block = next((own for own in (one.number("block") for one in pools) if not isinstance(own, Unset)), size)
            return clusters.blocks_of(clusters.pod_range(cluster, cidr, block, inventory), origin)
        return clusters.addresses_of_calico(clusters.blocks_of(None, origin), cluster, cidr, most, inventory)


def _is_of_calico(item: Object) -> bool:
    """Whether an object is Calico's configuration, or what runs it."""
    if item.kind in _KINDS:
        return item.api_version.startswith(_GROUPS)
    return item.kind == "DaemonSet" and yaml.text(item.root, "metadata", "name") == "calico-node"
