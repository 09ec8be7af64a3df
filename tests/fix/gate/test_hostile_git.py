"""Test `--diff-base` in hostile repositories: no program runs, nothing outside is read, no finding is hidden."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kcheck.fix.gate.git import Difference, Repository
from tests.conftest import written
from tests.fix.gate.test_gate import FREE, cluster
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(os.name == "nt", reason="links and scripts of POSIX"),
]
SECRET = "hunter2"  # noqa: S105
NEW = [FREE]
"""Findings caused by a change from 5 to 100 nodes; all others existed before."""


class Run(NamedTuple):
    status: int
    text: str
    rules: list[str]


class Place:
    """A repository `work` with a change, and a folder `outside` with a secret.

    The file `pwned` is the canary: it exists only if a hostile program ran.
    """

    def __init__(self, top: Path) -> None:
        self.top, self.work, self.outside, self.canary = top, top / "work", top / "outside", top / "pwned"
        self.environment: dict[str, str] = {}
        self.arguments: list[str] = []
        self.folder = "."
        self.repository(self.work, 5)
        written(self.work, {"infra/main.tf": cluster(nodes=100)})
        written(self.outside, {"secret.ini": f"[core]\n\tbigFileThreshold = {SECRET}\n"})

    def repository(self, folder: Path, nodes: int, *options: str) -> None:
        """Create a repository with a cluster on main and on origin/main."""
        written(folder, {"infra/main.tf": cluster(nodes=nodes), "infra/other.tf": "locals {}\n"})
        self.git("init", "-q", *options, at=folder)
        self.git("add", "-A", at=folder)
        self.git("commit", "-qm", "x", at=folder)
        self.git("update-ref", "refs/remotes/origin/main", "HEAD", at=folder)

    def git(self, *arguments: str, at: Path | None = None) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        own |= {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        own |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(command, cwd=at or self.work, env=own, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def config(self, text: str, at: Path | None = None) -> None:
        """Append to the Git settings of a repository; TOUCH becomes a command that touches the file `pwned`."""
        with (at or self.work / ".git/config").open("a") as file:
            file.write(text.replace("TOUCH", f"touch {self.canary}"))

    def script(self, path: Path) -> None:
        """Write a program that touches the file `pwned`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {self.canary}\n")
        path.chmod(0o755)

    def bare(self, settings: str = "", attributes: str = "") -> None:
        """Add the files of a second repository in `infra`, which would hide the change there."""
        other = self.top / "other"
        self.repository(other, 100)
        written(self.work, {"infra/main.tf": cluster(nodes=100)})
        for name in ("HEAD", "index", "objects", "refs"):
            source, target = other / ".git" / name, self.work / "infra" / name
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        self.config(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n", self.work / "infra/config"
        )
        self.config(settings, self.work / "infra/config")
        if attributes:
            written(self.work, {"infra/.gitattributes": attributes})

    def check(self) -> Run:
        """Check the change with the real command line."""
        arguments = [*(self.arguments or ["infra" if self.folder == "." else "."]), "--diff-base", "origin/main"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **self.environment}
        done = subprocess.run(
            [sys.executable, "-c", "from kcheck.commands.cli import main; main()", "check", "--format", "json", *arguments],
            cwd=self.work / self.folder, env=environment, check=False, capture_output=True, text=True,
        )  # fmt: skip
        rules = [item["rule"] for item in json.loads(done.stdout)["findings"]] if done.stdout.startswith("{") else []
        return Run(done.returncode, done.stdout + done.stderr, rules)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


# --- the parts of a repository as committed files

