"""Workloads: size, placement, processes, state, cost, leftovers."""

import re

from kcheck.config.numbers import names
from kcheck.model import NodePool, PodTemplate, PriorityClass, Thing, Workload
from kcheck.scale import money, placement
from kcheck.scale.bundles import classes_in, default_classes
from kcheck.scale.queues import stopped_by_queue
from kcheck.scale.word_helpers import computed, is_default
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text import placeholders
from kcheck.text.files import system
from kcheck.text.need import first_unknown, if_set, need, or_none
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, because, known, mapped, number, sure

_OF_NODE = regex(r"/(dev|proc|sys|tmp|run|etc|lib(64)?|usr|opt|var(?!/mnt)|boot|root|local|mnt/k8s-disks)(/|$)")
"""Paths of a node that are its own; below others, a shared file system may be mounted."""

_SHARED = frozenset({"persistentVolumeClaim", "nfs", "csi", "cephfs", "azureFile", "flexVolume", "glusterfs"})


def scale(thing: Thing, world: World) -> Value[int]:
    """Count the nodes a workload may use."""
    return _scale(world.deployed.workload(thing), world)


@once
def _scale(workload: Workload, world: World) -> Value[int]:
    if workload.release:
        return because(workload.pods)
    if workload.per_node:
        return world.sizes.of_workload(workload)
    own, large = number(workload.pods, 0), world.numbers.limits("any")["job.large"].number
    cluster, asked = world.inventory.cluster_of.get(workload), world.config.nodes.get("")
    if cluster is None:
        most = max(own, asked or 0)
        return computed(workload, most) if asked or own > large else world.inventory.unknown_size(workload)
    found = [world.pools.candidates(template) for template in workload.templates]
    if (missing := first_unknown(found)) is not None:
        return computed(workload, own) if own > large else missing
    sizes = [world.sizes.of_pool(pool) for one in found for pool, _ in known(one) or ()]
    most = max([own, *(size.value for size in sizes if isinstance(size, Known))])
    unknown = first_unknown(sizes)
    if world.autoscaling.beyond_pools(cluster):
        most = max(most, number(world.sizes.target(cluster), 0))
    return unknown if unknown is not None and most <= large else computed(workload, most)


