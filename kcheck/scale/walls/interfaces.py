"""Network walls of AWS other than subnets: interfaces of a zone, address units of a VPC."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from kcheck.config.numbers import machines
from kcheck.inventory.clouds.registry import cloud
from kcheck.scale.addresses import address_units, pods_have_interfaces
from kcheck.text.values import Known, known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import Cni, NodePool
    from kcheck.scale.walls.model import Sizes, Wall, WallFinder


def walls(finder: WallFinder) -> Iterator[Wall]:
    """Quotas of interfaces and of address units, if everything is known."""
    cni = finder.cluster.cni
    if cni is None or finder.gap or not finder.pools or not pods_have_interfaces(finder.cluster):
        return
    units = {name: bounds.exact for name, bounds in address_units(finder.cluster, finder.world).items()}
    if units and None not in units.values():
        yield from _wall(finder, "address-units", "vpc.address_units", {k: v or 0 for k, v in units.items()}, {})
    held = {pool.id: _interfaces(pool, cni, finder.cluster.cloud) for pool in finder.pools}
    zones = {pool.id: _zones(pool) for pool in finder.pools}
    if None not in held.values() and all(zones.values()):
        yield from _wall(finder, "interfaces", "vpc.interfaces", {k: v or 0 for k, v in held.items()}, zones)


def _wall(
    finder: WallFinder, mechanism: str, key: str, each: dict[str, int], zones: dict[str, tuple[str, ...]]
) -> Iterator[Wall]:
    """A wall where nodes use up a quota: one for all, or one in each zone."""
    entry = finder.limits[key]
    everywhere = {zone for own in zones.values() for zone in own}

    def takes(sizes: Sizes) -> int:
        if not zones:
            return sum(each[name] * size for name, size in sizes.items())
        return max(
            sum(each[name] * ceil(size / len(zones[name])) for name, size in sizes.items() if zone in zones[name])
            for zone in everywhere
        )

    parts = " and ".join(f"{each[pool.id]:,} a node of {pool.display_name}" for pool in finder.pools[:4])
    text = (
        f"{entry.number:,} {entry.unit}{f' in each of {len(everywhere)} zones' if len(everywhere) > 1 else ''}; {parts}"
    )
    yield from finder.grown(
        mechanism, "the cluster", takes, room=entry.number, weights=each, arithmetic=text,
        cause=finder.pools[0].size.max_nodes, entry=entry,
    )  # fmt: skip


def _zones(pool: NodePool) -> tuple[str, ...]:
    """The zones of a pool's subnets; a subnet whose zone is not known stands for one of its own."""
    return tuple(dict.fromkeys(known(one.zone) or one.id for one in known(pool.addresses.subnets) or ()))


def _interfaces(pool: NodePool, cni: Cni, name: str) -> int | None:
    """Interfaces of a node with one pod, EFA included; None if the type is unknown."""
    if not isinstance(pool.machine.instance_types, Known) or not isinstance(cni.warm_interfaces, Known):
        return None
    found = [machines.interfaces(name, type_) for type_ in pool.machine.instance_types.value]
    if not found or None in found:
        return None
    count, addresses = min(one for one in found if one is not None)
    single = known(cni.prefix_delegation) or known(cni.warm_ips) is not None or known(cni.minimum_ips) is not None
    warm = 0 if single else cni.warm_interfaces.value  # the warm interface is of the plain mode only
    efa = known(pool.machine.efa) or ()
    more = len(efa) - ("efa" in efa)  # the first one with an address is the interface that every node has
    return cloud(name).interfaces_held(1, addresses, warm, count) + more
