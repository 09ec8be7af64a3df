"""Names of resources, from the `names.yaml` of each cloud."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from kcheck.config.numbers.clouds import owners
from kcheck.config.numbers.profiles import load_own
from kcheck.text.regex import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable
    from typing import Literal, TypeAlias, TypedDict

    Key: TypeAlias = Literal[
        "cards", "shares", "slices", "queued", "vendors", "stores", "disks", "file_systems", "unordered", "whole",
        "nodes", "scalers", "project_images", "job_systems",
    ]  # fmt: skip

    class Names(TypedDict, total=False):
        """Names of one owner; the head of `any/names.yaml` explains the keys."""

        cards: list[str]
        shares: list[str]
        slices: list[str]
        queued: list[str]
        vendors: list[str]
        stores: list[str]
        disks: list[str]
        file_systems: list[str]
        unordered: list[str]
        whole: list[str]
        nodes: list[str]
        scalers: list[str]
        project_images: list[str]
        job_systems: list[str]
        scripts: dict[str, list[str]]
        machines: dict[str, str]


VENDOR = "nvidia.com"
NVIDIA = f"{VENDOR}/gpu"


def listed(key: Key) -> tuple[str, ...]:
    """List the names under a key: those for all clouds first, then those of each."""
    return _listed(key, owners())


def cards() -> tuple[str, ...]:
    """List the resources that count whole accelerators."""
    return listed("cards")


def pattern(key: Key, flags: int = 0) -> re.Pattern[str]:
    """Join the patterns under a key into one."""
    return _pattern("|".join(listed(key)), flags)


def vendors(machines: Iterable[str]) -> set[str]:
    """Return the domains of the GPU resources on some machines."""
    named = [(domain, names) for owner in owners() for domain, names in _table(owner).get("machines", {}).items()]
    return {next((own for own, names in named if _pattern(names, 0).search(one)), VENDOR) for one in machines}


def scripts() -> dict[str, list[str]]:
    """Map resource types of machines to the arguments that hold their scripts."""
    tables = (_table(owner).get("scripts", {}) for owner in owners())
    return {kind: arguments for table in tables for kind, arguments in table.items()}


@cache
def _listed(key: Key, of: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for owner in of for name in _table(owner).get(key, ()))


@cache
def _table(owner: str) -> Names:
    found: Names = load_own(owner, "names")
    return found


_pattern = cache(regex)
