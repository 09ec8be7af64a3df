"""The thread that works out edits: each is proved by checking again, which an editor must not wait for."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from itertools import count
from queue import PriorityQueue
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from kcheck.addons.editor import actions
from kcheck.text import deadline

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.addons.editor.actions import Plan, Request
    from kcheck.addons.editor.snapshot import Snapshot


class OutdatedError(Exception):
    """The text has changed before its edits were worked out."""


class _Task(NamedTuple):
    """What is to be worked out, as long as it `is_current`; what has the lowest rank is next."""

    rank: tuple[bool, int]
    snapshot: Snapshot
    request: Request
    is_current: Callable[[], bool]
    future: Future[Plan]


class Prover:
    """Works out edits, one after the other; what was worked out for a state of a folder is kept until the next one."""

    def __init__(self) -> None:
        self._queue: PriorityQueue[_Task] = PriorityQueue()
        self._numbers = count()
        self._plans: dict[str, tuple[Snapshot, dict[Request, Future[Plan]]]] = {}
        self._thread: Thread | None = None

    def known(self, snapshot: Snapshot, request: Request) -> Plan | None:
        """What an action does, if that was worked out already."""
        future = self._of(snapshot).get(request)
        return future.result() if future is not None and future.done() and future.exception() is None else None

    def ask(
        self, snapshot: Snapshot, request: Request, is_current: Callable[[], bool], *, chosen: bool = False
    ) -> Future[Plan]:
        """Work out what an action does, as long as the text `is_current`; what somebody has `chosen` is next."""
        plans = self._of(snapshot)
        future = plans.get(request)
        is_new = future is None or (future.done() and future.exception() is not None)
        if future is None or is_new:
            future = plans[request] = Future()
        if is_new or (chosen and not future.done()):
            self._queue.put(_Task((not chosen, next(self._numbers)), snapshot, request, is_current, future))
        if self._thread is None:
            self._thread = Thread(target=self._work, name="kcheck-edits", daemon=True)
            self._thread.start()
        return future

    def _of(self, snapshot: Snapshot) -> dict[Request, Future[Plan]]:
        if snapshot.folder not in self._plans or self._plans[snapshot.folder][0] is not snapshot:
            self._plans[snapshot.folder] = (snapshot, {})
        return self._plans[snapshot.folder][1]

    def _work(self) -> None:
        while True:
            task = self._queue.get()
            if task.future.done():  # it was chosen before its turn
                continue
            try:
                _go_on(task, "")
                task.future.set_result(actions.work_out(task.snapshot, task.request, partial(_go_on, task)))
            except deadline.CancelledError:
                task.future.set_exception(OutdatedError())
            except Exception as bug:  # it is said where the action was asked for
                task.future.set_exception(bug)


def _go_on(task: _Task, _doing: str) -> None:
    """End the run for a task that nobody waits for any more.

    Raises:
        deadline.CancelledError: the text is another one.
    """
    if not task.is_current():
        raise deadline.CancelledError
