"""Flags of the cluster autoscaler by version, and the versions in its charts."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.config.numbers.profiles import flag_file, load_own
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from typing import TypedDict

    from kcheck.config.numbers.profiles import Flag

    class _Charts(TypedDict):
        """Charts of one major version by autoscaler minor version."""

        major: int
        minors: dict[int, tuple[int, int]]


class Release(Struct, frozen=True):
    """An autoscaler version; `patch` is None if only the minor is known."""

    minor: int
    patch: int | None

    def __str__(self) -> str:
        return f"1.{self.minor}" if self.patch is None else f"1.{self.minor}.{self.patch}"


def flags() -> dict[str, Flag]:
    """Return the flags by name: type, defaults, first version, removal, successor."""
    return flag_file()["flags"]


def default(name: str, minor: int | None) -> int | str | bool | None:
    """Return a flag's default in a minor version; None if it depends on that."""
    found = flags()[name]
    newest, before = found["default"], found.get("before", {})
    if minor is None:
        return None if before else newest
    return next((value for until, value in sorted(before.items()) if minor < until), newest)


_RELEASE = regex(r"v?1\.(\d{1,9})(?:\.(\d{1,9}))?(?:\D|$)")


def release(text: str) -> Release | None:
    """Parse `1.33`, `v1.33.2` or `1.33.5-custom.1`; None if it is no version."""
    match = _RELEASE.match(text)
    return Release(int(match[1]), int(match[2]) if match[2] else None) if match else None


def first_release(name: str, since: int) -> Release | None:
    """Find the first release with a flag from a minor version on; None if all."""
    given = flags().get(name, {}).get("first", [])
    found = map(release, [given] if isinstance(given, str) else given)
    return next((one for one in found if one is not None and one.minor >= since), None)


def removed_release(name: str) -> Release | None:
    """Return the first release without a flag; None if it still exists."""
    return release(flags().get(name, {}).get("removed", ""))


def comes_later(name: str, own: Release) -> bool | None:
    """Whether a flag is newer than a release; None if that depends on its patch."""
    first = first_release(name, own.minor)
    return first is not None and _before(own, first)


def is_removed(name: str, own: Release) -> bool | None:
    """Whether a release no longer has a flag; None if that depends on its patch."""
    gone = removed_release(name)
    if gone is None:
        return False
    before = _before(own, gone)
    return None if before is None else not before


def _before(own: Release, other: Release) -> bool | None:
    """Whether a release is older than another; None if that depends on its patch."""
    if own.minor != other.minor:
        return own.minor < other.minor
    if own.patch is None:
        return None if other.patch else False
    return own.patch < (other.patch or 0)


def known_to(name: str, own: Release | None) -> bool:
    """Whether an autoscaler, or every one without a release, knows a flag."""
    if own is None:
        return "first" not in flags()[name] and "removed" not in flags()[name]
    return comes_later(name, own) is False and is_removed(name, own) is False


@cache
def _charts() -> _Charts:
    charts: dict[str, _Charts] = load_own("any", "charts")
    return charts["cluster-autoscaler"]


def chart_minor(version: str) -> int | None:
    """Return the autoscaler's minor version in a Helm chart version; None if unknown."""
    charts = _charts()
    match = re.fullmatch(r"v?(\d{1,9})\.(\d{1,9})\.\d+", version)
    if match is None or int(match[1]) != charts["major"]:
        return None
    chart = int(match[2])
    return next((minor for minor, (first, last) in charts["minors"].items() if first <= chart <= last), None)


def chart_of(minor: int) -> str | None:
    """Return the newest chart with an autoscaler minor version; None if unknown."""
    charts = _charts()
    found = charts["minors"].get(minor)
    return f"{charts['major']}.{found[1]}.0" if found else None
