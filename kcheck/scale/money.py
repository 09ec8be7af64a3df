"""What nodes cost: node-hours, and money where a price is given or listed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kcheck.scale.basics import computed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.config.numbers.machines import Price
    from kcheck.model import NodePool
    from kcheck.scale.world import World
    from kcheck.text.values import Value

DAY = 24 * 3600
Share: TypeAlias = "tuple[NodePool | None, int]"
"""Nodes of a pool; of a pool that is not known, only a price that the user gives counts."""


class Rate(NamedTuple):
    """What one node costs an hour, in thousandths of a dollar, and how many cost that.

    A price of a list has the machine, the market (on demand, spot) and the region; one that the user gives has none:
    its machine is None, the others are empty.
    """

    nodes: int
    money: int
    machine: str | None
    market: str
    region: str


class Cost(NamedTuple):
    """What nodes cost in a time.

    `node_time` is in seconds of one node; `money`, in thousandths of a dollar, is that of nodes with a price, None
    where none has one. The rates that cost most come first.
    """

    node_time: int
    money: int | None
    rates: tuple[Rate, ...]


def cost(shares: Iterable[Share], world: World, seconds: int | Fraction) -> Cost:
    """What nodes cost in so many seconds."""
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
    """The prices of nodes, the largest share of what they cost first."""
    ranked = sorted(kinds.items(), key=lambda kind: -kind[0].mills * kind[1])
    return tuple(_rate(price, count) for price, count in ranked)


def rate(pool: NodePool, world: World) -> Value[Rate]:
    """What one node of a pool costs an hour; null where no price is known."""
    price = world.numbers.price(pool)
    return computed(pool, None if price is None else _rate(price, 1))


def _rate(price: Price, nodes: int) -> Rate:
    return Rate(nodes, price.mills, price.machine or None, price.market, price.region)
