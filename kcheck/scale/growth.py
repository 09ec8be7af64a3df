"""Growing pools: surge, shares of a target, and largest sizes."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
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
    """Count the surge nodes of an upgrade, rounded up, within bounds.

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
    """Demand of a pool: `per_node` for each node, with surge; `nodes` at the target.

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
        """Count the addresses of a pool: (nodes + surge) / subnets x per_node.

        https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning: 50 nodes and one for surge
        with 30 pods each need 51 x 31 = 1,581.
        """
        return ceil((nodes + surge_nodes(self.surge, nodes)) / self.subnets) * self.per_node


def addresses_needed(demands: Sequence[Demand]) -> int:
    """Sum the addresses that a subnet's pools need during the largest surge."""
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
    """Format the demand as a sum by pool, with at most five terms."""
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

    def fits(share: list[int]) -> bool:
        return addresses_needed([one._replace(nodes=size) for one, size in zip(demands, share, strict=True)]) <= usable

    return largest(fits, Growth(sizes, (True,) * len(sizes)).sizes, sum(sizes))


class Leg(Struct, frozen=True, dict=True):
    """Stage of growth: from `start` nodes on, `weights` share what is added."""

    start: int
    base: Sequence[int]
    weights: Sequence[int]

    @cached_property
    def alike(self) -> dict[int, list[int]]:
        """Map each weight to the indexes of its pools."""
        return grouped(range(len(self.weights)), lambda i: self.weights[i])

    def sizes(self, added: int) -> list[int]:
        """Divide added nodes by D'Hondt's method: no share shrinks."""
        whole, halves, rest = sum(self.weights), 2 * added + len(self.weights), -1
        while rest < 0:  # at most twice as many halves as nodes: then no share is too large
            shares = {weight: weight * halves // (2 * whole) for weight in self.alike}
            rest = added - sum(shares[weight] * len(own) for weight, own in self.alike.items())
            halves += 2 * rest
        claims = [(-weight / (share + 1), weight) for weight, share in shares.items()]
        heapify(claims)
        more: set[int] = set()
        while rest:
            best, level = claims[0][0], []
            while claims and claims[0][0] == best:
                level.append(heappop(claims)[1])
            takers = [i for weight in level for i in self.alike[weight]]
            if len(takers) > rest:
                more = set(sorted(takers)[:rest])
                break
            rest -= len(takers)
            for weight in level:
                shares[weight] += 1
                heappush(claims, (-weight / (shares[weight] + 1), weight))
        pairs = enumerate(zip(self.base, self.weights, strict=True))
        return [size + shares[weight] + (i in more) for i, (size, weight) in pairs]

    def until(self, fits: Callable[[list[int]], bool], places: Sequence[int]) -> int:
        """Find the most nodes at which some pools fit, as if alone."""
        own = Leg(0, [self.base[i] for i in places], [self.weights[i] for i in places])
        if not fits([*own.base]):
            return 0
        if not any(own.weights) or (added := largest(fits, own.sizes)) == CEILING:
            return CEILING
        after = own.sizes(added + 1)
        one = next(i for i, size in enumerate(own.sizes(added)) if size != after[i])
        turn, weight = after[one] - own.base[one], own.weights[one]
        turns = self.start
        for other, pools in self.alike.items():
            ties = 0 if other * turn % weight else bisect_left(pools, places[one])
            turns += len(pools) * ((other * turn - 1) // weight) + ties if other else 0
        return min(turns, CEILING)


class Growth(Struct, frozen=True, eq=False, dict=True):
    """How pools share the nodes: maxima, growing pools, minima, excess."""

    maxima: tuple[int | None, ...]
    growable: tuple[bool, ...]
    minima: tuple[int, ...] = ()
    taking: tuple[bool, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the shares are known; a single pool has all nodes."""
        return not self.unknown or len(self.maxima) == 1

    @cached_property
    def unknown(self) -> list[int]:
        """Pools whose maxima are unknown."""
        return [i for i, size in enumerate(self.maxima) if size is None]

    @cached_property
    def lowest(self) -> list[int]:
        """Fewest nodes of each pool: a minimum, or the size of a fixed pool."""
        return [
            high if high is not None and not grows else low if high is None else min(low, high)
            for low, high, grows in zip(self.minima or (0,) * len(self.maxima), self.maxima, self.growable, strict=True)
        ]

    @cached_property
    def legs(self) -> tuple[Leg, Leg, Leg]:
        """Stages below the fewest nodes, from there to the maxima, and beyond.

        Beyond, the pools that are `taking` share in proportion to their maxima; if none is, growable pools; if none can
        grow, all. Below, growable pools have their minima and share by what they can grow by, and fixed ones keep their
        size. Below the minima all shrink in proportion.
        """
        maxima = [size or 0 for size in self.maxima]
        flags = self.growable if any(self.growable) else (True,) * len(maxima)
        base = Growth(tuple(maxima), flags, self.minima).lowest
        takes = self.taking if any(self.taking) else flags
        weights = [size if one else 0 for size, one in zip(maxima, takes, strict=True)]
        middle = Leg(sum(base), base, [high - low for low, high in zip(base, maxima, strict=True)])
        beyond = Leg(sum(maxima), maxima, weights if sum(weights) else list(map(int, takes)))
        return Leg(0, [0] * len(maxima), base), middle, beyond

    def sizes(self, nodes: int) -> list[int]:
        """List the nodes of each pool for `nodes` in the cluster."""
        return _sizes(self, nodes)

    def filled(self, nodes: int, order: Sequence[int]) -> list[int]:
        """List extreme pool sizes: minima first, then fill one pool after the other."""
        result, rest = list(self.lowest), nodes - sum(self.lowest)
        if rest < 0:
            return Leg(0, [0] * len(result), result).sizes(nodes)
        for i in order:
            most = self.maxima[i]
            more = rest if most is None else min(rest, most - result[i])
            result[i] += more
            rest -= more
        return result

    def grown(self, nodes: int, first: int) -> list[int]:
        """List sizes at a target: known maxima, and the rest in one pool."""
        result = [size or 0 for size in self.maxima]
        rest = nodes - sum(result)
        if rest < 0:
            able = (grows and size is not None for size, grows in zip(self.maxima, self.growable, strict=True))
            return replace(self, maxima=tuple(result), growable=tuple(able)).sizes(nodes)
        result[first] += rest
        return result

    def until(self, fits: Callable[[list[int]], bool], places: Sequence[int], order: Sequence[int], last: bool) -> int:
        """Find the most nodes at which some pools fit, unknown ones in order."""
        if self.known:
            leg = next((leg for leg in self.legs[::-1] if fits([leg.base[i] for i in places])), self.legs[0])
            return leg.until(fits, places)
        parts = [(self.maxima[i], self.growable[i], self.lowest[i]) for i in places]
        own = Growth(*zip(*parts, strict=True))
        found = largest(fits, lambda nodes: own.filled(nodes, order))
        if found < sum(own.lowest):
            return Leg(0, [0] * len(self.maxima), self.lowest).until(fits, places)
        if found == CEILING or (last and len(own.unknown) < len(self.unknown)):
            return CEILING
        others = self.legs[2].start - own.legs[2].start if last else sum(self.lowest) - sum(own.lowest)
        return min(CEILING, found + others)


@lru_cache(maxsize=256)
def _sizes(growth: Growth, nodes: int) -> list[int]:
    """Divide nodes among pools, cached for all walls."""
    lower, upper, beyond = growth.legs
    leg = beyond if nodes >= beyond.start else lower if nodes < upper.start else upper
    return leg.sizes(nodes - leg.start) if growth.maxima else []


def largest(fits: Callable[[list[int]], bool], path: Callable[[int], list[int]], ceiling: int = CEILING) -> int:
    """Find the most nodes up to `ceiling` at which the pools fit."""
    low, high = 0, 1
    while high < ceiling and fits(path(high)):
        low, high = high, high * 2
    high = min(high, ceiling)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(path(middle)) else (low, middle - 1)
    return low


class Trial(Struct, frozen=True):
    """Tests whether pools fit at the lowest and at the highest demand.

    The sizes are those of the pools at some `places`, all others take nothing; `weights` are their demands per node.
    """

    least: Callable[[list[int]], bool]
    most: Callable[[list[int]], bool] | None
    weights: Sequence[int]
    places: Sequence[int]

    @property
    def kindest(self) -> list[int]:
        """Indexes of pools, the smallest demand per node first."""
        return sorted(range(len(self.weights)), key=lambda i: self.weights[i])

    def fits(self, growth: Growth, nodes: int, test: Callable[[list[int]], bool], sign: int) -> bool:
        """Whether a target fits with the rest in the unknown pool."""
        if growth.known:
            sizes = growth.sizes(nodes)
        else:
            weights = dict(zip(self.places, self.weights, strict=True))
            sizes = growth.grown(nodes, min(growth.unknown[::sign], key=lambda i: sign * weights.get(i, 0)))
        return test([sizes[i] for i in self.places])


def reach(trial: Trial, growth: Growth) -> Amount | None:
    """Return bounds on the nodes of a cluster at a limit; None if it is never reached."""
    best = trial.kindest
    high = growth.until(trial.least, trial.places, best, last=True)
    if trial.most is None:
        low = 0
    elif growth.known and trial.most is trial.least:
        low = high
    else:
        low = growth.until(trial.most, trial.places, best[::-1], last=False)
    return None if low == CEILING else Amount(low, None if high == CEILING else high)


def short(trial: Trial, growth: Growth, target: Amount) -> bool | None:
    """Whether the limit is reached before the target; None if unknown."""
    if not trial.fits(growth, target.low, trial.least, 1):
        return True
    if target.high is not None and trial.most is not None and trial.fits(growth, target.high, trial.most, -1):
        return False
    return None
