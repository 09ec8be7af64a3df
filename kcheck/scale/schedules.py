"""Cron schedules: start times, and requests of jobs that start in the same minute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain, pairwise
from math import inf
from typing import Annotated, NamedTuple, TypeVar

from kcheck.model import Cluster, PodTemplate, Workload
from kcheck.scale import allocatable
from kcheck.scale.world import World
from kcheck.text.need import NotKnown, first_unknown, need
from kcheck.text.regex import regex
from kcheck.text.units import cores, counted, size, whole_number
from kcheck.text.values import Unknown, Unset, known, number

T = TypeVar("T")


class Times(NamedTuple):
    """Minutes, hours and days of starts, as bits."""

    minutes: int
    hours: int
    days: int

    def common(self, other: Times) -> Times | None:
        """Return the times both have in common; None without any."""
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
    """Parse a schedule as Kubernetes reads it; None if it cannot."""
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
    return names.index(text) + least if text in names else whole_number(text)


@lru_cache(maxsize=1024)
def _days(dates: int, months: int, week: int, *, either: bool) -> int:
    """Return days as bits; two restrictions are alternatives."""
    result, bit = 0, 1
    for month, length in enumerate(_LENGTHS, 1):
        for date in range(1, length + 1):
            for day in range(7):
                fits = bool(dates >> date & 1), bool(week >> day & 1)
                if months >> month & 1 and (any(fits) if either else all(fits)):
                    result |= bit
                bit <<= 1
    return result


_SATURDAYS = sum(64 << 7 * date for date in range(366))


def period(schedule: str) -> float:
    """Return the shortest seconds between two starts; infinite if unknown."""
    own = times(schedule)
    if own is None:
        return inf
    hours, minutes = ([at for at in range(60) if bits >> at & 1] for bits in (own.hours, own.minutes))
    starts, moved = [60 * hour + minute for hour in hours for minute in minutes], own.days
    day = 0
    while day < 31 and (not day or not moved & own.days):
        day, moved = day + 1, (moved & ~_SATURDAYS) << 8 | (moved & _SATURDAYS) << 1
    over_night = 1440 * day - starts[-1] + starts[0] if moved & own.days else inf
    return 60 * min(over_night, *(later - earlier for earlier, later in pairwise(starts)), inf)


_MOST = 200
"""Most schedules that are compared."""


def together(found: Iterable[tuple[Workload, T]], weight: Callable[[T], int]) -> list[tuple[Workload, T]]:
    """Find the heaviest group of jobs that start in the same minute."""
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
    """Yield the jobs that start together, the heaviest first."""
    heaviest = sorted(schedules.items(), key=lambda item: -sum(weight(one) for _, one in item[1]))[:_MOST]
    for first, jobs in heaviest:
        common, group = first, list(jobs)
        for other, more in heaviest:
            both = common.common(other) if other is not first else None
            if both is not None:
                common, group = both, [*group, *more]
        yield group


def _zone(job: Workload) -> str:
    """Return the time zone of a job's schedule; empty for the default."""
    name = known(job.time_zone) or ""
    return "" if name in ("UTC", "Etc/UTC") else name


class Start(NamedTuple):
    """Jobs that start in the same minute, with their scarcest resource."""

    jobs: tuple[Workload, ...]
    asked: Annotated[str, "what they ask for together, at least, of the scarcest resource: vCPUs, memory or GPUs"]
    held: Annotated[str, "what all nodes leave of it to pods, at most, of the pools on which they may land"]
    exceeds: Annotated[bool, "whether they ask for more"]


class _Amounts(NamedTuple):
    """CPU in millicores, memory in bytes, and GPUs."""

    cpu: int = 0
    memory: int = 0
    gpus: int = 0

    def plus(self, other: _Amounts, times: int = 1) -> _Amounts:
        return _Amounts(*(mine + times * its for mine, its in zip(self, other, strict=True)))


_UNITS: tuple[Callable[[int], str], ...] = (
    lambda count: f"{cores(count)} vCPUs",
    lambda count: f"{size(count)} of memory",
    lambda count: counted(count, "GPU"),
)


def start(cluster: Cluster, world: World) -> Start | None:
    """Find the scheduled jobs that start together and request most."""
    jobs = [one for one in world.deployed.on(cluster).workloads if not known(one.queue_system)]
    jobs = [one for one in jobs if not isinstance(one.schedule, Unset)]
    if len(jobs) < 2 or world.autoscaling.beyond_pools(cluster):
        return None
    found = _start([(job, _asked(job.templates)) for job in jobs if known(job.schedule)], world)
    if found is None or not found.exceeds:
        pods = [one for job in jobs for one in job.templates]
        inputs = [job.schedule for job in jobs], *((one.cpu, one.memory, one.gpus, one.count) for one in pods)
        need(first_unknown(chain(*inputs)))
    return found


def _start(found: list[tuple[Workload, _Amounts]], world: World) -> Start | None:
    """Find the jobs that start together, with known requests."""
    every = together(found, lambda one: one.cpu)  # pods that no node takes wait for ever, and take nothing
    group = [pair for pair in every if all(known(world.pools.candidates(one)) != [] for one in pair[0].templates)]
    if len(group) < 2:
        return None
    held = _held((template for job, _ in group for template in job.templates), world)
    asked = _Amounts()
    for _, one in group:
        asked = asked.plus(one)
    shares = [(mine / its if its else 0.0, i) for i, (mine, its) in enumerate(zip(asked, held, strict=True))]
    share, i = max(shares)
    jobs = tuple(job for job, _ in group)
    return Start(jobs, _UNITS[i](asked[i]), _UNITS[i](held[i]), exceeds=share > 1)


def _asked(templates: Iterable[PodTemplate]) -> _Amounts:
    sum_ = _Amounts()
    for one in templates:
        each = _Amounts(number(one.cpu, 0), number(one.memory, 0), number(one.gpus, 0))
        sum_ = sum_.plus(each, number(one.count, 0))
    return sum_


def _held(templates: Iterable[PodTemplate], world: World) -> _Amounts:
    """Sum the room that all nodes leave, in the pools that some pods may run on."""
    sum_ = _Amounts()
    for pool in dict.fromkeys(pool for one in templates for pool, _ in need(world.pools.candidates(one))):
        nodes, rooms = world.sizes.of_pool(pool), allocatable.rooms(pool)
        many = 0 if isinstance(nodes, Unset) else need(nodes)
        if not rooms:
            raise NotKnown(Unknown(f"what a node of {pool.display_name} leaves to pods is not known"))
        best = _Amounts(
            max(room.cpu_left.high or room.vcpus * 1000 for room in rooms),
            max(room.memory_left.high or room.memory for room in rooms),
            number(pool.machine.gpus, 0),
        )
        sum_ = sum_.plus(best, many)
    return sum_
