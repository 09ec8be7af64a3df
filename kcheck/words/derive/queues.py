"""Words of priority classes, queues, namespaces, quotas, and of the configurations of schedulers."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeVar

from kcheck.model import CARDS
from kcheck.source.values import Known, Origin, Unknown, Value, equals, known, mapped, number, reason_of
from kcheck.words.derive.basics import anyone, computed, grouped
from kcheck.words.derive.pools import autoscaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Admission, Namespace, PriorityClass, Queue, Quota, Scheduler, Thing, Workload
    from kcheck.scale.world import World

GPU = "nvidia.com/gpu"
PRIORITY = "kueue.x-k8s.io/priority-class"
_COUNTED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "requests.nvidia.com/gpu"})
_GPUS = re.compile(r"^requests\.[^/]*(nvidia|amd|google|intel|habana|amazon|huawei|aliyun|volcano)|deviceclass")
_WHOLE = re.compile(r"-?\d+")
T = TypeVar("T", bound="Thing")


def _job(found: list[Workload]) -> str | None:
    return next((f"{one.kind} {known(one.name) or '?'}" for one in found), None)


# --- priority classes


def defaults(one: PriorityClass, world: World) -> Value[int]:
    """How many classes that are applied together are the default."""
    names = {known(other.name) for other in world.deployed.beside(one).classes if known(other.default)}
    return computed(one, len(names))


def classes(one: PriorityClass, world: World) -> Value[int]:
    """How many classes of pods are applied together."""
    return computed(one, len({known(c.name) for c in world.deployed.beside(one).classes if not c.kueue}))


def first_default(one: PriorityClass, world: World) -> Value[bool]:
    """Whether it is the first of these in the code."""
    found = [other for other in world.deployed.beside(one).classes if known(other.default) and not other.kueue]
    return computed(one, bool(found) and min(found, key=_order) is one)


def first(one: PriorityClass, world: World) -> Value[bool]:
    """Whether it is the first class in the code of those that are applied together."""
    found = [other for other in world.deployed.beside(one).classes if not other.kueue]
    return computed(one, bool(found) and min(found, key=_order) is one)


def _order(one: PriorityClass) -> tuple[str, int]:
    return one.place.source.path, one.place.start


def other_defaults(one: PriorityClass, world: World) -> list[PriorityClass]:
    """The other default classes that are applied with it."""
    return [c for c in world.deployed.beside(one).classes if c is not one and not c.kueue and known(c.default)]


def apart(one: PriorityClass, world: World) -> Value[bool]:
    """Whether no other default is in its folder: overlays and samples of one cluster are not applied together."""
    folder = os.path.dirname(one.place.source.path)
    near = (os.path.dirname(other.place.source.path) for other in other_defaults(one, world))
    return computed(one, folder not in near)


def cutoff(one: PriorityClass, world: World) -> Value[int]:
    """The number below which the autoscaler of its cluster takes no notice of pods: its flag, else the default."""
    cluster = world.inventory.cluster_of.get(one)
    for autoscaler in world.inventory.autoscalers:
        flag = next((f for f in autoscaler.flags if equals(f.name, "expendable-pods-priority-cutoff")), None)
        if flag is not None and cluster is not None and known(autoscaler.cluster) is cluster:
            text = str(known(flag.value))
            return Known(int(text), flag.value.origin or Origin(())) if _WHOLE.fullmatch(text) else Unknown("its flag")
    return computed(one, world.numbers.limits("any")["priority.cutoff"].number)


def class_user(one: PriorityClass, world: World) -> Value[str]:
    """A job that has the class; null if there is none."""
    found = [w for w in world.deployed.beside(one).workloads if w.batch and equals(w.priority, known(one.name) or "")]
    return computed(one, _job(found))


# --- queues


def _folder(thing: Thing) -> str:
    return os.path.dirname(thing.place.source.path)


def _near(thing: Thing, found: list[T], world: World) -> list[T]:
    """What may be meant by a name, of what has it: all, if one folder holds all queues, else what is above or below.

    A repository of examples has many queues of the same name, none of which is meant by the jobs of another example.
    """
    if len(world.remember("folders with queues", "", lambda: set(map(_folder, world.inventory.queues)))) <= 1:
        return found
    own = f"{_folder(thing)}/"
    return [one for one in found if own.startswith(f"{_folder(one)}/") or f"{_folder(one)}/".startswith(own)]


def _of_kind(kind: str, world: World) -> list[Queue]:
    kinds = world.remember("queues by kind", "", lambda: grouped(world.inventory.queues, lambda queue: queue.kind))
    return kinds.get(kind, [])


def _defined(thing: Thing, kind: str, name: Value[str], world: World) -> Value[bool]:
    """Whether a queue of a kind is in the code, or none of them is in the folder of a thing or above it.

    Where the settings say which manifests a cluster has, all of its queues count.
    """
    folders = world.remember("folders of queues", kind, lambda: grouped(_of_kind(kind, world), _folder))
    above = [f"{_folder(thing)}/"[:end] for end, char in enumerate(f"{_folder(thing)}/") if char == "/"]
    found = [other for folder in ("", *above) for other in folders.get(folder, [])]
    cluster = world.inventory.cluster_of.get(thing)
    environment = world.config.environment(cluster.root, cluster.environment) if cluster else None
    if environment is not None and environment.manifests:
        found = [other for other in _of_kind(kind, world) if world.inventory.cluster_of.get(other) is cluster]
    near = [other.name for other in found if not _is_example(other, thing, world)]
    if not near or any(isinstance(other, Unknown) for other in near) or not isinstance(name, Known):
        return computed(thing, value=True)
    names = world.remember("names of queues", kind, lambda: {known(one.name) for one in _of_kind(kind, world)})
    return computed(thing, name.value == "default" or name.value in names)


def _is_example(queue: Queue, thing: Thing, world: World) -> bool:
    """Whether a queue is in another file, with jobs that wait in it: such a file says nothing of jobs elsewhere."""
    path = queue.place.source.path
    used = world.remember(
        "files with jobs", "", lambda: {(w.place.source.path, known(w.queue)) for w in world.inventory.workloads}
    )
    return path != thing.place.source.path and (path, known(queue.name)) in used


def found(queue: Queue, world: World) -> Value[bool]:
    """Whether the ClusterQueue that a LocalQueue leads to is in the code, or none of them is."""
    if queue.kind != "LocalQueue":
        return computed(queue, value=True)
    return _defined(queue, "ClusterQueue", queue.leads_to, world)


def _leading(queue: Queue, world: World) -> list[Queue]:
    """The LocalQueues that lead to a ClusterQueue."""
    by_target = world.remember(
        "queues by target", "", lambda: grouped(_of_kind("LocalQueue", world), lambda one: str(known(one.leads_to)))
    )
    return _near(queue, by_target.get(str(known(queue.name)), []), world)


def leading(queue: Queue, world: World) -> Value[int]:
    """How many LocalQueues lead to it."""
    return computed(queue, len(_leading(queue, world)))


def _waiting(queue: Queue, world: World) -> list[Workload]:
    """The workloads that wait in a queue of Volcano or a LocalQueue."""
    index = world.remember("waiting", "", lambda: grouped(world.inventory.workloads, _place))
    space = known(queue.namespace) if queue.kind == "LocalQueue" else None
    system = "kueue" if queue.kind == "LocalQueue" else "volcano"
    return _near(queue, index.get((system, space or "", str(known(queue.name))), []), world)


def _place(workload: Workload) -> tuple[str, str, str]:
    """Where a workload waits: system, namespace, and name of the queue."""
    system = str(known(workload.queue_system))
    return system, (known(workload.namespace) or "") if system == "kueue" else "", str(known(workload.queue))


def _queued(queue: Queue, world: World) -> list[Workload]:
    """The workloads that wait in a queue: of a ClusterQueue, in those that lead to it."""
    if queue.kind != "ClusterQueue":
        return _waiting(queue, world)
    return [workload for one in _leading(queue, world) for workload in _waiting(one, world)]


def stopped_by_queue(workload: Workload, world: World) -> bool:
    """Whether the ClusterQueue that a job waits in stops it for jobs whose class of Kueue has a higher number."""
    name = (known(workload.labels) or {}).get(PRIORITY)
    classes = [one for one in world.deployed.beside(workload).classes if one.kueue]
    own = next((number(one.number, 0) for one in classes if known(one.name) == name), None)
    if own is None or all(number(one.number, 0) <= own for one in classes):
        return False
    found = (one for one in world.deployed.beside(workload).queues if one.kind == "ClusterQueue")
    return any(known(one.preemption) not in (None, "Never") and workload in _queued(one, world) for one in found)


def gpu_job(queue: Queue, world: World) -> Value[str]:
    """A job with GPUs that waits in a queue; null if there is none."""
    return computed(queue, _job([w for w in _queued(queue, world) if number(w.gpus, 0)]))


def covers_gpus(queue: Queue, _world: World) -> Value[bool]:
    """Whether a ClusterQueue has quota for GPUs."""
    return mapped(queue.resources, lambda names: any("gpu" in name or "tpu" in name for name in names))


def uncovered(queue: Queue, world: World) -> Value[str]:
    """A GPU resource that a job which waits in a ClusterQueue asks for without a quota there; null if there is none."""
    if queue.kind != "ClusterQueue" or not isinstance(queue.resources, Known):
        return computed(queue, None) if queue.kind != "ClusterQueue" else Unknown(reason_of(queue.resources))
    own = set(queue.resources.value)
    for other in _alternatives(queue, world):
        if isinstance(other.resources, Unknown):
            return other.resources
        own |= set(known(other.resources) or ())
    for workload in _queued(queue, world):
        for template in workload.templates:
            for one in template.containers:
                if isinstance(one.gpu, Known) and one.gpu.value not in own:
                    return computed(queue, one.gpu.value)
    return computed(queue, None)


def _alternatives(queue: Queue, world: World) -> list[Queue]:
    """Other queues of the same kind and name: files that are applied instead of each other, each with jobs of its own."""
    name = known(queue.name)
    near = world.deployed.beside(queue).queues if name else []
    return [one for one in near if one is not queue and one.kind == queue.kind and known(one.name) == name]


def priorities(queue: Queue, world: World) -> Value[int]:
    """Different priorities of the jobs that wait in it: Kueue's own classes, or those of their pods."""
    near = world.deployed.beside(queue).classes
    used = {known(w.priority) for w in _queued(queue, world)} - {None}
    numbers = {known(one.number) for one in near if one.kueue or known(one.name) in used}
    return computed(queue, len(numbers))