FILTER = '[filter "evil"]\n\tclean = "TOUCH; cat"\n\tsmudge = "TOUCH; cat"\n'
PROCESS = '[filter "evil"]\n\tprocess = TOUCH\n\trequired = true\n'
MONITOR = "[core]\n\tfsmonitor = TOUCH\n"
PROMISOR = '[extensions]\n\tpartialClone = evil\n[remote "evil"]\n\tpromisor = true\n\turl = {}\n'
SSH = "[core]\n\tsshCommand = TOUCH\n" + PROMISOR.format("ssh://example.invalid/x")
EXT = '[protocol "ext"]\n\tallow = always\n' + PROMISOR.format('"ext::sh -c TOUCH"')
DRIVER = '[diff]\n\texternal = TOUCH\n[diff "evil"]\n\ttextconv = TOUCH\n\tcommand = TOUCH\n'
INCLUDE = "[include]\n\tpath = ../../outside/secret.ini\n"
SETTINGS = {
    "filter": (FILTER, "*.tf filter=evil\n"),
    "filter process": (PROCESS, "*.tf filter=evil\n"),
    "file system monitor": (MONITOR, ""),
    "diff driver": (DRIVER, "*.tf diff=evil\n"),
    "ssh command": (SSH, ""),
    "remote that is a command": (EXT, ""),
    "include": (INCLUDE, ""),
}


@pytest.mark.parametrize("folder", [".", "infra"])
@pytest.mark.parametrize("case", SETTINGS)
def test_a_folder_that_imitates_a_repository_is_not_used(place: Place, case: str, folder: str) -> None:
    place.bare(*SETTINGS[case])
    place.folder = folder
    found = place.check()
    assert (found.rules, place.canary.exists(), SECRET in found.text) == (NEW, False, False), found.text


# --- settings of the repository itself


def without_blob(place: Place) -> None:
    """Delete the blob that the change is compared with, so that only a lazy fetch could get it."""
    blob = place.git("rev-parse", "HEAD:infra/main.tf")
    (place.work / ".git/objects" / blob[:2] / blob[2:]).unlink()


@pytest.mark.parametrize(
    "case", [name for name in SETTINGS if name not in ("ssh command", "remote that is a command", "include")]
)
def test_hostile_git_settings_run_no_program(place: Place, case: str) -> None:
    settings, attributes = SETTINGS[case]
    place.config(settings)
    written(place.work, {".gitattributes": attributes})
    found = place.check()
    assert (found.rules, place.canary.exists()) == (NEW, False), found.text


def hooks(place: Place) -> None:
    for name in ("post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"):
        place.script(place.work / ".git/hooks" / name)
        place.script(place.work / "hooks" / name)
    place.config("[core]\n\thooksPath = ../hooks\n")


def alias(place: Place) -> None:
    names = ("rev-parse", "merge-base", "diff-index", "ls-files", "cat-file")
    place.config("[alias]\n" + "".join(f'\t{name} = "!TOUCH"\n' for name in names))
    place.config("[core]\n\tpager = TOUCH\n\taskPass = TOUCH\n\tgitProxy = TOUCH\n\talternateRefsCommand = TOUCH\n")


def work_tree(place: Place) -> None:
    place.config(f"[core]\n\tworktree = {place.outside}\n")


def replaced(place: Place) -> None:
    written(place.work, {"x": cluster(nodes=100)})
    place.git("replace", place.git("rev-parse", "HEAD:infra/main.tf"), place.git("hash-object", "-w", "x"))
    (place.work / "x").unlink()


def attributes(place: Place) -> None:
    place.config(FILTER + "[core]\n\tattributesFile = ../outside/attributes\n")
    written(place.outside, {"attributes": "* filter=evil\n"})
    written(place.work, {".git/info/attributes": "* filter=evil\n"})


def everything_ignored(place: Place) -> None:
    """Let the repository's own settings ignore every file; untracked files must still count as new."""
    place.config("[core]\n\texcludesFile = ../outside/all\n")
    written(place.outside, {"all": "*\n"})
    place.git("checkout", "-q", "infra/main.tf")
    written(place.work, {"infra/other.tf": cluster("new", nodes=100, plugin="none")})
    place.git("rm", "-q", "--cached", "infra/other.tf")


OWN: list[Callable[[Place], None]] = [hooks, alias, work_tree, replaced, attributes, everything_ignored]


@pytest.mark.parametrize("prepare", OWN)
def test_a_hostile_repository_runs_no_program(place: Place, prepare: Callable[[Place], None]) -> None:
    prepare(place)
    found = place.check()
    assert (found.rules, place.canary.exists()) == (NEW, False), found.text


