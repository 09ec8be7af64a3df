"""Bundles: objects that are applied together, to one cluster or from one folder."""

from kcheck.model import PriorityClass, Thing, Workload
from kcheck.scale.word_helpers import anyone
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.need import first_unknown, if_set, need
from kcheck.text.text import grouped
from kcheck.text.values import Known, Unknown, Value, known


@once
def classes_in(scope: str, world: World) -> list[PriorityClass]:
    """List the priority classes of pods in a scope, in the order of the code."""
    own = (one for one in world.deployed.in_scope(scope).classes if not one.kueue)
    return sorted(own, key=lambda one: (one.place.source.path, one.place.start))


def classes(thing: Thing, world: World) -> tuple[str, ...]:
    """List the names of priority classes of pods applied together with an object."""
    return _class_names(world.deployed.scope(thing), world)


@once
def _class_names(scope: str, world: World) -> tuple[str, ...]:
    names = [one.name for one in classes_in(scope, world)]
    sure = tuple(dict.fromkeys(name.value for name in names if isinstance(name, Known)))
    if len(sure) < _SEVERAL:
        need(first_unknown(names))
    return sure


_SEVERAL = 2
"""Classes from which on one more makes no difference."""


def default_classes(thing: Thing, world: World) -> list[PriorityClass]:
    """List the priority classes that pods without one get where an object is applied."""
    return _default_classes(world.deployed.scope(thing), world)


@once
def _default_classes(scope: str, world: World) -> list[PriorityClass]:
    certain = defaults_in(scope, world)
    return certain if len(certain) > 1 else [one for one in classes_in(scope, world) if if_set(one.default)]


@once
def defaults_in(scope: str, world: World) -> list[PriorityClass]:
    """List the default priority classes in a scope."""
    return [one for one in classes_in(scope, world) if known(one.default)]


def with_class(one: PriorityClass, world: World) -> list[Workload]:
    """List the jobs that name a priority class."""
    jobs = _jobs_by_class(world.deployed.scope(one), world)
    need(one.name if jobs.keys() - {""} else None)
    found = jobs.get(known(one.name) or "", [])
    if not found:
        need(_unknown_class(world.deployed.scope(one), world))
    return found


@once
def _jobs_by_class(scope: str, world: World) -> dict[str, list[Workload]]:
    jobs = (workload for workload in world.deployed.in_scope(scope).workloads if workload.batch)
    return grouped(jobs, lambda job: known(job.priority) or "")


@once
def _unknown_class(scope: str, world: World) -> Unknown | None:
    return first_unknown(job.priority for job in _jobs_by_class(scope, world).get("", []))


def releases(thing: Thing, world: World) -> bool:
    """Whether Helm releases are installed into a bundle's cluster."""
    cluster = world.inventory.cluster_of.get(thing)
    return cluster is not None and any(one.tree is None for one in world.deployed.on(cluster).addons)


def gpu_nodes(thing: Thing, world: World) -> Value[bool]:
    """Whether a pool of a bundle's cluster has GPUs."""
    cluster = world.inventory.cluster_of.get(thing)
    return anyone(thing, [pool.machine.gpu for pool in world.pools.of_cluster(cluster)] if cluster else [])
