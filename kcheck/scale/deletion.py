"""How fast the cluster autoscaler deletes nodes."""

from __future__ import annotations

from math import ceil


def deletion_time(nodes: int, batch: int, scan_interval: int, client_qps: int) -> int:
    """Seconds the cluster autoscaler needs at least to delete that many empty nodes.

    It deletes `batch` nodes a loop; a loop takes the scan interval, and one API request a node for the taint,
    `client_qps` a second. So the rate is batch / (scan_interval + batch / client_qps) nodes a second, an upper
    bound: core/static_autoscaler.go and core/scaledown/actuation/actuator.go of kubernetes/autoscaler. What
    the cloud takes to delete comes on top.
    """
    return ceil(nodes * (scan_interval * client_qps + batch) / (batch * client_qps))


def batch_for(nodes: int, seconds: int, scan_interval: int, client_qps: int) -> int | None:
    """The smallest round batch that keeps `deletion_time` within `seconds`; else None.

    Round means 1, 2 or 5 times a power of ten, as people write it.
    """
    magnitude = 10
    while magnitude <= max(10, nodes):
        for step in (1, 2, 5):
            batch = magnitude * step
            if deletion_time(nodes, batch, scan_interval, client_qps) <= seconds:
                return batch
        magnitude *= 10
    return None
