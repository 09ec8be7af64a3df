"""How long the calls take that delete machines, where several are made one after the other or together."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kcheck.addons.calibration.model import NodeTimes, Recording

_FEWEST = 5


class Calls(NamedTuple):
    """The durations of calls, what they are, and whether they are exact: else only their mean tells anything."""

    seconds: list[float]
    how: str
    exact: bool

    @property
    def middle(self) -> float:
        """The median or, of whole seconds, the mean."""
        return median(self.seconds) if self.exact else fmean(self.seconds)


def delete_calls(recording: Recording) -> Calls | None:
    """The duration of a call; None where the recording does not tell it.

    A call that was asked for before the last one was answered had to wait for that: the time between the answers is its
    own. Calls for a batch are answered together.
    """
    pairs = sorted((n.answered, n.asked) for n in recording.nodes if n.answered is not None and n.asked is not None)
    if recording.ordered or not pairs:
        return None
    least = min(answered - asked for answered, asked in pairs)
    exact = not all(answered.is_integer() for answered, _ in pairs)
    waited = [late - early for (early, _), (late, asked) in pairwise(pairs) if asked + least <= early]
    if len(waited) >= _FEWEST and not _together(recording.nodes, max(0.0 if exact else 1.0, least / 2)):
        return Calls(sorted(waited), "calls that waited for the one before", exact)
    if not recording.calls:
        return None
    return Calls(sorted(answered - asked for answered, asked in pairs), "calls, from request to answer", exact)


def _together(nodes: list[NodeTimes], moment: float) -> bool:
    """Whether those that are asked for in a moment are also answered in one."""
    batches: dict[int, list[float]] = {}
    for node in nodes:
        if node.asked is not None and node.answered is not None:
            batches.setdefault(round(node.asked / moment) if moment else 0, []).append(node.answered)
    spans = [max(batch) - min(batch) for batch in batches.values() if len(batch) > 2]
    return bool(spans) and median(spans) <= moment
