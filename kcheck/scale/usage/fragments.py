"""Free resources on a pool's nodes that no waiting pod could use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from kcheck.model import NodePool, Thing
from kcheck.scale.usage import measured
from kcheck.scale.usage import nodes as recorded
from kcheck.scale.usage.nodes import Nodes
from kcheck.scale.usage.recording import HOUR, Node, Pod
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.text.values import Value


class Shape(Struct, frozen=True):
    """Size of a pod or a node: GPUs, CPU in millicores, memory in bytes."""

    gpus: float
    cpu: float
    memory: float

    def fits(self, room: Shape) -> bool:
        """Whether it fits some room."""
        return self.gpus <= room.gpus and self.cpu <= room.cpu and self.memory <= room.memory

    def less(self, other: Shape) -> Shape:
        """Subtract another shape."""
        return Shape(self.gpus - other.gpus, self.cpu - other.cpu, self.memory - other.memory)


class Fragments(Struct, frozen=True):
    """GPUs or cores left over on nodes while pods waited.

    `waiting` counts the seconds in which any waited, `there` their node-seconds. In that time `whole` unit-seconds were
    there, `stranded` of them free on nodes that took none of the pods; `packed` counts the seconds in which they would
    have been enough for one of the pods on one node. `nodes` is the mean number of nodes with such a rest, `longest`
    the pod that waited longest.
    """

    unit: str
    waiting: int
    there: int
    whole: float
    stranded: float
    packed: int
    nodes: float
    longest: Pod


def _shape(amounts: Mapping[str, float]) -> Shape:
    return Shape(recorded.gpus(amounts), amounts.get("cpu", 0.0), amounts.get("memory", 0.0))


def fragments(nodes: Sequence[Node], pods: Sequence[Pod], end: int) -> Fragments | None:
    """Compute the unusable resources of nodes; None if no pod waited.

    `pods` are all of it: those on these nodes use resources; those without a node, or on one of these, waited for them.
    Nodes stay as they were between their first and last sample.
    """
    own = {node.name: _shape(node.allocatable) for node in nodes}
    sweep = _Sweep(own)
    events: list[_Event] = []
    for node in nodes:
        if node.first is not None:
            events += _events(node.first, node.last or end, partial(sweep.node, node.name))
    for at, pod in enumerate(pods):
        size = _shape(pod.requested)
        if pod.node in own:
            begin = next((time for time in (pod.scheduled, pod.started, pod.first) if time is not None), None)
            finish = next((time for time in (pod.ended, pod.last) if time is not None), end)
            if begin is not None and begin < finish:
                events += _events(begin, finish, partial(sweep.pod, pod.node, size))
        span = _waiting(pod)
        if span is not None and (not pod.node or pod.node in own) and sweep.wants(size):
            events += _events(*span, partial(sweep.wait, at, size))
    now = 0
    for time, begins, change in sorted(events, key=lambda event: event[:2]):
        if time > now:
            sweep.passed(time - now)
        now = time
        change(ends=not begins)
    return sweep.result(pods)


_Event: TypeAlias = "tuple[int, bool, partial[None]]"
"""Time of a change of the state, whether it begins then, and the change; of two at a time, ends go first."""


def _events(begin: int, finish: int, change: partial[None]) -> list[_Event]:
    return [(begin, True, change), (finish, False, change)]


def _waiting(pod: Pod) -> tuple[int, int] | None:
    """Return when a pod waited for a node; None if it did not, or that is unknown."""
    finish = pod.scheduled if pod.scheduled is not None else pod.pending
    if pod.created is None or finish is None or finish <= pod.created:
        return None
    return pod.created, finish


class _Sweep:
    """State of some nodes at a time, and sums over time."""

    def __init__(self, rooms: dict[str, Shape]) -> None:
        self._rooms = rooms
        self._unit = "gpus" if any(one.gpus for one in rooms.values()) else "cpu"
        self._taken: dict[str, list[Shape]] = {name: [] for name in rooms}
        self._there: set[str] = set()
        self._wanted: dict[int, Shape] = {}
        self._shapes = Counter[Shape]()
        self._rests: dict[str, float] = {}
        self._waited = Counter[int]()
        self._waiting = self._packed = self._node_time = 0
        self._whole = self._stranded = self._nodes = 0.0

    def wants(self, size: Shape) -> bool:
        """Whether an empty node has room for a pod it is meant for."""
        return (size.gpus > 0) == (self._unit == "gpus") and any(size.fits(one) for one in self._rooms.values())

    def node(self, name: str, *, ends: bool) -> None:
        """Add or remove a node."""
        (self._there.discard if ends else self._there.add)(name)
        self._look(name)

    def pod(self, node: str, size: Shape, *, ends: bool) -> None:
        """Place a pod on a node, or remove it."""
        (self._taken[node].remove if ends else self._taken[node].append)(size)
        self._look(node)

    def wait(self, pod: int, size: Shape, *, ends: bool) -> None:
        """Begin or end a pod's wait for a node."""
        if ends:
            del self._wanted[pod]
        else:
            self._wanted[pod] = size
        self._shapes[size] += -1 if ends else 1
        if self._shapes[size] == (not ends):  # the last of its size went, or the first came
            self._shapes = +self._shapes
            for node in self._there:
                self._look(node)

    def _look(self, node: str) -> None:
        """Update a node's unusable resources: too small for any waiting pod."""
        self._rests.pop(node, None)
        if node not in self._there:
            return
        left = self._rooms[node]
        for one in self._taken[node]:
            left = left.less(one)
        rest: float = getattr(left, self._unit)
        if rest > _LEAST[self._unit] and not any(size.fits(left) for size in self._shapes):
            self._rests[node] = rest

    def passed(self, seconds: int) -> None:
        """Add some time in which nothing changes."""
        if not self._wanted:
            return
        stranded = sum(self._rests.values())
        self._waiting += seconds
        self._node_time += seconds * len(self._there)
        self._whole += seconds * sum(getattr(self._rooms[node], self._unit) for node in self._there)
        self._stranded += seconds * stranded
        self._nodes += seconds * len(self._rests)
        if any(getattr(size, self._unit) <= stranded for size in self._shapes):
            self._packed += seconds
        for pod in self._wanted:
            self._waited[pod] += seconds

    def result(self, pods: Sequence[Pod]) -> Fragments | None:
        """Return the sums; None if nothing waited."""
        if not self._waiting:
            return None
        longest = max(self._waited, key=lambda pod: (self._waited[pod], -pod))
        return Fragments(
            "GPUs" if self._unit == "gpus" else "cores", self._waiting, self._node_time, self._whole, self._stranded,
            packed=self._packed, nodes=self._nodes / self._waiting, longest=pods[longest],
        )  # fmt: skip


