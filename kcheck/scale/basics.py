"""What computed words share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcheck.model import Cluster, Container, PodTemplate, Thing
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sized

    from kcheck.model import Autoscaler
    from kcheck.scale.world import World

T = TypeVar("T")
A = TypeVar("A")
K = TypeVar("K", bound="Hashable")


def computed(thing: Thing, value: T | Unknown | None) -> Value[T]:
    """A computed value; None stands for unset."""
    if isinstance(value, Unknown):
        return value
    origin = Origin((thing.place,))
    return Unset(origin) if value is None else Known(value, origin)


def derived(thing: Thing, found: A | Unknown, change: Callable[[A], T | Unknown | None]) -> Value[T]:
    """A value computed from what has been found, or the reason why that is unknown."""
    return found if isinstance(found, Unknown) else computed(thing, change(found))


def count(thing: Thing, found: Sized | Unknown) -> Value[int]:
    """How many there are."""
    return derived(thing, found, len)


def anyone(thing: Thing, found: Iterable[Value[bool]], complete: object = None) -> Value[bool]:
    """Whether any of them is true; not known where none is and one is not known, or there may be more of them."""
    values = list(found)
    if any(isinstance(value, Known) and value.value for value in values):
        return computed(thing, value=True)
    unknown = next((value for value in (*values, complete) if isinstance(value, Unknown)), None)
    return computed(thing, value=False) if unknown is None else unknown


def is_default(thing: Thing, value: Value[object]) -> Value[bool]:
    """Whether a value is a default: known, and written nowhere; what is not known is an input that somebody gives."""
    return computed(thing, isinstance(value, Known) and value.origin.missing is not None)


def unknown_size(thing: Autoscaler, world: World) -> Unknown:
    """Why it is not known how large the cluster of an autoscaler is."""
    if thing in world.inventory.candidates_of:
        return world.inventory.unknown_size(thing)
    return Unknown(reason_of(thing.cluster))


def cluster_of(thing: Thing, world: World) -> Value[Cluster]:
    """The cluster of a pool, an autoscaler, or of what is applied to one."""
    if isinstance(thing, PodTemplate | Container):
        thing = world.deployed.workload(thing)
    if not hasattr(thing, "cluster"):
        cluster = world.inventory.cluster_of.get(thing)
        return Known(cluster, Origin((thing.place,))) if cluster else world.inventory.unknown_cluster(thing)
    found: Value[Cluster] | Cluster = thing.cluster
    return Known(found, Origin((thing.place,))) if isinstance(found, Cluster) else found
