"""Scheduling of jobs: priority classes, queues, quotas, scheduler configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model.base import NOTHING, Thing

if TYPE_CHECKING:
    from kcheck.model.pools import NodePool
    from kcheck.text.values import Value


KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
"""The label by which a job names its priority class of Kueue."""


class PriorityClass(Thing, frozen=True):
    """A priority class of pods, or of Kueue's workloads (`kueue`). `default` applies to pods without one."""

    kueue: bool
    name: Value[str]
    number: Value[int]
    default: Value[bool]
    preemption: Value[str]


class Queue(Thing, frozen=True, eq=False):
    """A queue of jobs; `kind` is ClusterQueue or LocalQueue (Kueue), or Queue (Volcano).

    A LocalQueue leads to the queue `leads_to`. A ClusterQueue admits jobs of the namespaces that `selector` says, as
    far as its flavors cover their `resources`, up to its `quotas` of them; `preemption` says which of its own jobs it
    stops for another. `api` is the version that it is written for. It has the `guaranteed` amounts of resources also
    while other queues want them.
    """

    kind: str
    name: Value[str]
    namespace: Value[str]
    leads_to: Value[str] = NOTHING
    resources: Value[tuple[str, ...]] = NOTHING
    selector: Value[str] = NOTHING
    preemption: Value[str] = NOTHING
    weight: Value[int] = NOTHING
    quotas: Value[dict[str, int]] = NOTHING
    guaranteed: Value[dict[str, int]] = NOTHING
    api: str = ""


class Quota(Thing, frozen=True, eq=False):
    """The quota of a namespace by resource; the values of a LimitRange are not kept."""

    kind: str
    namespace: Value[str]
    hard: Value[dict[str, str]]


class Namespace(Thing, frozen=True):
    """A namespace."""

    name: Value[str]
    labels: Value[dict[str, str]]


class Scheduler(Thing, frozen=True):
    """The configuration of Volcano's scheduler: its actions, and the arguments of its plugins.

    `last` are the plugins of its last tier, `packed` the resources that binpack looks at beside CPU and memory, and
    `weight` is what GPUs count there.
    """

    actions: Value[tuple[str, ...]]
    plugins: Value[dict[str, dict[str, str]]]
    last: Value[tuple[str, ...]] = NOTHING
    packed: Value[str] = NOTHING
    weight: Value[int] = NOTHING


class Admission(Thing, frozen=True):
    """The configuration of Kueue. `ready_timeout` is in seconds.

    `counted_as` is the resource by which it counts the devices of each class (dynamic resource allocation).
    """

    ready_timeout: Value[int]
    manages_all: Value[bool]
    counted_as: Value[dict[str, str]]


class Sharing(Thing, frozen=True):
    """How GPUs are shared: copies by time slicing and by MPS; the MIG strategy.

    It is a configuration of NVIDIA's device plugin, what a `pool` says of its nodes, or only the strategy that the
    operator or the chart of the plugin is given (`strategy_only`). `names` are the resources that it makes copies of.
    """

    slices: tuple[Value[int], ...]
    mps: tuple[Value[int], ...]
    mig: Value[str]
    names: tuple[str, ...] = ()
    pool: NodePool | None = None
    strategy_only: bool = False


class Watcher(Thing, frozen=True):
    """A ClusterRole that lists or watches per-node objects, and its service accounts."""

    name: Value[str]
    resources: tuple[str, ...]
    accounts: tuple[tuple[str, str], ...]
