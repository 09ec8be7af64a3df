"""Which pools of an existing cluster are for training, and what is known of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kcheck.generate.system_nodes import non_training_nodes
from kcheck.model import CONTROL_PLANE
from kcheck.numbers import machines
from kcheck.source.units import counted
from kcheck.source.values import Known, Unknown, Unset, equals, known, reason_of

if TYPE_CHECKING:
    from kcheck.model import Cluster, NodePool
    from kcheck.scale.world import World
    from kcheck.source.text import Span
    from kcheck.source.values import Value


class TrainingPools(Struct):
    """The pools for training, with their nodes at the target.

    `left_out` says of every other pool why it is none, and `assumed` what is taken for granted of these. `unread` is
    why there may be others, or why nothing is known of their machines: then nothing is to be made of them.
    """

    cloud: str
    sizes: dict[NodePool, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    unread: str = ""
    unsized: str = ""

    @property
    def pools(self) -> list[NodePool]:
        """Those on demand first, the largest first: the order of machine types in an intent."""
        return sorted(self.sizes, key=lambda pool: (known(pool.market.spot) is True, -self.sizes[pool]))

    @property
    def nodes(self) -> int:
        """All nodes of them."""
        return sum(self.sizes.values())

    @property
    def spot(self) -> int:
        """Those that are bought as spot."""
        return sum(size for pool, size in self.sizes.items() if known(pool.market.spot))

    @property
    def machines(self) -> list[str]:
        """The machine types with as many GPUs as the others."""
        return [name for name in self._types if machines.gpus(self.cloud, name) in (None, self.gpus)]

    @property
    def unlike(self) -> list[str]:
        """The machine types with other numbers of GPUs."""
        return [name for name in self._types if name not in self.machines]

    @property
    def _types(self) -> list[str]:
        return list(dict.fromkeys(name for pool in self.pools for name in known(pool.machine.instance_types) or ()))

    @property
    def gpus(self) -> int | None:
        """GPUs of a node, of the first machine type where a pool has several; None if unknown."""
        written = next((found for pool in self.pools if (found := known(pool.machine.gpus)) is not None), None)
        return machines.gpus(self.cloud, self._types[0]) if written is None and self._types else written


def choose(cluster: Cluster, world: World) -> TrainingPools:
    """The pools for training: those with the most GPUs, else those that are not for the system."""
    result = TrainingPools(cluster.cloud)
    able = [pool for pool in world.pools.of_cluster(cluster) if not equals(pool.mode, CONTROL_PLANE)]
    with_gpus = [pool for pool in able if known(pool.machine.gpu)]
    unclear = [pool for pool in able if isinstance(pool.machine.gpu, Unknown)]
    if with_gpus:
        chosen = _largest_group(with_gpus, world)
        why = "training nodes are those with the most GPUs"
    else:
        chosen = [pool for pool in able if not is_for_system(pool)] or able
        why = "they are for the cluster's own pods"
        if unclear:
            result.unread = f"machine types of {_named(unclear[0])} are unknown{_because(unclear[0])}"
    if with_gpus:
        result.left_out += [
            f"{_named(pool)} is left out: its machine type is unknown{_because(pool)}" for pool in unclear
        ]
    if not chosen and not result.unread:
        result.unread = cluster.gap or "no node pools in the code"
    elif cluster.gap:
        result.left_out.append(f"pools may be left out: {cluster.gap}")
    _measure(result, chosen, world)
    if result.unlike:
        result.left_out.append(
            f"{', '.join(result.unlike)} are left out: the nodes of a job have the same number of GPUs"
        )
    room = non_training_nodes(cluster.cloud, result.nodes)
    others = [
        told(pool, world)
        for pool in able  # there is a pool for the system in what is made
        if pool not in chosen + unclear and not (is_for_system(pool) and (_nodes(pool, world) or 0) <= room)
    ]
    if others:
        result.left_out.append(f"left out, as {why}: {'; '.join(others)}")
    if chosen and not result.machines and not result.unread:
        result.unread = f"{_named(chosen[0])} names no machine type{_because(chosen[0])}"
    return result


def is_for_system(pool: NodePool) -> bool:
    """Whether a pool is for the cluster's own pods."""
    return known(pool.mode) == "System" or "system" in (known(pool.name) or "")


def _largest_group(pools: list[NodePool], world: World) -> list[NodePool]:
    """The pools whose nodes have the same number of GPUs, with the most GPUs of all."""
    groups: dict[int | None, list[NodePool]] = defaultdict(list)
    for pool in pools:
        groups[known(pool.machine.gpus)].append(pool)

    def cards(each: int | None) -> tuple[int, int]:
        return sum((_nodes(pool, world) or 0) * (each or 1) for pool in groups[each]), each or 0

    return groups[max(groups, key=cards)]


def _measure(result: TrainingPools, chosen: list[NodePool], world: World) -> None:
    """Count the nodes of the pools, and note what is unknown of them."""
    types: dict[str, int] = {}
    for pool in chosen:
        size = world.sizes.of_pool(pool)
        nodes = known(size)
        result.sizes[pool] = nodes or 0
        if nodes is None and not result.unsized:
            result.unsized = f"the maximum of {_named(pool)} is unknown{because(size, pool.place)}"
        if isinstance(pool.market.spot, Unknown):
            result.assumed.append(
                f"{_named(pool)} is bought on demand: whether it is spot is unknown{because(pool.market.spot)}"
            )
        names = known(pool.machine.instance_types)
        if not names:
            result.assumed.append(f"{_named(pool)} has the machines of the others: its own are unknown{_because(pool)}")
        elif not known(pool.market.spot):
            types[names[0]] = types.get(names[0], 0) + (nodes or 0)
    if len(types) > 1:
        first = result.machines[0]
        others = ", ".join(f"{counted(nodes, 'node')} of {name}" for name, nodes in types.items() if name != first)
        result.assumed.append(f"all nodes on demand are of {first}; the code has {others} on demand, too")


def _nodes(pool: NodePool, world: World) -> int | None:
    return known(world.sizes.of_pool(pool))


def told(pool: NodePool, world: World) -> str:
    """A pool as a reader knows it: name, place, size, machines."""
    nodes, types = _nodes(pool, world), known(pool.machine.instance_types)
    size = counted(nodes, "node") if nodes is not None else "an unknown number of nodes"
    return f"{_named(pool)}, {size}{' of ' + '/'.join(types[:3]) if types else ''}"


def _named(pool: NodePool) -> str:
    return f"pool {pool.display_name} ({at(pool.place)})"


def _because(pool: NodePool) -> str:
    return because(pool.machine.instance_types)


def because(value: Value[object], place: Span | None = None) -> str:
    """Why a value is not known, and where; empty if it is, or if there is no reason."""
    if isinstance(value, Known) or (isinstance(value, Unset) and not value.origin.path):
        return ""
    reason = reason_of(value)
    where = value.origin.spans[0] if value.origin is not None and value.origin.spans else place
    return f": {reason}" if where is None or at(where) in reason else f": {reason} ({at(where)})"


def at(place: Span) -> str:
    """A place in the code, `path:line`."""
    return f"{place.source.path}:{place.begin.line}"
