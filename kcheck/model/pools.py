"""Node pools, and Karpenter's NodePools."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from kcheck.model.base import Thing
from kcheck.model.clusters import Cluster, PodRange, Subnet
from kcheck.text.units import whole_number
from kcheck.text.values import NOTHING, Known, Unknown, Value, known

# A field that is a word of rules has its meaning, unit and note on its line.
# fmt: off


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


def surge_of(written: Value[str]) -> Value[Surge]:
    """Parse a surge: a number of nodes or a percentage."""
    if not isinstance(written, Known):
        return written
    number = whole_number(written.value.removesuffix("%"))
    if number is None:
        return Unknown(f"`{written.value}` is neither a number nor a percentage", written.origin)
    return Known(Surge(percent=number) if written.value.endswith("%") else Surge(number), written.origin)


class Size(Struct, frozen=True, eq=False):
    """The size of a pool.

    `zone_count`: zones over which nodes are spread, if the cloud counts by zone. `times`: zones by which the written size
    is multiplied; unset where it counts all nodes. `unit`: what a node takes of a size in another unit, such as CPUs.
    """

    autoscaled: Annotated[Value[bool], "whether an autoscaler sets its size", "", "never null"] = NOTHING
    min_nodes: Annotated[Value[int], "smallest size", "nodes", "never null"] = NOTHING
    max_nodes: Annotated[Value[int], "largest size; the fixed size of a pool that is not autoscaled", "nodes", "never null"] = NOTHING
    zone_count: Value[int] = NOTHING
    count_written: Annotated[Value[int], "number of nodes in its code, also where an autoscaler sets its size; per zone on GKE; null without one"] = NOTHING
    times: Value[int] = NOTHING
    unit: int = 1

    @property
    def standing(self) -> Value[int]:
        """Nodes that always run: the minimum, or the fixed size."""
        return self.min_nodes if known(self.autoscaled) else self.max_nodes


class Upgrade(Struct, frozen=True, eq=False):
    """Upgrade settings of a pool: nodes added and replaced at a time."""

    surge: Value[Surge] = NOTHING
    rolling: Value[Surge] = NOTHING
    drain_timeout: Annotated[Value[int], "how long an upgrade waits for the pods of a node; null where the cloud has no such setting (AKS)", "seconds"] = NOTHING
    max_surge: Annotated[Value[int], "nodes that an upgrade adds at a time, as written (GKE)", "nodes"] = NOTHING
    max_unavailable: Annotated[Value[int], "nodes that an upgrade takes away at a time, as written (GKE, EKS)", "nodes"] = NOTHING
    max_unavailable_percentage: Annotated[Value[int], "share of its nodes that an upgrade takes away at a time, as written (EKS)", "percent"] = NOTHING
    scarce_surge: Annotated[Value[bool], "whether an upgrade adds GPU, spot, reserved or queued machines (GKE)", "", "false if unset"] = NOTHING
    auto_upgrade: Annotated[Value[bool], "whether the cloud upgrades its nodes on its own; null where the cluster says so (GKE)"] = NOTHING
    upgrade_excluded: Annotated[Value[bool], "whether the cloud does so only at the end of support (GKE)"] = NOTHING
    forced_update: Annotated[Value[bool], "whether an update of its version ends pods that cannot be drained (EKS)"] = NOTHING
    latest_image: Annotated[Value[bool], "whether each plan looks up its newest node image; null where its image is written, or the cloud's choice (EKS)"] = NOTHING


class Machine(Struct, frozen=True, eq=False):
    """The machine of a node.

    `image_disk`: GB of the disk with images; unset if it is the boot disk as written. `local_ssd`: total GB of local SSDs,
    if accounts have a quota of them. `efa`: types of its EFA interfaces. `networks`: number of networks it joins after the
    first one; those of a `network_profile` are added by GKE itself.
    """

    instance_types: Annotated[Value[tuple[str, ...]], "machine types"] = NOTHING
    gpu: Annotated[Value[bool], "whether its nodes have GPUs or other accelerators", "", "never null"] = NOTHING
    gpus: Annotated[Value[int], "GPUs of a node; null where they are not known", "GPUs"] = NOTHING
    accelerator: Annotated[Value[str], "type of GPUs that are attached to its machines (GKE)"] = NOTHING
    disk_type: Annotated[Value[str], "type of the boot disks"] = NOTHING
    disk_size: Annotated[Value[int], "size of the boot disks, in GB"] = NOTHING
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
    """Addresses of nodes and pods, with `candidates` for unknown `subnets`.

    `subnet_ids`: known if the code has only ids. `own`: fewest and most addresses that a node's own interfaces take of
    the subnets; one if unknown. `pods_take_addresses`: whether pods take addresses of the nodes' subnets; otherwise
    each node takes a block of `pod_range`, or some of `pod_subnets`: `pod_addresses` has the fewest and most with one
    pod, `allocation` is dynamic or StaticBlock (AKS).
    """

    subnets: Value[tuple[Subnet, ...]] = NOTHING
    candidates: tuple[Subnet, ...] = ()
    pods_take_addresses: Value[bool] = NOTHING
    max_pods: Annotated[Value[int], "pods a node may run", "pods"] = NOTHING
    pod_subnets: Value[tuple[Subnet, ...]] = NOTHING
    pod_addresses: Value[tuple[int, int]] = NOTHING
    allocation: Value[str] = NOTHING
    pod_range: Value[PodRange] = NOTHING
    subnet_ids: Value[tuple[str, ...]] = NOTHING
    own: Value[tuple[int, int]] = NOTHING
    subnets_listed: int = 0


class Market(Struct, frozen=True, eq=False):
    """How a pool buys its machines: spot, on demand or reserved.

    `reservation_id`: its id, name, or the resource that makes it; unset if only its kind is given. `price_caps`: highest
    price by machine type, in dollars per hour. `on_demand`: percent of nodes that a mixed pool buys on demand, after the
    first `on_demand_base`.
    """

    spot: Annotated[Value[bool], "whether its nodes are spot", "", "false if unset"] = NOTHING
    preemptible: Annotated[Value[bool], "whether its nodes are preemptible, which end after a day (GKE)"] = NOTHING
    charge: Annotated[Value[str], "PostPaid or PrePaid (ACK)"] = NOTHING
    bid: Annotated[Value[str], "how a spot pool bids: SpotAsPriceGo, SpotWithPriceLimit (ACK)"] = NOTHING
    price_caps: Value[dict[str, str]] = NOTHING
    on_demand_fallback: Annotated[Value[bool], "whether a spot pool takes on-demand machines where spot is sold out (ACK)", "", "false if unset"] = NOTHING
    on_demand: Value[int] = NOTHING
    on_demand_base: Value[int] = NOTHING
    reservation: Annotated[Value[str], "what its machines are reserved by, and paid whether they run or not: a capacity reservation or block; null without one"] = NOTHING
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
    """Labels and taints by which pods choose nodes."""

    labels: Value[dict[str, str]] = NOTHING
    taints: Annotated[Value[tuple[str, ...]], "its taints, key=value:Effect"] = NOTHING
    taint_form: Annotated[str, "how its code writes a taint: text, item (of a list, or a block), member (of a map), flag (of the kubelet, in user data)"] = 'item'
    no_schedule: str = "NoSchedule"


class Placement(Struct, frozen=True, eq=False):
    """Zones of a pool's nodes; `together` names their placement group."""

    zones: Value[tuple[str, ...]] = NOTHING
    location: Annotated[Value[str], "location of its cluster as written with it (GKE)"] = NOTHING
    location_policy: Annotated[Value[str], "how it chooses zones when it grows: BALANCED or ANY; null where the cloud has no such setting (GKE)"] = NOTHING
    together: Value[str] = NOTHING
    tpu_topology: Annotated[Value[str], "arrangement of the TPU chips of its slice, such as 2x2x2 (GKE)"] = NOTHING
    deployment_set: Annotated[Value[str], "deployment set of its machines (ACK)"] = NOTHING
    set_type: Annotated[Value[str], "VirtualMachineScaleSets, VirtualMachines or AvailabilitySet (AKS)"] = NOTHING


