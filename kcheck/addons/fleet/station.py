"""A process that is ready to check: it has the rules in memory, and each repository gets a process of its own from it.

Where the system can fork, that takes a hundredth of starting Python, and whatever a repository does to its process, the
next one begins as fresh. What checks need comes into memory with the first repositories that have changed. It is no
daemon of anybody: it ends when nobody writes to it any more, and so does its child.

Run as `python -m kcheck.addons.fleet.station`: tasks come on stdin, outcomes go to stdout, each after its length.
"""

from __future__ import annotations

import gc
import os
import select
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import msgspec
from msgspec.structs import replace

from kcheck.addons.fleet.code import code
from kcheck.addons.fleet.frames import read_frame, write_frame
from kcheck.addons.fleet.task import CHANGED, Outcome, Task, encoded, failed
from kcheck.addons.fleet.unchanged import may_be_quick, quick_outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from kcheck.addons.fleet.warm import Memory

    Action: TypeAlias = Callable[[Task], Outcome]

GRACE = 10.0
"""Seconds after its time that a repository may take to say what it found."""
IDLE = 120.0
"""Seconds without a task after which a station ends, as whoever made it may have forgotten it."""


class _AloneError(Exception):
    """Nobody waits for outcomes any more."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.name)
        self._task = task

    def remove(self) -> None:
        """Remove what was unpacked, in place of the client that made the folder."""
        if self._task.archive:
            shutil.rmtree(os.path.dirname(self._task.folder), ignore_errors=True)


def main() -> None:
    """Answer tasks until there are no more."""
    tasks, outcomes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # nothing that a check prints is taken for an outcome
        os.dup2(silent, stream)
    for number in (signal.SIGINT, signal.SIGTERM):  # who is asked to end by these is the one that waits for outcomes
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    memory: Memory | None = None
    try:
        while (data := _next(tasks)) is not None:
            task = msgspec.msgpack.decode(data, type=Task)
            outcome = None
            if memory is None and may_be_quick(task):
                outcome = _answer(task, _quick, tasks, outcomes)
            if outcome is None or outcome.status == CHANGED:
                memory = memory or _memory()
                memory.prepare(task)
                outcome = _answer(task, _checked, tasks, outcomes)
                memory.learn(outcome)
            write_frame(outcomes, encoded(replace(outcome, code=code())))
    except OSError:  # nobody waits for outcomes any more
        sys.exit(1)
    except _AloneError as error:
        error.remove()
        sys.exit(1)


def _next(tasks: BinaryIO) -> bytes | None:
    """The next task; None if there are no more, or none comes for long. None is under way when this is asked."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(tasks, select.POLLIN)
        if not poll.poll(IDLE * 1000):
            return None
    return read_frame(tasks)


def _memory() -> Memory:
    """What is needed from the first check on; where nothing is unchanged, and only there, it is imported."""
    from kcheck.addons.fleet.warm import Memory

    return Memory()


def _checked(task: Task) -> Outcome:
    from kcheck.addons.fleet.check import check

    return check(task)


def _quick(task: Task) -> Outcome:
    return quick_outcome(task) or Outcome(CHANGED)


def _attempt(task: Task, action: Action) -> Outcome:
    """Check, or look whether that is needed; whatever fails is an outcome."""
    gc.disable()
    try:
        return action(task)
    except MemoryError:
        return failed("it needs more memory than it may have (--memory)")
    except Exception as error:
        from kcheck.text.errors import description

        return failed(f"a bug in kcheck: {description(error)}")


def _answer(task: Task, action: Action, tasks: BinaryIO, outcomes: BinaryIO) -> Outcome:
    """What comes of an action, in a process of its own where the system can fork.

    Raises:
        _AloneError: nobody waits for it any more.
    """
    return _in_a_fork(task, action, tasks, outcomes) if hasattr(os, "fork") else _here(task, action)


def _here(task: Task, action: Action) -> Outcome:
    """Check in this process, which leaves the folder afterwards: Windows removes none that a process is in."""
    here = os.getcwd()
    try:
        return _attempt(task, action)
    finally:
        os.chdir(here)


# --- in a process of its own


