"""Test how `kcheck watch` notices changed files."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.editor.changes import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

    Act = Callable[..., None]


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Act:
    """Return a function that queues actions.

    The watcher runs one action instead of each sleep, and times out after the last.
    """

    def set_actions(*actions: Callable[[], object]) -> None:
        left = list(actions)

        def sleep(_: float) -> None:
            if not left:
                raise TimeoutError
            left.pop(0)()

        monkeypatch.setattr(time, "sleep", sleep)

    return set_actions


def nothing() -> None:
    """Do nothing: the action of a poll that finds no change."""


def test_changed_new_and_deleted_files_are_noticed(write: Write, act: Act) -> None:
    write({"a.tf": "a", "b/c.yaml": "c", "b/d.yaml": "d", ".git/index": "x", "node_modules/m.yaml": "m"})
    watcher = Watcher(["."])
    act(
        lambda: write({".git/index": "other", "node_modules/m.yaml": "other"}),
        lambda: write({"a.tf": "longer", "b/new/e.yaml": "e"}).joinpath("b", "d.yaml").unlink(),
        nothing,
    )
    assert watcher.wait() == ["a.tf", os.path.join("b", "d.yaml"), os.path.join("b", "new", "e.yaml")]


def test_a_burst_of_writes_counts_as_one_change(write: Write, act: Act) -> None:
    write({"a.tf": "a"})
    watcher = Watcher(["."])
    act(*(lambda number=number: write({f"{number}.tf": "x" * number}) for number in range(5)), nothing)
    assert watcher.wait() == [f"{number}.tf" for number in range(5)]


def test_the_watcher_does_not_wait_for_endless_writing(write: Write, act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"a.tf": "a"})
    watcher = Watcher(["."])
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    act(*(lambda number=number: write({"a.tf": "x" * number}) for number in range(2, 1_000)))
    assert watcher.wait() == ["a.tf"]


def test_a_file_replaced_by_rename_counts_as_changed(write: Write, act: Act) -> None:
    folder = write({"a.tf": "a", "b.tf": "b"})
    when = time.time_ns()
    for name in ("a.tf", "b.tf"):
        os.utime(folder / name, ns=(when, when))
    watcher = Watcher([str(folder / "a.tf")])
    act(lambda: os.replace("b.tf", "a.tf"), nothing)
    assert watcher.wait() == [str(folder / "a.tf")]


def test_files_outside_the_folder_are_watched_too(write: Write, act: Act) -> None:
    write({"infra/a.tf": "a", "kcheck.yaml": "nodes: 1", "envs/prod.tfvars": "a = 1", "other.tf": ""})
    watcher = Watcher(["infra"])
    watcher.watch_others(["kcheck.yaml", "envs", "not-there.yaml"])
    act(lambda: write({"other.tf": "b"}), lambda: write({"kcheck.yaml": "nodes: 20"}), nothing)
    assert watcher.wait() == ["kcheck.yaml"]
    act(lambda: write({"envs/prod.tfvars": "a = 10", "not-there.yaml": ""}), nothing)
    assert watcher.wait() == [os.path.join("envs", "prod.tfvars"), "not-there.yaml"]


def test_a_file_created_before_the_watcher_knows_its_name_counts_as_new(write: Write, act: Act) -> None:
    write({"a.tf": "a"})
    watcher = Watcher(["."])
    write({"kcheck.yaml": "nodes: 1", ".terraform/modules/m/main.tf": "m"})
    watcher.watch_others(["kcheck.yaml", ".terraform/modules/m/main.tf"])
    act(nothing, nothing)
    assert watcher.wait() == ["kcheck.yaml"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_each_link_is_followed_only_once(write: Write, act: Act) -> None:
    folder = write({"a/a.tf": "a", "far/b.tf": "b"})
    os.symlink(folder / "far", folder / "a" / "far")
    os.symlink(folder / "a", folder / "a" / "loop")
    os.symlink(folder / "nowhere", folder / "a" / "broken.tf")
    watcher = Watcher(["a"])
    act(lambda: write({"far/b.tf": "more"}), nothing)
    assert watcher.wait() == [os.path.join("a", "far", "b.tf")]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_out_of_the_repository_are_not_followed(write: Write, act: Act) -> None:
    folder = write({"far/b.tf": "b", "repository/.git/HEAD": "", "repository/a/a.tf": "a", "repository/near/c.tf": "c"})
    os.symlink(folder / "far", folder / "repository" / "a" / "far")
    os.symlink(folder / "repository" / "near", folder / "repository" / "a" / "near")
    watcher = Watcher(["repository/a"])
    act(lambda: write({"far/b.tf": "more", "repository/near/c.tf": "more"}), nothing)
    assert watcher.wait() == [os.path.join("repository", "a", "near", "c.tf")]
