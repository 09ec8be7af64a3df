"""What is going on, for people who wait at a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kcheck.text.control_characters import visible

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from typing import TextIO

_PATIENCE = 1.0
"""Seconds that nobody minds."""
_EVERY = 0.2
_WIDEST = 79
_CLEAR = "\r\x1b[K"


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Tell on stderr what goes on, if that is a terminal and it takes longer than a second; gone at the end.

    Yields a function that takes what goes on.
    """
    screen = sys.stderr
    if quiet or not screen.isatty():
        yield lambda _: None
        return
    import threading

    stage = ["reading"]
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(screen, stage, done), daemon=True)
    teller.start()
    try:
        yield lambda text: stage.__setitem__(0, text)
    finally:
        done.set()
        teller.join()


def _tell(screen: TextIO, stage: list[str], done: threading.Event) -> None:
    begin = time.monotonic()
    if done.wait(_PATIENCE):
        return
    while not done.wait(_EVERY):
        seconds = int(time.monotonic() - begin)
        screen.write(f"{_CLEAR}{visible(f'kcheck: {stage[0]}, {seconds} s')[:_WIDEST]}")
        screen.flush()
    screen.write(_CLEAR)
    screen.flush()
