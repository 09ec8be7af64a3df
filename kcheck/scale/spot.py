"""Spot nodes: fallbacks, zones, machine types, prices."""

from collections import Counter, defaultdict
from fractions import Fraction

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.machines import Machine
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Cluster, NodePool
from kcheck.scale.pools import zones
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.scale.world.numbers import region_of
from kcheck.text.need import first_unknown
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, because, known, mapped, number

_ONE_OF = regex(r"(.+)\[\d+\]")


def fallback_pools(pool: NodePool, world: World) -> list[NodePool]:
    """List the on-demand pools that can replace a spot pool."""
    cluster = known(pool.cluster) if known(pool.market.spot) else None
    own = set(known(pool.scheduling.taints) or ())
    most = number(pool.size.max_nodes, 0)

    def takes(other: NodePool) -> bool:
        alike = not known(other.market.spot) and bool(known(other.machine.gpu)) == bool(known(pool.machine.gpu))
        grows = bool(known(other.size.autoscaled)) and number(other.size.max_nodes, most) >= most
        return alike and grows and own.issuperset(known(other.scheduling.taints) or ())

    return [
        other for other in (world.pools.of_cluster(cluster) if cluster else ()) if other is not pool and takes(other)
    ]


def other_zones(pool: NodePool, world: World) -> Value[int]:
    """Count further zones or subnets that a pool could use."""
    cluster = known(pool.cluster)
    if cluster is None:
        return Unknown("the pool's cluster is not known", pool.cluster.origin)
    if known(pool.market.spot) and _others_are_elsewhere(pool, world):
        return computed(pool, 0)
    own, every = zones(pool, world), _zones_of_cluster(pool, cluster, world)
    if not isinstance(own, Known) or not isinstance(every, Known):
        return own if isinstance(own, Unknown) else every if isinstance(every, Unknown) else computed(pool, 0)
    origin = own.origin.outside(pool.place) if own.origin.spans else Origin((pool.place,))
    return Known(max(0, every.value - own.value), origin)


def _zones_of_cluster(pool: NodePool, cluster: Cluster, world: World) -> Value[int]:
    """Count the zones or subnets that a pool of a cluster may use."""
    spread = cloud(cluster.cloud).zones_of_pools
    if spread == "region":
        return mapped(cluster.zonal, lambda zonal: 0 if zonal else _in_region(cluster.cloud))
    if spread == "listed":
        return computed(pool, _in_region(cluster.cloud))
    found, own = max(_most_subnets(cluster, world), _siblings(pool, world)), pool.addresses.subnets
    missing = first_unknown((own, *(subnet.cidr for subnet in known(own) or ())))  # one may stand for several
    return missing if missing and found < 2 else computed(pool, found)


@once
def _most_subnets(cluster: Cluster, world: World) -> int:
    others = (known(zones(other, world)) or 0 for other in world.pools.of_cluster(cluster))
    return max([len(known(cluster.subnet_ids) or ()), *others])


def _in_region(cloud: str) -> int:
    return profiles.settings(cloud)["cluster.zones"].number


def _others_are_elsewhere(pool: NodePool, world: World) -> bool:
    """Whether another spot pool of the kind has other subnets or zones."""
    cluster = known(pool.cluster)
    return cluster is not None and len(_places(cluster, world)[known(pool.machine.gpus)]) > 1


@once
def _places(cluster: Cluster, world: World) -> dict[int | None, set[tuple[object, ...]]]:
    """Group the subnets and zones of a cluster's spot pools by their GPUs."""
    result = defaultdict[int | None, set[tuple[object, ...]]](set)
    for one in filter(lambda one: known(one.market.spot), world.pools.of_cluster(cluster)):
        own = known(one.addresses.subnets), known(one.addresses.subnet_ids), known(one.placement.zones)
        result[known(one.machine.gpus)].add(own)
    return result


def _siblings(pool: NodePool, world: World) -> int:
    """Count the subnets that the resource of a pool's subnet creates with `count`."""
    match = next((_ONE_OF.fullmatch(subnet.address) for subnet in known(pool.addresses.subnets) or ()), None)
    return _subnets_made_together(pool.root, world)[match[1]] if match else 0


@once
def _subnets_made_together(root: str, world: World) -> Counter[str]:
    names = (_ONE_OF.fullmatch(subnet.address) for subnet in world.root_modules[root].subnets)
    return Counter(name[1] for name in names if name is not None)


def same_gpu_types(pool: NodePool, _world: World) -> Value[list[str]]:
    """List other machine types for a pool's pods with the same GPUs."""
    cluster, types = known(pool.cluster), pool.machine.instance_types
    if cluster is None or isinstance(types, Unknown):
        return because(pool.cluster if cluster is None else types)
    own = [(name, machines.machine(cluster.cloud, name)) for name in known(types) or ()]
    same = cloud(cluster.cloud).gpu_family
    families = {name: family for family, name in machines.gpu_types(cluster.cloud)}

    def like(name: str, wanted: str, machine: Machine) -> bool:
        one = machines.machine(cluster.cloud, name)
        return (
            one is not None
            and one.gpus == machine.gpus
            and (one.vcpus or 0) >= (machine.vcpus or 0)
            and same(families[name]) == same(families[wanted])
        )

    found = [
        name
        for name in families
        if own and all(machine and wanted in families and like(name, wanted, machine) for wanted, machine in own)
    ]
    return computed(pool, [name for name in found if name not in (known(types) or ())])


def price_caps(pool: NodePool, _world: World) -> Value[dict[str, int]]:
    """Return the price caps of a spot pool by machine type, in mills."""
    caps = pool.market.price_caps
    if isinstance(caps, Unset):
        return Known({}, caps.origin)
    return mapped(
        caps, lambda texts: {name: price for name, text in texts.items() if (price := _mills(text)) is not None}
    )


def _mills(text: str) -> int | None:
    """Parse a price in thousandths; None if it is no number."""
    try:
        return round(Fraction(text) * 1000)
    except (ValueError, ZeroDivisionError):
        return None


def list_prices(pool: NodePool, _world: World) -> Value[dict[str, int]]:
    """Return the known hourly on-demand list prices by machine type, in thousandths."""
    cluster = known(pool.cluster)
    if isinstance(pool.machine.instance_types, Unknown) or cluster is None:
        return because(pool.cluster if cluster is None else pool.machine.instance_types)
    names, region = known(pool.machine.instance_types) or (), region_of(cluster, pool)
    found = ((name, machines.price(cluster.cloud, name, spot=False, region=region)) for name in names)
    return computed(pool, {name: price.mills for name, price in found if price is not None})
