"""Workers of a Dask cluster: a real scheduler and real workers, which are killed, and workers with another kcheck."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.addons.fleet.local import LocalEngine
from kcheck.addons.fleet.run import EngineError
from kcheck.addons.fleet.task import Task
from kcheck.commands.cli import cli
from tests.addons.fleet.processes import IS_LINUX, checking, children, is_gone, slow, small, wait_for
from tests.processes import free_ports

pytest.importorskip("distributed")
from kcheck.addons.fleet.dask_engine import dask_engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcheck.addons.fleet.task import Outcome

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="asks /proc")

NO_KCHECK = "import sys; sys.modules['kcheck'] = None; "
OTHER_KCHECK = "import kcheck.addons.fleet.code as one; one.code = lambda: 'another'; "


class Cluster:
    """A scheduler that has no kcheck, and workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"tcp://127.0.0.1:{free_ports(1)[0]}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", self.address.rpartition(":")[2], before=NO_KCHECK)
        wait_for(lambda: "Scheduler at:" in (folder / "scheduler0.log").read_text())

    def worker(self, before: str = "", threads: int = 1) -> subprocess.Popen[bytes]:
        """Another worker."""
        return self._start("worker", self.address, "--no-nanny", "--nthreads", str(threads), before=before)

    def _start(self, kind: str, *arguments: str, before: str) -> subprocess.Popen[bytes]:
        code = f"{before}from distributed.cli.dask_{kind} import main; main()"
        command = [sys.executable, "-P", "-c", code, *arguments, "--host", "127.0.0.1", "--no-dashboard"]
        environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1", "TMPDIR": str(self.folder)}
        with (self.folder / f"{kind}{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@contextmanager
def started(folder: Path, workers: int) -> Iterator[Cluster]:
    made = Cluster(folder)
    try:
        logs = [folder / f"worker{made.processes.index(made.worker())}.log" for _ in range(workers)]
        wait_for(lambda: all("Registered to" in log.read_text() for log in logs))
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for those tests that leave two workers as they were."""
    with started(tmp_path_factory.mktemp("cluster"), workers=2) as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    """One that a test may break."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    with started(folder, workers=1) as made:
        yield made


def fleet(folder: Path, count: int) -> list[Task]:
    return [Task(str(number), str(small(folder / str(number)))) for number in range(count)]


def outcomes(address: str, tasks: list[Task], *, pack: bool = False) -> dict[str, Outcome]:
    with dask_engine(address, 1, pack=pack) as engine:
        return {task.name: outcome for task, outcome in engine.outcomes(tasks)}


def found(outcome: Outcome) -> Outcome:
    """What does not depend on where it was found, and how quickly."""
    return replace(outcome, seconds=0.0, cpu_seconds=0.0, memory=0, past=None)


@pytest.mark.parametrize("pack", [False, True], ids=["folders", "archives"])
def test_outcomes_are_those_of_this_machine(pack: bool, cluster: Cluster, tmp_path: Path) -> None:
    tasks = [*fleet(tmp_path, 3), Task("none", str(tmp_path / "none")), Task("text", str(tmp_path / "\udcff"))]
    with dask_engine(cluster.address, 1, pack=pack) as engine:
        assert (engine.jobs, engine.name) == (2, cluster.address)
        remote = {task.name: outcome for task, outcome in engine.outcomes(tasks)}
    with LocalEngine(1) as local:
        assert {name: found(outcome) for name, outcome in remote.items()} == {
            task.name: found(outcome) for task, outcome in local.outcomes(tasks)
        }
    past = remote["0"].past
    again = outcomes(cluster.address, [replace(tasks[0], past=past)], pack=pack)
    assert (past is not None, again["0"].is_unchanged) == (True, True)
    assert not list(cluster.folder.glob("kcheck-fleet-*"))


def test_few_tasks_are_taken_ahead(cluster: Cluster, tmp_path: Path) -> None:
    taken, ended, ahead = 0, 0, []
    folder = str(small(tmp_path / "a"))

    def tasks() -> Iterator[Task]:
        nonlocal taken
        for number in range(20):
            taken += 1
            ahead.append(taken - ended)
            yield Task(str(number), folder)

    with dask_engine(cluster.address, 1, pack=False) as engine:
        for _ in engine.outcomes(tasks()):
            ended += 1
    assert (taken, ended) == (20, 20)
    assert max(ahead) <= 2 * 2 + 1


def test_a_worker_that_joins_with_another_kcheck_checks_nothing(own: Cluster, tmp_path: Path) -> None:
    tasks, codes, count = fleet(tmp_path, 6), [], 0

    def slowly() -> Iterator[Task]:
        yield from tasks[:2]
        other = own.worker(before=OTHER_KCHECK, threads=4)
        none = own.worker(before=NO_KCHECK, threads=4)
        logs = [own.folder / f"worker{own.processes.index(process)}.log" for process in (other, none)]
        wait_for(lambda: all("Registered to" in log.read_text() for log in logs))
        yield from tasks[2:]

    with dask_engine(own.address, 1, pack=False) as engine:
        for _, outcome in engine.outcomes(slowly()):
            count += outcome.status == "checked"
            codes.append(outcome.code)
        assert engine.jobs == 1
    assert count == 6
    assert len(set(codes)) == 1
    with pytest.raises(
        EngineError, match=r"worker tcp://127.0.0.1:\d+ has (no|another) kcheck .*; install the same kcheck there"
    ):
        outcomes(own.address, tasks)


def test_what_a_lost_worker_had_goes_elsewhere(cluster: Cluster, tmp_path: Path) -> None:
    tasks = [Task("slow", str(slow(tmp_path / "slow"))), *fleet(tmp_path, 3)]
    ended: list[tuple[str, str]] = []

    def read() -> None:
        with dask_engine(cluster.address, 1, pack=True) as engine:
            ended.extend((task.name, outcome.status) for task, outcome in engine.outcomes(tasks))

    reading = threading.Thread(target=read)
    reading.start()
    wait_for(lambda: list(cluster.folder.glob("kcheck-fleet-*/slow")))
    workers = [one for one in cluster.processes[1:] if one.poll() is None]
    victim = wait_for(lambda: next((one for one in workers if checking(one.pid, "slow")), None))
    stations = children(victim.pid)
    left = [*stations, *(child for one in stations for child in children(one))]
    victim.kill()
    victim.wait()
    cluster.worker()
    reading.join()
    assert sorted(ended) == [("0", "checked"), ("1", "checked"), ("2", "checked"), ("slow", "checked")]
    for process in left:
        wait_for(lambda process=process: is_gone(process))  # type: ignore[misc]
    wait_for(lambda: not list(cluster.folder.glob("kcheck-fleet-*")))


def test_a_repository_that_ends_its_workers_is_a_failed_one(own: Cluster, tmp_path: Path) -> None:
    tasks = [Task("slow", str(slow(tmp_path / "slow"))), *fleet(tmp_path, 1)]
    found: dict[str, Outcome] = {}
    reading = threading.Thread(target=lambda: found.update(outcomes(own.address, tasks[:1])))
    reading.start()
    for _ in range(2):  # as often as this scheduler allows, and once more
        worker = own.processes[-1]
        wait_for(lambda: checking(own.processes[-1].pid, "slow"))
        worker.kill()
        worker.wait()
        own.worker()
    reading.join()
    assert (found["slow"].status, found["slow"].can_retry) == ("failed", False)
    assert found["slow"].reason == "2 workers ended one after the other while they checked it"
    assert outcomes(own.address, tasks[1:])["0"].status == "checked"


def test_without_its_scheduler_a_run_ends_and_the_same_command_goes_on(own: Cluster, tmp_path: Path) -> None:
    folders = [str(small(tmp_path / "fleet" / "a")), str(slow(tmp_path / "fleet" / "b"))]
    out = tmp_path / "out"

    def kill() -> None:
        wait_for(lambda: list(out.glob("outcomes/*.msgpack")))
        own.scheduler.kill()

    killing = threading.Thread(target=kill)
    killing.start()
    result = CliRunner().invoke(cli, ["fleet", *folders, "-o", str(out), "--scheduler", own.address])
    killing.join()
    assert result.exit_code == 2
    assert (
        f"the scheduler at {own.address} is gone; what is done is kept, and the same command goes on" in result.stderr
    )
    assert "Traceback" not in result.stderr
    (kept,) = out.glob("outcomes/*.msgpack")
    before = kept.stat().st_mtime_ns
    again = CliRunner().invoke(cli, ["fleet", *folders, "-o", str(out), "--scheduler", "local", "--jobs", "1"])
    assert again.exit_code == 0, again.output
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:8786", "127.0.0.1:8786 is no scheduler; expected tcp://HOST:PORT, tls://HOST:PORT or local"),
        ("tcp://127.0.0.1:1", "no scheduler answers at tcp://127.0.0.1:1"),
        ("tls://127.0.0.1:1", "no scheduler answers at tls://127.0.0.1:1"),
    ],
)
def test_a_scheduler_that_is_not_there_is_wrong_usage(
    address: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcheck.addons.fleet.dask_engine._CONNECT", 0.5)
    result = CliRunner().invoke(
        cli, ["fleet", str(small(tmp_path / "a")), "-o", str(tmp_path / "out"), "--scheduler", address]
    )
    assert result.exit_code == 2
    assert reason in re.sub(r"\s+", " ", result.stderr)


def test_a_scheduler_without_workers_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcheck.addons.fleet.dask_engine._WORKERS", 0.5)
    with started(tmp_path, workers=0) as empty, pytest.raises(EngineError, match="has no worker"):
        outcomes(empty.address, [])


def test_the_library_is_asked_for_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kcheck.addons.fleet.dask_engine", None)
    result = CliRunner().invoke(
        cli, ["fleet", str(small(tmp_path / "a")), "-o", str(tmp_path / "out"), "--scheduler", "local"]
    )
    assert (result.exit_code, "pip install 'kcheck[fleet]'" in result.stderr) == (2, True)


def test_packing_is_for_schedulers(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["fleet", str(small(tmp_path / "a")), "-o", str(tmp_path / "out"), "--pack"])
    assert (result.exit_code, "--pack is for --scheduler" in result.stderr) == (2, True)
