"""Cost of nodes: node-hours, and money where a price is given or listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, TypeAlias

from msgspec import Struct

from kcheck.config.numbers.machines import Price
from kcheck.model import NodePool
from kcheck.scale.basics import computed
from kcheck.scale.world import World
from kcheck.text.values import Value

DAY, MONTH = 24 * 3600, 730 * 3600
Share: TypeAlias = "tuple[NodePool | None, int]"
"""Nodes of a pool; for an unknown pool, only a price that the user gives counts."""


class Rate(Struct, frozen=True):
    """Price of a node-hour; of a list price with machine, market and region."""

    nodes: Annotated[int, "nodes at this price", "nodes"]
    money: Annotated[int, "price of one node for an hour", "mills"]
    machine: Annotated[str | None, "machine type that has the price; null where the user gives it"]
    market: Annotated[str, "on demand or spot; empty where the user gives the price"]
    region: Annotated[str, "region of the price list; empty where the user gives the price"]


class Cost(Struct, frozen=True):
    """Cost of nodes in a time, with the rates that cost most first."""

    node_time: Annotated[int, "time for which nodes are paid, all together", "node-seconds"]
    money: Annotated[int | None, "what those of them cost that have a price; null where none has", "mills"]
    rates: tuple[Rate, ...]


def cost(shares: Iterable[Share], world: World, seconds: int | Fraction) -> Cost:
    """Price nodes for some seconds."""
    kinds: Counter[Price] = Counter()
    nodes = 0
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
    return tuple(_rate(price, count) for price, count in ranked)


def rate(pool: NodePool, world: World) -> Value[Rate]:
    """Return the price of a node-hour of a pool; null where none is known."""
    price = world.numbers.price(pool)
    return computed(pool, None if price is None else _rate(price, 1))


def _rate(price: Price, nodes: int) -> Rate:
    return Rate(nodes, price.mills, price.machine or None, price.market, price.region)
