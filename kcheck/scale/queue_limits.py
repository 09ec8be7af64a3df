"""Jobs that their queue never admits: requests against the most it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.scale.basics import computed
from kcheck.scale.queues import admitting_queue
from kcheck.text.units import counted
from kcheck.text.values import Known, Origin, Unknown, Value, known, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import PodTemplate, Queue, Workload
    from kcheck.scale.world import World

_GI = 2**30


class Excess(Struct, frozen=True):
    """Request of a job beyond the `most` that its queue, or its namespace's quota, ever gives.

    CPU is in whole CPUs, memory in GiB.
    """

    resource: str
    asked: int
    most: int
    parts: str
    kind: str
    name: str


def excess(job: Workload, world: World) -> Value[Excess]:
    """Find the excess that bars a job from its queue, or its last pods from their namespace; null without."""
    if not job.batch or job.per_node:
        return computed(job, None)
    queue = admitting_queue(job, world)
    if queue is not None and not job.shrinks:
        pods, name = _least(job, queue), known(queue.name) or ""
        own = queue.guaranteed if queue.kind == "ClusterQueue" else queue.quotas
        for most in (own, queue.quotas):  # its own quota, and with what it may borrow
            if isinstance(most, Unknown):
                return most
            found = _first(pods, known(most) or {}, queue.kind, name)
            if found is None:
                break
        else:
            return computed(job, found)
    return computed(job, _beyond_namespace(job, world) if known(job.rigid) else None)


def _beyond_namespace(job: Workload, world: World) -> Excess | None:
    """Find the excess of all pods of a job over the quotas of their namespace."""
    space = known(job.namespace)
    for quota in world.deployed.beside(job).limits if space else ():
        if quota.kind != "ResourceQuota" or known(quota.namespace) != space:
            continue
        hard = {
            key.removeprefix("requests."): int(text)
            for key, text in (known(quota.hard) or {}).items()
            if not key.startswith("limits.") and text.isdigit()
        }
        found = _first(job.templates, hard, "ResourceQuota of namespace", space or "")
        if found is not None:
            return found
    return None


def _least(job: Workload, queue: Queue) -> tuple[PodTemplate, ...]:
    """Return the pods to admit together: all, or those of minAvailable (Volcano, where all are alike)."""
    least, every = known(job.least), sum(number(one.count, 0) for one in job.templates)
    if queue.kind != "Queue" or least is None or least >= every:
        return job.templates
    only = job.templates if len(job.templates) == 1 else ()
    return tuple(replace(one, count=Known(least, Origin((one.place,)))) for one in only)


def _first(pods: tuple[PodTemplate, ...], most: dict[str, int], kind: str, name: str) -> Excess | None:
    """Find the first resource of which pods ask for more than a queue or quota gives."""
    for resource, each in _asked(pods).items():
        asked = sum(count * amount for count, amount in each)
        unit = {"cpu": 1000, "memory": _GI}.get(resource, 1)
        if resource in most and asked > most[resource] * (1000 if resource == "cpu" else 1):
            parts = " + ".join(f"{counted(count, 'pod')} x {amount / unit:,.4g}" for count, amount in each)
            own = most[resource] if resource != "memory" else most[resource] // _GI
            return Excess(resource, -(-asked // unit), own, parts, kind, name)
    return None


def _asked(pods: tuple[PodTemplate, ...]) -> dict[str, list[tuple[int, int]]]:
    """Return count and request of pods by resource: accelerators first, millicores of CPU, bytes."""
    found: dict[str, list[tuple[int, int]]] = {}
    for template in pods:
        for resource, amount in _of_pod(template):
            if isinstance(template.count, Known) and amount:
                found.setdefault(resource, []).append((template.count.value, amount))
    return found


def _of_pod(template: PodTemplate) -> Iterator[tuple[str, int]]:
    names = {known(one.gpu) for one in template.containers if not one.init} - {None}
    if len(names) == 1:
        yield str(names.pop()), number(template.gpus, 0)
    yield "cpu", number(template.cpu, 0)
    yield "memory", number(template.memory, 0)
