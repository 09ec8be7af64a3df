"""Node pools, and Karpenter's NodePools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from kcheck.model.base import NOTHING, Thing
from kcheck.text.units import whole_number
from kcheck.text.values import Known, Unknown, known

if TYPE_CHECKING:
    from kcheck.model.clusters import Cluster, PodRange, Subnet
    from kcheck.text.values import Value

CONTROL_PLANE = "control-plane"
"""The mode of nodes that a separate control plane has."""


class Surge(Struct, frozen=True):
    """The surge of an upgrade: a number of nodes or a percentage, within bounds.

    `beside` is how many of the nodes another setting gives.
    """

    nodes: int = 0
    percent: int = 0
    least: int = 0
    most: int | None = None
    beside: int = 0


def surge_of(written: Known[str]) -> Value[Surge]:
    """The surge that is a number of nodes or a percentage, as text."""
    number = whole_number(written.value.removesuffix("%"))
    if number is None:
        return Unknown(f"`{written.value}` is neither a number nor a percentage", written.origin)
    return Known(Surge(percent=number) if written.value.endswith("%") else Surge(number), written.origin)


class Size(Struct, frozen=True, eq=False):
    """The size of a pool. `max_nodes` is the maximum of an autoscaled pool, else its size.

    `zone_count` is over how many zones the nodes are spread, where the cloud counts by zone, and `times` by how many of
    them the written size is multiplied. A node takes `unit` of a size that is written in something else, as processors.
    """

    autoscaled: Value[bool] = NOTHING
    min_nodes: Value[int] = NOTHING
    max_nodes: Value[int] = NOTHING
    zone_count: Value[int] = NOTHING
    times: int = 1
    unit: int = 1

    @property
    def standing(self) -> Value[int]:
        """Nodes that are there whether anything runs or not: the minimum, or the fixed size."""
        return self.min_nodes if known(self.autoscaled) else self.max_nodes


class Upgrade(Struct, frozen=True, eq=False):
    """The upgrade settings of a pool: surge, and nodes replaced at a time (`rolling`).

    It waits `drain_timeout` seconds for each. `max_surge` and `max_unavailable` are what `rolling` is made of;
    `scarce_surge` says that there are rarely more such machines (GKE).
    """

    surge: Value[Surge] = NOTHING
    rolling: Value[Surge] = NOTHING
    drain_timeout: Value[int] = NOTHING
    max_surge: Value[int] = NOTHING
    max_unavailable: Value[int] = NOTHING
    scarce_surge: Value[bool] = NOTHING


class Machine(Struct, frozen=True, eq=False):
    """The machine of a node. Attached GPUs have the type `accelerator`.

    Its boot disk is of `disk_type` and `disk_size` (GB); `efa` are the types of its EFA interfaces. `networks` is how
    many a node joins beside the first one, or GKE adds those of a `network_profile` itself.
    Its local SSDs have `local_ssd` GB together, where an account has a quota of them. Images are on a disk of
    `image_disk` GB; unset where that is the boot disk as written.
    """

    instance_types: Value[tuple[str, ...]] = NOTHING
    gpu: Value[bool] = NOTHING
    gpus: Value[int] = NOTHING
    accelerator: Value[str] = NOTHING
    disk_type: Value[str] = NOTHING
    disk_size: Value[int] = NOTHING
    efa: Value[tuple[str, ...]] = NOTHING
    networks: Value[int] = NOTHING
    network_profile: Value[str] = NOTHING
    local_ssd: Value[int] = NOTHING
    image_disk: Value[int] = NOTHING

    @property
    def efa_addresses(self) -> int:
        """Addresses that the EFA interfaces of a node take in addition."""
        return max(0, (known(self.efa) or ()).count("efa") - 1)


class Addresses(Struct, frozen=True, eq=False):
    """The addresses of nodes and pods. If `subnets` is unknown, `candidates` may be among them.

    `subnet_ids` are known where the code has only their ids.

    `own` is what a node takes of the subnets for its own interfaces, at least and at most; one where nothing is known.

    `pods_take_addresses` says that pods take addresses of the nodes' subnets; else each node takes a block of
    `pod_range`, or some addresses of `pod_subnets` (`pod_addresses`: with one pod, at least and at most), dynamically
    or as StaticBlock (`allocation`, AKS).
    """

    subnets: Value[tuple[Subnet, ...]] = NOTHING
    candidates: tuple[Subnet, ...] = ()
    pods_take_addresses: Value[bool] = NOTHING
    max_pods: Value[int] = NOTHING
    pod_subnets: Value[tuple[Subnet, ...]] = NOTHING
    pod_addresses: Value[tuple[int, int]] = NOTHING
    allocation: Value[str] = NOTHING
    pod_range: Value[PodRange] = NOTHING
    subnet_ids: Value[tuple[str, ...]] = NOTHING
    own: Value[tuple[int, int]] = NOTHING


class Market(Struct, frozen=True, eq=False):
    """How machines are bought: `charge` is the billing method, `reservation` a paid reservation.

    `reservation_id` tells which one, by its id, name, or the resource that makes it; unset where only its kind is said.
    `bid` is how a spot pool bids, `price_caps` the most that it pays for a machine type in dollars an hour;
    `on_demand_fallback` says that it takes nodes at full price where there are no others. A pool of both kinds buys
    `on_demand` percent of its nodes on demand, after the first `on_demand_base`.
    """

    spot: Value[bool] = NOTHING
    charge: Value[str] = NOTHING
    bid: Value[str] = NOTHING
    price_caps: Value[dict[str, str]] = NOTHING
    on_demand_fallback: Value[bool] = NOTHING
    on_demand: Value[int] = NOTHING
    on_demand_base: Value[int] = NOTHING
    reservation: Value[str] = NOTHING
    reservation_id: Value[str] = NOTHING


class Reservation(Thing, frozen=True, eq=False):
    """Machines that are kept for pools which name it, by its address or name: `size` of them.

    Where pools name a `group` of such, it is for those of the type `machine`.
    """

    address: str
    root: str
    environment: str
    size: Value[int]
    name: Value[str] = NOTHING
    group: Value[str] = NOTHING
    machine: Value[str] = NOTHING


class Scheduling(Struct, frozen=True, eq=False):
    """What pods choose nodes by. Taints are written `key=value:Effect`.

    In the code they are as `taint_form` says: a text, an item with its parts, or a member of a map; `no_schedule` is
    the effect.
    """

    labels: Value[dict[str, str]] = NOTHING
    taints: Value[tuple[str, ...]] = NOTHING
    taint_form: str = "item"
    no_schedule: str = "NoSchedule"


class Placement(Struct, frozen=True, eq=False):
    """Where the nodes are. `location_policy` says in which zones a pool grows (GKE).

    `together` is the placement group or policy that keeps nodes close to each other, `deployment_set` what keeps them
    on different hosts (ACK). `set_type` is what Azure makes of the nodes: a scale set, or an availability set.
    """

    zones: Value[tuple[str, ...]] = NOTHING
    location: Value[str] = NOTHING
    location_policy: Value[str] = NOTHING
    together: Value[str] = NOTHING
    deployment_set: Value[str] = NOTHING
    set_type: Value[str] = NOTHING


class System(Struct, frozen=True, eq=False):
    """The system of a node. `image` names it, `os` is Linux or Windows (AKS).

    `boot_data` is what the user adds to its start, `local_disks` says whether that joins the local disks. Its kernel is
    told to know at most `neighbours` others. `streaming` says that containers start before their image is there,
    `hub_mirror` that nodes ask a mirror before Docker Hub. `driver` says who installs the driver of GPUs (AKS: Install,
    None), `driver_tag` is the tag that once said so.
    """

    image: Value[str] = NOTHING
    os: Value[str] = NOTHING
    boot_data: Value[str] = NOTHING
    local_disks: Value[bool] = NOTHING
    neighbours: Value[int] = NOTHING
    streaming: Value[bool] = NOTHING
    hub_mirror: Value[bool] = NOTHING
    driver: Value[str] = NOTHING
    driver_tag: Value[str] = NOTHING


class Kubelet(Struct, frozen=True, eq=False):
    """What the kubelet of a node is configured to keep from pods: unset where nobody says so, unknown where one may."""

    kube_reserved: Value[dict[str, str]] = NOTHING
    system_reserved: Value[dict[str, str]] = NOTHING
    eviction_hard: Value[dict[str, str]] = NOTHING


class NodePool(Thing, frozen=True):
    """A set of equal nodes; `managed` says that the cloud runs the group.

    `mode` is System or User (AKS), Karpenter, or control-plane.
    """

    address: str
    cluster: Value[Cluster]
    name: Value[str]
    root: str = ""
    mode: Value[str] = NOTHING
    managed: bool = True
    size: Size = field(default_factory=Size)
    upgrade: Upgrade = field(default_factory=Upgrade)
    machine: Machine = field(default_factory=Machine)
    addresses: Addresses = field(default_factory=Addresses)
    market: Market = field(default_factory=Market)
    scheduling: Scheduling = field(default_factory=Scheduling)
    placement: Placement = field(default_factory=Placement)
    system: System = field(default_factory=System)
    kubelet: Kubelet = field(default_factory=Kubelet)

    @property
    def display_name(self) -> str:
        """What people call the pool: its name, else its key in the code."""
        if isinstance(self.name, Known):
            return self.name.value
        if self.address.endswith('"]'):
            return self.address.rpartition('["')[2].removesuffix('"]')
        return self.address.rsplit(".", 1)[-1]

    @property
    def full_name(self) -> str:
        """The name with the cluster's, where several clusters have a pool of that name."""
        cluster = known(self.cluster)
        return f"{cluster.display_name}/{self.display_name}" if cluster else self.address


class KarpenterPool(Thing, frozen=True):
    """A NodePool of Karpenter, or an old Provisioner. Times are in seconds.

    `limits` are written `cpu=1000`, `budgets` are the numbers of nodes that it may disrupt at a time. Nodes are
    replaced after `expire_after`; empty ones, by the `policy` also under-used ones, are taken away after
    `consolidate_after`. Unset is never. With `replicas` it has that many nodes, whatever pods want. Its nodes have
    `labels` and `taints`, as those of a node pool.
    """

    kind: str
    cluster: Value[Cluster]
    name: Value[str]
    api: Value[str]
    limits: Value[tuple[str, ...]]
    policy: Value[str]
    consolidate_after: Value[int]
    budgets: Value[tuple[str, ...]]
    expire_after: Value[int]
    gpu: Value[bool]
    spot: Value[bool]
    replicas: Value[int] = NOTHING
    labels: Value[dict[str, str]] = NOTHING
    taints: Value[tuple[str, ...]] = NOTHING
