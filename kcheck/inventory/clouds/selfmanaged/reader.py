"""Self-managed clusters from kubeadm configuration and static pods."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import unique_identity
from kcheck.inventory.clouds.selfmanaged import clusters
from kcheck.inventory.clouds.selfmanaged.clusters import CLOUD, Calico
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.record import FlagsRecord, MappingRecord
from kcheck.model import NOTHING, Cluster, Inventory, Plane, Scheduling
from kcheck.text.regex import regex
from kcheck.text.syntax import scan, yaml
from kcheck.text.text import Source, Span
from kcheck.text.values import Known, Missing, Origin, Record, Unset, Value, known, mapped

KIND = "ClusterConfiguration"
_PROXY = "KubeProxyConfiguration"
_GROUPS = {KIND: "kubeadm.k8s.io/", clusters.KUBELET: "kubelet.config.k8s.io/", _PROXY: "kubeproxy.config.k8s.io/"}
_JOINING = ("InitConfiguration", "JoinConfiguration")
_PARTS = ("kube-controller-manager", "kube-apiserver", "etcd")

T = TypeVar("T")

_MAPPED = regex(r"/v1(alpha\d|beta[1-3])$")
"""Versions of kubeadm's API in which `extraArgs` are a map."""


def read(objects: Sequence[Object], inventory: Inventory) -> None:
    """Add the clusters described by kubeadm, or by static pods in one folder."""
    written: dict[str, dict[str, Fields]] = {}
    labels: dict[str, dict[str, str]] = {}
    for item in objects:
        folder = os.path.dirname(item.span.source.path) or "."
        if item.kind in _JOINING and item.api_version.startswith("kubeadm.k8s.io/"):
            labels.setdefault(folder, {}).update(clusters.labels(yaml.get(item.root, "nodeRegistration")))
        for name, record in _records(item):
            key = f"{item.span.source.path}:{item.span.start}" if name == KIND else folder
            written.setdefault(key, {}).setdefault(name, Fields(CLOUD, name, record))
    configured = {_folder(key) for key, own in written.items() if KIND in own}
    for key, own in written.items():
        if KIND in own or ("kube-apiserver" in own and key not in configured):
            parts = {**written.get(_folder(key), {}), **own} if KIND in own else own
            _Cluster(parts, inventory, labels.get(_folder(key) if KIND in own else key, {})).add(objects)


def tune(settings: Iterable[Source], inventory: Inventory) -> None:
    """Set kernel settings of nodes from sysctl files; the last one wins."""
    for source in settings:
        for span in scan.sysctl_numbers(source, clusters.NEIGHBOURS):
            neighbours = Known(int(span.text[:10]), Origin((span,)))
            for i, pool in enumerate(inventory.pools):
                own = pool.id.startswith(f"{CLOUD}/") and (pool.root == "." or source.path.startswith(f"{pool.root}/"))
                if own:
                    inventory.pools[i] = replace(pool, system=replace(pool.system, neighbours=neighbours))


def _folder(key: str) -> str:
    return os.path.dirname(key.partition(":")[0]) or "."


def _records(item: Object) -> Iterable[tuple[str, Record]]:
    """Yield the records of kubeadm and the control plane in an object."""
    if item.kind in _GROUPS and item.api_version.startswith(_GROUPS[item.kind]):
        yield item.kind, MappingRecord(item.root, item.span)
    if item.kind != "Pod":
        return
    for container in yaml.items(item.root, "spec", "containers"):
        if (name := yaml.text(container, "name")) in _PARTS:
            yield name, FlagsRecord(container, item.span)


