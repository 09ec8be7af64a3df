"""A run over a fleet: what has changed is checked, the rest is taken over; nothing that is found is lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kcheck.addons.fleet.task import FAILED, Bounds, Outcome, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kcheck.addons.fleet.listing import Repository
    from kcheck.addons.fleet.outcomes import Kept


class EngineError(Exception):
    """There is nothing to check repositories with, or not any more."""


class Engine(Protocol):
    """What checks repositories: `jobs` at a time. `name` is local, dask, or the address of a scheduler."""

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
    """Check all repositories, those that take longest first; `tell` is told how far it is."""
    begin = time.monotonic()
    done = Done(len(repositories))
    by_name = {one.name: one for one in repositories}
    ended: dict[str, Ended] = {}
    left = sorted(repositories, key=lambda one: -(kept.seconds(one.name) or float("inf")))
    for attempt in range(1, order.retries + 2):
        again = []
        tasks = (_task(one, kept, order, (len(left) - n) // engine.jobs) for n, one in enumerate(left, 1))
        for task, outcome in engine.outcomes(tasks):
            if outcome.can_retry and attempt <= order.retries:
                again.append(by_name[task.name])
                continue
            if not outcome.is_unchanged:
                kept.keep(task.name, outcome)
            ended[task.name] = Ended(by_name[task.name], replace(outcome, rows=None, past=None), attempt)
            done.ended += 1
            done.unchanged += outcome.is_unchanged
            done.failed += outcome.status == FAILED
            done.seconds = time.monotonic() - begin
            tell(done)
        left = again
    return [ended[one.name] for one in repositories]


def _task(one: Repository, kept: Kept, order: Order, more: int) -> Task:
    past = None if order.fresh else kept.past(one.name)
    return Task(one.name, one.folder, one.settings, order.bounds, past, more=more)
