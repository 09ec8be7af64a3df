"""What EKS nodes keep from pods.

https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go
"""

from __future__ import annotations

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.reserved import MI, Node, Reserved, eviction, exactly, taken
from kcheck.inventory.clouds.eks import addresses
from kcheck.text.interval import Interval


def of_node(node: Node) -> Reserved:
    """By its vCPUs, and by the pods for which its interfaces, or its settings, have addresses."""
    limits = profiles.limits("eks")
    cpu = taken(limits["reserved.cpu"].text, node.cpu, 1000)
    interfaces = machines.interfaces("eks", node.machine)
    counts = [addresses.max_pods(*interfaces)] if interfaces else []
    counts += [node.pods] if node.pods is not None else []
    base, each = limits["reserved.memory"].number, limits["reserved.memory_of_pod"].number
    most = (base + each * max(counts)) * MI if counts else None
    return Reserved(exactly(cpu), Interval((base + each * min(counts, default=0)) * MI, most), eviction())
