"""What a recording says of a run, whatever its format. Times are in seconds from any moment."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class RecordingError(Exception):
    """A file that is no recording: what was expected, in one line."""


class NodeTimes(Struct):
    """When things happened to a node; None where that was not recorded.

    `asked` is the start of its deletion, `answered` the end of the call that deletes it.
    """

    launched: float | None = None
    registered: float | None = None
    ready: float | None = None
    asked: float | None = None
    answered: float | None = None
    gone: float | None = None


class Loops(NamedTuple):
    """Loops of an autoscaler that neither added nor deleted nodes: their mean work, with so many nodes in the cluster.

    `empty` of these have no pods: the autoscaler marks them in its loops, which takes time that is none of their work.
    """

    nodes: int
    work: float
    number: float = 1
    empty: int = 0


class Pod(NamedTuple):
    """When a pod was bound to its node, and when it ran."""

    bound: float
    started: float


class Recording(Struct):
    """The nodes of a run, what was asked for, its pods, pulls and loops.

    `requests` are nodes that an autoscaler asked for, each with its time, `pools` those that grew. `step` is how exact
    times are. `calls` says that `asked` is the start of the call itself. `ordered` says that nodes have no names: their
    times are each in order. `why` says for a setting why it is not here, `how` how the loops were found.
    """

    what: str
    nodes: list[NodeTimes] = []
    requests: list[float] = []
    pools: int = 1
    pods: list[Pod] = []
    pulls: list[float] = []
    loops: list[Loops] = []
    step: float = 0
    calls: bool = False
    ordered: bool = False
    why: dict[str, str] = {}
    how: str = ""
