"""Helpers for computed rule words."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from kcheck.model import Autoscaler, Cluster, Container, PodTemplate, Thing
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.need import first_unknown
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, bare, because, candidates, known, mapped

T = TypeVar("T")
A = TypeVar("A")


def computed(thing: Thing, value: T | None) -> Value[T]:
    """Wrap a computed value; None stands for unset."""
    origin = Origin((thing.place,))
    return Unset(origin) if value is None else Known(value, origin)


def anyone(thing: Thing, found: Iterable[Value[bool]], complete: object = None) -> Value[bool]:
    """Whether any value is true; unknown if one or the list is."""
    values = list(found)
    if any(isinstance(value, Known) and value.value for value in values):
        return computed(thing, value=True)
    return first_unknown((*values, complete)) or computed(thing, value=False)


def parsed(value: Value[A], parse: Callable[[A], T | None], why: str) -> Value[T]:
    """Parse a known value; if that fails, return Unknown with the reason `why`."""
    found = mapped(value, parse)
    if all(one.value is not None for one in candidates(found)):
        return cast("Value[T]", found)
    return bare(value) if isinstance(value, Unknown) else Unknown(f"`{known(value)}` is {why}", value.origin)


def may_count(value: Value[int]) -> bool:
    """Whether a number is above 0, or unknown."""
    return isinstance(value, Unknown) or bool(isinstance(value, Known) and value.value)


@once
def runs(cluster: Cluster, patterns: frozenset[re.Pattern[str]], world: World) -> list[Value[bool]]:
    """List whether each add-on, chart and image matches a pattern."""
    here = world.deployed.on(cluster)
    names = [addon.name for addon in here.addons] + [image.text for one in here.workloads for image in one.images]
    return [mapped(name, lambda text: any(one.search(text) for one in patterns)) for name in names]


def is_default(thing: Thing, value: Value[object]) -> Value[bool]:
    """Whether a value is a known default."""
    return computed(thing, isinstance(value, Known) and value.origin.missing is not None)


def unknown_size(thing: Autoscaler, world: World) -> Unknown:
    """Explain why the size of an autoscaler's cluster is unknown."""
    if thing in world.inventory.candidates_of:
        return world.inventory.unknown_size(thing)
    return because(thing.cluster)


def cluster_of(thing: Thing, world: World) -> Value[Cluster]:
    """Find the cluster of a pool, an autoscaler, or an applied object."""
    if type(thing) is PodTemplate or type(thing) is Container:
        thing = world.deployed.workload(thing)
    if not hasattr(thing, "cluster"):
        cluster = world.inventory.cluster_of.get(thing)
        return Known(cluster, Origin((thing.place,))) if cluster else world.inventory.unknown_cluster(thing)
    found: Value[Cluster] | Cluster = thing.cluster
    return Known(found, Origin((thing.place,))) if isinstance(found, Cluster) else found
