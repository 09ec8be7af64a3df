"""The check of one repository, and what it is worth to the next run."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.task import Settings, Task, encoded
from kcheck.addons.fleet.unchanged import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcheck.addons.fleet.task import Outcome

pytestmark = pytest.mark.smoke

CLUSTER = """
provider "aws" {
  region = "us-east-1"
}

variable "nodes" {
  default = 400
}

resource "aws_subnet" "nodes" {
  cidr_block = "10.0.0.0/22"
}

resource "aws_eks_cluster" "main" {
  name = "main"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    desired_size = 0
    min_size     = 0
    max_size     = var.nodes
  }
}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a check moves the process


@pytest.fixture
def repository(write: Callable[[Mapping[str, str]], Path]) -> str:
    return str(write({"repository/main.tf": CLUSTER}) / "repository")


DEFAULT = Settings()


def again(first: Outcome, folder: str, settings: Settings = DEFAULT) -> Outcome:
    assert first.past is not None
    return check(Task("x", folder, settings, past=first.past))


def test_rows_of_a_repository(repository: str) -> None:
    outcome = check(Task("x", repository))
    assert (outcome.status, outcome.reason, outcome.files) == ("checked", "", 1)
    assert outcome.rows is not None
    (cluster,) = outcome.rows.clusters
    assert (cluster.name, cluster.cloud, cluster.path, cluster.line) == ("main", "eks", "main.tf", 14)
    assert (cluster.target, cluster.state) == (400, "stops")
    assert cluster.reaches == cluster.first_limit_at
    assert cluster.reaches is not None
    assert cluster.reaches < 59
    assert cluster.is_judged
    (found,) = (one for one in outcome.rows.findings if one.rule == "subnet-too-small")
    assert (found.severity, found.path, found.line, found.clusters) == ("error", "main.tf", 11, (cluster.cluster,))
    assert {row.cluster for row in outcome.rows.limits} == {cluster.cluster}


def test_settings_of_the_list_stand_in_place_of_the_repository_s_own(repository: str) -> None:
    outcome = check(Task("x", repository, Settings(nodes=("7",))))
    assert outcome.rows is not None
    assert [(one.target, one.state) for one in outcome.rows.clusters] == [(7, "reaches")]


def test_nothing_changed(repository: str) -> None:
    first = check(Task("x", repository))
    second = again(first, repository)
    assert (second.status, second.is_unchanged, second.rows, second.past) == ("checked", True, None, None)


@pytest.mark.parametrize("name", ["main.tf", "new.tf", "terraform.tfvars", "kcheck.yaml", "deeper/values.yaml"])
def test_changed_content_is_checked_again(name: str, repository: str) -> None:
    first = check(Task("x", repository))
    path = os.path.join(repository, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write("\n")
    second = again(first, repository)
    assert (second.is_unchanged, second.rows) == (False, first.rows)


def test_times_of_files_do_not_count(repository: str) -> None:
    first = check(Task("x", repository))
    os.utime(os.path.join(repository, "main.tf"), (1, 1))
    assert again(first, repository).is_unchanged


def test_other_settings_are_another_check(repository: str) -> None:
    first = check(Task("x", repository))
    second = again(first, repository, Settings(nodes=("7",)))
    assert not second.is_unchanged
    assert second.rows != first.rows


def test_a_checkout_may_lie_elsewhere(repository: str, tmp_path: Path) -> None:
    first = check(Task("x", repository))
    assert first.past is not None
    assert repository not in str(first.past.answers)
    assert any(FOLDER in answer for _, _, answer in first.past.answers)
    moved = shutil.copytree(repository, tmp_path / "builds/1/repository")
    assert again(first, str(moved)).is_unchanged


def test_another_code_checks_again(repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = check(Task("x", repository))
    monkeypatch.setattr("kcheck.addons.fleet.unchanged.code", lambda: "another")
    assert not again(first, repository).is_unchanged


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    outcome = check(Task("x", str(tmp_path / "gone")))
    assert outcome.status == "failed"
    assert outcome.reason.endswith("gone: No such file or directory")


def test_settings_that_make_no_sense_are_a_reason(repository: str) -> None:
    with open(os.path.join(repository, "kcheck.yaml"), "w") as file:
        file.write("nodes: many\n")
    outcome = check(Task("x", repository))
    assert (outcome.status, outcome.past) == ("failed", None)
    assert outcome.reason.startswith("kcheck.yaml:1")


def test_names_that_are_no_text_travel(repository: str) -> None:
    folder = os.path.join(repository, "b\udcff")
    os.mkdir(folder)
    shutil.copy(os.path.join(repository, "main.tf"), folder)
    outcome = check(Task("x", repository))
    assert outcome.rows is not None
    assert any("\udcff" in one.path for one in outcome.rows.clusters)
    assert rb"\udcff" in encoded(outcome)


def test_the_commit_is_told(repository: str) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    for name, text in {
        "HEAD": "ref: refs/heads/main\n",
        "packed-refs": f"# pack-refs\n{commit} refs/heads/main\n",
    }.items():
        os.makedirs(os.path.join(repository, ".git"), exist_ok=True)
        with open(os.path.join(repository, ".git", name), "w") as file:
            file.write(text)
    assert check(Task("x", repository)).revision == commit


def test_each_checkout_is_by_itself(repository: str, tmp_path: Path) -> None:
    (tmp_path / "kcheck.yaml").write_text("nodes: 7\n")  # of whoever lies beside it, or of nobody
    (tmp_path / ".git").mkdir()
    (tmp_path / "values.tf").write_text('variable "x" {}\n')
    os.mkdir(os.path.join(repository, "other"))
    os.symlink(tmp_path / "values.tf", os.path.join(repository, "other/values.tf"))
    outcome = check(Task("x", repository))
    assert outcome.rows is not None
    assert [cluster.target for cluster in outcome.rows.clusters] == [400]
    assert outcome.files == 1
