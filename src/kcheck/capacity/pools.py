"""Node pools that grow: surge, shares of a target, what they take of a range, how far they get."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kcheck.model import Surge

CEILING = 1 << 20
"""More nodes than any cluster has: what is not reached below it is no wall."""


def surge_nodes(surge: Surge, nodes: int) -> int:
    """How many nodes an upgrade adds to a pool of that many: a number or a percentage, rounded up, within bounds.

    A pool without nodes has none to replace.

    https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling,
    https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    """
    if not nodes:
        return 0
    wanted = max(surge.least, surge.nodes, ceil(nodes * surge.percent / 100))
    return wanted if surge.most is None else min(wanted, surge.most)


class Demand(NamedTuple):
    """What one pool takes of a range: `per_node` for each of its nodes and surge nodes; `nodes` at the target.

    A pool in several subnets, one a zone, is spread evenly over them: `subnets` is their number. `by_default` says that
    nobody wrote its size.
    """

    pool: str
    nodes: int
    surge: Surge
    per_node: int
    subnets: int = 1
    by_default: bool = False

    def addresses(self, nodes: int) -> int:
        """Addresses needed when the pool has that many nodes: (nodes + surge) / subnets x per_node.

        https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning: 50 nodes and one for surge
        with 30 pods each need 51 x 31 = 1,581.
        """
        return ceil((nodes + surge_nodes(self.surge, nodes)) / self.subnets) * self.per_node


def addresses_needed(demands: Sequence[Demand]) -> int:
    """Addresses that all pools of a subnet need at their sizes, surge included."""
    return sum(demand.addresses(demand.nodes) for demand in demands)


def full_at(demands: Sequence[Demand], usable: int) -> int:
    """The number of nodes at which the subnet is full, when its pools grow in proportion to their sizes."""
    sizes = tuple(demand.nodes for demand in demands)
    growth = Growth(sizes, (True,) * len(sizes))

    def fits(share: list[int]) -> bool:
        return sum(demand.addresses(nodes) for demand, nodes in zip(demands, share, strict=True)) <= usable

    return largest(fits, growth, None, sum(sizes))


def spread(maxima: Sequence[int], growable: Sequence[bool], target: int) -> list[int]:
    """Nodes of each pool when the cluster has `target`; no pool ever shrinks as the target grows.

    Above the sum of the maxima, growable pools share the excess in proportion to their maxima (all pools, if
    none can grow); below it, growable pools shrink in proportion and fixed ones keep their size as long as they fit.
    """
    total = sum(maxima)
    if target == total or not maxima:
        return list(maxima)
    flags = growable if any(growable) else [True] * len(maxima)
    fixed = [0 if grows else size for size, grows in zip(maxima, flags, strict=True)]
    if target < sum(fixed):
        return _proportional(fixed, target)
    weights = [size if grows else 0 for size, grows in zip(maxima, flags, strict=True)]
    if not sum(weights):
        weights = [int(grows) for grows in flags]
    shares = _proportional(weights, target - sum(fixed))
    return [share + size for share, size in zip(shares, fixed, strict=True)]


def _proportional(weights: Sequence[int], amount: int) -> list[int]:
    """Whole shares of an amount: those of D'Hondt, the one method near this whose shares never shrink as it grows."""
    whole = sum(weights)
    shares = [amount * weight // whole for weight in weights]
    for _ in range(amount - sum(shares)):
        best = max(range(len(weights)), key=lambda i: (weights[i] / (shares[i] + 1), -i))
        shares[best] += 1
    return shares


class Growth(NamedTuple):
    """How the pools of a cluster share its nodes: their maxima, None where one is not known, and who can grow."""

    maxima: tuple[int | None, ...]
    growable: tuple[bool, ...]

    def ways(self) -> list[int | None]:
        """The extreme ways to grow: each pool of unknown size alone takes all; the truth is between them."""
        return [i for i, size in enumerate(self.maxima) if size is None] or [None]

    def sizes(self, nodes: int, way: int | None) -> list[int]:
        """Nodes of each pool when the cluster has `nodes`."""
        known = [size or 0 for size in self.maxima]
        rest = nodes - sum(known)
        if way is None or rest <= 0:
            able = [grows and size is not None for size, grows in zip(self.maxima, self.growable, strict=True)]
            return spread(known, able if way is not None else self.growable, nodes)
        known[way] += rest
        return known


class Interval(NamedTuple):
    """A number of nodes that lies between two bounds; `high` is None where there is no upper one."""

    low: int
    high: int | None

    @property
    def exact(self) -> int | None:
        """The number, where the bounds are one."""
        return self.low if self.low == self.high else None

    def below(self, other: Interval) -> bool | None:
        """Whether this number is less than another; None where the intervals do not tell."""
        if self.high is not None and self.high < other.low:
            return True
        return False if other.high is not None and self.low >= other.high else None

    def __str__(self) -> str:
        if self.exact is not None:
            return f"{self.low:,}"
        if self.high is None:
            return f"at least {self.low:,}"
        return f"at most {self.high:,}" if not self.low else f"{self.low:,} to {self.high:,}"


def largest(fits: Callable[[list[int]], bool], growth: Growth, way: int | None, ceiling: int = CEILING) -> int:
    """The most nodes up to `ceiling` at which the pools' sizes fit; 0 if none does.

    Whoever fits with more nodes fits with fewer.
    """
    low, high = 0, 1
    while high < ceiling and fits(growth.sizes(high, way)):
        low, high = high, high * 2
    high = min(high, ceiling)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(growth.sizes(middle, way)) else (low, middle - 1)
    return low


def reach(
    least: Callable[[list[int]], bool], most: Callable[[list[int]], bool] | None, growth: Growth
) -> Interval | None:
    """How many nodes a cluster has at a wall; None if it never meets it.

    `least` tells whether sizes fit at the lowest demand there can be, `most` at the highest, None if it has no bound.
    """
    highs = list(_at(least, growth))
    lows = highs if most is least else [0] if most is None else list(_at(most, growth))
    if min(lows) == CEILING:
        return None
    return Interval(min(lows), None if max(highs) == CEILING else max(highs))


def _at(fits: Callable[[list[int]], bool], growth: Growth) -> Iterator[int]:
    for way in growth.ways():
        yield largest(fits, growth, way)
