"""Fast-changing metrics, reduced at once to histograms and hourly sums."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kcheck.addons.usage.facts import MOST, gpu_id, set_time
from kcheck.addons.usage.installation import Installation
from kcheck.addons.usage.prometheus import Prometheus, Series
from kcheck.addons.usage.slices import Key, Slice, distinct, gpu_of
from kcheck.scale.usage import histogram
from kcheck.scale.usage.metrics import Metric, window
from kcheck.scale.usage.recording import HOUR, Gpu, Pod

Line: TypeAlias = "tuple[str, Sequence[float], Sequence[float]]"
"""A series of a pod: container, times and values."""

STARTING = 900
"""Seconds that count as a container's start: imports, data and compilation use more CPU than training."""

_CPU_SCRAPES = 3
"""Scrapes per window, so that two remain even if one is lost."""


class Samples(Struct):
    """Queries samples; `known` returns a pod as recorded so far."""

    prometheus: Prometheus
    installation: Installation
    begin: int
    step: int
    known: Callable[[Key], Pod | None]

    def add(self, found: Slice) -> None:
        """Add the samples of a slice that already has its facts."""
        self._containers(found)
        self._gpus(found)
        self._pending(found)
        self._nodes(found)

    def _width(self, metric: Metric) -> int:
        """Return the seconds a sample stands for: the longer of step and scrape interval."""
        return max(self.step, metric.interval)

    def _pieces(self, metric: Metric, query: str, begin: int, end: int) -> Iterator[tuple[int, int, list[Series]]]:
        """Query the steps after `begin` up to `end`; a sample stands for its step."""
        return self.prometheus.pieces(query, begin + self.step, end + self.step, self.step, metric.series)

    def _begin(self, at: float) -> int:
        return int(at) - self.step

    # --- containers

    def _containers(self, found: Slice) -> None:
        memory, cpu = self.installation.first("memory"), self.installation.first("cpu")
        if memory:
            query = memory.over("max_over_time", self._width(memory))
            for begin, end, series in self._pieces(memory, query, found.begin, found.end):
                lines = _by_pod(memory, series)
                ends = self._memory(found, lines)
                if cpu:
                    self._cpu(found, cpu, (begin - self.step, end - self.step), ends)
        elif cpu:
            self._cpu(found, cpu, (found.begin, found.end), None)

    def _memory(self, found: Slice, lines: dict[Key, list[Line]]) -> dict[tuple[Key, str], float]:
        """Add memory, and return when each container was last seen."""
        ends = {}
        for key, own in lines.items():
            pod = found.pod(key)
            self._seen(found, key, "memory", own)
            for name, times, values in own:
                container = pod.container(name)
                histogram.add(container.memory, values)
                container.memory_peak = max(container.memory_peak, *values)
                container.first = self._begin(times[0]) if container.first is None else container.first
                ends[key, name] = times[-1]
        return ends

    def _cpu(self, found: Slice, cpu: Metric, time: tuple[int, int], ends: dict[tuple[Key, str], float] | None) -> None:
        """Add CPU as measured between the last two scrapes.

        Prometheus' `rate` divides by the whole range, and so halves the use of young containers. Both functions go on
        for some scrapes after a container's end, so CPU samples after its last memory sample are dropped.
        """
        query = cpu.over("irate", _CPU_SCRAPES * cpu.interval)
        for _, _, series in self._pieces(cpu, query, *time):
            for key, lines in _by_pod(cpu, series).items():
                own = [line for one in lines if (line := _until(one, ends, key))]
                if not own:
                    continue
                pod = found.pod(key)
                self._seen(found, key, "cpu", own)
                for name, times, values in own:
                    container = pod.container(name)
                    container.first = self._begin(times[0]) if container.first is None else container.first
                    after = bisect_left(times, self._started(found, key, name) + STARTING)
                    histogram.add(container.starting, values[:after])
                    histogram.add(container.cpu, values[after:])

    def _started(self, found: Slice, key: Key, name: str) -> int:
        """Return when a container started; long ago if unknown but already running."""
        pod = found.pods[key]
        old = self.known(key)
        before = old.containers.get(name) if old else None
        first = before.first if before and before.first is not None else pod.pod.containers[name].first
        if first is not None and first > self.begin + max(self.step, self.installation.interval):
            return first + self.step
        times = (one.started or one.created for one in (pod.pod, old) if one)
        return min((time for time in times if time is not None), default=self.begin - STARTING)

    def _seen(self, found: Slice, key: Key, what: str, lines: list[Line]) -> None:
        """Add hourly sums, and the steps that have samples."""
        pod = found.pod(key)
        sums = found.sums(pod, what)
        for _, times, values in lines:
            for hour, low, high in _hours(times, found, self.step):
                sums.total[hour] += math.fsum(values[low:high])
        steps = distinct([times for _, times, _ in lines])
        for hour, low, high in _hours(steps, found, self.step):
            sums.steps[hour] += high - low
        seen_by = self.installation.seen_by
        if what == seen_by or (what == "gpu" and seen_by.startswith("gpu")):
            first, last = self._begin(steps[0]), self._begin(steps[-1])
            set_time(pod.pod, "first", first, earliest=True)
            set_time(pod.pod, "last", last, earliest=False)
            if (first, last) not in found.complete:  # most series of a piece are like its first one
                found.covered.update(map(self._begin, steps))
                if len(steps) * self.step > last - first:
                    found.complete.add((first, last))

    def _gpus(self, found: Slice) -> None:
        busy = self.installation.metrics.get("gpu_busy", [])
        engine = self.installation.metrics.get("gpu_engine", [])
        for metric in busy:
            self._busy(found, metric)
        for metric in engine:  # what is not known of slices otherwise
            is_other = any(one.family == metric.family for one in busy)
            part = f'{metric.labels[-1][0]}!=""'
            self._busy(found, replace(metric, conditions=(*metric.conditions, part)) if is_other else metric)
        for metric in self.installation.metrics.get("gpu_tensor", []):
            for _, own in self._gpu_lines(found, metric):
                for gpu, line in own:
                    histogram.merge(gpu.tensor, Counter(map(round, line[2])))

    def _busy(self, found: Slice, metric: Metric) -> None:
        for key, own in self._gpu_lines(found, metric):
            self._seen(found, key, "gpu", [line for _, line in own])
            for gpu, line in own:
                histogram.merge(gpu.busy, Counter(map(round, line[2])))

    def _gpu_lines(self, found: Slice, metric: Metric) -> Iterator[tuple[Key, list[tuple[Gpu, Line]]]]:
        query = metric.over("avg_over_time", self._width(metric))
        for _, _, series in self._pieces(metric, query, found.begin, found.end):
            pods: dict[Key, list[tuple[Gpu, Line]]] = {}
            for one in series:
                namespace, name, container, _, _, model, profile = metric.meanings(one.metric)
                times, values = _measured(one)
                if times and metric.is_of(name):
                    gpu = gpu_of(found.pod((namespace, name)).container(container), gpu_id(metric, one.metric))
                    gpu.model, gpu.profile = model, profile
                    values = [min(max(value, 0.0), 100.0) for value in values]
                    pods.setdefault((namespace, name), []).append((gpu, (container, times, values)))
            yield from pods.items()

    # --- pods and nodes

    def _pending(self, found: Slice) -> None:
        metric = self.installation.first("pod_pending")
        if metric is None:
            return
        query = f"{metric.over('last_over_time', self._width(metric))} == 1"
        for _, _, series in self._pieces(metric, query, found.begin, found.end):
            for one in series:
                namespace, name = metric.meanings(one.metric)
                pod = found.pod((namespace, name)).pod
                pod.waiting += len(one.values) * self.step
                pod.pending = self._begin(one.values[-1][0])

    def _nodes(self, found: Slice) -> None:
        metric = self.installation.first("node_info")
        if metric is None:
            return
        names = ",".join(metric.labels[0])
        query = f"max by ({names}) (last_over_time({metric.selector}[{window(self._width(metric))}]))"
        for _, _, series in self._pieces(metric, query, found.begin, found.end):
            for one in series:
                node = found.node(metric.meanings(one.metric)[0])
                node.seconds += len(one.values) * self.step
                node.first = self._begin(one.values[0][0]) if node.first is None else node.first
                node.last = self._begin(one.values[-1][0])


