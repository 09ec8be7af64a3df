"""Nodes and addresses of Google's Cloud NAT."""

from __future__ import annotations


def nat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Nodes that Google's Cloud NAT has ports for: whole nodes on each address.

    https://docs.cloud.google.com/nat/docs/ports-and-addresses: 64,512 ports at 64 a node are 1,008 nodes an address.
    """
    return ports_per_address // ports * addresses


def nat_addresses(ports: int, nodes: int, ports_per_address: int) -> int | None:
    """Public addresses that Cloud NAT needs for a number of nodes; None if one node exceeds an address."""
    each = ports_per_address // ports
    return -(-nodes // each) if each else None
