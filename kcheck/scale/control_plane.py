"""Control planes, your own and the clouds': settings, tiers, services, DNS."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Thing
from kcheck.scale.addresses import range_of
from kcheck.scale.basics import anyone, computed
from kcheck.text.regex import regex
from kcheck.text.units import as_text, minor_version
from kcheck.text.values import Known, Unknown, Unset, Value, known, mapped, reason_of

if TYPE_CHECKING:
    from kcheck.model import Cluster, NodePool
    from kcheck.scale.world import World
    from kcheck.text.text import Span

_NAMES = {
    "data_dir": "data-dir",
    "etcd_quota": "quota-backend-bytes",
    "event_servers": "etcd-servers-overrides",
    "reads_inflight": "max-requests-inflight",
    "writes_inflight": "max-mutating-requests-inflight",
    "controller_qps": "kube-api-qps",
    "controller_burst": "kube-api-burst",
    "serial_pulls": "serializeImagePulls",
}
"""What the components of a control plane call its settings."""


class Setting(Thing, frozen=True):
    """A setting of a self-managed control plane, or of its kubelets. It has the id and the place of its cluster."""

    cluster: Cluster
    name: str
    value: Value[object]


def settings(cluster: Cluster) -> list[Setting]:
    """The settings of a control plane; none where a cloud runs it."""
    if cluster.plane is None:
        return []
    found = ((name, getattr(cluster.plane, field)) for field, name in _NAMES.items())
    return [Setting(cluster.id, cluster.place, cluster, name, value) for name, value in found]


def number(setting: Setting, _world: World) -> Value[object]:
    """The value of a setting; unset where it is no number."""
    own = setting.value
    return Unset(own.origin) if isinstance(own, Known) and type(own.value) is not int else own


def text(setting: Setting, _world: World) -> Value[object]:
    """The value of a setting as text; unset where it is a number."""
    own = setting.value
    return Unset(own.origin) if isinstance(own, Known) and type(own.value) is int else mapped(own, as_text)


def minor(cluster: Cluster, _world: World) -> Value[int]:
    """The minor version of Kubernetes; null where none is written."""
    if not isinstance(cluster.version, Known):
        return cluster.version
    number = minor_version(cluster.version.value)
    why = f"`{cluster.version.value}` is no version of Kubernetes"
    return Unknown(why, cluster.version.origin) if number is None else Known(number, cluster.version.origin)


def windows(cluster: Cluster, world: World) -> Value[bool]:
    """Whether any pool of a cluster runs Windows."""
    pools = world.pools.of_cluster(cluster)
    found = [mapped(pool.system.os, lambda name: name.lower() == "windows") for pool in pools]
    return anyone(cluster, found, world.pools.all_of_cluster(cluster))


class Tier(NamedTuple):
    """A control plane of a certain size that a cloud sells.

    `seats` are requests served at a time, `pods` are pods scheduled per second, `start` is seconds to schedule a pod
    on each node of the target, `price` is thousandths of a dollar per hour.
    """

    name: str
    seats: int
    pods: int
    start: int
    price: int


def sufficient_tier(cluster: Cluster, world: World) -> Value[Tier]:
    """The smallest tier that gives each node of the target a pod in time, or the largest; null where none is sold."""
    numbers, target = world.numbers.limits(cluster.cloud), world.sizes.target(cluster)
    names = [key.removesuffix(".pods") for key in numbers if key.startswith("tier_") and key.endswith(".pods")]
    if not names:
        return computed(cluster, None)
    if not isinstance(target, Known):
        return Unknown(reason_of(target))
    tiers = []
    for name in names:
        seats, pods, price = (numbers[f"{name}.{part}"].number for part in ("seats", "pods", "price"))
        tiers.append(Tier(name.replace("_", "-"), seats, pods, -(-target.value // pods), price))
    fast = [tier for tier in tiers if tier.start <= numbers["plane.start"].number]
    return computed(cluster, min(fast or tiers[-1:], key=lambda tier: tier.price))


def services(cluster: Cluster, world: World) -> Value[int]:
    """Services of the manifests that take an address of the range of services."""
    return computed(cluster, sum(service.addressed for service in world.deployed.on(cluster).services))


def location_form(cluster: Cluster, world: World) -> Value[str]:
    """How the location of a cluster is written: as its own literal, one of its pools, an expression, or by a module."""
    own, place = cluster.location, cluster.place
    if not isinstance(own, Known):
        return own
    if not _is_beside(own, place):
        written = place.source.private or place.member("location") is not None
        return computed(cluster, "expression" if written else "module")
    of_pools = [(pool.place, pool.placement.location) for pool in world.pools.of_cluster(cluster)]
    apart = [
        (place, value)
        for place, value in of_pools
        if not isinstance(value, Unset)
        and not (isinstance(value, Known) and value.origin.written == own.origin.written)
    ]
    return computed(cluster, "literal" if all(_is_beside(value, place) for place, value in apart) else "expression")


def _is_beside(value: Value[str], place: Span) -> bool:
    """Whether a location is the literal of that name in the block that begins at a place."""
    return isinstance(value, Known) and value.origin.literal and value.origin.written == place.member("location")


_SCALES = regex(r"node-?local-?dns|nodelocaldns|k8s-dns-node-cache|proportional-autoscaler|dns-autoscaler")
"""What takes the load off CoreDNS: a cache on every node, or an autoscaler of its replicas."""


def replicas(cluster: Cluster, world: World) -> Value[int]:
    """Replicas that CoreDNS keeps whatever the size; null where it scales, or a cache is on each node."""
    if isinstance(cluster.provisioned, Unknown):
        return cluster.provisioned
    if known(cluster.provisioned):
        return computed(cluster, None)  # Auto Mode has a resolver on each node
    own = world.deployed.on(cluster).workloads
    names = [known(addon.name) or "" for addon in world.deployed.on(cluster).addons]
    names += [f"{known(workload.name)} {known(image.text)}" for workload in own for image in workload.images]
    if any(_SCALES.search(name) for name in names):
        return computed(cluster, None)
    here = next((w for w in own if w.kind == "Deployment" and known(w.name) in ("coredns", "kube-dns")), None)
    return here.pods if here is not None and not cloud(cluster.cloud).runs_dns else cluster.dns_replicas


def neighbours(pool: NodePool, world: World) -> Value[int]:
    """Others that the kernel of a node knows at most: as written; by its default where nobody sets it for us."""
    cluster = known(pool.cluster)
    if cluster is not None and cloud(cluster.cloud).own_kernel and isinstance(pool.system.neighbours, Unset):
        return computed(pool, world.numbers.limits("any")["arp.entries"].number)
    return pool.system.neighbours


def service_addresses(cluster: Cluster, _world: World) -> Value[int]:
    """Addresses of the range of services, but for its first and its last one; null without a range."""
    cidr = cluster.service_cidr
    network = range_of(cidr.value) if isinstance(cidr, Known) else None
    if isinstance(cidr, Known) and network is None:
        return Unknown(f"`{cidr.value}` is not an IPv4 range", cidr.origin)
    return mapped(cidr, lambda _: max(0, network.num_addresses - 2) if network else 0)
