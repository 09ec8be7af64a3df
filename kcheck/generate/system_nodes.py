"""Nodes that are not for training: system pods, and a separate control plane."""

from __future__ import annotations

from math import ceil

from kcheck.generate import recommended


def non_training_nodes(cloud: str, nodes: int) -> int:
    """Nodes beside that many for training, at most."""
    usual = recommended.values(cloud)
    return int(usual["system.least"]) + ceil(nodes / int(usual["system.nodes_each"])) + control_nodes(cloud, nodes)


def control_nodes(cloud: str, nodes: int) -> int:
    """Control plane nodes for that many training nodes; none if managed."""
    usual = recommended.values(cloud)
    large = nodes > int(usual.get("control.large", nodes))
    return int(usual.get("control.nodes_large" if large else "control.nodes", 0))


def training_nodes_within(cloud: str, nodes: int) -> int:
    """Training nodes within the cloud's limit, which also counts other nodes."""
    most = recommended.values(cloud).get("intent.ceiling")
    if most is None or nodes > int(most):
        return nodes
    return min(nodes, int(most) - non_training_nodes(cloud, int(most)))
