"""Pulls that nodes share on public addresses, and places behind load balancers."""

from __future__ import annotations


def backend_nodes(configurations: int, ports: int) -> int:
    """Nodes behind one frontend of Azure's load balancer, which counts every node once for each port of a service.

    https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large: 10,000 with 5 ports are 2,000 nodes.
    """
    return configurations // ports


def pulls(images: list[tuple[int, int | None]], nodes: int) -> int:
    """Pulls by that many fresh nodes: the images of each workload, on as many as it has pods; None stands for all."""
    return sum(count * (nodes if pods is None else min(pods, nodes)) for count, pods in images)
