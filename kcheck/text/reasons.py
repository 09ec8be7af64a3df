"""Reasons why values are not known, with their first cause."""

from __future__ import annotations


class Consequence(str):
    """Why something is not known that depends on an unknown value; `cause` is why that one is not."""

    __slots__ = ("cause",)
    cause: str


def following(text: str, reason: str) -> Consequence:
    """Why something is not known, as another value is not for a reason."""
    result = Consequence(f"{text}: {reason}")
    result.cause = cause_of(reason)
    return result


def cause_of(reason: str) -> str:
    """The first cause of a reason: the input that is missing."""
    return reason.cause if isinstance(reason, Consequence) else reason
