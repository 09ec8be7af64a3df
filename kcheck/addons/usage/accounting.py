"""Amounts that pods requested, used and held in part of a recording."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from kcheck.scale.usage import nodes
from kcheck.scale.usage.nodes import Priced
from kcheck.scale.usage.recording import HOUR, Gpu, Pod, Recording

_GIB = 1 << 30
_MIB_OF_GIB = 1 << 10
_MILLI = 1000
_PERCENT = 100


class Period(Struct, frozen=True):
    """Part of a recording, with its hours from `first` up to `last`, exclusive."""

    begin: int
    end: int
    first: int
    last: int

    def within(self, begin: int, end: int) -> int:
        """Count the seconds from `begin` to `end` that are in the period."""
        return max(0, min(end, self.end) - max(begin, self.begin))

    def has(self, time: int | None) -> bool:
        """Whether a time is in the period; an unknown time is not."""
        return time is not None and self.begin <= time < self.end


class Amounts(Struct):
    """Sums over pods: hours of GPUs, cores and GiB, US dollars, and idle parts.

    GPUs and MIG slices count by their share of a GPU. `gpu_measured` are the GPU-hours with measured use, `gpu_busy`
    and `gpu_idle` the two parts of these; `tensor_busy` of `tensor_measured` had active tensor cores. `gpu_unpriced`
    and `cpu_unpriced` were on nodes without a price. Of `paid`, `unmeasured` is for pods without measured use: it is
    not among `idle`. `queued` pods waited `queue_hours` for a node, the longest of them `queue_longest`. While gangs
    waited for their last pod, the others held `gang_gpu_hours`.
    """

    pods: int = 0
    runs: int = 0
    pod_hours: float = 0
    gpu_hours: float = 0
    gpu_measured: float = 0
    gpu_busy: float = 0
    gpu_idle: float = 0
    tensor_measured: float = 0
    tensor_busy: float = 0
    energy_kwh: float = 0
    cpu_requested: float = 0
    cpu_used: float = 0
    memory_requested: float = 0
    memory_used: float = 0
    paid: float = 0
    idle: float = 0
    unmeasured: float = 0
    gpu_unpriced: float = 0
    cpu_unpriced: float = 0
    queued: int = 0
    queue_hours: float = 0
    queue_longest: float = 0
    gang_gpu_hours: float = 0

    def add(self, other: Amounts) -> None:
        """Add other amounts."""
        longest = max(self.queue_longest, other.queue_longest)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.queue_longest = longest

    def times(self, factor: float) -> Amounts:
        """Scale the amounts to a time longer by a factor; the longest wait stays."""
        if factor == 1:
            return self
        scaled = {name: getattr(self, name) * factor for name in self.__struct_fields__}
        return Amounts(**scaled | {"queue_longest": self.queue_longest})

    @property
    def gpu_use(self) -> float | None:
        """Use of the measured GPUs, from 0 to 1; None if none was measured."""
        return self.gpu_busy / self.gpu_measured if self.gpu_measured else None

    @property
    def tensor_use(self) -> float | None:
        """Use of the tensor cores, from 0 to 1; None if not measured."""
        return self.tensor_busy / self.tensor_measured if self.tensor_measured else None

    @property
    def cpu_use(self) -> float | None:
        """Used cores as a share of those requested; None if none was requested."""
        return self.cpu_used / self.cpu_requested if self.cpu_requested else None

    @property
    def memory_use(self) -> float | None:
        """Used memory as a share of requested memory; None if none was requested."""
        return self.memory_used / self.memory_requested if self.memory_requested else None

    @property
    def queue_mean(self) -> float | None:
        """Mean hours that a pod waited for a node; None if unknown for all."""
        return self.queue_hours / self.queued if self.queued else None


def total(found: Iterable[Amounts]) -> Amounts:
    """Sum amounts."""
    result = Amounts()
    for one in found:
        result.add(one)
    return result


class Share(Struct):
    """Share of its node that a pod took for some `seconds`: paid and used.

    `used` is None if not measured. Nothing here depends on a price.
    """

    seconds: float
    paid: float
    used: float | None


class Held(Struct):
    """A pod in a period: requests, use, and share of its node, None if unknown."""

    amounts: Amounts
    share: Share | None


def held(pod: Pod, node: Priced | None, span: Period, recording: Recording) -> Held | None:
    """Compute the amounts of a pod in a period; None if it was absent."""
    low, high = (max(0, hour - pod.hours.first) for hour in (span.first, span.last))
    seconds = pod.hours.seconds[low:high]
    before = _before_running(pod, span, recording)
    whole = sum(seconds) + before
    if not whole:
        return None
    asked, hours, copies = pod.requested, whole / HOUR, node.copies if node else 1
    cards = [gpu for container in pod.containers.values() for gpu in container.gpus]
    count, watched = _cards(asked, cards, copies)
    cpu, memory = _over(pod.hours.cpu[low:high], seconds), _over(pod.hours.memory[low:high], seconds)
    result = Amounts(
        pods=1, pod_hours=hours, gpu_hours=count * hours,
        cpu_requested=asked.get("cpu", 0) / _MILLI * hours, memory_requested=asked.get("memory", 0) / _GIB * hours,
        cpu_used=cpu.sum / _MILLI / HOUR, memory_used=memory.sum / _MIB_OF_GIB / HOUR,
    )  # fmt: skip
    busy = _over(pod.hours.busy[low:high], seconds)
    if count and watched and busy.seconds:
        result.gpu_measured = count * busy.seconds / HOUR
        result.gpu_busy = result.gpu_measured * min(1.0, busy.sum / busy.seconds / _PERCENT / watched)
        result.gpu_idle = result.gpu_measured - result.gpu_busy + count * before / HOUR
        _add_activity(result, cards)
    if node is None:
        return Held(result, None)
    if node.gpus:
        return Held(result, _share_of_gpus(count * copies / node.gpus, result, whole))
    return Held(result, _share_of_cores(node, result, whole, is_measured=bool(cpu.seconds)))


def _cards(asked: dict[str, float], cards: Sequence[Gpu], copies: int) -> tuple[float, int]:
    """Count a pod's whole GPUs, and the GPUs measured at the same time."""
    seen = len({gpu.id for gpu in cards})
    return nodes.gpus(asked) / copies or seen, min(seen, round(nodes.devices(asked)) or seen)


