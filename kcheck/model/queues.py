"""Scheduling of jobs: priority classes, queues, quotas, scheduler configurations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kcheck.model.base import Thing
from kcheck.model.pools import NodePool
from kcheck.text.values import NOTHING, Value

# A field that is a word of rules has its meaning, unit and note on its line.
# fmt: off



KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
"""Label of a job that names its Kueue priority class."""


class PriorityClass(Thing, frozen=True):
    """A priority class of pods, or of Kueue's workloads (`kueue`)."""

    kueue: Annotated[bool, "whether it is one of Kueue's, not of pods"]
    name: Value[str]
    number: Annotated[Value[int], "its value", "", "never null"]
    default: Annotated[Value[bool], "whether pods without a class have it", "", "never null"]
    preemption: Annotated[Value[str], "PreemptLowerPriority or Never, as written"]


class FlavorQuota(Struct, frozen=True):
    """Quota of a resource in a flavor of Kueue; None is no limit."""

    flavor: str
    resource: str
    nominal: int
    borrowing: int | None = None
    lending: int | None = None


class Queue(Thing, frozen=True, eq=False):
    """A queue of jobs of Kueue or Volcano, by its `kind`.

    `cohort`: that of a ClusterQueue, or the parent of a Cohort. `resources`: those its `flavors` cover. `quotas`: most of
    each resource (Volcano). `guaranteed`: amounts it keeps while other queues want them.
    """

    kind: Annotated[str, "ClusterQueue or LocalQueue (Kueue), Queue (Volcano)"]
    name: Value[str]
    namespace: Annotated[Value[str], "its namespace (LocalQueue)"]
    leads_to: Annotated[Value[str], "the ClusterQueue that a LocalQueue names"] = NOTHING
    resources: Value[tuple[str, ...]] = NOTHING
    selector: Annotated[Value[str], "namespaceSelector of a ClusterQueue; empty takes jobs of all namespaces, null of none"] = NOTHING
    preemption: Annotated[Value[str], "preemption.withinClusterQueue as written"] = NOTHING
    weight: Annotated[Value[int], "its weight (Volcano)"] = NOTHING
    cohort: Value[str] = NOTHING
    flavors: Value[tuple[FlavorQuota, ...]] = NOTHING
    quotas: Value[dict[str, int]] = NOTHING
    guaranteed: Value[dict[str, int]] = NOTHING
    api: Annotated[str, "the version of the API that it is written for"] = ""


class Quota(Thing, frozen=True, eq=False):
    """Quota of a namespace; the values of a LimitRange are not kept."""

    kind: Annotated[str, "ResourceQuota or LimitRange"]
    namespace: Value[str]
    hard: Annotated[Value[dict[str, str]], "what it allows, by resource", "", "never null"]


class Namespace(Thing, frozen=True):
    """A Kubernetes namespace in the code."""

    name: Value[str]
    labels: Value[dict[str, str]]


class Scheduler(Thing, frozen=True):
    """Configuration of Volcano's scheduler, with the arguments of its plugins."""

    actions: Annotated[Value[tuple[str, ...]], "what Volcano's scheduler does, in order", "", "never null"]
    plugins: Value[dict[str, dict[str, str]]]
    last: Annotated[Value[tuple[str, ...]], "the plugins of its last tier", "", "never null"] = NOTHING
    packed: Annotated[Value[str], "the resources that binpack looks at beside CPU and memory (binpack.resources)"] = NOTHING
    weight: Annotated[Value[int], "what GPUs count there (binpack.resources.nvidia.com/gpu)"] = NOTHING


class Admission(Thing, frozen=True):
    """Configuration of Kueue; `counted_as` maps device classes to resources."""

    ready_timeout: Annotated[Value[int], "how long Kueue waits for all pods of a job before it stops the job", "seconds"]
    manages_all: Value[bool]
    counted_as: Value[dict[str, str]]


class Sharing(Thing, frozen=True):
    """Sharing of GPUs: copies by time slicing or MPS, and the MIG strategy.

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
    resources: Value[tuple[str, ...]]
    accounts: tuple[tuple[str, str], ...]
