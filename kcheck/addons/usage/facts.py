"""Slowly changing metrics: owners, labels, requests, limits, restarts, nodes."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from kcheck.addons.usage.installation import Installation
from kcheck.addons.usage.prometheus import Prometheus, Sample
from kcheck.addons.usage.slices import Key, Slice, gpu_of, sanitized_labels
from kcheck.scale.usage.metrics import Metric, window
from kcheck.scale.usage.recording import NOBODY, Owner, Pod

MOST = 2.0**50
"""Above any real measurement, as servers may send any value."""

_BLANK = 0x7FFFFFF0
"""DCGM values from here on mean "no value"; no sum over a day comes near."""

_MILLI = {"cpu": 1000}
"""Factors of resources that recordings have in thousandths."""


class Facts(Struct):
    """Queries a Prometheus for slowly changing metrics."""

    prometheus: Prometheus
    installation: Installation

    def add(self, found: Slice) -> None:
        """Add facts at the end of a slice, and facts of objects that ended in it."""
        self._pods(found)
        self._times(found)
        self._containers(found)
        self._gpus(found)
        self._owners(found)
        self._nodes(found)

    def standing(self, at: int) -> tuple[dict[tuple[str, ...], int], set[tuple[str, ...]]]:
        """Return restart counts at a time, and containers last killed for memory.

        If data begins at that time, an exporter may be scraped up to an interval later, so take the minimum around it.
        """
        restarts, killed = self.installation.first("restarts"), self.installation.first("killed")
        counted: dict[tuple[str, ...], int] = {}
        ended: set[tuple[str, ...]] = set()
        if restarts:
            samples = self._around(restarts, at)
            counted = {restarts.meanings(one.metric): int(one.value[1]) for one in samples if 0 <= one.value[1] <= MOST}
        if killed:
            ended = {killed.meanings(one.metric) for one in self._around(killed, at) if one.value[1] == 1}
        return counted, ended

    def _around(self, metric: Metric, at: int) -> list[Sample]:
        """Query the minimum of a metric from two scrapes before a time to two after it."""
        wide = 2 * metric.interval
        return self.prometheus.instant(metric.over("min_over_time", 2 * wide), at + wide)

    def _rows(
        self, role: str, found: Slice, function: str = "last_over_time", aggregate: str = "max"
    ) -> Iterator[tuple[Metric, dict[str, str], float]]:
        """Yield the series of all metrics with this role: metric, labels and value."""
        for metric in self.installation.metrics.get(role, ()):
            for sample in self._samples(lambda seconds: metric.over(function, seconds, aggregate), found):  # noqa: B023
                if 0 <= sample[1] <= MOST:
                    yield metric, *sample

    def _samples(self, query: Callable[[int], str], found: Slice) -> Iterator[tuple[dict[str, str], float]]:
        for sample in self.prometheus.span(query, found.begin, found.end):
            yield sample.metric, sample.value[1]

    def _pods(self, found: Slice) -> None:
        rows = sorted(
            (metric.meanings(labels), labels.get("node", ""), labels.get("priority_class", ""))
            for metric, labels, _ in self._rows("pod_info", found)
        )
        for (namespace, name), node, priority in rows:
            pod = found.pod((namespace, name)).pod
            pod.node, pod.priority = node or pod.node, priority or pod.priority
        for metric, labels in self._labelled("pod_labels", found):
            namespace, name = metric.meanings(labels)
            found.pod((namespace, name)).pod.labels = sanitized_labels(labels)
        for metric, labels in self._labelled("namespace_labels", found):
            found.namespaces[metric.meanings(labels)[0]] = sanitized_labels(labels)

    def _labelled(self, role: str, found: Slice) -> Iterator[tuple[Metric, dict[str, str]]]:
        metric = self.installation.first(role)
        if metric is None:
            return
        for labels, _ in self._samples(lambda seconds: f"last_over_time({metric.selector}[{window(seconds)}])", found):
            yield metric, labels

    def _times(self, found: Slice) -> None:
        for role, name, earliest in (
            ("pod_created", "created", True), ("pod_scheduled", "scheduled", True),
            ("pod_started", "started", True), ("pod_ended", "ended", False),
        ):  # fmt: skip
            function, aggregate = ("min_over_time", "min") if earliest else ("max_over_time", "max")
            for metric, labels, value in self._rows(role, found, function, aggregate):
                namespace, pod_name = metric.meanings(labels)
                pod = found.pod((namespace, pod_name)).pod
                set_time(pod, name, int(value), earliest=earliest)

    def _containers(self, found: Slice) -> None:
        for role in ("requests", "limits"):
            for metric, labels, value in self._rows(role, found):
                namespace, pod, container = metric.meanings(labels)
                resource = labels.get("resource", "")
                amounts = getattr(found.pod((namespace, pod)).container(container), role)
                amounts[resource] = value * _MILLI.get(resource, 1)
        for metric, labels, value in self._rows("restarts", found, "max_over_time"):
            namespace, pod, container = metric.meanings(labels)
            counted = found.pod((namespace, pod)).restarts
            counted[container] = max(counted.get(container, 0), int(value))
        for role in ("killed", "killed_for_good"):
            for metric, labels, value in self._rows(role, found, "max_over_time"):
                namespace, pod, container = metric.meanings(labels)
                if value == 1:
                    found.pod((namespace, pod)).killed.add(container)

    def _gpus(self, found: Slice) -> None:
        """Add memory and power of GPUs; peak used plus least free memory is the total."""
        peaks: dict[tuple[Key, str, str], float] = {}
        for at, value in self._of_gpus("gpu_memory", found, "max_over_time"):
            peaks[at] = max(peaks.get(at, 0), value)
            gpu = gpu_of(found.pod(at[0]).container(at[1]), at[2])
            gpu.memory = max(gpu.memory, value)
        for at, value in self._of_gpus("gpu_memory_free", found, "min_over_time"):
            gpu = gpu_of(found.pod(at[0]).container(at[1]), at[2])
            gpu.memory_total = max(gpu.memory_total, value + peaks.get(at, 0))
        for function, name in (("sum_over_time", "power"), ("count_over_time", "power_samples")):
            for at, value in self._of_gpus("gpu_power", found, function):
                gpu = gpu_of(found.pod(at[0]).container(at[1]), at[2])
                setattr(gpu, name, round(getattr(gpu, name) + value, 1))

    def _of_gpus(self, role: str, found: Slice, function: str) -> Iterator[tuple[tuple[Key, str, str], float]]:
        for metric, labels, value in self._rows(role, found, function):
            namespace, pod, container, *_ = metric.meanings(labels)
            if value < _BLANK and metric.is_of(pod):
                yield ((namespace, pod), container, gpu_id(metric, labels)), value

    def _owners(self, found: Slice) -> None:
        for role, add in (
            ("pod_owner", lambda key, owner: found.pod(key).pod.owners.append(owner)),
            ("replicaset_owner", found.replica_sets.__setitem__),
            ("job_owner", found.jobs.__setitem__),
        ):
            best: dict[Key, tuple[bool, Owner]] = {}
            for metric, labels, _ in self._rows(role, found):
                namespace, name = metric.meanings(labels)
                kind, owner = labels.get("owner_kind", ""), labels.get("owner_name", "")
                controls = labels.get("owner_is_controller") == "true"
                if (namespace, name) not in best or controls >= best[namespace, name][0]:
                    best[namespace, name] = (controls, NOBODY if kind in ("", "<none>") else Owner(kind, owner))
            for key, (_, one) in best.items():
                add(key, one)

    def _nodes(self, found: Slice) -> None:
        for metric, labels, _ in self._rows("node_info", found):
            node = found.node(metric.meanings(labels)[0])
            node.provider = labels.get("provider_id", "") or node.provider
        for metric, labels in self._labelled("node_labels", found):
            found.node(metric.meanings(labels)[0]).labels = sanitized_labels(labels)
        for metric, labels, value in self._rows("allocatable", found):
            resource = labels.get("resource", "")
            found.node(metric.meanings(labels)[0]).allocatable[resource] = value * _MILLI.get(resource, 1)


def set_time(pod: Pod, name: str, value: int | None, *, earliest: bool) -> None:
    """Set a time of a pod; of the same name, keep the earliest begin and latest end."""
    old = getattr(pod, name)
    if value is not None:
        setattr(pod, name, value if old is None else min(old, value) if earliest else max(old, value))


def gpu_id(metric: Metric, labels: dict[str, str]) -> str:
    """Return the id of a GPU or of a slice of one."""
    card, part = metric.meanings(labels)[3:5]
    return f"{card}/{part}" if part else card