def siblings(queue: Queue, world: World) -> Value[int]:
    """Other queues of Volcano that are applied with it."""
    return computed(queue, sum(one.kind == queue.kind for one in world.deployed.beside(queue).queues) - 1)


def first_of_file(queue: Queue, world: World) -> Value[bool]:
    """Whether no queue of the same version stands before it in its file."""
    path = queue.place.source.path
    files = world.remember("queues by file", "", lambda: _by_file(world.inventory.queues))
    return computed(queue, files[path, queue.api] is queue)


def _by_file(found: list[Queue]) -> dict[tuple[str, str], Queue]:
    """The first queue of each file and version."""
    result: dict[tuple[str, str], Queue] = {}
    for queue in found:
        result.setdefault((queue.place.source.path, queue.api), queue)
    return result


def queue_defined(workload: Workload, world: World) -> Value[bool]:
    """Whether the queue of a job is in the code, or none of its system is in its folder or above it."""
    kind = {"kueue": "LocalQueue", "volcano": "Queue"}.get(known(workload.queue_system) or "", "")
    found = _defined(workload, kind, workload.queue, world)
    space = known(workload.namespace)
    if kind != "LocalQueue" or space is None or not isinstance(workload.queue, Known):
        return found
    by_name = world.remember(
        "local queues by name", "", lambda: grouped(_of_kind(kind, world), lambda one: str(known(one.name)))
    )
    spaces = {known(one.namespace) for one in by_name.get(workload.queue.value, [])}
    return found if not spaces or spaces & {space, None} else computed(workload, value=False)


