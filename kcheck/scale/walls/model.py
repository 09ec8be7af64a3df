"""A wall: the limit, the number of nodes at which the cluster hits it, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.model import Thing
from kcheck.scale.growth import Trial, reach, short, surge_bounds, surge_nodes
from kcheck.text.interval import Interval
from kcheck.text.units import listed
from kcheck.text.values import Known, Unknown, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.model import Cluster, NodePool
    from kcheck.scale.world import World
    from kcheck.text.values import Value

    Sizes: TypeAlias = Mapping[str, int]
    """Nodes of each pool of a cluster, by its id."""

    Fits: TypeAlias = Callable[[Sizes], bool]
    Takes: TypeAlias = Callable[[Sizes], int]
    """How much of a limit pools of some sizes take, in its unit."""


CAPS = ("autoscaling", "quota")
"""Mechanisms of the walls that lower the target of their cluster."""


class Wall(Thing, frozen=True):
    """A wall of a cluster. `nodes` is its size when it hits the limit, None if unknown.

    `short` says whether that is before its target. `arithmetic` says how it is worked out, or that it cannot be, and
    then `why`. `cause` is the value that makes it, with its origin; `pools` are those concerned. `kind` is hard, quota
    or recommended; `limit` is the key of the number in the profile, empty where none makes it, `needed` how large that
    must be for the target, None where that is not known.
    """

    cluster: Cluster
    mechanism: str
    scope: str
    nodes: Interval | None
    short: bool | None
    arithmetic: str
    cause: Value[object]
    kind: str
    source: str
    pools: tuple[NodePool, ...] = ()
    limit: str = ""
    needed: int | None = None
    why: str = ""

    @property
    def what(self) -> str:
        """What people call it: pod range of pool gpu."""
        return f"{profiles.mechanisms()[self.mechanism]['what']} of {self.scope}"

    @property
    def move(self) -> str:
        """How to move it."""
        return profiles.move(self.mechanism, self.cluster.cloud)

    @property
    def number(self) -> int | None:
        """The nodes at the wall as one number: exact, else the lower bound; None where that is not known."""
        if self.nodes is None or (self.nodes.exact is None and not self.nodes.low):
            return None
        return self.nodes.low


class WallFinder:
    """Finds the walls of a cluster as its pools grow.

    `gap` says why pools may be missing, so that walls that depend on them are unknown.
    """

    def __init__(self, cluster: Cluster, world: World) -> None:
        self.cluster = cluster
        self.world = world
        self.pools = world.pools.of_cluster(cluster)
        self._names = [pool.id for pool in self.pools]
        self.growth = world.sizes.growth(cluster)
        every = world.pools.all_of_cluster(cluster)
        self.gap = every.reason if isinstance(every, Unknown) else ""
        self.limits = world.numbers.limits(cluster.cloud)

    def aim(self, mechanism: str) -> Interval:
        """The target to compare a wall with: the wanted one for caps, the capped one for others."""
        sizes = self.world.sizes
        return (sizes.wanted_interval if mechanism in CAPS else sizes.target_interval)(self.cluster)

    def sizes(self, nodes: int) -> dict[str, int]:
        """Nodes of each pool when the cluster has `nodes`; all maxima are known."""
        return self._named(self.growth.sizes(nodes))

    def runs_today(self, sizes: Sizes) -> bool:
        """Whether the cluster has no more than what runs today: others that share a limit have what they run, too."""
        return all(sizes[pool.id] <= number(pool.size.standing, 0) for pool in self.pools)

    def _named(self, sizes: list[int]) -> dict[str, int]:
        return dict(zip(self._names, sizes, strict=True))

    def trial(self, least: Fits, most: Fits | None, weights: Mapping[str, int]) -> Trial:
        """A trial over all possible pool sizes; `weights` are by pool id."""
        first = lambda sizes: least(self._named(sizes))  # noqa: E731
        second = first if most is least else None if most is None else lambda sizes: most(self._named(sizes))
        return Trial(first, second, [weights.get(pool.id, 0) for pool in self.pools])

    def upgraded(self, most: int, others: int = 0, others_today: int = 0) -> Trial:
        """Whether so many nodes are enough while one pool is upgraded, beside those of other clusters."""

        def fits(side: int) -> Fits:
            surges = {pool.id: surge_bounds(pool.upgrade.surge)[side] for pool in self.pools}

            def enough(sizes: Sizes) -> bool:
                surge = max(surge_nodes(surges[name], size) for name, size in sizes.items())
                return sum(sizes.values()) + surge + (others_today if self.runs_today(sizes) else others) <= most

            return enough

        exact = all(isinstance(pool.upgrade.surge, Known) for pool in self.pools)
        least = fits(0)
        return self.trial(least, least if exact else fits(1), {pool.id: 1 for pool in self.pools})

    def wall(
        self,
        mechanism: str,
        scope: str,
        nodes: Interval | None,
        arithmetic: str,
        cause: Value[object],
        entry: ProfileValue | tuple[str, str],
        key: str = "",
        trial: Trial | None = None,
        pools: Sequence[NodePool] | None = None,
        needed: int | None = None,
    ) -> Wall:
        """A wall of this cluster; `entry` has its kind and source, `key` distinguishes walls of a scope.

        `pools` are those it is about, if not all; `needed` is what the target takes of the limit. Whether the target is
        met is asked of the `trial`, where the wall depends on how the pools grow.
        """
        aim = self.aim(mechanism)
        before = None if nodes is None else short(trial, self.growth, aim) if trial else nodes.below(aim)
        kind, source, limit = (*entry, "") if isinstance(entry, tuple) else (entry.kind, entry.sources[0], entry.key)
        place = cause.origin.written if cause.origin and cause.origin.spans else self.cluster.place
        concerned = tuple(self.pools if pools is None else pools)
        identity = f"{self.cluster.id}/{mechanism}/{key or scope}"
        return Wall(
            identity, place, cluster=self.cluster, mechanism=mechanism, scope=scope, nodes=nodes, short=before,
            arithmetic=arithmetic, cause=cause, kind=kind, source=source, pools=concerned, limit=limit, needed=needed,
        )  # fmt: skip

    def unknown(
        self,
        mechanism: str,
        scope: str,
        why: str,
        cause: Value[object],
        entry: ProfileValue | tuple[str, str],
        key: str = "",
        pools: Sequence[NodePool] | None = None,
    ) -> Wall:
        """A wall at a number of nodes that cannot be worked out."""
        said = f"not known: {why}"
        wall = self.wall(mechanism, scope, nodes=None, arithmetic=said, cause=cause, entry=entry, key=key, pools=pools)
        return replace(wall, why=why)

    def grown(
        self,
        mechanism: str,
        scope: str,
        takes: Takes,
        room: int,
        weights: Mapping[str, int],
        arithmetic: str,
        cause: Value[object],
        entry: ProfileValue | tuple[str, str],
        key: str = "",
        pools: Sequence[NodePool] | None = None,
    ) -> Iterator[Wall]:
        """The wall where growing pools exceed the room; none if they never do."""
        fits: Fits = lambda sizes: takes(sizes) <= room  # noqa: E731
        trial = self.trial(fits, fits, weights)
        nodes, aim = reach(trial, self.growth), self.aim(mechanism).exact
        needed = takes(self.sizes(aim)) if aim is not None and self.growth.known else None
        if nodes is not None:
            yield self.wall(
                mechanism, scope, nodes=nodes, arithmetic=arithmetic, cause=cause, entry=entry, key=key, trial=trial,
                pools=pools, needed=needed,
            )  # fmt: skip

    def fixed(self, mechanism: str, key: str, cause: Value[object], arithmetic: str) -> Wall:
        """A wall at a documented number of nodes of the whole cluster."""
        entry = self.limits[key]
        nodes = entry.number
        target = self.world.sizes.target_interval(self.cluster).exact
        return self.wall(mechanism, "the cluster", Interval(nodes, nodes), arithmetic, cause, entry, needed=target)


def scope_of(pools: list[NodePool]) -> str:
    """What people call some pools of a cluster."""
    names = list(dict.fromkeys(pool.display_name for pool in pools))
    if len(names) == 1:
        return f"pool {names[0]}"
    return f"pools {listed(names)}" if len(names) < 4 else f"{len(names)} pools"


def numbers(nodes: Interval | None, finder: WallFinder) -> Sizes | None:
    """The sizes of the pools at a wall that is known exactly."""
    return None if nodes is None or nodes.exact is None or not finder.growth.known else finder.sizes(nodes.exact)
