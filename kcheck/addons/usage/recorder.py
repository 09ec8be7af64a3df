"""Record a cluster's usage slice by slice, so that a recording can resume."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.addons.usage.facts import Facts, set_time
from kcheck.addons.usage.http import SlowError
from kcheck.addons.usage.installation import look
from kcheck.addons.usage.samples import Samples
from kcheck.addons.usage.slices import Slice, gpu_of
from kcheck.scale.usage import histogram
from kcheck.scale.usage.metrics import selector, table, window
from kcheck.scale.usage.recording import HOUR, NOBODY, VERSION, Container, Lack, Node, Pod, QueueWait, Recording
from kcheck.text import units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kcheck.addons.usage.installation import Installation
    from kcheck.addons.usage.prometheus import Prometheus
    from kcheck.addons.usage.slices import Key, PodSlice, Sums
    from kcheck.scale.usage.metrics import Wait
    from kcheck.scale.usage.recording import Hours, Owner

_SCRAPED = 10_000_000
"""Samples that a query about a slice may read; Prometheus refuses more than 50 million by default."""

_LONGEST = 24


class Question(Struct, frozen=True):
    """Scope of a recording: `window` before `end`, `step` seconds, matchers."""

    window: int
    step: int
    end: int
    matchers: tuple[str, ...] = ()


class Recorder:
    """Makes or completes a recording, consistent after each slice."""

    def __init__(self, prometheus: Prometheus, recording: Recording, installation: Installation) -> None:
        self.recording = recording
        self.is_consistent = True
        self._prometheus = prometheus
        self._installation = installation

    @classmethod
    def new(cls, prometheus: Prometheus, question: Question) -> Recorder:
        """Start a recording. Raises HttpError without a reply or anything to record."""
        begin, end, step = question.end - question.window, question.end, question.step
        found = look(prometheus, list(question.matchers), begin, end, step=step)
        recording = Recording(
            VERSION, found.begin, end, found.begin, step, found.interval, asked=question.window, source=prometheus.url,
            matchers=list(question.matchers),
        )  # fmt: skip
        return cls(prometheus, recording, found)

    @classmethod
    def of_part(cls, prometheus: Prometheus, part: Recording) -> Recorder:
        """Resume a partial recording. Raises HttpError if there is no response."""
        asked = part.end - part.asked
        return cls(prometheus, part, look(prometheus, part.matchers, asked, part.end, step=part.step, since=part.begin))

    def run(self, progress: Callable[[str], None], after_slice: Callable[[], None]) -> None:
        """Record what is missing; call `after_slice` after each slice.

        Raises HttpError if the server stopped responding; completed slices stay in the recording.
        """
        recording, installation = self.recording, self._installation
        begin, end = recording.begin, recording.end
        facts = Facts(self._prometheus, installation)
        merging = Merging(recording, installation.seen_by, *facts.standing(begin))
        samples = Samples(self._prometheus, installation, begin, recording.step, merging.pods.get)
        hours = slice_hours(installation)
        while not recording.is_whole:
            until = min(recording.until + hours * HOUR, end)
            progress(f"recording, {100 * (recording.until - begin) // (end - begin)} %")
            found = Slice(recording.until, until, -(-(until - recording.until) // HOUR))
            facts.add(found)
            samples.add(found)
            waits = _queue_waits(self._prometheus, recording) if until >= end else []
            self.is_consistent = False
            merging.add(found)
            self._note(Lack("answers", text) for text in self._prometheus.warnings)
            if until >= end:
                recording.waits = waits
                self._finish()
            recording.until = until
            self.is_consistent = True
            after_slice()

    def _note(self, lacks: Iterable[Lack]) -> None:
        self.recording.lacks = list(dict.fromkeys([*self.recording.lacks, *lacks]))

    def _finish(self) -> None:
        recording = self.recording
        recording.pods = sorted(
            (_finished(pod, recording) for pod in recording.pods if _is_of_time(pod, recording.begin)),
            key=lambda pod: (pod.namespace, pod.name),
        )
        recording.nodes.sort(key=lambda node: node.name)
        shortest = 2 * max(recording.step, recording.interval)
        recording.gaps = [(begin, end) for begin, end in recording.gaps if end - begin > shortest]
        said, recording.lacks = recording.lacks, []
        self._note(self._installation.lacks)
        self._note(_lacks_of(recording))
        self._note(said)


def slice_hours(installation: Installation) -> int:
    """Return the hours per slice that any Prometheus can read in one query."""
    an_hour = installation.series * HOUR / installation.interval
    return max(1, min(_LONGEST, int(_SCRAPED / max(1, an_hour))))


_DAY = 86_400


def _lacks_of(recording: Recording) -> Iterator[Lack]:
    """Yield what was not measured: lost time, gaps, nodes without GPU exporter."""
    has = recording.end - recording.begin
    if has < recording.asked * 0.99:
        text = f"the Prometheus has {has / _DAY:.2g} of {recording.asked / _DAY:.2g} days; raise its retention"
        yield Lack("window", text)
    if recording.gaps:
        lost = sum(end - begin for begin, end in recording.gaps)
        count = units.counted(len(recording.gaps), "gap")
        yield Lack("gaps", f"nothing was scraped for {units.readable(lost)} in {count}; that time is left out")
    nodes, silent = set(), set()
    for pod in recording.pods:
        wants = any(name.endswith("_gpu") for one in pod.containers.values() for name in one.requests)
        if wants and pod.node and pod.running:
            nodes.add(pod.node)
            if not any(one.gpus for one in pod.containers.values()):
                silent.add(pod.node)
    if silent and silent != nodes:
        some = ", ".join(sorted(silent)[:3])
        text = f"no GPU metrics from {len(silent)} of {len(nodes)} nodes with GPUs ({some}); install the exporter there"
        yield Lack("gpu", text)


_HIGH = 0.95


def _queue_waits(prometheus: Prometheus, recording: Recording) -> list[QueueWait]:
    found = []
    for wait in table()["waits"]:
        try:
            found += _queue_waits_of(prometheus, wait, recording)
        except SlowError:
            continue
    return sorted(found, key=lambda one: (one.system, one.what, one.queue))


def _queue_waits_of(prometheus: Prometheus, wait: Wait, recording: Recording) -> list[QueueWait]:
    by, end = wait["queue"], recording.end
    over = window(end - recording.begin)

    def sums(name: str, *labels: str) -> dict[tuple[str, ...], float]:
        series = selector(f"{wait['name']}_{name}", recording.matchers)
        query = f"sum by ({','.join(labels)}) (increase({series}[{over}]))"
        samples = prometheus.instant(query, end)
        return {tuple(one.metric.get(label, "") for label in labels): one.value[1] for one in samples}

    labels = [by] if by else []
    counts = sums("count", *labels)
    if not any(count > 0 for count in counts.values()):
        return []
    totals, buckets = sums("sum", *labels), sums("bucket", *labels, "le")
    found = []
    for queue, count in counts.items():
        if not 0 < count < math.inf:
            continue
        own = sorted((_bucket_bound(key[-1]), number) for key, number in buckets.items() if key[:-1] == queue)
        mean, high = totals.get(queue, 0) / count, _quantile(own, count * _HIGH)
        scale, name = wait["scale"], queue[0] if queue else ""
        found.append(QueueWait(wait["system"], name, wait["what"], round(count, 1), mean * scale, high * scale))
    return found


def _quantile(buckets: list[tuple[float, float]], rank: float) -> float:
    """Interpolate a rank in cumulative buckets, linearly as Prometheus does."""
    low, below = 0.0, 0.0
    for bound, count in buckets:
        if count >= rank:
            return low if bound == math.inf else low + (bound - low) * (rank - below) / max(count - below, 1e-9)
        low, below = bound, count
    return low if low < math.inf else 0.0


def _bucket_bound(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf


_MIB = 1 << 20


class Merging:
    """Adds slices to a recording in order of time."""

    def __init__(
        self, recording: Recording, seen_by: str, restarts: Mapping[tuple[str, ...], int], killed: set[tuple[str, ...]]
    ) -> None:
        """Take `restarts` and `killed` at the begin, so that earlier ones do not count."""
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
                if not key[1] or not _is_of_time(one.pod, self._recording.begin):
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
        for name in ("created", "scheduled", "started", "first"):
            set_time(pod, name, getattr(new, name), earliest=True)
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
            histogram.merge(into, values)
        old.memory_peak = max(old.memory_peak, new.memory_peak)
        old.first = new.first if old.first is None else old.first
        for one in sorted(new.gpus, key=lambda gpu: gpu.id):
            gpu = gpu_of(old, one.id)
            gpu.model, gpu.profile = one.model or gpu.model, one.profile or gpu.profile
            histogram.merge(gpu.busy, one.busy)
            histogram.merge(gpu.tensor, one.tensor)
            gpu.memory, gpu.memory_total = max(gpu.memory, one.memory), max(gpu.memory_total, one.memory_total)
            gpu.power, gpu.power_samples = round(gpu.power + one.power, 1), gpu.power_samples + int(one.power_samples)

    def _add_restarts(self, pod: Pod, name: str, count: int, *, was_killed: bool) -> None:
        """Add restarts since the begin; count those for memory as kills."""
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
        gaps, step = self._recording.gaps, self._recording.step
        for at in range(found.begin, found.end, step):
            if at in found.covered:
                continue
            if gaps and gaps[-1][1] == at:
                gaps[-1] = (gaps[-1][0], at + step)
            else:
                gaps.append((at, at + step))


def _is_of_time(pod: Pod, begin: int) -> bool:
    """Whether a pod existed after the recording's begin."""
    return pod.first is not None or pod.waiting > 0 or (pod.created is not None and pod.created >= begin)


def _finished(pod: Pod, recording: Recording) -> Pod:
    """Finalize a pod: drop the end of one that came back, and trim one that is gone.

    It was last measured less than an interval before its end, while its last sample stands for a whole step.
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
    """Return an owner and its owners, from the pod outwards."""
    if owner == NOBODY:
        return [owner]
    above = {"ReplicaSet": found.replica_sets, "Job": found.jobs}.get(owner.kind, {}).get((namespace, owner.name))
    return [owner, above] if above and above != NOBODY else [owner]


def _open(hours: Hours, hour: int) -> None:
    if not hours.seconds:
        hours.first = hour
    for _ in range(hour - hours.first - len(hours.seconds) + 1):
        hours.seconds.append(0)
        for values in (hours.cpu, hours.memory, hours.busy):
            values.append(None)


def _mean(sums: Sums | None, hour: int, unit: int = 1) -> int | None:
    return round(sums.total[hour] / sums.steps[hour] / unit) if sums and sums.steps[hour] else None
