"""Add what was found in a slice of time to a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.addons.usage.facts import set_time
from kcheck.scale.usage.recording import HOUR, NOBODY, Container, Gpu, Node, Pod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.addons.usage.slices import Key, PodSlice, Slice, Sums
    from kcheck.scale.usage.histogram import Histogram
    from kcheck.scale.usage.recording import Hours, Owner, Recording
_MIB = 1 << 20


class Merging:
    """Adds slices to a recording, in the order of time."""

    def __init__(
        self, recording: Recording, seen_by: str, restarts: Mapping[tuple[str, ...], int], killed: set[tuple[str, ...]]
    ) -> None:
        """`restarts` and `killed` are as at the begin of the recording: what is older counts for nothing."""
        self.pods: dict[Key, Pod] = {(pod.namespace, pod.name): pod for pod in recording.pods}
        self._recording = recording
        self._nodes = {node.name: node for node in recording.nodes}
        self._seen_by = "gpu" if seen_by.startswith("gpu") else seen_by
        self._restarts = restarts
        self._killed = killed

    def add(self, found: Slice) -> None:
        """Add a slice."""
        for key, one in found.pods.items():
            pod = self.pods.get(key)
            if pod is None:
                if not key[1] or not is_of_time(one.pod, self._recording.begin):
                    continue
                pod = self.pods[key] = Pod(*key)
                self._recording.pods.append(pod)
            self._add_pod(pod, one, found)
        for name, node in found.nodes.items():
            self._add_node(name, node)
        self._recording.namespaces |= found.namespaces
        self._recording.namespaces = dict(sorted(self._recording.namespaces.items()))
        self._add_gaps(found)

    def _add_pod(self, pod: Pod, found: PodSlice, slice_: Slice) -> None:
        new = found.pod
        if new.owners:
            pod.owners = list(_chain(new.owners[0], pod.namespace, slice_))
        pod.node, pod.priority = new.node or pod.node, new.priority or pod.priority
        if new.labels and new.labels != pod.labels:
            pod.labels = new.labels
        for name, earliest in (("created", True), ("scheduled", True), ("started", True), ("first", True)):
            set_time(pod, name, getattr(new, name), earliest=earliest)
        for name in ("ended", "last", "pending"):
            set_time(pod, name, getattr(new, name), earliest=False)
        pod.waiting += new.waiting
        for name, container in new.containers.items():
            self._add_container(pod, name, container)
        for name, count in found.restarts.items():
            self._add_restarts(pod, name, count, was_killed=name in found.killed)
        self._add_hours(pod, found, slice_)

    def _add_container(self, pod: Pod, name: str, new: Container) -> None:
        old = pod.containers.setdefault(name, Container())
        old.requests, old.limits = new.requests or old.requests, new.limits or old.limits
        for into, values in ((old.starting, new.starting), (old.cpu, new.cpu), (old.memory, new.memory)):
            _add_histogram(into, values)
        old.memory_peak = max(old.memory_peak, new.memory_peak)
        old.first = new.first if old.first is None else old.first
        gpus = {gpu.id: gpu for gpu in old.gpus}
        for one in sorted(new.gpus, key=lambda gpu: gpu.id):
            gpu = gpus.get(one.id)
            if gpu is None:
                gpu = Gpu(one.id)
                old.gpus.append(gpu)
            gpu.model, gpu.profile = one.model or gpu.model, one.profile or gpu.profile
            _add_histogram(gpu.busy, one.busy)
            _add_histogram(gpu.tensor, one.tensor)
            gpu.memory, gpu.memory_total = max(gpu.memory, one.memory), max(gpu.memory_total, one.memory_total)
            gpu.power, gpu.power_samples = round(gpu.power + one.power, 1), gpu.power_samples + int(one.power_samples)

    def _add_restarts(self, pod: Pod, name: str, count: int, *, was_killed: bool) -> None:
        """Add restarts since the begin; those of a slice in which the last end was for want of memory are kills."""
        container, key = pod.containers.setdefault(name, Container()), (pod.namespace, pod.name, name)
        since = max(container.restarts, count - self._restarts.get(key, 0))
        if was_killed and (since > container.restarts or (not container.kills and key not in self._killed)):
            container.kills += max(1, since - container.restarts)
            container.killed = max(container.killed, container.limits.get("memory", 0.0))
        container.restarts = since

    def _add_hours(self, pod: Pod, found: PodSlice, slice_: Slice) -> None:
        seen = found.sums.get(self._seen_by)
        if seen is None:
            return
        step, base = self._recording.step, (slice_.begin - self._recording.begin) // HOUR
        measured = [hour for hour, steps in enumerate(seen.steps) if steps]
        for hour in measured:
            _open(pod.hours, base + hour)
            pod.hours.seconds[-1] = int(seen.steps[hour]) * step
            pod.hours.cpu[-1] = _mean(found.sums.get("cpu"), hour)
            pod.hours.memory[-1] = _mean(found.sums.get("memory"), hour, _MIB)
            pod.hours.busy[-1] = _mean(found.sums.get("gpu"), hour)
        pod.running += sum(seen.steps) * step

    def _add_node(self, name: str, new: Node) -> None:
        node = self._nodes.get(name)
        if node is None:
            if not new.seconds:
                return
            node = self._nodes[name] = Node(name)
            self._recording.nodes.append(node)
        node.labels, node.provider = new.labels or node.labels, new.provider or node.provider
        node.allocatable = new.allocatable or node.allocatable
        node.first = new.first if node.first is None else node.first
        node.last = node.last if new.last is None else new.last
        node.seconds += new.seconds

    def _add_gaps(self, found: Slice) -> None:
        """Add the times in which nothing was seen; one that goes on from the slice before is one."""
        gaps, step = self._recording.gaps, self._recording.step
        for at in range(found.begin, found.end, step):
            if at in found.covered:
                continue
            if gaps and gaps[-1][1] == at:
                gaps[-1] = (gaps[-1][0], at + step)
            else:
                gaps.append((at, at + step))


def is_of_time(pod: Pod, begin: int) -> bool:
    """Whether a pod was there after the begin of a recording; many have ended before, and were not deleted."""
    return pod.first is not None or pod.waiting > 0 or (pod.created is not None and pod.created >= begin)


def finished(pod: Pod, recording: Recording) -> Pod:
    """A pod as it is in a whole recording.

    One that came back has not ended. One that is gone was last measured less than an interval before its end, and its
    last sample stands for a whole step.
    """
    step, tail = recording.step, recording.step - recording.interval
    gone = pod.last is not None and pod.last + step < recording.end
    if gone and tail > 0 and pod.hours.seconds[-1] > tail:
        pod.hours.seconds[-1] -= tail
        pod.running -= tail
    came_back = (
        pod.ended is not None and pod.last is not None and pod.last > pod.ended + 2 * max(step, recording.interval)
    )
    return replace(pod, ended=None) if came_back else pod


def _chain(owner: Owner, namespace: str, found: Slice) -> list[Owner]:
    """An owner and the owners of it, from the pod outwards."""
    if owner == NOBODY:
        return [owner]
    above = {"ReplicaSet": found.replica_sets, "Job": found.jobs}.get(owner.kind, {}).get((namespace, owner.name))
    return [owner, above] if above and above != NOBODY else [owner]


def _add_histogram(into: Histogram, new: Histogram) -> None:
    for at, count in new.items():
        into[at] = into.get(at, 0) + count


def _open(hours: Hours, hour: int) -> None:
    """Make a place for an hour, and for those left out before it."""
    if not hours.seconds:
        hours.first = hour
    for _ in range(hour - hours.first - len(hours.seconds) + 1):
        hours.seconds.append(0)
        for values in (hours.cpu, hours.memory, hours.busy):
            values.append(None)


def _mean(sums: Sums | None, hour: int, unit: int = 1) -> int | None:
    return round(sums.total[hour] / sums.steps[hour] / unit) if sums and sums.steps[hour] else None
