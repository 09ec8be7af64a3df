"""What a cluster at its target takes of limits that it shares with other clusters."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kcheck.addons.fleet.tables import EVERYWHERE, IN_ACCOUNT, IN_REGION, IN_REPOSITORY, UseRow
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NODE_ADDRESSES
from kcheck.scale import egress, quotas
from kcheck.scale.addresses import address_units
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Unset, equals, known, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import Cluster, NodePool, Reservation
    from kcheck.scale.world import World
    from kcheck.text.values import Value

_UNITS = "vpc.address_units"


def uses_of(cluster: Cluster, world: World) -> Iterator[UseRow]:
    """The shared limits that a cluster takes something of, with how much."""
    for part in (_quotas, _address_units, _hub_pulls, _reservations):
        yield from (row for row in part(cluster, world) if row.needed or not row.is_exact)


def _quotas(cluster: Cluster, world: World) -> Iterator[UseRow]:
    limits = world.numbers.limits(cluster.cloud)
    for asked in quotas.at_target(cluster, world):
        quota = asked.need.quota
        if quota.of == "cluster":
            continue
        value = limits[f"quota.{quota.key}"].value
        path, line = cluster.place.line
        yield UseRow(
            cluster=cluster.id,
            kind="quota",
            key=quota.code,
            scope=IN_ACCOUNT if quota.of == "project" else IN_REGION,
            name=quota.name,
            unit=asked.need.unit,
            needed=asked.amount,
            is_exact=asked.sure,
            available=value if isinstance(value, int) else None,
            limit_name=f"{cluster.cloud}.quota.{quota.key}",
            path=path,
            line=line,
        )


def _address_units(cluster: Cluster, world: World) -> Iterator[UseRow]:
    units = address_units(cluster, world)
    if not units:
        return
    entry = world.numbers.limits(cluster.cloud)[_UNITS]
    sizes = {pool.id: known(world.sizes.of_pool(pool)) for pool in world.pools.of_cluster(cluster)}
    is_counted = None not in sizes.values() and not isinstance(world.pools.all_of_cluster(cluster), Unknown)
    key, scope = _network(cluster, world)
    path, line = cluster.place.line
    yield UseRow(
        cluster=cluster.id,
        kind="address-units",
        key=key,
        scope=scope,
        name="address units of a VPC",
        unit=entry.unit,
        needed=sum(bounds.low * (sizes[name] or 0) for name, bounds in units.items()),
        is_exact=is_counted and all(one.exact is not None for one in units.values()),
        available=entry.number,
        limit_name=f"{cluster.cloud}.{_UNITS}",
        path=path,
        line=line,
    )


def _hub_pulls(cluster: Cluster, world: World) -> Iterator[UseRow]:
    pulls = egress.hub_pulls(cluster, world)
    sure = [one for one in pulls if one.sure]
    if not sure or equals(cluster.outbound_type, NODE_ADDRESSES):
        return  # each node with an address of its own has a limit of its own, too
    nodes, addresses = world.sizes.target_interval(cluster), known(cluster.outbound_ips)
    entry = world.numbers.limits("any")["docker_hub.pulls"]
    key, scope = _way_out(cluster, world)
    path, line = sure[0].images[0].place.line
    yield UseRow(
        cluster=cluster.id,
        kind="docker-hub",
        key=key,
        scope=scope,
        name="anonymous pulls from Docker Hub",
        unit=entry.unit,
        needed=egress.pulled(sure, lambda _: nodes.low),
        is_exact=nodes.exact is not None and len(sure) == len(pulls),
        available=entry.number * addresses if addresses else None,
        limit_name="any.docker_hub.pulls",
        path=path,
        line=line,
    )


def _reservations(cluster: Cluster, world: World) -> Iterator[UseRow]:
    by_key: dict[tuple[str, str], list[NodePool]] = defaultdict(list)
    made_by: dict[tuple[str, str], list[Reservation]] = {}
    for pool in world.pools.of_cluster(cluster):
        if not isinstance(pool.market.reservation_id, Unset):
            made = _made(pool, cluster, world)
            key = _reservation(pool, cluster, made)
            by_key[key].append(pool)
            made_by[key] = made
    for (name, scope), pools in by_key.items():
        sizes = [world.sizes.of_pool(pool) for pool in pools]
        limit = total(one.size for one in made_by[name, scope]) if made_by[name, scope] else None
        path, line = pools[0].place.line
        yield UseRow(
            cluster=cluster.id,
            kind="reservation",
            key=name,
            scope=scope,
            name="nodes of a reservation",
            unit="nodes",
            needed=sum(known(size) or 0 for size in sizes),
            is_exact=all(isinstance(size, Known) for size in sizes),
            available=limit if isinstance(limit, int) else None,
            limit_name="",
            path=path,
            line=line,
        )


def _made(pool: NodePool, cluster: Cluster, world: World) -> list[Reservation]:
    """The reservations in the code of its root module that a pool is for."""
    asked, types = pool.market.reservation_id, known(pool.machine.instance_types) or ()
    near = [
        one for one in world.inventory.reservations if (one.root, one.environment) == (pool.root, cluster.environment)
    ]
    if cloud(cluster.cloud).reserves_by_machine:
        return [one for one in near if _is_same(one.group, asked) and known(one.machine) in types]
    address, name = _symbol(asked), known(asked)
    return [one for one in near if address == one.address or (name is not None and known(one.name) == name)]


def _reservation(pool: NodePool, cluster: Cluster, made: list[Reservation]) -> tuple[str, str]:
    """The key of a pool's reservation, and where it means the same."""
    asked, own, types = pool.market.reservation_id, cloud(cluster.cloud), known(pool.machine.instance_types) or ()
    part = f" {types[0]}" if own.reserves_by_machine and types else ""
    name = known(asked) or next((text for one in made if (text := known(one.name))), "")
    if name:
        is_id = regex(own.reservation_ids).fullmatch(name) is not None
        return f"{name}{part}", EVERYWHERE if is_id else IN_REGION
    symbol = _symbol(asked)
    return (f"{pool.root}:{symbol}{part}" if symbol else ""), IN_REPOSITORY


