"""Pulls that nodes share on public addresses, and places behind load balancers."""

from __future__ import annotations


def backend_nodes(configurations: int, ports: int) -> int:
    """Nodes behind one frontend of Azure's load balancer, which counts nodes per service port.

    https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large: 10,000 with 5 ports are 2,000 nodes.
    """
    return configurations // ports


def pulls(images: list[tuple[int, int | None]], nodes: int) -> int:
    """Pulls by that many new nodes: each workload's images on as many nodes as it has pods."""
    return sum(count * (nodes if pods is None else min(pods, nodes)) for count, pods in images)