@pytest.mark.parametrize("settings", [SSH, EXT])
def test_missing_git_objects_are_not_fetched(place: Place, settings: str) -> None:
    place.config(settings)
    without_blob(place)
    found = place.check()
    assert found.status == 2
    assert "fetch the whole history" in found.text
    assert not place.canary.exists()


def test_git_errors_show_no_content_from_outside(place: Place) -> None:
    place.config(INCLUDE)
    found = place.check()
    assert (found.status, SECRET in found.text) == (2, False), found.text


# --- git folders that lead elsewhere


def file_out(place: Place) -> None:
    place.repository(place.outside / "r", 100)
    shutil.rmtree(place.work / ".git")
    written(place.work, {".git": "gitdir: ../outside/r/.git\n"})


def file_to_a_tree(place: Place) -> None:
    place.bare(FILTER, "*.tf filter=evil\n")
    shutil.rmtree(place.work / ".git")
    written(place.work, {".git": "gitdir: infra\n"})


def file_to_the_worktree_of_another(place: Place) -> None:
    place.repository(place.outside / "r", 100)
    place.git("worktree", "add", "-q", "--detach", str(place.outside / "w"), at=place.outside / "r")
    shutil.rmtree(place.work / ".git")
    shutil.copy(place.outside / "w/.git", place.work / ".git")


def link_out(place: Place) -> None:
    place.repository(place.outside / "r", 100)
    shutil.rmtree(place.work / ".git")
    (place.work / ".git").symlink_to("../outside/r/.git")


def common_folder_out(place: Place) -> None:
    place.repository(place.outside / "r", 100)
    written(place.work, {".git/commondir": "../../outside/r/.git\n"})


def objects_out(place: Place) -> None:
    shutil.move(place.work / ".git/objects", place.outside / "objects")
    (place.work / ".git/objects").symlink_to("../../outside/objects")


def references_out(place: Place) -> None:
    shutil.move(place.work / ".git/refs/remotes", place.outside / "remotes")
    (place.work / ".git/refs/remotes").symlink_to("../../../outside/remotes")


def alternates(place: Place, path: str = "") -> None:
    """Move the objects of the base commit into another repository."""
    place.repository(place.outside / "r", 5)
    shutil.rmtree(place.work / ".git/objects")
    where = path or str(place.outside / "r/.git/objects")
    written(place.work, {".git/objects/info/alternates": f"# a comment\n{where}\n"})
    place.git("update-ref", "HEAD", place.git("rev-parse", "HEAD", at=place.outside / "r"))
    place.git("update-ref", "refs/remotes/origin/main", "HEAD")


def alternates_by_a_relative_path(place: Place) -> None:
    alternates(place, "../../../outside/r/.git/objects")


def alternates_of_alternates(place: Place) -> None:
    alternates(place)
    shutil.move(place.work / ".git/objects", place.work / ".git/more")
    written(place.work, {".git/objects/info/alternates": str(place.work / ".git/more") + "\n"})


def alternates_in_quotes(place: Place) -> None:
    alternates(place, f'"{place.outside}/r/.git/obj\\145cts"')


def alternates_in_a_linked_file(place: Place) -> None:
    (place.work / ".git/objects/info/alternates").symlink_to("../../../../outside/secret.ini")


OUT: dict[Callable[[Place], None], str] = {
    file_out: ".git leads to {outside}/r/.git, outside of the repository; --allow-outside {outside}/r/.git reads it",
    file_to_a_tree: ".git leads to {work}/infra in the work tree, which a commit may have created; run kcheck in a fresh clone",
    file_to_the_worktree_of_another: ".git leads to {outside}/r/.git/worktrees/w, outside",
    link_out: ".git leads to {outside}/r/.git, outside",
    common_folder_out: ".git/commondir leads to {outside}/r/.git, outside",
    objects_out: ".git/objects leads to {outside}/objects, outside",
    references_out: ".git/refs/remotes leads to {outside}/remotes, outside",
    alternates: ".git/objects/info/alternates leads to {outside}/r/.git/objects, outside",
    alternates_by_a_relative_path: ".git/objects/info/alternates leads to {outside}/r/.git/objects, outside",
    alternates_of_alternates: ".git/more/info/alternates leads to {outside}/r/.git/objects, outside",
    alternates_in_quotes: ".git/objects/info/alternates has a path in quotes; write it without",
    alternates_in_a_linked_file: ".git/objects/info/alternates leads to {outside}/secret.ini, outside",
}


