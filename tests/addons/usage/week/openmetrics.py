"""Write a week in OpenMetrics, as the samples that a Prometheus with the usual exporters has of it."""

from __future__ import annotations

import zlib
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO

from tests.addons.usage.week.cluster import HOUR, MIB
from tests.addons.usage.week.dcgm import write_gpus
from tests.addons.usage.week.measured import clock, kubelet, lives

if TYPE_CHECKING:
    from pathlib import Path

    from tests.addons.usage.week.cluster import Container, Node, Pod, Week
    from tests.addons.usage.week.measured import Clock

BLOCK = 54 * HOUR
"""Seconds of a block: a length to which Prometheus merges blocks."""
PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
KSM = {"job": "kube-state-metrics"}
KSM_POD = {"namespace": "monitoring", "pod": "kube-state-metrics-0", "container": "kube-state-metrics"}
"""Labels of the kube-state-metrics target; without honor_labels, equal labels of its series become `exported_NAME`."""
BUCKETS = [1.0, *(2.5 * 2**power for power in range(13))]
"""Upper bounds of the buckets in Kueue's histograms of time."""
UNITS = {"cpu": "core", "memory": "byte"}
Span = tuple[int, "int | None", float]


class Writer:
    """A writer of samples, with one file for each block of time."""

    def __init__(self, week: Week, folder: Path, files: ExitStack) -> None:
        first = week.begin // BLOCK
        self.starts = [number * BLOCK for number in range(first, week.end // BLOCK + 1)]
        self.paths = [folder / f"{start}.txt" for start in self.starts]
        self.files: list[TextIO] = [files.enter_context(path.open("w")) for path in self.paths]
        self._cuts: dict[int, list[int]] = {}
        self._week = week
        self._facts = clock(week, "kube-state-metrics", facts=True)

    def _pieces(self, ticks: Clock, first: int, last: int) -> list[tuple[TextIO, int, int]]:
        if id(ticks) not in self._cuts:
            self._cuts[id(ticks)] = [*(ticks.span(start - 1, None)[0] for start in self.starts), len(ticks.times)]
        cuts = self._cuts[id(ticks)]
        found = []
        for number, file in enumerate(self.files):
            start, stop = max(first, cuts[number]), min(last, cuts[number + 1])
            if start < stop:
                found.append((file, start, stop))
        return found

    def fact(self, name: str, labels: dict[str, str], *spans: Span) -> None:
        """Write a series of kube-state-metrics, one from each of its copies."""
        if self._week.honors_labels:
            own = {"container": KSM_POD["container"], **labels}
        else:
            own = {f"exported_{key}" if key in KSM_POD else key: value for key, value in labels.items()} | KSM_POD
        for number in range(self._week.copies):
            self.constant(name, {**own, **KSM, "instance": f"10.0.9.{number}:8080"}, self._facts, *spans)

    def constant(self, name: str, labels: dict[str, str], ticks: Clock, *spans: Span) -> None:
        """Write a series that has one value in each span of time."""
        series = _series(name, {**labels, **self._week.external})
        for start, stop, value in spans:
            prefix = f"{series} {value:.15g} "
            for file, first, last in self._pieces(ticks, *ticks.span(start, stop)):
                file.write(prefix + prefix.join(ticks.text[first:last]))

    def varying(self, name: str, labels: dict[str, str], ticks: Clock, first: int, values: list[float]) -> None:
        """Write a series with the given values, beginning with scrape number `first`."""
        prefix = _series(name, {**labels, **self._week.external}) + " "
        for file, start, stop in self._pieces(ticks, first, first + len(values)):
            pairs = zip(values[start - first : stop - first], ticks.text[start:stop], strict=True)
            file.write(prefix + prefix.join([f"{value:.12g} {at}" for value, at in pairs]))


def _series(name: str, labels: dict[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items() if value)
    return f"{name}{{{inside}}}"


def write(week: Week, folder: Path) -> list[Path]:
    """Write all samples of a week into files of a folder, one for each block of time."""
    with ExitStack() as files:
        writer = Writer(week, folder, files)
        for node in week.nodes:
            _node(writer, week, node)
        for pod in week.pods:
            _facts(writer, week, pod)
            _usage(writer, week, pod)
        write_gpus(writer, week)
        _owners(writer, week)
        _queues(writer, week)
        for name, labels in week.namespaces.items():
            writer.fact("kube_namespace_labels", {"namespace": name, **_labels(labels)}, (0, None, 1))
        for file in writer.files:
            file.write("# EOF\n")
    return writer.paths


def identity(text: str) -> str:
    """Return hexadecimal digits derived from a text, always the same."""
    return f"{zlib.crc32(text.encode()):08x}{zlib.adler32(text.encode()):08x}"


def _labels(labels: dict[str, str]) -> dict[str, str]:
    """Return labels under the names that kube-state-metrics gives them."""
    clean = {key: "".join(letter if letter.isalnum() else "_" for letter in key) for key in labels}
    return {f"label_{clean[key]}": value for key, value in labels.items()}


def _usage(writer: Writer, week: Week, pod: Pod) -> None:
    """Write cAdvisor's series of a pod: each container, the whole pod, the pause container."""
    node = pod.node
    if node is None or pod.started is None:
        return
    home = f"/kubepods/pod{identity(pod.name)}"
    for second in (False, True) if node.twice else (False,):
        ticks = kubelet(week, node, second=second)
        whole = {"namespace": pod.namespace, "pod": pod.name, "node": node.name, "job": "kubelet"}
        if node.twice:
            whole["prometheus_replica"] = f"prometheus-{int(second)}"
        for box in pod.containers:
            for life in lives(week, pod, box, ticks):
                labels = {**whole, "container": box.name, "image": f"registry.example.com/{box.name}:1"}
                if week.ids:
                    labels["id"] = f"{home}/{identity(f'{box.name} {life.start}')}"
                writer.varying("container_cpu_usage_seconds_total", labels, ticks, life.first, life.counter())
                writer.varying("container_memory_working_set_bytes", labels, ticks, life.first, _whole(life.memory))
        _whole_pod(writer, week, pod, {**whole, **({"id": home} if week.ids else {})}, ticks)
        if week.sandboxes:
            pause = {**whole, "container": "POD", "image": "registry.k8s.io/pause:3.9"}
            writer.constant("container_cpu_usage_seconds_total", pause, ticks, (pod.started, pod.ended, 0.02))
            writer.constant("container_memory_working_set_bytes", pause, ticks, (pod.started, pod.ended, 700_000))


def _whole_pod(writer: Writer, week: Week, pod: Pod, labels: dict[str, str], ticks: Clock) -> None:
    """Write the series of a whole pod, without the label `container`; its cgroup outlives restarts of containers."""
    cpu: dict[int, float] = {}
    memory: dict[int, float] = {}
    for box in pod.containers:
        for life in lives(week, pod, box, ticks):
            for at, cores, used in zip(life.times, life.cpu, life.memory, strict=True):
                cpu[at] = cpu.get(at, 0) + cores
                memory[at] = memory.get(at, 0) + used
    total, values = 0.0, []
    for cores in cpu.values():
        total += cores * week.interval
        values.append(total)
    first = ticks.span(min(cpu) - 1, None)[0] if cpu else 0
    if len(cpu) == ticks.span(max(cpu, default=0), None)[0] - first:
        writer.varying("container_cpu_usage_seconds_total", labels, ticks, first, values)
        writer.varying("container_memory_working_set_bytes", labels, ticks, first, _whole(list(memory.values())))


def _whole(values: list[float]) -> list[float]:
    return [round(value) for value in values]


def _facts(writer: Writer, week: Week, pod: Pod) -> None:
    """Write kube-state-metrics' series of a pod, from its creation to its deletion."""
    base = {"namespace": pod.namespace, "pod": pod.name, "uid": identity(pod.name)}
    life: Span = (pod.created, pod.deleted, 1)
    kind, name = pod.owners[0] if pod.owners else ("", "")
    info = {**base, "created_by_kind": kind, "created_by_name": name, "priority_class": pod.priority}
    homes: list[tuple[str, int, int | None]] = [("", pod.created, pod.scheduled or pod.deleted)]
    if pod.scheduled is not None and pod.node is not None:
        homes.append((pod.node.name, pod.scheduled, pod.deleted))
    for node, start, stop in homes:
        writer.fact("kube_pod_info", {**info, "node": node}, (start, stop, 1))
        for box in pod.containers:
            for metric, amounts in (("requests", box.requests), ("limits", box.limits)):
                for resource, amount in amounts.items():
                    more = {"container": box.name, "node": node, "resource": resource, "unit": UNITS.get(resource, "integer")}  # fmt: skip
                    name = f"kube_pod_container_resource_{metric}"
                    writer.fact(name, {**base, **more}, (start, stop, amount))
    owner = {"owner_kind": kind or "<none>", "owner_name": info["created_by_name"] or "<none>"}
    controlled = {"owner_is_controller": "true" if kind else "<none>"}
    writer.fact("kube_pod_owner", {**base, **owner, **controlled}, life)
    writer.fact("kube_pod_labels", {**base, **_labels(pod.labels)}, life)
    writer.fact("kube_pod_created", base, (*life[:2], pod.created))
    for name, at in (
        ("kube_pod_status_scheduled_time", pod.scheduled),
        ("kube_pod_start_time", pod.scheduled),
        ("kube_pod_completion_time", pod.ended),
    ):
        if at is not None:
            writer.fact(name, base, (at, pod.deleted, at))
    _phases(writer, pod, base)
    for box in pod.containers:
        _restarts(writer, pod, box, base)


def _phases(writer: Writer, pod: Pod, base: dict[str, str]) -> None:
    last = "Failed" if pod.failed else "Succeeded"
    times = [("Pending", pod.created, pod.started or pod.deleted)]
    if pod.started is not None:
        times.append(("Running", pod.started, pod.ended or pod.deleted))
    if pod.ended is not None:
        times.append((last, pod.ended, pod.deleted))
    for phase in PHASES:
        spans: list[Span] = [(start, stop, float(phase == now)) for now, start, stop in times]
        writer.fact("kube_pod_status_phase", {**base, "phase": phase}, *spans)


def _restarts(writer: Writer, pod: Pod, box: Container, base: dict[str, str]) -> None:
    if pod.started is None:
        return
    labels = {**base, "container": box.name}
    times = [pod.started, *box.restarts]
    stops = [*box.restarts, pod.deleted]
    spans: list[Span] = [(start, stop, number) for number, (start, stop) in enumerate(zip(times, stops, strict=True))]
    writer.fact("kube_pod_container_status_restarts_total", labels, *spans)
    for start, stop in zip(times[1:], stops[1:], strict=True):
        reason = "OOMKilled" if start in box.kills else "Error"
        name = "kube_pod_container_status_last_terminated_reason"
        writer.fact(name, {**labels, "reason": reason}, (start, stop, 1))


def _owners(writer: Writer, week: Week) -> None:
    """Write the owners of the pods' ReplicaSets and Jobs, for as long as these exist."""
    found: dict[tuple[str, str, str], tuple[tuple[str, str] | None, int, int]] = {}
    for pod in week.pods:
        if not pod.owners or pod.owners[0][0] not in ("ReplicaSet", "Job"):
            continue
        key = (pod.namespace, *pod.owners[0])
        before = found.get(key, (None, pod.created, 0))
        above = pod.owners[1] if len(pod.owners) > 1 else None
        found[key] = (above, min(before[1], pod.created), max(before[2], pod.deleted or week.end))
    for (namespace, kind, name), (above, start, stop) in found.items():
        metric, label = ("kube_job_owner", "job_name") if kind == "Job" else ("kube_replicaset_owner", "replicaset")
        owner = {"owner_kind": above[0] if above else "<none>", "owner_name": above[1] if above else "<none>"}
        controlled = {"owner_is_controller": "true" if above else "<none>"}
        labels = {"namespace": namespace, label: name, **owner, **controlled}
        writer.fact(metric, labels, (start, stop, 1))


def _node(writer: Writer, week: Week, node: Node) -> None:
    labels = {
        "eks.amazonaws.com/nodegroup": node.pool,
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "node.kubernetes.io/instance-type": node.type,
        "topology.kubernetes.io/zone": "us-east-1a",
    }
    own = {"node": node.name}
    writer.fact("kube_node_labels", {**own, **_labels(labels)}, (node.first, node.last, 1))
    info = {"provider_id": f"aws:///us-east-1a/i-{identity(node.name)}", "kubelet_version": "v1.35.2"}
    writer.fact("kube_node_info", {**own, **info}, (node.first, node.last, 1))
    amounts = {"cpu": node.cores, "memory": node.memory}
    if node.gpus:
        amounts[node.gpus.resource] = node.gpus.count
    for resource, amount in amounts.items():
        more = {"resource": resource, "unit": UNITS.get(resource, "integer")}
        writer.fact("kube_node_status_allocatable", {**own, **more}, (node.first, node.last, amount))
    for name, value in (("container_memory_working_set_bytes", 900 * MIB), ("container_cpu_usage_seconds_total", 5000)):
        # the cgroup of all pods, of which nobody may think that it is one
        labels = {"id": "/kubepods", "node": node.name, "job": "kubelet"}
        writer.constant(name, labels, kubelet(week, node), (node.first, node.last, value))


def _queues(writer: Writer, week: Week) -> None:
    """Write the histograms of Kueue, whose counts began before the week."""
    ticks = clock(week, "kueue")
    for queue in week.queues:
        labels = {"cluster_queue": queue.queue, "job": "kueue-controller-manager"}
        for name in ("kueue_admission_wait_time_seconds", "kueue_quota_reserved_wait_time_seconds"):
            for bound in [*BUCKETS, float("inf")]:
                le = "+Inf" if bound == float("inf") else f"{bound:g}"
                counted = [(at, 1.0) for at, wait in queue.waits if wait <= bound]
                writer.constant(f"{name}_bucket", {**labels, "le": le}, ticks, *_counter(10, counted))
            writer.constant(f"{name}_sum", labels, ticks, *_counter(5, queue.waits))
            writer.constant(f"{name}_count", labels, ticks, *_counter(10, [(at, 1.0) for at, _ in queue.waits]))


def _counter(base: float, steps: list[tuple[int, float]]) -> list[Span]:
    found: list[Span] = []
    start, value = 0, base
    for at, more in sorted(steps):
        found.append((start, at, value))
        start, value = at, value + more
    return [*found, (start, None, value)]
