"""Shared parts of the readers of self-managed clusters."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import registry
from kcheck.inventory.clouds.reader import gpu_of, least_gpus_of, taints_of
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.record import MappingRecord
from kcheck.model.pools import surge_of
from kcheck.text import scalars
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.keys import Item
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax import scan, yaml
from kcheck.text.text import Source, Span
from kcheck.text.values import Datum, Known, Origin, Unknown, Unset, Value, known, mapped, with_origin

CLOUD = "selfmanaged"

T = TypeVar("T")


def pod_range(
    cluster: model.Cluster, cidr: Value[str], block: Value[int], inventory: model.Inventory
) -> Known[model.PodRange] | Unset:
    """Add the pod range of a cluster; Unset if none is written."""
    cidr, origin = ipv4(cidr), Origin((cluster.place,))
    if isinstance(cidr, Unset):
        return Unset(origin)
    found = model.PodRange(
        f"{cluster.id}/pods", cluster.place, cluster.cloud, cluster.address, cluster.root, "", name=cluster.name,
        cidr=cidr, block=block,
    )  # fmt: skip
    inventory.ranges.append(found)
    return Known(found, origin)


def node_pool(
    cluster: model.Cluster,
    name: str,
    size: model.Size,
    addresses: model.Addresses | None = None,
    place: Span | None = None,
) -> model.NodePool:
    """Build a pool of equal nodes without surge."""
    origin = Origin((place or cluster.place,))
    return model.NodePool(
        f"{cluster.id}/{name}",
        origin.written,
        f"{cluster.address}/{name}",
        Known(cluster, Origin((cluster.place,))),
        Known(name, origin),
        cluster.root,
        managed=False,
        size=size,
        upgrade=model.Upgrade(surge=Known(model.Surge(), origin)),
        addresses=addresses or model.Addresses(),
    )


_MAKERS = {"kubeadm": ("ClusterConfiguration/", "static pods"), "k3s": ("k3s",), "rke2": ("rke2",), "talos": ("talos",)}
"""Tools that start nodes -> begins of the addresses of their clusters."""


def makers(cluster: model.Cluster) -> tuple[str, ...]:
    """Return the tools that create nodes of a cluster."""
    return tuple(tool for tool, begins in _MAKERS.items() if cluster.address.startswith(begins))


def upgraded(pool: model.NodePool, surge: Value[str]) -> model.NodePool:
    """Set the surge of a pool's upgrades."""
    return replace(pool, upgrade=model.Upgrade(surge=surge_of(surge)))


def blocks_of(cluster: model.Cluster, found: Value[model.PodRange]) -> model.Addresses:
    """Return addresses of nodes that each take a block of a pod range."""
    return model.Addresses(pods_take_addresses=Known(value=False, origin=Origin((cluster.place,))), pod_range=found)


def addresses_of_calico(
    cluster: model.Cluster, cidr: Value[str], most: Value[int], inventory: model.Inventory
) -> model.Addresses:
    """Return addresses of nodes whose pods take single addresses.

    The range is full when its last address is taken; each node uses at least one, for a pod or a tunnel.
    """
    cidr, origin = ipv4(cidr), Origin((cluster.place,))
    plain = blocks_of(cluster, Unset(origin))
    if isinstance(cidr, Unset):
        return plain
    subnet = model.Subnet(
        f"{cluster.id}/pods", cluster.place, CLOUD, cluster.address, cluster.root, "", name=Known("pods", origin),
        cidr=cidr, network=model.NOTHING,
    )  # fmt: skip
    inventory.subnets.append(subnet)
    pods = mapped(most, lambda pods: (1, pods + 1))
    return replace(plain, max_pods=most, pod_subnets=Known((subnet,), origin), pod_addresses=pods)


_KINDS = ("Installation", "IPPool", "IPAMConfiguration")
_GROUPS = ("operator.tigera.io/", "crd.projectcalico.org/", "projectcalico.org/")


