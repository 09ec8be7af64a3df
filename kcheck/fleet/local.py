"""Workers on this machine: processes that each check one repository at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from queue import Queue
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec
from msgspec.structs import replace

from kcheck.fleet.frames import read_frame, write_frame
from kcheck.fleet.station import GRACE
from kcheck.fleet.task import Outcome, Task, failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

_START = 60.0
"""Seconds that a process may take to be ready, or to die."""


class Station:
    """A process that checks repositories, one at a time; another one takes its place where it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def outcome(self, task: Task) -> Outcome:
        """What becomes of a task, in any case and in bounded time."""
        begin = monotonic()
        try:
            process = self._started()
            data = _exchanged(process, msgspec.msgpack.encode(task), task.bounds.seconds + GRACE + _START)
            outcome = None if data is None else msgspec.msgpack.decode(data, type=Outcome)
        except (OSError, msgspec.MsgspecError) as error:
            self._end()
            return failed(f"no process checks it: {error}", can_retry=True)
        if outcome is None:
            self._end()
            return failed("the process that checked it has ended", can_retry=not self._is_closed)
        return replace(outcome, seconds=outcome.seconds or monotonic() - begin)

    def close(self) -> None:
        """End the process, whatever it does."""
        self._is_closed = True
        self._end()

    @property
    def process(self) -> int | None:
        """The number of its process; None if there is none now."""
        return self._process.pid if self._process is not None else None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # -P: the folder that kcheck is called in may be a stranger's, and is no place for modules
            command = [sys.executable, "-P", "-m", "kcheck.fleet.station"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in _pipes(process):
            with suppress(OSError):
                stream.close()
        process.wait()


def _exchanged(process: subprocess.Popen[bytes], data: bytes, seconds: float) -> bytes | None:
    """The answer of a process; None if it ends without, as it is made to where it takes too long.

    Raises:
        OSError: it has ended.
    """
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        tasks, outcomes = _pipes(process)
        write_frame(tasks, data)
        return read_frame(outcomes)
    finally:
        timer.cancel()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[BinaryIO, BinaryIO]:
    """Where its tasks go, and where its outcomes come from."""
    return cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)


class LocalEngine:
    """So many repositories side by side on this machine."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.name = "local"
        self._stations = [Station() for _ in range(jobs)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for station in self._stations:
            station.close()

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """What becomes of each task, in the order in which they end; one is taken when a process is free for it."""
        left, taking = iter(tasks), threading.Lock()
        ended: Queue[tuple[Task, Outcome] | BaseException | None] = Queue()

        def work(station: Station) -> None:
            try:
                while True:
                    with taking:
                        task = next(left, None)
                    if task is None:
                        return
                    ended.put((task, station.outcome(task)))
            except BaseException as error:  # of the tasks, not of one: the run ends with it
                ended.put(error)
            finally:
                ended.put(None)

        for station in self._stations:
            threading.Thread(target=work, args=(station,), daemon=True).start()
        working = len(self._stations)
        while working:
            found = ended.get()
            if found is None:
                working -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found
