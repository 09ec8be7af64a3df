"""Compute the truth of a week from its own shapes, without any Prometheus."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.addons.usage.week.cluster import HOUR
from tests.addons.usage.week.dcgm import uuid
from tests.addons.usage.week.measured import exporter, kubelet, lives, sampled

if TYPE_CHECKING:
    from tests.addons.usage.week.cluster import Container, Pod, Week
    from tests.addons.usage.week.measured import Life

STARTING = 15 * 60
"""Seconds after the start of a pod that count as its start-up."""


@dataclass
class ContainerTruth:
    """True use of a container at each scrape, in cores and bytes, for each of its lives."""

    lives: list[Life]
    began: list[int]
    """The start of the pod, in each life."""

    @property
    def cpu(self) -> list[float]:
        """CPU in use at each scrape, in millicores."""
        return [cores * 1000 for life in self.lives for cores in life.cpu]

    @property
    def memory(self) -> list[float]:
        """Memory in use at each scrape, in bytes."""
        return [used for life in self.lives for used in life.memory]

    def cpu_of(self, *, starting: bool) -> list[float]:
        """Return the CPU in use at each scrape, in millicores: while the pod starts, or afterwards."""
        return [
            cores * 1000
            for life, began in zip(self.lives, self.began, strict=True)
            for at, cores in zip(life.times, life.cpu, strict=True)
            if (at - began <= STARTING) == starting
        ]


@dataclass
class GpuTruth:
    """True use of a GPU: busy and tensor percent at each scrape, most memory in MiB, mean power in watts."""

    uuid: str
    busy: list[float]
    tensor: list[float]
    memory: float
    power: float


@dataclass
class PodTruth:
    """True use of all pods that had one name in the week.

    Seconds in which they were running, pending (`waiting`) and on a node (`held`); their containers and GPUs. `lives`
    counts them; `pod` is the last one.
    """

    pod: Pod
    running: int
    waiting: int
    held: int
    containers: dict[str, ContainerTruth]
    gpus: dict[str, list[GpuTruth]]
    lives: int = 1

    def add(self, later: PodTruth) -> None:
        """Add a later pod of the same name, with the same containers."""
        self.pod = later.pod
        self.running += later.running
        self.waiting += later.waiting
        self.held += later.held
        self.lives += 1
        for name, box in later.containers.items():
            self.containers[name].lives += box.lives
            self.containers[name].began += box.began
            self.gpus[name] += later.gpus[name]

    @property
    def gpu_hours(self) -> float:
        """GPU-hours that the pod held."""
        return self.pod.gpus * self.held / HOUR


@dataclass
class JobTruth:
    """True use of a job: all of its pods."""

    namespace: str
    job: tuple[str, str]
    pods: list[PodTruth] = field(default_factory=list)

    @property
    def gpu_hours(self) -> float:
        """GPU-hours that the job held."""
        return sum(one.gpu_hours for one in self.pods)

    @property
    def idle_gpu_hours(self) -> float:
        """GPU-hours in which the GPU was not busy, those before its pod ran included."""
        hours = sum(one.pod.gpus * (one.held - one.running) / HOUR for one in self.pods)
        for one in self.pods:
            for gpus in one.gpus.values():
                hours += sum((1 - mean(gpu.busy) / 100) * one.running / HOUR for gpu in gpus if gpu.busy)
        return hours

    @property
    def utilisation(self) -> float:
        """Percent of the GPU-hours in which the GPU was busy."""
        return 100 * (1 - self.idle_gpu_hours / self.gpu_hours) if self.gpu_hours else 0.0

    @property
    def core_hours(self) -> tuple[float, float]:
        """Core-hours requested, and used."""
        requested = sum(one.held * box.requests.get("cpu", 0) for one in self.pods for box in one.pod.containers)
        used = 0.0
        for one in self.pods:
            for box in one.containers.values():
                used += mean(box.cpu) / 1000 * one.running if box.cpu else 0
        return requested / HOUR, used / HOUR


def percentile(values: list[float], percent: float) -> float:
    """Return the smallest value that is not exceeded by `percent` of the values."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def mean(values: list[float]) -> float:
    """Return the mean of some values."""
    return sum(values) / len(values)


def truth(week: Week) -> dict[tuple[str, str], PodTruth]:
    """Return the true use of each pod, by namespace and name."""
    found: dict[tuple[str, str], PodTruth] = {}
    for pod in week.pods:
        one = _pod(week, pod)
        if (pod.namespace, pod.name) in found:
            found[pod.namespace, pod.name].add(one)
        else:
            found[pod.namespace, pod.name] = one
    return found


def jobs(pods: dict[tuple[str, str], PodTruth]) -> dict[tuple[str, tuple[str, str]], JobTruth]:
    """Return the true use of each job, by namespace, kind and name."""
    found: dict[tuple[str, tuple[str, str]], JobTruth] = {}
    for one in pods.values():
        key = (one.pod.namespace, one.pod.job)
        found.setdefault(key, JobTruth(*key)).pods.append(one)
    return found


def _within(week: Week, start: int | None, stop: int | None) -> int:
    """Return how many seconds from `start` to `stop` are in the week and in no gap."""
    if start is None:
        return 0
    start, stop = max(start, week.begin), min(stop or week.end, week.end)
    lost = sum(max(0, min(stop, last) - max(start, first)) for first, last in week.gaps)
    return max(0, stop - start - lost)


def _pod(week: Week, pod: Pod) -> PodTruth:
    running = _within(week, pod.started, pod.ended)
    waiting = _within(week, pod.created, pod.started or pod.deleted)
    held = _within(week, pod.scheduled, pod.ended)
    boxes = {box.name: _container(week, pod, box) for box in pod.containers}
    return PodTruth(pod, running, waiting, held, boxes, {box.name: _gpus(week, pod, box) for box in pod.containers})


def _container(week: Week, pod: Pod, box: Container) -> ContainerTruth:
    if pod.node is None or pod.started is None:
        return ContainerTruth([], [])
    found = lives(week, pod, box, kubelet(week, pod.node))
    return ContainerTruth(found, [pod.started] * len(found))


def _gpus(week: Week, pod: Pod, box: Container) -> list[GpuTruth]:
    if pod.node is None or pod.node.gpus is None or pod.started is None or box.gpu is None:
        return []
    ticks = exporter(week, pod.node)
    first, last = ticks.span(pod.started, pod.ended)
    times = ticks.times[first:last]
    busy, tensor, memory, power = (
        sampled(shape, pod.started, times) for shape in (box.gpu.busy, box.gpu.tensor, box.gpu.memory, box.gpu.power)
    )
    return [
        GpuTruth(uuid(pod.node, pod.node.gpus, slot), busy, tensor, max(memory, default=0), mean(power) if power else 0)
        for slot in pod.slots[box.name]
    ]
