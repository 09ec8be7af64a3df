"""Arithmetic of GKE's nodes: outbound ports that they take, and what they keep from pods."""

from __future__ import annotations

from kcheck.config.numbers import profiles
from kcheck.config.numbers.reserved import GI, MI, Node, Reserved, eviction, exactly, taken
from kcheck.text.interval import Interval

AUTOPILOT = "autopilot"
"""The tier of clusters whose nodes Google makes."""


def nat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Nodes that Google's Cloud NAT has ports for: whole nodes on each address.

    https://docs.cloud.google.com/nat/docs/ports-and-addresses: 64,512 ports at 64 a node are 1,008 nodes an address.
    """
    return ports_per_address // ports * addresses


def nat_addresses(ports: int, nodes: int, ports_per_address: int) -> int | None:
    """Public addresses that Cloud NAT needs for a number of nodes; None if one node exceeds an address."""
    each = ports_per_address // ports
    return -(-nodes // each) if each else None


def reserved(node: Node) -> Reserved:
    """By its vCPUs and its memory; many pods take more, as far as is known."""
    limits, settings = profiles.limits("gke"), profiles.settings("gke")
    cpu = taken(limits["reserved.cpu"].text, node.cpu, 1000)
    if node.machine.startswith("e2-") and node.machine.count("-") == 1:  # e2-micro, e2-small, e2-medium
        cpu = limits["reserved.shared_core"].number
    many = limits["reserved.many_pods"].number if (node.pods or 0) > settings["pool.max_pods"].number else 0
    memory = taken(limits["reserved.memory"].text, node.memory, GI)
    if node.memory < GI:
        memory = settings["reserved.memory_of_smallest"].number * MI
    return Reserved(Interval(cpu, cpu + many), exactly(memory), eviction())
