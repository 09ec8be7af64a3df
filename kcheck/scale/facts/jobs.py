"""Words of workloads and their pods: how big they are, where they land, what they keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.config.numbers import names
from kcheck.model import KUEUE_PRIORITY
from kcheck.scale import placement
from kcheck.scale.facts.basics import computed
from kcheck.scale.facts.bundles import default_classes, pod_classes
from kcheck.scale.facts.queues import stopped_by_queue
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Unset, Value, combined, equals, known, number, reason_of, total

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate, PriorityClass, Thing, Workload
    from kcheck.scale.world import World

_OF_NODE = regex(r"/(dev|proc|sys|tmp|run|etc|lib|lib64|usr|opt|var(?!/mnt)|boot|root|local)(/|$)")
"""Paths of a node that are its own; below others, a file system may be mounted that all nodes share."""

_SHARED = frozenset({"persistentVolumeClaim", "nfs", "csi", "cephfs", "azureFile", "flexVolume", "glusterfs"})
_PART = regex(r"\d*\.\d+|\d+m")


def scale(thing: Thing, world: World) -> Value[int]:
    """Nodes that a workload may have: of the largest pool it lands on, those asked for, or its own if many."""
    workload = world.deployed.workload(thing)
    return world.remember("scale", workload, lambda: _scale(workload, world))


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
        for volume in known(template.volumes) or ():
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
    name = known(workload.priority)
    if not name:
        defaults = default_classes(workload, world)
        return computed(workload, min(defaults, key=lambda one: number(one.number, 0), default=None))
    near = world.remember(
        "priority classes by name", world.deployed.scope(workload), lambda: _by_name(pod_classes(workload, world))
    )
    all_ = world.remember("all priority classes by name", "", lambda: _by_name(world.inventory.classes))
    found = near.get(name) or all_.get(name) or all_.get(None)
    return found.name if found is not None and isinstance(found.name, Unknown) else computed(workload, found)


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
    highest = world.remember(
        "highest priority that pre-empts",
        world.deployed.scope(workload),
        lambda: max(
            (
                one.number.value
                for one in pod_classes(workload, world)
                if isinstance(one.number, Known) and not equals(one.preemption, "Never")
            ),
            default=None,
        ),
    )
    return computed(workload, highest is not None and highest > own.number.value)


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
