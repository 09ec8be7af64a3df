"""Words of priority classes, queues, namespaces, quotas, and of the configurations of schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcheck.derive.basics import computed
from kcheck.values import Known, Unknown, Value, equals, known, mapped, number, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Admission, Namespace, PriorityClass, Queue, Quota, Scheduler, Workload
    from kcheck.world import World

GPU = "nvidia.com/gpu"


def _job(found: list[Workload]) -> str | None:
    return next((f"{one.kind} {known(one.name) or '?'}" for one in found), None)


# --- priority classes


def defaults(one: PriorityClass, world: World) -> Value[int]:
    """How many classes that are applied together are the default."""
    names = {known(other.name) for other in world.neighbours("classes", one) if known(other.default)}
    return computed(one, len(names))


def first_default(one: PriorityClass, world: World) -> Value[bool]:
    """Whether it is the first of these in the code."""
    found = [other for other in world.neighbours("classes", one) if known(other.default) and not other.kueue]
    return computed(one, bool(found) and min(found, key=_order) is one)


def first(one: PriorityClass, world: World) -> Value[bool]:
    """Whether it is the first class in the code of those that are applied together."""
    found = [other for other in world.neighbours("classes", one) if not other.kueue]
    return computed(one, bool(found) and min(found, key=_order) is one)


def _order(one: PriorityClass) -> tuple[str, int]:
    return one.place.source.path, one.place.start


def class_user(one: PriorityClass, world: World) -> Value[str]:
    """A job that has the class; null if there is none."""
    found = [w for w in world.neighbours("workloads", one) if w.batch and equals(w.priority, known(one.name) or "")]
    return computed(one, _job(found))


# --- queues


def found(queue: Queue, world: World) -> Value[bool]:
    """Whether the ClusterQueue that a LocalQueue leads to is in the code, or none of them is."""
    names = [other.name for other in world.inventory.queues if other.kind == "ClusterQueue"]
    if queue.kind != "LocalQueue" or not names or any(isinstance(name, Unknown) for name in names):
        return computed(queue, value=True)
    return mapped(queue.leads_to, lambda name: name in {known(other) for other in names})


def _queued(queue: Queue, world: World) -> list[Workload]:
    """The workloads that wait in a queue: of a ClusterQueue, in those that lead to it."""
    if queue.kind == "Queue":
        return [
            w
            for w in world.inventory.workloads
            if known(w.queue_system) == "volcano" and known(w.queue) == known(queue.name)
        ]
    locals_ = [queue] if queue.kind == "LocalQueue" else [
        one for one in world.inventory.queues if one.kind == "LocalQueue" and known(one.leads_to) == known(queue.name)
    ]  # fmt: skip
    wanted = {(known(one.namespace) or "", known(one.name)) for one in locals_}
    return [
        w for w in world.inventory.workloads
        if known(w.queue_system) == "kueue" and ((known(w.namespace) or "", known(w.queue)) in wanted)
    ]  # fmt: skip


def gpu_job(queue: Queue, world: World) -> Value[str]:
    """A job with GPUs that waits in a queue; null if there is none."""
    return computed(queue, _job([w for w in _queued(queue, world) if number(w.gpus, 0)]))


def covers_gpus(queue: Queue, _world: World) -> Value[bool]:
    """Whether a ClusterQueue has quota for GPUs."""
    return mapped(queue.resources, lambda names: any("gpu" in name or "tpu" in name for name in names))


def priorities(queue: Queue, world: World) -> Value[int]:
    """Different priorities that jobs of Kueue can have: its own classes, or those of pods."""
    numbers = {known(one.number) for one in world.neighbours("classes", queue)}
    return computed(queue, len(numbers))


def queue_defined(workload: Workload, world: World) -> Value[bool]:
    """Whether the queue of a job is in the code, or none of its system is."""
    system, name = known(workload.queue_system), known(workload.queue)
    kind = {"kueue": "LocalQueue", "volcano": "Queue"}.get(system or "", "")
    names = [other.name for other in world.inventory.queues if other.kind == kind]
    if not names or name is None or any(isinstance(other, Unknown) for other in names):
        return computed(workload, value=True)
    return computed(workload, name == "default" or name in {known(other) for other in names})


def queues(workload: Workload, world: World) -> Value[int]:
    """Kueue's LocalQueues in the namespace of a job, applied with it; with one that is called default, none counts."""
    own = [
        one for one in world.neighbours("queues", workload)
        if one.kind == "LocalQueue" and known(one.namespace) in (known(workload.namespace), None)
    ]  # fmt: skip
    names = {known(one.name) for one in own}
    return computed(workload, 0 if "default" in names else len(names))


