"""Processes that share the deciding find what one finds, in its order; what one of them loses is done again."""

from __future__ import annotations

import gc
import io
import os
import pickle
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import deciding, forked_workers, linter
from kcheck.report.formats import Report, render
from kcheck.text.files.tree import Tree
from kcheck.text.text import Source, Span
from tests.conftest import manifest, written
from tests.places import LONG, ROOT
from tests.rules.test_several_clusters import AUTOSCALER, TAINT, cluster, job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcheck.engine.linter import Result
    from kcheck.model import Thing

pytestmark = [
    pytest.mark.medium,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # Python 3.12, where tests run in threads
]

CALL = 'module "one" {\n  source = "../shared"\n  most = 20\n}\n'
SHARED = """\
variable "most" {}
variable "sku" { default = "Free" }
resource "azurerm_kubernetes_cluster" "main" {
  name     = "main"
  sku_tier = var.sku
  default_node_pool {
    name       = "system"
    node_count = var.most
  }
}
"""
FILES = {
    "dev/main.tf": cluster("dev"),
    "prod/main.tf": cluster("prod", taint=TAINT),
    "shared/main.tf": SHARED,
    "one/main.tf": CALL,
    "two/main.tf": CALL,
    "broken/main.tf": 'resource "a" {',
    "k8s/autoscaler.yaml": manifest("apps/Deployment", AUTOSCALER.format(most=5)),
    "k8s/train.yaml": job(),
    "k8s/ignored.yaml": job().replace("metadata:", "metadata: # kcheck: ignore[images] ours"),
    **{f"k8s/copies/{i}.yaml": job().replace("quay.io/example/train:1", "train") for i in range(4)},
}


def printed(result: Result) -> str:
    """All that a run found, in its order."""
    found = (result.findings, result.undecided, result.bugs, result.decided, result.suppressed)
    return render("json", Report(result, True, True)) + repr(found)


def in_worker() -> bool:
    """Whether this is a forked process."""
    return os.getpid() != PARENT


PARENT = os.getpid()


# --- the same result


@pytest.mark.slow
@settings(max_examples=100 if LONG else 8)
@given(st.sets(st.sampled_from(sorted(FILES))), st.integers(2, 3))
def test_any_tree(tmp_path_factory: pytest.TempPathFactory, names: set[str], jobs: int) -> None:
    folder = tmp_path_factory.mktemp("tree")
    written(folder, {name: FILES[name] for name in names})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert printed(linter.run(Tree(["."]), Config(), jobs=jobs)) == printed(linter.run(Tree(["."]), Config()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["selfmanaged-training", "own-rules"])
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / name)
    one, two = (CliRunner().invoke(cli, ["check", ".", "--info", "--jobs", jobs]) for jobs in "12")
    assert (two.output, two.exit_code) == (one.output, one.exit_code)
    assert one.output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aks-training", "gke-training", "selfmanaged-training"])
def test_all_that_is_found_can_be_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot is decided twice."""
    monkeypatch.chdir(ROOT / "examples" / name)
    decide, outcomes = deciding.Checks.outcome, []

    def outcome(checks: deciding.Checks, thing: Thing) -> deciding.Outcome:
        outcomes.append(decide(checks, thing))
        return outcomes[-1]

    monkeypatch.setattr(deciding.Checks, "outcome", outcome)
    linter.run(Tree(["."]), Config())
    sources = {id(one): one for one in gc.get_objects() if type(one) is Source}
    data = io.BytesIO()
    forked_workers._Sender(data, sources).dump(outcomes)
    assert forked_workers._Loader(io.BytesIO(data.getvalue()), sources).load() == outcomes


def test_pieces(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is of a cluster is one piece, as its runs are simulated once; each thing is in one."""
    checks: list[deciding.Checks] = []

    def processes(_: int | None, of_run: list[deciding.Checks]) -> int:
        checks.extend(of_run)
        return 1

    monkeypatch.setattr(linter, "number_of_processes", processes)
    write({"dev/main.tf": cluster("dev"), "prod/main.tf": cluster("prod"), "a.yaml": job(), "b.yaml": job()})
    linter.run(Tree(["."]), Config(), jobs=2)
    pieces = deciding.pieces(checks)
    every = [(own, thing) for own, found in enumerate(checks) for thing in range(len(found.things))]
    assert sorted(one for piece in pieces for one in piece) == every
    subjects = [{checks[own].subject for own, _ in piece} for piece in pieces]
    assert all({"cluster", "pool", "wall"} <= own for own in subjects[:2])
    assert not any({"cluster", "pool", "wall"} & own for own in subjects[2:])
    monkeypatch.setattr(deciding, "_MOST_PIECES", 1)
    assert len(deciding.pieces(checks)) == 2


