"""Choose the training pools of an existing cluster, and read their settings."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from kcheck.config.numbers import machines
from kcheck.generate.recommended import non_training_nodes, values
from kcheck.model import CONTROL_PLANE, Cluster, NodePool
from kcheck.scale.world import World
from kcheck.text.text import Span
from kcheck.text.units import counted, some
from kcheck.text.values import Known, Unknown, Unset, Value, equals, known, number, reason_of

_MOST_NAMES = 5


class TrainingPools(Struct):
    """Training pools with their nodes at the target.

    `left_out` says why other pools are not for training, except `system` pools no larger than their replacement.
    `unread` says why more may exist or their machines are unknown, `unsized` why their number of nodes is: no intent.
    """

    cloud: str
    sizes: dict[NodePool, int] = field(default_factory=dict)
    system: list[NodePool] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    unread: str = ""
    unsized: str = ""

    @property
    def pools(self) -> list[NodePool]:
        """Pools in the order of machine types in an intent: on demand first, then by size."""
        return sorted(self.sizes, key=lambda pool: (known(pool.market.spot) is True, -self.sizes[pool]))

    @property
    def nodes(self) -> int:
        """Total number of nodes."""
        return sum(self.sizes.values())

    @property
    def empty(self) -> str:
        """Message that the pools have no nodes."""
        return f"the maxima of the pools are 0: {'; '.join(map(named, self.sizes))}"

    @property
    def spot(self) -> int:
        """Number of spot nodes."""
        return sum(_spot_of(pool, size) for pool, size in self.sizes.items())

    @property
    def machines(self) -> list[str]:
        """Machine types with the number and model of the first one's GPUs."""
        return [
            name for name in self._types if machines.gpus(self.cloud, name) in (None, self.gpus) and self._alike(name)
        ]

    @property
    def unlike(self) -> list[str]:
        """Machine types whose GPUs differ in number or model."""
        return [name for name in self._types if name not in self.machines]

    def _alike(self, name: str) -> bool:
        first, own = machines.model(self.cloud, self._types[0]), machines.model(self.cloud, name)
        return None in (first, own) or first == own

    @property
    def _types(self) -> list[str]:
        return list(dict.fromkeys(name for pool in self.pools for name in known(pool.machine.instance_types) or ()))

    @property
    def accelerator(self) -> str | None:
        """Model of the GPUs attached to machines without built-in GPUs."""
        own = self._types and machines.gpus(self.cloud, self._types[0])
        return None if own else next((kind for pool in self.pools if (kind := known(pool.machine.accelerator))), None)

    @property
    def gpus(self) -> int | None:
        """GPUs per node, of the first machine type if there are several; None if unknown."""
        written = next((found for pool in self.pools if (found := known(pool.machine.gpus)) is not None), None)
        return machines.gpus(self.cloud, self._types[0]) if written is None and self._types else written


def choose(cluster: Cluster, world: World) -> TrainingPools:
    """Choose the training pools: those with the most GPUs, else non-system ones."""
    result = TrainingPools(cluster.cloud)
    able = [pool for pool in world.pools.of_cluster(cluster) if not equals(pool.mode, CONTROL_PLANE)]
    with_gpus = [pool for pool in able if known(pool.machine.gpu)]
    unclear = [pool for pool in able if isinstance(pool.machine.gpu, Unknown)]
    if with_gpus:
        chosen, why = _largest_group(with_gpus, world), "training nodes are those with the most GPUs"
        result.left_out += [
            f"{named(pool)} is left out: its machine type is unknown{_because(pool)}" for pool in unclear
        ]
    else:
        chosen = [pool for pool in able if not is_for_system(pool)]
        why = "they are for the cluster's own pods"
        if unclear:
            result.unread = f"machine types of {named(unclear[0])} are unknown{_because(unclear[0])}"
    if able and not chosen:
        chosen = able
        told = "the nodes for the cluster's own pods are taken for training, as the only ones"
        result.assumed.append(f"{told}: {'; '.join(map(named, able))}")
    hidden = _hidden_pools(cluster, able, world)
    gap = cluster.gap or hidden
    if hidden and not with_gpus:
        result.unread = result.unsized = hidden
    elif not chosen and not result.unread:
        result.unread = gap or _why_no_pools(cluster)
    elif gap:
        result.left_out.append(f"pools may be left out: {gap}")
    _measure(result, chosen, world)
    _set_aside([pool for pool in able if pool not in chosen + unclear], why, result, world)
    if chosen and not result.machines and not result.unread:
        result.unread = f"{named(chosen[0])} names no machine type{_because(chosen[0])}"
    return result


def _set_aside(others: list[NodePool], why: str, result: TrainingPools, world: World) -> None:
    room = non_training_nodes(result.cloud, result.nodes)
    result.system = [pool for pool in others if is_for_system(pool) and (_nodes(pool, world) or 0) <= room]
    if further := [described(pool, world) for pool in others if pool not in result.system]:
        result.left_out.append(f"left out, as {why}: {'; '.join(further)}")


def _spot_of(pool: NodePool, size: int) -> int:
    """Count the spot nodes of a pool: all, none, or a share beyond the on-demand base."""
    if known(pool.market.spot):
        return size
    beyond = max(0, size - number(pool.market.on_demand_base, 0))
    return beyond * (100 - number(pool.market.on_demand, 100)) // 100


