"""How long the calls take that delete machines, where several are made one after the other or together."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kcheck.simulate.recording.model import NodeTimes, Recording

_FEWEST = 5


class Calls(NamedTuple):
    """The duration of a call, and how it was found."""

    seconds: list[float]
    value: float
    how: str


def delete_calls(recording: Recording) -> Calls | None:
    """The duration of a call; None where the recording does not tell it.

    A call that was asked for before the last one was answered had to wait for that: the time between the answers is its
    own. Calls for a batch are answered together.
    """
    pairs = sorted((n.answered, n.asked) for n in recording.nodes if n.answered is not None and n.asked is not None)
    if recording.ordered or not pairs:
        return None
    least = min(answered - asked for answered, asked in pairs)
    waited = [late - early for (early, _), (late, asked) in pairwise(pairs) if asked + least <= early]
    exact = recording.step < 1
    if len(waited) >= _FEWEST and not _together(recording.nodes, max(recording.step, least / 2)):
        return Calls(waited, median(waited) if exact else fmean(waited), "calls that waited for the one before")
    if not recording.calls:
        return None
    alone = [answered - asked for answered, asked in pairs]
    return Calls(alone, median(alone), "calls, from request to answer")


def _together(nodes: list[NodeTimes], moment: float) -> bool:
    """Whether those that are asked for in a moment are also answered in one."""
    batches: dict[int, list[float]] = {}
    for node in nodes:
        if node.asked is not None and node.answered is not None:
            batches.setdefault(round(node.asked / moment) if moment else 0, []).append(node.answered)
    spans = [max(batch) - min(batch) for batch in batches.values() if len(batch) > 2]
    return bool(spans) and median(spans) <= moment
