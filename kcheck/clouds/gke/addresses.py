"""Blocks of pod addresses and NAT ports of GKE nodes."""

from __future__ import annotations


def pod_block(max_pods: int) -> int:
    """The prefix of the block that GKE gives a node: the smallest with twice as many addresses as pods, at least /28.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr: 110 pods take a /24.
    """
    return min(28, 32 - (2 * max_pods - 1).bit_length())
