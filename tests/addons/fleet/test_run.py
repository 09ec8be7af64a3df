"""Runs over a fleet, with an engine that checks nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet.listing import Repository
from kcheck.addons.fleet.outcomes import Kept
from kcheck.addons.fleet.run import Done, Order, run
from kcheck.addons.fleet.tables import Rows
from kcheck.addons.fleet.task import Bounds, Outcome, Past, Settings, failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kcheck.addons.fleet.task import Task

pytestmark = pytest.mark.smoke

PAST = Past("code", Settings(), [("kind", "main.tf", "file")])
FLEET = [Repository(name, f"/checkouts/{name}") for name in ("a", "b", "c")]


class Scripted:
    """An engine whose outcomes are given, by the name of the repository, an attempt each; it notes what it is asked."""

    jobs = 1
    name = "scripted"

    def __init__(self, **outcomes: list[Outcome]) -> None:
        self.outcomes_of = outcomes
        self.asked: list[Task] = []

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            self.asked.append(task)
            yield task, self.outcomes_of.get(task.name, [Outcome("checked", rows=Rows(suppressed=1), past=PAST)]).pop(0)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(str(tmp_path / "out"))


def test_what_is_found_is_kept_and_told(kept: Kept) -> None:
    told: list[tuple[int, int]] = []
    ended = run(
        FLEET, kept, Scripted(b=[failed("broken")]), Order(), lambda done: told.append((done.ended, done.failed))
    )
    assert [(one.repository.name, one.outcome.status, one.attempts) for one in ended] == [
        ("a", "checked", 1), ("b", "failed", 1), ("c", "checked", 1),
    ]  # fmt: skip
    assert told == [(1, 0), (2, 1), (3, 1)]
    assert all(one.outcome.rows is None for one in ended)
    outcome = kept.outcome("a")
    assert outcome is not None
    assert outcome.rows == Rows(suppressed=1)


def test_the_next_run_is_told_what_the_last_one_saw(kept: Kept) -> None:
    run(FLEET, kept, Scripted(b=[failed("broken")]), Order(), lambda _: None)
    unchanged = Scripted(a=[Outcome("checked", past=PAST, is_unchanged=True)])
    ended = run(FLEET, kept, unchanged, Order(), lambda _: None)
    assert {task.name: task.past for task in unchanged.asked} == {"a": PAST, "b": None, "c": PAST}
    assert [one.outcome.is_unchanged for one in ended] == [True, False, False]
    outcome = kept.outcome("a")
    assert outcome is not None
    assert outcome.rows == Rows(suppressed=1)  # of the run before


@pytest.mark.parametrize(("jobs", "more"), [(1, [2, 1, 0]), (2, [1, 0, 0]), (8, [0, 0, 0])])
def test_a_task_says_how_many_its_worker_gets_after_it(jobs: int, more: list[int], kept: Kept) -> None:
    engine = Scripted()
    engine.jobs = jobs
    run(FLEET, kept, engine, Order(), lambda _: None)
    assert [task.more for task in engine.asked] == more


def test_a_fresh_run_is_told_nothing(kept: Kept) -> None:
    run(FLEET, kept, Scripted(), Order(), lambda _: None)
    fresh = Scripted()
    run(FLEET, kept, fresh, Order(fresh=True), lambda _: None)
    assert [task.past for task in fresh.asked] == [None] * 3


def test_those_that_take_longest_come_first_and_unknown_ones_before_them(kept: Kept) -> None:
    for name, seconds in (("a", 1.0), ("c", 9.0)):
        kept.keep(name, Outcome("checked", seconds=seconds))
    engine = Scripted()
    run(FLEET, kept, engine, Order(), lambda _: None)
    assert [task.name for task in engine.asked] == ["b", "c", "a"]


@pytest.mark.parametrize(("retries", "status", "attempts"), [(0, "failed", 1), (1, "failed", 2), (2, "checked", 3)])
def test_who_died_by_chance_is_tried_again(retries: int, status: str, attempts: int, kept: Kept) -> None:
    dead = failed("its process was ended by SIGKILL", can_retry=True)
    engine = Scripted(b=[dead, dead, Outcome("checked", rows=Rows())])
    counts: list[int] = []
    ended = run(FLEET, kept, engine, Order(Bounds(), retries), lambda done: counts.append(done.ended))
    assert (ended[1].outcome.status, ended[1].attempts) == (status, attempts)
    assert counts == [1, 2, 3]
    assert [task.name for task in engine.asked] == ["a", "b", "c", *["b"] * (attempts - 1)]


def test_an_interrupted_run_keeps_what_it_has(kept: Kept) -> None:
    def stop(done: Done) -> None:
        if done.ended == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(FLEET, kept, Scripted(), Order(), stop)
    assert [kept.past(name) for name in "abc"] == [PAST, PAST, None]


def test_files_of_another_kcheck_are_as_none(kept: Kept, tmp_path: Path) -> None:
    kept.keep("a", Outcome("checked", past=PAST))
    (file,) = (tmp_path / "out/outcomes").iterdir()
    file.write_bytes(b"\x81\xa6status\x01")
    assert kept.outcome("a") is None
    assert kept.past("a") is None


def test_progress_has_a_rate() -> None:
    done = Done(10, ended=4, seconds=2.0)
    assert (done.rate, done.left) == (2.0, 3.0)
    assert (Done(10).rate, Done(10).left) == (0.0, 0.0)