class System(Struct, frozen=True, eq=False):
    """The system of a node: Linux or Windows (AKS) by its `os`.

    `neighbours`: size of the kernel's neighbour (ARP) table. `hub_mirror`: whether nodes ask a mirror before Docker Hub.
    """

    image: Annotated[Value[str], "what the nodes run: AMI type (EKS), image type (GKE, ACK), os_sku (AKS)"] = NOTHING
    os: Value[str] = NOTHING
    boot_data: Annotated[Value[str], "what the user's own start-up of its nodes is called: user_data, preBootstrapCommands; null without one (EKS)"] = NOTHING
    local_disks: Annotated[Value[bool], "whether the start-up of a node joins its local disks", "", "false if unset"] = NOTHING
    neighbours: Annotated[Value[int], "entries of the neighbour (ARP) table of a node's kernel, as written", "entries"] = NOTHING
    streaming: Annotated[Value[bool], "whether containers start before their whole image is there; null where the cloud has no such setting (GKE)"] = NOTHING
    cgroup: Annotated[Value[str], "version of control groups, where it is written (GKE)"] = NOTHING
    hub_mirror: Value[bool] = NOTHING
    driver: Annotated[Value[str], "who installs the driver of its GPUs: Install for the cloud, None for the user (AKS)"] = NOTHING
    driver_tag: Annotated[Value[str], "the tag SkipGPUDriverInstall, which said so before (AKS)"] = NOTHING


