"""Allocatable CPU and memory of the nodes of a pool, by machine type, and the labels that pods select."""

from collections import defaultdict
from collections.abc import Iterable
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
from kcheck.text.values import Known, Unknown, Value, known, sure

_THRESHOLD = "memory.available"


class Room(Struct, frozen=True):
    """Size of a machine, and what it leaves to pods: CPU in millicores, memory in bytes, 0 if unknown."""

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
    """Return bounds of a kubelet reservation; the usual one if the configuration does not, or may not, set the key."""
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
    """Return the properties of a pool that decide whether pods fit; the pool itself if one is unknown."""
    own = pool.scheduling
    parts = (
        own.labels, own.taints, pool.machine.instance_types, pool.machine.gpu, pool.machine.gpus, pool.mode,
        pool.market.spot, pool.system.os, pool.placement.zones, pool.cluster, pool.name if named else NOTHING,
    )  # fmt: skip
    if any(isinstance(part, Unknown) for part in parts):
        return (pool,)
    return tuple(sorted((known(own.labels) or {}).items())), *map(known, parts[1:]), slots, rooms(pool)


def labels(pools: Iterable[NodePool]) -> dict[str, dict[str, str]]:
    """Return the known labels of pools: values by key and pool."""
    result: dict[str, dict[str, str]] = defaultdict(dict)
    for pool in pools:
        for key, value in (known(pool.scheduling.labels) or {}).items():
            result[key][pool.id] = value
    return result


def selected(template: PodTemplate, pools: list[NodePool], known_labels: dict[str, dict[str, str]]) -> list[NodePool]:
    """Leave out pools whose labels certainly differ from those that pods select."""
    terms = sure(template.selection) or ()
    wanted = [one for one in (terms[0] if len(terms) == 1 else ()) if one.operator == "In"]
    pairs = [(one.values, known_labels.get(one.key, {})) for one in wanted]
    refused = {name for values, own in pairs for name, value in own.items() if value not in values}
    return [pool for pool in pools if pool.id not in refused] if refused else pools
