"""Arithmetic of ACK nodes: pods with addresses, and reserved resources."""

from __future__ import annotations

from kcheck.config.numbers import profiles
from kcheck.config.numbers.reserved import GI, MI, Node, Reserved, eviction, exactly, taken
from kcheck.text.interval import Interval


def terway_pods(interfaces: int, addresses: int, *, exclusive: bool = False) -> int:
    """Count the pods of a node that get VPC addresses: those of all interfaces except the first.

    With exclusive interfaces, each pod has one of its own.
    https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/work-with-terway: 210 and 7 on a g7.4xlarge.
    """
    return (interfaces - 1) * (1 if exclusive else addresses)


def reserved(node: Node) -> Reserved:
    """Estimate reserved resources by vCPUs, and by pods or memory depending on the version."""
    limits, settings = profiles.limits("ack"), profiles.settings("ack")
    threshold = Interval(eviction().low, limits["reserved.eviction_at_most"].number * MI)
    old_cpu = taken(limits["reserved.cpu_before"].text, node.cpu, 1000)
    old_memory = taken(limits["reserved.memory_before"].text, node.memory, GI)
    cpu, memory = taken(limits["reserved.cpu"].text, node.cpu, 1000), _reserved_by_pods(node)
    if node.minor is None:
        memory = Interval(min(memory.low, old_memory), max(memory.high or 0, old_memory))
        return Reserved(Interval(min(cpu, old_cpu), max(cpu, old_cpu)), memory, threshold)
    if node.minor < settings["reserved.by_pods_from"].number:
        return Reserved(exactly(old_cpu), exactly(old_memory), threshold)
    return Reserved(exactly(cpu), memory, threshold)


def _reserved_by_pods(node: Node) -> Interval:
    """Estimate reserved memory by maximum pods, else by the most pods that its interfaces have addresses for."""
    from kcheck.config.numbers import machines  # the tables of all types

    limits = profiles.limits("ack")
    share = node.memory * profiles.settings("ack")["reserved.most_of_memory"].number // 100
    base, each = limits["reserved.memory"].number, limits["reserved.memory_of_pod"].number
    interfaces = machines.interfaces("ack", node.machine)
    pods = terway_pods(*interfaces) if node.pods is None and interfaces else node.pods
    least = min(share, (base + each * (node.pods or 0)) * MI)
    if pods is None:
        return Interval(least, share)
    return Interval(least, min(share, (base + each * (pods + limits["reserved.host_pods"].number)) * MI))
