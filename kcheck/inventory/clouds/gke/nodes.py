"""Arithmetic of GKE nodes: outbound ports and reserved resources."""

from __future__ import annotations

from kcheck.config.numbers import profiles
from kcheck.config.numbers.reserved import GI, MI, Node, Reserved, eviction, taken
from kcheck.text.interval import Interval

AUTOPILOT = "autopilot"
"""Tier of clusters whose nodes Google makes."""


def nat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Count the nodes that Google's Cloud NAT has ports for: whole nodes on each address.

    https://docs.cloud.google.com/nat/docs/ports-and-addresses: 64,512 ports at 64 a node are 1,008 nodes an address.
    """
    return ports_per_address // ports * addresses


def nat_addresses(ports: int, nodes: int, ports_per_address: int) -> int | None:
    """Count the public addresses Cloud NAT needs for a number of nodes; None if one node exceeds an address."""
    each = ports_per_address // ports
    return -(-nodes // each) if each else None


def reserved(node: Node) -> Reserved:
    """Bound reserved resources by vCPUs, memory and pods; newer versions may reserve less memory."""
    limits, settings = profiles.limits("gke"), profiles.settings("gke")
    cpu = taken(limits["reserved.cpu"].text, node.cpu, 1000)
    if node.machine.startswith("e2-") and node.machine.count("-") == 1:  # e2-micro, e2-small, e2-medium
        cpu = limits["reserved.shared_core"].number
    many = limits["reserved.many_pods"].number if (node.pods or 0) > settings["pool.max_pods"].number else 0
    memory = taken(limits["reserved.memory"].text, node.memory, GI)
    if node.memory < GI:
        memory = settings["reserved.memory_of_smallest"].number * MI
    least = memory
    if node.minor is None or node.minor >= limits["reserved.memory_from"].number:
        pods = node.pods or settings["pool.max_pods"].number
        least = min(memory, limits["reserved.memory_of_pod"].number * MI * pods)
    return Reserved(Interval(cpu, cpu + many), Interval(least, memory), eviction())
