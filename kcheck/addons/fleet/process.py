"""A process per check, forked from one that has loaded kcheck."""

import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection

import msgspec
from msgspec.structs import replace

from kcheck.addons.fleet.outcomes import Outcome, Task, encoded, failed

if sys.platform != "win32":
    import resource

GRACE = 10.0
"""Seconds after its time that a repository may take to say what it found."""
_CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
_CONTEXT = multiprocessing.get_context("forkserver") if _CAN_FORK else multiprocessing.get_context("spawn")
_LOADED = ["kcheck.addons.fleet.preload", "kcheck.commands.cli", "dask.__main__"]
"""What each check needs, and what clients and workers of Dask began with: their children import that again."""

_lock = threading.Lock()
"""Held to start a process, and to collect its status: `multiprocessing` collects that of others, too."""
_is_over = threading.Event()


# --- of the worker


def prepare() -> None:
    """Start the process that checks are forked from, without waiting for it."""
    os.environ["PYTHONSAFEPATH"] = "1"  # the current folder may be a stranger's, and is no place for modules
    multiprocessing.current_process().daemon = False  # workers of Dask are, and may have no children then
    if not _CAN_FORK:
        return
    forkserver.set_forkserver_preload(_LOADED)
    resource_tracker.ensure_running()  # first: it lets all signals through that were blocked
    folder = tempfile.gettempdir()  # of its socket, whose path may have 100 bytes, 36 of them its own
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the client, which ends the rest
    try:
        tempfile.tempdir = folder if len(os.fsencode(folder)) < 64 else "/tmp"  # noqa: S108 - makes its own in it
        forkserver.ensure_running()
    finally:
        tempfile.tempdir = folder
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def all_ended() -> Iterator[None]:
    """End all checks, and start none meanwhile."""
    with _lock:
        _is_over.set()
        for process in multiprocessing.active_children():
            process.kill()
    try:
        yield
    finally:
        _is_over.clear()


def outcome_of(task: Task) -> Outcome:
    """Check a repository in its own process, in bounded time."""
    begin, data = time.monotonic(), None
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_send, args=(task, sender), daemon=True)
    with receiver:
        try:
            with sender, _lock:
                if _is_over.is_set():
                    return failed("the run has ended")
                prepare()
                process.start()
        except (OSError, EOFError) as error:
            return failed(f"no process checks it: {error}", can_retry=True)
        has_ended = receiver.poll(task.seconds + GRACE)
        with suppress(EOFError, OSError):
            data = receiver.recv_bytes() if has_ended else None
    with _lock:
        process.kill()
        process.join()
    if data is not None:
        outcome = msgspec.msgpack.decode(data, type=Outcome)
    elif has_ended:
        outcome = failed(_ended(process.exitcode), can_retry=not _is_over.is_set())
    else:
        outcome = failed(f"it did not end within {task.seconds:g} s (--timeout)")
    return replace(outcome, seconds=outcome.seconds or time.monotonic() - begin)


def _ended(status: int | None) -> str:
    """Describe how a process ended without an outcome."""
    if status is None or status >= 0:
        return f"its process ended with {status}"
    name = signal.Signals(-status).name
    memory = ": out of memory, or a bug in a library" if name in ("SIGKILL", "SIGABRT", "SIGSEGV") else ""
    return f"its process was ended by {name}{memory}"


def _send(task: Task, sender: Connection) -> None:
    """Check in this process, and send the outcome."""
    from kcheck.addons.fleet.check import check  # of the engine, which a worker needs only here

    threading.Thread(target=_end_with_worker, daemon=True).start()
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what a library prints that fails is not for the terminal
        os.dup2(silent, stream)
    gc.disable()
    with _limited(task.memory):
        outcome = check(task)
    memory = 0
    if sys.platform != "win32":
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    sender.send_bytes(encoded(replace(outcome, memory=memory)))


def _end_with_worker() -> None:
    """End this process when the worker that waits for it has ended."""
    worker = multiprocessing.parent_process()
    if worker is not None:
        worker.join()
    os._exit(1)


@contextmanager
def _limited(memory: int) -> Iterator[None]:
    """Limit this process to `memory` more bytes than it uses now, on Linux."""
    if sys.platform != "linux":
        yield
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with open("/proc/self/statm", encoding="ascii") as file:
        most = int(file.read().split()[5]) * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