@pytest.mark.parametrize("prepare", OUT)
def test_a_git_folder_that_points_outside_is_refused(place: Place, prepare: Callable[[Place], None]) -> None:
    prepare(place)
    found = place.check()
    assert found.status == 2, found.text
    assert OUT[prepare].format(outside=place.outside, work=place.work) in found.text.replace("\n", " ")
    assert (place.canary.exists(), SECRET in found.text) == (False, False)


@pytest.mark.parametrize("prepare", [alternates, alternates_by_a_relative_path, objects_out, references_out])
def test_the_command_line_can_allow_git_data_outside(place: Place, prepare: Callable[[Place], None]) -> None:
    """Clones made with `--reference` need this, as in caches of CI."""
    prepare(place)
    place.arguments = ["infra", "--allow-outside", str(place.outside)]
    assert place.check().rules == NEW


# --- what surrounds it


def environments(place: Place) -> dict[str, dict[str, str]]:
    evil = place.top / "evil"
    place.repository(evil, 100)
    touch = f"touch {place.canary}"
    return {
        "folder": {"GIT_DIR": str(evil / ".git")},
        "index and work tree": {"GIT_INDEX_FILE": str(evil / ".git/index"), "GIT_WORK_TREE": str(evil)},
        "objects": {"GIT_OBJECT_DIRECTORY": str(evil), "GIT_COMMON_DIR": str(evil / ".git"), "GIT_NAMESPACE": "x"},
        "settings": {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": touch},
        "parameters": {"GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{touch}'"},
        "driver": {"GIT_EXTERNAL_DIFF": touch, "GIT_PAGER": touch, "GIT_SSH_COMMAND": touch},
        "trace": {"GIT_TRACE": str(place.canary), "GIT_TRACE2_EVENT": str(place.canary)},
    }


def test_git_environment_variables_are_ignored(place: Place) -> None:
    for environment in environments(place).values():
        place.environment = environment
        found = place.check()
        assert (found.rules, place.canary.exists()) == (NEW, False), (environment, found.text)


@pytest.mark.parametrize("name", ["git", "helm"])
@pytest.mark.parametrize("path", ["{work}/bin", ".", "bin", "", "{outside}/bin"])
def test_no_program_of_the_repository_runs(place: Place, name: str, path: str) -> None:
    for folder in ("", "bin/"):
        place.script(place.work / f"{folder}{name}")
    (place.outside / "bin").symlink_to("../work/bin")
    place.environment = {"PATH": f"{path.format(work=place.work, outside=place.outside)}:{os.environ['PATH']}"}
    place.arguments = ["infra", "--render", "helm"]
    written(place.work, {"infra/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"})
    found = place.check()
    assert found.status == 2, found.text
    assert not place.canary.exists()
    assert f"{name} is in the checked repository; put {name} from elsewhere on the PATH" in found.text.replace(
        "\n", " "
    )


# --- what is as it should be


def worktree(place: Place) -> None:
    place.git("worktree", "add", "-q", "--detach", str(place.top / "tree"))
    place.work = place.top / "tree"
    written(place.work, {"infra/main.tf": cluster(nodes=100)})


def submodule(place: Place) -> None:
    above = place.top / "above"
    place.repository(above, 100)
    place.git("submodule", "add", "-q", str(place.work), "deep/sub", at=above)
    place.work = above / "deep/sub"
    written(place.work, {"infra/main.tf": cluster(nodes=100)})


def submodule_of_a_worktree(place: Place) -> None:
    submodule(place)
    place.git("commit", "-qam", "x", at=place.top / "above")
    place.git("worktree", "add", "-q", str(place.top / "tree"), at=place.top / "above")
    place.git("submodule", "update", "-q", "--init", at=place.top / "tree")
    place.work = place.top / "tree/deep/sub"
    written(place.work, {"infra/main.tf": cluster(nodes=100)})


def bare_with_worktrees(place: Place) -> None:
    place.git("clone", "-q", "--bare", str(place.work), str(place.top / "many/.bare"))
    written(place.top, {"many/.git": "gitdir: ./.bare\n"})
    place.git("worktree", "add", "-q", str(place.top / "many/main"), at=place.top / "many")
    place.work = place.top / "many/main"
    place.git("update-ref", "refs/remotes/origin/main", "HEAD")
    written(place.work, {"infra/main.tf": cluster(nodes=100)})


def linked_work_tree(place: Place) -> None:
    (place.top / "link").symlink_to("work")
    place.work = place.top / "link"


def sha256(place: Place) -> None:
    shutil.rmtree(place.work / ".git")
    place.repository(place.work, 5, "--object-format=sha256")
    written(place.work, {"infra/main.tf": cluster(nodes=100)})


def committed(place: Place) -> None:
    place.git("commit", "-qam", "x")


def staged(place: Place) -> None:
    place.git("add", "-A")


def touched(place: Place) -> None:
    """Give the files other times than the index has, as in a copy of a checkout."""
    for path in (place.work / "infra").iterdir():
        os.utime(path, (1, 1))


def flags_of_the_index(place: Place) -> None:
    """Use a sparse checkout, a split index, and names without their common prefix."""
    written(place.work, {"far/main.tf": cluster("far", nodes=100)})
    place.git("add", "far")
    place.git("commit", "-qm", "x")
    place.git("update-ref", "refs/remotes/origin/main", "HEAD")
    place.git("update-index", "--split-index", "--index-version", "4", "--skip-worktree", "far/main.tf")
    shutil.rmtree(place.work / "far")


def lines_of_windows(place: Place) -> None:
    written(place.work, {"infra/other.tf": "locals {}\r\n", ".gitattributes": "*.tf text eol=crlf\n"})


def settings_that_are_usual(place: Place) -> None:
    place.config('[include]\n\tpath = ../own\n[filter "lfs"]\n\tclean = false\n\trequired = true\n')
    written(place.work, {"own": "[pull]\n\trebase = true\n", ".gitattributes": "*.bin filter=lfs\n", "a.bin": "x"})


RIGHT: list[Callable[[Place], None]] = [
    worktree, submodule, submodule_of_a_worktree, bare_with_worktrees, linked_work_tree, sha256, committed, staged,
    touched, flags_of_the_index, lines_of_windows, settings_that_are_usual,
]  # fmt: skip


@pytest.mark.parametrize("prepare", RIGHT)
def test_ordinary_repositories_are_compared_normally(place: Place, prepare: Callable[[Place], None]) -> None:
    prepare(place)
    found = place.check()
    assert (found.rules, found.status) == (NEW, 1), found.text


def test_a_path_in_another_repository_is_refused(place: Place) -> None:
    place.repository(place.top / "other", 5)
    place.arguments = ["infra", "../other/infra"]
    found = place.check()
    assert found.status == 2
    assert "../other/infra is not in the repository of the working directory; run kcheck in its own" in re.sub(
        r"\s+", " ", found.text
    )


def test_files_with_the_time_of_the_git_index_are_not_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (place.work / "infra").iterdir():
        os.utime(path, (1, 1))
    place.git("update-index", "-q", "--really-refresh")
    monkeypatch.chdir(place.work)
    read: list[str] = []

    def noted(path: str) -> bytes:
        read.append(path)
        return b""

    monkeypatch.setattr("kcheck.text.files.system.read", noted)
    assert list(Difference(["."], "HEAD").overlay) == [str(place.work / "infra/main.tf")]
    assert read == [str(place.work / "infra/main.tf")]
    assert {entry.time for entry in Repository(["."], None).entries() if entry.name == b"infra/other.tf"} == {10**9}
