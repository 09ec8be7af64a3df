"""Self-managed clusters from kubespray inventories: group variables and hosts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.reader import unique_identity
from kcheck.inventory.clouds.selfmanaged import ansible, clusters
from kcheck.inventory.clouds.selfmanaged.clusters import CLOUD
from kcheck.model import CONTROL_PLANE, NOTHING, Addresses, Cluster, Placement, Plane, Scheduling, System
from kcheck.text.files import configurations
from kcheck.text.need import need, or_unknown
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, first_set, known, mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcheck.model import Inventory, NodePool
    from kcheck.text.text import Source

_OWN = ("kube_pods_subnet", "kube_network_node_prefix", "kube_service_addresses", "kube_network_plugin")
"""Variables that only kubespray has."""
_GROUPS = ("all", "k8s_cluster", "kube_control_plane", "kube_master", "etcd")
"""Groups whose variables apply to the whole cluster, in ascending precedence."""
_CONTROL = ("kube_control_plane", "kube_master")
_SAMPLE = "sample"
"""Folder of the sample inventory that others are copied from."""

_BLOCKS = ("flannel", "canal", "kube-router")
"""Network plugins that give each node a block cut by the controller manager."""


def read(files: Mapping[str, Sequence[Source]], inventory: Inventory) -> None:
    """Add the clusters of kubespray inventories."""
    variables: dict[str, list[Source]] = {}
    for source in files.get(configurations.VARIABLES, ()):
        folder = configurations.inventory_of(source.path) or "."
        variables.setdefault(os.path.normpath(folder), []).append(source)
    marks = [name.encode() for name in _OWN]
    own = {at: found for at, found in variables.items() if any(mark in one.data for one in found for mark in marks)}
    for folder, found in own.items():
        beside = any(os.path.dirname(other) == os.path.dirname(folder) for other in own if other != folder)
        if os.path.basename(folder) == _SAMPLE and beside:
            continue
        hosts = [s for s in files.get(configurations.HOSTS, ()) if (os.path.dirname(s.path) or ".") == folder]
        layers = list(_layers(folder, found))
        if any(layer.own(name) for layer in layers for name in _OWN):
            _Cluster(folder, layers, hosts, inventory, _of_groups(folder, found)).add()


def _group(folder: str, source: Source) -> str:
    inside = os.path.relpath(source.path, os.path.join(folder, "group_vars")).replace(os.sep, "/")
    return inside.partition("/")[0].partition(".")[0].replace("-", "_")


def _of_groups(folder: str, sources: list[Source]) -> dict[str, yaml.Mapping]:
    """Return the variables of groups that set node labels or taints."""
    found = {}
    for source in sources:
        group, root = _group(folder, source), ansible.root_of(source)
        if group not in _GROUPS and root is not None and any(root.own(name) for name in ("node_labels", "node_taints")):
            found[group] = root
    return found


def _layers(folder: str, sources: list[Source]) -> Iterable[yaml.Mapping]:
    """Yield the variables files, weakest first."""
    own = [source for source in sources if _group(folder, source) in _GROUPS]
    own.sort(key=lambda source: (_GROUPS.index(_group(folder, source)), source.path))
    yield from (root for source in own if (root := ansible.root_of(source)) is not None)


class _Cluster:
    """A Kubespray cluster, read from one inventory folder."""

    def __init__(
        self,
        folder: str,
        layers: list[yaml.Mapping],
        hosts: list[Source],
        inventory: Inventory,
        groups: dict[str, yaml.Mapping],
    ) -> None:
        self.folder = folder
        self.groups = groups
        self.inventory = inventory
        self.hosts = hosts
        main = max(layers, key=lambda layer: sum(layer.own(name) is not None for name in _OWN))
        self.place = next(pair.key.span for pair in map(main.own, _OWN) if pair is not None)
        self.origin = Origin((self.place,))
        self.fields = Fields(CLOUD, "kubespray", ansible.Variables(layers, main, self.place))
        label = os.path.basename(os.path.abspath(folder))
        self.address = f"kubespray/{label}"
        where = "" if folder == "." else f"{folder}:"
        self.identity = unique_identity(f"{CLOUD}/{where}{self.address}", inventory)

    def add(self) -> None:
        fields, label = self.fields, self.fields.text("name")
        cluster = fields.record_of(
            Cluster,
            self.identity,
            self.place,
            CLOUD,
            self.address,
            self.folder,
            gap="",
            name=Unset(label.origin) if isinstance(label, Known) and label.value == _DOMAIN else label,
            version=fields.text("version"),
            service_cidr=clusters.ipv4(fields.text("service_cidr")),
            plane=fields.record_of(
                Plane,
                etcd_quota=mapped(fields.number("etcd_quota"), clusters.quota),
                event_servers=self._event_servers(),
                features=mapped(fields.texts("features"), ",".join),
            ),
            dns_replicas=self._dns(),
        )
        self.inventory.clusters.append(cluster)
        addresses = self._addresses(cluster)
        system = System(hub_mirror=self._mirror(), neighbours=self._neighbours())
        for pool in self._pools(cluster, addresses):
            self.inventory.pools.append(replace(pool, system=system))

    def _event_servers(self) -> Value[str]:
        """Return the separate etcd of events, if there is one."""
        written, apart = self.fields.text("event_servers"), self.fields.flag("events_apart")
        if not isinstance(written, Unset):
            return written
        if not isinstance(apart, Known):
            return apart
        return Known("/events#", apart.origin) if apart.value else Unset(apart.origin)

    @or_unknown
    def _dns(self) -> Value[int]:
        """Return the replicas of CoreDNS; Unset if it scales or nodes cache."""
        scaled = [need(self.fields.flag(name)) for name in ("dns_scaled", "dns_cached")]
        return NOTHING if any(scaled) else self.fields.number("dns_replicas")

    @or_unknown
    def _mirror(self) -> Value[bool]:
        prefixes = need(self.fields.record.blocks("containerd_registries_mirrors"))
        found = any(known(Fields(CLOUD, "kubespray.mirror", one).text("registry")) == "docker.io" for one in prefixes)
        return Known(value=True, origin=Origin((prefixes[0].span,))) if found else NOTHING

    @or_unknown
    def _neighbours(self) -> Value[int]:
        """Return the maximum number of neighbours in a node's kernel table."""
        listed = need(self.fields.record.blocks("additional_sysctl"))
        found = [one.entry(clusters.NEIGHBOURS) for one in listed]  # a list of names and values is one record
        entry = next((one for one in found if one is not None), None)
        return NOTHING if entry is None else clusters.number_in(entry)

    def _addresses(self, cluster: Cluster) -> Addresses:
        """Return the addresses of a node's pods, by network plugin.

        https://github.com/kubernetes-sigs/kubespray/blob/v2.28.0/roles/kubernetes/control-plane/templates/kubeadm-config.v1beta4.yaml.j2
        """
        fields, plugin = self.fields, known(self.fields.text("network_plugin"))
        host_local = known(fields.flag("calico_blocks"))
        if plugin in _BLOCKS or (plugin == "calico" and host_local) or plugin == "cilium":
            block = fields.number("node_mask")
            cidr = fields.text("pod_cidr")
            if plugin == "cilium" and known(fields.text("cilium_mode")) == "cluster-pool":
                block = first_set(fields.number("cilium_mask"), block)
                cidr = first_set(fields.text("cilium_cidr"), cidr)
            found = clusters.pod_range(cluster, cidr, block, self.inventory)
            return clusters.blocks_of(cluster, found)
        if plugin != "calico":
            why = f"how {plugin or 'its network plugin'} assigns pod addresses is not known"
            return clusters.blocks_of(cluster, Unknown(why, fields.text("network_plugin").origin or self.origin))
        cidr = first_set(fields.text("calico_cidr"), fields.text("pod_cidr"))
        return clusters.addresses_of_calico(cluster, cidr, fields.number("max_pods"), self.inventory)

    def _pools(self, cluster: Cluster, addresses: Addresses) -> Iterable[NodePool]:
        """Yield control plane nodes, and workers by labels or taints."""
        listed = [ansible.groups(source) for source in self.hosts]
        listed = [found for found in listed if ansible.members(found, "kube_node")]
        if len(listed) != 1:
            many = (
                "several inventories list its hosts" if listed else "no inventory beside the variables lists its hosts"
            )
            size = clusters.unknown_size(f"{many}; set --nodes N", self.origin)
            yield clusters.node_pool(cluster, "nodes", size, addresses)
            return
        workers = ansible.members(listed[0], "kube_node")
        control = ansible.members(listed[0], *_CONTROL) - workers
        parts: list[tuple[str, set[str], tuple[str, ...]]] = [("control plane", control, _CONTROL)]
        own = {group: ansible.members(listed[0], group) & workers for group in self.groups}
        for group in sorted(own, key=lambda name: (len(own[name]), name)):  # those of others first
            parts.append((group, own[group] & workers, (group,)))
            workers = workers - own[group]
        rest = "other nodes" if "nodes" in own else "nodes"
        for name, hosts, names in (*parts, (rest, workers, ("kube_node",))):
            if hosts:
                place = next(listed[0][one].place for one in names if one in listed[0])
                origin, label = Origin((place,)), yaml.get(self.groups.get(name), "node_labels", clusters.ZONE)
                zones = ansible.values(listed[0], label.text, hosts) if isinstance(label, yaml.Scalar) else set()
                size = clusters.fixed_size(Known(len(hosts), origin), origin)
                pool = replace(
                    clusters.node_pool(cluster, name, size, addresses, place),
                    placement=Placement(zones=Known(tuple(sorted(zones)), origin) if zones else NOTHING),
                    mode=Known(CONTROL_PLANE, origin) if hosts is control else NOTHING,
                )
                yield _registered(pool, self.groups[name]) if name in self.groups else pool


def _registered(pool: NodePool, variables: yaml.Mapping) -> NodePool:
    """Add the labels, taints and machine in a group's variables to a pool."""
    origin = Origin((pool.place,))
    pairs = yaml.pairs(variables, "node_labels").items()
    labels = {key: node.text for key, pair in pairs if isinstance(node := yaml.resolve(pair.value), yaml.Scalar)}
    labels = {key: text for key, text in labels.items() if "{{" not in text}
    taints = tuple(node.text for node in yaml.scalars(variables, "node_taints"))
    return replace(
        pool,
        machine=clusters.machine(labels, origin),
        scheduling=Scheduling(Known(labels, origin), Known(taints, origin) if taints else Unset(origin)),
    )


_DOMAIN = "cluster.local"
"""Default cluster name in kubespray."""