def _by_pod(metric: Metric, series: list[Series]) -> dict[Key, list[Line]]:
    found: dict[Key, list[Line]] = {}
    for one in series:
        namespace, pod, container = metric.meanings(one.metric)
        times, values = _measured(one)
        if times and pod:
            found.setdefault((namespace, pod), []).append((container, times, values))
    return found


def _measured(series: Series) -> tuple[Sequence[float], Sequence[float]]:
    times, values = zip(*series.values, strict=True)
    if not (math.isfinite(sum(values) + sum(times)) and min(values) >= 0 and max(values) <= MOST):
        pairs = [pair for pair in series.values if math.isfinite(pair[0]) and 0 <= pair[1] <= MOST]
        times, values = zip(*pairs, strict=True) if pairs else ((), ())
    return times, values


def _until(line: Line, ends: dict[tuple[Key, str], float] | None, key: Key) -> Line | None:
    """Cut a series at the time its container was last seen; None if nothing is left."""
    name, times, values = line
    if ends is None:
        return line
    end = ends.get((key, name))
    if end is None:
        return None
    if times[-1] <= end:
        return line
    after = bisect_left(times, end + 1)
    return (name, times[:after], values[:after]) if after else None


def _hours(times: Sequence[float], found: Slice, step: int) -> Iterator[tuple[int, int, int]]:
    """Split times by hours of the slice: hour, first index, end index."""
    low, begin = 0, found.begin + step
    while low < len(times):
        hour = int(times[low] - begin) // HOUR
        high = max(low + 1, bisect_left(times, begin + (hour + 1) * HOUR, low))
        yield min(max(hour, 0), found.hours - 1), low, high
        low = high
