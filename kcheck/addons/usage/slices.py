"""Measurements of one time slice, before they are added to the recording."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct, field

from kcheck.scale.usage.recording import Container, Gpu, Node, Owner, Pod

Key: TypeAlias = "tuple[str, str]"
"""Namespace and name."""


class Sums(Struct):
    """Hourly sums of samples in a slice, and the number of steps with samples."""

    total: array[float]
    steps: array[int]


class PodSlice(Struct):
    """Measurements of a pod: `sums` by quantity, `restarts` of containers.

    `killed` are containers whose last end was an out-of-memory kill.
    """

    pod: Pod
    sums: dict[str, Sums] = {}
    restarts: dict[str, int] = {}
    killed: set[str] = set()

    def container(self, name: str) -> Container:
        """Return a container, created if new."""
        return self.pod.containers.setdefault(name, Container())


class Slice(Struct):
    """Measurements from `begin` to `end`, with owners of ReplicaSets and Jobs.

    `covered` are the steps with any data, `complete` are spans without a gap.
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
        """Return a pod, created if new."""
        found = self.pods.get(key)
        if found is None:
            found = self.pods[key] = PodSlice(Pod(*key))
        return found

    def node(self, name: str) -> Node:
        """Return a node, created if new."""
        return self.nodes.setdefault(name, Node(name))

    def sums(self, pod: PodSlice, what: str) -> Sums:
        """Return the sums of a quantity of a pod, created if new."""
        found = pod.sums.get(what)
        if found is None:
            found = pod.sums[what] = Sums(array("d", bytes(8 * self.hours)), array("L", [0]) * self.hours)
        return found


def gpu_of(container: Container, uuid: str) -> Gpu:
    """Return a GPU of a container, created if new."""
    found = next((gpu for gpu in container.gpus if gpu.id == uuid), None)
    if found is None:
        container.gpus.append(found := Gpu(uuid))
    return found


def sanitized_labels(labels: dict[str, str]) -> dict[str, str]:
    """Extract an object's labels from a series of kube-state-metrics."""
    return {name[6:]: value for name, value in labels.items() if name.startswith("label_") and value}


def distinct(times: Sequence[Sequence[float]]) -> Sequence[float]:
    """Merge the times of several series, sorted; usually all are equal."""
    first = times[0]
    if all(one == first for one in times):
        return first
    return sorted(set().union(*times))
