"""What kcheck knows of clusters and workloads, whatever the cloud. Every field knows where it was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcheck.text import Span
    from kcheck.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class Thing:
    """Anything a rule can be about. `id` names it for people and machines, `place` is where it is declared."""

    id: str
    place: Span


@dataclass(frozen=True, eq=False, repr=False)
class Autoscaler(Thing):
    """What grows and shrinks the pools of one cluster. Times are in seconds."""

    cluster: Cluster
    max_unready_nodes: Value[int]
    max_unready_percentage: Value[int]
    bulk_delete: Value[int]
    unneeded_time: Value[int]
    unready_time: Value[int]
    delay_after_add: Value[int]
    delay_after_failure: Value[int]
    scan_interval: Value[int]
    new_pod_delay: Value[int]
    provision_time: Value[int]
    expander: Value[str]


@dataclass(frozen=True, eq=False, repr=False)
class Cluster(Thing):
    """A Kubernetes cluster. `complete` is False where pools may exist that could not be read or counted.

    `network` is how pods get addresses: node-subnet, overlay, pod-subnet, kubenet or none.
    """

    cloud: str
    address: str
    root: str
    complete: bool
    name: Value[str]
    version: Value[str]
    location: Value[str]
    tier: Value[str]
    network_plugin: Value[str]
    network_mode: Value[str]
    network_policy: Value[str]
    pod_cidr: Value[str]
    service_cidr: Value[str]
    outbound_type: Value[str]
    outbound_ips: Value[int]


@dataclass(frozen=True, eq=False, repr=False)
class Network(Thing):
    """A virtual network."""

    address: str
    name: Value[str]
    cidrs: Value[tuple[str, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Subnet(Thing):
    """A subnet of a virtual network. `complete` is False where pools in it may be missing from the model."""

    cloud: str
    address: str
    root: str
    complete: bool
    name: Value[str]
    cidr: Value[str]
    network: Value[Network]


@dataclass(frozen=True, eq=False, repr=False)
class NodePool(Thing):
    """A set of equal nodes. `max_nodes` is the maximum of an autoscaled pool, else its size.

    `surge` is what an upgrade adds: a number of nodes or a percentage, as text.
    `pods_take_addresses` says that each pod takes an address of the nodes' subnet.
    """

    address: str
    cluster: Value[Cluster]
    name: Value[str]
    mode: Value[str]
    autoscaled: Value[bool]
    min_nodes: Value[int]
    max_nodes: Value[int]
    instance_type: Value[str]
    max_pods: Value[int]
    surge: Value[str]
    subnet: Value[Subnet]
    pod_subnet: Value[Subnet]
    pods_take_addresses: Value[bool]
    spot: Value[bool]
    zones: Value[tuple[str, ...]]
    labels: Value[dict[str, str]]
    taints: Value[tuple[str, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Image(Thing):
    """A container's image. `registry` is its host, docker.io for every spelling of Docker Hub."""

    container: str
    text: Value[str]
    registry: Value[str]


@dataclass(frozen=True, eq=False, repr=False)
class Workload(Thing):
    """Something that runs pods. `pods` is how many at once; of a DaemonSet, one on each node (`per_node`)."""

    kind: str
    namespace: Value[str]
    name: Value[str]
    per_node: bool
    pods: Value[int]
    gpus: Value[int]
    pull_secrets: Value[bool]
    images: tuple[Image, ...]


@dataclass(eq=False)
class Inventory:
    """Everything that was found, both sides joined. `cluster_of` says where a workload runs."""

    clusters: list[Cluster] = field(default_factory=list)
    autoscalers: list[Autoscaler] = field(default_factory=list)
    pools: list[NodePool] = field(default_factory=list)
    networks: list[Network] = field(default_factory=list)
    subnets: list[Subnet] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    cluster_of: dict[Workload, Cluster] = field(default_factory=dict)
