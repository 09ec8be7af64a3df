"""The time that a run may take. Where the system has timers it ends at once, elsewhere between two units of work."""

from __future__ import annotations

import time

_REPORT = 10.0
"""Seconds that the report may take, at least."""


class DeadlineError(BaseException):
    """The time is over. Not an Exception, so that nothing takes it for a mistake in its input."""


class _State:
    seconds: float = 0
    end: float | None = None


def start(seconds: float) -> None:
    """Begin to count. What has been raised is raised again, if the report of what was found does not end either."""
    import signal  # few set a limit

    _State.seconds, _State.end = seconds, time.monotonic() + seconds
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _ring)
        signal.setitimer(signal.ITIMER_REAL, seconds, max(seconds, _REPORT))


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


def check() -> None:
    """End the run if its time is over: asked between units of work, for systems without timers.

    Raises:
        DeadlineError: it is.
    """
    if _State.end is not None and time.monotonic() > _State.end:
        _State.end = time.monotonic() + max(_State.seconds, _REPORT)
        raise DeadlineError


def reason() -> str:
    """What ended the run."""
    return f"stopped after {_State.seconds:g} s (--timeout)"


def _ring(_number: int, _frame: object) -> None:
    raise DeadlineError
