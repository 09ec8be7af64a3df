"""Cost of nodes: node-hours, and money if a price is given or listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Struct

from kcheck.config.numbers.machines import Price
from kcheck.model import Cluster, NodePool
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.text.units import counted, listed
from kcheck.text.values import Known, Unknown, Value, equals, known, reason_of

DAY, MONTH = 24 * 3600, 730 * 3600
Share: TypeAlias = "tuple[NodePool | None, int]"
"""Nodes of a pool; for an unknown pool, only a price that the user gives counts."""


class Rate(Struct, frozen=True):
    """Price of a node-hour; a list price has machine, market and region."""

    nodes: Annotated[int, "nodes at this price", "nodes"]
    money: Annotated[int, "price of one node for an hour", "mills"]
    machine: Annotated[str | None, "machine type that has the price; null where the user gives it"]
    market: Annotated[str, "on demand or spot; empty where the user gives the price"]
    region: Annotated[str, "region of the price list; empty where the user gives the price"]


class Cost(Struct, frozen=True):
    """Cost of nodes over a time, with its most expensive rates first."""

    node_time: Annotated[int, "time for which nodes are paid, all together", "node-seconds"]
    money: Annotated[int | None, "what those of them cost that have a price; null where none has", "mills"]
    rates: tuple[Rate, ...]


def cost(shares: Iterable[Share], world: World, seconds: int | Fraction) -> Cost:
    """Return the cost of nodes for some seconds."""
    kinds, nodes = Counter[Price](), 0
    for pool, count in shares:
        price = world.numbers.price(pool)
        nodes += count
        if price is not None and count:
            kinds[price] += count
    found = rates(kinds)
    money = sum(rate.money * rate.nodes for rate in found) * Fraction(seconds) / 3600
    return Cost(round(nodes * Fraction(seconds)), round(money) if found else None, found)


def rates(kinds: Counter[Price]) -> tuple[Rate, ...]:
    """List the prices of nodes, the largest share of the cost first."""
    ranked = sorted(kinds.items(), key=lambda kind: -kind[0].mills * kind[1])
    return tuple(Rate(n, one.mills, one.machine or None, one.market, one.region) for one, n in ranked)


class Line(Struct, frozen=True):
    """Part of a monthly bill in mills, with the basis of its price."""

    what: str
    mills: int
    price_of: str


class Bill(NamedTuple):
    """Monthly bill, the costs it leaves out, and the limits that are its prices."""

    lines: tuple[Line, ...]
    missing: tuple[str, ...]
    prices: tuple[str, ...] = ()


def month(cluster: Cluster, world: World, *, idle: bool = False) -> Bill:
    """List the monthly cost of nodes, disks, control plane and gateways.

    With `idle`, counts only nodes that no autoscaler removes; else all. No lines if no node has a price.
    """
    entries, hours = world.numbers.limits(cluster.cloud), MONTH // 3600
    pools, every = world.pools.of_cluster(cluster), world.pools.all_of_cluster(cluster)
    missing, sure = [every.reason] if isinstance(every, Unknown) else [], list[tuple[NodePool, int]]()
    for pool in pools:
        size = pool.size.standing if idle else world.sizes.of_pool(pool)
        nodes, types = known(size) or 0, listed(known(pool.machine.instance_types) or ())
        if not idle and not isinstance(size, Known):
            missing.append(reason_of(size))
        elif nodes and world.numbers.price(pool) is None:
            missing.append(f"the price of pool {pool.display_name}{types and f' ({types})'} is not known")
        else:
            sure.append((pool, nodes))
    if not sure or (missing and not any(nodes for _, nodes in sure)):
        return Bill((), tuple(dict.fromkeys(missing)))
    lines = []
    for one in cost(sure, world, MONTH).rates:
        market = one.market and f"{one.market}, {one.region}"
        lines.append(Line(f"{one.nodes:,} x {one.machine or 'node'}", one.money * one.nodes * hours, market))
    parts = [
        (f"disk_price.{known(pool.machine.disk_type)}", "disks", nodes * (known(pool.machine.disk_size) or 0))
        for pool, nodes in sure
    ]
    tier = (known(cluster.tier) or "").lower().replace("-", "_").removeprefix("tier_")
    parts += [(name, "control plane", hours) for name in ("control_plane.price", f"tier_{tier}.price")]
    addresses = known(cluster.outbound_ips) or bool(known(cluster.outbound_ports))
    if "nat_gateway.price" in entries and addresses and not equals(cluster.outbound_type, "loadBalancer"):
        gateways = ceil(addresses / entries["nat_gateway.addresses"].number)
        parts.append(("nat_gateway.price", counted(gateways, "NAT gateway"), gateways * hours))
    totals: Counter[tuple[str, str]] = Counter()
    paid = [one for one in parts if one[0] in entries and one[2]]
    for name, what, amount in paid:
        totals[what, entries[name].sources[0]] += amount * entries[name].number
    lines += [Line(what, mills, source) for (what, source), mills in totals.items()]
    return Bill(tuple(lines), tuple(dict.fromkeys(missing)), tuple(name for name, *_ in paid))


def rate(pool: NodePool, world: World) -> Value[Rate]:
    """Return the price of a pool's node-hour; null if unknown."""
    price = world.numbers.price(pool)
    return computed(pool, None if price is None else rates(Counter((price,)))[0])
