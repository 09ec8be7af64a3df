"""Test the identity of a checkout: its commit, and the cache key of everything that its check depends on."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet import checkout
from kcheck.addons.fleet.checkout import Keys
from kcheck.addons.fleet.listing import Repository
from kcheck.addons.fleet.outcomes import Settings
from kcheck.config.config import Environment
from kcheck.terraform.copies import remote, revision
from kcheck.text.files.disk import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.smoke

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DAY = "2026-11-22"
DEFAULT = Settings()
posix = pytest.mark.skipif(os.name == "nt", reason="links, pipes and names of POSIX")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return a Git checkout with two Terraform files."""
    folder = tmp_path / "repository"
    (folder / "infra").mkdir(parents=True)
    (folder / "main.tf").write_text('module "infra" {}\n')
    (folder / "infra" / "main.tf").write_text("locals {}\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = https://token@github.com/acme/infra.git\n')
    return folder


def key(folder: Path, settings: Settings = DEFAULT, day: str = DAY) -> str:
    return Keys(day).of(Repository("a", str(folder), settings=settings))


def changed(top: Path, change: Callable[[], object], settings: Settings = DEFAULT) -> bool:
    """Return whether a change gives a checkout another key."""
    before = key(top, settings)
    assert before
    change()
    after = key(top, settings)
    assert after
    return before != after


# --- what counts


@pytest.mark.parametrize(
    "name",
    ["main.tf", "new.tf", "infra/main.tf", ".hidden/values.yaml", "vendor/a.yaml", ".terraform/modules/modules.json"],
)
def test_changed_content_changes_the_cache_key(name: str, top: Path) -> None:
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    assert changed(top, lambda: (top / name).write_text("changed"))


def test_a_renamed_file_or_folder_changes_the_cache_key(top: Path) -> None:
    assert changed(top, lambda: (top / "main.tf").rename(top / "other.tf"))
    assert changed(top, lambda: (top / "infra").rename(top / "moved"))
    assert changed(top, (top / "empty").mkdir)
    assert changed(top, (top / "other.tf").unlink)


def test_the_cache_key_depends_on_where_each_file_ends(tmp_path: Path) -> None:
    keys = set()
    for name, files in {"1": {"a": "b", "c": ""}, "2": {"a": "", "c": "b"}, "3": {"a": "b", "c/d": ""}}.items():
        folder = tmp_path / name / "repository"
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        keys.add(key(folder))
    assert len(keys) == 3


def test_the_cache_key_does_not_depend_on_file_times(top: Path) -> None:
    assert not changed(top, lambda: os.utime(top / "main.tf", (1, 1)))


@pytest.mark.parametrize("name", ["node_modules/a.js", ".terraform/providers/aws", ".venv/lib/a.py", "infra/.cache/a"])
def test_unread_folders_do_not_change_the_cache_key(name: str, top: Path) -> None:
    (top / ".terraform").mkdir()

    def write() -> None:
        (top / name).parent.mkdir(parents=True)
        (top / name).write_text("a")

    assert not changed(top, write)


def test_the_cache_key_depends_on_the_folder_name_and_not_on_its_place(top: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(top, tmp_path / "builds/1/repository")
    renamed = shutil.copytree(top, tmp_path / "builds/other")
    assert key(moved) == key(top)
    assert key(renamed) != key(top)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(nodes=("7",)), Settings(roots=("infra",)), Settings(price="2.5"), Settings(var_files=("a.tfvars",)),
        Settings(environments=(Environment(root="infra", name="prod"),)),
    ],
)  # fmt: skip
def test_settings_of_the_list_change_the_cache_key(settings: Settings, top: Path) -> None:
    assert key(top, settings) != key(top)


def test_another_day_changes_the_cache_key(top: Path) -> None:
    assert key(top, day="2026-11-23") != key(top)


