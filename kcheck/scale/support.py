"""Support of versions, images and machine types: end dates and costs."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from kcheck.config.config import days_since, has_come
from kcheck.config.numbers import retirements
from kcheck.config.numbers.retirements import Retirement, versions
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NOTHING, Cluster, NodePool
from kcheck.scale import control_plane
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.text.need import need, or_unknown
from kcheck.text.values import Known, Unknown, Unset, Value, known, mapped


class Support(NamedTuple):
    """Support of a version, for the cluster's support plan."""

    ends: Annotated[str, "day on which its support ends by the plan of the cluster, as 2027-03-31 (or before)"]
    days_ended: Annotated[int, "days since then, that day too; before it, zero or less", "days"]
    standard_ends: Annotated[str, "day on which standard support ends"]
    days_extended: Annotated[int | None, "days since then, that day too; null without a plan that goes on", "days"]
    longer: Annotated[str | None, "day until which a longer plan would go on; null with one, or if past"]
    effect: Annotated[str, "what the cloud does with clusters of a version that has ended"]
    newest: Annotated[str, "newest version of the cloud"]


def support(cluster: Cluster, world: World) -> Value[Support]:
    """Return the support of a cluster's version; null if unknown."""
    table, minor = versions(cluster.cloud), control_plane.minor(cluster, world)
    if isinstance(minor, Unset):
        return computed(cluster, None)
    number = need(minor)
    window = table.window(number) if table is not None else None
    if table is None or window is None:
        return computed(cluster, None)
    plan = "" if isinstance(cluster.support_plan, Unset) else need(cluster.support_plan)
    going_on = cloud(cluster.cloud).extended_plan
    extended = window.extended if going_on and plan.upper() == going_on.upper() else None
    ends = extended or window.ends
    longer = window.extended if extended is None and window.extended and not has_come(window.extended) else None
    found = Support(
        ends.isoformat() + (" or before" if number < min(table.minors) else ""), days_since(ends),
        window.ends.isoformat(), days_since(window.ends) if extended else None,
        longer=longer.isoformat() if longer else None, effect=table.effect, newest=f"1.{table.newest(has_come)}",
    )  # fmt: skip
    return mapped(minor, lambda _: found)


def oldest(cluster: Cluster, _world: World) -> Value[int]:
    """Return the oldest minor version that the cloud supports; null without a table."""
    table = versions(cluster.cloud)
    minors = table.minors.items() if table is not None else ()
    return computed(cluster, min((n for n, of in minors if not has_come(of.extended or of.ends)), default=None))


class Ending(NamedTuple):
    """A retired version, image or machine type."""

    name: Annotated[str, "what is retired, as the code calls it"]
    what: Annotated[str, "what it is"]
    ends: Annotated[str, "day from which it is not supported, as 2027-03-31"]
    days_ended: Annotated[int, "days since then, that day too; before it, zero or less", "days"]
    notice: Annotated[int, "days before it for which it is a warning", "days"]
    successor: Annotated[str | None, "what to use instead; null where that depends"]
    effect: Annotated[str | None, "what happens then; null where it only loses support"]


def machine(pool: NodePool, world: World) -> Value[Ending]:
    """Return the latest retirement of a pool's machine types; null if one stays."""
    types = pool.machine.instance_types
    if known(pool.cluster) is None or isinstance(types, Unset):
        return computed(pool, None)
    if isinstance(types, Unknown):
        return Unknown(types.reason, types.origin)
    endings = [retirement(pool, "machine", Known(name, types.origin), world) for name in types.value]
    found = [ending.value for ending in endings if isinstance(ending, Known)]
    whole = bool(found) and len(found) == len(endings)
    return computed(pool, min(found, key=lambda ending: ending.days_ended) if whole else None)


@or_unknown
def retirement(thing: NodePool | Cluster, kind: str, name: Value[str], world: World) -> Value[Ending]:
    """Return the retirement of a setting's value; null without one."""
    cluster = known(thing.cluster) if isinstance(thing, NodePool) else thing
    if cluster is None:
        return computed(thing, None)
    if isinstance(name, Unset):
        return Unset(name.origin)
    every = retirements.find(cluster.cloud, kind, need(name))
    found = next((one for one in every if _holds(one, cluster, world) and _has_machines(one, thing)), None)
    if found is None:
        return computed(thing, None)
    notice = found.notice or world.numbers.limits("any")["retirement.notice"].number
    return mapped(
        name,
        lambda text: Ending(
            text, found.what, found.ends.isoformat(), days_since(found.ends),
            notice=notice, successor=found.successor or None, effect=found.effect or None,
        ),
    )  # fmt: skip


def _has_machines(found: Retirement, thing: NodePool | Cluster) -> bool:
    """Whether a pool has the machine types that a retirement is limited to."""
    types = thing.machine.instance_types if found.machines and isinstance(thing, NodePool) else NOTHING
    return not found.machines or (not isinstance(types, Unset) and any(map(found.holds_on, need(types))))


def _holds(found: Retirement, cluster: Cluster, world: World) -> bool:
    """Whether a retirement applies to this cluster."""
    if found.last_minor is not None:
        minor = control_plane.minor(cluster, world)
        return not isinstance(minor, Unset) and need(minor) <= found.last_minor  # none is written: a new one
    if found.windows is not None:
        windows = control_plane.windows(cluster, world)
        return not isinstance(windows, Unset) and need(windows) is found.windows
    return True
