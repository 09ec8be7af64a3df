"""Recommended values with reasons: the second document of a cloud's `settings.yaml`."""

from __future__ import annotations

from functools import cache

from kcheck.config.numbers import profiles

Values = dict[str, int | str | bool]


@cache
def entries(cloud: str) -> dict[str, profiles.ProfileValue]:
    """The recommended values of a cloud by `group.name`, those of every cloud included."""
    return profiles.recommended("any") | profiles.recommended(cloud)


@cache
def values(cloud: str) -> Values:
    """The same without their sources."""
    return {key: entry.value for key, entry in entries(cloud).items() if entry.value is not None}


def with_growth(cloud: str, number: int) -> int:
    """A number with room to grow."""
    return -(-number * (100 + int(values(cloud)["network.growth"])) // 100)


def reasons(cloud: str) -> dict[str, str]:
    """The reasons of the values."""
    return {key: entry.note for key, entry in entries(cloud).items()}
