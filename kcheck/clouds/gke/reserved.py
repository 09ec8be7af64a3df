"""What GKE nodes keep from pods.

https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
"""

from __future__ import annotations

from kcheck.numbers import profiles
from kcheck.numbers.reserved import GI, MI, Node, Reserved, eviction, exactly, taken
from kcheck.source.interval import Interval

_DEFAULT_PODS = 110
_SMALLEST = 255 * MI
"""What machines with less than 1 GiB reserve."""


def of_node(node: Node) -> Reserved:
    """By its vCPUs and its memory; many pods take more, as far as is known."""
    limits = profiles.limits("gke")
    cpu = taken(limits["reserved.cpu"].text, node.cpu, 1000)
    if node.machine.startswith("e2-") and node.machine.count("-") == 1:  # e2-micro, e2-small, e2-medium
        cpu = limits["reserved.shared_core"].number
    many = limits["reserved.many_pods"].number if (node.pods or 0) > _DEFAULT_PODS else 0
    memory = _SMALLEST if node.memory < GI else taken(limits["reserved.memory"].text, node.memory, GI)
    return Reserved(Interval(cpu, cpu + many), exactly(memory), eviction())
