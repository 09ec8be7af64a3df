"""Workloads: how big they are, where they land, what they start, keep, leave behind and cost."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kcheck.config.numbers import names
from kcheck.model import KUEUE_PRIORITY
from kcheck.scale import money, placement
from kcheck.scale.basics import computed, is_default
from kcheck.scale.bundles import classes_in, defaults_in
from kcheck.scale.queues import stopped_by_queue
from kcheck.scale.world.memory import once
from kcheck.text.files import system
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Unset, Value, combined, known, mapped, number, reason_of, sure, total

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate, PriorityClass, Thing, Workload
    from kcheck.scale.world import World

_OF_NODE = regex(r"/(dev|proc|sys|tmp|run|etc|lib|lib64|usr|opt|var(?!/mnt)|boot|root|local)(/|$)")
"""Paths of a node that are its own; below others, a file system may be mounted that all nodes share."""

_SHARED = frozenset({"persistentVolumeClaim", "nfs", "csi", "cephfs", "azureFile", "flexVolume", "glusterfs"})
_PART = regex(r"\d*\.\d+|\d+m")


def scale(thing: Thing, world: World) -> Value[int]:
    """Nodes that a workload may have: of the largest pool it lands on, those asked for, or its own if many."""
    return _scale(world.deployed.workload(thing), world)


@once
def _scale(workload: Workload, world: World) -> Value[int]:
    if workload.release:
        return Unknown(reason_of(workload.pods))
    if workload.per_node:
        return world.sizes.of_workload(workload)
    own, large = number(workload.pods, 0), world.numbers.limits("any")["job.large"].number
    cluster, asked = world.inventory.cluster_of.get(workload), world.config.nodes.get("")
    if cluster is None:
        most = max(own, asked or 0)
        return computed(workload, most) if asked or own > large else world.inventory.unknown_size(workload)
    sizes: list[Value[int]] = []
    for template in workload.templates:
        found = world.pools.candidates(template)
        if isinstance(found, Unknown):
            return computed(workload, own) if own > large else found
        sizes += [world.sizes.of_pool(pool) for pool, _ in found]
    most = max([own, *(size.value for size in sizes if isinstance(size, Known))])
    unknown = next((size for size in sizes if isinstance(size, Unknown)), None)
    if world.autoscaling.beyond_pools(cluster):
        most = max(most, number(world.sizes.target(cluster), 0))
    return unknown if unknown is not None and most <= large else computed(workload, most)


def gpu_scale(thing: Thing, world: World) -> Value[int]:
    """GPUs that a workload may have: those of its pods, or of as many pods as its scale has nodes."""
    workload = world.deployed.workload(thing)
    own, pods = known(all_gpus(workload, world)) or 0, number(workload.pods, 0)
    if own > world.numbers.limits("any")["job.large_gpus"].number or not own or not pods:
        return computed(workload, own)
    return mapped(scale(workload, world), lambda nodes: own * max(pods, nodes) // pods)


def all_gpus(workload: Workload, _world: World) -> Value[int]:
    """GPUs of all pods of a workload together."""
    found = (combined(lambda pods, gpus: pods * gpus, one.count, one.gpus) for one in workload.templates)
    return computed(workload, total(computed(workload, gpus) for gpus in found))


def cards(workload: Workload, _world: World) -> Value[str]:
    """What the accelerators of a workload are called."""
    kinds = {called_cards(template) for template in workload.templates if number(template.gpus, 0)} or {"GPUs"}
    return computed(workload, kinds.pop() if len(kinds) == 1 else "accelerators")


def called_cards(template: PodTemplate) -> str:
    """What the accelerators of pods are called."""
    names = (*(name for one in template.containers if (name := known(one.gpu))), *template.device_classes, "gpu")
    name = names[0]
    return "TPUs" if "tpu" in name else "GPUs" if "gpu" in name else "accelerators"


def gpu_pods(workload: Workload, _world: World) -> Value[int]:
    """Pods of a workload that have GPUs; all, if none has."""
    with_gpus = [one for one in workload.templates if number(one.gpus, 0)]
    sum_ = total(one.count for one in with_gpus or workload.templates)
    return sum_ if isinstance(sum_, Unknown) else computed(workload, sum_)


def servers(workload: Workload, _world: World) -> Value[PodTemplate]:
    """Its pods that keep the model for the others: those of the role PS, where they have no GPUs."""
    found = (one for one in workload.templates if one.role.lower() == "ps" and known(one.gpus) == 0)
    return computed(workload, next(found, None))


def on_spot(workload: Workload, world: World) -> Value[bool]:
    """Whether pods with GPUs, or all if none has, ask for spot nodes or can only land on such pools."""
    templates = [one for one in workload.templates if number(one.gpus, 0)] or list(workload.templates)
    for template in templates:
        if placement.asks_for_spot(template):
            return computed(workload, value=True)
        found = world.pools.candidates(template)
        if isinstance(found, Unknown):
            continue
        pools = [pool for pool, certain in found if certain]
        if pools and len(pools) == len(found) and all(known(pool.market.spot) for pool in pools):
            return computed(workload, value=True)
    return computed(workload, value=False)


def keeps_state(workload: Workload, _world: World) -> Value[bool]:
    """Whether a volume outlives its pods, or its command names a store."""
    unknown = None
    for template in workload.templates:
        if isinstance(template.volumes, Unknown):
            unknown = template.volumes
        for volume in sure(template.volumes) or ():
            if volume.kind in _SHARED:
                return computed(workload, value=True)
            if volume.kind == "hostPath" and not _OF_NODE.match(volume.path):
                unknown = Unknown(f"whether {volume.path or 'a hostPath'} is shared by the nodes")
        if any(names.pattern("stores", re.IGNORECASE).search(one.text) for one in template.containers):
            return computed(workload, value=True)
    return unknown or computed(workload, value=False)


def priority_class(workload: Workload, world: World) -> Value[PriorityClass]:
    """Its class: the one that it names, else the default one; unset where the code has none.

    Of several defaults the lowest holds.
    """
    if isinstance(workload.priority, Unknown):
        return workload.priority
    name, scope = known(workload.priority), world.deployed.scope(workload)
    if not name:
        defaults = defaults_in(scope, world)
        return computed(workload, min(defaults, key=lambda one: number(one.number, 0), default=None))
    near, all_ = _near_classes(scope, world), _all_classes(world)
    found = near.get(name) or all_.get(name) or all_.get(None)
    return found.name if found is not None and isinstance(found.name, Unknown) else computed(workload, found)


@once
def _near_classes(scope: str, world: World) -> dict[str | None, PriorityClass]:
    return _by_name(classes_in(scope, world))


@once
def _all_classes(world: World) -> dict[str | None, PriorityClass]:
    return _by_name(world.inventory.classes)


def _by_name(classes: list[PriorityClass]) -> dict[str | None, PriorityClass]:
    """The first class of pods of each name; None for names that are not known."""
    result: dict[str | None, PriorityClass] = {}
    for one in classes:
        if not one.kueue and not isinstance(one.name, Unset):
            result.setdefault(known(one.name), one)
    return result


def preemptible(workload: Workload, world: World) -> Value[bool]:
    """Whether a class that is applied with it has a higher number than its own, and pre-empts, as its queue may."""
    if stopped_by_queue(workload, world):
        return computed(workload, value=True)
    own = known(priority_class(workload, world))
    if own is None or not isinstance(own.number, Known):
        return computed(workload, value=False)
    highest = _highest_preempting(world.deployed.scope(workload), world)
    return computed(workload, highest is not None and highest > own.number.value)


@once
def _highest_preempting(scope: str, world: World) -> int | None:
    """Highest priority in a scope that pre-empts others."""
    classes = (one for one in classes_in(scope, world) if known(one.preemption) != "Never")
    return max((one.number.value for one in classes if isinstance(one.number, Known)), default=None)


def queue_priority(workload: Workload, _world: World) -> Value[str]:
    """The priority class that a job has in a queue of Kueue; null if none."""
    if isinstance(workload.labels, Unknown):
        return workload.labels
    return computed(workload, (known(workload.labels) or {}).get(KUEUE_PRIORITY))


def alike(template: PodTemplate, world: World) -> list[NodePool] | Unknown:
    """The pools that pods certainly land on, where nodes have as many GPUs and vCPUs, and take as many; else none."""
    if not world.inventory.clusters:
        return []
    found = world.pools.candidates(template)
    if isinstance(found, Unknown):
        return found
    sizes = {(known(pool.machine.gpus), placement.smallest(pool)) for pool, _ in found}
    counts = {world.pools.per_node(template, pool) for pool, _ in found}
    same = len(found) == 1 or (len(sizes) == len(counts) == 1 and None not in sizes.pop())
    return [pool for pool, _ in found] if same and all(certain for _, certain in found) else []


def only(template: PodTemplate, world: World) -> NodePool | Unknown | None:
    """The pool that pods certainly land on, or the first where all are alike and cost the same; else None."""
    found = alike(template, world)
    if isinstance(found, Unknown):
        return found
    return found[0] if len({world.numbers.price(pool) for pool in found}) == 1 else None


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

    return computed(workload, money.cost(shares, world, money.DAY) if shares else None)


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
