"""Clusters, their networks and their autoscalers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kcheck.model.base import Thing
from kcheck.text.values import NOTHING, Value, known

# A field that is a word of rules has its meaning, unit and note on its line.
# fmt: off


NODE_ADDRESSES = "node"
"""Outbound type of a cluster whose nodes have public addresses of their own."""


class Autoscaler(Thing, frozen=True):
    """The autoscaler of a cluster, perhaps run by the cloud: `gke` or `ack`."""

    cluster: Value[Cluster]
    kind: Annotated[str, "cluster-autoscaler, or gke and ack where the cloud runs it and shows few settings"]
    max_unready_nodes: Annotated[Value[int], "NotReady nodes that it always tolerates (ok-total-unready-count)", "nodes", "never null"] = NOTHING
    max_unready_percentage: Annotated[Value[int], "share of NotReady nodes that it tolerates (max-total-unready-percentage)", "percent", "never null"] = NOTHING
    bulk_delete: Annotated[Value[int], "empty nodes that it deletes in one loop", "nodes", "never null"] = NOTHING
    unneeded_time: Annotated[Value[int], "how long a node is idle before it is deleted", "seconds", "never null"] = NOTHING
    unready_time: Annotated[Value[int], "how long an unready node is idle before it is deleted", "seconds", "never null"] = NOTHING
    delay_after_add: Annotated[Value[int], "pause of scale-down after a scale-up", "seconds", "never null"] = NOTHING
    delay_after_failure: Annotated[Value[int], "pause of scale-down after a deletion that failed", "seconds", "never null"] = NOTHING
    scan_interval: Annotated[Value[int], "period of its loop", "seconds", "never null"] = NOTHING
    new_pod_delay: Annotated[Value[int], "age below which pending pods are ignored", "seconds", "never null"] = NOTHING
    provision_time: Annotated[Value[int], "how long it waits for a node", "seconds", "never null"] = NOTHING
    expander: Annotated[Value[str], "how it chooses among pools: least-waste, random, priority", "", "never null"] = NOTHING
    delay_after_delete: Annotated[Value[int], "pause of scale-down after a deletion; null where it is the scan interval (AKS)", "seconds"] = NOTHING
    scale_down: Annotated[Value[bool], "whether it deletes nodes at all"] = NOTHING
    client_qps: Value[int] = NOTHING
    max_nodes: Annotated[Value[int], "cap on the nodes of the cluster (max-nodes-total); 0 or null: no cap", "nodes"] = NOTHING
    max_cores: Annotated[Value[int], "cap on the cores of the cluster (cores-total; limits of node auto-provisioning)", "cores"] = NOTHING
    max_memory: Annotated[Value[int], "cap on the memory of the cluster", "GiB"] = NOTHING
    max_accelerators: Annotated[Value[dict[str, int]], "caps on the accelerators of the cluster by type (limits of node auto-provisioning); null without such limits"] = NOTHING
    scale_up_nodes: Annotated[Value[int], "most nodes that it adds in one loop", "nodes", "never null"] = NOTHING
    binpacking_time: Annotated[Value[int], "time limit for one pool in a loop", "seconds"] = NOTHING
    balance: Annotated[Value[bool], "whether it grows pools of equal shape together"] = NOTHING
    skip_local_storage: Annotated[Value[bool], "whether a pod with a local volume keeps its node"] = NOTHING
    skip_system_pods: Annotated[Value[bool], "whether a pod of kube-system keeps its node"] = NOTHING
    skip_custom_controllers: Annotated[Value[bool], "whether a pod of a custom controller keeps its node"] = NOTHING
    grace: Annotated[Value[int], "longest time that it gives an evicted pod to stop", "seconds"] = NOTHING
    priority_cutoff: Annotated[Value[int], "priority below which pods neither get nor keep nodes"] = NOTHING
    cpu: Annotated[Value[int], "CPU that its own pod requests; null where it requests none, or the cloud runs it", "millicores"] = NOTHING
    cpu_limit: Annotated[Value[int], "CPU limit of its own pod; null where it has none", "millicores"] = NOTHING
    profile: Annotated[Value[str], "BALANCED or OPTIMIZE_UTILIZATION (GKE), cluster-autoscaler or goatscaler (ACK)"] = NOTHING
    provisioning: Annotated[Value[bool], "whether node auto-provisioning is on (GKE)"] = NOTHING
    managed: Annotated[bool, "whether the cloud runs it"] = True
    version: Annotated[Value[str], "its version: its image's tag, or what its chart brings"] = NOTHING
    flags: tuple[Flag, ...] = ()


class Flag(Thing, frozen=True, eq=False):
    """A cluster autoscaler flag as written. `version` is the autoscaler's."""

    name: Annotated[Value[str], "its name without dashes", "", "never null"]
    value: Annotated[Value[str], "its value as written"]
    version: Value[str]


