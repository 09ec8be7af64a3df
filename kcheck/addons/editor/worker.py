"""The thread that checks: what is asked for later ends what is still going on."""

from __future__ import annotations

import gc
from functools import partial
from threading import Condition, Thread
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.config import ConfigError
from kcheck.text import deadline
from kcheck.text.files.tree import PathError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.addons.editor.checker import Checker
    from kcheck.addons.editor.snapshot import Snapshot


_RUNS = 20
"""After so many runs Python looks for cycles: a run leaves a hundred, and looking takes as long as a short run."""


class Answer(NamedTuple):
    """What came of a request: a state of a folder, or why there is none. `last` if nothing more comes of it."""

    request: int
    folder: str
    snapshot: Snapshot | None
    error: str = ""
    last: bool = False


class Worker:
    """Checks folders, one after the other, each time that it is asked to; `tell` is called in its thread."""

    def __init__(self, tell: Callable[[Answer], None]) -> None:
        self._tell = tell
        self._change = Condition()
        self._wanted: tuple[tuple[Checker, ...], Mapping[str, bytes]] | None = None
        self._request = 0
        self._ended = False
        self._thread = Thread(target=self._work, name="kcheck", daemon=True)

    def start(self) -> None:
        """Begin to wait for requests."""
        self._thread.start()

    def check(self, checkers: tuple[Checker, ...], texts: Mapping[str, bytes]) -> int:
        """Ask for a check; gives the number of the request."""
        with self._change:
            self._request += 1
            self._wanted = (checkers, texts)
            self._change.notify()
            return self._request

    def end(self) -> None:
        """End the thread, whatever it does."""
        with self._change:
            self._ended = True
            self._wanted = None
            self._change.notify()

    def _work(self) -> None:
        runs = 0
        while True:
            with self._change:
                self._change.wait_for(lambda: self._wanted is not None or self._ended)
                if self._ended or self._wanted is None:
                    return
                (checkers, texts), self._wanted = self._wanted, None
                request = self._request
            try:
                deadline.run_until(self._is_outdated, partial(self._check_all, request, checkers, texts))
            except deadline.CancelledError:
                continue
            runs += 1
            if runs % _RUNS == 0:
                gc.collect()

    def _is_outdated(self) -> bool:
        return self._wanted is not None or self._ended

    def _check_all(self, request: int, checkers: tuple[Checker, ...], texts: Mapping[str, bytes]) -> None:
        for checker in checkers:
            self._check(request, checker, texts, is_last=checker is checkers[-1])

    def _check(self, request: int, checker: Checker, texts: Mapping[str, bytes], *, is_last: bool) -> None:
        error = ""
        try:
            for snapshot in checker.check(texts):
                self._tell(Answer(request, checker.folder, snapshot))
        except (ConfigError, PathError) as mistake:
            error = str(mistake)
        except Exception as bug:  # it is said, and the next change may go well
            error = f"kcheck failed, please report this: {bug!r}"
        self._tell(Answer(request, checker.folder, None, error, last=is_last))
