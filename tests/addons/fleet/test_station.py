"""Processes that check: whatever becomes of one, there is an outcome with its reason, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet import local, station
from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.code import code
from kcheck.addons.fleet.local import LocalEngine, Station
from kcheck.addons.fleet.task import Bounds, Outcome, Task
from tests.addons.fleet import processes
from tests.addons.fleet.processes import IS_LINUX, children, is_gone, slow, small, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

linux = pytest.mark.skipif(not IS_LINUX, reason="asks /proc")
KILLED = "its process was ended by SIGKILL: out of memory, or a bug in a library"


@pytest.fixture(scope="module")
def one() -> Iterator[Station]:
    """A station for all tests, as one takes its time to start; those that kill it leave it to start again."""
    made = Station()
    yield made
    made.close()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process makes temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def begun(one: Station, task: Task) -> tuple[threading.Thread, list[Outcome], int, int]:
    """A check that has begun: the thread that waits for it, its outcome, the station's process and its child."""
    found: list[Outcome] = []
    waiting = threading.Thread(target=lambda: found.append(one.outcome(task)))
    waiting.start()
    child = wait_for(lambda: next(iter(children(one.process)), None) if one.process else None)
    assert one.process is not None
    return waiting, found, one.process, child


def in_archive(folder: Path) -> Task:
    """A task with its repository in it."""
    here = os.getcwd()
    try:
        return Task("x", str(folder), archive=check(Task("x", str(folder), is_packing=True)).archive)
    finally:
        os.chdir(here)


def test_outcomes_of_one_process(one: Station, tmp_path: Path) -> None:
    first = one.outcome(Task("a", str(small(tmp_path / "a"))))
    process = one.process
    second = one.outcome(Task("b", str(small(tmp_path / "b"))))
    assert (first.status, first.rows, first.code) == (second.status, second.rows, code())
    assert first.rows is not None
    assert first.rows.clusters
    assert one.process == process is not None


def test_a_folder_that_is_not_there_is_its_reason(one: Station, tmp_path: Path) -> None:
    outcome = one.outcome(Task("a", str(tmp_path / "none")))
    assert (outcome.status, outcome.reason) == ("failed", f"{tmp_path / 'none'}: No such file or directory")


def test_a_path_that_cannot_be_sent_is_a_failed_repository(one: Station, tmp_path: Path) -> None:
    outcome = one.outcome(Task("a", str(tmp_path / "\udcff")))
    assert (outcome.status, outcome.can_retry) == ("failed", False)


def test_what_takes_too_long_says_so(one: Station, tmp_path: Path) -> None:
    outcome = one.outcome(Task("a", str(slow(tmp_path / "a", 3000)), bounds=Bounds(seconds=0.5)))
    assert outcome.status == "partly"
    assert outcome.reason.startswith("stopped after 0.5 s (--timeout)")
    assert one.outcome(Task("b", str(small(tmp_path / "b")))).status == "checked"


@linux
def test_what_needs_too_much_memory_says_so(one: Station, tmp_path: Path) -> None:
    (slow(tmp_path / "a", 100) / "big.yaml").write_text(
        "apiVersion: v1\nkind: List\nitems:\n" + "- {a: {b: [c, d]}}\n" * 200_000
    )
    outcome = one.outcome(Task("a", str(tmp_path / "a"), bounds=Bounds(memory=64 * 1024**2)))
    assert (outcome.status, outcome.can_retry) == ("failed", False)
    assert outcome.reason == "it needs more memory than it may have (--memory)"
    assert one.outcome(Task("b", str(small(tmp_path / "b")))).status == "checked"


@linux
def test_a_process_that_crashes_is_an_outcome_and_the_next_repository_is_checked(one: Station, tmp_path: Path) -> None:
    waiting, found, process, child = begun(one, Task("a", str(slow(tmp_path / "a"))))
    os.kill(child, signal.SIGKILL)
    waiting.join()
    assert (found[0].status, found[0].reason, found[0].can_retry) == ("failed", KILLED, True)
    assert one.outcome(Task("b", str(small(tmp_path / "b")))).status == "checked"
    assert one.process == process


