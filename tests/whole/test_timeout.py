"""Test --timeout: earlier findings are reported, unchecked objects are named, the exit status is 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.engine.words.subjects import things
from kcheck.inventory import reader
from kcheck.text import deadline
from kcheck.text.deadline import DeadlineError
from tests.whole.test_nasty import HEALTHY

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.scale.world import World
    from tests.conftest import Write

pytestmark = pytest.mark.medium

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 300
  template:
    spec:
      containers: [{name: main, image: "pytorch/pytorch:2.8.0"}]
"""


@pytest.fixture
def tree(write: Write) -> Path:
    return write({"main.tf": HEALTHY, "job.yaml": JOB})


def late(*_: object, **__: object) -> None:
    raise DeadlineError


def test_findings_before_the_timeout_are_reported(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CliRunner().invoke(cli, ["check", "."])
    monkeypatch.setattr(
        "kcheck.engine.rule_outcomes.things", lambda kind, world: late() if kind == "image" else things(kind, world)
    )
    run = CliRunner().invoke(cli, ["check", ".", "--timeout", "60"])
    assert run.exit_code == 3
    assert "free-control-plane" in run.stdout
    assert "docker-hub-image" in whole.stdout
    assert "docker-hub-image" not in run.stdout
    assert "kinds of objects were not checked: image" in " ".join(run.stdout.split())
    assert run.stderr.endswith("kcheck: stopped after 60 s (--timeout).\n")


def test_findings_about_files_are_reported_after_the_timeout(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "broken.tf").write_text("a =\n")

    def late_things(kind: str, world: World) -> object:
        if kind != "image":
            return things(kind, world)
        deadline.start(0.01)
        while True:
            pass

    monkeypatch.setattr("kcheck.engine.rule_outcomes.things", late_things)
    run = CliRunner().invoke(cli, ["check", ".", "--timeout", "60"])
    assert run.exit_code == 3
    assert "free-control-plane" in run.stdout
    assert "unreadable-file" in run.stdout
    assert "kinds of objects were not checked: image" in " ".join(run.stdout.split())


def test_files_unread_at_the_timeout_are_reported(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "read", late)
    run = CliRunner().invoke(cli, ["check", ".", "--timeout", "60"])
    assert run.exit_code == 3
    assert "not read: .: stopped after 60 s (--timeout); not all files were read, nothing was checked" in run.stdout


@pytest.mark.parametrize("command", ["capacity", "fix", "show", "simulate"])
def test_every_command_that_reads_a_tree_stops_at_the_timeout(
    tree: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "read", late)
    run = CliRunner().invoke(cli, [command, ".", "--timeout", "60"])
    assert run.exit_code == 3
    assert run.stderr == "kcheck: stopped after 60 s (--timeout).\n"
    assert (tree / "main.tf").read_text() == HEALTHY


def test_the_timer_ends_the_current_work(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(reader, "read", forever)
    assert CliRunner().invoke(cli, ["check", ".", "--timeout", "0.05"]).exit_code == 3


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_invalid_timeouts_are_refused(tree: Path, seconds: str) -> None:
    assert CliRunner().invoke(cli, ["check", ".", "--timeout", seconds]).exit_code == 2
