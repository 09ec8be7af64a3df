"""How long clouds support the minor versions of Kubernetes."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck.config.numbers.clouds import folder
from kcheck.text import bundled

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable


class Window(NamedTuple):
    """The support of a minor version. `extended` is the end of support that one asks or pays for."""

    released: datetime.date
    ends: datetime.date
    extended: datetime.date | None = None


class Versions(NamedTuple):
    """The minor versions of a cloud, and what it does with clusters of one that has ended."""

    sources: tuple[str, ...]
    checked: str
    confidence: str
    effect: str
    minors: dict[int, Window]

    def window(self, minor: int) -> Window | None:
        """The support of a version; of one older than all that are listed, that of the oldest."""
        return self.minors.get(max(minor, min(self.minors)))

    def newest(self, has_come: Callable[[datetime.date], bool]) -> int:
        """The newest version whose day has come."""
        there = (minor for minor, window in self.minors.items() if has_come(window.released))
        return max(there, default=min(self.minors))


@cache
def versions(cloud: str) -> Versions | None:
    """The minor versions of a cloud; None if they are not known."""
    from datetime import date

    path = os.path.join(folder(cloud), "versions.yaml")
    if not os.path.exists(path):
        return None
    data: dict[str, Any] = bundled.load(path)
    minors = {
        minor: Window(**{name: date.fromisoformat(day) for name, day in window.items()})
        for minor, window in data["minors"].items()
    }
    return Versions(tuple(data["sources"]), data["checked"], data["confidence"], data["effect"], minors)
