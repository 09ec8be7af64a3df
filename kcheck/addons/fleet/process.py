"""A process for each check, forked from one that has kcheck in memory; nothing of it is left afterwards."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from kcheck.addons.fleet.task import Outcome, Task, encoded, failed
from kcheck.config.today import VARIABLE
from kcheck.text.errors import description

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

GRACE = 10.0
"""Seconds after its time that a repository may take to say what it found."""
_CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
_CONTEXT = multiprocessing.get_context("forkserver") if _CAN_FORK else multiprocessing.get_context("spawn")
_LOADED = ["kcheck.addons.fleet.preload", "kcheck.commands.cli", "dask.__main__"]
"""What each check needs, and what clients and workers of Dask began with: their children import that again."""
_LONGEST = 64
"""Bytes of the path of a folder for temporary files."""

_lock = threading.Lock()
"""Held to start a process, and to collect its status: `multiprocessing` collects that of others, too."""
_running: set[BaseProcess] = set()
_is_over = threading.Event()


# --- of the worker


def prepare() -> None:
    """Start the process that checks are forked from, unless it is there; do not wait until it has all in memory."""
    os.environ["PYTHONSAFEPATH"] = "1"  # the current folder may be a stranger's, and is no place for modules
    multiprocessing.current_process().daemon = False  # workers of Dask are, and may have no children then
    if not _CAN_FORK:
        return
    forkserver.set_forkserver_preload(_LOADED)
    resource_tracker.ensure_running()  # first: it lets all signals through that were blocked
    folder = tempfile.gettempdir()  # of its socket, whose path may have 100 bytes
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the client, which ends the rest
    try:
        tempfile.tempdir = folder if len(os.fsencode(folder)) < _LONGEST else "/tmp"  # noqa: S108 - makes its own in it
        forkserver.ensure_running()
    finally:
        tempfile.tempdir = folder
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def all_ended() -> Iterator[None]:
    """End all checks, and start none meanwhile."""
    with _lock:
        _is_over.set()
        for process in _running:
            _kill(process)
    try:
        yield
    finally:
        _is_over.clear()


def outcome_of(task: Task) -> Outcome:
    """Check a repository in a process of its own; whatever becomes of it, there is an outcome in bounded time."""
    begin = time.monotonic()
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_send, args=(task, sender), daemon=True)
    with receiver:
        try:
            with sender, _lock:
                if _is_over.is_set():
                    return failed("the run has ended")
                prepare()
                process.start()
                _running.add(process)
        except (OSError, EOFError) as error:
            return failed(f"no process checks it: {error}", can_retry=True)
        data, is_late = _received(receiver, process, task.bounds.seconds + GRACE)
    if is_late:
        outcome = failed(f"it did not end within {task.bounds.seconds:g} s (--timeout)")
    elif data is None:
        outcome = failed(_ended(process.exitcode), can_retry=not _is_over.is_set())
    else:
        outcome = msgspec.msgpack.decode(data, type=Outcome)
    return replace(outcome, seconds=outcome.seconds or time.monotonic() - begin)


def _received(receiver: Connection, process: BaseProcess, seconds: float) -> tuple[bytes | None, bool]:
    """Wait for what a process sends, end it, and return that; None without. Also return whether its time was over."""
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        return receiver.recv_bytes(), False
    except (EOFError, OSError):
        return None, late.is_set()
    finally:
        timer.cancel()
        with _lock:
            _kill(process)
            process.join()
            _running.discard(process)


def _kill(process: BaseProcess) -> None:
    """Kill a process, which waits for that when it is done, and all that it has started."""
    if process.pid is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # it has no group yet, or all in it have ended
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _ended(status: int | None) -> str:
    """Say how a process ended that brought no outcome."""
    if status is None or status >= 0:
        return f"its process ended with {status}"
    name = signal.Signals(-status).name
    memory = ": out of memory, or a bug in a library" if name in ("SIGKILL", "SIGABRT", "SIGSEGV") else ""
    return f"its process was ended by {name}{memory}"


# --- in the process of a check


def _send(task: Task, sender: Connection) -> None:
    """Check in this process, send the outcome, and wait for the end."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    threading.Thread(target=_end_with_worker, daemon=True).start()
    _silence()
    gc.disable()
    _limit_memory(task.bounds.memory)
    try:
        outcome = _attempt(task)
    finally:
        _limit_memory(None)
    sender.send_bytes(encoded(replace(outcome, memory=_most_memory())))
    if hasattr(signal, "pause"):
        while True:  # as long as this process is there, its number is that of no other group
            signal.pause()


def _attempt(task: Task) -> Outcome:
    """Check in this process; whatever fails is an outcome."""
    from kcheck.addons.fleet.check import check  # of the engine, which a worker needs only here

    if task.day:
        os.environ[VARIABLE] = task.day
    try:
        os.chdir(task.folder)
    except OSError as error:
        return failed(f"{task.folder}: {error.strerror}")
    try:
        return check(task)
    except MemoryError:
        return failed("it needs more memory than it may have (--memory)")
    except Exception as error:
        return failed(f"a bug in kcheck: {description(error)}")


def _end_with_worker() -> None:
    """End this process, and all that it has started, when the worker has ended that waits for it."""
    worker = multiprocessing.parent_process()
    if worker is not None:
        worker.join()
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _silence() -> None:
    """Keep from the terminal what a check, or a library that fails, prints."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)


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


def _most_memory() -> int:
    """Return the most bytes that this process had; 0 where the system does not count them."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
