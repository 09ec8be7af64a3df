"""Nodes that have outbound ports on Azure's load balancer."""

from __future__ import annotations


def snat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Nodes that have outbound ports of their own on Azure's load balancer: addresses x their ports / ports of a node.

    https://learn.microsoft.com/azure/aks/load-balancer-standard: 1,000 ports with 7 addresses of 64,000 are 448 nodes.
    """
    return ports_per_address * addresses // ports
