"""Helpers of the tests: folders of files, runs, and terraform where it is installed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from kcheck import engine
from kcheck.config import Config
from kcheck.files import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcheck.engine import Result

Write = "Callable[[Mapping[str, str | bytes]], Path]"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Write files into a fresh working directory."""
    monkeypatch.chdir(tmp_path)

    def files(content: Mapping[str, str | bytes]) -> Path:
        for name, text in content.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return files


@pytest.fixture
def check(write: Callable[[Mapping[str, str | bytes]], Path]) -> Callable[..., Result]:
    """Write files and check them."""

    def run(content: Mapping[str, str | bytes], config: Config | None = None) -> Result:
        write(content)
        return engine.run(Tree(["."]), config or Config())

    return run


@pytest.fixture
def terraform() -> str:
    """The terraform binary."""
    path = shutil.which("terraform")
    if path is None:
        pytest.skip("terraform is not installed")
    return path


def names(result: Result) -> list[str]:
    """The rules that found something, in report order."""
    return [finding.rule for finding in result.findings]
