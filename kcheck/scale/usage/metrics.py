"""Metrics and labels of common installations, and queries built from them."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.text import bundled
from kcheck.text.bundled import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NotRequired, TypedDict

    class Entry(TypedDict):
        """Metric of a family; the head of `metrics.yaml` explains the keys."""

        names: list[str]
        where: NotRequired[str]
        scale: NotRequired[float]
        labels: NotRequired[list[str]]

    class Family(TypedDict):
        """Metrics of an exporter: labels, its own pods, and the remedy if missing."""

        labels: dict[str, list[str]]
        exporter: NotRequired[str]
        metrics: dict[str, Entry]
        missing: str

    class Wait(TypedDict):
        """Histogram of waiting times."""

        system: str
        name: str
        queue: str
        what: str
        scale: float

    class Table(TypedDict):
        """Contents of the profile with metrics; `services` are managed ones."""

        services: dict[str, str]
        families: dict[str, Family]
        waits: list[Wait]


@cache
def table() -> Table:
    """Load the known exporters, histograms of waiting times and managed services."""
    data: Table = bundled.load(os.path.join(PROFILES, "any", "metrics.yaml"))
    return data


class Metric(Struct, frozen=True):
    """Metric in one Prometheus: series under `conditions`, and label names.

    `extra` labels are read, too. `series` is about how many it has, `interval` the seconds between two samples;
    `exporter` is in the names of the pods that export it.
    """

    name: str
    family: str
    conditions: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    extra: tuple[str, ...] = ()
    scale: float = 1
    exporter: str = ""
    series: int = 1
    interval: int = 60

    @property
    def by(self) -> str:
        """Labels that identify one of kcheck's series, without replicas."""
        return ",".join(dict.fromkeys((*(name for names in self.labels for name in names), *self.extra)))

    @property
    def selector(self) -> str:
        """Selector of its series."""
        return selector(self.name, self.conditions)

    def scaled(self, query: str) -> str:
        """Scale a query to kcheck's unit."""
        return query if self.scale == 1 else f"{self.scale:g} * {query}"

    def over(self, function: str, seconds: int, aggregate: str = "max") -> str:
        """Build a query of a function over some seconds, one result per series."""
        inner = f"{function}({self.selector}[{window(seconds)}])"
        return self.scaled(f"{aggregate} by ({self.by}) ({inner})")

    def meanings(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Return the label values of a series in the order of `labels`, '' where missing."""
        found = []
        for names in self.labels:  # a loop, as it is run for each series of each answer
            text = ""
            for name in names:
                if text := labels.get(name, ""):
                    break
            found.append(text)
        return tuple(found)

    def is_of(self, pod: str) -> bool:
        """Whether a series describes a pod, and not an exporter."""
        return bool(pod) and (not self.exporter or self.exporter not in pod)


def window(seconds: int) -> str:
    """Format a range without its older end, as Prometheus 2 includes both."""
    return f"{seconds * 1000 - 1}ms"


def selector(name: str, conditions: Iterable[str]) -> str:
    """Build a selector of series."""
    return f"{name}{{{','.join(filter(None, conditions))}}}"
