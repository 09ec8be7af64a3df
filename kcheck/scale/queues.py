"""Priority classes, queues, namespaces, quotas, and scheduler settings."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from kcheck.config.numbers import names
from kcheck.model import KUEUE_PRIORITY, Namespace, Queue
from kcheck.scale.pools import autoscaled
from kcheck.scale.word_helpers import computed
from kcheck.scale.world.memory import once
from kcheck.text.need import first_unknown, need
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, because, equals, known, mapped, number

if TYPE_CHECKING:
    import re

    from kcheck.model import Admission, Cluster, PriorityClass, Quota, Scheduler, Thing, Workload
    from kcheck.scale.world import World

_COUNTED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "requests.nvidia.com/gpu"})
_WHOLE = regex(r"-?\d{1,18}")
T = TypeVar("T", bound="Thing")


def gpu_pattern() -> re.Pattern[str]:
    """Return the pattern of quota keys that name accelerators."""
    return _compiled(rf"^requests\.[^/]*({names.pattern('vendors').pattern})|deviceclass")


_compiled = cache(regex)


def cutoff(one: PriorityClass, world: World) -> Value[int]:
    """Return the priority below which the autoscaler ignores pods."""
    cluster = world.inventory.cluster_of.get(one)
    flag = cutoff_flag(cluster, world) if cluster is not None else None
    return computed(one, world.numbers.limits("any")["priority.cutoff"].number) if flag is None else flag


def cutoff_flag(cluster: Cluster, world: World) -> Value[int] | None:
    """Return the flag's priority below which pods are ignored; else None."""
    for autoscaler in world.inventory.autoscalers:
        flag = next((f for f in autoscaler.flags if equals(f.name, "expendable-pods-priority-cutoff")), None)
        if flag is not None and known(autoscaler.cluster) is cluster:
            text = str(known(flag.value))
            return Known(int(text), flag.value.origin or Origin(())) if _WHOLE.fullmatch(text) else Unknown("its flag")
    return None


# --- queues


def folder(thing: Thing) -> str:
    """Return the folder of an object's file."""
    return os.path.dirname(thing.place.source.path)


@once
def _folders(world: World) -> set[str]:
    return set(map(folder, world.inventory.queues))


def _near(thing: Thing, found: list[T], world: World) -> list[T]:
    """Choose among objects with one name, the nearest folders first.

    A repository of examples has many queues with one name; jobs use the queue of their own example.
    """
    if len(_folders(world)) <= 1:
        return found
    own = f"{folder(thing)}/"
    return [one for one in found if own.startswith(f"{folder(one)}/") or f"{folder(one)}/".startswith(own)]


@once
def _of_kind(kind: str, world: World) -> list[Queue]:
    return [queue for queue in world.inventory.queues if queue.kind == kind]


@once
def _of_folders(kind: str, world: World) -> dict[str, list[Queue]]:
    return grouped(_of_kind(kind, world), folder)


def _near_names(thing: Thing, kind: str, world: World) -> tuple[str, ...]:
    """List the first queues of a kind in the object's folder or above it, by name.

    If the settings assign manifests to a cluster, all of its queues count.
    """
    return _names_near(kind, thing.place.source.path, world.inventory.cluster_of.get(thing), world)


@once
def _names_near(kind: str, path: str, cluster: Cluster | None, world: World) -> tuple[str, ...]:
    folders, own = _of_folders(kind, world), f"{os.path.dirname(path)}/"
    above = [own[:end] for end, char in enumerate(own) if char == "/"]
    found = [other for folder in ("", *above) for other in folders.get(folder, [])]
    environment = world.config.environment(cluster.root, cluster.environment) if cluster else None
    if environment is not None and environment.manifests:
        found = [other for other in _of_kind(kind, world) if world.inventory.cluster_of.get(other) is cluster]
    near = [other.name for other in found if not _is_example(other, path, world)]
    names = dict.fromkeys(name.value for name in near if isinstance(name, Known))
    need(first_unknown(near))
    return tuple(islice(names, _MOST_NAMES))


_MOST_NAMES = 5
"""Most queues that are named as possibly meant."""


def _is_example(queue: Queue, path: str, world: World) -> bool:
    """Whether a queue's file also has jobs, and is an example."""
    own = queue.place.source.path
    return own != path and (own, known(queue.name)) in _files_with_jobs(world)


