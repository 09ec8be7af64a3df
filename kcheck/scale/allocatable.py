"""Allocatable CPU and memory of a pool's nodes, and what pods request."""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.reserved import GI, Node, Reserved, taken
from kcheck.inventory.clouds import registry
from kcheck.model import NOTHING, NodePool, PodTemplate
from kcheck.text.amount import Amount, exactly
from kcheck.text.units import minor_version, quantity
from kcheck.text.values import Known, Unknown, Value, known

_THRESHOLD = "memory.available"


class Room(Struct, frozen=True):
    """A machine and what it leaves to pods: millicores, bytes, 0 if unknown."""

    machine: str
    vcpus: int
    memory: int
    cpu_left: Amount
    memory_left: Amount


class Taken(NamedTuple):
    """Bounds of what the DaemonSets of each node request."""

    cpu: Amount = exactly(0)
    memory: Amount = exactly(0)


NOTHING_TAKEN = Taken()


@lru_cache(maxsize=1024)
def rooms(pool: NodePool) -> tuple[Room, ...]:
    """Return the room on each machine type of a pool; empty if a type is unknown."""
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
    """Subtract the reservation in the kubelet's configuration, or else the usual one."""
    own, nothing = pool.kubelet, exactly(0)
    cpu = _written(own.kube_reserved, "cpu", usual.cpu, 1000) + _written(own.system_reserved, "cpu", nothing, 1000)
    memory = _written(own.kube_reserved, "memory", usual.memory, 1)
    memory += _written(own.system_reserved, "memory", nothing, 1)
    memory += _written(own.eviction_hard, _THRESHOLD, usual.eviction, 1, node.memory)
    memory += Amount(0, taken(profiles.limits("any")["reserved.memory_overhead"].text, node.memory, GI))
    return Room(node.machine, vcpus, node.memory, exactly(node.cpu) - cpu, exactly(node.memory) - memory)


def _written(value: Value[dict[str, str]], key: str, usual: Amount, scale: int, whole: int = 0) -> Amount:
    """Return bounds of a kubelet reservation; the usual one if not set."""
    text = value.value.get(key) if isinstance(value, Known) else None
    if text is not None:
        amount = _amount(text, whole)
        return Amount() if amount is None else exactly(int(amount * scale))
    return Amount(0, usual.high) if isinstance(value, Unknown) else usual


def _amount(text: str, whole: int) -> Fraction | None:
    """Parse a quantity, or a percentage of the whole; None if it is neither."""
    try:
        return Fraction(taken(text, whole, 1)) if text.endswith("%") else abs(quantity(text))
    except ValueError:
        return None


def shape(pool: NodePool, slots: Amount | None, *, named: bool) -> tuple[object, ...]:
    """Return the properties of a pool that decide whether pods fit."""
    own = pool.scheduling
    parts = (
        own.labels, own.taints, pool.machine.instance_types, pool.machine.gpu, pool.machine.gpus, pool.mode,
        pool.market.spot, pool.system.os, pool.placement.zones, pool.cluster, pool.name if named else NOTHING,
    )  # fmt: skip
    if any(isinstance(part, Unknown) for part in parts):
        return (pool,)
    return tuple(sorted((known(own.labels) or {}).items())), *map(known, parts[1:]), slots, rooms(pool)


class Share(Struct, frozen=True):
    """Request of pods, and a machine's room beside DaemonSets."""

    resource: str
    asked: int
    left: Amount
    taken: int
    room: Room

    @property
    def fits(self) -> bool | None:
        """Whether one pod fits; None if unknown."""
        if self.left.high is not None and self.asked > self.left.high:
            return False
        return True if self.asked <= self.left.low else None


def shares(template: PodTemplate, room: Room, taken: Taken) -> list[Share]:
    """Return the CPU and memory that pods request of a machine, as far as known."""
    parts = [
        ("cpu", known(template.cpu), room.vcpus, room.cpu_left, taken.cpu),
        ("memory", known(template.memory), room.memory, room.memory_left, taken.memory),
    ]
    return [
        Share(resource, asked, left - own, own.low, room)
        for resource, asked, whole, left, own in parts
        if asked and whole
    ]


def shortage(template: PodTemplate, pool: NodePool, taken: Taken) -> Share | None:
    """Return the request that exceeds a pool's largest machine; else None."""
    found = []
    for room in rooms(pool):
        share = next((one for one in shares(template, room, taken) if one.fits is False), None)
        if share is None:
            return None
        found.append(share)
    return max(found, key=lambda one: one.left.high or 0, default=None)
