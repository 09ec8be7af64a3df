"""Test markers: they select tests by tier, and a marker that selects nothing is an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import ROOT


def collected(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-v", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_markers_that_do_not_exist_are_refused() -> None:
    run = collected("-m", "core and not slwo", "tests/text/test_bundled.py")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert 'ERROR: -m "core and not slwo": there is no marker slwo' in run.stderr


@pytest.mark.slow
def test_a_run_of_some_files_need_not_use_every_marker() -> None:
    run = collected("-m", "(core and not slow) or smoke", "tests/text/test_bundled.py")
    assert run.returncode == 0
    assert "test_bundled.py" in run.stdout


@pytest.mark.slow
def test_every_marker_is_used_by_some_test(request: pytest.FixtureRequest) -> None:
    markers = "\n".join([*request.config.getini("markers"), "unused: no test has it"])
    run = collected("-o", f"markers={markers}", "-m", "browser and not unused", "tests")
    assert "<Unmarked unused>" in run.stdout
    assert "<Unmarked browser>" not in run.stdout
