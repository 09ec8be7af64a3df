"""Workers on this machine: processes that each check one repository at a time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from queue import Queue
from time import monotonic, sleep
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec
from msgspec.structs import replace

from kcheck.addons.fleet.frames import read_frame, write_frame
from kcheck.addons.fleet.station import GRACE, IDLE
from kcheck.addons.fleet.task import Outcome, Task, failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

_START = 60.0
"""Seconds that a process may take to be ready, or to die."""


class Station:
    """A process that checks repositories, one at a time; another one takes its place where it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.is_closed = False
        self._used = monotonic()

    def outcome(self, task: Task) -> Outcome:
        """What becomes of a task, in any case and in bounded time."""
        begin = monotonic()
        try:
            with _unpacked(task) as there:
                data = _exchanged(self._started(), msgspec.msgpack.encode(there), task.bounds.seconds + GRACE + _START)
                if data is None:
                    self._end()
            outcome = None if data is None else msgspec.msgpack.decode(data, type=Outcome)
        except UnicodeEncodeError:
            return failed("its path, or a setting, is no text in UTF-8")
        except (OSError, msgspec.MsgspecError) as error:
            self._end()
            return failed(f"no process checks it: {error}", can_retry=not self.is_closed)
        self._used = monotonic()
        if outcome is None:
            return failed("the process that checked it has ended", can_retry=not self.is_closed)
        return replace(outcome, seconds=outcome.seconds or monotonic() - begin)

    def close(self) -> None:
        """End the process, whatever it does; there is none afterwards."""
        self.is_closed = True
        self._end()

    @property
    def process(self) -> int | None:
        """The number of its process; None if there is none now."""
        return self._process.pid if self._process is not None else None

    def _started(self) -> subprocess.Popen[bytes]:
        """The process.

        Raises:
            OSError: there is none to be had.
        """
        if self._process is not None and monotonic() - self._used > IDLE / 2:  # it may be about to end
            self._end()
        process = self._process
        if process is None:
            # -P: the folder that kcheck is called in may be a stranger's, and is no place for modules
            command = [sys.executable, "-P", "-m", "kcheck.addons.fleet.station"]
            process = self._process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=_OWN_GROUP
            )
        if self.is_closed:  # by another thread, which may have seen no process yet
            self._end()
            raise ProcessLookupError("the run has ended")
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in _pipes(process):
            with suppress(OSError):
                stream.close()
        process.wait()


_OWN_GROUP = 0 if os.name == "posix" else None
"""Ctrl-C at the terminal is for the client, which ends its processes."""


@contextmanager
def _unpacked(task: Task) -> Iterator[Task]:
    """A task with a folder to unpack its archive in, which is gone afterwards, whatever becomes of the process.

    Raises:
        OSError: there is no such folder to be had.
    """
    if not task.archive:
        yield task
        return
    folder = tempfile.mkdtemp(prefix="kcheck-fleet-")
    try:
        own = os.path.join(folder, os.path.basename(task.folder) or "repository")  # modules may be known by its name
        os.mkdir(own)
        yield replace(task, folder=own)
    finally:
        _remove(folder)


def _remove(folder: str) -> None:
    """Remove a folder that a process may have been killed in, which takes the system a moment."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return
        sleep(0.05)


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
                while not station.is_closed:
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