def _is_same(first: Value[str], second: Value[str]) -> bool:
    """Whether two references are to the same."""
    if isinstance(first, Known) and isinstance(second, Known):
        return first.value == second.value
    return bool(_symbol(first)) and _symbol(first) == _symbol(second)


def _symbol(value: Value[str]) -> str:
    """The address of the resource that a value is of; empty if it is of none."""
    symbol = value.symbol if isinstance(value, Unknown) else None
    return symbol.address if symbol is not None and symbol.attribute != "text" else ""


def _network(cluster: Cluster, world: World) -> tuple[str, str]:
    """The key of a cluster's network, and where it means the same; that of its subnets, where it does not say it."""
    found = known(cluster.network_id)
    if found is not None and not found.startswith(f"{cluster.cloud}/"):
        return found, EVERYWHERE
    pools = world.pools.of_cluster(cluster)
    subnets = [subnet for pool in pools for subnet in known(pool.addresses.subnets) or ()]
    networks = {network.id for subnet in subnets if (network := known(subnet.network)) is not None}
    only = networks.pop() if len(networks) == 1 else ""
    return found or only, IN_REPOSITORY


def _way_out(cluster: Cluster, world: World) -> tuple[str, str]:
    """The key of the public addresses by which a cluster goes out, and where it means the same."""
    if cloud(cluster.cloud).has_own_addresses(cluster):
        return cluster.id, IN_REPOSITORY
    network, scope = _network(cluster, world)
    if not cloud(cluster.cloud).shares_gateways or not network:
        return network, scope
    region = known(cluster.region)  # its networks are everywhere, its gateways are in regions
    return (f"{network} {region}", scope) if region else ("", scope)
