"""Check changed repositories of a fleet, and reuse the outcomes of others."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from kcheck.addons.fleet import process
from kcheck.addons.fleet.checkout import Keys
from kcheck.addons.fleet.listing import Repository
from kcheck.addons.fleet.outcomes import CHECKED, FAILED, EngineError, Kept, Outcome, Task
from kcheck.config.config import today
from kcheck.report import page
from kcheck.terraform.copies import revision
from kcheck.text.regex import regex

_ADDRESS = regex(r"(?:tcp|tls|wss?|ucxx?)://[^/]+:\d{1,5}")


class Engine(Protocol):
    """Checks repositories, `jobs` at a time."""

    jobs: int

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Yield the outcomes of tasks as they finish; only a few tasks are read ahead."""
        ...


def engine_of(scheduler: str | None, jobs: int) -> Callable[[], AbstractContextManager[Engine]]:
    """Return an engine: the workers of a scheduler, or `jobs` local threads.

    Raises EngineError if `scheduler` is not an address.
    """
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        raise EngineError(f"{scheduler} is not a scheduler; expected tcp://HOST:PORT or tls://HOST:PORT")

    def start() -> AbstractContextManager[Engine]:
        if scheduler is None:
            process.prepare()  # while Dask is imported
        try:
            from kcheck.addons.fleet.engine import DaskEngine
        except ImportError as error:
            raise EngineError(f"kcheck fleet needs Dask: {page.install('fleet')}") from error
        return DaskEngine(scheduler, jobs)

    return start


class Order(NamedTuple):
    """Limits for each repository, retries, and whether a run is `fresh`."""

    seconds: float = 600.0
    memory: int = 4 * 1024**3
    retries: int = 1
    fresh: bool = False


class Ended(NamedTuple):
    """Outcome of a repository without its rows, which are saved."""

    repository: Repository
    outcome: Outcome
    attempts: int


def run(
    repositories: Sequence[Repository], kept: Kept, start: Callable[[], AbstractContextManager[Engine]], order: Order,
    tell: Callable[[str], None],
) -> tuple[list[Ended], int | None]:  # fmt: skip
    """Check all changed repositories, the slowest first; `tell` receives progress.

    Also return how many were checked at a time; None if none was. Raises ConfigError if KCHECK_TODAY is no day,
    EngineError if the engine has failed.
    """
    made, jobs = _Run(repositories, kept, order, tell), None
    if left := made.changed(repositories):
        tell(f"checking {len(left):,} of {len(repositories):,} repositories")
        with start() as engine:
            for attempt in range(1, order.retries + 2):
                again = []
                for task, outcome in engine.outcomes(map(made.task, left)):
                    one = made.by_name[task.name]
                    if outcome.can_retry and attempt <= order.retries:
                        again.append(one)
                    else:
                        made.end(one, outcome, attempt)
                left = again
            jobs = engine.jobs
    return [made.ended[one.name] for one in repositories], jobs


class _Run:
    """A run in progress."""

    def __init__(
        self, repositories: Sequence[Repository], kept: Kept, order: Order, tell: Callable[[str], None]
    ) -> None:
        self.by_name = {one.name: one for one in repositories}
        self.ended: dict[str, Ended] = {}
        self._kept, self._order, self._tell = kept, order, tell
        self._day = today().isoformat()
        keys = Keys(self._day)
        self._key = cache(lambda name: keys.of(self.by_name[name]))
        self._begin, self._failures = time.monotonic(), 0

    def changed(self, repositories: Iterable[Repository]) -> list[Repository]:
        """List the repositories to check, the slowest first."""
        seconds: dict[str, float] = {}
        for one in repositories:
            last = self._kept.outcome(one.name)
            if last is not None and last.key and not self._order.fresh and last.key == self._key(one.name):
                self.end(one, Outcome(CHECKED, is_unchanged=True), 1)
            else:
                seconds[one.name] = last.seconds if last is not None and last.seconds else float("inf")
        return [self.by_name[name] for name in sorted(seconds, key=seconds.__getitem__, reverse=True)]

    def task(self, one: Repository) -> Task:
        """Make the task of a repository, with its current key."""
        self._key(one.name)
        return Task(one.name, one.folder, one.settings, self._order.seconds, self._order.memory, self._day)

    def end(self, one: Repository, outcome: Outcome, attempt: int) -> None:
        """Save the outcome of a repository, and report progress."""
        outcome = replace(outcome, revision=revision(one.folder))
        if not outcome.is_unchanged:
            self._kept.keep(one.name, replace(outcome, key=self._key(one.name) if outcome.status == CHECKED else ""))
        self.ended[one.name] = Ended(one, replace(outcome, rows=None), attempt)
        seconds = time.monotonic() - self._begin
        self._failures += outcome.status == FAILED
        self._tell(progress(len(self.ended), len(self.by_name), self._failures, seconds))


def progress(ended: int, repositories: int, failures: int, seconds: float) -> str:
    """Format the progress of a run, and the remaining time at its rate."""
    rate = ended / seconds if seconds else 0.0
    left = (repositories - ended) / rate if rate else 0.0
    failed = f", {failures:,} failed" if failures else ""
    return f"{ended:,} of {repositories:,} repositories, {rate:.1f}/s{failed}, {left:.0f} s left"
