"""Words of workloads and their pods: how big they are, where they land, what they keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.model import CARDS, PodTemplate, Workload
from kcheck.numbers import tags
from kcheck.scale import images, placement
from kcheck.source.values import Known, Unknown, Unset, Value, combined, equals, known, mapped, number, reason_of, total
from kcheck.words.derive.basics import computed
from kcheck.words.derive.bundles import default_classes, pod_classes
from kcheck.words.derive.queues import PRIORITY, stopped_by_queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Container, NodePool, PriorityClass, Thing
    from kcheck.scale.world import World

_STORES = re.compile(
    r"\b(s3|gs|gcs|oss|abfss?|wasbs?|az|hdfs|tos|cos)://|AZURE_STORAGE|[A-Z0-9]_BUCKET\b"
    r"|\.(blob|dfs)\.core\.windows\.net|storage\.googleapis\.com|\bs3[.-][\w.-]*amazonaws\.com|\boss-[\w.-]+\.aliyuncs\.com",
    re.IGNORECASE,
)
_OF_NODE = re.compile(r"/(dev|proc|sys|tmp|run|etc|lib|lib64|usr|opt|var(?!/mnt)|boot|root|local)(/|$)")
"""Paths of a node that are its own; below others, a file system may be mounted that all nodes share."""

_SHARED = frozenset({"persistentVolumeClaim", "nfs", "csi", "cephfs", "azureFile", "flexVolume", "glusterfs"})
_PART = re.compile(r"\d*\.\d+|\d+m")


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


def gpu_resources(workload: Workload, _world: World) -> Value[tuple[str, ...]]:
    """The resources by which its pods ask for accelerators, as far as they are known."""
    names = (known(one.gpu) for template in workload.templates for one in template.containers)
    return computed(workload, tuple(dict.fromkeys(filter(None, names))))


def called_cards(template: PodTemplate) -> str:
    """What the accelerators of pods are called."""
    name = next((name for one in template.containers if (name := known(one.gpu))), "gpu")
    return "TPUs" if "tpu" in name else "GPUs" if "gpu" in name else "accelerators"


def gpu_pods(workload: Workload, _world: World) -> Value[int]:
    """Pods of a workload that have GPUs; all, if none has."""
    with_gpus = [one for one in workload.templates if number(one.gpus, 0)]
    sum_ = total(one.count for one in with_gpus or workload.templates)
    return sum_ if isinstance(sum_, Unknown) else computed(workload, sum_)


def called(thing: Thing, world: World) -> Value[str]:
    """Kind and name of the workload that something is part of, and the role of its pods."""
    workload = world.deployed.workload(thing)
    role = f" ({thing.role})" if isinstance(thing, PodTemplate) and thing.role else ""
    return computed(thing, f"{workload.kind} {known(workload.name) or '?'}{role}")


def of_owner(name: str) -> Callable[[Thing, World], Value[object]]:
    """A field of the workload that something is part of."""
    return lambda thing, world: getattr(world.deployed.workload(thing), name)


def shown(name: str) -> Callable[[Thing, World], Value[object]]:
    """A plain field of the workload that something is part of."""
    return lambda thing, world: computed(thing, getattr(world.deployed.workload(thing), name))


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
        if any(_STORES.search(one.text) for one in template.containers):
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
    return computed(workload, (known(workload.labels) or {}).get(PRIORITY))


# --- pods


def pools(template: PodTemplate, world: World) -> list[NodePool] | Unknown:
    """The pools that pods can land on."""
    found = world.pools.candidates(template)
    return found if isinstance(found, Unknown) else [pool for pool, _ in found]


def kept_out(template: PodTemplate, world: World) -> Value[str]:
    """The taint that keeps pods from all pools that have room for them; null if some take them."""
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is None:
        return world.inventory.unknown_cluster(workload) if world.inventory.clusters else computed(template, None)
    found = world.pools.all_of_cluster(cluster)
    if isinstance(found, Unknown):
        return found
    if world.autoscaling.beyond_pools(cluster):
        return computed(template, None)  # nodes of other kinds may come
    return computed(template, placement.tainted_only(template, found) or None)


def alike(template: PodTemplate, world: World) -> list[NodePool] | Unknown:
    """The pools that pods certainly land on, where a node of each has as many GPUs and vCPUs; else none."""
    if not world.inventory.clusters:
        return []
    found = world.pools.candidates(template)
    if isinstance(found, Unknown):
        return found
    sizes = {(known(pool.machine.gpus), placement.smallest(pool)) for pool, _ in found}
    same = len(found) == 1 or (len(sizes) == 1 and None not in sizes.pop())
    return [pool for pool, _ in found] if same and all(certain for _, certain in found) else []


def only(template: PodTemplate, world: World) -> NodePool | Unknown | None:
    """The pool that pods certainly land on, or the first where all are alike and cost the same; else None."""
    found = alike(template, world)
    if isinstance(found, Unknown):
        return found
    return found[0] if len({world.numbers.price(pool) for pool in found}) == 1 else None


def per_node(template: PodTemplate, world: World) -> Value[int]:
    """Pods that a node of its pools takes by GPUs and vCPUs; null where it is not known."""
    found = alike(template, world)
    if isinstance(found, Unknown):
        return found
    return computed(template, placement.per_node(template, found[0]) if found else None)


def idle_gpus(template: PodTemplate, world: World) -> Value[int]:
    """GPUs of a node of its pools that no further pod of its kind can use; null where it is not known."""
    cards = known(template.gpus)
    found = [] if cards == 0 else alike(template, world)
    if isinstance(found, Unknown):
        return found
    fits = placement.per_node(template, found[0]) if found else None
    of_node = known(found[0].machine.gpus) if found else None
    if not cards or not fits or of_node is None:
        return computed(template, None)
    return computed(template, of_node - fits * cards)


def asks(template: PodTemplate, _world: World) -> Value[str]:
    """What one pod asks for, in words."""
    cpu = number(template.cpu, 0)
    return computed(template, f"{number(template.gpus, 0)} GPUs" + (f" and {cpu / 1000:g} vCPUs" if cpu else ""))


def crowd(template: PodTemplate, world: World) -> Value[str]:
    """Why the ports that its pods take of the node cost nodes; null if they do not, or nobody knows."""
    if not template.ports or known(template.count) in (0, 1):
        return computed(template, None)
    found = world.pools.candidates(template)
    if isinstance(found, Unknown):
        return found
    nodes = [world.sizes.of_pool(pool) for pool, _ in found]
    count, room = template.count, total(nodes)
    if not nodes or not isinstance(count, Known):
        return computed(template, None)
    if isinstance(room, int) and count.value > room:
        return computed(template, f"{count.value:,} pods need as many nodes, and its pools have {room:,}")
    same = alike(template, world)
    fits = placement.per_node(template, same[0], ports=False) if same and not isinstance(same, Unknown) else 1
    if fits is not None and fits > 1 and count.value >= fits:
        return computed(template, f"a node would take {fits} of its {count.value:,} pods, and takes one")
    return computed(template, None)


def rdma(template: PodTemplate, _world: World) -> Value[bool]:
    """Whether its pods ask for RDMA or EFA interfaces, which need the network of the node."""
    return computed(template, any(one.rdma for one in template.containers))


def node(template: PodTemplate, world: World) -> Value[str]:
    """Machine types, GPUs and vCPUs of a node of its pools, in words; null where it is not known."""
    found = alike(template, world)
    pools = () if isinstance(found, Unknown) else found
    types = [name for pool in pools for name in known(pool.machine.instance_types) or ()]
    if isinstance(found, Unknown) or not types:
        return computed(template, None)
    vcpus = placement.smallest(found[0])
    text = f"{'/'.join(dict.fromkeys(types))} with {known(found[0].machine.gpus) or 0} GPUs"
    text += f" and {vcpus} vCPUs" if vcpus else ""
    return computed(template, text)


def vendor(template: PodTemplate, _world: World) -> Value[str]:
    """The resource by which pods ask for GPUs; null without."""
    return computed(template, next((known(one.gpu) for one in template.containers if known(one.gpu)), None))


def starters(template: PodTemplate, _world: World) -> Value[str]:
    """What starts several processes in its containers, such as torchrun; null if nothing is seen."""
    found = [word for one in template.containers for word in one.starters]
    return computed(template, found[0] if found else None)


def ports(template: PodTemplate, _world: World) -> Value[int]:
    """Ports of the node that a pod takes."""
    return computed(template, len(template.ports))


def first_port(template: PodTemplate, _world: World) -> Value[str]:
    """The first of them; null if there is none."""
    return computed(template, str(template.ports[0]) if template.ports else None)


def watches(template: PodTemplate, world: World) -> Value[str]:
    """What its service account may list of all nodes' objects; null if nothing."""
    workload = world.deployed.workload(template)
    own = (known(workload.namespace) or "", known(template.account) or "")
    if not own[1]:
        return computed(template, None)
    for one in world.deployed.beside(workload).watchers:
        if any(account == own[1] and (not space or not own[0] or space == own[0]) for space, account in one.accounts):
            return computed(template, ", ".join(one.resources))
    return computed(template, None)


