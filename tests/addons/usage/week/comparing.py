"""Compare a recording with the truth of its week."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcheck.scale.usage import histogram
from kcheck.scale.usage.recording import NOBODY
from tests.addons.usage.week.cluster import MIB
from tests.addons.usage.week.dcgm import RESERVED
from tests.addons.usage.week.measured import Life
from tests.addons.usage.week.truth import STARTING, mean, percentile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.scale.usage.recording import Container, Gpu, Pod, Recording
    from tests.addons.usage.week.cluster import Week
    from tests.addons.usage.week.truth import ContainerTruth, GpuTruth, PodTruth

SHARE = 0.02
"""The relative difference allowed between a measured and a true number."""
FEW = 20
"""Samples below which percentiles are not compared."""
SHORT = 7200
"""Seconds of running time below which means are not compared: first and last step weigh too much."""


@dataclass(frozen=True)
class Difference:
    """A measured number that differs from the true one."""

    what: str
    measured: object
    true: object

    def __str__(self) -> str:
        return f"{self.what}: measured {self.measured}, true {self.true}"


class Comparison:
    """A comparison of a recording with the week that was recorded."""

    def __init__(self, week: Week, pods: dict[tuple[str, str], PodTruth], recording: Recording) -> None:
        self.week = week
        self.pods = pods
        self.recording = recording
        self.slack = recording.step + week.interval
        """Seconds by which begin and end of a pod may lie outside of its samples."""

    def differences(self) -> list[Difference]:
        """Return all differences between the recording and the week."""
        return [
            *self._names(), *self._nodes(), *self._waits(),
            *(one for pod in self.recording.pods for one in self._pod(pod)),
        ]  # fmt: skip

    def _names(self) -> Iterator[Difference]:
        seen = {(pod.namespace, pod.name) for pod in self.recording.pods}
        short = 2 * max(self.slack, self.week.facts)
        must = {key for key, one in self.pods.items() if one.running > short or one.waiting > short}
        yield from (Difference(f"pod {key}", "nothing", "there") for key in sorted(must - seen))
        yield from (Difference(f"pod {key}", "there", "nothing") for key in sorted(seen - set(self.pods)))

    def _nodes(self) -> Iterator[Difference]:
        found = {node.name: node for node in self.recording.nodes}
        for node in self.week.nodes:
            what = f"node {node.name}"
            one = found.get(node.name)
            if one is None:
                yield Difference(what, "nothing", "there")
                continue
            lasts = min(node.last, self.week.end) - max(node.first, self.week.begin)
            lasts -= sum(stop - start for start, stop in self.week.gaps)
            yield from _near(f"{what} seconds", one.seconds, lasts, self.recording.step + self.week.facts)
            yield from _near(f"{what} cores", one.allocatable.get("cpu"), node.cores * 1000)
            if node.gpus:
                yield from _same(f"{what} GPUs", one.allocatable.get(node.gpus.resource), node.gpus.count)
            yield from _same(f"{what} type", one.labels.get("node_kubernetes_io_instance_type"), node.type)

    def _waits(self) -> Iterator[Difference]:
        for queue in self.week.queues:
            own = [one for one in self.recording.waits if one.queue == queue.queue and one.what == "admission"]
            yield from _same(f"queue {queue.queue}", len(own), 1)
            for one in own:
                waits = [wait for _, wait in queue.waits]
                yield from _near(f"queue {queue.queue} count", one.count, len(waits), 0.2)
                yield from _near(f"queue {queue.queue} mean", one.mean, mean(waits))

    def _pod(self, pod: Pod) -> Iterator[Difference]:
        true = self.pods.get((pod.namespace, pod.name))
        if true is None:
            return
        what, plan = f"{pod.namespace}/{pod.name}", true.pod
        yield from _same(f"{what} owners", [(one.kind, one.name) for one in pod.owners if one != NOBODY], plan.owners)
        labels = {key.replace(".", "_").replace("/", "_"): value for key, value in plan.labels.items()}
        yield from _same(f"{what} labels", pod.labels, labels)
        yield from _same(f"{what} priority", pod.priority, plan.priority)
        yield from _near(f"{what} running", pod.running, true.running, self.slack)
        yield from _near(f"{what} waiting", pod.waiting, true.waiting, self.slack + self.week.facts)
        yield from self._hours(what, pod, true)
        if true.lives == 1:
            yield from _same(f"{what} created", pod.created, plan.created)
            if self._was_seen(plan.scheduled, plan.deleted):
                yield from _same(f"{what} node", pod.node, plan.node.name if plan.node else "")
                yield from _same(f"{what} scheduled", pod.scheduled, plan.scheduled)
            if self._was_seen(plan.ended, plan.deleted):
                yield from _same(f"{what} ended", pod.ended, plan.ended)
        for box in plan.containers:
            if box.name not in pod.containers:
                yield from _same(
                    f"{what}/{box.name}", "nothing", "there" if true.running > 2 * self.slack else "nothing"
                )
                continue
            found = pod.containers[box.name]
            yield from self._container(f"{what}/{box.name}", found, true.containers[box.name], true)
            yield from self._gpus(f"{what}/{box.name}", found.gpus, true.gpus.get(box.name, []), true)
        extra = set(pod.containers) - {box.name for box in plan.containers}
        yield from _same(f"{what} containers", extra, set())

    def _was_seen(self, start: int | None, stop: int | None) -> bool:
        """Return whether a state that lasted from `start` to `stop` was surely scraped, despite the gaps."""
        if start is None:
            return False
        start, stop = max(start, self.week.begin), min(stop or self.week.end, self.week.end)
        lost = sum(max(0, min(stop, last) - max(start, first)) for first, last in self.week.gaps)
        return stop - start - lost > 2 * self.week.facts

    def _is_twice(self, true: PodTruth) -> bool:
        """Return whether a pod was scraped by two Prometheus replicas that saw different noise.

        The recording keeps the larger.
        """
        return self.week.is_noisy and true.pod.node is not None and true.pod.node.twice

    def _hours(self, what: str, pod: Pod, true: PodTruth) -> Iterator[Difference]:
        hours = pod.hours
        yield from _same(f"{what} seconds of hours", sum(hours.seconds), pod.running)
        boxes = true.containers.values()
        if true.running < SHORT or self._is_twice(true):
            return
        for name, values, samples, unit in (
            ("CPU", hours.cpu, [self._cpu_steps(box) for box in boxes], 1),
            ("memory", hours.memory, [self._memory_steps(box) for box in boxes], MIB),
        ):
            total = sum(one * seconds for one, seconds in zip(values, hours.seconds, strict=True) if one is not None)
            measured = sum(seconds for one, seconds in zip(values, hours.seconds, strict=True) if one is not None)
            truth = sum(mean(one) for one in samples) / unit
            yield from _near(f"{what} {name} of hours", total / max(1, measured), truth, 1)

    def _container(self, what: str, found: Container, true: ContainerTruth, pod: PodTruth) -> Iterator[Difference]:
        plan = next(box for box in pod.pod.containers if box.name == what.rpartition("/")[2])
        for name, amounts, planned in (
            ("requests", found.requests, plan.requests),
            ("limits", found.limits, plan.limits),
        ):
            measured = {key: round(value) for key, value in amounts.items()}
            expected = {key: round(value * (1000 if key == "cpu" else 1)) for key, value in planned.items()}
            yield from _same(f"{what} {name}", measured, expected)
        kills = [at for at in plan.kills if self.week.begin < at <= self.week.end]
        yield from _same(f"{what} kills", found.kills, len(kills))
        yield from _same(f"{what} killed at", found.killed, plan.limits.get("memory", 0) if kills else 0)
        restarts = [at for at in plan.restarts if self.week.begin < at <= self.week.end]
        yield from _same(f"{what} restarts", found.restarts, len(restarts))
        used = self._memory_steps(true)
        if used:
            near = SHARE if pod.pod.node and pod.pod.node.twice else 0.0001  # the other Prometheus saw other moments
            yield from _near(f"{what} peak of memory", found.memory_peak, max(used), share=near)
        yield from _percentiles(f"{what} memory", found.memory, used)
        if self._is_twice(pod):
            return
        yield from _percentiles(f"{what} CPU", histogram.merged([found.starting, found.cpu]), self._cpu_steps(true))
        if pod.lives == 1 and not plan.restarts:
            yield from _percentiles(f"{what} CPU at the start", found.starting, self._cpu_steps(true, starting=True))
            yield from _percentiles(f"{what} CPU later", found.cpu, self._cpu_steps(true, starting=False))

    def _steps(self, life: Life, values: list[float]) -> dict[int, list[float]]:
        """Return the values of scrapes, grouped by the steps of the recording to which they count."""
        begin, step = self.recording.begin, self.recording.step
        found: dict[int, list[float]] = {}
        for at, value in zip(life.times, values, strict=True):
            found.setdefault(begin + -(-(at - begin) // step) * step, []).append(value)
        return found

    def _memory_steps(self, true: ContainerTruth) -> list[float]:
        """Return the largest use of memory in each step."""
        return [max(values) for life in true.lives for values in self._steps(life, life.memory).values()]

    def _cpu_steps(self, true: ContainerTruth, *, starting: bool | None = None) -> list[float]:
        """Return the use of CPU in each step, between its last two scrapes.

        CPU before the first scrape is not measured.
        """
        found = []
        for life, began in zip(true.lives, true.began, strict=True):
            is_new = bool(life.times) and life.times[0] - life.start <= self.week.interval
            later = Life(life.start, life.first, life.times[is_new:], life.cpu[is_new:], life.memory[is_new:])
            for at, values in self._steps(later, later.cpu).items():
                if starting is None or (at - began <= STARTING) == starting:
                    found.append(1000 * values[-1])
        return found

    def _gpus(self, what: str, found: list[Gpu], true: list[GpuTruth], pod: PodTruth) -> Iterator[Difference]:
        yield from _same(f"{what} number of GPUs", len(found), len(true) if pod.running > self.slack else len(found))
        node = pod.pod.node
        for one in found:
            gpu = next((gpu for gpu in true if one.id.startswith(gpu.uuid)), None)
            if gpu is None or node is None or node.gpus is None:
                yield Difference(f"{what} GPU {one.id}", "there", "nothing")
                continue
            if len(gpu.busy) <= FEW:
                continue
            yield from _near(f"{what} busy", _mean(one.busy), mean(gpu.busy), 0.6)
            if node.profiling:
                yield from _near(f"{what} tensor", _mean(one.tensor), mean(gpu.tensor), 0.6)
            yield from _near(f"{what} GPU memory", one.memory, gpu.memory, 1)
            yield from _near(f"{what} memory of GPU", one.memory_total, node.gpus.memory - RESERVED, 2)
            yield from _near(f"{what} power", one.power / max(1, one.power_samples), gpu.power)


def _mean(percents: dict[int, int]) -> float:
    """Return the mean of a histogram by percent."""
    return sum(percent * count for percent, count in percents.items()) / max(1, sum(percents.values()))


def _percentiles(what: str, found: dict[int, int], true: list[float]) -> Iterator[Difference]:
    """Yield the percentiles that differ from the true ones by more than one or two samples explain."""
    if len(true) <= FEW:
        return
    aside = SHARE * 100 + 200 / len(true)
    for percent in (50, 95):
        measured = histogram.percentile(found, percent)
        low, high = percentile(true, max(0, percent - aside)), percentile(true, min(100, percent + aside))
        if measured is None or not low * (1 - SHARE) - 1 <= measured <= high * (1 + SHARE) + 1:
            yield Difference(f"{what} {percent} %", measured, (low, high))


def _same(what: str, measured: object, true: object) -> Iterator[Difference]:
    if measured != true:
        yield Difference(what, measured, true)


def _near(
    what: str, measured: float | None, true: float, slack: float = 0, share: float = SHARE
) -> Iterator[Difference]:
    if measured is None or abs(measured - true) > max(slack, share * abs(true)):
        yield Difference(what, measured, true)
