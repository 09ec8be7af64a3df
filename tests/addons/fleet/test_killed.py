"""Test that a killed `kcheck fleet` resumes: nothing is lost, left over or done twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.addons.fleet.processes import IS_LINUX, checking, children, is_gone, run, slow, small, start, wait_for

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="asks /proc")

ENDS = [pytest.param(signal.SIGKILL, -9, id="kill -9"), pytest.param(signal.SIGINT, 130, id="Ctrl-C")]
TABLES = ("repositories", "clusters", "limits", "findings", "undecided", "uses")
OF_A_RUN = {"run", "seconds", "cpu_seconds", "memory", "is_unchanged"}


def made(folder: Path) -> Path:
    """Write a fleet of three quick repositories and a slow one, and return its folder."""
    for name in "abc":
        small(folder / "fleet" / name)
    slow(folder / "fleet" / "slow", 400)
    return folder


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of a run that nothing interrupted."""
    folder = made(tmp_path_factory.mktemp("undisturbed"))
    assert run(*COMMAND, folder=folder).returncode == 0
    return rows(folder / "out")


def rows(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of the last run by table, without columns that differ by run."""
    found = {}
    with duckdb.connect(str(folder / "fleet.duckdb"), read_only=True) as database:
        for table in TABLES:
            names = [str(row[0]) for row in database.execute(f"DESCRIBE {table}").fetchall()]
            other = OF_A_RUN | ({"path"} if table == "repositories" else set())
            columns = ", ".join(f'"{name}"' for name in names if name not in other)
            last = "run = (SELECT max(run) FROM runs)"
            found[table] = database.execute(f"SELECT {columns} FROM {table} WHERE {last} ORDER BY ALL").fetchall()
    return found


def kept(folder: Path) -> dict[str, int]:
    """Return the stored outcomes of a folder: file name and modification time."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("outcomes/*.msgpack")}


def in_the_middle(process: subprocess.Popen[str], folder: Path) -> list[int]:
    """Wait until a run has stored outcomes and checks the slow repository; return its processes."""
    wait_for(lambda: len(kept(folder)) == 3 and checking(process.pid, "slow"))
    own = children(process.pid)
    return [*own, *(child for one in own for child in children(one))]


COMMAND = ("fleet/a", "fleet/b", "fleet/c", "fleet/slow", "-o", "out", "--jobs", "1")
"""Arguments of a run that checks the slow repository last."""


@pytest.mark.parametrize(("number", "status"), ENDS)
def test_a_killed_run_resumes_where_it_stopped(
    number: signal.Signals, status: int, fleet: Path, undisturbed: dict[str, list[tuple[object, ...]]]
) -> None:
    with start(COMMAND, fleet) as process:
        left = in_the_middle(process, fleet / "out")
        os.killpg(process.pid, number)  # as a terminal does
        _, errors = process.communicate()
    assert process.returncode == status
    assert "Traceback" not in errors
    for one in left:
        wait_for(lambda one=one: is_gone(one))  # type: ignore[misc]
    assert not (fleet / "out" / "fleet.duckdb").exists()
    before = kept(fleet / "out")
    assert len(before) == 3
    assert run(*COMMAND, folder=fleet).returncode == 0
    after = kept(fleet / "out")
    assert {name: after[name] for name in before} == before  # these were not checked again
    assert len(after) == 4
    assert not [path for path in (fleet / "out").rglob("*") if path.name.endswith(".tmp")]
    with duckdb.connect(str(fleet / "out" / "fleet.duckdb"), read_only=True) as database:
        assert database.execute("SELECT repositories, unchanged, failed FROM runs").fetchall() == [(4, 3, 0)]
    assert rows(fleet / "out") == undisturbed


def test_a_fleet_run_stopped_at_once_prints_nothing(fleet: Path) -> None:
    with start(COMMAND, fleet) as process:
        server = wait_for(lambda: next((one for one in children(process.pid) if has_loaded(one, "msgspec")), None))
        own = children(process.pid)
        assert hears_nothing_of(signal.SIGINT, server)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate()
    assert server in own
    assert (process.returncode, output) == (130, "")
    assert "Traceback" not in errors
    for one in own:
        wait_for(lambda one=one: is_gone(one))  # type: ignore[misc]


def hears_nothing_of(number: signal.Signals, process: int) -> bool:
    """Return whether a process blocks or ignores a signal."""
    lines = (line.split() for line in Path(f"/proc/{process}/status").read_text().splitlines())
    masks = [int(line[1], 16) for line in lines if line[0] in ("SigBlk:", "SigIgn:")]
    return any(mask >> (number - 1) & 1 for mask in masks)


def has_loaded(process: int, library: str) -> bool:
    """Return whether a process has imported a library, at least in part."""
    try:
        return library in Path(f"/proc/{process}/maps").read_text()
    except OSError:
        return False


def test_a_repository_whose_process_is_killed_is_retried_and_counted(fleet: Path) -> None:
    with start([*COMMAND, "--retries", "1"], fleet) as process:
        os.kill(wait_for(lambda: checking(process.pid, "slow")), signal.SIGKILL)
        process.communicate()
    assert process.returncode == 0
    with duckdb.connect(str(fleet / "out" / "fleet.duckdb"), read_only=True) as database:
        found = database.execute("SELECT repository, status, attempts FROM repositories ORDER BY ALL").fetchall()
    assert found == [("a", "checked", 1), ("b", "checked", 1), ("c", "checked", 1), ("slow", "checked", 2)]


def test_each_unchecked_repository_has_a_row_with_the_reason(fleet: Path) -> None:
    (slow(fleet / "fleet" / "big", 100) / "big.yaml").write_text(
        "apiVersion: v1\nkind: List\nitems:\n" + "- {a: {b: [c]}}\n" * 200_000
    )
    (fleet / "fleet" / "c" / "kcheck.yaml").write_text("nodes: many\n")
    arguments = [*COMMAND, "fleet/big", "--memory", "64MiB", "--retries", "0"]
    with start(arguments, fleet) as process:
        os.kill(wait_for(lambda: checking(process.pid, "slow")), signal.SIGKILL)
        process.communicate()
    assert process.returncode == 0
    found = not_checked(fleet)
    assert set(found) == {"big", "c", "slow"}
    assert found["big"] == ("failed", "it needs more memory than it may have (--memory)")
    assert found["c"][0] == "failed"
    assert "kcheck.yaml" in found["c"][1]
    assert found["slow"] == ("failed", "its process was ended by SIGKILL: out of memory, or a bug in a library")


def test_a_check_that_times_out_counts_as_partly_checked(tmp_path: Path) -> None:
    slow(tmp_path / "late", 8000)
    assert run("late", "-o", "out", "--timeout", "3", folder=tmp_path).returncode == 0
    status, reason = not_checked(tmp_path)["late"]
    assert status == "partly"
    assert reason.startswith("stopped after 3 s (--timeout)")


def not_checked(folder: Path) -> dict[str, tuple[str, str]]:
    """Return status and reason of each repository that was not checked completely."""
    with duckdb.connect(str(folder / "out" / "fleet.duckdb"), read_only=True) as database:
        query = "SELECT repository, status, reason FROM repositories WHERE status <> 'checked'"
        return {name: (status, reason) for name, status, reason in database.execute(query).fetchall()}
