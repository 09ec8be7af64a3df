"""Reasons why values are unknown, with their first cause."""

from __future__ import annotations


class Consequence(str):
    """A reason that follows from another unknown value; `cause` is the reason of that one."""

    __slots__ = ("cause",)
    cause: str


def following(text: str, reason: str) -> Consequence:
    """Return the reason of a value that is unknown because another one is."""
    result = Consequence(f"{text}: {reason}")
    result.cause = cause_of(reason)
    return result


def cause_of(reason: str) -> str:
    """Return the first cause of a reason: the missing input."""
    return reason.cause if isinstance(reason, Consequence) else reason
