"""Dates on which the numbers and tables of the profiles were last checked."""

import datetime
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcheck import __version__
from kcheck.config.config import today
from kcheck.config.numbers import profiles, retirements
from kcheck.config.numbers.clouds import folder, owners
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES
from kcheck.text.units import listed

_BY_ENTRY = ("limits.yaml", "settings.yaml", "quotas.yaml", "retirements.yaml")
"""Files whose entries have dates of their own."""

TABLE = "table"
"""Kind of an entry that is a whole table, without a value of its own."""

LIFETIMES = {"prices": 90, "versions": 90, "retirements": 90, "release": 180}
"""Days after which numbers are old, by topic, and kcheck itself; 365 for all other numbers."""


class Dated(NamedTuple):
    """A number or table with its full name and cloud."""

    name: str
    cloud: str
    entry: ProfileValue

    @property
    def topic(self) -> str:
        """The kind of fact: limits, prices, defaults, retirements, or its table."""
        table, _, name = self.name.split(".", 2)
        is_price = "price" in name or self.entry.unit.startswith("dollars")
        return "prices" if is_price else {"tables": name.split(".")[0], "settings": "defaults"}.get(table, table)


def old(found: Iterable[Dated]) -> Iterator[str]:
    """Yield a line about outdated numbers, and one about an outdated kcheck."""
    day, topics, released = today(), dict[str, str](), bundled.compiled("released")
    for one in found:
        if (day - datetime.date.fromisoformat(one.entry.seen)).days > LIFETIMES.get(one.topic, 365):
            topics[one.topic] = min(one.entry.seen[:7], topics.get(one.topic, "9"))
    if topics:
        words = listed([f"{topic} of {month}" for topic, month in sorted(topics.items())])
        most = min(LIFETIMES.get(topic, 365) for topic in topics)
        yield f"old numbers: {words}; `kcheck limits --older-than {most}d` lists what is old"
    if released and (day - datetime.date.fromisoformat(released)).days > LIFETIMES["release"]:
        yield f"kcheck {__version__} is of {released}; a newer release has newer numbers"


def table(cloud: str, name: str) -> Dated | None:
    """Return a cloud's table as an entry with its dates; None if it has none."""
    return next(_parts(f"tables.{cloud}.{name}", profiles.load_own(cloud, name)), None)


def entries() -> Iterator[Dated]:
    """Yield all limits, quotas, defaults and retirements by full name."""
    for kind, own in (("limits", profiles.limits), ("settings", profiles.settings)):
        for cloud in owners():
            for key, entry in own(cloud).items():
                if cloud == "any" or key not in own("any"):
                    yield Dated(f"{kind}.{cloud}.{key}", cloud, entry)
    for cloud in owners():
        for one in retirements.retirements(cloud):
            yield Dated(f"retirements.{cloud}.{one.entry.key}", cloud, one.entry)


def numbers() -> Iterator[Dated]:
    """Yield all entries, then tables."""
    yield from entries()
    for cloud in owners():
        yield from _tables(cloud, folder(cloud))
    yield from _tables("any", PROFILES)


def _tables(cloud: str, path: str) -> Iterator[Dated]:
    """Yield the tables of a folder, or their parts if these have dates."""
    for file in sorted(os.listdir(path)):
        if file.endswith(".yaml") and file not in _BY_ENTRY:
            yield from _parts(f"tables.{cloud}.{file.removesuffix('.yaml')}", bundled.load(os.path.join(path, file)))


def _parts(name: str, data: object) -> Iterator[Dated]:
    """Yield the dated parts of a file: the whole file, or parts by name or number."""
    if isinstance(data, dict) and "checked" in data and "sources" in data:
        cloud, _, rest = name.partition(".")[2].partition(".")
        own = {"confidence": "", **profiles.provenance(data)}
        yield Dated(name, cloud, ProfileValue(f"{cloud}.{rest}", None, unit="", kind=TABLE, **own))
        return
    parts = data.items() if isinstance(data, dict) else enumerate(data, 1) if isinstance(data, list) else ()
    for key, part in parts:
        yield from _parts(f"{name}.{key}", part)
