"""What a worker of a cluster runs: it needs kcheck, and nothing else."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from kcheck import __version__
from kcheck.addons.fleet.code import code
from kcheck.addons.fleet.local import Station
from kcheck.addons.fleet.task import Task, encoded

_all: list[Station] = []
_free: list[Station] = []
"""Of this process: as many as its threads have used at a time. One that is not used for long ends by itself."""


def identity() -> tuple[str, str]:
    """The version of kcheck here, and its code."""
    return __version__, code()


def close() -> None:
    """End the checks of this process, and those processes: for one that goes on without workers."""
    _free.clear()
    while _all:
        _all.pop().close()


def work(data: bytes) -> bytes:
    """The outcome of a task, both as they are sent; it is checked in a process of its own.

    Raises:
        MsgspecError: the task is of another kcheck.
    """
    task = msgspec.msgpack.decode(data, type=Task)
    try:
        station = _free.pop()  # a thread takes what no other one has
    except IndexError:
        station = Station()
        _all.append(station)
    try:
        outcome = station.outcome(task)
    finally:
        if not station.is_closed:
            _free.append(station)
    return encoded(replace(outcome, code=outcome.code or code()))
