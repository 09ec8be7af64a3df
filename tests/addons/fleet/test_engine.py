"""Test Dask as the engine, in this process and with a real scheduler whose workers die or differ in version."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.addons.fleet.outcomes import EngineError, Task
from kcheck.commands.cli import cli
from kcheck.report.page import SOURCE
from tests.addons.fleet.processes import IS_LINUX, checking, children, is_gone, slow, small, wait_for
from tests.processes import free_ports

pytest.importorskip("distributed")
from kcheck.addons.fleet import engine as module
from kcheck.addons.fleet.engine import DaskEngine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kcheck.addons.fleet.outcomes import Outcome

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="asks /proc")

NO_KCHECK = "import sys; sys.modules['kcheck'] = None; "
OTHER_KCHECK = "import kcheck.addons.fleet.engine as one; one.code = lambda: 'another'; "


class Cluster:
    """A Dask cluster for tests: a scheduler that cannot import kcheck, and workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"tcp://127.0.0.1:{free_ports(1)[0]}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", self.address.rpartition(":")[2], before=NO_KCHECK)
        wait_for(lambda: "Scheduler at:" in (folder / "scheduler0.log").read_text())

    def worker(self, *more: str, before: str = "", threads: int = 1) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        how = more or ("--no-nanny",)
        return self._start("worker", self.address, *how, "--nthreads", str(threads), before=before)

    def is_registered(self, process: subprocess.Popen[bytes]) -> bool:
        return "Registered to" in (self.folder / f"worker{self.processes.index(process)}.log").read_text()

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
            process.terminate() if process is not self.scheduler else process.kill()
        for process in self.processes:
            process.wait()


@contextmanager
def started(folder: Path, workers: int) -> Iterator[Cluster]:
    made = Cluster(folder)
    try:
        for process in [made.worker() for _ in range(workers)]:
            wait_for(lambda process=process: made.is_registered(process))  # type: ignore[misc]
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield a cluster for the tests that leave its two workers unchanged."""
    with started(tmp_path_factory.mktemp("cluster"), workers=2) as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    """Yield a cluster with one worker, which a test may break."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    with started(folder, workers=1) as made:
        yield made


def fleet(folder: Path, count: int) -> list[Task]:
    return [Task(str(number), str(small(folder / str(number)))) for number in range(count)]


def outcomes(address: str | None, tasks: Iterable[Task], jobs: int = 1) -> dict[str, Outcome]:
    with DaskEngine(address, jobs) as engine:
        return {task.name: outcome for task, outcome in engine.outcomes(tasks)}


def found(outcome: Outcome) -> Outcome:
    """Return an outcome without its times and memory, which differ from run to run."""
    return replace(outcome, seconds=0.0, cpu_seconds=0.0, memory=0)


def test_scheduler_and_local_runs_give_equal_outcomes(cluster: Cluster, tmp_path: Path) -> None:
    tasks = [*fleet(tmp_path, 3), Task("none", str(tmp_path / "none")), Task("text", str(small(tmp_path / "\udcff")))]
    with DaskEngine(cluster.address, 1) as engine:
        remote = {task.name: outcome for task, outcome in engine.outcomes(tasks)}
        assert engine.jobs == 2
    with DaskEngine(None, 3) as engine:
        local = {task.name: outcome for task, outcome in engine.outcomes(tasks)}
        assert engine.jobs == 3
    assert {name: one.status for name, one in local.items()} == {
        "0": "checked", "1": "checked", "2": "checked", "none": "failed", "text": "checked",
    }  # fmt: skip
    assert {name: found(one) for name, one in remote.items()} == {name: found(one) for name, one in local.items()}


def test_one_engine_serves_several_attempts(tmp_path: Path) -> None:
    with DaskEngine(None, 1) as engine:
        for task in fleet(tmp_path, 2):
            assert [(one.name, outcome.status) for one, outcome in engine.outcomes([task])] == [(task.name, "checked")]