def _local(workload: Workload, world: World) -> set[str | None]:
    """The names of Kueue's LocalQueues in the namespace of a job that are applied with it."""
    return {
        known(one.name) for one in world.deployed.beside(workload).queues
        if one.kind == "LocalQueue" and known(one.namespace) in (known(workload.namespace), None)
    }  # fmt: skip


def queued_by_default(workload: Workload, world: World) -> bool:
    """Whether a job without a queue waits in one all the same: Kueue puts it into the LocalQueue called default."""
    return workload.batch and "default" in _local(workload, world)


def queues(workload: Workload, world: World) -> Value[int]:
    """Kueue's LocalQueues in the namespace of a job, applied with it; with one that is called default, none counts."""
    names = _local(workload, world)
    held = any(known(one.manages_all) for one in world.deployed.beside(workload).admissions)
    return computed(workload, 0 if "default" in names or held else len(names))


def only_queue(workload: Workload, world: World) -> Value[str]:
    """The LocalQueue that a job would wait in; null where there are several."""
    names = _local(workload, world)
    return computed(workload, names.pop() if len(names) == 1 else None)


# --- namespaces and quotas


def _inside(one: Namespace, world: World) -> list[Workload]:
    return [w for w in world.deployed.beside(one).workloads if equals(w.namespace, known(one.name) or "")]


