"""Recommended values with reasons, and node counts from them."""

from collections.abc import Mapping
from functools import cache
from math import ceil

from kcheck.config.numbers import profiles

Values = dict[str, int | str | bool]


@cache
def entries(cloud: str) -> dict[str, profiles.ProfileValue]:
    """Return the recommended values of a cloud and of every cloud by name."""
    return profiles.recommended("any") | profiles.recommended(cloud)


@cache
def values(cloud: str) -> Values:
    """Return the recommended values of a cloud without their sources."""
    return {key: entry.value for key, entry in entries(cloud).items() if entry.value is not None}


def with_growth(cloud: str, number: int) -> int:
    """Add room to grow to a number."""
    return -(-number * (100 + int(values(cloud)["network.growth"])) // 100)


def reasons(cloud: str) -> dict[str, str]:
    """Return the reasons of the recommended values."""
    return {key: entry.note for key, entry in entries(cloud).items()}


def non_training_nodes(cloud: str, nodes: int) -> int:
    """Return the most system and control plane nodes beside training nodes."""
    usual = values(cloud)
    return int(usual["system.least"]) + ceil(nodes / int(usual["system.nodes_each"])) + control_nodes(cloud, nodes)


def control_nodes(cloud: str, nodes: int) -> int:
    """Return the control plane nodes for this many training nodes; 0 if managed."""
    usual = values(cloud)
    large = nodes > int(usual.get("control.large", nodes))
    return int(usual.get("control.nodes_large" if large else "control.nodes", 0))


def training_nodes_within(cloud: str, nodes: int) -> int:
    """Limit training nodes to the cloud's limit, which also counts other nodes."""
    most = values(cloud).get("intent.ceiling")
    if most is None or nodes > int(most):
        return nodes
    return min(nodes, int(most) - non_training_nodes(cloud, int(most)))


def nested(fields: Mapping[str, object]) -> dict[str, object]:
    """Nest fields with dotted names."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        outer, _, inner = name.partition(".")
        if inner:
            own = found.setdefault(outer, {})
            assert isinstance(own, dict)  # noqa: S101 - no name is both
            own[inner] = value
        else:
            found[name] = value
    return found