class Calico:
    """Calico's address management.

    From the manifests beside a cluster, else from those of the whole tree if they are unique.
    https://docs.tigera.io/calico/latest/reference/resources/ippool
    """

    def __init__(self, objects: Iterable[Object], folder: str) -> None:
        every = [item for item in objects if _is_of_calico(item)]
        own = [item for item in every if item.folder == folder]
        self.parts = {item.kind: Fields(CLOUD, item.kind, MappingRecord(item.root)) for item in own or every}
        self.found = bool(own) or len({(item.kind, item.folder) for item in every}) == len(self.parts) > 0

    def addresses(
        self, cluster: model.Cluster, cidr: Value[str], inventory: model.Inventory, kubelet: Fields | None = None
    ) -> model.Addresses:
        """Return addresses of nodes and pods, in blocks or single ones."""
        pools = [self.parts[kind] for kind in ("IPPool", "Installation") if kind in self.parts]
        cidr = next((own for own in (one.text("cidr") for one in pools) if not isinstance(own, Unset)), cidr)
        origin, ipam = Origin((cluster.place,)), self.parts.get("IPAMConfiguration")
        if ipam is not None and known(ipam.flag("strict")):
            size: Value[int] = Known(profiles.settings(CLOUD)["calico.block"].number, origin)
            block = next((own for own in (one.number("block") for one in pools) if not isinstance(own, Unset)), size)
            return blocks_of(cluster, pod_range(cluster, cidr, block, inventory))
        usual = Known(profiles.settings(CLOUD)["calico.max_pods"].number, origin)
        most = usual if kubelet is None else kubelet.number("max_pods")
        return addresses_of_calico(cluster, cidr, most, inventory)


def _is_of_calico(item: Object) -> bool:
    if item.kind in _KINDS:
        return item.api_version.startswith(_GROUPS)
    return item.kind == "DaemonSet" and yaml.text(item.root, "metadata", "name") == "calico-node"


def fixed_size(count: Value[int], origin: Origin) -> model.Size:
    """Return the size of nodes without an autoscaler."""
    return model.Size(Known(value=False, origin=origin), count, count)


def unknown_size(why: str, origin: Origin) -> model.Size:
    """Return a size with an unknown maximum."""
    return model.Size(Known(value=True, origin=origin), Known(0, origin), Unknown(why, origin))


def ipv4(cidr: Value[str]) -> Value[str]:
    """Return the IPv4 range of a dual-stack list; Unset if there is none."""
    if not isinstance(cidr, Known):
        return cidr
    own = [part for part in cidr.value.split(",") if parse_cidr(part.strip())]
    if "," not in cidr.value:
        return Unset(cidr.origin) if ":" in cidr.value else cidr
    return Known(own[0].strip(), replace(cidr.origin, literal=False)) if own else Unset(cidr.origin)


def spelled(value: Value[T], *, listed: bool, within: str = "extraArgs") -> Value[T]:
    """Adjust the place of a value in `extraArgs`, a map or a list."""
    origin = value.origin
    if not listed or origin is None or origin.missing is None or within not in origin.missing.path:
        return value
    *outer, last = origin.missing.path
    return with_origin(value, replace(origin, missing=replace(origin.missing, path=(*outer, Item(last), "value"))))


def number_in(written: Datum) -> Value[int]:
    """Read a number; Unknown for other text."""
    if isinstance(written, Unknown):
        return written
    try:
        return Known(int(scalars.to_number(written.value)), written.origin)
    except EvaluationError as error:
        return Unknown(str(error), written.origin)


def quota(written: int) -> int:
    """Return the quota of etcd's database; 0 stands for the default."""
    return written or profiles.settings(CLOUD)["plane.etcd_quota"].number


# --- nodes