# --- when, and how many


class _Own(NamedTuple):
    """Checks of so many things."""

    things: range


@pytest.mark.parametrize(
    ("wanted", "things", "platform", "number"),
    [(None, 100, "linux", 1), (None, 10_000, "linux", 4), (None, 10_000, "darwin", 1), (7, 1, "darwin", 7)],
)
def test_processes(
    wanted: int | None, things: int, platform: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16), raising=False)
    checks = [_Own(range(things))]
    assert deciding.number_of_processes(wanted, checks) == number  # type: ignore[arg-type]
    monkeypatch.delattr(os, "fork")
    assert deciding.number_of_processes(wanted, checks) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "status"), [("2", 0), ("0", 2), ("many", 2)])
def test_variable(
    write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch, value: str, status: int
) -> None:
    write({"pod.yaml": job()})
    monkeypatch.setenv("KCHECK_JOBS", value)
    run = CliRunner().invoke(cli, ["check", ".", "--exit-zero"])
    assert run.exit_code == status
    assert ("Invalid value for '--jobs'" in run.stderr) is bool(status)


# --- what goes wrong


def lost(number: int) -> int:
    if in_worker():
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def failing(number: int) -> int:
    if in_worker():
        raise ValueError(number)
    return number


def unsendable(number: int) -> object:
    return (lambda: None) if in_worker() else number


def from_a_file_of_its_own(number: int) -> object:
    return Span(Source("new", b""), 0, 0) if in_worker() else number


def undoable(number: int) -> object:
    return _Undoable() if in_worker() else number


class _Undoable:
    """What can be sent, but not be made again."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("x",)


@pytest.mark.slow
@pytest.mark.parametrize("work", [lost, failing, unsendable, from_a_file_of_its_own, undoable])
def test_what_a_worker_loses_is_done_again(work: Callable[[int], object]) -> None:
    assert shared_after(work) == list(range(9))


def shared_after(work: Callable[[int], object]) -> list[object]:
    """What two processes give, where the worker gets at least one of nine pieces."""
    reader, writer = os.pipe()

    def careful(number: int) -> object:
        if in_worker():
            os.write(writer, b"x")
        elif not waited:
            waited.append(os.read(reader, 1))
        return work(number)

    waited: list[bytes] = []
    try:
        return forked_workers.shared(careful, 9, 2)
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.slow
def test_workers_do_some_of_it() -> None:
    found = shared_after(lambda _: os.getpid())
    assert set(found) - {PARENT}


@pytest.mark.slow
def test_files_are_the_same_objects() -> None:
    source = Source("a", b"abc")
    found = shared_after(lambda _: source.span(0, 1))
    assert all(isinstance(one, Span) and one.source is source for one in found)


@pytest.mark.slow
def test_what_is_wrong_is_met_again() -> None:
    def work(number: int) -> int:
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"^[0-8]$"):
        shared_after(work)


@pytest.mark.slow
def test_no_process_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    assert forked_workers.shared(str, 3, 4) == ["0", "1", "2"]


def test_results_that_break_off_are_none() -> None:
    data = pickle.dumps({1: b"x" * 100}, pickle.HIGHEST_PROTOCOL)
    for size in range(0, len(data), 7):
        reader, writer = os.pipe()
        os.write(writer, data[:size])
        os.close(writer)
        assert forked_workers._Worker(0, reader).results() == {}
        os.close(reader)


@pytest.mark.slow
def test_workers_end_with_what_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the run at once, whatever its workers do."""
    fork = os.fork
    forks: list[int] = []

    def recorded() -> int:
        forks.append(pid := fork())
        return pid

    def work(number: int) -> int:
        if in_worker():
            time.sleep(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fork", recorded)
    with pytest.raises(KeyboardInterrupt):
        shared_after(work)
    assert forks
    for pid in forks:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