def _in_a_fork(task: Task, action: Action, tasks: BinaryIO, outcomes: BinaryIO) -> Outcome:
    """Check in a forked process, which is ended when its time is over, or when nobody waits for it any more.

    Raises:
        _AloneError: that is so.
    """
    (output, own), (alive, held) = os.pipe(), os.pipe()
    try:
        process = os.fork()
    except OSError as error:
        for end in (output, own, alive, held):
            os.close(end)
        return failed(f"no process checks it: {error.strerror}", can_retry=True)
    if not process:
        # what it has of its parent's pipes would keep them open for whoever waits for that one to end
        others = (output, held, tasks.fileno(), outcomes.fileno())
        _leave(lambda: _send(task, action, own, alive, others))
    os.close(own)
    os.close(alive)
    data = None
    try:
        with os.fdopen(output, "rb") as stream:
            data = _received(stream, tasks, task)
    finally:
        if data is None:
            os.kill(process, signal.SIGKILL)
        _, status, usage = os.wait4(process, 0)
        os.close(held)
    if data is None:
        outcome = failed(f"it did not end within {task.bounds.seconds:g} s (--timeout)")
    elif not data:
        outcome = failed(_ended(os.waitstatus_to_exitcode(status)), can_retry=True)
    else:
        outcome = msgspec.msgpack.decode(data, type=Outcome)
    return replace(outcome, memory=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def _leave(action: Callable[[], None]) -> NoReturn:
    """Run an action as the last one of this process."""
    try:
        action()
        os._exit(0)
    finally:
        os._exit(1)


def _send(task: Task, action: Action, own: int, alive: int, others: tuple[int, ...]) -> None:
    """Act in this process, which is a child of the station, and send the outcome."""
    from kcheck.text import deadline

    for end in others:
        os.close(end)
    _end_with(alive)
    os.dup2(1, 2)  # what a library says when it fails is no news for a terminal
    station = os.getppid()
    _limit_memory(task.bounds.memory)
    found: list[Outcome] = []
    try:
        deadline.run_until(lambda: os.getppid() != station, lambda: found.append(_attempt(task, action)))
    finally:
        _limit_memory(None)
    with os.fdopen(own, "wb") as pipe:
        write_frame(pipe, encoded(found[0]))


def _end_with(alive: int) -> None:
    """Have the system end this process, whatever it does, when nobody holds the other end of a pipe any more.

    Elsewhere than on Linux, it asks by itself from time to time.
    """
    if sys.platform != "linux":
        return
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(alive, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(alive, fcntl.F_SETFL, os.O_ASYNC)
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    if poll.poll(0):  # it was too late for the signal
        os._exit(1)


def _limit_memory(most: int | None) -> None:
    """Let this process have so many bytes more than it has, or as many as it may. Only Linux counts them."""
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if most is None:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[5])
    wanted = pages * resource.getpagesize() + most
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _received(pipe: BinaryIO, tasks: BinaryIO, task: Task) -> bytes | None:
    """What the child sends, empty if it ended without; None if its time is over.

    Raises:
        _AloneError: whoever waits for it has ended.
    """
    parts: list[bytes] = []
    end = time.monotonic() + task.bounds.seconds + GRACE
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    poll.register(tasks, select.POLLHUP)
    while (left := end - time.monotonic()) > 0:
        for stream, event in poll.poll(left * 1000):
            if stream == tasks.fileno():
                raise _AloneError(task)
            if event & (select.POLLIN | select.POLLHUP):
                part = os.read(pipe.fileno(), 1 << 20)
                if not part:
                    return _whole(b"".join(parts))
                parts.append(part)
    return None


def _whole(data: bytes) -> bytes:
    """The content of a frame; empty if it is not whole."""
    import io

    return read_frame(io.BytesIO(data)) or b""


def _ended(status: int) -> str:
    """How a process ended that brought no outcome."""
    if status >= 0:
        return f"its process ended with {status}"
    name = signal.Signals(-status).name
    memory = ": out of memory, or a bug in a library" if name in ("SIGKILL", "SIGABRT", "SIGSEGV") else ""
    return f"its process was ended by {name}{memory}"


if __name__ == "__main__":
    main()
