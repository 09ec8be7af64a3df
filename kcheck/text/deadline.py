"""The end of a run before it is done: its time is over, or nobody waits for it any more.

Where the system has timers, time that is over ends it at once; all else between two units of work.
"""

from __future__ import annotations

import time
from _thread import get_ident  # threading takes 3 ms to import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_REPORT = 10.0
"""Seconds that the report may take, at least."""


class DeadlineError(BaseException):
    """The time is over. Not an Exception, so that nothing takes it for a mistake in its input."""


class CancelledError(BaseException):
    """Nobody waits for the run any more. Not an Exception, either."""


class _State:
    seconds: float = 0
    end: float | None = None
    is_cancelled: Callable[[], bool] | None = None
    thread = 0


def start(seconds: float) -> None:
    """Begin to count. What has been raised is raised again, if the report of what was found does not end either."""
    import signal

    _State.seconds = seconds
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda _number, _frame: _end())
    _count(seconds)


def stop() -> None:
    """Count no more: what follows is quick, or must not be left half done."""
    if _State.end is None:
        return
    import signal

    _State.end = None
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def is_set() -> bool:
    """Whether the run has a limit."""
    return _State.end is not None


def run_until(is_cancelled: Callable[[], bool], action: Callable[[], None]) -> None:
    """Run an action of this thread that ends as soon as a function says so; one thread at a time has such a run.

    Raises:
        CancelledError: it said so.
    """
    _State.is_cancelled, _State.thread = is_cancelled, get_ident()
    try:
        action()
    finally:
        _State.is_cancelled = None


def check() -> None:
    """End the run if its time is over, or if it was cancelled: asked between units of work.

    Raises:
        DeadlineError: its time is over.
        CancelledError: it was cancelled.
    """
    check_cancelled()
    if _State.end is not None and time.monotonic() > _State.end:
        _end()


def check_cancelled() -> None:
    """End the run if it was cancelled, however much time there is: asked where a report is made of what was found.

    Raises:
        CancelledError: it was.
    """
    if _State.is_cancelled is not None and _State.thread == get_ident() and _State.is_cancelled():
        raise CancelledError


def reason() -> str:
    """What ended the run."""
    return f"stopped after {_State.seconds:g} s (--timeout)"


def _end() -> NoReturn:
    """End the run, and count anew for the report of what was found: the timer and `check` do not both end it.

    Raises:
        DeadlineError: always.
    """
    _count(max(_State.seconds, _REPORT))
    raise DeadlineError


def _count(seconds: float) -> None:
    import signal  # few set a limit

    _State.end = time.monotonic() + seconds
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
