"""Resources that a node keeps for kubelet and system."""

from fractions import Fraction
from functools import cache

from msgspec import Struct

from kcheck.config.numbers import profiles
from kcheck.text.amount import Amount, exactly
from kcheck.text.regex import regex

MI, GI = 2**20, 2**30
_STEP = regex(r"([\d.]+)%(?: up to (\d+)| above)?")


class Node(Struct, frozen=True):
    """A node: CPU in millicores, memory in bytes, most pods, and minor version."""

    machine: str
    cpu: int
    memory: int
    pods: int | None
    minor: int | None


class Reserved(Struct, frozen=True):
    """Bounds of what a node reserves: millicores, bytes, and eviction threshold."""

    cpu: Amount
    memory: Amount
    eviction: Amount


def by_default() -> Reserved:
    """Return the kubelet's default reservations."""
    return Reserved(exactly(0), exactly(0), eviction())


def eviction() -> Amount:
    """Return the kubelet's default eviction threshold, in bytes."""
    return exactly(profiles.limits("any")["reserved.eviction"].number * MI)


def taken(steps: str, amount: int, unit: int) -> int:
    """Sum the shares that steps such as `25% up to 4` take of an amount."""
    result = reached = 0
    for share, bound in _parsed(steps):
        end = amount if bound is None else min(amount, bound * unit)
        result += int(share * max(0, end - reached))
        reached = max(reached, end)
    return result


@cache
def _parsed(steps: str) -> tuple[tuple[Fraction, int | None], ...]:
    found = [_STEP.fullmatch(step) for step in steps.split(", ")]
    return tuple((Fraction(step[1]) / 100, int(step[2]) if step[2] else None) for step in found if step)
