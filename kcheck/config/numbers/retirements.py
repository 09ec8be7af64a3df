"""Retirements of clouds, and support periods of Kubernetes."""

import datetime
import re
from collections.abc import Callable
from functools import cache

from msgspec import Struct, convert

from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import owners


class Retirement(Struct, frozen=True):
    """A retirement, as the head of `profiles/aks/retirements.yaml` explains.

    `kind` is the setting that names it. `successor` and `effect` are empty if unknown.
    """

    key: str
    kind: str
    what: str
    matches: str
    ends: datetime.date
    sources: tuple[str, ...]
    checked: str
    confidence: str
    successor: str = ""
    effect: str = ""
    notice: int | None = None
    last_minor: int | None = None
    windows: bool | None = None
    machines: str = ""
    note: str = ""
    source_dated: str = "unknown"

    @property
    def entry(self) -> profiles.ProfileValue:
        """The end date as a number of the profiles, with sources for rules."""
        note = ". ".join(filter(None, (self.what, self.effect, self.note.rstrip("."))))
        return profiles.ProfileValue(
            f"{self.kind}.{self.key}", self.ends.isoformat(), unit="date", kind="hard", sources=self.sources,
            checked=self.checked, confidence=self.confidence, note=note, source_dated=self.source_dated,
        )  # fmt: skip

    def holds_on(self, machine: str) -> bool:
        """Whether it applies to pools of a machine type."""
        return not self.machines or re.fullmatch(self.machines, machine, re.IGNORECASE) is not None

    def names(self, text: str) -> bool:
        """Whether a value in the code names it."""
        return re.fullmatch(self.matches, text, re.IGNORECASE) is not None


@cache
def retirements(cloud: str) -> tuple[Retirement, ...]:
    """List the retirements of a cloud."""
    data = profiles.load_own(cloud, "retirements")
    return tuple(convert({"key": key, **fields}, Retirement) for key, fields in data.items())


def find(cloud: str, kind: str, name: str) -> list[Retirement]:
    """List the retirements of a name; several if they depend on the cluster."""
    return [found for found in retirements(cloud) if found.kind == kind and found.names(name)]


def entries(name: str) -> dict[str, profiles.ProfileValue]:
    """Find dates by `retirements[.<cloud>].<kind>[.<key>]`; return them by full name."""
    table, _, rest = name.partition(".")
    cloud, _, key = rest.partition(".")
    clouds, key = ((cloud,), key) if cloud in owners() else (owners(), rest)
    if table != "retirements" or not key:
        return {}
    return {
        f"{table}.{owner}.{found.entry.key}": found.entry
        for owner in clouds
        for found in retirements(owner)
        if key in (found.kind, found.entry.key)
    }


class Window(Struct, frozen=True):
    """Support period of a minor version; `extended` ends for a fee."""

    released: datetime.date
    ends: datetime.date
    extended: datetime.date | None = None


class Versions(Struct, frozen=True):
    """Minor versions of a cloud; `effect` is that of an unsupported one."""

    effect: str
    minors: dict[int, Window]

    def window(self, minor: int) -> Window | None:
        """Return the support of a version; the oldest's for one not listed."""
        return self.minors.get(max(minor, min(self.minors)))

    def newest(self, has_come: Callable[[datetime.date], bool]) -> int:
        """Return the newest version that is released."""
        there = (minor for minor, window in self.minors.items() if has_come(window.released))
        return max(there, default=min(self.minors))


@cache
def versions(cloud: str) -> Versions | None:
    """Load the minor versions of a cloud; None if unknown."""
    data = profiles.load_own(cloud, "versions")
    return convert(data, Versions) if data else None
