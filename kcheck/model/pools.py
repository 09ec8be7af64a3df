"""Node pools, and Karpenter's NodePools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from kcheck.model.base import Thing
from kcheck.text.units import whole_number
from kcheck.text.values import NOTHING, Known, Unknown, known

if TYPE_CHECKING:
    from kcheck.model.clusters import Cluster, PodRange, Subnet
    from kcheck.text.values import Value

CONTROL_PLANE = "control-plane"
"""Mode of the nodes of a separate control plane."""


class Surge(Struct, frozen=True):
    """The surge of an upgrade: a number of nodes or a percentage, within bounds.

    `beside`: how many of `nodes` come from another setting.
    """

    nodes: int = 0
    percent: int = 0
    least: int = 0
    most: int | None = None
    beside: int = 0


def surge_of(written: Known[str]) -> Value[Surge]:
    """Parse a surge: a number of nodes or a percentage."""
    number = whole_number(written.value.removesuffix("%"))
    if number is None:
        return Unknown(f"`{written.value}` is neither a number nor a percentage", written.origin)
    return Known(Surge(percent=number) if written.value.endswith("%") else Surge(number), written.origin)


class Size(Struct, frozen=True, eq=False):
    """The size of a pool. `max_nodes` is the maximum of an autoscaled pool, else its size.

    `zone_count`: zones over which nodes are spread, if the cloud counts by zone. `times`: zones by which the written
    size is multiplied. `unit`: what a node takes of a size written in another unit, such as processors.
    `count_written`: number of nodes in the code, also beside an autoscaler.
    """

    autoscaled: Value[bool] = NOTHING
    min_nodes: Value[int] = NOTHING
    max_nodes: Value[int] = NOTHING
    zone_count: Value[int] = NOTHING
    count_written: Value[int] = NOTHING
    times: int = 1
    unit: int = 1

    @property
    def standing(self) -> Value[int]:
        """Nodes that always run: the minimum, or the fixed size."""
        return self.min_nodes if known(self.autoscaled) else self.max_nodes


class Upgrade(Struct, frozen=True, eq=False):
    """Upgrade settings of a pool: surge, and nodes replaced at a time (`rolling`).

    `drain_timeout`: seconds to wait for each node. `max_surge` and `max_unavailable`: settings that make up `rolling`.
    `scarce_surge`: whether more such machines are rarely available (GKE). `auto_upgrade`: whether the cloud upgrades
    its nodes on its own; `upgrade_excluded`: not before the end of support (GKE). `forced_update`: whether an update of
    the version ends pods that cannot be drained (EKS). `latest_image`: whether each plan looks up the newest image
    (EKS).
    """

    surge: Value[Surge] = NOTHING
    rolling: Value[Surge] = NOTHING
    drain_timeout: Value[int] = NOTHING
    max_surge: Value[int] = NOTHING
    max_unavailable: Value[int] = NOTHING
    scarce_surge: Value[bool] = NOTHING
    auto_upgrade: Value[bool] = NOTHING
    upgrade_excluded: Value[bool] = NOTHING
    forced_update: Value[bool] = NOTHING
    latest_image: Value[bool] = NOTHING


class Machine(Struct, frozen=True, eq=False):
    """The machine of a node. Attached GPUs have the type `accelerator`.

    `disk_type`, `disk_size` (GB): boot disk. `image_disk`: GB of the disk with images; unset if it is the boot disk as
    written. `local_ssd`: total GB of local SSDs, if accounts have a quota of them. `efa`: types of its EFA interfaces.
    `networks`: number of networks it joins after the first one; those of a `network_profile` are added by GKE itself.
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
        """Additional addresses that a node's EFA interfaces take."""
        return max(0, (known(self.efa) or ()).count("efa") - 1)


