"""Test `kcheck fix --interactive`: it shows each fix and asks, and writes only what was accepted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from tests.fix.test_command import AKS

if TYPE_CHECKING:
    from click.testing import Result

    from tests.conftest import Write


FILES = {f"{name}/main.tf": AKS.replace("train", name) for name in "abc"}


def answered(*answers: str, flags: tuple[str, ...] = ()) -> Result:
    text = "".join(f"{answer}\n" for answer in answers)
    return CliRunner().invoke(cli, ["fix", "--interactive", "--fail-on", "never", ".", *flags], input=text)


@pytest.mark.parametrize(
    ("answers", "fixed"),
    [
        (["y", "n", "y"], "ac"),
        (["n", "a"], "bc"),
        (["y", "q"], "a"),
        (["", "what", "yes", "Y", "y", "q"], "a"),
        (["q"], ""),
        (["a"], "abc"),
    ],
)
def test_only_accepted_fixes_are_written(answers: list[str], fixed: str, write: Write) -> None:
    write(FILES)
    result = answered(*answers)
    assert result.exit_code == 0
    assert "".join(path[0] for path, old in FILES.items() if Path(path).read_text() != old) == fixed
    wrong = sum(answer not in {*"ynaq", ""} for answer in answers)
    assert result.stderr.count("is not one of 'y', 'n', 'a', 'q'") == wrong
    assert result.stderr.count("you declined it") == 3 - len(fixed)


def test_each_proposed_fix_is_shown_with_its_reason(write: Write) -> None:
    write({"main.tf": AKS})
    result = answered("y")
    assert '-  sku_tier = "Free"\n+  sku_tier = "Standard"\n' in result.stderr
    assert (
        "1 of 1: free-control-plane: The Free control plane serves 200 nodes; at most 10 are recommended\n"
        "Apply this fix (costs)? (y, n, a, q):"
    ) in result.stderr


def test_nothing_is_written_when_input_ends(write: Write) -> None:
    """The end of input acts like Ctrl-C."""
    write(FILES)
    result = answered("y")
    assert result.exit_code == 1
    assert "Ctrl-C: write nothing\n" in result.stderr
    assert [Path(path).read_text() for path in FILES] == list(FILES.values())


def test_the_diff_has_only_accepted_fixes(write: Write) -> None:
    write(FILES)
    result = answered("n", "y", "n", flags=("--diff",))
    assert [line for line in result.stdout.splitlines() if line.startswith("+++")] == ["+++ b/b/main.tf"]
    assert result.stderr.splitlines()[-4:-1] == [
        "Would fix 1 finding (1 costs) in 1 file.",
        "  costs: b/main.tf:3:14 free-control-plane: The Free control plane serves 200 nodes; at most 10 are recommended",
        "a/main.tf:3:14 free-control-plane: not written: you declined it.",
    ]
