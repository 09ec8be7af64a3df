"""Test the check of one repository of a fleet."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet import check as module
from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.outcomes import Settings, Task, encoded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write

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


@pytest.fixture
def repository(write: Write, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the folder of a repository with a cluster, made the working directory."""
    folder = write({"repository/main.tf": CLUSTER}) / "repository"
    monkeypatch.chdir(folder)
    return str(folder)


def test_check_writes_rows_for_each_table(repository: str) -> None:
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


def test_settings_of_the_list_override_the_settings_of_the_repository(repository: str) -> None:
    outcome = check(Task("x", repository, Settings(nodes=("7",))))
    assert outcome.rows is not None
    assert [(one.target, one.state) for one in outcome.rows.clusters] == [(7, "reaches")]


def test_invalid_settings_are_the_reason_of_a_failure(repository: str) -> None:
    with open(os.path.join(repository, "kcheck.yaml"), "w") as file:
        file.write("nodes: many\n")
    outcome = check(Task("x", repository))
    assert outcome.status == "failed"
    assert outcome.reason.startswith("kcheck.yaml:1")


def test_names_that_are_not_unicode_survive_encoding(repository: str) -> None:
    folder = os.path.join(repository, "b\udcff")
    os.mkdir(folder)
    shutil.copy(os.path.join(repository, "main.tf"), folder)
    outcome = check(Task("x", repository))
    assert outcome.rows is not None
    assert any("\udcff" in one.path for one in outcome.rows.clusters)
    assert rb"\udcff" in encoded(outcome)


def test_a_bug_in_kcheck_is_the_reason_of_a_failure(repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> None:
        raise ValueError("not like that")

    monkeypatch.setattr(module, "rows_of", wrong)
    outcome = check(Task("a", repository))
    assert outcome.status == "failed"
    assert outcome.reason.startswith("a bug in kcheck: ValueError: not like that")


def test_checkouts_are_checked_independently_of_each_other(repository: str, tmp_path: Path) -> None:
    (tmp_path / "kcheck.yaml").write_text("nodes: 7\n")  # of whoever lies beside it, or of nobody
    (tmp_path / ".git").mkdir()
    (tmp_path / "values.tf").write_text('variable "x" {}\n')
    os.mkdir(os.path.join(repository, "other"))
    os.symlink(tmp_path / "values.tf", os.path.join(repository, "other/values.tf"))
    outcome = check(Task("x", repository))
    assert outcome.rows is not None
    assert [cluster.target for cluster in outcome.rows.clusters] == [400]
    assert outcome.files == 1