def is_for_system(pool: NodePool) -> bool:
    """Whether a pool is for the cluster's own pods."""
    return known(pool.mode) == "System" or "system" in (known(pool.name) or "")


def _largest_group(pools: list[NodePool], world: World) -> list[NodePool]:
    """Return the pools of one GPU number and model with the most GPUs in total."""
    groups: dict[tuple[int | None, str | None], list[NodePool]] = defaultdict(list)
    for pool in pools:
        cluster, names = known(pool.cluster), known(pool.machine.instance_types)
        model = machines.model(cluster.cloud, names[0]) if cluster and names else None
        model = model or known(pool.machine.accelerator)
        groups[known(pool.machine.gpus), model].append(pool)

    def cards(kind: tuple[int | None, str | None]) -> tuple[int, int]:
        each, _ = kind
        return sum((_nodes(pool, world) or 0) * (each or 1) for pool in groups[kind]), each or 0

    return groups[max(groups, key=cards)]


def _hidden_pools(cluster: Cluster, pools: list[NodePool], world: World) -> str:
    """Return why Karpenter may add unknown nodes; empty if it does not."""
    read = any(equals(one.mode, "Karpenter") for one in pools)
    if read or "karpenter" not in world.autoscaling.installed(cluster):
        return ""
    return f"Karpenter adds nodes to the cluster ({cluster.place.location}), but none of its NodePools could be read"


def _why_no_pools(cluster: Cluster) -> str:
    if known(cluster.provisioned):
        return f"no node pools in the code: the cloud chooses the machines of this cluster ({cluster.place.location})"
    only = f", only the Fargate profiles {', '.join(profiles)}" if (profiles := known(cluster.serverless)) else ""
    return f"no node pools of the cluster ({cluster.place.location}) in the code{only}"


def _measure(result: TrainingPools, chosen: list[NodePool], world: World) -> None:
    for pool in chosen:
        size = world.sizes.of_pool(pool)
        nodes, doubt = known(size), world.inventory.doubts.get(pool.id, "")
        result.sizes[pool] = nodes or 0
        if (nodes is None or doubt) and not result.unsized:
            unknown = f"how many pools there are like {named(pool)} is unknown: {doubt}"
            result.unsized = unknown if doubt else f"the maximum of {named(pool)} is unknown{because(size, pool.place)}"
        if isinstance(pool.market.spot, Unknown):
            result.assumed.append(
                f"{named(pool)} is bought on demand: whether it is spot is unknown{because(pool.market.spot)}"
            )
        if not known(pool.machine.instance_types):
            result.assumed.append(f"{named(pool)} has the machines of the others: its own are unknown{_because(pool)}")
    if result.machines:
        result.assumed += _simplified(result)
    if result.unlike:
        verb = "is" if len(result.unlike) == 1 else "are"
        why = "the nodes of a job have the same number and model of GPUs"
        result.left_out.append(f"{', '.join(result.unlike)} {verb} left out: {why}")


def _simplified(result: TrainingPools) -> Iterator[str]:
    """Yield differences that an intent's simpler markets and types make."""
    first, of_types = result.machines[0], dict[str, int]()
    for pool, size in result.sizes.items():
        names = known(pool.machine.instance_types) or ()
        left = size if names and names[0] not in result.machines else size - _spot_of(pool, size)
        if names and names[0] != first and left:
            of_types[names[0]] = of_types.get(names[0], 0) + left
        if len(names) > 1 and not known(pool.market.spot):
            yield f"{named(pool)} may have any of {some(names, _MOST_NAMES)}; on demand there is only {first}"
    if of_types:
        others = ", ".join(f"{counted(nodes, 'node')} of {name}" for name, nodes in of_types.items())
        yield f"{others} become nodes of {first}: the nodes of a job are alike"


def _nodes(pool: NodePool, world: World) -> int | None:
    return known(world.sizes.of_pool(pool))


def described(pool: NodePool, world: World) -> str:
    """Format a pool with name, place, size and machine types."""
    nodes, types = _nodes(pool, world), known(pool.machine.instance_types)
    size = counted(nodes, "node") if nodes is not None else "an unknown number of nodes"
    return f"{named(pool)}, {size}{' of ' + '/'.join(types[:3]) if types else ''}"


def named(pool: NodePool) -> str:
    """Format a pool with name and place."""
    return f"pool {pool.display_name} ({pool.place.location})"


def _because(pool: NodePool) -> str:
    return because(pool.machine.instance_types)


def because(value: Value[object], place: Span | None = None) -> str:
    """Format why a value is unknown, and its line; empty if it is known."""
    if isinstance(value, Known) or (isinstance(value, Unset) and not value.origin.path):
        return ""
    reason = reason_of(value)
    where = value.origin.spans[0] if value.origin is not None and value.origin.spans else place
    return f": {reason}" if where is None or where.location in reason else f": {reason} ({where.location})"


def on_pools(manifest: bytes, pools: Iterable[NodePool]) -> bytes:
    """Select the nodes of pools in a manifest; empty for several types."""
    key, own = str(values("any")["label.pool"]), list(pools)
    types = {name for pool in own for name in known(pool.machine.instance_types) or ()}
    if f"{key}: ".encode() not in manifest or all(key in (known(pool.scheduling.labels) or {}) for pool in own):
        return manifest
    label = f"node.kubernetes.io/instance-type: {types.pop()}" if len(types) == 1 else ""
    return manifest.replace(f"{key}: training".encode(), label.encode()) if label else b""