@linux
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # others wait meanwhile
def test_a_process_that_answers_nobody_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the deadline inside, which a stopped process does not see."""
    monkeypatch.setattr(station, "GRACE", 0.2)
    task = Task("a", str(slow(tmp_path / "a")), bounds=Bounds(seconds=0.2))
    (silent, writer), before = os.pipe(), set(children(os.getpid()))

    def stop() -> None:
        child = wait_for(lambda: next(iter(set(children(os.getpid())) - before), None))
        os.kill(child, signal.SIGSTOP)

    stopping = threading.Thread(target=stop)
    stopping.start()
    with os.fdopen(silent, "rb") as tasks, open(os.devnull, "wb") as outcomes:
        outcome = station._in_a_fork(task, check, tasks, outcomes)
    os.close(writer)
    stopping.join()
    assert (outcome.status, outcome.reason) == ("failed", "it did not end within 0.2 s (--timeout)")
    assert set(children(os.getpid())) == before


@linux
def test_without_its_station_a_check_ends_at_once_and_another_station_takes_its_place(
    one: Station, tmp_path: Path
) -> None:
    waiting, found, process, child = begun(one, Task("a", str(slow(tmp_path / "a", 3000))))
    os.kill(process, signal.SIGKILL)
    waiting.join()
    assert (found[0].status, found[0].can_retry) == ("failed", True)
    assert found[0].reason == "the process that checked it has ended"
    wait_for(lambda: is_gone(process) and is_gone(child))
    assert one.outcome(Task("b", str(small(tmp_path / "b")))).status == "checked"


@linux
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # others wait meanwhile
def test_a_check_that_looks_at_nothing_ends_with_its_station_too() -> None:
    (alive, held), process = os.pipe(), os.fork()
    if not process:
        os.close(held)
        station._end_with(alive)
        while True:
            signal.pause()
    os.close(alive)
    os.close(held)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) in (-signal.SIGIO, 1)


@linux
def test_without_its_client_a_station_ends_with_its_check_and_removes_what_it_unpacked(
    tmp_path: Path, temporary: Path
) -> None:
    lost = Station()
    waiting, _, process, child = begun(lost, in_archive(slow(tmp_path / "a", 3000)))
    wait_for(lambda: list(temporary.glob("kcheck-fleet-*/a/*")))
    assert lost._process is not None
    assert lost._process.stdin is not None
    lost._process.stdin.close()  # as the system does for a client that is killed
    wait_for(lambda: is_gone(process) and is_gone(child))
    assert not list(temporary.iterdir())
    waiting.join()
    lost.close()


@linux
@pytest.mark.parametrize("who", ["station", "child"])
def test_what_was_unpacked_is_removed_whoever_is_killed(
    who: str, one: Station, tmp_path: Path, temporary: Path
) -> None:
    waiting, found, process, child = begun(one, in_archive(slow(tmp_path / "a", 3000)))
    wait_for(lambda: list(temporary.glob("kcheck-fleet-*/a/*")))
    os.kill(process if who == "station" else child, signal.SIGKILL)
    waiting.join()
    assert (found[0].status, found[0].can_retry) == ("failed", True)
    assert not list(temporary.iterdir())


def test_what_was_unpacked_is_removed(one: Station, tmp_path: Path, temporary: Path) -> None:
    task = in_archive(small(tmp_path / "a"))
    assert one.outcome(task).rows == one.outcome(Task("x", task.folder)).rows
    assert not list(temporary.iterdir())


@linux
def test_a_station_that_nobody_uses_ends_and_the_client_starts_another(
    one: Station, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task("a", str(small(tmp_path / "a")))
    assert one.outcome(task).status == "checked"
    process = one.process
    monkeypatch.setattr(local, "IDLE", 0.0)
    assert one.outcome(task).status == "checked"
    assert one.process != process
    assert process is not None
    assert is_gone(process)


def test_a_closed_station_starts_nothing(tmp_path: Path) -> None:
    closed = Station()
    closed.close()
    outcome = closed.outcome(Task("a", str(small(tmp_path / "a"))))
    assert (outcome.status, outcome.can_retry, closed.process) == ("failed", False, None)


@linux
def test_a_station_keeps_no_descriptor_and_no_zombie(one: Station, tmp_path: Path) -> None:
    def descriptors() -> list[str]:
        return os.listdir(f"/proc/{one.process}/fd")

    task = Task("a", str(small(tmp_path / "a")))
    assert one.outcome(task).status == "checked"
    before = len(descriptors())
    for _ in range(3):
        one.outcome(task)
    assert len(descriptors()) == before
    assert one.process is not None
    assert children(one.process) == []


def test_an_engine_takes_a_task_when_a_process_is_free_for_it(tmp_path: Path) -> None:
    folder, taken = str(small(tmp_path / "a")), []

    def tasks() -> Iterator[Task]:
        for number in range(4):
            taken.append(number)
            yield Task(str(number), folder)

    ended = []
    with LocalEngine(1) as engine:
        for task, outcome in engine.outcomes(tasks()):
            ended.append((task.name, outcome.status))
            assert len(taken) <= len(ended) + 2
    assert sorted(ended) == [(str(number), "checked") for number in range(4)]


@linux
def test_an_engine_that_is_left_leaves_no_process(tmp_path: Path) -> None:
    folder = str(slow(tmp_path / "a", 3000))
    with LocalEngine(2) as engine:
        outcomes: Callable[[], object] = engine.outcomes(Task(str(number), folder) for number in range(4)).__next__
        reading = threading.Thread(target=outcomes, daemon=True)
        reading.start()
        stations = wait_for(
            lambda: len(found := [one.process for one in engine._stations if one.process]) == 2 and found
        )
        checks = wait_for(lambda: len(found := [child for one in stations for child in children(one)]) == 2 and found)
    for process in (*stations, *checks):
        wait_for(lambda process=process: is_gone(process))  # type: ignore[misc]
    reading.join()
    assert processes.checking(os.getpid()) is None