def busy_hours(pod: Pod, node: Priced | None) -> Iterator[tuple[int, float, float]]:
    """Yield a pod's measured GPU-hours and their busy part for each hour."""
    cards = [gpu for container in pod.containers.values() for gpu in container.gpus]
    count, watched = _cards(pod.requested, cards, node.copies if node else 1)
    for hour, (busy, seconds) in enumerate(zip(pod.hours.busy, pod.hours.seconds, strict=False), pod.hours.first):
        if busy is not None and watched and seconds:
            measured = count * seconds / HOUR
            yield hour, measured, measured * min(1.0, busy / _PERCENT / watched)


def _add_activity(into: Amounts, cards: Sequence[Gpu]) -> None:
    """Add measurements of tensor cores and power, which have only totals."""
    tensor = [(percent, number) for gpu in cards for percent, number in gpu.tensor.items()]
    samples = sum(number for _, number in tensor)
    if samples:
        active = sum(percent * number for percent, number in tensor) / samples / _PERCENT
        into.tensor_measured, into.tensor_busy = into.gpu_measured, into.gpu_measured * active
    power = [gpu.power / gpu.power_samples for gpu in cards if gpu.power_samples and not gpu.profile]
    if power:
        into.energy_kwh = sum(power) / len(power) * into.gpu_measured / _MILLI


def _share_of_gpus(share: float, had: Amounts, seconds: float) -> Share:
    """Return a pod's share of a GPU node: its GPUs, which others cannot use."""
    share = min(1.0, share)
    if not share:
        return Share(seconds, 0, 0)
    watched = had.gpu_busy + had.gpu_idle
    return Share(seconds, share, share * had.gpu_busy / watched if had.gpu_measured else None)


def _share_of_cores(node: Priced, had: Amounts, seconds: float, *, is_measured: bool) -> Share | None:
    """Return a pod's share of a node without GPUs: of cores or memory.

    It pays for the larger of its request and its use, as in OpenCost's specification:
    https://www.opencost.io/docs/specification.
    """
    hours = seconds / HOUR
    cores = node.node.allocatable.get("cpu", 0) / _MILLI * hours
    memory = node.node.allocatable.get("memory", 0) / _GIB * hours
    if not cores or not memory:
        return None
    used = max(had.cpu_used / cores, had.memory_used / memory)
    share = max(had.cpu_requested / cores, had.memory_requested / memory, used)
    return Share(seconds, min(1.0, share), min(1.0, used) if is_measured else None)


def _before_running(pod: Pod, span: Period, recording: Recording) -> int:
    """Count the seconds a pod held its node before it ran.

    None if its start was not seen: it started before the recording, or in a gap of it.
    """
    if pod.scheduled is None:
        return 0
    if pod.first is not None:
        gap = bisect_left(recording.gaps, (pod.first, 0)) - 1
        is_seen = pod.scheduled >= recording.begin and (gap < 0 or recording.gaps[gap][1] <= pod.scheduled)
        return span.within(pod.scheduled, pod.first) if is_seen else 0
    return span.within(pod.scheduled, pod.ended or pod.pending or pod.scheduled)


class _Sum(NamedTuple):
    """Sum of means times their seconds, and these seconds."""

    sum: float
    seconds: int


def _over(means: Sequence[int | None], seconds: Sequence[int]) -> _Sum:
    pairs = [(mean, number) for mean, number in zip(means, seconds, strict=True) if mean is not None]
    return _Sum(sum(mean * number for mean, number in pairs), sum(number for _, number in pairs))
