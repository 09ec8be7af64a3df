"""Test progress on a terminal, and shell completion."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from kcheck.api import Project
from kcheck.commands import printing
from kcheck.commands.cli import COMMANDS, cli
from kcheck.commands.options import complete_limits
from kcheck.config.config import Config
from kcheck.report import limit
from kcheck.text import deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from tests.conftest import Write


GONE = "\x1b[1A\x1b[2K"
"""What takes the line of progress away."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(screen: io.StringIO, text: str) -> None:
    end = time.monotonic() + 10
    while text not in screen.getvalue():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_progress_appears_late_and_disappears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_PATIENCE", 0.01)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with printing.show_progress() as tell:
        tell("reading 7 files")
        wait_for(screen, "kcheck: reading 7 files, 0 s")
        tell("x" * 200)
        wait_for(screen, "x" * 71)
        assert "x" * 100 not in screen.getvalue()
    assert screen.getvalue().endswith(GONE)


def test_a_dumb_terminal_gets_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_PATIENCE", 0)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "dumb")
    with printing.show_progress():
        time.sleep(0.05)
    assert screen.getvalue() == ""


def test_progress_counts_folders_roots_and_manifests(write: Write) -> None:
    cluster = 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\n'
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"
    write({"a/main.tf": cluster, "b/main.tf": cluster, **{f"jobs/{name}.yaml": job for name in "cde"}})
    told: list[str] = []
    Project([], Config()).check(tell=told.append)
    for what, many in (("folders", 2), ("root modules", 2), ("manifests", 3)):
        found = [text for text in told if text.startswith("reading, ") and text.endswith(what)]
        assert found == [f"reading, {number} of {many} {what}" for number in range(1, many + 1)]


@pytest.mark.parametrize("command", ["check", "capacity", "simulate", "baseline"])
def test_commands_that_read_show_progress_and_clear_it(
    command: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"main.tf": 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\n'})
    screen = Terminal()
    monkeypatch.setattr(printing, "_PATIENCE", 0)

    def each(units: Collection[object], what: str, tell: Callable[[str], None]) -> Iterator[object]:
        tell(f"reading {what}")
        wait_for(screen, what)
        yield from units

    monkeypatch.setattr(deadline, "each", each)
    monkeypatch.setattr(sys, "stderr", screen)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main([command], standalone_mode=False)
    assert "kcheck: reading folders, " in screen.getvalue()
    assert screen.getvalue().rindex("root modules") < screen.getvalue().rindex(GONE)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_progress_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(printing, "_PATIENCE", 0)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with printing.show_progress() as tell:
        tell("x" * 200)
        wait_for(screen, "xx")
    shown = max(map(len, re.split(r"\x1b\[[\w?]+|\s", screen.getvalue())))
    assert shown == columns - len("kcheck: ")


def test_wrong_use_is_told_in_whole_words(write: Write) -> None:
    write({"main.tf": ""})
    run = CliRunner(env={"COLUMNS": "60", "FORCE_COLOR": "1"}).invoke(cli, ["check", "--select", "subnet-too-smal"])
    assert run.stderr.splitlines()[-2:] == [
        "Error: select: there is no rule subnet-too-smal; did you",
        "  mean subnet-too-small?",
    ]


def test_quick_runs_print_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with printing.show_progress() as tell:
        tell("reading")
    assert screen.getvalue() == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_not_written_to_files_and_pipes(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_PATIENCE", 0)
    screen = Terminal() if quiet else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with printing.show_progress(quiet=quiet):
        time.sleep(0.05)
    assert screen.getvalue() == ""


def completed(words: str, last: str) -> list[str]:
    """Return the shell completions of a word after some words."""
    environment = {
        "_KCHECK_COMPLETE": "zsh_complete", "COMP_WORDS": f"kcheck {words} {last}".rstrip(), "COMP_CWORD": str(len(words.split()) + 1),
    }  # fmt: skip
    run = CliRunner().invoke(cli, [], prog_name="kcheck", env=environment, standalone_mode=True)
    return run.output.splitlines()[1::3]


@pytest.mark.parametrize(
    ("words", "last", "expected"),
    [
        ("", "ch", ["check"]),
        ("check", "--diff", ["--diff-base"]),
        ("check --format", "s", ["sarif"]),
        ("check --select", "subnet-too", ["subnet-too-small"]),
        (
            "check --ignore",
            "auto",
            ["autoscaling", "auto-mode-node-expiry", "auto-provisioning-below-job", "auto-provisioning-limits-low"],
        ),
        ("fix --select", "kubenet-r", ["kubenet-retiring"]),
        ("explain", "subnet-too", ["subnet-too-small"]),
        ("explain", "eks.pool.qu", ["eks.pool.quota", "eks.pool.quota_name"]),
        ("limits", "any.docker_hub.p", ["any.docker_hub.pulls"]),
    ],
)
def test_command_words_are_completed(words: str, last: str, expected: list[str]) -> None:
    assert completed(words, last)[: len(expected)] == expected


def test_explain_knows_every_completed_limit() -> None:
    context, argument = click.Context(cli), click.Argument(["name"])
    found = {f"limits.{name}" for name in complete_limits(context, argument, "")}
    assert found == {name for name in limit.names() if name.startswith("limits.") and name.split(".")[2] != "quota"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str) -> None:
    run = CliRunner().invoke(
        cli, [], prog_name="kcheck", env={"_KCHECK_COMPLETE": f"{shell}_source"}, standalone_mode=True
    )
    assert "_KCHECK_COMPLETE" in run.output


@pytest.mark.medium
def test_the_program_itself_completes_words() -> None:
    """This also holds where kcheck sets the exit status itself."""
    code = "import sys; sys.argv = ['kcheck']; from kcheck.commands.cli import main; main()"
    environment = {"_KCHECK_COMPLETE": "zsh_complete", "COMP_WORDS": "kcheck ca", "COMP_CWORD": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[1] == "capacity"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_eighty_columns(name: str) -> None:
    text = CliRunner().invoke(cli, [name, "--help"], terminal_width=80).stdout
    assert max(map(len, text.splitlines())) <= 80
