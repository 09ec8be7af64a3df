"""Control a run: report progress, and end it early if needed.

Timers end it at once if the system has them; everything else is checked between units of work.
"""

import time
from _thread import get_ident  # threading takes 3 ms to import
from collections.abc import Callable, Collection, Iterator
from typing import NoReturn, TypeAlias, TypeVar

T = TypeVar("T")
Tell: TypeAlias = Callable[[str], None]

_REPORT = 10.0
"""Seconds that the report may take at least."""


class DeadlineError(BaseException):
    """The time limit was reached; not an Exception, so that none handles it."""


class CancelledError(BaseException):
    """The run was cancelled; not an Exception, so that none handles it."""


class _State:
    seconds: float = 0
    end: float | None = None
    is_cancelled: Callable[[], bool] | None = None
    thread = 0


def start(seconds: float) -> None:
    """Start the countdown; it raises again if the report is late, too."""
    import signal

    _State.seconds = seconds
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda _number, _frame: _end())
    _count(seconds)


def stop() -> None:
    """Stop the countdown before work that is quick, or must not be interrupted."""
    if _State.end is not None:
        _count(0)
        _State.end = None


def run_until(is_cancelled: Callable[[], bool], action: Callable[[], None]) -> None:
    """Run an action in this thread until a function cancels it.

    Raises CancelledError if the function returned true.
    """
    _State.is_cancelled, _State.thread = is_cancelled, get_ident()
    try:
        action()
    finally:
        _State.is_cancelled = None


def check() -> None:
    """Raise if the run is over; called between units of work.

    Raises DeadlineError if its time is over, CancelledError if it was cancelled.
    """
    check_cancelled()
    if _State.end is not None and time.monotonic() > _State.end:
        _end()


def no_progress(text: str) -> None:
    """Ignore progress messages."""


def each(units: Collection[T], what: str, tell: Tell) -> Iterator[T]:
    """Yield units of work, report each, and raise if the run is over."""
    for number, unit in enumerate(units, 1):
        check()
        tell(f"reading, {number:,} of {len(units):,} {what}")
        yield unit


def check_cancelled() -> None:
    """Raise if the run was cancelled, whatever time is left.

    Raises CancelledError if it was cancelled.
    """
    if _State.is_cancelled is not None and _State.thread == get_ident() and _State.is_cancelled():
        raise CancelledError


def reason() -> str:
    """Return why the run ended."""
    return f"stopped after {_State.seconds:g} s (--timeout)"


def _end() -> NoReturn:
    """Restart the countdown for the report, and raise.

    Raises DeadlineError always.
    """
    _count(max(_State.seconds, _REPORT))
    raise DeadlineError


def _count(seconds: float) -> None:
    import signal  # few set a limit

    _State.end = time.monotonic() + seconds
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
