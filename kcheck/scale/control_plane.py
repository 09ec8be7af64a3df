"""Control planes, self-managed or run by clouds: settings, tiers, Services, DNS."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Cluster, Thing
from kcheck.scale.word_helpers import anyone, computed, parsed
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.ip_ranges import range_of
from kcheck.text.need import if_set, need
from kcheck.text.regex import regex
from kcheck.text.text import Span
from kcheck.text.units import as_text, minor_version
from kcheck.text.values import Known, Unset, Value, equals, known, mapped

_NAMES = {
    "data_dir": "data-dir", "etcd_quota": "quota-backend-bytes", "event_servers": "etcd-servers-overrides",
    "reads_inflight": "max-requests-inflight", "writes_inflight": "max-mutating-requests-inflight",
    "controller_qps": "kube-api-qps", "controller_burst": "kube-api-burst", "serial_pulls": "serializeImagePulls",
}  # fmt: skip
"""Field of the model -> name of the setting in the components of a control plane."""


class Setting(Thing, frozen=True):
    """A setting of a self-managed control plane or its kubelets."""

    cluster: Cluster
    name: Annotated[str, "what its component calls it: quota-backend-bytes, kube-api-qps, serializeImagePulls ..."]
    value: Value[object]


def settings(cluster: Cluster) -> list[Setting]:
    """List the settings of a control plane; empty if a cloud runs it."""
    if cluster.plane is None:
        return []
    found = ((name, getattr(cluster.plane, field)) for field, name in _NAMES.items())
    return [Setting(cluster.id, cluster.place, cluster, name, value) for name, value in found]


def number(setting: Setting, _world: World) -> Value[object]:
    """Return the value of a setting; unset if it is no number."""
    own = setting.value
    return Unset(own.origin) if isinstance(own, Known) and type(own.value) is not int else own


def text(setting: Setting, _world: World) -> Value[object]:
    """Return the value of a setting as text; unset if it is a number."""
    own = setting.value
    return Unset(own.origin) if isinstance(own, Known) and type(own.value) is int else mapped(own, as_text)


def minor(cluster: Cluster, _world: World) -> Value[int]:
    """Return the minor version of Kubernetes; null if not set."""
    if equals(cluster.version, ""):
        return computed(cluster, None)
    return parsed(cluster.version, minor_version, "no version of Kubernetes")


@once
def windows(cluster: Cluster, world: World) -> Value[bool]:
    """Whether any pool of a cluster runs Windows."""
    pools = world.pools.of_cluster(cluster)
    found = [mapped(pool.system.os, lambda name: name.lower() == "windows") for pool in pools]
    return anyone(cluster, found, world.pools.all_of_cluster(cluster))


class Tier(Struct, frozen=True):
    """A control plane size that a cloud sells."""

    name: Annotated[str, "its name: tier-xl ... (EKS)"]
    seats: Annotated[int, "requests that its API server works on at a time", "requests"]
    pods: Annotated[int, "pods that its scheduler places in a second", "pods"]
    start: Annotated[int, "time in which it gives each node of the target a pod", "seconds"]
    price: Annotated[int, "price of an hour, beside that of the cluster", "mills"]


def sufficient_tier(cluster: Cluster, world: World) -> Tier | None:
    """Choose the cheapest fast enough tier, else the largest; None if none."""
    numbers = world.numbers.limits(cluster.cloud)
    names = [key.removesuffix(".pods") for key in numbers if key.startswith("tier_") and key.endswith(".pods")]
    if not names:
        return None
    target, tiers, own = need(world.sizes.target(cluster)), [], known(minor(cluster, world))
    before = own is not None and own < numbers["plane.seats_from"].number
    for name in names:
        parts = ("seats_before" if before else "seats", "pods", "price")
        seats, pods, price = (numbers[f"{name}.{part}"].number for part in parts)
        tiers.append(Tier(name.replace("_", "-"), seats, pods, -(-target // pods), price))
    fast = [tier for tier in tiers if tier.start <= numbers["plane.start"].number]
    return min(fast or tiers[-1:], key=lambda tier: tier.price)


def location_form(cluster: Cluster, world: World) -> Value[str]:
    """Classify how a location is written: literal, expression or module."""
    own, place = cluster.location, cluster.place
    if not isinstance(own, Known):
        return own
    if not _is_beside(own, place):
        written = place.source.private or place.member("location") is not None
        return computed(cluster, "expression" if written else "module")
    of_pools = [(pool.place, pool.placement.location) for pool in world.pools.of_cluster(cluster)]
    literal = all(
        isinstance(value, Unset)
        or (isinstance(value, Known) and value.origin.written == own.origin.written)
        or _is_beside(value, place)
        for place, value in of_pools
    )
    return computed(cluster, "literal" if literal else "expression")


def _is_beside(value: Value[str], place: Span) -> bool:
    """Whether a location is the literal of the block at a place."""
    return isinstance(value, Known) and value.origin.literal and value.origin.written == place.member("location")


_SCALES = regex(r"node-?local-?dns|nodelocaldns|k8s-dns-node-cache|proportional-autoscaler|dns-autoscaler")
"""Names of what relieves CoreDNS: a cache on every node, or an autoscaler of its replicas."""


def replicas(cluster: Cluster, world: World) -> Value[int]:
    """Return the fixed number of CoreDNS replicas; null if they scale."""
    if if_set(cluster.provisioned):
        return computed(cluster, None)  # Auto Mode has a resolver on each node
    own = world.deployed.on(cluster).workloads
    names = [known(addon.name) or "" for addon in world.deployed.on(cluster).addons]
    names += [f"{known(workload.name)} {known(image.text)}" for workload in own for image in workload.images]
    if any(_SCALES.search(name) for name in names):
        return computed(cluster, None)
    here = next((w for w in own if w.kind == "Deployment" and known(w.name) in ("coredns", "kube-dns")), None)
    return here.pods if here is not None and not cloud(cluster.cloud).runs_dns else cluster.dns_replicas


def service_addresses(cluster: Cluster, _world: World) -> Value[int]:
    """Count the addresses of the service range without first and last."""

    def usable(cidr: str) -> int | None:
        network = range_of(cidr)
        return None if network is None else max(0, network.num_addresses - 2)

    return parsed(cluster.service_cidr, usable, "not an IPv4 range")
