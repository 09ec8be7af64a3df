"""A run over a fleet: what has changed is checked, the rest is taken over; nothing that is found is lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kcheck.addons.fleet.checkout import Keys, revision
from kcheck.addons.fleet.task import CHECKED, FAILED, Bounds, Outcome, Task
from kcheck.config.config import ConfigError
from kcheck.config.today import today

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kcheck.addons.fleet.listing import Repository
    from kcheck.addons.fleet.outcomes import Kept


class EngineError(ConfigError):
    """There is nothing to check repositories with, or not any more."""


class Engine(Protocol):
    """What checks repositories: `jobs` at a time. `name` is local, or the address of a scheduler."""

    name: str

    @property
    def jobs(self) -> int:
        """Repositories checked at a time."""
        ...

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """What becomes of each task, in the order in which they end; tasks are taken when there is room for them."""
        ...


class Order(NamedTuple):
    """What each repository may take, and how often one that failed is tried again.

    A `fresh` run checks what is unchanged, too.
    """

    bounds: Bounds = Bounds()
    retries: int = 1
    fresh: bool = False


class Done(Struct):
    """How far a run is. `failed` are those that could not be checked, `retried` those that wait for another attempt."""

    repositories: int
    ended: int = 0
    unchanged: int = 0
    failed: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Repositories in a second."""
        return self.ended / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float:
        """Seconds that the rest takes at that rate."""
        return (self.repositories - self.ended) / self.rate if self.ended else 0.0


class Ended(NamedTuple):
    """What a run says of one repository; its rows are kept. `outcome` is without them."""

    repository: Repository
    outcome: Outcome
    attempts: int


def run(
    repositories: Sequence[Repository], kept: Kept, engine: Engine, order: Order, tell: Callable[[Done], None]
) -> list[Ended]:
    """Check all repositories that have changed, those that take longest first; `tell` is told how far it is.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
        EngineError: the engine has failed.
    """
    made = _Run(repositories, kept, order, tell)
    left = made.changed(sorted(repositories, key=lambda one: -(kept.seconds(one.name) or float("inf"))))
    for attempt in range(1, order.retries + 2):
        again = []
        for task, outcome in engine.outcomes(map(made.task, left)):
            one = made.by_name[task.name]
            if outcome.can_retry and attempt <= order.retries:
                again.append(one)
            else:
                made.end(one, outcome, attempt)
        left = again
    return [made.ended[one.name] for one in repositories]


class _Run:
    """A run while it goes on."""

    def __init__(
        self, repositories: Sequence[Repository], kept: Kept, order: Order, tell: Callable[[Done], None]
    ) -> None:
        self.by_name = {one.name: one for one in repositories}
        self.ended: dict[str, Ended] = {}
        self._kept, self._order, self._tell = kept, order, tell
        self._day = today().isoformat()
        self._keys = Keys(self._day)
        self._known: dict[str, str] = {}
        self._begin, self._done = time.monotonic(), Done(len(repositories))

    def changed(self, repositories: Iterable[Repository]) -> list[Repository]:
        """List the repositories to be checked; the others have ended."""
        found = []
        for one in repositories:
            before = "" if self._order.fresh else self._kept.key(one.name)
            if before and before == self._key(one):
                self.end(one, Outcome(CHECKED, is_unchanged=True, revision=revision(one.folder)), 1)
            else:
                found.append(one)
        return found

    def task(self, one: Repository) -> Task:
        """Say what is to be checked, with its key of now: what changes meanwhile is checked by the next run."""
        self._key(one)
        return Task(one.name, one.folder, one.settings, self._order.bounds, self._day)

    def end(self, one: Repository, outcome: Outcome, attempt: int) -> None:
        """Keep the outcome of a repository, and say how far the run is."""
        if not outcome.is_unchanged:
            key = self._key(one) if outcome.status == CHECKED else ""
            self._kept.keep(one.name, replace(outcome, key=key))
        self.ended[one.name] = Ended(one, replace(outcome, rows=None), attempt)
        done = self._done
        done.ended += 1
        done.unchanged += outcome.is_unchanged
        done.failed += outcome.status == FAILED
        done.seconds = time.monotonic() - self._begin
        self._tell(done)

    def _key(self, one: Repository) -> str:
        if one.name not in self._known:
            self._known[one.name] = self._keys.of(one)
        return self._known[one.name]
