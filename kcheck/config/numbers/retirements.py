"""What clouds retire: how the code names it, and the day on which it ends."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import folder, owners
from kcheck.text import bundled

if TYPE_CHECKING:
    import datetime


class Retirement(NamedTuple):
    """Something that a cloud retires, as the head of `profiles/aks/retirements.yaml` explains.

    `kind` says which setting names it. Of `successor` and `effect`, one that is not known is empty.
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
    note: str = ""

    @property
    def entry(self) -> profiles.ProfileValue:
        """The day as a number of the profiles: with a page, and sources for rules."""
        note = ". ".join(filter(None, (self.what, self.effect, self.note.rstrip("."))))
        return profiles.ProfileValue(
            f"{self.kind}.{self.key}", self.ends.isoformat(), unit="date", kind="hard", sources=self.sources,
            checked=self.checked, confidence=self.confidence, note=note,
        )  # fmt: skip

    def names(self, text: str) -> bool:
        """Whether a value of the code names it."""
        return re.fullmatch(self.matches, text, re.IGNORECASE) is not None


@cache
def retirements(cloud: str) -> tuple[Retirement, ...]:
    """What a cloud retires."""
    from datetime import date

    path = os.path.join(folder(cloud), "retirements.yaml")
    if not os.path.exists(path):
        return ()
    data: dict[str, dict[str, Any]] = bundled.load(path)
    return tuple(
        Retirement(key, **{**fields, "sources": tuple(fields["sources"]), "ends": date.fromisoformat(fields["ends"])})
        for key, fields in data.items()
    )


def find(cloud: str, kind: str, name: str) -> list[Retirement]:
    """What a cloud retires under a name: several where it depends on the cluster."""
    return [found for found in retirements(cloud) if found.kind == kind and found.names(name)]


def entries(name: str) -> dict[str, profiles.ProfileValue]:
    """The days that `retirements[.<cloud>].<kind>[.<key>]` means, by full name."""
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
