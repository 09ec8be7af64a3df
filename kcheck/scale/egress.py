"""Ports and pulls that nodes share on public addresses, and places behind load balancers."""

from __future__ import annotations


def snat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Nodes that have outbound ports of their own on Azure's load balancer: addresses x their ports / ports of a node.

    https://learn.microsoft.com/azure/aks/load-balancer-standard: 1,000 ports with 7 addresses of 64,000 are 448 nodes.
    """
    return ports_per_address * addresses // ports


def nat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Nodes that Google's Cloud NAT has ports for: whole nodes on each address.

    https://docs.cloud.google.com/nat/docs/ports-and-addresses: 64,512 ports at 64 a node are 1,008 nodes an address.
    """
    return ports_per_address // ports * addresses


def nat_addresses(ports: int, nodes: int, ports_per_address: int) -> int | None:
    """Public addresses with which Google's Cloud NAT has ports for so many nodes; None where one node takes more."""
    each = ports_per_address // ports
    return -(-nodes // each) if each else None


def backend_nodes(configurations: int, ports: int) -> int:
    """Nodes behind one frontend of Azure's load balancer, which counts every node once for each port of a service.

    https://learn.microsoft.com/azure/aks/best-practices-performance-scale-large: 10,000 with 5 ports are 2,000 nodes.
    """
    return configurations // ports


def pulls(images: list[tuple[int, int | None]], nodes: int) -> int:
    """Pulls by so many fresh nodes: the images of each workload, on as many as it has pods; None stands for all."""
    return sum(count * (nodes if pods is None else min(pods, nodes)) for count, pods in images)
