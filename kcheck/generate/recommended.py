"""Recommended values with reasons, from the second document of `settings.yaml`, and numbers of nodes by them."""

from __future__ import annotations

from functools import cache
from math import ceil

from kcheck.config.numbers import profiles

Values = dict[str, int | str | bool]


@cache
def entries(cloud: str) -> dict[str, profiles.ProfileValue]:
    """The recommended values of a cloud by `group.name`, those of every cloud included."""
    return profiles.recommended("any") | profiles.recommended(cloud)


@cache
def values(cloud: str) -> Values:
    """The same without their sources."""
    return {key: entry.value for key, entry in entries(cloud).items() if entry.value is not None}


def with_growth(cloud: str, number: int) -> int:
    """A number with room to grow."""
    return -(-number * (100 + int(values(cloud)["network.growth"])) // 100)


def reasons(cloud: str) -> dict[str, str]:
    """The reasons of the values."""
    return {key: entry.note for key, entry in entries(cloud).items()}


def non_training_nodes(cloud: str, nodes: int) -> int:
    """Nodes beside that many for training, at most."""
    usual = values(cloud)
    return int(usual["system.least"]) + ceil(nodes / int(usual["system.nodes_each"])) + control_nodes(cloud, nodes)


def control_nodes(cloud: str, nodes: int) -> int:
    """Control plane nodes for that many training nodes; none if managed."""
    usual = values(cloud)
    large = nodes > int(usual.get("control.large", nodes))
    return int(usual.get("control.nodes_large" if large else "control.nodes", 0))


def training_nodes_within(cloud: str, nodes: int) -> int:
    """Training nodes within the cloud's limit, which also counts other nodes."""
    most = values(cloud).get("intent.ceiling")
    if most is None or nodes > int(most):
        return nodes
    return min(nodes, int(most) - non_training_nodes(cloud, int(most)))
