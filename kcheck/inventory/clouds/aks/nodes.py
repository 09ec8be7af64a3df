"""Arithmetic of AKS nodes: addresses, outbound ports and reserved resources."""

from __future__ import annotations

from math import ceil

from kcheck.config.numbers import profiles
from kcheck.config.numbers.reserved import MI, Node, Reserved, eviction, exactly, taken
from kcheck.text.interval import Interval


def dynamic_addresses(pods: int, batch: int, spare: int) -> int:
    """Count the addresses of a node with dynamic allocation, in batches that keep `spare` free.

    https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-pod-subnet: 16 at a time, 16 more below 8.
    """
    return batch * ceil((pods + spare) / batch)


def static_addresses(max_pods: int, block: int) -> int:
    """Count the addresses of a node with static blocks: /28s for its maximum pods and one more.

    https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-pod-subnet: least is wasted with 16 x N - 1 pods.
    """
    return block * ceil((max_pods + 1) / block)


def snat_nodes(ports: int, addresses: int, ports_per_address: int) -> int:
    """Count the nodes with outbound ports on Azure's load balancer: addresses x ports / ports per node.

    https://learn.microsoft.com/azure/aks/load-balancer-standard: 1,000 ports with 7 addresses of 64,000 are 448 nodes.
    """
    return ports_per_address * addresses // ports


_MB, _GB = 10**6, 10**9


def reserved(node: Node) -> Reserved:
    """Estimate reserved resources by vCPUs, and by pods or memory depending on the version."""
    limits, settings = profiles.limits("aks"), profiles.settings("aks")
    steps = limits["reserved.cpu"].text
    documented = min(node.cpu, limits["reserved.documented_vcpus"].number * 1000)
    cpu = Interval(taken(steps, documented, 1000), taken(steps, node.cpu, 1000))
    share = node.memory * settings["reserved.most_of_memory"].number // 100
    base, each = limits["reserved.memory"].number, limits["reserved.memory_of_pod"].number
    low = min(share, (base + each * (node.pods or 0)) * _MB)
    high = share if node.pods is None else min(share, (base + each * node.pods) * MI)
    before = taken(limits["reserved.memory_before"].text, node.memory, _GB)
    threshold = limits["reserved.eviction_before"].number * MI
    if node.minor is None:
        memory = Interval(min(low, before), max(high, before))
        return Reserved(cpu, memory, Interval(eviction().low, threshold))
    if node.minor < settings["reserved.by_pods_from"].number:
        return Reserved(cpu, exactly(before), exactly(threshold))
    return Reserved(cpu, Interval(low, high), eviction())
