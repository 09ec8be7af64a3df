"""Clusters, their networks and their autoscalers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.model.base import Thing
from kcheck.text.values import NOTHING, known

if TYPE_CHECKING:
    from kcheck.text.values import Value

NODE_ADDRESSES = "node"
"""Outbound type of a cluster whose nodes have public addresses of their own."""


class Autoscaler(Thing, frozen=True):
    """The autoscaler of a cluster. Times are in seconds.

    `kind`: cluster-autoscaler if its settings can be read; gke or ack if the cloud runs it and shows only a few.
    `scale_down`: whether it removes nodes at all. `max_nodes`, `max_cores`, `max_memory` (GiB), `max_accelerators` (by
    type): limits of the cluster.
    `scale_up_nodes`: most nodes added at a time. `balance`: whether it evens out similar pools. `skip_...`: whether
    such pods keep their node. `grace`: longest time for an evicted pod to stop. `priority_cutoff`: pods with a lower
    priority do not count. `cpu` and `cpu_limit`: millicores of its own pod. `managed`: whether the cloud runs it.
    """

    cluster: Value[Cluster]
    kind: str
    max_unready_nodes: Value[int] = NOTHING
    max_unready_percentage: Value[int] = NOTHING
    bulk_delete: Value[int] = NOTHING
    unneeded_time: Value[int] = NOTHING
    unready_time: Value[int] = NOTHING
    delay_after_add: Value[int] = NOTHING
    delay_after_failure: Value[int] = NOTHING
    scan_interval: Value[int] = NOTHING
    new_pod_delay: Value[int] = NOTHING
    provision_time: Value[int] = NOTHING
    expander: Value[str] = NOTHING
    delay_after_delete: Value[int] = NOTHING
    scale_down: Value[bool] = NOTHING
    client_qps: Value[int] = NOTHING
    max_nodes: Value[int] = NOTHING
    max_cores: Value[int] = NOTHING
    max_memory: Value[int] = NOTHING
    max_accelerators: Value[dict[str, int]] = NOTHING
    scale_up_nodes: Value[int] = NOTHING
    binpacking_time: Value[int] = NOTHING
    balance: Value[bool] = NOTHING
    skip_local_storage: Value[bool] = NOTHING
    skip_system_pods: Value[bool] = NOTHING
    skip_custom_controllers: Value[bool] = NOTHING
    grace: Value[int] = NOTHING
    priority_cutoff: Value[int] = NOTHING
    cpu: Value[int] = NOTHING
    cpu_limit: Value[int] = NOTHING
    profile: Value[str] = NOTHING
    provisioning: Value[bool] = NOTHING
    managed: bool = True
    version: Value[str] = NOTHING
    flags: tuple[Flag, ...] = ()


class Flag(Thing, frozen=True, eq=False):
    """A cluster autoscaler flag as written. `version` is the autoscaler's."""

    name: Value[str]
    value: Value[str]
    version: Value[str]


class Cni(Struct, frozen=True, eq=False):
    """Address settings of the VPC CNI; `warm_ips` and `minimum_ips` are unset by default."""

    prefix_delegation: Value[bool]
    custom_networking: Value[bool]
    warm_interfaces: Value[int]
    warm_prefixes: Value[int]
    warm_ips: Value[int]
    minimum_ips: Value[int]


class Plane(Struct, frozen=True, eq=False):
    """Control plane of a self-managed cluster. `etcd_quota` is in bytes, `..._inflight` in concurrent requests.

    `serial_pulls`: whether kubelets pull one image at a time. `features`: feature gates of the API server.
    """

    data_dir: Value[str]
    etcd_quota: Value[int]
    event_servers: Value[str]
    reads_inflight: Value[int]
    writes_inflight: Value[int]
    controller_qps: Value[int]
    controller_burst: Value[int]
    serial_pulls: Value[bool]
    features: Value[str]