KUBELET = "KubeletConfiguration"
ZONE = "topology.kubernetes.io/zone"
_TYPE = "node.kubernetes.io/instance-type"
_VARIABLES = ("$", "{{")
"""Marks of values that differ by node."""
_MIRROR = "/certs.d/docker.io/hosts.toml"
NEIGHBOURS = "net.ipv4.neigh.default.gc_thresh3"


def labels(registration: yaml.Node | None) -> dict[str, str]:
    """Read the labels of a joining node that do not differ by node."""
    given = yaml.get(registration, "kubeletExtraArgs")
    listed = (yaml.get(one, "value") for one in yaml.items(given) if yaml.text(one, "name") == "node-labels")
    found = [yaml.get(given, "node-labels"), *listed]
    pairs = [part.partition("=") for node in found if isinstance(node, yaml.Scalar) for part in node.text.split(",")]
    return {
        key.strip(): value.strip()
        for key, _, value in pairs
        if key.strip() != ZONE and not any(sign in value for sign in _VARIABLES)
    }


def scheduling(registration: yaml.Node | None, origin: Origin) -> model.Scheduling:
    """Read the labels and taints of a node registration."""
    found = labels(registration)
    taints: Value[tuple[str, ...]] = model.NOTHING
    if isinstance(registration, yaml.Mapping):
        taints = taints_of(MappingRecord(registration), "taints")
    return model.Scheduling(Known(found, origin) if found else Unset(origin), taints)


def machine(found: dict[str, str], origin: Origin) -> model.Machine:
    """Return the machine named in a node's labels, if it is a known model."""
    name = found.get(_TYPE, "")
    return machine_of(Known(name, origin), origin) if machines.machine(CLOUD, name) else model.Machine()


def machine_of(kind: Value[str], origin: Origin, cloud: str = "") -> model.Machine:
    """Return a machine by its type, preferably with the GPUs of one cloud."""
    types = mapped(kind, lambda name: (name,))
    owners = [one.name for one in registry.every() if machines.machine(one.name, known(kind) or "")]
    if cloud in ("", CLOUD) and not owners:
        return model.Machine(types, Unknown("whether its machines have GPUs is not known", origin))
    cloud = cloud or owners[0]
    gpus = least_gpus_of(cloud, types)
    return model.Machine(types, mapped(gpus, bool) if cloud == CLOUD else gpu_of(cloud, types), gpus)


class File(NamedTuple):
    """A file of a KubeadmConfigSpec: its path, text and place."""

    path: str
    text: Source
    place: Span


def files(config: yaml.Node | None) -> Iterator[File]:
    """Yield the files of a KubeadmConfigSpec."""
    for one in yaml.items(config, "files"):
        path, content = yaml.get(one, "path"), yaml.get(one, "content")
        if isinstance(path, yaml.Scalar) and isinstance(content, yaml.Scalar):
            source, first = content.span.source, content.span.begin.line
            lines = source.data[: content.span.end].split(b"\n")[first:]
            text = Source(source.path, b"\n" * first + b"\n".join(lines), derived=True)
            yield File(path.text, text, content.span)


def system(config: yaml.Node | None) -> model.System:
    """Read the system settings in the files of a KubeadmConfigSpec."""
    neighbours: Value[int] = model.NOTHING
    mirror: Value[bool] = model.NOTHING
    for file in files(config):
        for span in scan.sysctl_numbers(file.text, NEIGHBOURS):
            neighbours = Known(int(span.text[:10]), Origin((span,)))
        if file.path.endswith(_MIRROR):
            mirror = Known(value=True, origin=Origin((file.place,)))
    return model.System(neighbours=neighbours, hub_mirror=mirror)


def serial_pulls(config: yaml.Node | None) -> Value[bool] | None:
    """Whether the kubelet pulls images serially, by a patch; None without one."""
    for file in files(config):
        for document in yaml.documents(file.text) if "/kubeletconfiguration" in file.path else ():
            if isinstance(document.root, yaml.Mapping):
                return Fields(CLOUD, KUBELET, MappingRecord(document.root)).flag("serial_pulls")
    return None
