"""Speed of node deletion, and the NotReady nodes tolerated."""

from math import ceil

from kcheck.config.numbers import flags, profiles


def batches(nodes: int, batch: int) -> int:
    """Count the batches in which the autoscaler deletes empty nodes."""
    return -(-nodes // max(1, batch))


def tainting_time(nodes: int, client_qps: int) -> int:
    """Return the seconds to taint nodes, at `client_qps` requests a second."""
    return -(-nodes // client_qps)


def deletion_time(nodes: int, batch: int, scan_interval: int, client_qps: int) -> int:
    """Return the minimum seconds to delete empty nodes.

    A loop deletes `batch` nodes, and takes the scan interval and the time to taint them: core/static_autoscaler.go and
    core/scaledown/actuation/actuator.go of kubernetes/autoscaler. The time of the cloud comes on top. With
    frequent loops, the default from 1.35 on, it may be less.
    """
    return batches(nodes, batch) * scan_interval + tainting_time(nodes, client_qps)


def batch_for(nodes: int, seconds: int, scan_interval: int, client_qps: int) -> int | None:
    """Find the smallest round batch that deletes in `seconds`; else None.

    Round means 1, 2 or 5 times a power of ten.
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
    """Return the percentage of unready nodes that survives a zone's loss.

    At least the default. With a single zone, its loss is the loss of the cluster, so it is not allowed for.
    """
    usual = int(flags.flags()["max-total-unready-percentage"]["default"])
    failures = profiles.limits("any")["autoscaler.unready_failures"].number
    return max(usual, ceil(100 / zones) + failures) if zones > 1 else usual


def tolerated(nodes: int, batch: int, percent: int) -> int:
    """Count the NotReady nodes that are always tolerated.

    At most the share of all nodes at which the autoscaler should pause; more would turn that off.
    """
    failures = ceil(nodes * profiles.limits("any")["autoscaler.unready_failures"].number / 100)
    return min(_ROUND * ceil((batch + failures) / _ROUND), nodes * percent // 100)
