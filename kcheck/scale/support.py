"""How long versions, images and machine types are supported, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import retirements
from kcheck.config.numbers.retirements import versions
from kcheck.config.today import days_since, has_come
from kcheck.inventory.clouds.registry import cloud
from kcheck.scale import control_plane
from kcheck.scale.basics import computed
from kcheck.text.values import Known, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from kcheck.config.numbers.retirements import Retirement
    from kcheck.model import Cluster, NodePool
    from kcheck.scale.world import World


class Support(NamedTuple):
    """The support of a version by the plan of the cluster.

    `days_ended` counts the days since it ended, the day itself too; `days_extended` those since the end of standard
    support, with a plan that goes on; None without one. Without it, `longer` is the day until which it would go on;
    None if that day has passed.
    """

    ends: str
    days_ended: int
    standard_ends: str
    days_extended: int | None
    longer: str | None
    effect: str
    newest: str


def support(cluster: Cluster, world: World) -> Value[Support]:
    """The support of a cluster's version; null where none is written, or the version is newer than the table."""
    known_versions, minor = versions(cluster.cloud), control_plane.minor(cluster, world)
    if known_versions is None or not isinstance(minor, Known):
        return Unknown(minor.reason, minor.origin) if isinstance(minor, Unknown) else computed(cluster, None)
    window = known_versions.window(minor.value)
    if window is None:
        return computed(cluster, None)
    plan = cluster.support_plan
    if isinstance(plan, Unknown):
        return Unknown(plan.reason, plan.origin)
    going_on = cloud(cluster.cloud).extended_plan
    extended = (
        window.extended if going_on and isinstance(plan, Known) and plan.value.upper() == going_on.upper() else None
    )
    ends = extended or window.ends
    longer = window.extended if extended is None and window.extended and not has_come(window.extended) else None
    return Known(
        Support(
            ends.isoformat(),
            days_since(ends),
            window.ends.isoformat(),
            days_since(window.ends) if extended else None,
            longer=longer.isoformat() if longer else None,
            effect=known_versions.effect,
            newest=f"1.{known_versions.newest(has_come)}",
        ),
        minor.origin,
    )


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