_LEAST = {"gpus": 0.0, "cpu": 999.0}
"""Least amount that counts as a rest: a core is what the smallest jobs need."""


class Fragment(Thing, frozen=True):
    """Free resources on a pool's nodes that no waiting pod could use."""

    pool: NodePool
    found: Fragments
    job: tuple[str, str]


def fragmented(world: World) -> list[Fragment]:
    """List the pools with unusable resources while pods waited for their nodes."""
    found = measured.of(world)
    if found is None:
        return []
    pools: dict[NodePool, list[Node]] = {}
    for one in Nodes(found.recording.nodes, world).by_name.values():
        if one.own is not None:
            pools.setdefault(one.own, []).append(one.node)
    jobs = {id(match.pod): match.job for match in found.matches}
    result = []
    for pool, nodes in pools.items():
        rest = fragments(nodes, found.recording.pods, found.recording.end)
        if rest is not None and rest.stranded:
            result.append(Fragment(pool.id, pool.place, pool, rest, jobs[id(rest.longest)]))
    return result


def share(one: Fragment) -> int:
    """Return the unusable share of what the pool had in that time, in percent."""
    return round(100 * one.found.stranded / max(one.found.whole, 1))


def free(one: Fragment) -> str:
    """Format the mean unusable amount."""
    return _rounded(one.found.stranded / one.found.waiting / _size(one))


def nodes(one: Fragment) -> str:
    """Format the mean number of nodes with unusable resources."""
    return _rounded(one.found.nodes)


def _rounded(amount: float) -> str:
    return f"{float(f'{amount:.2g}'):g}"


def hours(seconds: float) -> str:
    """Format a time."""
    found = seconds / HOUR
    return f"{found:,.0f} h" if found >= 10 else f"{_rounded(found)} h"


def asked(one: Fragment) -> str:
    """Format what the longest waiting pod requested of the unusable resource."""
    size = _shape(one.found.longest.requested)
    return f"{size.gpus if one.found.unit == 'GPUs' else size.cpu / _size(one):g}"


def _size(one: Fragment) -> int:
    """Return the unit of the unusable resource: one GPU, or the millicores of a core."""
    return 1 if one.found.unit == "GPUs" else 1000


def money(one: Fragment, world: World) -> Value[int]:
    """Sum the cost of unusable resources in mills; null without a price."""
    price, found = world.numbers.price(one.pool), one.found
    if price is None:
        return computed(one, None)
    return computed(one, round(price.mills * found.there / HOUR * found.stranded / found.whole))
