"""When every number of the profiles was last checked, those of whole tables included."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import profiles, retirements
from kcheck.config.numbers.clouds import folder, owners
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator

_BY_ENTRY = ("limits.yaml", "settings.yaml", "quotas.yaml", "retirements.yaml")
"""Files whose entries have dates of their own, and are read one by one."""


TABLE = "table"
"""The kind of what is a whole table and has no value of its own."""


class Dated(NamedTuple):
    """A number, or a table, with its full name and the cloud it is about."""

    name: str
    cloud: str
    entry: ProfileValue


def entries() -> Iterator[Dated]:
    """All limits, quotas, defaults and retirements, by names such as limits.eks.pool.quota."""
    for kind, own in (("limits", profiles.limits), ("settings", profiles.settings)):
        for cloud in owners():
            for key, entry in own(cloud).items():
                if cloud == "any" or key not in own("any"):
                    yield Dated(f"{kind}.{cloud}.{key}", cloud, entry)
    for cloud in owners():
        for one in retirements.retirements(cloud):
            yield Dated(f"retirements.{cloud}.{one.entry.key}", cloud, one.entry)


def numbers() -> Iterator[Dated]:
    """All of these, and tables."""
    yield from entries()
    for cloud in owners():
        yield from _tables(cloud, folder(cloud))
    yield from _tables("any", PROFILES)


def _tables(cloud: str, path: str) -> Iterator[Dated]:
    """The tables of a folder; of one whose parts have dates of their own, these."""
    for file in sorted(os.listdir(path)):
        if not file.endswith(".yaml") or file in _BY_ENTRY:
            continue
        data = bundled.load(os.path.join(path, file))
        for name, own in _parts(f"tables.{cloud}.{file.removesuffix('.yaml')}", data):
            yield Dated(name, cloud, _table(name, own))


def _parts(name: str, data: object) -> Iterator[tuple[str, dict[str, object]]]:
    """What has a date of its own in a file: the whole, or parts of it by their names or numbers."""
    if isinstance(data, dict) and "checked" in data and "sources" in data:
        yield name, data
        return
    parts = data.items() if isinstance(data, dict) else enumerate(data, 1) if isinstance(data, list) else ()
    for key, part in parts:
        yield from _parts(f"{name}.{key}", part)


def _table(name: str, data: dict[str, object]) -> ProfileValue:
    sources = data["sources"]
    return ProfileValue(
        name.partition(".")[2], None, unit="", kind=TABLE,
        sources=tuple(map(str, sources)) if isinstance(sources, list) else (), checked=str(data["checked"]),
        confidence=str(data.get("confidence", "")),
    )  # fmt: skip