@once
def _files_with_jobs(world: World) -> set[tuple[str, str | None]]:
    return {(workload.place.source.path, known(workload.queue)) for workload in world.inventory.workloads}


@once
def _by_target(world: World) -> dict[str, list[Queue]]:
    return grouped(_of_kind("LocalQueue", world), lambda one: str(known(one.leads_to)))


def _leading(queue: Queue, world: World) -> list[Queue]:
    return _near(queue, _by_target(world).get(str(known(queue.name)), []), world)


def leading(queue: Queue, world: World) -> int:
    """Count the LocalQueues that lead to a ClusterQueue."""
    return len(_leading(queue, world)) or need(_unnamed(queue, world)) or 0


def _unnamed(queue: Queue, world: World) -> Unknown | None:
    """Return an unknown name through which jobs may wait; else None."""
    scope = world.deployed.scope(queue)
    names = queue.name, queue.namespace, unnamed_queue("LocalQueue", scope, world), _unnamed_by_jobs(scope, world)
    return first_unknown(names)


@once
def unnamed_queue(kind: str, scope: str, world: World) -> Unknown | None:
    """Return an unknown name of a queue, or of a queue's target."""
    found = [one for one in world.deployed.in_scope(scope).queues if kind in (one.kind, "")]
    return first_unknown(name for one in found for name in (one.name, one.leads_to, one.namespace))


@once
def _unnamed_by_jobs(scope: str, world: World) -> Unknown | None:
    jobs = (one for one in world.deployed.in_scope(scope).workloads if one.batch)
    return first_unknown(name for one in jobs for name in (one.queue, one.namespace))


def _waiting(queue: Queue, world: World) -> list[Workload]:
    """List the workloads that wait in a queue of Volcano or a LocalQueue."""
    space = known(queue.namespace) if queue.kind == "LocalQueue" else None
    system = "kueue" if queue.kind == "LocalQueue" else "volcano"
    return _near(queue, _by_place(world).get((system, space or "", str(known(queue.name))), []), world)


@once
def _by_place(world: World) -> dict[tuple[str, str, str], list[Workload]]:
    return grouped(world.inventory.workloads, _place)


def _place(workload: Workload) -> tuple[str, str, str]:
    """Return the key of the queue where a workload waits."""
    system = str(known(workload.queue_system))
    return system, (known(workload.namespace) or "") if system == "kueue" else "", str(known(workload.queue))


def jobs(queue: Queue, world: World) -> list[Workload]:
    """List the workloads that wait in a queue, or in the LocalQueues that lead to it.

    Raises NotKnown if there is none, but one with an unknown queue name may.
    """
    queues = _leading(queue, world) if queue.kind == "ClusterQueue" else [queue]
    found = [workload for one in queues for workload in _waiting(one, world)]
    if not found:
        need(_unnamed(queue, world))
    return found


def stopped_by_queue(workload: Workload, world: World) -> bool:
    """Whether a job's ClusterQueue preempts it for jobs with a higher Kueue class."""
    name = (known(workload.labels) or {}).get(KUEUE_PRIORITY)
    classes = [one for one in world.deployed.beside(workload).classes if one.kueue] if name else []
    own = next((number(one.number, 0) for one in classes if known(one.name) == name), None)
    if own is None or all(number(one.number, 0) <= own for one in classes):
        return False
    found = (one for one in world.deployed.beside(workload).queues if one.kind == "ClusterQueue")
    return any(known(one.preemption) not in (None, "Never") and workload in jobs(one, world) for one in found)


def admitting_queue(job: Workload, world: World) -> Queue | None:
    """Find the ClusterQueue or Volcano queue that admits a job."""
    near, name = by_kind_and_name(world.deployed.scope(job), world), known(job.queue)
    if equals(job.queue_system, "volcano"):
        return next(iter(near.get(("Queue", name), ())), None)
    near_by = _local_queues(world.deployed.scope(job), world)
    local = (one for own in dict.fromkeys((known(job.namespace), None)) for one in near_by.get(own, ()))
    target = next((known(one.leads_to) for one in local if known(one.name) == name), None)
    return next(iter(near.get(("ClusterQueue", target), ())), None) if target else None


@once
def by_kind_and_name(scope: str | None, world: World) -> dict[tuple[str, str | None], list[Queue]]:
    """Index the queues that are applied together, or all queues."""
    found = world.inventory.queues if scope is None else world.deployed.in_scope(scope).queues
    return grouped(found, lambda one: (one.kind, known(one.name)))


