"""How many nodes may be NotReady before the cluster autoscaler pauses."""

from __future__ import annotations

from math import ceil

from kcheck.config.numbers import flags, profiles

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
