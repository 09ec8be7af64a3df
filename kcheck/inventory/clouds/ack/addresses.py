"""Addresses of ACK pods with Terway, and of nodes with Flannel."""

from __future__ import annotations


def terway_pods(interfaces: int, addresses: int, *, exclusive: bool = False) -> int:
    """Pods of a node with VPC addresses: those of all interfaces except the first.

    With exclusive interfaces a pod has one for itself.
    https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/work-with-terway: 210 and 7 on a g7.4xlarge.
    """
    return (interfaces - 1) * (1 if exclusive else addresses)
