"""Test that every command ends in bounded time and memory for any input; KCHECK_BOMBS=1 tries all bombs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.whole.bombs import all_bombs

if TYPE_CHECKING:
    from tests.conftest import Write

SECONDS, BYTES = 40, 2_000_000_000
"""Generous limits: machines may be slow, and address space exceeds memory. An endless run exceeds both."""

BOMBS = all_bombs()
FEW = (
    "value: regexall",
    "value: loops in loops",
    "chain: text doubled",
    "chain: shared and encoded",
    "terraform: modules in modules",
    "kubernetes: laughs",
    "kubernetes: a chain of anchors",
    "kubernetes: globs",
    "command: simulate of many nodes",
    "script: a command of many lines, from a file",
    "script: a command of spaces",
)

resource = pytest.importorskip("resource")


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS if os.environ.get("KCHECK_BOMBS") else FEW)
def test_every_command_ends_in_bounded_time_and_memory(name: str, write: Write) -> None:
    arguments, make = BOMBS[name]
    folder = write(make())
    run = subprocess.run(
        [sys.executable, "-c", "from kcheck.commands.cli import main; main()", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert run.returncode in (0, 2), run.stderr[-1000:]
    assert "Traceback" not in run.stderr
