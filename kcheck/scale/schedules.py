"""Schedules of cron: when jobs start, and which of them start in the same minute."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kcheck.text.regex import regex
from kcheck.text.units import whole_number
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.model import Workload

T = TypeVar("T")


class Times(NamedTuple):
    """Minutes, hours and days at which something starts, as bits; each date of a year is each day of a week once."""

    minutes: int
    hours: int
    days: int

    def common(self, other: Times) -> Times | None:
        """The times of both; None if they have none in common."""
        both = Times(self.minutes & other.minutes, self.hours & other.hours, self.days & other.days)
        return both if all(both) else None


_NAMED = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEK = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = regex(r"(?:(?P<all>[*?])|(?P<low>\w{1,3})(?:-(?P<high>\w{1,3}))?)(?:/(?P<step>[0-9]{1,2}))?")


@lru_cache(maxsize=4096)
def times(schedule: str) -> Times | None:
    """When a schedule starts something, as Kubernetes reads it; None if it cannot be read."""
    fields = _NAMED.get(schedule.strip().lower(), schedule).split()
    if len(fields) != 5:
        return None
    found = [
        _bits(text, low, high, names)
        for text, (low, high, names) in zip(
            fields, ((0, 59, []), (0, 23, []), (1, 31, []), (1, 12, _MONTHS), (0, 7, _WEEK)), strict=True
        )
    ]
    minutes, hours, dates, months, week = (one or 0 for one in found)
    if not all(found):
        return None
    either = not any(text.startswith(("*", "?")) for text in (fields[2], fields[4]))
    return Times(minutes, hours, _days(dates, months, week | week >> 7, either=either))


def _bits(text: str, least: int, most: int, names: list[str]) -> int | None:
    """The numbers of a field as bits; None if it cannot be read."""
    result = 0
    for part in text.lower().split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return None
        low = least if match["all"] else _number(match["low"], least, names)
        high = most if match["all"] or (match["step"] and not match["high"]) else low
        if match["high"]:
            high = _number(match["high"], least, names)
        step = int(match["step"] or 1)
        if low is None or high is None or not least <= low <= high <= most or not step:
            return None
        result |= sum(1 << number for number in range(low, high + 1, step))
    return result


def _number(text: str, least: int, names: list[str]) -> int | None:
    if text in names:
        return names.index(text) + least
    return whole_number(text)


@lru_cache(maxsize=1024)
def _days(dates: int, months: int, week: int, *, either: bool) -> int:
    """Days as bits: of each month, each date as each day of the week. Two restrictions are alternatives in cron."""
    result, bit = 0, 1
    for month, length in enumerate(_LENGTHS, 1):
        for date in range(1, length + 1):
            for day in range(7):
                fits = bool(dates >> date & 1), bool(week >> day & 1)
                if months >> month & 1 and (any(fits) if either else all(fits)):
                    result |= bit
                bit <<= 1
    return result


_MOST = 200
"""So many different schedules are looked at."""


def together(found: Iterable[tuple[Workload, T]], weight: Callable[[T], int]) -> list[tuple[Workload, T]]:
    """Jobs that start in the same minute, those that weigh most together; none where no two do."""
    zones: dict[str, dict[Times, list[tuple[Workload, T]]]] = {}
    for pair in found:
        own = times(known(pair[0].schedule) or "")
        if own is not None and known(pair[0].suspended) is not True:
            zones.setdefault(_zone(pair[0]), {}).setdefault(own, []).append(pair)
    groups = [group for schedules in zones.values() for group in _meeting(schedules, weight) if len(group) > 1]
    return max(groups, key=lambda group: sum(weight(one) for _, one in group), default=[])


def _meeting(
    schedules: dict[Times, list[tuple[Workload, T]]], weight: Callable[[T], int]
) -> Iterable[list[tuple[Workload, T]]]:
    """For each schedule the jobs that start at some time of it, the heaviest first as far as they all meet."""
    heaviest = sorted(schedules.items(), key=lambda item: -sum(weight(one) for _, one in item[1]))[:_MOST]
    for first, jobs in heaviest:
        common, group = first, list(jobs)
        for other, more in heaviest:
            both = common.common(other) if other is not first else None
            if both is not None:
                common, group = both, [*group, *more]
        yield group


def _zone(job: Workload) -> str:
    """The time zone of its schedule; what is not written is that of the controller, mostly UTC."""
    name = known(job.time_zone) or ""
    return "" if name in ("UTC", "Etc/UTC") else name
