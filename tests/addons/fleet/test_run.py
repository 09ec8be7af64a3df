"""Test runs over a fleet, with an engine that checks nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from kcheck.addons.fleet.listing import Repository
from kcheck.addons.fleet.outcomes import Kept, Outcome, failed
from kcheck.addons.fleet.run import Order, progress
from kcheck.addons.fleet.run import run as run_with
from kcheck.addons.fleet.tables import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.addons.fleet.outcomes import Task
    from kcheck.addons.fleet.run import Ended

pytestmark = pytest.mark.smoke


@pytest.fixture
def fleet(tmp_path: Path) -> list[Repository]:
    """Return three repositories of one file each."""
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.tf").write_text(name)
    return [Repository(name, str(tmp_path / name)) for name in "abc"]


class Scripted:
    """An engine that returns prepared outcomes by repository, one per attempt, and records the tasks."""

    jobs = 1

    def __init__(self, **outcomes: list[Outcome]) -> None:
        self.outcomes_of = outcomes
        self.asked: list[Task] = []

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            self.asked.append(task)
            yield task, self.outcomes_of.get(task.name, [Outcome("checked", rows=Rows(suppressed=1))]).pop(0)


def run(
    repositories: list[Repository], kept: Kept, engine: Scripted, order: Order, tell: Callable[[str], None]
) -> list[Ended]:
    return run_with(repositories, kept, lambda: nullcontext(engine), order, tell)[0]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(str(tmp_path / "out"))


def test_outcomes_are_kept_and_progress_is_reported(kept: Kept, fleet: list[Repository]) -> None:
    told: list[str] = []
    ended = run(fleet, kept, Scripted(b=[failed("broken")]), Order(), told.append)
    assert [(one.repository.name, one.outcome.status, one.attempts) for one in ended] == [
        ("a", "checked", 1), ("b", "failed", 1), ("c", "checked", 1),
    ]  # fmt: skip
    assert told.pop(0) == "checking 3 of 3 repositories"
    assert [line.partition("/s")[2].partition(", 0 s")[0] for line in told] == ["", ", 1 failed", ", 1 failed"]
    assert [line.partition(",")[0] for line in told] == [f"{number} of 3 repositories" for number in (1, 2, 3)]
    assert all(one.outcome.rows is None for one in ended)
    outcome = kept.outcome("a")
    assert outcome is not None
    assert outcome.rows == Rows(suppressed=1)


def test_unchanged_repositories_are_not_checked_again(kept: Kept, fleet: list[Repository]) -> None:
    run(fleet, kept, Scripted(b=[failed("broken")]), Order(), lambda _: None)
    Path(fleet[2].folder, "main.tf").write_text("changed")
    again, told = Scripted(), list[str]()
    ended = run(fleet, kept, again, Order(), told.append)
    assert [task.name for task in again.asked] == ["b", "c"]
    assert [one.outcome.is_unchanged for one in ended] == [True, False, False]
    assert len(told) == 4
    outcome = kept.outcome("a")
    assert outcome is not None
    assert outcome.rows == Rows(suppressed=1)  # of the run before


def test_repositories_that_change_during_a_check_are_checked_again(kept: Kept, fleet: list[Repository]) -> None:
    class Changing(Scripted):
        def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
            for task, outcome in super().outcomes(tasks):
                Path(task.folder, "main.tf").write_text("changed")
                yield task, outcome

    run(fleet, kept, Changing(), Order(), lambda _: None)
    again = Scripted()
    run(fleet, kept, again, Order(), lambda _: None)
    assert [task.name for task in again.asked] == ["a", "b", "c"]


def test_partly_checked_repositories_are_checked_again(kept: Kept, fleet: list[Repository]) -> None:
    run(fleet, kept, Scripted(a=[Outcome("partly", rows=Rows())]), Order(), lambda _: None)
    again = Scripted()
    run(fleet, kept, again, Order(), lambda _: None)
    assert [task.name for task in again.asked] == ["a"]


def test_every_repository_is_checked_again_on_another_day(
    kept: Kept, fleet: list[Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, asked in (("2026-11-01", "abc"), ("2026-11-01", ""), ("2026-11-02", "abc")):
        monkeypatch.setenv("KCHECK_TODAY", day)
        engine = Scripted()
        run(fleet, kept, engine, Order(), lambda _: None)
        assert [(task.name, task.day) for task in engine.asked] == [(name, day) for name in asked]


def test_a_fresh_run_checks_all_repositories(kept: Kept, fleet: list[Repository]) -> None:
    run(fleet, kept, Scripted(), Order(), lambda _: None)
    fresh = Scripted()
    run(fleet, kept, fresh, Order(fresh=True), lambda _: None)
    assert [task.name for task in fresh.asked] == ["a", "b", "c"]


def test_slow_repositories_start_first_and_unknown_ones_before_them(kept: Kept, fleet: list[Repository]) -> None:
    for name, seconds in (("a", 1.0), ("c", 9.0)):
        kept.keep(name, Outcome("checked", seconds=seconds))
    engine = Scripted()
    run(fleet, kept, engine, Order(), lambda _: None)
    assert [task.name for task in engine.asked] == ["b", "c", "a"]


@pytest.mark.parametrize(("retries", "status", "attempts"), [(0, "failed", 1), (1, "failed", 2), (2, "checked", 3)])
def test_a_check_that_died_by_chance_is_retried(
    retries: int, status: str, attempts: int, kept: Kept, fleet: list[Repository]
) -> None:
    dead = failed("its process was ended by SIGKILL", can_retry=True)
    engine = Scripted(b=[dead, dead, Outcome("checked", rows=Rows())])
    told: list[str] = []
    ended = run(fleet, kept, engine, Order(retries=retries), told.append)
    assert (ended[1].outcome.status, ended[1].attempts) == (status, attempts)
    assert len(told) == 4
    assert [task.name for task in engine.asked] == ["a", "b", "c", *["b"] * (attempts - 1)]


def test_an_interrupted_run_keeps_its_outcomes(kept: Kept, fleet: list[Repository]) -> None:
    def stop(told: str) -> None:
        if told.startswith("2 of 3"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(fleet, kept, Scripted(), Order(), stop)
    assert [kept.outcome(name) is not None for name in "abc"] == [True, True, False]


def test_outcome_files_of_another_version_are_ignored(kept: Kept, tmp_path: Path) -> None:
    kept.keep("a", Outcome("checked", key="key"))
    (file,) = (tmp_path / "out/outcomes").iterdir()
    file.write_bytes(b"\x81\xa6status\x01")
    assert kept.outcome("a") is None


def test_outcomes_written_by_an_older_kcheck_are_not_reused(
    kept: Kept, fleet: list[Repository], tmp_path: Path
) -> None:
    run(fleet, kept, Scripted(), Order(), lambda _: None)
    for file in (tmp_path / "out/outcomes").iterdir():
        data = msgspec.msgpack.decode(file.read_bytes())
        del data["key"]
        data |= {"past": {"code": "x", "settings": {}, "answers": []}, "code": "x", "archive": b""}
        file.write_bytes(msgspec.msgpack.encode(data))
    again = Scripted()
    ended = run(fleet, kept, again, Order(), lambda _: None)
    assert [task.name for task in again.asked] == ["a", "b", "c"]
    assert [one.outcome.status for one in ended] == ["checked"] * 3


def test_no_engine_starts_when_nothing_has_changed(kept: Kept, fleet: list[Repository]) -> None:
    assert run_with(fleet, kept, lambda: nullcontext(Scripted()), Order(), lambda _: None)[1] == 1
    ended, jobs = run_with(fleet, kept, pytest.fail, Order(), lambda _: None)
    assert ([one.outcome.is_unchanged for one in ended], jobs) == ([True] * 3, None)


def test_the_commit_is_kept_with_the_outcome(kept: Kept, fleet: list[Repository]) -> None:
    git = Path(fleet[0].folder, ".git")
    git.mkdir()
    (git / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    for _ in range(2):
        ended = run(fleet, kept, Scripted(), Order(), lambda _: None)
        assert [one.outcome.revision for one in ended] == ["0123456789abcdef0123456789abcdef01234567", "", ""]


def test_progress_shows_a_rate() -> None:
    assert progress(4, 10, 0, 2.0) == "4 of 10 repositories, 2.0/s, 3 s left"
    assert progress(0, 1000, 1, 0.0) == "0 of 1,000 repositories, 0.0/s, 1 failed, 0 s left"
