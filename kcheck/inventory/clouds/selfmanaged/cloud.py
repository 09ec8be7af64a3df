"""Self-managed clusters: behaviour of their nodes and control planes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.inventory.clouds.cloud import Cloud, Limit
from kcheck.text.files import configurations
from kcheck.text.text import Skipped, Source
from kcheck.text.values import Unset, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.kubernetes.objects import Object
    from kcheck.model import Cluster, Inventory

_API_SERVER = b"kube-apiserver"


class SelfManaged(Cloud):
    """Clusters by kubeadm, kops and kubespray."""

    name = "selfmanaged"
    objects = (
        "ClusterConfiguration", "InitConfiguration", "JoinConfiguration", "KubeletConfiguration", "Pod", "Cluster",
        "InstanceGroup", "KubeProxyConfiguration", "Installation", "IPPool", "IPAMConfiguration",
    )  # fmt: skip
    files = (configurations.VARIABLES, configurations.TEMPLATE, configurations.INSTALLER)
    has_disks = False

    def read_objects(self, objects: Iterable[Object], inventory: Inventory) -> None:
        """Read kubeadm configurations, static pods of control planes, and kops clusters."""
        own = list(objects)
        if all(
            item.kind == "Pod" and _API_SERVER not in item.span.source.data for item in own if item.kind in self.objects
        ):
            return  # pods are common, control planes are not: to import what reads them takes 15 ms
        from kcheck.inventory.clouds.selfmanaged import kops, reader

        reader.read(own, inventory)
        kops.read(own, inventory)

    def read_files(self, files: Mapping[str, Sequence[Source]], inventory: Inventory) -> Iterable[Skipped]:
        """Read kubespray inventories and OpenShift's installer."""
        from kcheck.inventory.clouds.selfmanaged import kubespray, makers

        kubespray.read(files, inventory)
        yield from makers.installed(files.get(configurations.INSTALLER, ()), inventory)
        if any(cluster.cloud == self.name for cluster in inventory.clusters):
            return
        for source in files.get(configurations.TEMPLATE, ()):
            yield Skipped(source.path, "kubeadm configuration in an Ansible template, not read")

    def read_kernel(self, sources: Iterable[Source], inventory: Inventory) -> None:
        """Read sysctl settings."""
        if found := list(sources):
            from kcheck.inventory.clouds.selfmanaged import reader

            reader.tune(found, inventory)

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:
        """Yield the limits of Kubernetes itself, of etcd and of the API server."""
        plane = cluster.plane
        designed, own = profiles.limits(self.name)["cluster.nodes"].number, numbers["cluster.nodes"].number
        text = "the number that Kubernetes is designed for"
        text = text if own == designed else f"from kcheck.yaml; {designed:,} are {text}"
        yield Limit("cluster-limit", "cluster.nodes", cluster.name, text)
        if plane is None:
            return
        default = profiles.settings(self.name)["plane.etcd_quota"].number
        if known(plane.etcd_quota) == default:
            text = f"where the {default >> 30} GiB of etcd's default were full"
            yield Limit("etcd", "etcd.default_quota", plane.etcd_quota, text)
        if isinstance(plane.event_servers, Unset):
            text = "above it, events need a separate etcd"
            yield Limit("events", "etcd.events_apart", plane.event_servers, text)
        writes = known(plane.writes_inflight)
        if writes is not None and writes < numbers["apiserver.writes_inflight"].number:
            text = "above it, Kubernetes' own scripts raise the requests in flight"
            yield Limit("apiserver", "apiserver.inflight_nodes", plane.writes_inflight, text)


CLOUD = SelfManaged()
