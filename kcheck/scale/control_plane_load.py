"""Load on the API server."""

from __future__ import annotations

from math import ceil


def heartbeats(nodes: int, lease_period: int, status_period: int) -> int:
    """Heartbeat writes per second: a lease every 10 s, a status every 5 min by default.

    nodes / lease_period + nodes / status_period, rounded up.
    https://kubernetes.io/docs/concepts/architecture/nodes/#heartbeats
    """
    return ceil(nodes / lease_period + nodes / status_period)


def creation_time(pods: int, rate: int) -> int:
    """Seconds the Job controller needs to create pods at a request rate.

    https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/: 20 by default, so 1,000
    pods take 50 s.
    """
    return ceil(pods / rate)
