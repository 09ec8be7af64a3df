"""Cost of nodes: node-hours, and money where a price is given or listed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from kcheck.scale.basics import computed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.config.numbers.machines import Price
    from kcheck.model import NodePool
    from kcheck.scale.world import World
    from kcheck.text.values import Value

DAY = 24 * 3600
Share: TypeAlias = "tuple[NodePool | None, int]"
"""Nodes of a pool; for an unknown pool, only a price that the user gives counts."""


class Rate(Struct, frozen=True):
    """Price of a node-hour, in thousandths of a dollar, and the number of nodes at it.

    A list price has a machine, market (on demand, spot) and region; for a price of the user, the machine is None and
    the others are empty.
    """

    nodes: int
    money: int
    machine: str | None
    market: str
    region: str


class Cost(Struct, frozen=True):
    """Cost of nodes in a time.

    `node_time` is in node-seconds; `money`, in thousandths of a dollar, is that of nodes with a price, None if none has
    one. The rates that cost most come first.
    """

    node_time: int
    money: int | None
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
