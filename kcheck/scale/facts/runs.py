"""Words of what jobs start, what they leave behind, and what that costs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.scale.facts.basics import computed, is_default
from kcheck.scale.facts.jobs import only
from kcheck.text.files import system
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Unset, Value, known, number

if TYPE_CHECKING:
    from kcheck.model import PodTemplate, Workload
    from kcheck.scale.facts import money
    from kcheck.scale.world import World

DAY = 24 * 3600

_SERVES = regex(r"(?<!\S)(--port|serve)\b|\bapi_server\b")
"""What a server is started by, which no deadline should end."""

_PROCESSES = regex(r"--nproc[-_]per[-_]node[= ]+(\S+)")
_WHOLE = regex(r"[0-9]{1,6}")
ENDLESS = {"MPIJob": "Worker", "TFJob": "PS"}
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


_SPREAD = regex(r"(?<!\S)(-N|-npernode|--npernode|-ppn|--map-by|-map-by)\b|torchrun|torch\.distributed|deepspeed")
"""How launchers say that each worker gets another number of processes, or starts them itself."""


# --- what is left when a job has ended


def endless(workload: Workload, _world: World) -> Value[PodTemplate]:
    """Its pods that run on when the job has ended; null where all end by themselves."""
    role = ENDLESS.get(workload.kind)
    return computed(workload, next((one for one in workload.templates if one.role == role), None))


def daily_cost(workload: Workload, world: World) -> Value[money.Cost]:
    """What the nodes of its pods with GPUs cost in a day; null where these are not all known."""
    shares: list[money.Share] = []
    for one in workload.templates:
        if not number(one.gpus, 0):
            continue
        pool = only(one, world)
        if pool is None or isinstance(pool, Unknown):
            return computed(workload, None)
        each = world.pools.per_node(one, pool)
        if each is None or not each.exact:
            return computed(workload, None)
        shares.append((pool, -(-number(one.count, 0) // each.exact)))
    from kcheck.scale.facts import money

    return computed(workload, money.cost(shares, world, DAY) if shares else None)


def settings(workload: Workload, _world: World) -> Value[tuple[str, ...]]:
    """Which settings of a job its kind has, written or not."""
    found = {"ttl": workload.ttl, "deadline": workload.deadline}
    return computed(
        workload,
        tuple(name for name, value in found.items() if not isinstance(value, Unset) or value.origin.spans),
    )


def applied_again_by(workload: Workload, world: World) -> Value[str]:
    """What makes a job again when it is deleted; null if nothing is seen."""
    if workload.place.source.path.endswith((".tf", ".tf.json")):
        return computed(workload, "Terraform")
    own = world.inventory.scope_of.get(workload) or os.path.dirname(workload.place.source.path)
    folder = f"{system.real_path(own)}/"
    found = (name for name, folders in world.inventory.synced if folders.match(folder))
    return computed(workload, next(found, None))


def serves(workload: Workload, _world: World) -> Value[bool]:
    """Whether a command starts a server."""
    return computed(workload, any(_SERVES.search(one.text) for two in workload.templates for one in two.containers))


def retries_is_default(workload: Workload, _world: World) -> Value[bool]:
    """Whether nobody wrote how often it starts again."""
    if isinstance(workload.retries, Unknown):
        return workload.retries
    return is_default(workload, workload.retries)
