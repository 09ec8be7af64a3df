"""Nodes that have outbound ports on Azure's load balancer."""

from __future__ import annotations


def snat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Nodes with outbound ports on Azure's load balancer: addresses x ports / ports per node.

    https://learn.microsoft.com/azure/aks/load-balancer-standard: 1,000 ports with 7 addresses of 64,000 are 448 nodes.
    """
    return ports_per_address * addresses // ports
