"""What GKE nodes keep from pods.

https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
"""

from __future__ import annotations

from kcheck.config.numbers import profiles
from kcheck.config.numbers.reserved import GI, MI, Node, Reserved, eviction, exactly, taken
from kcheck.text.interval import Interval


def of_node(node: Node) -> Reserved:
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
