"""Owners of pods, as recorded, or by names alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.usage.recording import NOBODY, Owner
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.scale.usage.recording import Pod

_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
"""Letters of Kubernetes' random names: apimachinery's util/rand."""
_OF_POD = regex(rf"(.+)-{_RANDOM}{{5}}")
_OF_REPLICA_SET = regex(rf"(.+)-{_RANDOM}{{5,10}}")
_OF_RUN = regex(r"(.+)-[0-9]{8,10}")
"""Names of CronJob runs: minutes since 1970, seconds in older versions."""
_INDEX = regex(r"(.+)-[0-9]{1,6}")
_STEP = regex(r"(.+)-[^-]+")


def chain(pod: Pod) -> list[Owner]:
    """List the owners of a pod from its controller outwards: those recorded, and the last one's by name.

    Empty where nothing was recorded.
    """
    found = [owner for owner in pod.owners if owner != NOBODY]
    if not found:
        return []
    last = found[-1]
    if last.kind == "ReplicaSet" and (match := _OF_REPLICA_SET.fullmatch(last.name)):
        found.append(Owner("Deployment", match[1]))
    elif last.kind == "Job" and (match := _OF_RUN.fullmatch(last.name)):
        found.append(Owner("CronJob", match[1]))
    return found


def guessed(name: str) -> Iterator[str]:
    """Yield possible names of a pod's owners, by its name alone: the longest first."""
    yield name
    short = match[1] if (match := _OF_POD.fullmatch(name)) else name
    if short != name:
        yield short
    for pattern in (_OF_REPLICA_SET, _OF_RUN, _INDEX):
        if match := pattern.fullmatch(short):
            yield match[1]
    while match := _STEP.fullmatch(short):  # such as a role: train-worker-0
        short = match[1]
        yield short


def generated(names: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], str]:
    """Find the prefixes of names made by generateName, by namespace, kind and name, where there are several."""
    begins: dict[tuple[str, str, str], set[str]] = {}
    for namespace, kind, name in names:
        if match := _OF_POD.fullmatch(name):
            begins.setdefault((namespace, kind, f"{match[1]}-"), set()).add(name)
    return {
        (namespace, kind, name): begin
        for (namespace, kind, begin), found in begins.items()
        if len(found) > 1
        for name in found
    }


def job(pod: Pod) -> tuple[str, str]:
    """Return kind and name of a pod's job, as recorded, else by its name."""
    found = chain(pod)
    if found:
        return found[-1].kind, found[-1].name
    if pod.owners:  # it has none, for sure
        return "Pod", pod.name
    match = _OF_POD.fullmatch(pod.name)
    short = match[1] if match else pod.name
    for pattern in (_OF_RUN, _OF_REPLICA_SET if match else _INDEX):
        if found_name := pattern.fullmatch(short):
            return "Pod", found_name[1]
    return "Pod", short
