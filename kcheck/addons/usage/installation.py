"""Metrics that a Prometheus has of a cluster, with interval, start and gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.addons.usage.http import HttpError
from kcheck.scale.usage import metrics
from kcheck.scale.usage.metrics import Metric, selector
from kcheck.scale.usage.recording import HOUR, Lack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.addons.usage.prometheus import Prometheus
    from kcheck.scale.usage.metrics import Family
_LOOKS = 48
"""Times in the window at which metrics are looked for, as they may come and go."""

_FINE_LOOKS = 300
_MOST_SERIES = 1e9
_RECENT = 600
"""Seconds over which scrapes are counted."""

_MANY = 20
"""Minimum samples for one more or less not to matter."""

SEEN_BY = ("memory", "cpu", "gpu_busy", "gpu_engine")
"""Roles of metrics that show a running pod, the best first."""


class Installation(Struct):
    """Available metrics by role; data begins at `begin`."""

    begin: int
    metrics: dict[str, list[Metric]]
    lacks: list[Lack]

    def first(self, role: str) -> Metric | None:
        """Return the first metric with the role; None if there is none."""
        return next(iter(self.metrics.get(role, ())), None)

    @property
    def seen_by(self) -> str:
        """Role of the metric that shows running pods here."""
        return next(role for role in SEEN_BY if role in self.metrics)

    @property
    def interval(self) -> int:
        """Seconds between samples of the metric that shows running pods."""
        return self.metrics[self.seen_by][0].interval

    @property
    def series(self) -> int:
        """Approximate number of series of the largest metric."""
        return max(one.series for found in self.metrics.values() for one in found)


def look(
    prometheus: Prometheus, matchers: list[str], begin: int, end: int, *, step: int, since: int | None = None
) -> Installation:
    """Find the metrics of a Prometheus from `begin` to `end`.

    Raises HttpError if there is no response, or there are no metrics of containers or GPUs.
    """
    found: dict[str, list[Metric]] = {}
    for name, family in metrics.table()["families"].items():
        for role, one in _of_family(prometheus, name, family, matchers, (begin, end)):
            found.setdefault(role, []).append(one)
    if not any(role in found for role in SEEN_BY):
        where = f" with {', '.join(matchers)}" if matchers else ""
        todo = metrics.table()["families"]["cadvisor"]["missing"]
        raise HttpError(f"{prometheus.url} has no metrics of containers or GPUs in this time{where}; {todo}")
    installation = Installation(begin, found, list(_lacks(found)))
    installation.begin = _beginning(prometheus, installation, begin, end, step=step) if since is None else since
    return installation


def _of_family(
    prometheus: Prometheus, name: str, family: Family, matchers: list[str], time: tuple[int, int]
) -> Iterator[tuple[str, Metric]]:
    interval = 0
    for role, entry in family["metrics"].items():
        for metric in entry["names"]:
            series, at = _count(prometheus, f"count({selector(metric, matchers)})", time)
            if series:
                interval = interval or _interval(prometheus, selector(metric, matchers), at)
                yield role, Metric(
                    metric, name, (entry.get("where", ""), *matchers),
                    tuple(map(tuple, family["labels"].values())), tuple(entry.get("labels", ())),
                    scale=entry.get("scale", 1), exporter=family.get("exporter", ""), series=series, interval=interval,
                )  # fmt: skip
                break


def _count(prometheus: Prometheus, query: str, time: tuple[int, int]) -> tuple[int, int]:
    """Return a query's largest count in a time range, and a time at which it has data."""
    begin, end = time
    every = max(1, (end - begin) // _LOOKS)
    values = [pair for series in prometheus.matrix(query, end - every * _LOOKS, end, every) for pair in series.values]
    counted = [(number, at) for at, number in values if 0 < number < _MOST_SERIES and begin <= at <= end]
    return (int(max(counted)[0]), int(counted[len(counted) // 2][1])) if counted else (0, 0)


def _interval(prometheus: Prometheus, name: str, at: int) -> int:
    """Estimate the seconds between samples of a metric.

    Few samples in a short time are inexact, but over an hour, most series may be short.
    """
    about = _spacing(prometheus, name, at, _RECENT)
    if about <= _RECENT / _MANY:
        return max(1, round(about))
    exact = _spacing(prometheus, name, at, HOUR)
    return max(1, round(exact if abs(exact - about) <= about * about / _RECENT else about))


def _spacing(prometheus: Prometheus, name: str, at: int, seconds: int) -> float:
    """Return the seconds per sample of series that lived throughout."""
    count = prometheus.number(f"quantile(0.75, count_over_time({name}[{metrics.window(seconds)}]))", at)
    return seconds / count if count and count >= 1 else seconds


def _beginning(prometheus: Prometheus, installation: Installation, begin: int, end: int, *, step: int) -> int:
    query = f"count({installation.metrics[installation.seen_by][0].selector})"
    every = max(step, (end - begin) // _FINE_LOOKS // step * step)
    first = _first(prometheus, query, begin, end, every)
    if first is not None and every > step and first > begin:
        first = _first(prometheus, query, max(begin, first - every), first, step)
    return begin if first is None or first - begin <= 2 * max(step, installation.interval) else first - step


def _first(prometheus: Prometheus, query: str, begin: int, end: int, every: int) -> int | None:
    """Return the first of the queried times with data; None if none has any."""
    found = [series.values[0][0] for series in prometheus.matrix(query, begin, end, every)]
    return int(min(found)) if found else None


_MISSING = {
    "cpu": ("cpu",), "memory": ("memory",), "gpu": ("gpu_busy", "gpu_engine"), "owners": ("pod_owner",),
    "requests": ("requests",), "restarts": ("restarts",), "waiting": ("pod_pending",), "nodes": ("node_info",),
}  # fmt: skip
"""Gaps in a recording, with the roles of which none is available."""


def _lacks(found: dict[str, list[Metric]]) -> Iterator[Lack]:
    for what, roles in _MISSING.items():
        if not any(role in found for role in roles):
            family = next(one for one in metrics.table()["families"].values() if roles[0] in one["metrics"])
            yield Lack(what, f"no {family['metrics'][roles[0]]['names'][0]}; {family['missing']}")
    if "pod_info" in found and "pod_labels" not in found:
        yield Lack("labels", "no kube_pod_labels; run kube-state-metrics with --metric-labels-allowlist=pods=[*]")
    if ("gpu_busy" in found or "gpu_engine" in found) and "gpu_tensor" not in found:
        yield Lack("tensor", "no DCGM_FI_PROF_PIPE_TENSOR_ACTIVE; add it to the counters of dcgm-exporter")