def jobs(one: Namespace, world: World) -> Value[int]:
    """Jobs of several pods in a namespace, and workloads with GPUs, without a queue: what can take a cluster."""
    free = [w for w in _inside(one, world) if known(w.queue) is None or equals(w.queue_system, "volcano")]
    return computed(
        one, sum(bool(number(w.gpus, 0)) or (w.batch and not w.hooked and known(w.pods) != 1) for w in free)
    )


def has(kind: str, *, others: bool = False) -> Callable[[Namespace | Quota, World], Value[bool]]:
    """Whether a namespace, or another one, has a quota or a LimitRange; what names no namespace may be its own."""

    def told(one: Namespace | Quota, world: World) -> Value[bool]:
        own = known(one.name if hasattr(one, "name") else one.namespace)
        found = [quota for quota in world.deployed.beside(one).limits if quota.kind == kind]
        # a driver's own quota on pods of a priority says nothing of teams
        spaces = [
            known(quota.namespace) for quota in found if not others or _COUNTED.intersection(known(quota.hard) or ())
        ]
        if kind == "ResourceQuota" and not others:  # Kueue's quota holds for those who wait in its queues
            spaces += [
                known(queue.namespace) for queue in world.deployed.beside(one).queues if queue.kind == "LocalQueue"
            ]
        return computed(one, any((space not in (own, None)) if others else space in (own, None) for space in spaces))

    return told


def quota_has(*keys: str) -> Callable[[Quota, World], Value[bool]]:
    """Whether a quota limits any of some resources."""
    return lambda one, _world: mapped(one.hard, lambda hard: any(key in hard for key in keys))


def counts_gpus(one: Quota, _world: World) -> Value[bool]:
    """Whether a quota counts accelerators, or parts of them: by requests, or by a class of devices."""
    return mapped(one.hard, lambda hard: any(_GPUS.search(key) for key in hard))


def miscounts_gpus(one: Quota, _world: World) -> Value[bool]:
    """Whether a quota names accelerators otherwise: as limits, or plainly."""
    return mapped(one.hard, lambda hard: any(key.removeprefix("limits.") in CARDS for key in hard))


def gpu_nodes(one: Quota, world: World) -> Value[bool]:
    """Whether a pool of the cluster of a quota has GPUs."""
    cluster = world.inventory.cluster_of.get(one)
    return computed(
        one, cluster is not None and any(known(pool.machine.gpu) for pool in world.pools.of_cluster(cluster))
    )


def quota_gpu_job(one: Quota, world: World) -> Value[str]:
    """A workload with GPUs in the namespace of a quota; null if there is none."""
    inside = [w for w in world.deployed.beside(one).workloads if known(w.namespace) == known(one.namespace)]
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


def has_gpus(one: Scheduler, world: World) -> Value[bool]:
    """Whether it places GPU jobs: one is seen, or its cluster has GPU nodes."""
    if known(volcano_user(one, world)):
        return computed(one, value=True)
    cluster = world.inventory.cluster_of.get(one)
    return anyone(one, [pool.machine.gpu for pool in world.pools.of_cluster(cluster)] if cluster else [])


def volcano_user(one: Scheduler, world: World) -> Value[str]:
    """A job with GPUs that Volcano schedules; null if there is none."""
    near = [w for w in world.deployed.beside(one).workloads if number(w.gpus, 0)]
    return computed(one, _job([w for w in near if known(w.queue_system) == "volcano" or known(w.gang) == "volcano"]))


def jobs_of_priorities(one: Scheduler, world: World) -> Value[int]:
    """Different numbers of the priority classes that are applied with it."""
    return computed(one, len({known(c.number) for c in world.deployed.beside(one).classes if not c.kueue}))


def scale_up_time(one: Admission, world: World) -> Value[int]:
    """How long the target's nodes have taken to come, in seconds; the published test took 45 minutes for 1,000."""
    cluster, asked = world.inventory.cluster_of.get(one), world.config.nodes.get("")
    if cluster is None and asked is None:
        return world.inventory.unknown_size(one)
    if cluster is not None and known(autoscaled(cluster, world)) is False:
        return computed(one, 0)
    nodes = world.sizes.target(cluster) if cluster else computed(one, asked)
    rate = world.numbers.limits("any")["scale_up.seconds"].number
    return mapped(nodes, lambda count: count * rate // 1000) if isinstance(nodes, Known) else Unknown(reason_of(nodes))
