"""Clusters and workloads of any cloud, as frozen values with origins."""

from kcheck.model.base import Thing
from kcheck.model.clusters import (
    NODE_ADDRESSES,
    Autoscaler,
    Cluster,
    Cni,
    Flag,
    Network,
    Plane,
    PodRange,
    Reserved,
    Subnet,
)
from kcheck.model.inventory import NOWHERE, Candidates, Input, Inventory, Manifest, Raw, Resource, Sync
from kcheck.model.pods import (
    LOCAL,
    STAY,
    UNDISTURBED,
    Addon,
    Claim,
    Container,
    Definition,
    FieldError,
    Image,
    Mirror,
    Monitor,
    PodTemplate,
    Reference,
    Requirement,
    Service,
    Toleration,
    Volume,
    Workload,
)
from kcheck.model.pools import (
    CONTROL_PLANE,
    Addresses,
    KarpenterPool,
    Kubelet,
    Machine,
    Market,
    NodePool,
    Placement,
    Reservation,
    Scheduling,
    Size,
    Surge,
    System,
    Upgrade,
)
from kcheck.model.queues import (
    KUEUE_PRIORITY,
    Admission,
    FlavorQuota,
    Namespace,
    PriorityClass,
    Queue,
    Quota,
    Scheduler,
    Sharing,
    Watcher,
)
from kcheck.text.values import NOTHING
