"""How fast the cluster autoscaler deletes nodes, and how many may be NotReady before it pauses."""

from __future__ import annotations

from math import ceil

from kcheck.config.numbers import flags, profiles


def batches(nodes: int, batch: int) -> int:
    """Batches in which the cluster autoscaler deletes that many empty nodes: one a loop."""
    return -(-nodes // max(1, batch))


def tainting_time(nodes: int, client_qps: int) -> int:
    """Seconds to taint nodes before they are deleted: one API request each, `client_qps` a second."""
    return -(-nodes // client_qps)


def deletion_time(nodes: int, batch: int, scan_interval: int, client_qps: int) -> int:
    """Seconds to delete that many empty nodes at least, if each loop waits for the scan interval.

    A loop deletes `batch` nodes, and takes the scan interval and the time to taint them: core/static_autoscaler.go and
    core/scaledown/actuation/actuator.go of kubernetes/autoscaler. What the cloud takes to delete comes on top. With
    frequent loops, the default from 1.35 on, it may be less.
    """
    return batches(nodes, batch) * scan_interval + tainting_time(nodes, client_qps)


def sufficient_batch(nodes: int, seconds: int, scan_interval: int, client_qps: int) -> int | None:
    """The smallest round batch with which all nodes go in that time.

    Where tainting alone takes longer, the batches may take as long again; None if no batch is large enough.
    """
    tainting = tainting_time(nodes, client_qps)
    return batch_for(nodes, seconds if tainting < seconds else 2 * tainting, scan_interval, client_qps)


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


_ROUND = 10


def percentage(zones: int) -> int:
    """Percentage of unready nodes that keeps the autoscaler working when a zone and a few nodes fail.

    At least the default. The loss of the only zone is the loss of the cluster: there is nothing to go on with.
    """
    usual = int(flags.flags()["max-total-unready-percentage"]["default"])
    failures = profiles.limits("any")["autoscaler.unready_failures"].number
    return max(usual, ceil(100 / zones) + failures) if zones > 1 else usual


def tolerated(nodes: int, batch: int, percent: int) -> int:
    """NotReady nodes to tolerate always: a batch of deletions, and a few failures.

    No more than the share of all nodes at which it should pause: else the safety would be off.
    """
    failures = ceil(nodes * profiles.limits("any")["autoscaler.unready_failures"].number / 100)
    return min(_ROUND * ceil((batch + failures) / _ROUND), nodes * percent // 100)
