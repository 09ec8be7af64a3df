"""Growing pools: surge, shares of a target, use of a range, and their largest sizes."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import ceil
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kcheck.model import Surge
from kcheck.text.amount import Amount
from kcheck.text.text import grouped
from kcheck.text.values import Value, candidates

CEILING = 1 << 20
"""More nodes than any cluster has: a limit that is not met below it is no wall."""


def surge_nodes(surge: Surge, nodes: int) -> int:
    """Count the surge nodes of an upgrade: a number or a percentage, rounded up, within bounds.

    A pool without nodes has none to replace.

    https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling,
    https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    """
    if not nodes:
        return 0
    wanted = max(surge.least, surge.nodes, ceil(nodes * surge.percent / 100))
    return wanted if surge.most is None else min(wanted, surge.most)


def surge_bounds(surge: Value[Surge]) -> tuple[Surge, Surge]:
    """Return the lower and upper bound of the surge; up to the pool's size if unknown."""
    found = [one.value for one in candidates(surge)]
    if not found:
        return Surge(), Surge(percent=100)
    capped = [one.most for one in found if one.most is not None]
    tightest = min(capped, default=None)
    widest = max(capped) if len(capped) == len(found) else None
    nodes, percents, least = ([getattr(one, name) for one in found] for name in ("nodes", "percent", "least"))
    return (
        Surge(min(nodes), min(percents), min(least), tightest),
        Surge(max(nodes), max(percents), max(least), widest),
    )


class Demand(NamedTuple):
    """Demand of a pool: `per_node` for each node and surge node; `nodes` at the target.

    A pool in several subnets, one per zone, is spread evenly over them: `subnets` is their number. `by_default`: its
    size is a default. `prefixed`: addresses of `per_node` that are whole prefixes.
    """

    pool: str
    nodes: int
    surge: Surge
    per_node: int
    subnets: int = 1
    by_default: bool = False
    prefixed: int = 0

    def addresses(self, nodes: int) -> int:
        """Count the addresses of a pool with that many nodes: (nodes + surge) / subnets x per_node.

        https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning: 50 nodes and one for surge
        with 30 pods each need 51 x 31 = 1,581.
        """
        return ceil((nodes + surge_nodes(self.surge, nodes)) / self.subnets) * self.per_node


def addresses_needed(demands: Sequence[Demand]) -> int:
    """Sum the addresses that the pools of a subnet need while the one with the largest surge is upgraded."""
    return sum(demand.addresses(demand.nodes) for demand in upgraded_in_turn(demands))


def upgraded_in_turn(demands: Sequence[Demand]) -> list[Demand]:
    """Keep the surge of one pool only: the upgrade with the most addresses."""
    resting = [demand._replace(surge=Surge()) for demand in demands]
    extra: dict[str, tuple[int, int]] = {}
    for demand, rest in zip(demands, resting, strict=True):
        more = demand.addresses(demand.nodes) - rest.addresses(rest.nodes)
        extra[demand.pool] = extra.get(demand.pool, (0, 0))[0] + more, demand.nodes
    most = max(extra, key=lambda pool: extra[pool], default="")
    return [demand if demand.pool == most else rest for demand, rest in zip(demands, resting, strict=True)]


def arithmetic(demands: Sequence[Demand]) -> str:
    """Format the demand as a sum by pool; with more than four pools, the rest share a last term."""
    ordered = sorted(upgraded_in_turn(demands), key=lambda demand: -demand.addresses(demand.nodes))
    parts = []
    for demand in ordered[:4]:
        surge = surge_nodes(demand.surge, demand.nodes)
        count = f"{demand.nodes:,} by default" if demand.by_default else f"{demand.nodes:,}"
        nodes = f"({count} + {surge:,} surge)" if surge else count
        shared = f" / {demand.subnets} subnets" if demand.subnets > 1 else ""
        times = f" x {demand.per_node}" if demand.per_node > 1 else ""
        parts.append(f"{demand.pool} {nodes}{shared}{times}")
    rest = ordered[4:]
    if rest:
        parts.append(f"{len(rest)} more pools {sum(one.addresses(one.nodes) for one in rest):,}")
    uneven = any((one.nodes + surge_nodes(one.surge, one.nodes)) % one.subnets for one in ordered)
    rounded = ", nodes per subnet rounded up" if uneven else ""
    return " + ".join(parts) + f" = {addresses_needed(demands):,}{rounded}"


def full_at(demands: Sequence[Demand], usable: int) -> int:
    """Count the nodes at which the subnet is full, with pools in proportion."""
    sizes = tuple(demand.nodes for demand in demands)
    growth = Growth(sizes, (True,) * len(sizes))

    def fits(share: list[int]) -> bool:
        return addresses_needed([one._replace(nodes=size) for one, size in zip(demands, share, strict=True)]) <= usable

    return largest(fits, growth.sizes, sum(sizes))


