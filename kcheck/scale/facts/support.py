"""Words of how long a cluster's version of Kubernetes is supported, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers.versions import versions
from kcheck.config.today import days_since, has_come
from kcheck.inventory.clouds.registry import cloud
from kcheck.scale.facts import control_plane
from kcheck.scale.facts.basics import computed
from kcheck.text.values import Known, Unknown, Value

if TYPE_CHECKING:
    from kcheck.model import Cluster
    from kcheck.scale.world import World


class Support(NamedTuple):
    """The support of a version by the plan of the cluster.

    `days_ended` counts the days since it ended, the day itself too; `days_extended` those since the end of standard
    support, with a plan that goes on; None without one. Without it, `longer` is until when it would go on; None where that
    day has come.
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
