"""Runs of jobs, and pods that wait for each other: what a gang held until its last pod had a node."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.scale.usage import owners
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.scale.usage.accounting import Span
    from kcheck.scale.usage.joining import Match

_TOGETHER = 600
"""Seconds in which the pods of a gang are created; one that comes later replaces another."""
_REPEATED = ("Cron", "Scheduled")
"""How kinds begin whose objects make a job each time."""


def run(match: Match) -> tuple[str, str, str]:
    """What a run of a job is: the namespace, kind and name of its outermost owner that is made for it alone."""
    pod = match.pod
    made = [one for one in owners.chain(pod) if not one.kind.startswith(_REPEATED)]
    return (pod.namespace, made[-1].kind, made[-1].name) if made else (pod.namespace, "Pod", pod.name)


@cache
def _rigid() -> frozenset[str]:
    """Kinds whose pods wait for each other, whatever the group."""
    every: dict[str, bool] = {}
    for key, entry in profiles.workloads().items():
        kind = key.rpartition("/")[2]
        every[kind] = bool(entry.get("rigid")) and every.get(kind, True)
    return frozenset(kind for kind, rigid in every.items() if rigid)


def _is_gang(match: Match) -> bool:
    workload = match.workload
    if workload is not None and (known(workload.rigid) is True or known(workload.gang) is not None):
        return True
    return any(owner.kind in _rigid() for owner in owners.chain(match.pod))


def waits(matches: Iterable[Match], span: Span) -> dict[int, int]:
    """For how many seconds of a span each pod had its node while others of its gang had none, by its index."""
    gangs: dict[tuple[str, str, str], list[tuple[int, Match]]] = {}
    for index, match in enumerate(matches):
        if match.pod.created is not None and _is_gang(match):
            gangs.setdefault(run(match), []).append((index, match))
    result: dict[int, int] = {}
    for members in gangs.values():
        first = min(match.pod.created or 0 for _, match in members)
        own = [(index, match.pod) for index, match in members if (match.pod.created or 0) <= first + _TOGETHER]
        there = [
            time for _, pod in own if (time := pod.pending if pod.scheduled is None else pod.scheduled) is not None
        ]
        last = max(there, default=0)
        for index, pod in own:
            if pod.scheduled is not None and (seconds := span.within(pod.scheduled, min(last, pod.ended or last))):
                result[index] = seconds
    return result