def gpu_scale(thing: Thing, world: World) -> Value[int]:
    """Count the GPUs a workload may use, at least one pod's per node."""
    workload = world.deployed.workload(thing)
    own, pods = or_none(all_gpus)(workload, world) or 0, number(workload.pods, 0)
    if own > world.numbers.limits("any")["job.large_gpus"].number or not own or not pods:
        return computed(workload, own)
    return mapped(scale(workload, world), lambda nodes: own * max(pods, nodes) // pods)


def asked_gpus(workload: Workload, world: World) -> int:
    """Count the GPUs of a workload, with a pod per requested node if few."""
    cluster = world.inventory.cluster_of.get(workload)
    asked = world.sizes.requested(cluster) if cluster else world.config.nodes.get("")
    own, pods = all_gpus(workload, world), max(1, need(workload.pods))
    few = own <= world.numbers.limits("any")["job.large_gpus"].number
    return own * max(pods, asked or 0) // pods if few else own


def all_gpus(workload: Workload, _world: World) -> int:
    """Sum the GPUs of all pods of a workload."""
    return sum(need(one.count) * need(one.gpus) for one in workload.templates)


def cards(workload: Workload, _world: World) -> str:
    """Return what to call a workload's accelerators: GPUs, TPUs or accelerators."""
    own = (one for one in workload.templates if number(one.gpus, 0) or any(known(of.gpu) for of in one.containers))
    kinds = set(map(called_cards, own)) or {"GPUs"}
    return kinds.pop() if len(kinds) == 1 else "accelerators"


def called_cards(template: PodTemplate) -> str:
    """Return what to call the accelerators of pods."""
    asked = [name for one in template.containers if (name := known(one.gpu))]
    name = next(iter((*asked, *(known(template.device_classes) or ()))), "gpu")
    return "TPUs" if "tpu" in name else "GPUs" if "gpu" in name else "accelerators"


def gpu_pods(workload: Workload, _world: World) -> int:
    """Count the pods of a workload that have GPUs; all if none has."""
    with_gpus = [one for one in workload.templates if number(one.gpus, 0)]
    return sum(need(one.count) for one in with_gpus or workload.templates)


def on_spot(workload: Workload, world: World) -> bool:
    """Whether GPU pods, or all without GPUs, run on spot nodes only."""
    templates = [one for one in workload.templates if number(one.gpus, 0)] or list(workload.templates)
    return any(placement.asks_for_spot(one) or _lands_on_spot(one, world) for one in templates)


def _lands_on_spot(template: PodTemplate, world: World) -> bool:
    found = known(world.pools.candidates(template)) or ()
    markets = [pool.market.spot for pool, _ in found]
    unsure = [world.pools.fit(template, pool) for pool, certain in found if not certain]
    if not found or not all(known(one) or isinstance(one, Unknown) for one in markets):
        return False
    need(placement.deciding(unsure))
    return not unsure and all(map(need, markets))


def keeps_state(workload: Workload, _world: World) -> Value[bool]:
    """Whether a volume outlives the workload's pods, or its command names a store."""
    unknown = first_unknown(template.volumes for template in workload.templates)
    for template in workload.templates:
        for volume in sure(template.volumes) or ():
            if volume.kind in _SHARED:
                return computed(workload, value=True)
            if volume.kind == "hostPath" and not _OF_NODE.match(volume.path):
                unknown = Unknown(f"whether {volume.path or 'a hostPath'} is shared by the nodes")
        if any(names.pattern("stores", re.IGNORECASE).search(one.text) for one in template.containers):
            return computed(workload, value=True)
    return unknown or computed(workload, value=False)


def priority_class(workload: Workload, world: World) -> Value[PriorityClass]:
    """Find a workload's priority class: by name, else the lowest default."""
    name, scope = if_set(workload.priority), world.deployed.scope(workload)
    if not name:
        defaults = default_classes(workload, world)
        return computed(workload, min(defaults, key=lambda one: number(one.number, 0), default=None))
    near, all_ = _classes(scope, world), _classes(None, world)
    found = near.get(name) or all_.get(name) or all_.get(None)
    return found.name if found is not None and isinstance(found.name, Unknown) else computed(workload, found)


@once
def _classes(scope: str | None, world: World) -> dict[str | None, PriorityClass]:
    """Index priority classes by name in a scope; None for unknown names."""
    every = world.inventory.classes if scope is None else classes_in(scope, world)
    return {known(one.name): one for one in reversed(every) if not one.kueue and not isinstance(one.name, Unset)}


def preemptible(workload: Workload, world: World) -> bool:
    """Whether a queue or a higher class may preempt a workload."""
    if stopped_by_queue(workload, world):
        return True
    own, scope = if_set(priority_class(workload, world)), world.deployed.scope(workload)
    number, highest = if_set(own.number) if own is not None else None, _highest_preempting(scope, world)
    higher = number is not None and highest is not None and highest > number
    if number is not None and not higher:
        need(first_unknown(one.number for one in classes_in(scope, world)))
    return higher


@once
def _highest_preempting(scope: str, world: World) -> int | None:
    classes = (one for one in classes_in(scope, world) if known(one.preemption) != "Never")
    return max((one.number.value for one in classes if isinstance(one.number, Known)), default=None)


def alike(template: PodTemplate, world: World) -> list[NodePool]:
    """List the pools that pods fit, if alike in GPUs, vCPUs and pods."""
    if not world.inventory.clusters:
        return []
    found = need(world.pools.candidates(template))
    sizes = {(known(pool.machine.gpus), placement.smallest(pool)) for pool, _ in found}
    counts = {world.pools.per_node(template, pool) for pool, _ in found}
    same = len(found) == 1 or (len(sizes) == len(counts) == 1 and None not in sizes.pop())
    if same and all(certain for _, certain in found):
        return [pool for pool, _ in found]
    need(first_unknown((template.gpus, *(pool.machine.instance_types for pool, _ in found))))
    return []


def only(template: PodTemplate, world: World) -> NodePool | None:
    """Return the pool that pods certainly use, or the first of equal ones."""
    pools = or_none(alike)(template, world) or []
    return pools[0] if len({world.numbers.price(pool) for pool in pools}) == 1 else None


_AWAITED = regex(r"--nnodes[= ]+(\S+)")
_STARTERS = ("torchrun", "torch.distributed")
_PROCESSES = regex(r"--nproc[-_]per[-_]node[= ]+(\S+)")
_WHOLE = regex(r"[0-9]{1,6}")


def awaited_nodes(template: PodTemplate, _world: World) -> Value[int]:
    """Return the number of nodes torchrun waits for; null for a range."""
    texts = [one.text for one in template.containers if any(word in one.text for word in _STARTERS)]
    written = {text.strip("\"'") for one in texts for text in _AWAITED.findall(one)}
    hidden = written or (one.text.split(" ")[0] for one in template.containers)
    unknown = placeholders.unknown(hidden, Origin((template.place,)))
    return unknown or computed(template, _number(written.pop()) if len(written) == 1 else None)


def starts(template: PodTemplate, world: World) -> Value[int]:
    """Count the processes that a GPU pod starts; null without a number."""
    owner = world.deployed.workload(template)
    written = {text.strip("\"'") for one in template.containers for text in _PROCESSES.findall(one.text)}
    if written:
        return computed(template, _number(written.pop()) if len(written) == 1 else None)
    if owner.kind == "MPIJob":
        return _slots(template, owner)
    launched = owner.kind == "TrainJob" or any(one.starters for one in template.containers)
    if isinstance(owner.processes, Unset) or not launched:
        return computed(template, None)
    count, origin = _number(need(owner.processes)), owner.processes.origin or Origin((owner.place,))
    return computed(template, None) if count is None else Known(count, origin)


def _number(text: str) -> int | None:
    """Parse a number of processes; None for words and variables."""
    return int(text) if _WHOLE.fullmatch(text) else None


def _slots(template: PodTemplate, owner: Workload) -> Value[int]:
    """Count the processes that a launcher starts on each worker."""
    if template.role.lower() != "worker":
        return computed(template, None)
    one = known(owner.slots) == 1
    launched = " ".join(c.text for t in owner.templates if t is not template for c in t.containers)
    if one and (not known(is_default(owner, owner.slots)) or _SPREAD.search(launched)):
        return computed(template, None)
    return owner.slots


_SPREAD = regex(r"(?<!\S)(-N|-npernode|--npernode|-ppn|--map-by|-map-by)\b|torchrun|torch\.distributed|deepspeed")
"""Ways of launchers to set another number of processes per worker, or to start them there."""


def daily_cost(workload: Workload, world: World) -> money.Cost | None:
    """Estimate the daily cost of a workload's GPU nodes; None if unknown."""
    shares: list[money.Share] = []
    for one in workload.templates:
        if not number(one.gpus, 0):
            continue
        pool = only(one, world)
        each = world.pools.per_node(one, pool) if pool else None
        if each is None or not each.exact:
            return None
        shares.append((pool, -(-number(one.count, 0) // each.exact)))
    return money.cost(shares, world, money.DAY) if shares else None


def settings(workload: Workload, _world: World) -> tuple[str, ...]:
    """List the settings that a job's kind has, set or not."""
    found = {"ttl": workload.ttl, "deadline": workload.deadline}
    had = (name for name, value in found.items() if not isinstance(value, Unset) or value.origin.spans)
    return tuple(had)


def applied_again_by(workload: Workload, world: World) -> str | None:
    """Return what recreates a deleted job; None if nothing in the code does."""
    if workload.place.source.path.endswith((".tf", ".tf.json")):
        return "Terraform"
    folder = f"{system.real_path(world.deployed.folder(workload))}/"
    found = (one.name for one in world.inventory.synced if one.heals and one.folders.match(folder))
    return next(found, None)
