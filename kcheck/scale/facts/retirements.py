"""Words of what clouds retire: what a setting names, and how far away its end is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import retirements
from kcheck.config.today import days_since
from kcheck.scale.facts import control_plane
from kcheck.scale.facts.basics import computed
from kcheck.text.values import Known, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from kcheck.config.numbers.retirements import Retirement
    from kcheck.model import Cluster, NodePool
    from kcheck.scale.world import World


class Ending(NamedTuple):
    """Something of the code that is retired: what the code calls it, and what it is.

    `days_ended` counts the days since it ended, the day itself too; before that it is zero or less. It is a warning for
    `notice` days before.
    """

    name: str
    what: str
    ends: str
    days_ended: int
    notice: int
    successor: str | None
    effect: str | None


def of_cluster(cluster: Cluster, kind: str, setting: Value[str], world: World) -> Value[Ending]:
    """What a setting of a cluster names that is retired; null where that is nothing."""
    return _ending(cluster, cluster, kind, setting, world)


def of_pool(pool: NodePool, kind: str, setting: Value[str], world: World) -> Value[Ending]:
    """As `of_cluster`, of a setting of a pool."""
    cluster = known(pool.cluster)
    return computed(pool, None) if cluster is None else _ending(pool, cluster, kind, setting, world)


def machine(pool: NodePool, world: World) -> Value[Ending]:
    """The machine type of a pool that is retired last; null where one of them is not."""
    cluster, types = known(pool.cluster), pool.machine.instance_types
    if cluster is None or isinstance(types, Unset):
        return computed(pool, None)
    if isinstance(types, Unknown):
        return Unknown(types.reason, types.origin)
    endings = [_ending(pool, cluster, "machine", Known(name, types.origin), world) for name in types.value]
    found = [ending.value for ending in endings if isinstance(ending, Known)]
    whole = bool(found) and len(found) == len(endings)
    return computed(pool, min(found, key=lambda ending: ending.days_ended) if whole else None)


def _ending(thing: NodePool | Cluster, cluster: Cluster, kind: str, name: Value[str], world: World) -> Value[Ending]:
    """What a value names that is retired on this cluster."""
    if not isinstance(name, Known):
        return Unset(name.origin) if isinstance(name, Unset) else Unknown(name.reason, name.origin)
    for found in retirements.find(cluster.cloud, kind, name.value):
        holds = _holds(found, cluster, world)
        if isinstance(holds, Unknown):
            return holds
        if holds:
            notice = found.notice or world.numbers.limits("any")["retirement.notice"].number
            return Known(
                Ending(
                    name.value, found.what, found.ends.isoformat(), days_since(found.ends),
                    notice=notice, successor=found.successor or None, effect=found.effect or None,
                ),
                name.origin,
            )  # fmt: skip
    return computed(thing, None)


def _holds(found: Retirement, cluster: Cluster, world: World) -> bool | Unknown:
    """Whether something is retired on this cluster: perhaps only up to a version, or with Windows nodes."""
    if found.last_minor is not None:
        minor = control_plane.minor(cluster, world)
        if isinstance(minor, Unknown):
            return minor
        return isinstance(minor, Known) and minor.value <= found.last_minor  # none is written: a new one
    if found.windows is not None:
        windows = control_plane.windows(cluster, world)
        return windows if isinstance(windows, Unknown) else known(windows) is found.windows
    return True
