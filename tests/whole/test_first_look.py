"""What is answered before click is imported is what click's way answers."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.commands import first_look, group
from kcheck.commands.cli import main
from kcheck.engine import linter
from kcheck.text.files import tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.medium


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - {name: a, image: quay.io/a/b:1}\n"
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  activeDeadlineSeconds: 600
  template:
    spec:
      containers:
        - {name: a, image: quay.io/a/b:1}
"""
SITE = "site_name: x\n"
TREES: dict[str, dict[str, str]] = {
    "empty": {},
    "other tools": {"mkdocs.yml": SITE, "README.md": "# x\n", "src/a.py": "", ".github/workflows/ci.yml": POD},
    "below what is not read": {"node_modules/a/pod.yaml": POD},
    "test data": {"testdata/pod.yaml": POD},
    "manifest": {"deploy/pod.yaml": POD, "mkdocs.yml": SITE},
    "an info": {"job.yaml": JOB},
    "a finding": {"deploy/pod.yaml": POD.replace("b:1", "b:latest").replace("Pod", "DaemonSet")},
    "a broken manifest": {"pod.yaml": POD.replace("}", "")},
    "Terraform": {"main.tf": 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\n', "run.sh": "true\n"},
    "settings": {"kcheck.yaml": "fail_on: never\n", "mkdocs.yml": SITE},
    "settings of Python": {"pyproject.toml": "[tool.kcheck]\nfail-on = 1\n"},
    "a project in Python": {"pyproject.toml": "[project]\nname = 'a'\n"},
}
COMMANDS = (
    "check",
    "check .",
    "check . -q --no-cache",
    "check . --fail-on never --format text --info --exit-zero",
    "check . --fail-on info",
    "check . --fail-on undecided --show-undecided",
    "check . --fail-on nothing",
    "check . --fail-on",
    "check . --format json",
    "check . --exclude deploy",
    "check --hook",
    "check --hook README.md",
    "check --hook mkdocs.yml run.sh",
    "check --hook deploy/pod.yaml main.tf",
    "check README.md",
    "check nowhere",
    "check -x",
    "--version",
    "--version check",
    "",
)


@pytest.fixture
def said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[Callable[[], None], str], tuple[str, str, object]]:
    """What a way to start says, and its exit code."""

    def run(start: Callable[[], None], command: str) -> tuple[str, str, object]:
        monkeypatch.setattr(sys, "argv", ["kcheck", *command.split()])
        code: object = 0
        try:
            start()
        except SystemExit as stop:
            code = stop.code
        return *capfd.readouterr(), code or 0

    return run


@pytest.mark.parametrize("name", TREES)
def test_first_look_says_what_click_says(
    name: str,
    said: Callable[[Callable[[], None], str], tuple[str, str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for path, text in TREES[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / ".git").mkdir()  # the settings are looked for up to here
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    for command in COMMANDS:
        assert said(main, command) == said(group.run, command), command
    assert not first_look.trees
    assert not first_look.results


@pytest.mark.parametrize("manifest", [POD, JOB])
def test_a_tree_is_read_and_decided_once(
    manifest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    made = []
    walk, run = tree.Tree._walk, linter.run

    def counted(self: tree.Tree, top: str) -> None:
        made.append(top)
        walk(self, top)

    def counted_run(*arguments: Any, **more: Any) -> linter.Result:
        made.append("run")
        return run(*arguments, **more)

    monkeypatch.setattr(tree.Tree, "_walk", counted)
    monkeypatch.setattr(linter, "run", counted_run)
    (tmp_path / "pod.yaml").write_text(manifest)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kcheck", "check", "--info"])
    main()
    assert made == [".", "run"]
    assert "1 workload checked" in capfd.readouterr().out


@pytest.mark.parametrize("command", ["--version", "check .", "check -q --hook", "check --hook README.md mkdocs.yml"])
def test_neither_click_nor_a_library_is_imported(command: str, tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text(SITE)
    (tmp_path / ".git").mkdir()
    code = (
        "import sys; from kcheck.commands.cli import main; sys.argv[1:] = sys.argv[1].split(); main()\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, command], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert not {"click", "msgspec", "yaml", "json", "hashlib", "inspect"} & set(run.stderr.split())


def test_a_mistake_on_the_way_is_met_again_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    (tmp_path / "pod.yaml").write_text(POD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(linter, "run", fail)
    monkeypatch.setattr(sys, "argv", ["kcheck", "check"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 3
    assert "failed: ZeroDivisionError" in capfd.readouterr().err


def test_an_interrupted_run_ends_without_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "pod.yaml").write_text(POD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(linter, "run", interrupt)
    monkeypatch.setattr(sys, "argv", ["kcheck", "check"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert capfd.readouterr() == ("", "\n")
