"""How long workloads waited in queues, from the histograms of Kueue and Volcano."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kcheck.addons.usage.http import SlowError
from kcheck.scale.usage.metrics import selector, waits, window
from kcheck.scale.usage.recording import QueueWait

if TYPE_CHECKING:
    from kcheck.addons.usage.prometheus import Prometheus
    from kcheck.scale.usage.metrics import Wait
    from kcheck.scale.usage.recording import Recording
_HIGH = 0.95


def queue_waits(prometheus: Prometheus, recording: Recording) -> list[QueueWait]:
    """The waiting times of each queue over the time of a recording."""
    found = []
    for wait in waits():
        try:
            found += _of(prometheus, wait, recording)
        except SlowError:
            continue
    return sorted(found, key=lambda one: (one.system, one.what, one.queue))


def _of(prometheus: Prometheus, wait: Wait, recording: Recording) -> list[QueueWait]:
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
        own = sorted((_bound(key[-1]), number) for key, number in buckets.items() if key[:-1] == queue)
        mean, high = totals.get(queue, 0) / count, _quantile(own, count * _HIGH)
        scale, name = wait["scale"], queue[0] if queue else ""
        found.append(QueueWait(wait["system"], name, wait["what"], round(count, 1), mean * scale, high * scale))
    return found


def _quantile(buckets: list[tuple[float, float]], rank: float) -> float:
    """The value with a rank in cumulative buckets; within one, values are spread evenly, as Prometheus has it."""
    low, below = 0.0, 0.0
    for bound, count in buckets:
        if count >= rank:
            return low if bound == math.inf else low + (bound - low) * (rank - below) / max(count - below, 1e-9)
        low, below = bound, count
    return low if low < math.inf else 0.0


def _bound(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf
