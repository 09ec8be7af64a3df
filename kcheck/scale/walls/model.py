"""Model of a wall: the limit, its number of nodes, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Annotated, TypeAlias

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.model import Cluster, NodePool, Thing
from kcheck.scale.growth import Trial, reach, short, surge_bounds, surge_nodes
from kcheck.scale.world import World
from kcheck.text.amount import Amount
from kcheck.text.units import listed
from kcheck.text.values import Known, Unknown, Value, because, known, number

Fits: TypeAlias = Callable[["Sizes"], bool]
Takes: TypeAlias = Callable[["Sizes"], int]
"""Amount of a limit that pools of some sizes take, in its unit."""

CAPS = ("autoscaling", "quota")
"""Mechanisms of the walls that lower the target of their cluster."""


class Sizes(Mapping[str, int]):
    """Number of nodes per pool id; a view, as a wall reads only a few of many pools."""

    def __init__(self, places: Mapping[str, int], nodes: Sequence[int]) -> None:
        self._places = places
        self._nodes = nodes

    def __getitem__(self, pool: str) -> int:
        return self._nodes[self._places[pool]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def total(self) -> int:
        """Number of nodes in all pools."""
        return sum(self._nodes)


class Wall(Thing, frozen=True):
    """Wall of a cluster: a limit, and the size at which it is reached.

    `short` says whether that is before its target. `arithmetic` explains the number, or says why it is unknown;
    `takes` counts how much of the limit pools use. `cause` is the value that sets the limit, with its origin.
    `pools` are those concerned. `limit` is the key of the number in the profile,
    empty without one; `needed` the number that the target needs, None if unknown.
    """

    cluster: Cluster
    mechanism: Annotated[str, "what ends the growth: subnet, pod-range, cluster-limit, quota ..."]
    scope: Annotated[str, "the cluster, pool, subnet, range or quota that is full"]
    nodes: Amount
    short: bool | None
    arithmetic: str
    cause: Value[object]
    kind: Annotated[str, "hard, quota or recommended"]
    source: str
    pools: tuple[NodePool, ...] = ()
    limit: str = ""
    needed: int | None = None
    takes: Takes | None = None

    @property
    def what(self) -> str:
        """Common name of the wall: pod range of pool gpu."""
        return f"{profiles.mechanisms()[self.mechanism]['what']} of {self.scope}"

    @property
    def move(self) -> str:
        """Instruction to move the wall."""
        single = self.cluster.cni is not None and known(self.cluster.cni.prefix_delegation)
        with_pods = not single and any(known(pool.addresses.pods_take_addresses) for pool in self.pools)
        is_plain = self.mechanism == "subnet" and not with_pods
        return profiles.move(self.mechanism, "any" if is_plain else self.cluster.cloud)

    @property
    def number(self) -> int | None:
        """Number of nodes at the wall: exact, else the lower bound; None if unknown."""
        return None if self.nodes.exact is None and not self.nodes.low else self.nodes.low


class WallFinder:
    """Finds the walls of a cluster; `gap` says why pools may be missing."""

    def __init__(self, cluster: Cluster, world: World) -> None:
        self.cluster = cluster
        self.world = world
        self.pools = world.pools.of_cluster(cluster)
        self._places = {pool.id: i for i, pool in enumerate(self.pools)}
        self.growth = world.sizes.growth(cluster)
        every = world.pools.all_of_cluster(cluster)
        self.gap = every if isinstance(every, Unknown) else None
        self.limits = world.numbers.limits(cluster.cloud)

    def aim(self, mechanism: str) -> Amount:
        """Return the target for a wall: wanted for caps, capped for others."""
        sizes = self.world.sizes
        return (sizes.wanted_amount if mechanism in CAPS else sizes.target_amount)(self.cluster)

    def sizes(self, nodes: int) -> Sizes:
        """Return the size of each pool for `nodes` in the cluster; all maxima are known."""
        return Sizes(self._places, self.growth.sizes(nodes))

    def share(self, sizes: Sizes) -> Fraction:
        """Return the cluster's growth from today to its target, from 0 to 1."""
        start, aim, now = sum(number(p.size.standing, 0) for p in self.pools), self.aim("").low, sizes.total
        return min(Fraction(1), Fraction(max(0, now - start), max(1, aim - start)))

    def trial(self, least: Fits, most: Fits | None, weights: Mapping[str, int]) -> Trial:
        """Build a trial over pools with a weight, or over all."""
        alone = all(weights.values()) and weights.keys() <= self._places.keys()
        names = sorted(weights, key=self._places.__getitem__) if alone else list(self._places)
        at = {name: i for i, name in enumerate(names)}
        first = lambda sizes: least(Sizes(at, sizes))  # noqa: E731
        second = first if most is least else None if most is None else lambda sizes: most(Sizes(at, sizes))
        return Trial(first, second, [weights.get(name, 0) for name in names], [self._places[name] for name in names])

    def upgraded(self, most: int, others: int = 0, others_today: int = 0) -> Trial:
        """Build the trial for at most `most` nodes during an upgrade of a pool."""

        def fits(side: int) -> Fits:
            surges = {pool.id: surge_bounds(pool.upgrade.surge)[side] for pool in self.pools}

            def enough(sizes: Sizes) -> bool:
                surge = max(surge_nodes(surges[name], size) for name, size in sizes.items())
                more = grown(others_today, others, self.share(sizes)) if others > others_today else others_today
                return sizes.total + surge + more <= most

            return enough

        exact = all(isinstance(pool.upgrade.surge, Known) for pool in self.pools)
        least = fits(0)
        return self.trial(least, least if exact else fits(1), {pool.id: 1 for pool in self.pools})

    def limit(
        self, mechanism: str, scope: str, cause: Value[object], entry: ProfileValue | tuple[str, str], key: str = "",
        pools: Sequence[NodePool] | None = None,
    ) -> Wall:  # fmt: skip
        """Make a wall without a number of nodes, its id ending with `key`."""
        kind, source, limit = (*entry, "") if isinstance(entry, tuple) else (entry.kind, entry.sources[0], entry.key)
        place = cause.origin.written if cause.origin and cause.origin.spans else self.cluster.place
        return Wall(
            f"{self.cluster.id}/{mechanism}/{key or scope}", place, cluster=self.cluster, mechanism=mechanism,
            scope=scope, nodes=Amount(), short=None, arithmetic="", cause=cause, kind=kind, source=source,
            pools=tuple(self.pools if pools is None else pools), limit=limit,
        )  # fmt: skip

    def at(
        self, wall: Wall, nodes: Amount, arithmetic: str, trial: Trial | None = None, needed: int | None = None
    ) -> Wall:
        """Set the nodes at a wall and whether the target fits."""
        aim = self.aim(wall.mechanism)
        before = short(trial, self.growth, aim) if trial else nodes.below(aim)
        return replace(wall, nodes=nodes, short=before, arithmetic=arithmetic, needed=needed)

    def grown(
        self, wall: Wall, takes: Takes, room: int, weights: Mapping[str, int], arithmetic: str, standing: int = 0
    ) -> Iterator[Wall]:
        """Yield a wall if growing pools exceed the room beside standing nodes."""
        fits: Fits = lambda sizes: takes(sizes) <= room or bool(standing and sizes.total <= standing)  # noqa: E731
        weights = {**dict.fromkeys(self._places, 0), **weights} if standing else weights
        yield from self.met(wall, self.trial(fits, fits, weights), takes, arithmetic)

    def met(self, wall: Wall, trial: Trial, takes: Takes, arithmetic: str, why: str = "") -> Iterator[Wall]:
        """Yield a wall if growing pools reach it; `why` explains its bounds."""
        nodes = reach(trial, self.growth)
        if nodes is not None:
            if why and nodes.exact is None:
                nodes, arithmetic = replace(nodes, why=Unknown(why)), f"{arithmetic}: {why}"
            yield replace(self.at(wall, nodes, arithmetic, trial, self.needed(wall, takes)), takes=takes)

    def of_each(self, each: Mapping[str, int]) -> str:
        """Format how much of a limit one node of each pool uses."""
        return " and ".join(
            f"{each[one.id]:,} per node of {one.display_name}" for one in self.pools[:4] if one.id in each
        )

    def needed(self, wall: Wall, takes: Takes) -> int | None:
        """Count the use of a limit at the target; None if unknown."""
        aim = self.aim(wall.mechanism).exact
        return takes(self.sizes(aim)) if aim is not None and self.growth.known else None


def grown(today: int, target: int, share: Fraction) -> int:
    """Count another cluster's nodes at a share of its growth."""
    return today + ceil(max(0, target - today) * share)


def unknown(wall: Wall, why: Value[object] | str) -> Wall:
    """Return a wall without a number of nodes, and why."""
    missing = Unknown(why) if isinstance(why, str) else because(why)
    return replace(wall, nodes=Amount(why=missing), arithmetic=f"not known: {missing.reason}")


def scope_of(pools: list[NodePool]) -> str:
    """Return the common name of some pools of a cluster."""
    names = list(dict.fromkeys(pool.display_name for pool in pools))
    if len(names) == 1:
        return f"pool {names[0]}"
    return f"pools {listed(names)}" if len(names) < 4 else f"{len(names)} pools"
