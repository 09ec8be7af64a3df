"""Test the changes of reach and price per cluster in comments on pull requests."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report.cluster_summary import change_lines
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from tests.conftest import Write

CLUSTER = """\
resource "google_container_cluster" "NAME" {
  name       = "NAME"
  location   = "us-central1"
  network    = "default"
  subnetwork = google_compute_subnetwork.nodes.id
}

resource "google_container_node_pool" "a" {
  name       = "a"
  cluster    = google_container_cluster.NAME.id
  node_count = 100
  node_locations = ["us-central1-a"]
  node_config {
    machine_type = "n2-standard-8"
  }
}

resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  network       = "default"
  ip_cidr_range = "10.0.0.0/24"
}
"""


def changes(write: Write, before: str, after: str) -> list[str]:
    results = []
    for text in (before, after):
        write({"main.tf": text})
        results.append(linter.run(Tree(["."]), Config()))
    return list(change_lines(*results))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "/24", "/26",
            "train: reach 100 of 100 nodes -> 59 of 100 nodes; first limit: address space of subnet nodes",
        ),
        (
            "n2-standard-8", "n2-standard-16",
            "train: all nodes up $29,400 a month -> $57,800 a month (+$28,400)",
        ),
        (
            "node_count = 100", "node_count = 40",
            ("train: reach 100 of 100 nodes -> 40 of 40 nodes; first limit: written maximum of the pools; "
            "all nodes up $29,400 a month -> $11,800 a month (-$17,600)"),
        ),
        ("n2-standard-8", "n9-new", "train: all nodes up $29,400 a month -> price not known"),
        ('name          = "nodes"', 'name          = "other"', "train: neither reach nor price changes"),
    ],
)  # fmt: skip
def test_a_change_is_summarized_in_one_line(old: str, new: str, line: str, write: Write) -> None:
    text = CLUSTER.replace("NAME", "train")
    assert changes(write, text, text.replace(old, new)) == [line]


def test_new_and_removed_clusters_are_reported(write: Write) -> None:
    text = CLUSTER.replace("NAME", "train")
    assert changes(write, text, "") == ["train is gone"]
    assert changes(write, "", text) == [
        "train: reach 100 of 100 nodes; first limit: written maximum of the pools; all nodes up $29,400 a month"
    ]


@pytest.mark.medium
@pytest.mark.parametrize("form", ["markdown", "github"])
def test_pull_request_comments_begin_with_the_changes(form: str, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CLUSTER.replace("NAME", "train")
    folder = write({"main.tf": text})
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], check=True)
    write({"main.tf": text.replace("/24", "/26")})
    output = CliRunner().invoke(cli, ["check", "--diff-base", "HEAD", "--format", form]).stdout
    comment = output if form == "markdown" else (folder / "summary.md").read_text()
    assert comment.splitlines()[2] == (
        "- train: reach 100 of 100 nodes -\\> 59 of 100 nodes; first limit: address space of subnet nodes"
    )
    assert "reach" not in CliRunner().invoke(cli, ["check", "--format", "markdown"]).stdout
