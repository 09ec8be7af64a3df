"""What was found in one slice of time, before it is added to the recording."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from kcheck.scale.usage.recording import Container, Gpu, Node, Pod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.scale.usage.recording import Owner
Key: TypeAlias = "tuple[str, str]"
"""A namespace and a name in it."""


class Sums(Struct):
    """Sums of samples by hour of a slice, and at how many steps of each there were any."""

    total: array[float]
    steps: array[int]


class PodSlice(Struct):
    """What was found of a pod. `sums` are by what was measured; `restarts` are counters of containers, as they stood.

    `killed` are containers whose last end was for want of memory.
    """

    pod: Pod
    sums: dict[str, Sums] = {}
    restarts: dict[str, int] = {}
    killed: set[str] = set()

    def container(self, name: str) -> Container:
        """A container of it, new or not."""
        return self.pod.containers.setdefault(name, Container())

    def gpu(self, container: str, uuid: str) -> Gpu:
        """A GPU of a container of it, new or not."""
        gpus = self.container(container).gpus
        found = next((gpu for gpu in gpus if gpu.id == uuid), None)
        if found is None:
            gpus.append(found := Gpu(uuid))
        return found


class Slice(Struct):
    """What was found from `begin` to `end`. Owners of ReplicaSets and Jobs are by their names.

    `covered` are the steps at which anything was seen, `complete` are spans of them without a hole.
    """

    begin: int
    end: int
    hours: int
    pods: dict[Key, PodSlice] = {}
    nodes: dict[str, Node] = {}
    namespaces: dict[str, dict[str, str]] = {}
    replica_sets: dict[Key, Owner] = {}
    jobs: dict[Key, Owner] = {}
    covered: set[int] = field(default_factory=set)
    complete: set[tuple[int, int]] = field(default_factory=set)

    def pod(self, key: Key) -> PodSlice:
        """A pod, new or not."""
        found = self.pods.get(key)
        if found is None:
            found = self.pods[key] = PodSlice(Pod(*key))
        return found

    def node(self, name: str) -> Node:
        """A node, new or not."""
        return self.nodes.setdefault(name, Node(name))

    def sums(self, pod: PodSlice, what: str) -> Sums:
        """The sums of something that was measured of a pod."""
        found = pod.sums.get(what)
        if found is None:
            found = pod.sums[what] = Sums(array("d", bytes(8 * self.hours)), array("L", [0]) * self.hours)
        return found


def sanitized_labels(labels: dict[str, str]) -> dict[str, str]:
    """The labels of an object among those of its series, without the prefix of kube-state-metrics."""
    return {name[6:]: value for name, value in labels.items() if name.startswith("label_") and value}


def distinct(times: Sequence[Sequence[float]]) -> Sequence[float]:
    """The times of several series together, in order; most often they are all the same."""
    first = times[0]
    if all(one == first for one in times):
        return first
    return sorted(set().union(*times))