class Addresses(Struct, frozen=True, eq=False):
    """Addresses of nodes and pods. If `subnets` is unknown, `candidates` may be among them; `subnets_listed` are named.

    `subnet_ids`: known if the code has only ids. `own`: fewest and most addresses that a node's own interfaces take of
    the subnets; one if unknown. `pods_take_addresses`: whether pods take addresses of the nodes' subnets; otherwise
    each node takes a block of `pod_range`, or some of `pod_subnets`: `pod_addresses` has the fewest and most with one
    pod, `allocation` is dynamic or StaticBlock (AKS).
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
    subnets_listed: int = 0


class Market(Struct, frozen=True, eq=False):
    """Purchase of machines: `charge` is the billing method, `reservation` a paid reservation.

    `reservation_id`: its id, name, or the resource that makes it; unset if only its kind is given. `bid`: how a spot
    pool bids. `price_caps`: highest price by machine type, in dollars per hour. `on_demand_fallback`: whether it takes
    full-price nodes if there are no others. `on_demand`: percent of nodes that a mixed pool buys on demand, after the
    first `on_demand_base`. `preemptible`: whether machines end after a day (GKE).
    """

    spot: Value[bool] = NOTHING
    preemptible: Value[bool] = NOTHING
    charge: Value[str] = NOTHING
    bid: Value[str] = NOTHING
    price_caps: Value[dict[str, str]] = NOTHING
    on_demand_fallback: Value[bool] = NOTHING
    on_demand: Value[int] = NOTHING
    on_demand_base: Value[int] = NOTHING
    reservation: Value[str] = NOTHING
    reservation_id: Value[str] = NOTHING


class Reservation(Thing, frozen=True, eq=False):
    """Reserved machines (`size`) for pools that name it by address or name.

    If pools name a `group` of reservations, this one is for the type `machine`.
    """

    address: str
    root: str
    environment: str
    size: Value[int]
    name: Value[str] = NOTHING
    group: Value[str] = NOTHING
    machine: Value[str] = NOTHING


class Scheduling(Struct, frozen=True, eq=False):
    """Labels and taints by which pods choose nodes. Taints have the form `key=value:Effect`.

    `taint_form`: how the code writes them: a text, an item with parts, or a member of a map. `no_schedule`: its word
    for that effect.
    """

    labels: Value[dict[str, str]] = NOTHING
    taints: Value[tuple[str, ...]] = NOTHING
    taint_form: str = "item"
    no_schedule: str = "NoSchedule"


class Placement(Struct, frozen=True, eq=False):
    """Location of the nodes. `location_policy` says in which zones a pool grows (GKE).

    `together`: placement group or policy that keeps nodes close. `deployment_set`: keeps them on different hosts (ACK).
    `set_type`: Azure's scale set or availability set.
    """

    zones: Value[tuple[str, ...]] = NOTHING
    location: Value[str] = NOTHING
    location_policy: Value[str] = NOTHING
    together: Value[str] = NOTHING
    deployment_set: Value[str] = NOTHING
    set_type: Value[str] = NOTHING


class System(Struct, frozen=True, eq=False):
    """The system of a node. `image` names it, `os` is Linux or Windows (AKS).

    `boot_data`: the user's addition to its start. `local_disks`: whether that joins the local disks. `neighbours`: size
    of the kernel's neighbour (ARP) table. `streaming`: whether containers start before their image is complete.
    `hub_mirror`: whether nodes ask a mirror before Docker Hub. `driver`: who installs the GPU driver (AKS: Install,
    None); `driver_tag`: the tag that once set it. `cgroup`: version of control groups as written (GKE).
    """

    image: Value[str] = NOTHING
    os: Value[str] = NOTHING
    boot_data: Value[str] = NOTHING
    local_disks: Value[bool] = NOTHING
    neighbours: Value[int] = NOTHING
    streaming: Value[bool] = NOTHING
    cgroup: Value[str] = NOTHING
    hub_mirror: Value[bool] = NOTHING
    driver: Value[str] = NOTHING
    driver_tag: Value[str] = NOTHING


class Kubelet(Struct, frozen=True, eq=False):
    """Resources that the kubelet is configured to keep from pods; unset if not configured, unknown if they may be."""

    kube_reserved: Value[dict[str, str]] = NOTHING
    system_reserved: Value[dict[str, str]] = NOTHING
    eviction_hard: Value[dict[str, str]] = NOTHING


class NodePool(Thing, frozen=True):
    """A set of equal nodes; `managed` says whether the cloud runs the group.

    `mode` is System or User (AKS), Karpenter, or control-plane. `ignored`: attributes whose changes Terraform ignores.
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
    ignored: Value[tuple[str, ...]] = NOTHING

    @property
    def display_name(self) -> str:
        """Name of the pool, else its key in the code."""
        if isinstance(self.name, Known):
            return self.name.value
        if self.address.endswith('"]'):
            return self.address.rpartition('["')[2].removesuffix('"]')
        return self.address.rsplit(".", 1)[-1]

    @property
    def full_name(self) -> str:
        """Name with the cluster's, for use where several clusters have a pool of that name."""
        cluster = known(self.cluster)
        return f"{cluster.display_name}/{self.display_name}" if cluster else self.address


class KarpenterPool(Thing, frozen=True):
    """A NodePool of Karpenter, or an old Provisioner. Times are in seconds.

    `limits`: as `cpu=1000`. `budgets`: numbers of nodes it may disrupt at a time. `expire_after`: age at which nodes
    are replaced. `consolidate_after`: delay before empty nodes, and by `policy` under-used ones, are removed; unset
    means never. `replicas`: fixed number of nodes, whatever pods need. `labels` and `taints` are those of its nodes.
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