def test_another_version_of_kcheck_changes_the_cache_key(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(top)
    monkeypatch.setattr(checkout, "code", lambda: "another")
    assert key(top) != before


def test_terraform_environment_variables_change_the_cache_key(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(top, lambda: monkeypatch.setenv("TF_VAR_nodes", "7"))
    assert not changed(top, lambda: monkeypatch.setenv("OTHER", "7"))


def test_changed_rules_and_modules_of_the_fleet_change_the_cache_key(top: Path, tmp_path: Path) -> None:
    rules, modules, rule = tmp_path / "rules", tmp_path / "modules", tmp_path / "one.yaml"
    for folder in (rules, modules):
        folder.mkdir()
    rule.write_text("summary: a\n")
    settings = Settings(rules=(str(rules), str(rule)), module_dirs=(str(modules),))
    assert changed(top, lambda: (rules / "a.yaml").write_text("a"), settings)
    assert changed(top, lambda: (modules / "main.tf").write_text("a"), settings)
    assert changed(top, lambda: rule.write_text("summary: b\n"), settings)
    assert not changed(top, lambda: (tmp_path / "other").write_text("a"), settings)


# --- git


def test_only_the_origin_in_git_metadata_changes_the_cache_key(top: Path) -> None:
    config = top / ".git" / "config"
    assert not changed(top, lambda: config.write_text(config.read_text().replace("token", "other")))
    assert not changed(top, lambda: (top / ".git" / "index").write_text("a"))
    assert changed(top, lambda: config.write_text(config.read_text().replace("acme", "other")))
    assert changed(top, lambda: shutil.rmtree(top / ".git"))


def test_the_path_of_a_linked_work_tree_does_not_change_the_cache_key(top: Path) -> None:
    shutil.rmtree(top / ".git")
    (top / ".git").write_text("gitdir: /one/place\n")
    assert not changed(top, lambda: (top / ".git").write_text("gitdir: /another/place\n"))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"HEAD": f"{COMMIT}\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{COMMIT}\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "packed-refs": f"# pack-refs\n{COMMIT} refs/heads/main\n"}, COMMIT),
        ({"HEAD": "ref: refs/../../secret\n", "../secret": f"{COMMIT}\n"}, ""),
        ({"HEAD": "ref: refs/heads/none\n"}, ""),
        ({"HEAD": "anything\n"}, ""),
        ({}, ""),
    ],
)
def test_commit_is_read_from_git_files(files: dict[str, str], expected: str, top: Path) -> None:
    for name, text in files.items():
        (top / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (top / ".git" / name).write_text(text)
    assert revision(str(top)) == expected


def test_commit_and_remote_of_a_worktree_are_those_of_its_repository(top: Path, tmp_path: Path) -> None:
    tree, own, git = tmp_path / "tree", top / ".git" / "worktrees" / "tree", top / ".git"
    for file, text in {
        tree / ".git": f"gitdir: {own}\n",
        own / "gitdir": f"{tree}/.git\n",
        own / "HEAD": "ref: refs/heads/topic\n",
        git / "refs/heads/topic": f"{COMMIT}\n",
        git / "config": '[remote "origin"]\n\turl = git@github.com:acme/infra.git\n',
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert (revision(str(tree)), remote(str(tree))) == (COMMIT, "acme/infra")
    (own / "gitdir").write_text(f"{tmp_path}/other/.git\n")  # it belongs to another tree
    assert (revision(str(tree)), remote(str(tree))) == ("", "")


def test_a_folder_without_git_has_no_commit(tmp_path: Path) -> None:
    assert revision(str(tmp_path)) == ""


# --- what strangers write


@posix
def test_the_cache_key_includes_the_target_of_a_link_without_following_it(top: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.tf").write_text("a")
    assert changed(top, lambda: (top / "link").symlink_to(outside))
    assert not changed(top, lambda: (outside / "a.tf").write_text("b"))

    def elsewhere() -> None:
        (top / "link").unlink()
        (top / "link").symlink_to(tmp_path)

    assert changed(top, elsewhere)
    assert changed(top, lambda: (top / "around").symlink_to(top))


@posix
def test_the_cache_key_is_computed_without_opening_pipes(top: Path) -> None:
    assert changed(top, lambda: os.mkfifo(top / "pipe"))
    (top / ".git" / "config").unlink()
    for name in ("HEAD", "config"):
        os.mkfifo(top / ".git" / name)
    assert key(top)
    assert revision(str(top)) == ""


@posix
def test_file_names_that_are_not_unicode_change_the_cache_key(top: Path) -> None:
    assert changed(top, lambda: (top / "b\udcff").write_text("a"))


@posix
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() == 0, reason="root may read all")
def test_unreadable_files_and_folders_change_the_cache_key(top: Path) -> None:
    assert changed(top, lambda: (top / "main.tf").chmod(0))
    assert changed(top, lambda: (top / "infra").chmod(0))


def test_the_cache_key_counts_a_too_large_file_by_size_and_head(top: Path) -> None:
    large = top / "dump.json"
    with large.open("wb") as file:
        file.truncate(MAX_BYTES + 1)

    def write(at: int) -> None:
        with large.open("r+b") as file:
            file.seek(at)
            file.write(b"x")

    assert not changed(top, lambda: write(1_000_000))
    assert changed(top, lambda: write(0))
    assert changed(top, lambda: write(MAX_BYTES + 1))


@pytest.mark.parametrize(("bound", "value"), [("_MOST_ENTRIES", 3), ("_MOST_BYTES", 10)])
def test_a_checkout_that_is_too_large_has_no_cache_key(
    bound: str, value: int, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = Keys(DAY)
    monkeypatch.setattr(checkout, bound, value)
    assert keys.of(Repository("a", str(top))) == ""


def test_a_missing_checkout_has_no_cache_key(top: Path, tmp_path: Path) -> None:
    assert key(tmp_path / "none") == ""
    assert key(top, Settings(rules=(str(tmp_path / "none"),))) == ""


@pytest.mark.parametrize("linked", [".git", ".git/config"])
def test_a_link_to_another_repository_tells_nothing_of_it(linked: str, tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "config").write_text('[remote "origin"]\n  url = https://github.com/secret/repository\n')
    (own / linked).parent.mkdir(parents=True)
    (own / linked).symlink_to(other / linked)
    assert (remote(str(own)), revision(str(own))) == ("", "")
    assert remote(str(other)) == "secret/repository"
