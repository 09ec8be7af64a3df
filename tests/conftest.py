"""Provide helpers for the tests: folders of files, runs, and terraform if it is installed."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import textwrap
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import settings

from kcheck.config.config import Config
from kcheck.engine import linter, rule
from kcheck.inventory import reader
from kcheck.model import Requirement
from kcheck.text.bundled import RULES
from kcheck.text.files.tree import Tree
from tests.places import LONG, ROOT, TESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kcheck.engine.linter import Result
    from kcheck.model import Inventory, PodTemplate

Check: TypeAlias = "Callable[..., Result]"
Read: TypeAlias = "Callable[[Mapping[str, str]], Inventory]"
Write: TypeAlias = "Callable[[Mapping[str, str | bytes]], Path]"


FAKE_HELM = ROOT / "tests" / "fake_helm.py"

settings.register_profile("kcheck", max_examples=500 if LONG else 30, deadline=None)
settings.load_profile("kcheck")


TIERS = {
    "generate": "generate",
    "addons": "addon",
    "apiserver": "addon",
    "browser": "browser",
}
"""The marker that all tests in a folder get; elsewhere it is `core`."""


def markers(expression: str) -> set[str]:
    """Return the markers that an expression for -m names."""
    return set(re.findall(r"\w+", expression)) - {"and", "or", "not"}


class Unmarked(pytest.Item):
    """A test that always fails: xdist does not print errors that are raised while tests are collected."""

    def runtest(self) -> None:
        pytest.fail(f"no test has the marker {self.name}", pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an expression for -m that names an unknown marker; pytest would select nothing."""
    expression = config.option.markexpr
    if unknown := markers(expression) - {line.partition(":")[0] for line in config.getini("markers")}:
        raise pytest.UsageError(f'-m "{expression}": there is no marker {", ".join(sorted(unknown))}')


def tier(path: Path) -> str:
    """Return the marker that a file or folder gives to its tests."""
    return TIERS.get(path.relative_to(TESTS).parts[0], "core") if path != TESTS else "core"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of tests that -m excludes, by folder or by `pytestmark`.

    This halves the time of a first run.
    """
    expression = config.option.markexpr
    if "core" not in markers(expression) or not collection_path.is_relative_to(TESTS):
        return None
    own = tier(collection_path)
    if own != "core":
        return True if not markers(expression) & {own, "smoke"} else None
    if not collection_path.match("test_*.py"):
        return None
    marks = re.search(r"^pytestmark = (\[[^\]]*\]|.*)", collection_path.read_text(encoding="utf-8"), re.MULTILINE)
    left_out = re.findall(r"not (\w+)", expression)
    return True if marks and any(f"pytest.mark.{name}" in marks[1] for name in left_out) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Mark each test by its folder.

    In a run of all tests, fail if a marker that -m names marks none.
    """
    for item in items:
        item.add_marker(tier(item.path))
    used = {mark.name for item in items for mark in item.iter_markers()}
    yield
    if {Path(argument).name for argument in config.args} == {TESTS.name}:
        unused = sorted(markers(config.option.markexpr) - used)
        items += [Unmarked.from_parent(session, name=name) for name in unused]


_read = rule._documentation
_once = cache(_read)


def _documentation(path: str) -> rule.Documentation:
    """Return the examples of a rule.

    Those of kcheck's own rules are read once, as tests ask for them ten times.
    """
    return _once(path) if path.startswith(RULES) else _read(path)


vars(rule)["_documentation"] = _documentation


gc.disable()


def pytest_collection_finish() -> None:
    """Exempt collected tests from garbage collection: scanning them takes a sixth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    gc.enable()


def pytest_unconfigure() -> None:
    """Undo the exemption: some libraries complain on stderr about objects that are never released."""
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Set the environment for tests and their child processes, such as the date and the folder of compiled modules."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(name, None)
    os.environ["KCHECK_TODAY"] = "2026-11-22"  # what is retired does not change with the calendar
    os.environ["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.getbasetemp().parent / "compiled")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes files into a fresh working directory."""
    monkeypatch.chdir(tmp_path)

    return partial(written, tmp_path)


@pytest.fixture
def check(write: Write) -> Check:
    """Return a function that writes files and checks them."""

    def run(content: Mapping[str, str | bytes], config: Config | None = None) -> Result:
        write(content)
        return linter.run(Tree(["."]), config or Config())

    return run


@pytest.fixture
def read(write: Write) -> Read:
    """Return a function that writes files and reads them into an inventory."""

    def files(content: Mapping[str, str]) -> Inventory:
        write(dict(content))
        reading = reader.read(Tree(["."]), Config())
        assert not reading.problems
        return reading.inventory

    return files


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that runs Git in a fresh repository, which is the working directory.

    User settings have no effect.
    """
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name, value in {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> str:
        command = ["git", "-c", "init.defaultBranch=main", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    run("init", "-q")
    return run


@pytest.fixture
def terraform() -> str:
    """Return the path of terraform; skip the test if it is not installed."""
    path = shutil.which("terraform")
    if path is None:
        pytest.skip("terraform is not installed")
    return path


def written(folder: Path, content: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, and return the folder."""
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def names(result: Result) -> list[str]:
    """Return the rules that found something, in the order of the report."""
    return [finding.rule for finding in result.findings]


def indented(text: str, by: int) -> str:
    """Return lines indented by some columns, except for the first line."""
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * by).lstrip()


def manifest(kind: str, spec: str, *, meta: str = "name: train") -> str:
    """Return a manifest of `group/Kind` in version v1."""
    group, _, name = kind.rpartition("/")
    version = f"{group}/v1" if group else "v1"
    return f"apiVersion: {version}\nkind: {name}\nmetadata:\n  {indented(meta, 2)}\n{textwrap.dedent(spec).strip()}\n"


def one_pod(spec: str, read: Read) -> PodTemplate:
    """Return the pod template of a Pod with the given spec."""
    (workload,) = read({"pod.yaml": manifest("Pod", f"spec:\n  {indented(spec, 2)}")}).workloads
    (template,) = workload.templates
    return template


def requirement(key: str, *values: str, operator: str = "In") -> Requirement:
    """Return a requirement of a pod on a node label."""
    return Requirement(key, operator, values)


@pytest.fixture
def helm(write: Write, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Put a `helm` into the PATH that fills in values; return the function that writes files."""
    folder = tmp_path_factory.mktemp("bin")
    if sys.platform == "win32":
        (folder / "helm.bat").write_text(f'@"{sys.executable}" "{FAKE_HELM}" %*\n')
    else:
        (folder / "helm").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE_HELM}" "$@"\n')
        (folder / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=";" if sys.platform == "win32" else ":")
    return write