class Kubelet(Struct, frozen=True, eq=False):
    """Resources that the kubelet keeps from pods; unset if not configured."""

    kube_reserved: Value[dict[str, str]] = NOTHING
    system_reserved: Value[dict[str, str]] = NOTHING
    eviction_hard: Value[dict[str, str]] = NOTHING


class NodePool(Thing, frozen=True):
    """A set of equal nodes."""

    address: Annotated[str, "its address in the code"]
    cluster: Value[Cluster]
    name: Value[str]
    root: str = ""
    mode: Annotated[Value[str], "System or User (AKS); Karpenter for its NodePools; control-plane"] = NOTHING
    managed: Annotated[bool, "whether the cloud runs the group, not the user"] = True
    size: Size = field(default_factory=Size)
    upgrade: Upgrade = field(default_factory=Upgrade)
    machine: Machine = field(default_factory=Machine)
    addresses: Addresses = field(default_factory=Addresses)
    market: Market = field(default_factory=Market)
    scheduling: Scheduling = field(default_factory=Scheduling)
    placement: Placement = field(default_factory=Placement)
    system: System = field(default_factory=System)
    kubelet: Kubelet = field(default_factory=Kubelet)
    ignored: Annotated[Value[tuple[str, ...]], "its attributes, without indices, of which Terraform ignores later changes (ignore_changes), or all; null where it ignores none"] = NOTHING

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
        """Name with the cluster's, for cases where several pools have it."""
        cluster = known(self.cluster)
        return f"{cluster.display_name}/{self.display_name}" if cluster else self.address


class KarpenterPool(Thing, frozen=True):
    """A NodePool of Karpenter, or an old Provisioner.

    `limits`: as `cpu=1000`. `replicas`: fixed number of nodes, whatever pods need. `labels` and `taints` are those of
    its nodes.
    """

    kind: Annotated[str, "NodePool, or Provisioner in old code"]
    cluster: Value[Cluster]
    name: Value[str]
    api: Annotated[Value[str], "its apiVersion", "", "never null"]
    limits: Value[tuple[str, ...]]
    policy: Annotated[Value[str], "which nodes are removed: WhenEmpty, Balanced, WhenEmptyOrUnderutilized, WhenUnderutilized", "", "never null"]
    consolidate_after: Annotated[Value[int], "how long a node is idle before it is removed; null is never, as in a pool of fixed size", "seconds"]
    budgets: Annotated[Value[tuple[str, ...]], "nodes in use that each budget lets be disrupted at a time: 10%, 0", "", "never null"]
    drift_budgets: Annotated[Value[tuple[str, ...]], "nodes that each budget lets be replaced at a time when their image or class changes: 10%, 0", "", "never null"]
    expire_after: Annotated[Value[int], "age at which nodes are replaced; null is never", "seconds"]
    gpu: Annotated[Value[bool], "whether its nodes have GPUs or other accelerators", "", "never null"]
    spot: Annotated[Value[bool], "whether its nodes are spot and nothing else", "", "false if unset"]
    replicas: Value[int] = NOTHING
    labels: Value[dict[str, str]] = NOTHING
    taints: Value[tuple[str, ...]] = NOTHING
    image: Annotated[Value[str], "what its nodes boot, by the node class in its folder"] = NOTHING