class _Cluster:
    """A cluster from kubeadm configuration, else from the flags of static pods."""

    def __init__(self, parts: dict[str, Fields], inventory: Inventory, labels: dict[str, str]) -> None:
        self.parts = parts
        self.labels = labels
        self.inventory = inventory
        api = parts[KIND].record.entry("apiVersion") if KIND in parts else None
        self.listed = isinstance(api, Known) and not _MAPPED.search(str(api.value))
        first = parts[KIND] if KIND in parts else parts["kube-apiserver"]
        self.place: Span = first.record.span
        self.origin = Origin((self.place,))
        path = self.place.source.path
        self.folder = os.path.dirname(path) or "."
        self.address = f"{KIND}/{known(first.text('name'))}" if KIND in parts else "static pods"
        self.identity = unique_identity(f"{CLOUD}/{path if KIND in parts else self.folder}:{self.address}", inventory)

    def _serial_pulls(self) -> Value[bool]:
        """Whether kubelets pull images serially; the default without a configuration."""
        name = "serial_pulls"
        if clusters.KUBELET in self.parts:
            return self.parts[clusters.KUBELET].flag(name)
        why = f"no {clusters.KUBELET} is in its folder"
        missing = Missing(self.place, tuple(profiles.table(CLOUD)[clusters.KUBELET][name]["path"].split(".")))
        usual = profiles.settings(CLOUD)[f"plane.{name}"].value is True
        return Known(usual, replace(self.origin, missing=missing, why=why))

    def text(self, name: str, *parts: str) -> Value[str]:
        return self._value(Fields.text, name, parts)

    def number(self, name: str, *parts: str) -> Value[int]:
        return self._value(Fields.number, name, parts)

    def _value(self, read: Callable[[Fields, str], Value[T]], name: str, parts: tuple[str, ...]) -> Value[T]:
        """Read a field from a static pod's flag or kubeadm's configuration."""
        found = []
        for part in (*parts, KIND):
            if part in self.parts:
                value = clusters.spelled(read(self.parts[part], name), listed=self.listed)
                if not isinstance(value, Unset) and (value.origin is None or value.origin.missing is None):
                    return value
                found.append(value)
        return found[-1] if found else Unset(self.origin)

    def _plane(self) -> Plane:
        fields, unset = self.parts.get(KIND), Unset(self.origin)
        external = fields is not None and not isinstance(fields.texts("external"), Unset)
        return Plane(
            data_dir=unset if external else self.text("data_dir", "etcd"),
            etcd_quota=unset if external else mapped(self.number("etcd_quota", "etcd"), clusters.quota),
            event_servers=self.text("event_servers", "kube-apiserver"),
            reads_inflight=self.number("reads_inflight", "kube-apiserver"),
            writes_inflight=self.number("writes_inflight", "kube-apiserver"),
            controller_burst=self.number("controller_burst", "kube-controller-manager"),
            controller_qps=self.number("controller_qps", "kube-controller-manager"),
            serial_pulls=self._serial_pulls() if fields is not None else NOTHING,
            features=self.text("features", "kube-apiserver"),
        )  # fmt: skip

    def add(self, objects: Sequence[Object]) -> None:
        """Add the cluster, its pod range and an unknown number of nodes."""
        place = self.place.source.path, self.place.start
        if any((one.place.source.path, one.place.start) == place for one in self.inventory.clusters):
            return
        fields, dns = self.parts.get(KIND), profiles.settings(CLOUD)["coredns.replicas"].number
        cluster = Cluster(
            self.identity, self.place, CLOUD, self.address, self.folder, "",
            name=self.text("name"), version=self.text("version"),
            service_cidr=clusters.ipv4(self.text("service_cidr", "kube-apiserver", "kube-controller-manager")),
            plane=self._plane(), dns_replicas=Known(dns, self.origin) if fields else NOTHING,
            proxy_mode=self.parts[_PROXY].text("proxy_mode") if _PROXY in self.parts else NOTHING,
        )  # fmt: skip
        self.inventory.clusters.append(cluster)
        cidr = self.text("pod_cidr", "kube-controller-manager")
        mask = self.number("node_mask", "kube-controller-manager")
        calico = Calico(objects, self.folder)
        if calico.found:
            addresses = calico.addresses(cluster, cidr, self.inventory, self.parts.get(clusters.KUBELET))
        else:
            addresses = clusters.blocks_of(cluster, clusters.pod_range(cluster, cidr, mask, self.inventory))
        size = clusters.unknown_size("kubeadm sets no number of nodes; set --nodes N", self.origin)
        pool = clusters.node_pool(cluster, "nodes", size, addresses)
        scheduling = Scheduling(Known(self.labels, self.origin) if self.labels else Unset(self.origin))
        machine = clusters.machine(self.labels, self.origin)
        self.inventory.pools.append(replace(pool, scheduling=scheduling, machine=machine))
