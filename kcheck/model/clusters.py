"""Clusters, their networks and their autoscalers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.model.base import NOTHING, Thing
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.text.values import Value

NODE_ADDRESSES = "node"
"""The outbound type of a cluster whose nodes have public addresses of their own."""


class Autoscaler(Thing, frozen=True):
    """The autoscaler of a cluster. Times are in seconds.

    `kind` is cluster-autoscaler where its settings can be read, gke and ack where the cloud runs it and shows a few.
    `scale_down` says that it deletes nodes at all. It grows the cluster up to `max_nodes`, `max_cores` and `max_memory`
    (GiB), `scale_up_nodes` at a time, and evens out similar pools if told to `balance`. `skip_...` are the pods that
    keep a node, `grace` is how long an evicted one may take, those below `priority_cutoff` do not count. Its own pod
    asks for `cpu` thousandths of a processor, and gets `cpu_limit` at most; `managed` says that the cloud runs it.
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
    """A flag of a cluster autoscaler as it is written. `version` is the autoscaler's."""

    name: Value[str]
    value: Value[str]
    version: Value[str]


class Cni(Struct, frozen=True, eq=False):
    """Address settings of the VPC CNI; the last two are unset by default."""

    prefix_delegation: Value[bool]
    custom_networking: Value[bool]
    warm_interfaces: Value[int]
    warm_prefixes: Value[int]
    warm_ips: Value[int]
    minimum_ips: Value[int]


class Plane(Struct, frozen=True, eq=False):
    """The control plane of a self-managed cluster. The quota of etcd is in bytes, the limits in requests at a time.

    `serial_pulls` says that its kubelets pull one image at a time. `features` are the feature gates of its API server.
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

    `gap` says why pools may exist that could not be read or counted; it is empty if none can. `zonal` says that
    its control plane is in one zone, `provisioned` that the cloud adds nodes beside the pools (Autopilot, EKS Auto
    Mode, node auto-provisioning), `pods_take_addresses` that pods take addresses of their nodes' subnets (EKS).
    `node_locations` are those of its nodes as written (GKE), `subnet_ids` those of its subnets (ACK), `support_plan` is
    how long its version is supported. `monitored` are the parts whose metrics the cloud collects, as written (GKE).
    `environment` is the name of its variables in the settings. A node has `outbound_ports` on the `outbound_ips`
    addresses, which `outbound_list` lists where they are the user's own; `single_gateway` and `gateway_per_zone` are
    the inputs of the module that makes the NAT gateways, `gateways_lack` is what it has too few of for one a zone
    (EKS); `load_balancer` is the SKU of Azure's.
    CoreDNS keeps `dns_replicas` whatever the size; unset where it scales. `dns_scaling` says whether its add-on does;
    `dns_compute` is what that puts it on. `grower` is what the cluster's own code installs to grow its pools, unknown
    where it only gives the rights to do so. `successor` is the module that replaces the retired one that makes it.
    `fabric_addon` says whether one of its add-ons gives nodes the interfaces of their fabric (ACK). `api_ranges` are
    those from which its API server can be reached beside its own network; none where it has a private address only.
    `serverless` are its profiles of pods that get no node of it (Fargate).
    `ip_family` is that of its pods and Services, ipv4 or ipv6 (EKS).
    `account` is the account, project or subscription that it is in, and `group` what its name is unique in beside that
    and the `region`: a resource group (AKS) or a location (GKE). `network_id` is the id of its network where that is
    written, else that of a network in this code (EKS).
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
    service_cidr: Value[str] = NOTHING
    outbound_type: Value[str] = NOTHING
    outbound_ips: Value[int] = NOTHING
    outbound_list: Value[str] = NOTHING
    outbound_ports: Value[int] = NOTHING
    nat_gateways: Value[int] = NOTHING
    single_gateway: Value[bool] = NOTHING
    gateway_per_zone: Value[bool] = NOTHING
    gateways_lack: Value[str] = NOTHING
    load_balancer: Value[str] = NOTHING
    data_plane: Value[str] = NOTHING
    successor: Value[str] = NOTHING
    security_group: Value[str] = NOTHING
    pod_subnets: Value[tuple[Subnet, ...]] = NOTHING
    subnet_ids: Value[tuple[str, ...]] = NOTHING
    monitored: Value[tuple[str, ...]] = NOTHING
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
        """The cluster's name, else its address."""
        return known(self.name) or self.address


class Network(Thing, frozen=True, eq=False):
    """A virtual network. `cidrs` is unset where subnets are not bound to ranges of it."""

    address: str
    root: str
    name: Value[str]
    cidrs: Value[tuple[str, ...]]


class PodRange(Thing, frozen=True):
    """A range from which every node takes a block for its pods. `more` are ranges that extend it.

    `block` is the length of the prefix of such a block; unset where it follows from the pods that a node may run.
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
    """Addresses that no pod range may overlap; `what` names their user. A pod range has its id."""

    root: str
    what: str
    cidr: Value[str]


class Subnet(Thing, frozen=True):
    """A subnet of a virtual network. `gap` says why pools in it may be missing.

    A `public` one gives its machines public addresses of their own.
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
