"""What AKS nodes keep from pods.

https://learn.microsoft.com/azure/aks/node-resource-reservations
"""

from __future__ import annotations

from kcheck.config.numbers import profiles
from kcheck.config.numbers.reserved import MI, Node, Reserved, eviction, exactly, taken
from kcheck.text.interval import Interval

_MB, _GB = 10**6, 10**9


def of_node(node: Node) -> Reserved:
    """By its vCPUs, and by its pods or its memory, as its version does."""
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
