"""Addresses that AKS nodes take from a pod subnet."""

from __future__ import annotations

from math import ceil


def dynamic_addresses(pods: int, batch: int, spare: int) -> int:
    """Addresses of a node with dynamic allocation, in batches that keep `spare` free.

    https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-pod-subnet: 16 at a time, 16 more below 8.
    """
    return batch * ceil((pods + spare) / batch)


def static_addresses(max_pods: int, block: int) -> int:
    """Addresses of a node with static blocks: /28s for its maximum pods, and one more.

    https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-pod-subnet: least is wasted with 16 x N - 1 pods.
    """
    return block * ceil((max_pods + 1) / block)
