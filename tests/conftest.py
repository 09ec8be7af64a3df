"""Helpers of the tests: folders of files, runs, and terraform where it is installed."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

import pytest

from kcheck import engine, inventory
from kcheck.config import Config
from kcheck.files import Tree
from kcheck.model import Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcheck.engine import Result
    from kcheck.model import Inventory, PodTemplate

Read = "Callable[[Mapping[str, str]], Inventory]"
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
def read(write: Callable[[Mapping[str, str | bytes]], Path]) -> Callable[[Mapping[str, str]], Inventory]:
    """Write files and read them into an inventory."""

    def files(content: Mapping[str, str]) -> Inventory:
        write(dict(content))
        reading = inventory.read(Tree(["."]), Config())
        assert not reading.problems
        return reading.inventory

    return files


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


def indented(text: str, by: int) -> str:
    """Lines moved to the right, the first one left where it stands."""
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * by).lstrip()


def manifest(kind: str, spec: str, *, meta: str = "name: train") -> str:
    """An object of a kind, by `group/Kind`."""
    group, _, name = kind.rpartition("/")
    version = f"{group}/v1" if group else "v1"
    return f"apiVersion: {version}\nkind: {name}\nmetadata:\n  {indented(meta, 2)}\n{textwrap.dedent(spec).strip()}\n"


def one_pod(spec: str, read: Callable[[Mapping[str, str]], Inventory]) -> PodTemplate:
    """The pods of a Pod with such a spec."""
    (workload,) = read({"pod.yaml": manifest("Pod", f"spec:\n  {indented(spec, 2)}")}).workloads
    (template,) = workload.templates
    return template


def requirement(key: str, *values: str, operator: str = "In") -> Requirement:
    """What a pod asks of a label."""
    return Requirement(key, operator, values)