class Cni(Struct, frozen=True, eq=False):
    """Address settings of the VPC CNI."""

    prefix_delegation: Value[bool]
    custom_networking: Value[bool]
    warm_interfaces: Value[int]
    warm_prefixes: Value[int]
    warm_ips: Value[int]
    minimum_ips: Value[int]


class Plane(Struct, frozen=True, eq=False):
    """Control plane of a self-managed cluster; `etcd_quota` is in bytes.

    `serial_pulls`: whether kubelets pull one image at a time. `features`: feature gates of the API server.
    """

    data_dir: Value[str] = NOTHING
    etcd_quota: Value[int] = NOTHING
    event_servers: Value[str] = NOTHING
    reads_inflight: Value[int] = NOTHING
    writes_inflight: Value[int] = NOTHING
    controller_qps: Value[int] = NOTHING
    controller_burst: Value[int] = NOTHING
    serial_pulls: Value[bool] = NOTHING
    features: Value[str] = NOTHING


class Cluster(Thing, frozen=True):
    """A Kubernetes cluster.

    `gap`: why pools may exist that were not read or counted; empty if none can. `pods_take_addresses`: whether pods take
    addresses of their nodes' subnets (EKS). `subnet_ids`: ids of its subnets (ACK). `support_plan`: how long its version
    is supported. `environment`: name of its variables in the settings.

    `api_ranges`: ranges outside its network that reach its API server; none if it has only a private address.
    `network_id`: id of its network if written, else of a network in this code (EKS). `ip_family`: ipv4 or ipv6, of pods
    and Services (EKS).

    `dns_replicas`: fixed number of CoreDNS replicas; unset if they scale. `grower`: what the cluster's own code installs
    to grow its pools; unknown if it only grants the rights. `fabric_addon`: whether an add-on gives nodes the interfaces
    of their fabric (ACK). `account`: account, project or subscription. `group`: scope in which its name is unique, with
    account and `region`: a resource group (AKS) or location (GKE).
    """

    cloud: Annotated[str, "eks, gke, aks, ack or selfmanaged"]
    address: str
    root: str
    gap: str
    name: Value[str]
    version: Annotated[Value[str], "Kubernetes version as written"]
    location: Annotated[Value[str], "region or zone as written"] = NOTHING
    zonal: Annotated[Value[bool], "whether its control plane is in one zone (GKE)"] = NOTHING
    node_locations: Annotated[Value[tuple[str, ...]], "zones of its nodes as written; for a zonal cluster those beside its own (GKE)"] = NOTHING
    provisioned: Annotated[Value[bool], "whether the cloud adds nodes beside the pools: Autopilot, EKS Auto Mode, node auto-provisioning", "", "false if unset"] = NOTHING
    tier: Annotated[Value[str], "control-plane tier: Free, Standard, Premium (AKS), standard, tier-xl ... (EKS)"] = NOTHING
    support_plan: Value[str] = NOTHING
    network_plugin: Annotated[Value[str], "what gives pods their network: azure, kubenet, none (AKS), vpc-cni (EKS)"] = NOTHING
    network_mode: Annotated[Value[str], "node-subnet or overlay, of the azure plugin; VPC_NATIVE or ROUTES (GKE)"] = NOTHING
    network_policy: Annotated[Value[str], "what enforces network policies"] = NOTHING
    proxy_mode: Annotated[Value[str], "mode of kube-proxy, where it is written: iptables, ipvs, nftables"] = NOTHING
    containerd: Annotated[Value[str], "version of containerd, where it is written (kubespray, kops)"] = NOTHING
    service_cidr: Annotated[Value[str], "address range of Services"] = NOTHING
    outbound_type: Annotated[Value[str], "how nodes reach the internet"] = NOTHING
    outbound_ips: Annotated[Value[int], "public addresses by which its nodes reach the internet", "addresses"] = NOTHING
    outbound_list: Annotated[Value[str], "attribute that lists these addresses; null where only their number is written"] = NOTHING
    outbound_ports: Annotated[Value[int], "outbound ports of one node; 0 where the cloud divides them (AKS)", "ports"] = NOTHING
    single_gateway: Annotated[Value[bool], "single_nat_gateway of the VPC module; null where no such module makes its NAT gateway (EKS)"] = NOTHING
    gateway_per_zone: Annotated[Value[bool], "one_nat_gateway_per_az of that module"] = NOTHING
    s3_endpoint: Annotated[Value[bool], "whether its code makes an endpoint for S3 beside its NAT gateways; null without these (EKS)"] = NOTHING
    gateways_lack: Annotated[Value[str], "input of that module that has fewer entries than azs: public_subnets or external_nat_ip_ids; null where none has"] = NOTHING
    load_balancer: Annotated[Value[str], "standard or basic (AKS)"] = NOTHING
    data_plane: Annotated[Value[str], "what forwards packets: azure or cilium (AKS), ADVANCED_DATAPATH ... (GKE)"] = NOTHING
    successor: Annotated[Value[str], "published module that replaces the retired one that makes it; null where that is not retired"] = NOTHING
    security_group: Annotated[Value[str], "basic or enterprise (ACK)"] = NOTHING
    pod_subnets: Value[tuple[Subnet, ...]] = NOTHING
    subnet_ids: Value[tuple[str, ...]] = NOTHING
    monitored: Annotated[Value[tuple[str, ...]], "parts whose metrics the cloud collects, as written (GKE)"] = NOTHING
    upgrade_channel: Annotated[Value[str], "channel by which the cloud upgrades Kubernetes on its own, as written: REGULAR ... (GKE), patch, stable ... (AKS)"] = NOTHING
    upgrade_window: Annotated[Value[str], "when it may upgrade Kubernetes, or must not; null where neither is written (GKE, AKS)"] = NOTHING
    image_channel: Annotated[Value[str], "channel by which the cloud replaces node images on its own: NodeImage, SecurityPatch, Unmanaged, None (AKS)"] = NOTHING
    image_window: Annotated[Value[str], "when it may replace node images; null where no window is written (AKS)"] = NOTHING
    cni: Cni | None = None
    plane: Plane | None = None
    pods_take_addresses: Value[bool] = NOTHING
    dns_replicas: Value[int] = NOTHING
    dns_scaling: Annotated[Value[bool], "whether its CoreDNS add-on scales it; null where the code has no such add-on (EKS)"] = NOTHING
    dns_compute: Annotated[Value[str], "computeType of that add-on: fargate, ec2; null where none is written (EKS)"] = NOTHING
    grower: Value[str] = NOTHING
    fabric_addon: Value[bool] = NOTHING
    api_ranges: Value[tuple[str, ...]] = NOTHING
    serverless: Annotated[Value[tuple[str, ...]], "profiles of pods that need no node of it: Fargate; null without one (EKS)"] = NOTHING
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
    """A range from which nodes take blocks; `more` are ranges that extend it.

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
    """Addresses that no pod range may overlap; `what` names their user."""

    root: str
    what: str
    cidr: Value[str]


class Subnet(Thing, frozen=True):
    """A subnet of a network.

    `public`: whether its machines get public addresses of their own. `held`: addresses that endpoints take or people
    assign. `blocks`: ranges reserved for the prefixes of interfaces.
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
    held: int = 0
    blocks: tuple[str, ...] = ()
