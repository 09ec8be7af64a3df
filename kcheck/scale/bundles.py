"""Bundles: what is applied together, to one cluster or from one folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcheck.scale.basics import anyone, computed
from kcheck.text.text import grouped
from kcheck.text.values import Known, Origin, Value, known

if TYPE_CHECKING:
    from kcheck.model import PriorityClass, Thing, Workload
    from kcheck.scale.world import World

T = TypeVar("T", bound="Thing")


def itself(thing: T, _world: World) -> Value[T]:
    """The thing by which a bundle is found."""
    return Known(thing, Origin((thing.place,)))


def pod_classes(thing: Thing, world: World) -> list[PriorityClass]:
    """The priority classes of pods in a bundle, in the order of the code."""

    def found() -> list[PriorityClass]:
        own = (one for one in world.deployed.beside(thing).classes if not one.kueue)
        return sorted(own, key=lambda one: (one.place.source.path, one.place.start))

    return world.remember("priority classes of pods", world.deployed.scope(thing), found)


def classes(thing: Thing, world: World) -> Value[tuple[str, ...]]:
    """Their names."""
    return computed(
        thing,
        world.remember(
            "names of priority classes",
            world.deployed.scope(thing),
            lambda: tuple(dict.fromkeys(name for one in pod_classes(thing, world) if (name := known(one.name)))),
        ),
    )


def default_classes(thing: Thing, world: World) -> list[PriorityClass]:
    """Those of them that pods without a class have."""
    return world.remember(
        "default priority classes",
        world.deployed.scope(thing),
        lambda: [one for one in pod_classes(thing, world) if known(one.default)],
    )


def with_class(one: PriorityClass, world: World) -> list[Workload]:
    """The jobs that name a priority class."""
    index = world.remember(
        "jobs by priority class",
        world.deployed.scope(one),
        lambda: grouped(
            (w for w in world.deployed.beside(one).workloads if w.batch), lambda w: known(w.priority) or ""
        ),
    )
    return index.get(known(one.name) or "", [])


def releases(thing: Thing, world: World) -> Value[bool]:
    """Whether Helm releases are installed into its cluster."""
    cluster = world.inventory.cluster_of.get(thing)
    return computed(thing, cluster is not None and any(one.tree is None for one in world.deployed.on(cluster).addons))


def gpu_nodes(thing: Thing, world: World) -> Value[bool]:
    """Whether a pool of its cluster has GPUs."""
    cluster = world.inventory.cluster_of.get(thing)
    return anyone(thing, [pool.machine.gpu for pool in world.pools.of_cluster(cluster)] if cluster else [])


def all_jobs_wait(thing: Thing, world: World) -> Value[bool]:
    """Whether Kueue holds jobs that name no queue, too."""
    return computed(thing, any(known(one.manages_all) for one in world.deployed.beside(thing).admissions))
