"""GKE's managed autoscaler: its profile, and the limits of node auto-provisioning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.model import NOTHING, Autoscaler
from kcheck.text.units import seconds
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped

if TYPE_CHECKING:
    from kcheck.model import Cluster

CLOUD = "gke"
LIMITS = "google_container_cluster.resource_limits"


def autoscaler(cluster: Cluster, fields: Fields, unneeded: Value[str]) -> Autoscaler:
    """The autoscaler of a cluster; `unneeded` is how long the BALANCED profile keeps an idle node."""
    profile = fields.text("profile")
    balanced = equals(profile, "BALANCED")
    most = _most(fields) if known(fields.flag("provisioning")) else {}
    return Autoscaler(
        f"{cluster.id}/autoscaler",
        cluster.place,
        Known(cluster, Origin((cluster.place,))),
        "gke",
        profile=profile,
        provisioning=fields.flag("provisioning"),
        unneeded_time=mapped(unneeded, seconds) if balanced else Unset(profile.origin or Origin(())),
        max_cores=most.get("cpu", NOTHING),
        max_memory=most.get("memory", NOTHING),
    )


def _most(fields: Fields) -> dict[str, Value[int]]:
    """The limits of auto-provisioning by resource; they hold for all pools of the cluster."""
    outer = fields.record.blocks("cluster_autoscaling")
    nested = outer if isinstance(outer, Unknown) or not outer else outer[0].blocks("resource_limits")
    if isinstance(nested, Unknown):
        return {"cpu": nested, "memory": nested}
    limits = [Fields(CLOUD, LIMITS, record) for record in nested]
    return {known(own.text("resource")) or "": own.number("most") for own in limits}
