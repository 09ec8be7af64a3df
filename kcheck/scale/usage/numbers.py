"""Parameters that turn measured use into requests: `profiles/any/usage.yaml`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct

from kcheck.config.config import Tier
from kcheck.config.numbers import profiles
from kcheck.text.bundled import PROFILES

HIGHEST, STANDARD, LOWEST = "highest", "standard", "lowest"


class Buffers(Struct, frozen=True):
    """A tier's buffers between use and requests, in percent."""

    tier: str
    cpu_percentile: float
    cpu_buffer: float
    memory_buffer: float


class Slice(Struct, frozen=True):
    """MIG profile: number per GPU, MiB, and percent of the GPU's compute."""

    name: str
    count: int
    memory: int
    compute: int


if TYPE_CHECKING:

    class Table(TypedDict):
        """Contents of the profile with numbers of usage."""

        tiers: dict[str, dict[str, float]]
        least: dict[str, int]
        oom: int
        slices: dict[str, dict[str, tuple[int, int, int]]]


@cache
def table() -> Table:
    """Load the whole table."""
    data: Table = profiles.load_table(os.path.join(PROFILES, "any", "usage.yaml"))
    return data


def buffers(tier: str, settings: Iterable[Tier]) -> Buffers:
    """Return a tier's buffers: of the settings, its own, or the standard's."""
    default = table()["tiers"].get(tier) or table()["tiers"][STANDARD]
    own = next((one for one in settings if one.name == tier), None)
    given = {name: number for name in default if (number := getattr(own, name, None)) is not None}
    return Buffers(tier, **default | given)


def slices(model: str) -> tuple[Slice, ...]:
    """List the MIG profiles of a GPU model, smallest first."""
    for pattern, found in table()["slices"].items():
        if re.search(pattern, model):
            return tuple(Slice(name, count, gb * 1024, share) for name, (count, gb, share) in found.items())
    return ()
