"""Names of metrics and labels of the usual installations, and queries made of them."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.source import bundled
from kcheck.source.bundled import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NotRequired, TypedDict

    class Entry(TypedDict):
        """A metric of a family, as the head of `metrics.yaml` explains."""

        names: list[str]
        where: NotRequired[str]
        scale: NotRequired[float]
        labels: NotRequired[list[str]]

    class Family(TypedDict):
        """The metrics of an exporter: candidates of its labels, and what to do where it is missing."""

        labels: dict[str, list[str]]
        optional: NotRequired[dict[str, str]]
        metrics: dict[str, Entry]
        missing: str

    class Wait(TypedDict):
        """A histogram of waiting times."""

        system: str
        name: str
        queue: str
        what: str
        scale: float

    class _File(TypedDict):
        services: dict[str, str]
        families: dict[str, Family]
        waits: list[Wait]


@cache
def _file() -> _File:
    data: _File = bundled.load(os.path.join(PROFILES, "any", "metrics.yaml"))
    return data


def services() -> dict[str, str]:
    """What managed services ask of their clients, by the end of the host."""
    return _file()["services"]


def families() -> dict[str, Family]:
    """The exporters that are known."""
    return _file()["families"]


def waits() -> list[Wait]:
    """The histograms of waiting times that are known."""
    return _file()["waits"]


class Metric(Struct, frozen=True):
    """A metric as one Prometheus has it: `labels` by their meaning, `extra` under their own names.

    `series` is about how many it has, `interval` the seconds between two samples.
    """

    name: str
    family: str
    selector: str
    labels: dict[str, str]
    extra: tuple[str, ...] = ()
    scale: float = 1
    series: int = 1
    interval: int = 60

    @property
    def by(self) -> str:
        """The labels that make a series of ours: replicas, instances and ports of exporters are none."""
        return ",".join(dict.fromkeys((*self.labels.values(), *self.extra)))

    def scaled(self, query: str) -> str:
        """A query in kcheck's unit."""
        return query if self.scale == 1 else f"{self.scale:g} * {query}"

    def over(self, function: str, seconds: int, aggregate: str = "max") -> str:
        """A query for what a function makes of some seconds, one series for each of ours."""
        inner = f"{function}({self.selector}[{window(seconds)}])"
        return self.scaled(f"{aggregate} by ({self.by}) ({inner})")

    def count(self) -> str:
        """A query for the number of series."""
        return f"count({self.selector})"

    def meanings(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """What the labels of a series say, in the order of `labels`; empty texts for those that it has not."""
        return tuple(labels.get(name, "") for name in self.labels.values())


def window(seconds: int) -> str:
    """A range that holds its newer end only: Prometheus 2 counts a sample on the older end, too."""
    return f"{seconds * 1000 - 1}ms"


def selector(name: str, conditions: Iterable[str]) -> str:
    """A selector of series."""
    return f"{name}{{{','.join(filter(None, conditions))}}}"
