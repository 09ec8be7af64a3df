"""Words of what jobs start, what they leave behind, and what that costs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kcheck.scale import placement
from kcheck.source.values import Known, Unknown, Unset, Value, known, number, reason_of, total
from kcheck.words.derive import money
from kcheck.words.derive.basics import computed, is_default
from kcheck.words.derive.jobs import only

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import PodTemplate, Workload
    from kcheck.scale.world import World

DAY = 24 * 3600

_SERVES = re.compile(r"(?<!\S)(--port|serve)\b|\bapi_server\b")
"""What a server is started by, which no deadline should end."""

_KUEUES_DEADLINE = "kueue.x-k8s.io/max-exec-time-seconds"

_PROCESSES = re.compile(r"--nproc[-_]per[-_]node[= ]+(\S+)")
_WHOLE = re.compile(r"[0-9]{1,6}")
_ENDLESS = {"MPIJob": "Worker", "TFJob": "PS"}
"""Kind of a job -> the role whose pods never end by themselves: they wait for a shell, or for requests."""


def starts(template: PodTemplate, world: World) -> Value[int]:
    """Processes that a pod with GPUs starts: by its command, its job or its launcher; null where no number says it."""
    owner = world.deployed.workload(template)
    written = {text.strip("\"'") for one in template.containers for text in _PROCESSES.findall(one.text)}
    if written:
        return computed(template, _number(written.pop()) if len(written) == 1 else None)
    if owner.kind == "MPIJob":
        return _slots(template, owner)
    if isinstance(owner.processes, Unknown):
        return owner.processes
    text = (
        (known(owner.processes) or "")
        if owner.kind == "TrainJob" or any(c.starters for c in template.containers)
        else ""
    )
    count = _number(text)
    return computed(template, None) if count is None else Known(count, owner.processes.origin)


def _number(text: str) -> int | None:
    """A number of processes; None for a word such as auto, or a variable."""
    return int(text) if _WHOLE.fullmatch(text) else None


def _slots(template: PodTemplate, owner: Workload) -> Value[int]:
    """Processes that a launcher starts on each worker; one that is meant may start the others itself."""
    if template.role.lower() != "worker":
        return computed(template, None)
    one = known(owner.slots) == 1
    launched = " ".join(c.text for t in owner.templates if t is not template for c in t.containers)
    if one and (not known(is_default(owner, owner.slots)) or _SPREAD.search(launched)):
        return computed(template, None)
    return owner.slots


_SPREAD = re.compile(r"(?<!\S)(-N|-npernode|--npernode|-ppn|--map-by|-map-by)\b|torchrun|torch\.distributed|deepspeed")
"""How launchers say that each worker gets another number of processes, or starts them itself."""


# --- what is left when a job has ended


def _endless(workload: Workload) -> list[PodTemplate]:
    role = _ENDLESS.get(workload.kind)
    return [one for one in workload.templates if one.role == role]


def lingering(workload: Workload, _world: World) -> Value[str]:
    """The role of the pods that run on when the job has ended; null where all end by themselves."""
    return computed(workload, next((one.role for one in _endless(workload)), None))


def lingering_pods(workload: Workload, _world: World) -> Value[int]:
    """These pods."""
    sum_ = total(one.count for one in _endless(workload))
    return sum_ if isinstance(sum_, Unknown) else computed(workload, sum_)


def lingering_gpus(workload: Workload, _world: World) -> Value[int]:
    """The GPUs that these pods hold."""
    return _gpus(workload, _endless(workload))


def daily_cost(workload: Workload, world: World) -> Value[money.Cost]:
    """What the nodes of its pods with GPUs cost in a day; null where these are not all known."""
    shares: list[money.Share] = []
    for one in workload.templates:
        if not number(one.gpus, 0):
            continue
        pool = only(one, world)
        each = None if pool is None or isinstance(pool, Unknown) else placement.per_node(one, pool)
        if not each or isinstance(pool, Unknown):
            return computed(workload, None)
        shares.append((pool, -(-number(one.count, 0) // each)))
    return computed(workload, money.cost(shares, world, DAY) if shares else None)


def _gpus(workload: Workload, templates: Iterable[PodTemplate]) -> Value[int]:
    sum_ = 0
    for one in templates:
        if not isinstance(one.count, Known) or not isinstance(one.gpus, Known):
            return Unknown(reason_of(one.count if not isinstance(one.count, Known) else one.gpus))
        sum_ += one.count.value * one.gpus.value
    return computed(workload, sum_)


def kept_for_ever(workload: Workload, _world: World) -> Value[bool]:
    """Whether nothing removes the job and its pods when it has ended."""
    if workload.hooked or known(workload.cleaning) == "All" or workload.kind in ("CronJob", "TrainJob", "RayJob"):
        return computed(workload, value=False)
    if isinstance(workload.ttl, Unknown):
        return workload.ttl
    return computed(workload, isinstance(workload.ttl, Unset) and bool(workload.ttl.origin.spans))


def applied_again_by(workload: Workload, world: World) -> Value[str]:
    """What makes a job again when it is deleted; null if nothing is seen."""
    if workload.place.source.path.endswith((".tf", ".tf.json")):
        return computed(workload, "Terraform")
    own = world.inventory.scope_of.get(workload) or os.path.dirname(workload.place.source.path)
    folder = f"{os.path.realpath(own)}/"
    found = (name for name, folders in world.inventory.synced if folders.match(folder))
    return computed(workload, next(found, None))


def unlimited(workload: Workload, _world: World) -> Value[bool]:
    """Whether a job could have a deadline, and has none; a server wants none."""
    if isinstance(workload.deadline, Unknown) or isinstance(workload.labels, Unknown):
        return Unknown(reason_of(workload.deadline if isinstance(workload.deadline, Unknown) else workload.labels))
    serves = any(_SERVES.search(one.text) for template in workload.templates for one in template.containers)
    possible = isinstance(workload.deadline, Unset) and bool(workload.deadline.origin.spans) and not serves
    return computed(workload, possible and _KUEUES_DEADLINE not in (known(workload.labels) or {}))


def retries_by_default(workload: Workload, _world: World) -> Value[bool]:
    """Whether nobody wrote how often it starts again."""
    if isinstance(workload.retries, Unknown):
        return workload.retries
    return is_default(workload, workload.retries)


def gives_up(workload: Workload, _world: World) -> Value[str]:
    """The setting by which the first failed pod with GPUs ends the job; null if it starts again."""
    if workload.kind in ("Job", "CronJob") and known(workload.retries) == 0 and not known(workload.retries_each):
        return computed(workload, "backoffLimit: 0")
    if workload.kind == "JobSet" and known(workload.retries) == 0:
        return computed(
            workload,
            "maxRestarts: 0, the default," if known(retries_by_default(workload, _world)) else "maxRestarts: 0",
        )
    if workload.kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"):
        never = [one for one in workload.templates if known(one.restart) == "Never" and number(one.gpus, 0)]
        many = any(known(one.count) != 1 for one in never)
        return computed(workload, f"restartPolicy: Never of {never[-1].role}" if many else None)
    return computed(workload, None)
