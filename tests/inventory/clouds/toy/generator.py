"""Return what the toy cloud's templates are filled with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.generate.ranges import Layout, Slot

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.generate.pools import Pool


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:
    """Return the slots of the pod range and the Service range."""
    return [Slot("pods", least=20), Slot("services", prefix=16, routed=False)]


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:
    """Return the variables of the toy cloud's templates."""
    return {"node_local_dns": False, "dns_autoscaler": False, "device_plugin": False}
