"""How many nodes may be NotReady before the cluster autoscaler pauses."""

from __future__ import annotations

from math import ceil

from kcheck.numbers import profiles

_ROUND = 10


def percentage(zones: int) -> int:
    """The share of nodes that leaves the autoscaler at work when one of several zones and a few nodes fail, in percent.

    At least the default. The loss of the only zone is the loss of the cluster: there is nothing to go on with.
    """
    usual = int(profiles.flags()["max-total-unready-percentage"]["default"])
    failures = profiles.limits("any")["autoscaler.unready_failures"].number
    return max(usual, ceil(100 / zones) + failures) if zones > 1 else usual


def tolerated(nodes: int, batch: int, percent: int) -> int:
    """NotReady nodes that are always tolerated: a batch of those that are deleted, and the few that fail.

    No more than the share of all nodes at which it should pause: else the safety would be off.
    """
    failures = ceil(nodes * profiles.limits("any")["autoscaler.unready_failures"].number / 100)
    return min(_ROUND * ceil((batch + failures) / _ROUND), nodes * percent // 100)
