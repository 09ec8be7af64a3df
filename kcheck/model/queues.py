"""Scheduling of jobs: priority classes, queues, quotas, scheduler configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.model.base import Thing
from kcheck.text.values import NOTHING

if TYPE_CHECKING:
    from kcheck.model.pools import NodePool
    from kcheck.text.values import Value


KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
"""Label of a job that names its Kueue priority class."""


class PriorityClass(Thing, frozen=True):
    """A priority class of pods, or of Kueue's workloads (`kueue`). `default` applies to pods without one."""

    kueue: bool
    name: Value[str]
    number: Value[int]
    default: Value[bool]
    preemption: Value[str]


class FlavorQuota(Struct, frozen=True):
    """Quota of a resource in a flavor of Kueue: CPUs, bytes, devices; without a limit it borrows or lends all."""

    flavor: str
    resource: str
    nominal: int
    borrowing: int | None = None
    lending: int | None = None


class Queue(Thing, frozen=True, eq=False):
    """A queue of jobs: ClusterQueue, LocalQueue or Cohort (Kueue), or Queue (Volcano) by its `kind`.

    `leads_to`: queue of a LocalQueue. `cohort`: that of a ClusterQueue, or the parent of a Cohort. `selector`:
    namespaces whose jobs a ClusterQueue admits. `resources`: those its `flavors` cover. `quotas`: most of each resource
    (Volcano). `guaranteed`: amounts it keeps while other queues want them. `preemption`: which of its own jobs it stops
    for another. `api`: version it is written for.
    """

    kind: str
    name: Value[str]
    namespace: Value[str]
    leads_to: Value[str] = NOTHING
    resources: Value[tuple[str, ...]] = NOTHING
    selector: Value[str] = NOTHING
    preemption: Value[str] = NOTHING
    weight: Value[int] = NOTHING
    cohort: Value[str] = NOTHING
    flavors: Value[tuple[FlavorQuota, ...]] = NOTHING
    quotas: Value[dict[str, int]] = NOTHING
    guaranteed: Value[dict[str, int]] = NOTHING
    api: str = ""


class Quota(Thing, frozen=True, eq=False):
    """Quota of a namespace by resource; the values of a LimitRange are not kept."""

    kind: str
    namespace: Value[str]
    hard: Value[dict[str, str]]


class Namespace(Thing, frozen=True):
    """A namespace."""

    name: Value[str]
    labels: Value[dict[str, str]]


class Scheduler(Thing, frozen=True):
    """Configuration of Volcano's scheduler: actions, and arguments of its plugins.

    `last`: plugins of the last tier. `packed`: resources that binpack considers in addition to CPU and memory; `weight`
    is that of GPUs.
    """

    actions: Value[tuple[str, ...]]
    plugins: Value[dict[str, dict[str, str]]]
    last: Value[tuple[str, ...]] = NOTHING
    packed: Value[str] = NOTHING
    weight: Value[int] = NOTHING


class Admission(Thing, frozen=True):
    """Configuration of Kueue. `ready_timeout` is in seconds.

    `counted_as`: resource by which it counts devices, by device class (dynamic resource allocation).
    """

    ready_timeout: Value[int]
    manages_all: Value[bool]
    counted_as: Value[dict[str, str]]


class Sharing(Thing, frozen=True):
    """Sharing of GPUs: numbers of copies by time slicing (`slices`) and MPS, and the MIG strategy.

    It comes from NVIDIA's device plugin, from a `pool`, or is only the strategy given to the operator or the plugin's
    chart (`strategy_only`). `names` are the resources that are copied: of `slices`, then of `mps`. Nodes that name no
    configuration take the `default`, or the one that the operator `chooses`: ConfigMap/key.
    """

    slices: tuple[Value[int], ...]
    mps: tuple[Value[int], ...]
    mig: Value[str]
    names: tuple[str, ...] = ()
    pool: NodePool | None = None
    strategy_only: bool = False
    default: bool = False
    chooses: str = ""

    @property
    def of_cards(self) -> list[Value[int]]:
        """Copies of whole cards, not of slices of them."""
        copies = (*self.slices, *self.mps)
        return [
            many for many, name in zip(copies, self.names or [""] * len(copies), strict=True) if "/mig-" not in name
        ]


class Watcher(Thing, frozen=True):
    """A ClusterRole that lists or watches per-node objects, and its service accounts."""

    name: Value[str]
    resources: tuple[str, ...]
    accounts: tuple[tuple[str, str], ...]