def resources(queue: Queue, world: World) -> Value[tuple[str, ...]]:
    """List the resources with quota in a ClusterQueue, in any file that defines it."""
    others = [one.resources for one in _alternatives(queue, world)]
    own = queue.resources if queue.kind == "ClusterQueue" else computed(queue, ())
    every = mapped(own, lambda names: tuple(dict.fromkeys(chain(names, *(known(one) or () for one in others)))))
    return first_unknown(others) or every


def _alternatives(queue: Queue, world: World) -> list[Queue]:
    """List queues with the same kind and name in alternative files."""
    name = known(queue.name)
    if not name or queue.kind == "LocalQueue" or len(by_kind_and_name(None, world)[queue.kind, name]) == 1:
        return []
    near = by_kind_and_name(world.deployed.scope(queue), world)
    return [one for one in near.get((queue.kind, name), ()) if one is not queue]


def priorities(queue: Queue, world: World) -> int:
    """Count the distinct priorities of the jobs in a queue."""
    near = world.deployed.beside(queue).classes
    used = {known(w.priority) for w in jobs(queue, world)} - {None}
    numbers = {known(one.number) for one in near if one.kueue or known(one.name) in used}
    return len(numbers)


def siblings(queue: Queue, world: World) -> int:
    """Count other Volcano queues applied together with it."""
    return _kinds(world.deployed.scope(queue), world)[queue.kind] - 1


@once
def _kinds(scope: str, world: World) -> Counter[str]:
    return Counter(one.kind for one in world.deployed.in_scope(scope).queues)


def first_of_file(queue: Queue, world: World) -> bool:
    """Whether a queue is the first with its API version in its file."""
    return _by_file(world)[queue.place.source.path, queue.api] is queue


@once
def _by_file(world: World) -> dict[tuple[str, str], Queue]:
    """Return the first queue with each file and version."""
    return {(queue.place.source.path, queue.api): queue for queue in reversed(world.inventory.queues)}


_KINDS = {"kueue": "LocalQueue", "volcano": "Queue"}
"""Kinds of the queues in which jobs wait, by system."""


def _spaces(workload: Workload, world: World) -> dict[str | None, None]:
    """Return the namespaces of queues that a job's queue name matches, in order."""
    return _spaces_of(_KINDS.get(known(workload.queue_system) or "", ""), known(workload.queue), world)


@once
def _spaces_of(kind: str, name: str | None, world: World) -> dict[str | None, None]:
    return dict.fromkeys(known(queue.namespace) for queue in by_kind_and_name(None, world).get((kind, name), ()))


def queue_in_code(one: Queue | Workload, world: World) -> Value[bool]:
    """Whether the queue that a job or LocalQueue names is in the code."""
    if isinstance(one, Queue):
        return mapped(one.leads_to, lambda name: ("ClusterQueue", name) in by_kind_and_name(None, world))
    if not isinstance(one.queue, Known):
        return mapped(one.queue, lambda _name: False)
    found, space = _spaces(one, world), known(one.namespace)
    if not found or space is None or equals(one.queue_system, "volcano"):
        return computed(one, bool(found) or one.queue.value == "default")
    return computed(one, space in found or None in found)


def nearby_queues(one: Queue | Workload, world: World) -> tuple[str, ...]:
    """List queues that may be meant, in the folder or above."""
    if isinstance(one, Queue):
        return _near_names(one, "ClusterQueue", world)
    kind = _KINDS.get(known(one.queue_system) or "", "")
    near = _near_names(one, kind, world)
    spaces = islice((space for space in _spaces(one, world) if space is not None), _MOST_NAMES)
    elsewhere = [f"{space}/{known(one.queue)}" for space in spaces]
    here = [name for name in near if not elsewhere or name != known(one.queue)]
    return (*here, *elsewhere)[:_MOST_NAMES]


def local_queues(workload: Workload, world: World) -> Value[tuple[str, ...]]:
    """List Kueue's LocalQueues in a job's namespace by name."""
    index = _local_queues(world.deployed.scope(workload), world)
    found = [one for space in dict.fromkeys((known(workload.namespace), None)) for one in index.get(space, [])]
    names = dict.fromkeys(name for one in found if (name := known(one.name)))
    asked = (workload.namespace,) if index else ()
    return first_unknown((*(one.name for one in found), *asked)) or computed(workload, tuple(names))


