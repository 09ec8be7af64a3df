"""Shared parts of the readers of self-managed clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.kubernetes.record import MappingRecord
from kcheck.model import NOTHING, Addresses, NodePool, PodRange, Size, Subnet, Surge, Upgrade
from kcheck.model.pools import surge_of
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.keys import Item
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped, with_origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.kubernetes.objects import Object
    from kcheck.model import Cluster, Inventory
    from kcheck.text.text import Span

CLOUD = "selfmanaged"

T = TypeVar("T")


def pod_range(cluster: Cluster, cidr: Value[str], block: Value[int], inventory: Inventory) -> PodRange | None:
    """The range of the pods of a cluster, entered; None if none is written."""
    cidr = ipv4(cidr)
    if isinstance(cidr, Unset):
        return None
    found = PodRange(
        f"{cluster.id}/pods", cluster.place, cluster.cloud, cluster.address, cluster.root, "", name=cluster.name,
        cidr=cidr, block=block,
    )  # fmt: skip
    inventory.ranges.append(found)
    return found


def node_pool(
    cluster: Cluster, name: str, size: Size, addresses: Addresses | None = None, place: Span | None = None
) -> NodePool:
    """Equal nodes of a cluster, without surge."""
    origin = Origin((place or cluster.place,))
    return NodePool(
        f"{cluster.id}/{name}",
        origin.written,
        f"{cluster.address}/{name}",
        Known(cluster, Origin((cluster.place,))),
        Known(name, origin),
        cluster.root,
        managed=False,
        size=size,
        upgrade=Upgrade(surge=Known(Surge(), origin)),
        addresses=addresses or blocks_of(None, origin),
    )


def upgraded(pool: NodePool, surge: Value[str]) -> NodePool:
    """The pool with the surge of its upgrades."""
    return replace(pool, upgrade=Upgrade(surge=surge_of(surge) if isinstance(surge, Known) else surge))


def blocks_of(found: PodRange | None, origin: Origin) -> Addresses:
    """Addresses of nodes that take a block for their pods of a range."""
    return Addresses(
        pods_take_addresses=Known(value=False, origin=origin),
        pod_range=Known(found, origin) if found else Unset(origin),
    )


def addresses_of_calico(
    plain: Addresses, cluster: Cluster, cidr: Value[str], most: Value[int], inventory: Inventory
) -> Addresses:
    """Addresses of nodes whose pods take single addresses: Calico shares blocks between nodes.

    Its range is full when its last address is taken; a node has at least one pod, or the end of a tunnel, in it.
    """
    cidr = ipv4(cidr)
    if isinstance(cidr, Unset):
        return plain
    origin = Origin((cluster.place,))
    subnet = Subnet(
        f"{cluster.id}/pods", cluster.place, CLOUD, cluster.address, cluster.root, "", name=Known("pods", origin),
        cidr=cidr, network=NOTHING,
    )  # fmt: skip
    inventory.subnets.append(subnet)
    pods = mapped(most, lambda pods: (1, pods + 1))
    return replace(plain, max_pods=most, pod_subnets=Known((subnet,), origin), pod_addresses=pods)


_KINDS = ("Installation", "IPPool", "IPAMConfiguration")
_GROUPS = ("operator.tigera.io/", "crd.projectcalico.org/", "projectcalico.org/")


class Calico:
    """Calico's own management of addresses.

    It is as the manifests beside a cluster have it; else as all have it, where they say it once.
    https://docs.tigera.io/calico/latest/reference/resources/ippool
    """

    def __init__(self, objects: Iterable[Object], folder: str) -> None:
        every = [item for item in objects if _is_of_calico(item)]
        own = [item for item in every if item.folder == folder]
        self.parts = {item.kind: Fields(CLOUD, item.kind, MappingRecord(item.root)) for item in own or every}
        self.found = bool(own) or len({(item.kind, item.folder) for item in every}) == len(self.parts) > 0

    def addresses(self, cluster: Cluster, cidr: Value[str], most: Value[int], inventory: Inventory) -> Addresses:
        """The addresses of nodes and of their pods: whole blocks where nodes may not borrow, else single addresses."""
        pools = [self.parts[kind] for kind in ("IPPool", "Installation") if kind in self.parts]
        cidr = next((own for own in (one.text("cidr") for one in pools) if not isinstance(own, Unset)), cidr)
        origin, ipam = Origin((cluster.place,)), self.parts.get("IPAMConfiguration")
        if ipam is not None and known(ipam.flag("strict")):
            size: Value[int] = Known(profiles.settings(CLOUD)["calico.block"].number, origin)
            block = next((own for own in (one.number("block") for one in pools) if not isinstance(own, Unset)), size)
            return blocks_of(pod_range(cluster, cidr, block, inventory), origin)
        return addresses_of_calico(blocks_of(None, origin), cluster, cidr, most, inventory)


def _is_of_calico(item: Object) -> bool:
    """Whether an object is Calico's configuration, or what runs it."""
    if item.kind in _KINDS:
        return item.api_version.startswith(_GROUPS)
    return item.kind == "DaemonSet" and yaml.text(item.root, "metadata", "name") == "calico-node"


def fixed_size(count: Value[int], origin: Origin) -> Size:
    """The size of nodes that nothing grows."""
    return Size(Known(value=False, origin=origin), count, count)


def unknown_size(why: str, origin: Origin) -> Size:
    """A size with an unknown number of nodes."""
    return Size(Known(value=True, origin=origin), Known(0, origin), Unknown(why, origin))


def ipv4(cidr: Value[str]) -> Value[str]:
    """The IPv4 range of a list of two families; unset where there is none."""
    if not isinstance(cidr, Known):
        return cidr
    own = [part for part in cidr.value.split(",") if parse_cidr(part.strip())]
    if "," not in cidr.value:
        return Unset(cidr.origin) if ":" in cidr.value else cidr
    return Known(own[0].strip(), replace(cidr.origin, literal=False)) if own else Unset(cidr.origin)


def spelled(value: Value[T], *, listed: bool, within: str = "extraArgs") -> Value[T]:
    """A value with its place: `extraArgs` are a map up to v1beta3 and a list since."""
    origin = value.origin
    if not listed or origin is None or origin.missing is None or within not in origin.missing.path:
        return value
    *outer, last = origin.missing.path
    return with_origin(value, replace(origin, missing=replace(origin.missing, path=(*outer, Item(last), "value"))))


def quota(written: int) -> int:
    """The quota of etcd's database: 0 stands for the default."""
    return written or profiles.settings(CLOUD)["plane.etcd_quota"].number
