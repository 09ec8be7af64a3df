"""The values of the code that a wall is worked out from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import NodePool
    from kcheck.scale.walls.model import Wall
    from kcheck.source.values import Value

_ADDRESSES = ("subnet", "pod-subnet", "pod-range")
_INTERFACES = ("interfaces", "address-units")
_COUNTED = ("pool-limit", "pool-quota", "outbound-ports", "autoscaling", "quota", "pods", "maximum")
"""Mechanisms that count the nodes of pools, whatever these take."""


def inputs(wall: Wall) -> Iterator[Value[object]]:
    """What is written of a wall: the limit itself first, then what grows into it."""
    yield wall.cause
    mechanism = wall.mechanism
    if mechanism in ("outbound-ports", "docker-hub"):
        yield wall.cluster.outbound_ports
        yield wall.cluster.outbound_ips
    if mechanism in (*_ADDRESSES, *_INTERFACES) and wall.cluster.cni is not None:
        cni = wall.cluster.cni
        yield from (cni.prefix_delegation, cni.custom_networking, cni.warm_interfaces, cni.warm_prefixes)
        yield from (cni.warm_ips, cni.minimum_ips)
    for pool in wall.pools:
        yield from _of_pool(pool, mechanism)


def _of_pool(pool: NodePool, mechanism: str) -> Iterator[Value[object]]:
    if mechanism in (*_ADDRESSES, *_INTERFACES, *_COUNTED):
        yield from (pool.size.max_nodes, pool.size.zone_count)
    if mechanism in (*_ADDRESSES, "pool-limit", "pool-quota", "outbound-ports"):
        yield from (pool.upgrade.surge, pool.upgrade.max_surge)
    if mechanism in _ADDRESSES:
        addresses = pool.addresses
        yield from (addresses.max_pods, addresses.pods_take_addresses, addresses.allocation, addresses.pod_addresses)
    if mechanism in (*_ADDRESSES, *_INTERFACES):
        yield from (pool.addresses.subnets, pool.addresses.pod_subnets)
    if mechanism in (*_ADDRESSES, *_INTERFACES, "quota"):
        yield from (pool.machine.instance_types, pool.machine.efa)
    if mechanism == "quota":
        yield from (pool.machine.accelerator, pool.machine.gpus, pool.machine.disk_size, pool.market.spot)
    if mechanism == "pods":
        yield pool.addresses.max_pods
