"""Test processes that check: however one ends, it gives an outcome with a reason and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet import process
from kcheck.addons.fleet.outcomes import Outcome, Task
from kcheck.addons.fleet.process import all_ended, outcome_of
from tests.addons.fleet.processes import IS_LINUX, checking, children, is_gone, slow, small, start_code, wait_for

if TYPE_CHECKING:
    from pathlib import Path

linux = pytest.mark.skipif(not IS_LINUX, reason="asks /proc")
KILLED = "its process was ended by SIGKILL: out of memory, or a bug in a library"

CHECK = """
import sys
from kcheck.addons.fleet.process import outcome_of
from kcheck.addons.fleet.outcomes import Task
print(outcome_of(Task("a", sys.argv[1])).status)
"""


def begun(task: Task) -> tuple[threading.Thread, list[Outcome], int]:
    """Start a check; return the thread that waits for it, the list its outcome goes to, and the checking process."""
    found: list[Outcome] = []
    waiting = threading.Thread(target=lambda: found.append(outcome_of(task)))
    waiting.start()
    return waiting, found, wait_for(lambda: checking(os.getpid(), os.path.basename(task.folder)))


def test_each_repository_is_checked_in_its_own_process(tmp_path: Path) -> None:
    first = outcome_of(Task("a", str(small(tmp_path / "a"))))
    second = outcome_of(Task("b", str(small(tmp_path / "b"))))
    assert (first.status, first.rows) == (second.status, second.rows)
    assert first.rows is not None
    assert first.rows.clusters
    assert first.memory > 10_000_000 or os.name == "nt"
    assert checking(os.getpid()) is None


def test_a_missing_folder_is_the_reason_of_a_failure(tmp_path: Path) -> None:
    outcome = outcome_of(Task("a", str(tmp_path / "none")))
    assert (outcome.status, outcome.reason) == ("failed", f"{tmp_path / 'none'}: No such file or directory")


@linux
def test_a_path_that_is_not_unicode_can_be_checked(tmp_path: Path) -> None:
    assert outcome_of(Task("a", str(small(tmp_path / "\udcff")))).status == "checked"


def test_a_check_over_its_time_limit_counts_as_partly_done(tmp_path: Path) -> None:
    outcome = outcome_of(Task("a", str(slow(tmp_path / "a", 3000)), seconds=0.5))
    assert outcome.status == "partly"
    assert outcome.reason.startswith("stopped after 0.5 s (--timeout)")


@linux
def test_a_check_over_its_memory_limit_fails_with_the_reason(tmp_path: Path) -> None:
    (slow(tmp_path / "a", 100) / "big.yaml").write_text(
        "apiVersion: v1\nkind: List\nitems:\n" + "- {a: {b: [c, d]}}\n" * 200_000
    )
    outcome = outcome_of(Task("a", str(tmp_path / "a"), memory=64 * 1024**2))
    assert (outcome.status, outcome.can_retry) == ("failed", False)
    assert outcome.reason == "it needs more memory than it may have (--memory)"
    assert outcome_of(Task("b", str(small(tmp_path / "b")), memory=64 * 1024**2)).status == "checked"


@linux
def test_a_crashed_process_is_an_outcome_and_the_next_check_runs(tmp_path: Path) -> None:
    waiting, found, child = begun(Task("a", str(slow(tmp_path / "a"))))
    os.kill(child, signal.SIGKILL)
    waiting.join()
    assert (found[0].status, found[0].reason, found[0].can_retry) == ("failed", KILLED, True)
    assert outcome_of(Task("b", str(small(tmp_path / "b")))).status == "checked"


@linux
def test_a_stopped_process_is_killed_at_its_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline inside of the process cannot end it, because a stopped process gets no timer."""
    monkeypatch.setattr(process, "GRACE", 3.0)
    waiting, found, child = begun(Task("a", str(slow(tmp_path / "a", 3000)), seconds=1))
    os.kill(child, signal.SIGSTOP)
    waiting.join()
    assert (found[0].status, found[0].reason) == ("failed", "it did not end within 1 s (--timeout)")
    assert found[0].can_retry is False
    assert is_gone(child)


@linux
def test_the_fork_server_ends_with_its_worker(tmp_path: Path) -> None:
    with start_code(CHECK, str(slow(tmp_path / "a", 3000)), folder=tmp_path) as worker:
        child = wait_for(lambda: checking(worker.pid, "a"))
        left = [*children(worker.pid), child]
        worker.kill()
    for one in left:
        wait_for(lambda one=one: is_gone(one))  # type: ignore[misc]


@linux
def test_a_long_temporary_path_does_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    with start_code(CHECK, str(small(tmp_path / "a")), folder=tmp_path, TMPDIR=str(folder)) as worker:
        output, errors = worker.communicate()
    assert output == "checked\n", errors


@linux
def test_shutdown_ends_all_checks_at_once_and_starts_none(tmp_path: Path) -> None:
    waiting, found, child = begun(Task("a", str(slow(tmp_path / "a", 3000))))
    with all_ended():
        waiting.join()
        late = outcome_of(Task("b", str(small(tmp_path / "b"))))
    assert [(one.status, one.can_retry) for one in (*found, late)] == [("failed", False)] * 2
    assert is_gone(child)
    assert outcome_of(Task("b", str(tmp_path / "b"))).status == "checked"


@linux
def test_checks_leave_no_descriptor_and_no_zombie(tmp_path: Path) -> None:
    task = Task("a", str(small(tmp_path / "a")))
    assert outcome_of(task).status == "checked"
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        outcome_of(task)
    assert len(os.listdir("/proc/self/fd")) == before
    assert checking(os.getpid()) is None


@linux
def test_concurrent_checks_have_separate_reasons(tmp_path: Path) -> None:
    folders = [slow(tmp_path / str(number), 300) for number in range(4)]
    begun_ = [begun(Task(folder.name, str(folder))) for folder in folders]
    os.kill(begun_[1][2], signal.SIGKILL)
    for waiting, *_ in begun_:
        waiting.join()
    assert [found[0].reason for _, found, _ in begun_] == ["", KILLED, "", ""]


@pytest.mark.parametrize("name", ["multiprocessing", "kcheck", "yaml", "resource"])
def test_a_check_imports_nothing_from_the_current_folder(name: str, tmp_path: Path) -> None:
    """Strangers may name their repositories like a Python module."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "run.py").write_text(f"if __name__ == '__main__':\n{_indented(CHECK)}")
    here = tmp_path / "checkouts"
    (here / name).mkdir(parents=True)
    (here / name / "__init__.py").write_text("open('imported', 'w')\nraise SystemExit('imported')\n")
    folder = small(here / "a")
    run = subprocess.run(
        [sys.executable, str(code / "run.py"), str(folder)], cwd=here, capture_output=True, text=True, check=False
    )
    assert run.stdout == "checked\n", run.stderr
    assert sorted(path.name for path in here.iterdir()) == sorted(["a", name])


def _indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())
