"""What ACK nodes keep from pods, at most.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/resource-reservation-policy
"""

from __future__ import annotations

from kcheck.numbers import profiles
from kcheck.numbers.reserved import Node, Reserved, eviction, taken
from kcheck.source.interval import Interval


def of_node(node: Node) -> Reserved:
    """Some CPU, and nobody knows how much memory."""
    most = taken(profiles.limits("ack")["reserved.cpu_at_most"].text, node.cpu, 1000)
    return Reserved(Interval(0, most), Interval(0, None), eviction())
