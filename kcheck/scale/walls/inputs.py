"""Values in the code that determine a wall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.scale.world.quotas import needs
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import Cni, NodePool
    from kcheck.scale.walls.model import Wall
    from kcheck.text.values import Value

ADDRESSES = ("subnet", "pod-subnet", "pod-range")
"""Mechanisms of a full subnet or range."""
_DISKS = ("ssd", "hyperdisk", "standard_disk")
"""Kinds of disks that quotas count."""
_INTERFACES = ("interfaces", "address-units")
_UPGRADED = (*ADDRESSES, "pool-limit", "pool-quota", "outbound-ports")
"""Mechanisms that count surge nodes."""
_GROWING = (*_UPGRADED, *_INTERFACES, "autoscaling", "quota", "pods", "maximum")
"""Mechanisms that the pools grow into."""


def inputs(wall: Wall) -> Iterator[Value[object]]:
    """Yield the written values of a wall: the limit itself first, then what grows into it."""
    if wall.cause is not wall.cluster.name:  # where nothing in the code makes it
        yield wall.cause
    mechanism, cni = wall.mechanism, wall.cluster.cni
    if mechanism in ("outbound-ports", "docker-hub"):
        yield from (wall.cluster.outbound_ports, wall.cluster.outbound_ips)
    if mechanism in ("subnet", "pod-subnet", *_INTERFACES) and cni is not None:
        yield from _of_cni(cni)
        for pool in wall.pools:
            yield from (pool.machine.instance_types, pool.machine.efa)
    for pool in wall.pools:
        yield from _of_pool(pool, mechanism)
    if mechanism == "quota":
        yield from _of_quota(wall)


def _of_cni(cni: Cni) -> Iterator[Value[object]]:
    yield from (cni.prefix_delegation, cni.custom_networking, cni.warm_interfaces, cni.warm_prefixes)
    yield from (cni.warm_ips, cni.minimum_ips)


def _of_quota(wall: Wall) -> Iterator[Value[object]]:
    for need in needs(wall.cluster, list(wall.pools)):
        if wall.limit != f"quota.{need.quota.key}":
            continue
        for pool in need.pools:
            machine = pool.machine
            yield pool.market.spot
            if need.quota.counts in _DISKS:
                yield from (machine.disk_size, machine.disk_type)
            else:
                yield machine.instance_types
            if need.quota.counts == "gpus":
                yield from (machine.gpus, machine.accelerator)
            if need.quota.counts == "local_ssd":
                yield machine.local_ssd


def _of_pool(pool: NodePool, mechanism: str) -> Iterator[Value[object]]:
    addresses = pool.addresses
    if mechanism in _GROWING:
        yield from (pool.size.max_nodes, pool.size.zone_count)
    if mechanism in _UPGRADED:
        yield from (pool.upgrade.surge, pool.upgrade.max_surge)
    if mechanism in ("subnet", *_INTERFACES):
        yield from (addresses.subnets, addresses.pods_take_addresses)
    if mechanism == "subnet" and known(addresses.pods_take_addresses) is not False:
        yield addresses.max_pods
    if mechanism == "pod-subnet":
        yield from (addresses.pod_subnets, addresses.pod_addresses, addresses.allocation, addresses.max_pods)
    if mechanism in ("pod-range", "pods"):
        yield addresses.max_pods