@once
def _local_queues(scope: str, world: World) -> dict[str | None, list[Queue]]:
    own = (one for one in world.deployed.in_scope(scope).queues if one.kind == "LocalQueue")
    return grouped(own, lambda one: known(one.namespace))


def queued_by_default(workload: Workload, world: World) -> bool:
    """Whether Kueue puts a job without a queue into the LocalQueue called default."""
    return workload.batch and "default" in (known(local_queues(workload, world)) or ())


# --- namespaces and quotas


def space(one: Namespace | Quota | Workload, _world: World) -> Value[str]:
    """Return the name of a namespace, or of an object's; empty if not written."""
    name = one.name if isinstance(one, Namespace) else one.namespace
    return name if isinstance(name, Unknown) else Known(known(name) or "", name.origin or Origin((one.place,)))


def workloads(one: Namespace | Quota, world: World) -> list[Workload]:
    """List the workloads in a namespace, or in a quota's namespace.

    Raises NotKnown if its name is unknown, or that of all workloads that may be in it.
    """
    every, name = _by_space(world.deployed.scope(one), world), space(one, world)
    if not every.keys() - {""}:
        return [] if isinstance(name, Unknown) else every.get(known(name) or "", [])
    found = every.get(need(name), [])
    if not found:
        need(first_unknown(workload.namespace for workload in every.get(None, []) if not workload.release))
    return found


@once
def _by_space(scope: str, world: World) -> dict[str | None, list[Workload]]:
    return grouped(world.deployed.in_scope(scope).workloads, lambda workload: known(space(workload, world)))


def quotas(one: Namespace | Quota, world: World) -> list[Quota]:
    """List the quotas and LimitRanges of a namespace."""
    own = known(space(one, world)) or None
    every = _quotas(world.deployed.scope(one), world)
    found = sorted((*every.get((own, False), ()), *every.get((None, True), ())))
    if not found:
        need(first_unknown(quota.namespace for quota in world.deployed.beside(one).limits))
    return [quota for _at, quota in found]


@once
def _quotas(scope: str, world: World) -> dict[tuple[str | None, bool], list[tuple[int, Quota]]]:
    """Index quotas in order by namespace, with whether they name none."""
    every = enumerate(world.deployed.in_scope(scope).limits)
    return grouped(every, lambda pair: (known(pair[1].namespace), isinstance(pair[1].namespace, Unset)))


def others_have_quota(one: Namespace | Quota, world: World) -> bool:
    """Whether another namespace has a quota on CPU, memory or GPUs, as teams have."""
    own = known(space(one, world)) or None
    quotas = (quota for quota in world.deployed.beside(one).limits if quota.kind == "ResourceQuota")
    others = (quota for quota in quotas if known(quota.namespace) not in (own, None))
    return any(_COUNTED.intersection(known(quota.hard) or ()) for quota in others)


def gpu_keys(one: Quota, _world: World) -> Value[tuple[str, ...]]:
    """List the keys of a quota that name accelerators."""
    of_gpus, cards = gpu_pattern(), names.cards()
    return mapped(
        one.hard, lambda hard: tuple(key for key in hard if of_gpus.search(key) or key.removeprefix("limits.") in cards)
    )


def plugins(one: Scheduler, _world: World) -> Value[tuple[str, ...]]:
    """List the plugins in all tiers of Volcano's scheduler."""
    own = one.plugins
    return computed(one, tuple(own.value)) if isinstance(own, Known) else because(own)


def arguments(one: Scheduler, _world: World) -> Value[dict[str, str]]:
    """Return the arguments of a scheduler's plugins, by plugin and name."""
    return mapped(one.plugins, lambda own: {key: text for found in own.values() for key, text in found.items()})


def scale_up_time(one: Admission, world: World) -> Value[int]:
    """Estimate the seconds until the target's nodes are up."""
    cluster, asked = world.inventory.cluster_of.get(one), world.config.nodes.get("")
    if cluster is None and asked is None:
        return world.inventory.unknown_size(one)
    if cluster is not None and known(autoscaled(cluster, world)) is False:
        return computed(one, 0)
    nodes = world.sizes.target(cluster) if cluster else computed(one, asked)
    rate = world.numbers.limits("any")["scale_up.seconds"].number
    return mapped(nodes, lambda count: count * rate // 1000) if isinstance(nodes, Known) else because(nodes)
