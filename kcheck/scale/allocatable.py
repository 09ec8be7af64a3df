"""Allocatable CPU and memory of the nodes of a pool, by machine type."""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.reserved import GI, Node, Reserved, taken
from kcheck.inventory.clouds import registry
from kcheck.model import NOTHING, NodePool
from kcheck.text.interval import Interval
from kcheck.text.units import minor_version, quantity
from kcheck.text.values import Known, Unknown, Value, known

_THRESHOLD = "memory.available"


class Room(NamedTuple):
    """Size of a machine, and bounds of what it leaves to pods: CPU in millicores, memory in bytes.

    `memory` is 0 where it is unknown.
    """

    machine: str
    vcpus: int
    memory: int
    cpu_left: Interval
    memory_left: Interval


class Taken(NamedTuple):
    """Bounds of what the DaemonSets of each node request."""

    cpu: Interval = Interval(0, 0)
    memory: Interval = Interval(0, 0)


NOTHING_TAKEN = Taken()


@lru_cache(maxsize=1024)
def rooms(pool: NodePool) -> tuple[Room, ...]:
    """Return the room on each machine type of a pool; empty where a type is unknown."""
    cluster, types = known(pool.cluster), known(pool.machine.instance_types)
    if cluster is None or not types:
        return ()
    found = []
    for name in types:
        machine = machines.machine(cluster.cloud, name)
        if machine is None or not machine.vcpus:
            return ()
        memory = machines.memory(cluster.cloud, name) or 0
        pods, minor = known(pool.addresses.max_pods), minor_version(known(cluster.version) or "")
        node = Node(name, machine.vcpus * 1000, memory, pods, minor)
        found.append(_room(node, machine.vcpus, registry.cloud(cluster.cloud).reserved(node), pool))
    return tuple(found)


def _room(node: Node, vcpus: int, usual: Reserved, pool: NodePool) -> Room:
    """Subtract what the kubelet is configured to reserve, or else the usual reserve."""
    own = pool.kubelet
    nothing = Interval(0, 0)
    cpu = total(
        _written(own.kube_reserved, "cpu", usual.cpu, 1000), _written(own.system_reserved, "cpu", nothing, 1000)
    )
    memory = total(
        _written(own.kube_reserved, "memory", usual.memory, 1),
        _written(own.system_reserved, "memory", nothing, 1),
        _written(own.eviction_hard, _THRESHOLD, usual.eviction, 1, node.memory),
        Interval(0, taken(profiles.limits("any")["reserved.memory_overhead"].text, node.memory, GI)),
    )
    whole = Interval(node.cpu, node.cpu), Interval(node.memory, node.memory)
    return Room(node.machine, vcpus, node.memory, less(whole[0], cpu), less(whole[1], memory))


def _written(value: Value[dict[str, str]], key: str, usual: Interval, scale: int, whole: int = 0) -> Interval:
    """Bound what a kubelet configuration reserves; the usual where it does not, or may not, set the key."""
    text = value.value.get(key) if isinstance(value, Known) else None
    if text is not None:
        amount = _amount(text, whole)
        return Interval(0, None) if amount is None else Interval(int(amount * scale), int(amount * scale))
    return Interval(0, usual.high) if isinstance(value, Unknown) else usual


def _amount(text: str, whole: int) -> Fraction | None:
    """Parse a quantity, or a percentage of the whole; None if it is neither."""
    try:
        return Fraction(taken(text, whole, 1)) if text.endswith("%") else abs(quantity(text))
    except ValueError:
        return None


def total(*parts: Interval) -> Interval:
    """Add amounts; no upper bound where one of them has none."""
    highs = [part.high for part in parts if part.high is not None]
    return Interval(sum(part.low for part in parts), sum(highs) if len(highs) == len(parts) else None)


def less(whole: Interval, part: Interval) -> Interval:
    """Subtract an amount from another, down to 0."""
    least = 0 if part.high is None else max(0, whole.low - part.high)
    return Interval(least, None if whole.high is None else max(0, whole.high - part.low))


def shape(pool: NodePool, slots: Interval | None, *, named: bool) -> tuple[object, ...]:
    """Return all of a pool that decides whether pods fit, its name if `named`; where a part is unknown, itself."""
    own = pool.scheduling
    parts = (
        own.labels, own.taints, pool.machine.instance_types, pool.machine.gpu, pool.machine.gpus, pool.mode,
        pool.market.spot, pool.system.os, pool.placement.zones, pool.cluster, pool.name if named else NOTHING,
    )  # fmt: skip
    if any(isinstance(part, Unknown) for part in parts):
        return (pool,)
    return tuple(sorted((known(own.labels) or {}).items())), *map(known, parts[1:]), slots, rooms(pool)