@pytest.mark.parametrize("is_local", [True, False])
def test_only_a_few_tasks_are_fetched_in_advance(is_local: bool, cluster: Cluster, tmp_path: Path) -> None:
    taken, ended, ahead = 0, 0, []
    folder = str(small(tmp_path / "a"))

    def tasks() -> Iterator[Task]:
        nonlocal taken
        for number in range(20):
            taken += 1
            ahead.append(taken - ended)
            yield Task(str(number), folder)

    with DaskEngine(None if is_local else cluster.address, 2) as engine:
        for _ in engine.outcomes(tasks()):
            ended += 1
    assert (taken, ended) == (20, 20)
    assert 2 < max(ahead) <= 2 * 2 + 1


def test_a_closed_engine_leaves_no_process(tmp_path: Path) -> None:
    folder, begin = slow(tmp_path / "a", 8000), 0.0
    left: list[int | None] = []
    with pytest.raises(KeyboardInterrupt), DaskEngine(None, 2) as engine:
        tasks = [Task("first", str(small(tmp_path / "first"))), *(Task(str(n), str(folder)) for n in range(4))]
        for _ in engine.outcomes(tasks):
            left.append(wait_for(lambda: checking(os.getpid(), "a")))
            begin = time.monotonic()
            raise KeyboardInterrupt
    assert time.monotonic() - begin < 3
    assert all(process is not None and is_gone(process) for process in left)
    assert checking(os.getpid()) is None
    assert outcomes(None, fleet(tmp_path, 1))["0"].status == "checked"


def test_the_local_engine_opens_no_network_port(tmp_path: Path) -> None:
    def sockets() -> int:
        listening = 0
        for name in ("tcp", "tcp6"):
            with open(f"/proc/self/net/{name}") as file:
                inodes = {line.split()[9] for line in file.readlines()[1:] if line.split()[3] == "0A"}
            own = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_there(fd)}
            listening += len({f"socket:[{inode}]" for inode in inodes} & own)
        return listening

    def _is_there(fd: str) -> bool:
        return os.path.lexists(f"/proc/self/fd/{fd}")

    with DaskEngine(None, 1) as engine:
        for _ in engine.outcomes(fleet(tmp_path, 1)):
            assert sockets() == 0


# --- workers


def test_a_worker_under_a_nanny_can_check(own: Cluster, tmp_path: Path) -> None:
    """A worker under a nanny is a daemon, which `multiprocessing` allows no child processes."""
    before = own.processes[-1]
    nanny = own.worker("--nanny")
    wait_for(lambda: own.is_registered(nanny))
    before.terminate()
    before.wait()
    outcome = outcomes(own.address, fleet(tmp_path, 1))["0"]
    assert (outcome.status, outcome.reason) == ("checked", "")


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (OTHER_KCHECK, r"has another kcheck .* than this: its code, rules or profiles differ"),
        (NO_KCHECK, r"has no kcheck"),
    ],
)
def test_a_worker_with_another_version_of_kcheck_is_named_before_the_run(
    before: str, reason: str, own: Cluster, tmp_path: Path
) -> None:
    other = own.worker(before=before)
    wait_for(lambda: own.is_registered(other))
    told = rf"worker tcp://127.0.0.1:\d+ {reason}.*; install the same kcheck there"
    left = iter(fleet(tmp_path, 9))
    with pytest.raises(EngineError, match=told):
        outcomes(own.address, left)
    assert len(list(left)) == 9
    assert checking(own.processes[1].pid) is None


@pytest.mark.parametrize("before", [OTHER_KCHECK, NO_KCHECK])
def test_a_worker_that_joins_with_another_version_is_named_and_checks_nothing(
    before: str, own: Cluster, tmp_path: Path
) -> None:
    checked = []

    def tasks() -> Iterator[Task]:
        yield from fleet(tmp_path, 2)
        other = own.worker(before=before, threads=4)
        wait_for(lambda: own.is_registered(other))
        yield from (Task(f"slow{number}", str(slow(tmp_path / f"slow{number}", 300))) for number in range(20))

    with (
        pytest.raises(EngineError, match=r"worker tcp://127.0.0.1:\d+ has (no|another) kcheck"),
        DaskEngine(own.address, 1) as engine,
    ):
        checked += [(task.name, outcome.status) for task, outcome in engine.outcomes(tasks())]
    assert {status for _, status in checked} <= {"checked"}