# --- namespaces and quotas


def _inside(one: Namespace, world: World) -> list[Workload]:
    return [w for w in world.neighbours("workloads", one) if equals(w.namespace, known(one.name) or "")]


def workloads(one: Namespace, world: World) -> Value[int]:
    """Workloads in a namespace."""
    return computed(one, len(_inside(one, world)))


def gpu_workload(one: Namespace, world: World) -> Value[str]:
    """A workload with GPUs in a namespace; null if there is none."""
    return computed(one, _job([w for w in _inside(one, world) if number(w.gpus, 0)]))


def has(kind: str, *, others: bool = False) -> Callable[[Any, World], Value[bool]]:
    """Whether a namespace, or another one, has a ResourceQuota or a LimitRange."""

    def told(one: Namespace | Quota, world: World) -> Value[bool]:
        own = known(one.name if hasattr(one, "name") else one.namespace)
        spaces = [known(quota.namespace) for quota in world.neighbours("limits", one) if quota.kind == kind]
        return computed(one, any((space != own) == others for space in spaces))

    return told


def quota_has(*keys: str) -> Callable[[Quota, World], Value[bool]]:
    """Whether a quota limits any of some resources."""
    return lambda one, _world: mapped(one.hard, lambda hard: any(key in hard for key in keys))


def quota_gpu_job(one: Quota, world: World) -> Value[str]:
    """A workload with GPUs in the namespace of a quota; null if there is none."""
    inside = [w for w in world.neighbours("workloads", one) if known(w.namespace) == known(one.namespace)]
    return computed(one, _job([w for w in inside if number(w.gpus, 0)]))


# --- schedulers


def acts(*names: str) -> Callable[[Scheduler, World], Value[bool]]:
    """Whether Volcano's scheduler does any of some actions."""
    return lambda one, _world: mapped(one.actions, lambda own: bool(set(names) & set(own)))


def plugin(name: str) -> Callable[[Scheduler, World], Value[bool]]:
    """Whether it has a plugin."""
    return lambda one, _world: mapped(one.plugins, lambda own: name in own)


def packs_gpus(one: Scheduler, _world: World) -> Value[bool]:
    """Whether its binpack plugin packs GPUs."""
    return mapped(one.plugins, lambda own: GPU in own.get("binpack", {}).get("binpack.resources", ""))


def volcano_user(one: Scheduler, world: World) -> Value[str]:
    """A job with GPUs that Volcano schedules; null if there is none."""
    near = [w for w in world.neighbours("workloads", one) if number(w.gpus, 0)]
    return computed(one, _job([w for w in near if known(w.queue_system) == "volcano" or known(w.gang) == "volcano"]))


def jobs_of_priorities(one: Scheduler, world: World) -> Value[int]:
    """Different numbers of the priority classes that are applied with it."""
    return computed(one, len({known(c.number) for c in world.neighbours("classes", one) if not c.kueue}))


def scale_up_time(one: Admission, world: World) -> Value[int]:
    """How long the target's nodes have taken to come, in seconds; the published test took 45 minutes for 1,000."""
    cluster = world.inventory.cluster_of.get(one)
    if cluster is None:
        return Unknown("the manifest's cluster is not known")
    nodes = world.target(cluster)
    rate = world.limits("any")["scale_up.seconds"].number
    return mapped(nodes, lambda count: count * rate // 1000) if isinstance(nodes, Known) else Unknown(reason_of(nodes))
