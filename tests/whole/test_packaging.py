"""What is installed with kcheck, and where it cannot be."""

from __future__ import annotations

import importlib.util
import re
import sysconfig
import tomllib
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from tests.places import ROOT

if TYPE_CHECKING:
    from types import ModuleType

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES = [Requirement(text) for text in PROJECT["dependencies"]]


LOCK = (ROOT / "constraints.txt").read_text()
"""The newest versions that the tests have passed with."""


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The hook that builds a wheel."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("requirement", DEPENDENCIES, ids=str)
def test_what_may_break_with_its_next_version_has_an_upper_bound(requirement: Requirement) -> None:
    assert version(requirement.name) in requirement.specifier  # also where the oldest of all are installed
    locked = dict(line.partition(";")[0].strip().split("==") for line in LOCK.splitlines() if "==" in line)
    now = locked[requirement.name.lower()]
    assert now in requirement.specifier
    major, minor = map(int, now.split(".")[:2])
    if major == 0:
        assert f"0.{minor + 1}" not in requirement.specifier


@pytest.mark.parametrize(
    ("platform", "abi", "said"),
    [
        ("linux-x86_64", "cpython-312-x86_64-linux-gnu", ""),
        ("win-amd64", None, ""),
        ("linux-x86_64", "cpython-312-x86_64-linux-musl", "python:3.12-slim"),
        ("win-arm64", None, r"\(x64\)"),
    ],
)
def test_a_platform_without_wheels_is_told_so(
    hook: ModuleType, platform: str, abi: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: platform)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _name: abi)
    build = hook.CompiledData.__new__(hook.CompiledData)
    if not said:
        assert build.dependencies() == []
        return
    with pytest.raises(SystemExit, match=f"cel-expr-python has no build for .*{said}"):
        build.dependencies()


def test_each_promise_names_tests() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.endswith("| tests |")]
    assert rows
    for row in rows:
        named = re.findall(r"`(tests/[\w/.]+)`", row)
        assert named, row
        assert all((ROOT / name).exists() for name in named), row