# --- containers


def fixed_tag(one: Container, _world: World) -> Value[bool]:
    """Whether the image of a container has a digest, or a tag that does not move."""
    return mapped(images.ending(one.image), lambda ending: bool(ending.digest) or not tags.moves(ending.tag))


def asks_nothing(one: Container, _world: World) -> Value[bool]:
    """Whether a container neither asks for CPU, memory and GPUs nor is limited."""
    values: list[Value[object]] = [one.cpu, one.memory, one.gpu]
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    return unknown or computed(one, all(isinstance(value, Unset) for value in values))


def fraction(one: Container, _world: World) -> Value[bool]:
    """Whether it asks for a part of a card by the name of whole ones."""
    texts = [known(value) or "" for value in (one.gpu_limit, one.gpu_request)]
    return computed(one, known(one.gpu) in CARDS and any(_PART.fullmatch(text) for text in texts))


def beside_gpus(one: Container, world: World) -> Value[bool]:
    """Whether the pod of a container has GPUs: such a pod has its node, or most of it, anyway."""
    template = next(t for t in world.deployed.workload(one).templates if one in t.containers)
    return mapped(template.gpus, lambda cards: bool(cards) or template.shares)


def _limit_ranges(workload: Workload, world: World) -> set[str | None]:
    """The namespaces with a LimitRange that are applied with a workload; None for what names none."""
    return {known(limit.namespace) for limit in world.deployed.beside(workload).limits if limit.kind == "LimitRange"}


def defaulted(one: Container, world: World) -> Value[bool]:
    """Whether its pod, a LimitRange of its namespace, or the runtime of a TrainJob, says what it asks for."""
    workload = world.deployed.workload(one)
    if any(template.asks_as_one and one in template.containers for template in workload.templates):
        return computed(one, value=True)
    home = world.deployed.scope(workload)
    ranges = world.remember("limit ranges", home, lambda: _limit_ranges(workload, world))
    return computed(one, workload.kind == "TrainJob" or bool(ranges & {known(workload.namespace), None}))
