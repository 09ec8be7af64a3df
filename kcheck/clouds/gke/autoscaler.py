"""The autoscaler that Google runs in a GKE cluster: its profile, and the limits of node auto-provisioning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcheck.model import NOTHING, Autoscaler
from kcheck.numbers.fields import Fields
from kcheck.source.units import seconds
from kcheck.source.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped

if TYPE_CHECKING:
    from kcheck.model import Cluster

CLOUD = "gke"
LIMITS = "google_container_cluster.resource_limits"
_LIMITS = {"cpu": "max_cores", "memory": "max_memory"}
"""Resource -> the field of the model that limits it."""


def autoscaler(cluster: Cluster, fields: Fields, unneeded: Value[str]) -> Autoscaler:
    """The autoscaler of a cluster; `unneeded` is how long the BALANCED profile keeps an idle node."""
    profile = fields["profile"]
    balanced = equals(profile, "BALANCED")
    return Autoscaler(
        f"{cluster.id}/autoscaler",
        cluster.place,
        Known(cluster, Origin((cluster.place,))),
        "gke",
        profile=profile,
        provisioning=fields["provisioning"],
        unneeded_time=mapped(unneeded, seconds) if balanced else Unset(profile.origin or Origin(())),
        **(_most(fields) if known(fields["provisioning"]) else {}),
    )


def _most(fields: Fields) -> dict[str, Any]:
    """The limits of auto-provisioning; they hold for all pools of the cluster."""
    result: dict[str, Value[int]] = dict.fromkeys(_LIMITS.values(), NOTHING)
    outer = fields.record.blocks("cluster_autoscaling")
    nested = outer if isinstance(outer, Unknown) or not outer else outer[0].blocks("resource_limits")
    if isinstance(nested, Unknown):
        return dict.fromkeys(result, nested)
    for record in nested:
        own = Fields(CLOUD, LIMITS, record)
        name = _LIMITS.get(known(own["resource"]) or "")
        if name is not None:
            result[name] = own["most"]
    return result
