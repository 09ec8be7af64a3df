"""What nodes cost: node-hours, and money where a price is given or listed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from kcheck.source.units import dollars

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import NodePool
    from kcheck.numbers.machines import Price
    from kcheck.scale.world import World

Share: TypeAlias = "tuple[NodePool | None, int]"
"""Nodes of a pool; of a pool that is not known, only a price that the user gives counts."""

_FEW = 10
"""Below so many node-hours tenths matter."""

_KINDS = 3
"""Of more kinds of nodes a message names those that cost most."""


def cost(shares: Iterable[Share], world: World, seconds: int | Fraction) -> str:
    """What nodes cost in so many seconds: "167 node-hours, $5,000 at $30 a node and hour"."""
    shares = list(shares)
    hours = sum(nodes for _, nodes in shares) * Fraction(seconds) / 3600
    text = f"{float(round(hours, 1)):g} node-hours" if hours < _FEW else f"{round(hours):,} node-hours"
    paid = money(shares, world, seconds)
    return f"{text}, {paid}" if paid else text


def money(shares: Iterable[Share], world: World, seconds: int | Fraction) -> str:
    """The money alone, with the price that it follows from; empty where no price is known."""
    kinds: Counter[Price] = Counter()
    unpriced = 0
    for pool, nodes in shares:
        price = world.numbers.price(pool)
        if price is None:
            unpriced += nodes
        elif nodes:
            kinds[price] += nodes
    if not kinds:
        return ""
    total = sum(price.mills * nodes for price, nodes in kinds.items())
    least = "at least " if unpriced else ""
    return f"{least}${dollars(total * Fraction(seconds) / 3600)} at {_prices(kinds, unpriced)}"


def hourly(pool: NodePool, world: World, nodes: int) -> str:
    """What nodes of a pool cost an hour, in brackets; empty where no price is known."""
    price = world.numbers.price(pool)
    if price is None or not nodes:
        return ""
    each = f" at ${_rate(price)} a node" if nodes > 1 else ""
    listed = f": {price.machine}, {_list(price)}" if price.machine else ""
    return f" (${dollars(price.mills * nodes)} an hour{each}{listed})"


def part(pool: NodePool, world: World, nodes: int, share: Fraction) -> str:
    """What a share of nodes of a pool costs an hour, in brackets; empty where no price is known."""
    price = world.numbers.price(pool)
    if price is None or not nodes:
        return ""
    listed = f": {price.machine}, {_list(price)}" if price.machine else ""
    return f" (${dollars(price.mills * nodes * share)} an hour on {nodes:,} nodes{listed})"


def _prices(kinds: Counter[Price], unpriced: int) -> str:
    """The prices of kinds of nodes: one a node and hour, or a list of them."""
    left = f"; {unpriced:,} nodes without a list price" if unpriced else ""
    if len(kinds) == 1:
        price = next(iter(kinds))
        listed = f" ({price.machine}, {_list(price)}{left})" if price.machine else ""
        return f"${_rate(price)} a node and hour{listed}"
    ranked = sorted(kinds.items(), key=lambda kind: -kind[0].mills * kind[1])
    mixed = len({price.market for price in kinds}) > 1
    market, each = ("", " {}") if mixed else (f"{ranked[0][0].market.replace(' ', '-')} ", "")
    named = [
        f"{nodes:,} {price.machine} at ${_rate(price)}{each.format(price.market)}" for price, nodes in ranked[:_KINDS]
    ]
    named += [f"{len(ranked) - _KINDS} more types"] if len(ranked) > _KINDS else []
    return f"{market}list prices of {ranked[0][0].region} ({', '.join(named)}{left})"


def _list(price: Price) -> str:
    return f"{price.market}, list price of {price.region}"


def _rate(price: Price) -> str:
    return f"{price.mills / 1000:g}"
