"""Define the nodes and pods of a week, as they were planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.addons.usage.week.shapes import Shape

HOUR = 3600
GIB = 1 << 30
MIB = 1 << 20
GPU = "nvidia_com_gpu"


@dataclass(frozen=True)
class Gpu:
    """Use of a GPU by a container: percent, MiB, percent of tensor cores, watts."""

    busy: Shape
    memory: Shape
    tensor: Shape
    power: Shape


@dataclass(frozen=True)
class Container:
    """A container: its use of CPU (cores) and memory (bytes) over time, and when it was OOM-killed or crashed."""

    name: str
    cpu: Shape
    memory: Shape
    requests: dict[str, float]
    limits: dict[str, float] = field(default_factory=dict)
    gpu: Gpu | None = None
    kills: tuple[int, ...] = ()
    crashes: tuple[int, ...] = ()

    @property
    def gpus(self) -> int:
        """Number of GPUs, or of MIG slices."""
        return int(sum(amount for resource, amount in self.limits.items() if resource.startswith("nvidia_com_")))

    @property
    def restarts(self) -> list[int]:
        """Times at which the container restarted."""
        return sorted([*self.kills, *self.crashes])


@dataclass(frozen=True)
class Machine:
    """The GPUs of a node. With `mig`, the name of a MIG profile, each GPU is divided into `slices`."""

    model: str
    memory: int
    count: int
    mig: str = ""
    slices: int = 1

    @property
    def resource(self) -> str:
        """Name of the GPU resource in kube-state-metrics."""
        return f"nvidia_com_mig_{self.mig.replace('.', '_')}" if self.mig else GPU


@dataclass(frozen=True)
class Node:
    """A node and how it is scraped.

    `twice`: by two replicas of Prometheus; `exported`: DCGM by a scrape that does not honor labels; `profiling`:
    whether DCGM exports the metrics of the profiling module.
    """

    name: str
    pool: str
    type: str
    cores: float
    memory: float
    price: float
    first: int
    last: int
    gpus: Machine | None = None
    twice: bool = False
    exported: bool = False
    profiling: bool = True


@dataclass
class Pod:
    """A pod; `owners` begins with its controller. `started` is None if the pod never ran."""

    namespace: str
    name: str
    owners: list[tuple[str, str]]
    node: Node | None
    containers: list[Container]
    created: int
    scheduled: int | None
    started: int | None
    ended: int | None = None
    deleted: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    priority: str = ""
    failed: bool = False
    slots: dict[str, list[int]] = field(default_factory=dict)

    @property
    def job(self) -> tuple[str, str]:
        """Kind and name of the job that the pod belongs to: its outermost owner."""
        return self.owners[-1] if self.owners else ("Pod", self.name)

    @property
    def gpus(self) -> int:
        """Number of GPUs of all containers."""
        return sum(one.gpus for one in self.containers)


@dataclass(frozen=True)
class QueueWaits:
    """Waits in a Kueue queue: for each workload, the time of admission and the seconds waited."""

    queue: str
    waits: list[tuple[int, float]]


@dataclass
class Week:
    """Everything that happened in a cluster from `begin` to `end`, and how Prometheus scraped it.

    `interval`: of the kubelets and DCGM exporters; `facts`: of kube-state-metrics; `gaps`: times without any scrape.
    `ids`: series of a container have its id, so that a restart begins a new series. `is_noisy`: values change from
    scrape to scrape. `honors_labels`: of the scrape of kube-state-metrics, which runs in `copies`. `external`: labels
    of all series.
    """

    begin: int
    end: int
    interval: int
    facts: int
    nodes: list[Node] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    queues: list[QueueWaits] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    ids: bool = True
    sandboxes: bool = False
    is_noisy: bool = False
    honors_labels: bool = True
    copies: int = 1
    external: dict[str, str] = field(default_factory=dict)

    @property
    def flags(self) -> list[str]:
        """Flags of `kcheck usage record` that select this week, and its series in a shared Prometheus."""
        end = datetime.fromtimestamp(self.end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        matchers = [word for key, value in self.external.items() for word in ("--matcher", f'{key}="{value}"')]
        return ["--end", end, "--window", f"{(self.end - self.begin) // HOUR}h", *matchers]

    def place(self) -> None:
        """Assign GPUs to each pod; assert that its node has enough cores and GPUs."""
        running: list[Pod] = []
        for pod in sorted(self.pods, key=lambda one: one.scheduled or 0):
            if pod.node is None or pod.scheduled is None:
                continue
            at = pod.scheduled
            running = [one for one in running if one.ended is None or one.ended > at]
            here = [one for one in running if one.node is pod.node]
            cores = sum(box.requests.get("cpu", 0) for one in [*here, pod] for box in one.containers)
            assert cores <= pod.node.cores, f"{pod.name} does not fit on {pod.node.name} at {at}"
            taken = {slot for one in here for slots in one.slots.values() for slot in slots}
            free = [slot for slot in range(pod.node.gpus.count if pod.node.gpus else 0) if slot not in taken]
            assert len(free) >= pod.gpus, f"{pod.name} finds no GPU on {pod.node.name} at {at}"
            for box in pod.containers:
                pod.slots[box.name], free = free[: box.gpus], free[box.gpus :]
            running.append(pod)
