"""Cluster autoscaler metrics, from a Prometheus response or the text of /metrics.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/metrics.md
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from kcheck.addons.calibration.model import CalibrationError, Loops, NodeTimes, Recording
from kcheck.text.regex import regex

_PREFIX = "cluster_autoscaler_"
_LOOP = "function_duration_seconds"
_UP, _DOWN, _NODES = "scaled_up_nodes_total", "scaled_down_nodes_total", "nodes_count"
_EMPTY = "unneeded_nodes_count"
_LINE = regex(r"cluster_autoscaler_(?P<name>\w+)(?:\{(?P<labels>[^}\n]{0,2000})\})? (?P<value>\S{1,40})")
_LABEL = regex(r'(\w+)="([^"]*)"')
_MOST_NODES = 100_000
_LARGEST = 1e15


class Sample(NamedTuple):
    """A sample of an autoscaler metric, named without the common prefix."""

    name: str
    labels: dict[str, str]
    time: float
    value: float


class Metrics:
    """Values by name and time, summed over instances."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.values: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
        self.buckets: dict[float, dict[float, float]] = defaultdict(lambda: defaultdict(float))
        self.times: set[float] = set()
        for name, labels, time, value in samples:
            if not (abs(value) < _LARGEST and abs(time) < _LARGEST):  # infinite and nan among them
                continue
            if name.startswith(_LOOP) and labels.get("function") != "main":
                continue
            if name == f"{_LOOP}_bucket":
                bound = _float(labels.get("le", ""))
                if bound is not None:
                    self.buckets[bound][time] += value
                continue
            self.values[name][time] += value
            self.times.add(time)
            if name == _NODES and labels.get("state") == "ready":
                self.values["ready"][time] += value

        for name in (_UP, _DOWN):  # they are not there before their first increase
            self.values[name] = defaultdict(float, {time: self.values[name].get(time, 0) for time in self.times})

    def increases(self, name: str) -> list[tuple[float, float, int]]:
        """List the increases between samples: begin, end, amount."""
        values = sorted(self.values[name].items())
        return [(begin, end, round(more - less)) for (begin, less), (end, more) in pairwise(values)]

    def grown(self, name: str, begin: float, end: float) -> float | None:
        """Return the increase between two times; None if a sample is missing."""
        first, last = self.values[name].get(begin), self.values[name].get(end)
        return None if first is None or last is None else last - first


def is_text(text: str) -> bool:
    """Whether a text is the autoscaler's /metrics output."""
    return f"\n{_PREFIX}" in f"\n{text}"


def read_text(text: str) -> Recording:
    """Read the loops since the autoscaler's start."""
    return _read(Metrics(_lines(text)))


def read_answer(data: dict[str, object]) -> Recording:
    """Read a Prometheus response with autoscaler metrics.

    Raises CalibrationError if it is an error, or has another form.
    """
    inner = data.get("data")
    series = inner.get("result") if isinstance(inner, dict) else None
    if data.get("status") != "success" or not isinstance(series, list):
        raise CalibrationError(f"Prometheus answered {str(data.get('error', 'without a result'))[:200]}")
    return _read(Metrics(_answered(series)))


def _lines(text: str) -> Iterator[Sample]:
    for match in filter(None, map(_LINE.match, text.splitlines())):
        value = _float(match["value"])
        if value is not None:
            yield Sample(match["name"], dict(_LABEL.findall(match["labels"] or "")), 0, value)


def _answered(series: list[object]) -> Iterator[Sample]:
    for one in series:
        labels = one.get("metric") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(labels, dict):
            continue
        name = str(labels.get("__name__", ""))
        points = one.get("values", [one.get("value")])
        if not name.startswith(_PREFIX) or not isinstance(points, list):
            continue
        plain = {key: value for key, value in labels.items() if isinstance(value, str)}
        for point in points:
            time, value = map(_float, point) if isinstance(point, list) and len(point) == 2 else (None, None)
            if time is not None and value is not None:
                yield Sample(name.removeprefix(_PREFIX), plain, time, value)


def _float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _read(metrics: Metrics) -> Recording:
    times = sorted(metrics.values[f"{_LOOP}_count"] or metrics.values[_NODES])
    found = Recording("metrics of the autoscaler", ordered=True)
    found.why = {
        "boot": "no increase of scaled_up_nodes_total and of nodes_count that belong together",
        "delete_latency": "no increase of scaled_down_nodes_total with a decrease of nodes_count",
        "loop": 'no cluster_autoscaler_function_duration_seconds with function="main"',
    }
    unsaid = "metrics of the autoscaler do not say; record events"
    found.why |= dict.fromkeys(("boot_spread", "delete_call", "image_pull", "pod_start_rate"), unsaid)
    if len(times) < 2:
        found.loops = list(_snapshot(metrics))
        found.how = "since the autoscaler started; a snapshot does not say which of them had nothing to do"
        found.why |= dict.fromkeys(("boot", "delete_latency", "launch_rate"), "needs query_range, not a snapshot")
        return found
    found.step = median(end - begin for begin, end in pairwise(times))
    found.loops = list(_idle(metrics, times))
    found.how = "between samples without a scale-up or a scale-down"
    found.requests = _moments(metrics, _UP, 1)
    columns = {"ready": _moments(metrics, "ready", 1), "answered": _moments(metrics, _DOWN, 1)}
    columns["gone"] = _moments(metrics, _NODES, -1)
    number = max(map(len, columns.values()))
    found.nodes = [
        NodeTimes(**{name: moments[i] for name, moments in columns.items() if i < len(moments)}) for i in range(number)
    ]
    found.what = f"{len(times):,} samples of the autoscaler's metrics, {found.step:g} s apart"
    return found


def _moments(metrics: Metrics, name: str, sign: int) -> list[float]:
    """List when nodes came (`sign` 1) or went (-1), spread evenly between samples."""
    result: list[float] = []
    for begin, end, change in metrics.increases(name):
        number = change * sign
        if 0 < number <= _MOST_NODES - len(result):
            result += [begin + (end - begin) * (i + 0.5) / number for i in range(number)]
    return result


def _idle(metrics: Metrics, times: list[float]) -> Iterator[Loops]:
    """Yield the mean loop between samples without a scale-up or scale-down."""
    for begin, end in pairwise(times):
        number = metrics.grown(f"{_LOOP}_count", begin, end)
        work = metrics.grown(f"{_LOOP}_sum", begin, end)
        acts = [metrics.grown(name, begin, end) for name in (_UP, _DOWN)]
        nodes = metrics.values[_NODES].get(end)
        if number and number > 0 and work is not None and work >= 0 and not any(acts) and nodes is not None:
            yield Loops(round(nodes), work / number, number, round(metrics.values[_EMPTY].get(end, 0)))


def _snapshot(metrics: Metrics) -> Iterator[Loops]:
    """Yield the median of all loops; their mean without buckets."""
    latest = sorted((bound, max(values.items())[1]) for bound, values in metrics.buckets.items())
    nodes = round(next(iter(metrics.values[_NODES].values()), 0))
    every = latest[-1][1] if latest else 0
    below = least = 0.0
    for bound, number in latest:
        if number >= every / 2 > 0 and number > below and bound < inf:
            yield Loops(nodes, least + (bound - least) * (every / 2 - below) / (number - below), every)
            return
        below, least = number, bound
    number = next(iter(metrics.values[f"{_LOOP}_count"].values()), 0)
    total = next(iter(metrics.values[f"{_LOOP}_sum"].values()), 0)
    if number > 0 and total >= 0:
        yield Loops(nodes, total / number, number)