def test_tasks_of_a_lost_worker_move_to_another_worker(cluster: Cluster, tmp_path: Path) -> None:
    tasks = [Task("slow", str(slow(tmp_path / "slow"))), *fleet(tmp_path, 3)]
    ended: list[tuple[str, str]] = []

    def read() -> None:
        with DaskEngine(cluster.address, 1) as engine:
            ended.extend((task.name, outcome.status) for task, outcome in engine.outcomes(tasks))

    reading = threading.Thread(target=read)
    reading.start()
    workers = [one for one in cluster.processes[1:] if one.poll() is None]
    victim = wait_for(lambda: next((one for one in workers if checking(one.pid, "slow")), None))
    left = [*children(victim.pid), checking(victim.pid, "slow")]
    victim.kill()
    victim.wait()
    cluster.worker()
    reading.join()
    assert sorted(ended) == [("0", "checked"), ("1", "checked"), ("2", "checked"), ("slow", "checked")]
    for process in left:
        assert process is not None
        wait_for(lambda process=process: is_gone(process))  # type: ignore[misc]


def test_a_repository_that_kills_its_workers_fails(own: Cluster, tmp_path: Path) -> None:
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


def test_a_run_without_workers_ends_after_a_while(
    own: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WORKERS", 1.0)

    def tasks() -> Iterator[Task]:
        yield from fleet(tmp_path, 1)
        own.processes[-1].kill()
        yield Task("b", str(small(tmp_path / "b")))

    with pytest.raises(EngineError, match="has no worker any more; what is done is kept, and the same command goes on"):
        outcomes(own.address, tasks())


def test_a_scheduler_without_workers_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORKERS", 0.5)
    with started(tmp_path, workers=0) as empty, pytest.raises(EngineError, match="has no worker"):
        outcomes(empty.address, fleet(tmp_path, 1))


# --- the scheduler


def test_a_run_that_loses_its_scheduler_ends_and_can_be_resumed(own: Cluster, tmp_path: Path) -> None:
    folders = [str(small(tmp_path / "fleet" / "a")), str(slow(tmp_path / "fleet" / "b", 2000))]
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
    again = CliRunner().invoke(cli, ["fleet", *folders, "-o", str(out), "--jobs", "1"])
    assert again.exit_code == 0, again.output
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:8786", "127.0.0.1:8786 is not a scheduler; expected tcp://HOST:PORT or tls://HOST:PORT"),
        ("local", "local is not a scheduler; expected tcp://HOST:PORT or tls://HOST:PORT"),
        ("tcp://127.0.0.1:1", "no scheduler answers at tcp://127.0.0.1:1"),
        ("tls://127.0.0.1:1", "no scheduler answers at tls://127.0.0.1:1"),
    ],
)
def test_a_missing_scheduler_is_a_usage_error(
    address: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CONNECT", 0.5)
    result = CliRunner().invoke(
        cli, ["fleet", str(small(tmp_path / "a")), "-o", str(tmp_path / "out"), "--scheduler", address]
    )
    assert result.exit_code == 2
    assert reason in re.sub(r"\s+", " ", result.stderr)


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, module.__name__)
    result = CliRunner().invoke(cli, ["fleet", str(small(tmp_path / "a")), "-o", str(tmp_path / "out")])
    assert (result.exit_code, f"pip install 'kcheck[fleet] @ {SOURCE}'" in result.stderr) == (2, True)


def test_the_pack_option_no_longer_exists(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["fleet", str(small(tmp_path / "a")), "-o", str(tmp_path / "out"), "--pack"])
    assert (result.exit_code, "No such option" in result.stderr) == (2, True)