def _proportional(weights: Sequence[int], amount: int) -> list[int]:
    """Divide an amount into integer shares by D'Hondt's method: no share shrinks as the amount grows.

    Pools of equal weight are counted together, as a cluster of thousands has few sizes.
    """
    whole, pools = sum(weights), grouped(range(len(weights)), lambda i: weights[i])
    shares = {weight: amount * weight // whole for weight in pools}
    rest = amount - sum(shares[weight] * len(own) for weight, own in pools.items())
    claims = [(-weight / (share + 1), weight) for weight, share in shares.items()]
    heapify(claims)
    while rest:
        best, level = claims[0][0], []
        while claims and claims[0][0] == best:
            level.append(heappop(claims)[1])
        takers = [i for weight in level for i in pools[weight]]
        if len(takers) > rest:
            more = set(sorted(takers)[:rest])
            return [shares[weight] + (i in more) for i, weight in enumerate(weights)]
        rest -= len(takers)
        for weight in level:
            shares[weight] += 1
            heappush(claims, (-weight / (shares[weight] + 1), weight))
    return [shares[weight] for weight in weights]


class Growth(Struct, frozen=True, eq=False):
    """How pools share the nodes: maxima (None if unknown), growing pools, minima, pools that take the excess."""

    maxima: tuple[int | None, ...]
    growable: tuple[bool, ...]
    minima: tuple[int, ...] = ()
    taking: tuple[bool, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the shares are known; a single pool has all nodes."""
        return None not in self.maxima or len(self.maxima) == 1

    def sizes(self, nodes: int) -> list[int]:
        """List the nodes of each pool for `nodes` in the cluster, with all maxima known."""
        return _spread(self, nodes)

    def filled(self, nodes: int, order: Sequence[int]) -> list[int]:
        """List extreme pool sizes: minima first, then fill one pool after the other."""
        lowest = self.minima or (0,) * len(self.maxima)
        result = [
            high if high is not None and not grows else low if high is None else min(low, high)
            for low, high, grows in zip(lowest, self.maxima, self.growable, strict=True)
        ]
        rest = nodes - sum(result)
        if rest < 0:
            return _proportional(result, nodes)
        for i in order:
            most = self.maxima[i]
            more = rest if most is None else min(rest, most - result[i])
            result[i] += more
            rest -= more
        return result

    def grown(self, nodes: int, order: Sequence[int]) -> list[int]:
        """List sizes at a target: known maxima, and the rest in the first unknown pool of `order`."""
        result = [size or 0 for size in self.maxima]
        rest = nodes - sum(result)
        first = next((i for i in order if self.maxima[i] is None), None)
        if first is None or rest < 0:
            able = (grows and size is not None for size, grows in zip(self.maxima, self.growable, strict=True))
            return replace(self, maxima=tuple(result), growable=tuple(able)).sizes(nodes)
        result[first] += rest
        return result


@lru_cache(maxsize=256)
def _spread(growth: Growth, target: int) -> list[int]:
    """Divide the nodes of a target among the pools; no pool shrinks as the target grows.

    Above the sum of the maxima, the pools that are `taking` more share the excess in proportion to their maxima; if
    none is, growable pools; if none can grow, all. Below it growable pools have their minima and a share of the rest,
    in proportion to what they can grow by; fixed pools keep their size. Below the sum of the minima all shrink in
    proportion. Every wall of a cluster asks for the same sizes; of thousands of pools each takes 100 kB.
    """
    maxima = [size or 0 for size in growth.maxima]
    total = sum(maxima)
    if target == total or not maxima:
        return maxima
    flags = growth.growable if any(growth.growable) else [True] * len(maxima)
    if target > total:
        flags = growth.taking if any(growth.taking) else flags
        weights = [size if grows else 0 for size, grows in zip(maxima, flags, strict=True)]
        return _added(maxima, weights if sum(weights) else list(map(int, flags)), target - total)
    lowest = [min(low, high) for low, high in zip(growth.minima or [0] * len(maxima), maxima, strict=True)]
    base = [low if grows else high for low, high, grows in zip(lowest, maxima, flags, strict=True)]
    if target < sum(base):
        return _proportional(base, target)
    return _added(base, [high - low for low, high in zip(base, maxima, strict=True)], target - sum(base))


def _added(base: Sequence[int], weights: Sequence[int], amount: int) -> list[int]:
    return [size + share for size, share in zip(base, _proportional(weights, amount), strict=True)]


def largest(fits: Callable[[list[int]], bool], path: Callable[[int], list[int]], ceiling: int = CEILING) -> int:
    """Find the most nodes up to `ceiling` at which the pools fit; `path` gives monotonic sizes.

    If pools fit with some number of nodes, they must fit with fewer.
    """
    low, high = 0, 1
    while high < ceiling and fits(path(high)):
        low, high = high, high * 2
    high = min(high, ceiling)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(path(middle)) else (low, middle - 1)
    return low


class Trial(Struct, frozen=True):
    """Tests whether pool sizes fit at the lowest and at the highest demand; None without a bound.

    `weights` orders the pools by their demand per node.
    """

    least: Callable[[list[int]], bool]
    most: Callable[[list[int]], bool] | None
    weights: Sequence[int]

    @property
    def kindest(self) -> list[int]:
        """Order of pools that reaches the limit last."""
        return sorted(range(len(self.weights)), key=lambda i: self.weights[i])

    @property
    def worst(self) -> list[int]:
        """Order of pools that reaches the limit first."""
        return self.kindest[::-1]


def reach(trial: Trial, growth: Growth) -> Amount | None:
    """Return bounds on the nodes of a cluster at a limit; None if it is never reached."""
    if growth.known:
        high = largest(trial.least, growth.sizes)
        low = high if trial.most is trial.least else 0 if trial.most is None else largest(trial.most, growth.sizes)
    else:
        best, worst = trial.kindest, trial.worst
        high = largest(trial.least, lambda nodes: growth.filled(nodes, best))
        low = 0 if trial.most is None else largest(trial.most, lambda nodes: growth.filled(nodes, worst))
    if low == CEILING:
        return None
    return Amount(low, None if high == CEILING else high)


def short(trial: Trial, growth: Growth, target: Amount) -> bool | None:
    """Whether the limit is reached before the target; None if unknown."""
    sizes = growth.sizes if growth.known else lambda nodes: growth.grown(nodes, trial.kindest)
    if not trial.least(sizes(target.low)):
        return True
    sizes = growth.sizes if growth.known else lambda nodes: growth.grown(nodes, trial.worst)
    if target.high is not None and trial.most is not None and trial.most(sizes(target.high)):
        return False
    return None
