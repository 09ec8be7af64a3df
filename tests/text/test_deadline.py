"""Test the deadline of a run: raised once, by the timer or between two units of work."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from kcheck.text import deadline

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.medium


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    deadline.stop()


def wait(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_work_ended_by_the_timer_can_still_report() -> None:
    deadline.start(0.02)
    with pytest.raises(deadline.DeadlineError):
        wait(30)
    deadline.check()


@pytest.mark.slow
def test_work_ended_between_two_units_gets_no_second_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline.start(0.3)
    with monkeypatch.context() as later:
        later.setattr(time, "monotonic", lambda: time.perf_counter() + 1e9)
        with pytest.raises(deadline.DeadlineError):
            deadline.check()
    wait(0.5)
