"""Work shared with forked processes: they have in memory what was read, and send back what they find."""

from __future__ import annotations

import gc
import io
import os
import pickle
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

R = TypeVar("R")


def shared(work: Callable[[int], R], pieces: int, jobs: int) -> list[R]:
    """What `work` gives for each of at most 256 pieces, in their order. The longest should come first.

    Pieces are taken from a pipe, where each is one byte, so that no two processes get the same. What a worker does not
    bring back, because it failed or was killed, is done again here, and what is wrong is met again.
    """
    queue, filled = os.pipe()
    os.write(filled, bytes(range(pieces)))
    os.close(filled)
    sources = {id(one): one for one in gc.get_objects() if type(one) is Source}
    workers: list[_Worker] = []
    found: dict[int, R] = {}
    try:
        with suppress(OSError):  # no more processes, or no more memory, for this user
            while len(workers) < min(jobs, pieces) - 1:
                workers.append(_fork(lambda: _results(work, queue, sources)))
        for number in _taken(queue):
            found[number] = work(number)
        for worker in workers:
            for number, data in worker.results().items():
                with suppress(Exception):  # then it is done again
                    found[number] = _Loader(io.BytesIO(data), sources).load()
    finally:
        os.close(queue)
        for worker in workers:
            worker.end()
    return [found[number] if number in found else work(number) for number in range(pieces)]


def _taken(queue: int) -> Iterator[int]:
    """The pieces that nobody has taken yet."""
    while piece := os.read(queue, 1):
        yield piece[0]


# --- in the worker


def _results(work: Callable[[int], R], queue: int, sources: dict[int, Source]) -> dict[int, bytes]:
    """What a worker found, by piece; without those that failed, or that have what cannot be sent."""
    found = {}
    parent = os.getppid()
    for number in _taken(queue):
        if os.getppid() != parent:
            break  # nobody waits for it any more
        data = io.BytesIO()
        with suppress(Exception):
            _Sender(data, sources).dump(work(number))
            found[number] = data.getvalue()
    return found


class _Sender(pickle.Pickler):
    """Sends results, with the addresses of files: both processes have them there, and places are compared by file."""

    def __init__(self, file: io.BytesIO, sources: dict[int, Source]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._sources = sources

    def persistent_id(self, obj: object) -> int | None:
        """The address of a file; one that the other process does not have is not sent."""
        if type(obj) is not Source:
            return None
        if id(obj) not in self._sources:
            raise pickle.PicklingError(f"{obj} was read by one process only")
        return id(obj)


# --- in the parent


class _Loader(pickle.Unpickler):
    """Reads what a worker sent through a pipe that nobody else can write to."""

    def __init__(self, file: io.BytesIO, sources: dict[int, Source]) -> None:
        super().__init__(file)
        self._sources = sources

    def persistent_load(self, pid: int) -> Source:
        """The file at an address."""
        return self._sources[pid]


class _Worker(NamedTuple):
    """A forked process, and the pipe that it writes its results to when it has them all."""

    process: int
    output: int

    def results(self) -> dict[int, bytes]:
        """What it sent; nothing if it did not come to its end."""
        with os.fdopen(self.output, "rb", closefd=False) as file:
            data = file.read()
        try:
            found: dict[int, bytes] = pickle.loads(data)  # noqa: S301 - of our own process
        except (EOFError, pickle.UnpicklingError):
            return {}
        return found

    def end(self) -> None:
        """End it, if it has not ended: on Ctrl-C, or an error here."""
        os.close(self.output)
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.process, 0)


def _fork(results: Callable[[], dict[int, bytes]]) -> _Worker:
    """Start a process that sends its results and ends; it cleans up nothing of its parent's.

    Nor does it print anything: at a terminal, the thread that shows progress may have locked a stream.

    Raises:
        OSError: there is no process to be had.
    """
    output, own = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(output)
        os.close(own)
        raise
    if process:
        os.close(own)
        return _Worker(process, output)
    try:
        found = results()
        with os.fdopen(own, "wb") as file:
            pickle.dump(found, file, pickle.HIGHEST_PROTOCOL)
    finally:
        os._exit(0)
