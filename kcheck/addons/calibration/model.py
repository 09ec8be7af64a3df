"""Recording of a run in any format; times in seconds from an arbitrary moment."""

from typing import NamedTuple

from msgspec import Struct

from kcheck.text.errors import Error


class CalibrationError(Error):
    """A file that is no recording; the message says in one line what was expected."""


class NodeTimes(Struct):
    """Times of a node's lifecycle; None if not recorded.

    `asked` is the start of its deletion, `answered` the end of the call that deletes it.
    """

    launched: float | None = None
    registered: float | None = None
    ready: float | None = None
    asked: float | None = None
    answered: float | None = None
    gone: float | None = None


class Loops(NamedTuple):
    """Autoscaler loops that changed no nodes: mean `work` in seconds at `nodes`.

    `empty` nodes have no pods: marking these in each loop takes time that is not part of the work.
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
    """Recorded nodes, requests, pods, image pulls and autoscaler loops of a run.

    `requests` are the times of nodes that an autoscaler requested, `pools` the number of pools that grew. `step` is the
    time resolution in seconds. `calls` means that `asked` is the start of the call itself. `ordered` means that nodes
    are anonymous: each time is only sorted. `why` explains missing settings, `how` the source of the loops.
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