class Cluster(Thing, frozen=True):
    """A Kubernetes cluster.

    `gap`: why pools may exist that were not read or counted; empty if none can. `zonal`: whether the control plane is
    in one zone. `provisioned`: whether the cloud adds nodes outside the pools (Autopilot, EKS Auto Mode, node
    auto-provisioning). `pods_take_addresses`: whether pods take addresses of their nodes' subnets (EKS).
    `node_locations`: zones of its nodes as written (GKE). `subnet_ids`: ids of its subnets (ACK). `support_plan`: how
    long its version is supported. `monitored`: parts whose metrics the cloud collects, as written (GKE). `environment`:
    name of its variables in the settings.

    `outbound_ports`: ports of a node on the `outbound_ips` addresses. `outbound_list`: attribute that lists these
    addresses if they are the user's own. `single_gateway`, `gateway_per_zone`: inputs of the module that makes the NAT
    gateways. `gateways_lack`: its input with too few entries for a gateway per zone (EKS). `load_balancer`: SKU (AKS).
    `s3_endpoint`: whether its network has an endpoint for S3, beside NAT gateways (EKS).
    `api_ranges`: ranges outside its network that reach its API server; none if it has only a private address.
    `network_id`: id of its network if written, else of a network in this code (EKS). `ip_family`: ipv4 or ipv6, of pods
    and Services (EKS).

    `upgrade_channel`, `image_channel`: how the cloud upgrades versions and node images on its own. `upgrade_window`,
    `image_window`: part of the window or exclusion that says when.

    `dns_replicas`: fixed number of CoreDNS replicas; unset if they scale. `dns_scaling`: whether its add-on scales
    them. `dns_compute`: computeType of that add-on. `grower`: what the cluster's own code installs to grow its pools;
    unknown if it only grants the rights. `successor`: module that replaces the retired one that makes it.
    `fabric_addon`: whether an add-on gives nodes the interfaces of their fabric (ACK). `serverless`: profiles of pods
    that need no node (Fargate). `account`: account, project or subscription. `group`: scope in which its name is
    unique, with account and `region`: a resource group (AKS) or location (GKE). `proxy_mode`: mode of kube-proxy as
    written. `containerd`: its version as written (kubespray, kops).
    """

    cloud: str
    address: str
    root: str
    gap: str
    name: Value[str]
    version: Value[str]
    location: Value[str] = NOTHING
    zonal: Value[bool] = NOTHING
    node_locations: Value[tuple[str, ...]] = NOTHING
    provisioned: Value[bool] = NOTHING
    tier: Value[str] = NOTHING
    support_plan: Value[str] = NOTHING
    network_plugin: Value[str] = NOTHING
    network_mode: Value[str] = NOTHING
    network_policy: Value[str] = NOTHING
    proxy_mode: Value[str] = NOTHING
    containerd: Value[str] = NOTHING
    service_cidr: Value[str] = NOTHING
    outbound_type: Value[str] = NOTHING
    outbound_ips: Value[int] = NOTHING
    outbound_list: Value[str] = NOTHING
    outbound_ports: Value[int] = NOTHING
    nat_gateways: Value[int] = NOTHING
    single_gateway: Value[bool] = NOTHING
    gateway_per_zone: Value[bool] = NOTHING
    s3_endpoint: Value[bool] = NOTHING
    gateways_lack: Value[str] = NOTHING
    load_balancer: Value[str] = NOTHING
    data_plane: Value[str] = NOTHING
    successor: Value[str] = NOTHING
    security_group: Value[str] = NOTHING
    pod_subnets: Value[tuple[Subnet, ...]] = NOTHING
    subnet_ids: Value[tuple[str, ...]] = NOTHING
    monitored: Value[tuple[str, ...]] = NOTHING
    upgrade_channel: Value[str] = NOTHING
    upgrade_window: Value[str] = NOTHING
    image_channel: Value[str] = NOTHING
    image_window: Value[str] = NOTHING
    cni: Cni | None = None
    plane: Plane | None = None
    pods_take_addresses: Value[bool] = NOTHING
    dns_replicas: Value[int] = NOTHING
    dns_scaling: Value[bool] = NOTHING
    dns_compute: Value[str] = NOTHING
    grower: Value[str] = NOTHING
    fabric_addon: Value[bool] = NOTHING
    api_ranges: Value[tuple[str, ...]] = NOTHING
    serverless: Value[tuple[str, ...]] = NOTHING
    ip_family: Value[str] = NOTHING
    account: Value[str] = NOTHING
    region: Value[str] = NOTHING
    group: Value[str] = NOTHING
    network_id: Value[str] = NOTHING
    environment: str = ""

    @property
    def display_name(self) -> str:
        """Name of the cluster, else its address."""
        return known(self.name) or self.address


class Network(Thing, frozen=True, eq=False):
    """A virtual network. `cidrs` is unset if subnets are not bound to its ranges."""

    address: str
    root: str
    name: Value[str]
    cidrs: Value[tuple[str, ...]]


class PodRange(Thing, frozen=True):
    """A range from which every node takes a block for its pods. `more` are ranges that extend it.

    `block` is the prefix length of a node's block; unset if it follows from the most pods of a node.
    """

    cloud: str
    address: str
    root: str
    gap: str
    name: Value[str]
    cidr: Value[str]
    more: Value[tuple[str, ...]] = NOTHING
    block: Value[int] = NOTHING


class Reserved(Thing, frozen=True, eq=False):
    """Addresses that no pod range may overlap; `what` names their user. A pod range's own entry has its id."""

    root: str
    what: str
    cidr: Value[str]


class Subnet(Thing, frozen=True):
    """A subnet of a virtual network. `gap` says why pools in it may be missing.

    `public`: whether its machines get public addresses of their own.
    """

    cloud: str
    address: str
    root: str
    gap: str
    name: Value[str]
    cidr: Value[str]
    network: Value[Network]
    tags: Value[dict[str, str]] = NOTHING
    zone: Value[str] = NOTHING
    public: Value[bool] = NOTHING
