"""Test messages that contain an unknown count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.engine.rule_evaluator import Evaluator
from kcheck.engine.words import raw_views

if TYPE_CHECKING:
    from tests.conftest import Check

POOL = """
variable "most" {}

resource "google_container_cluster" "train" {
  name     = "train"
  location = "us-central1-a"
}

resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.train.name
  autoscaling {
    max_node_count = var.most
  }
}
"""


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Pool {pool.name} boots {pool.nodes} nodes from slow disks", "Pool gpu boots nodes from slow disks"),
        ("{pool.nodes} nodes boot from slow disks", "Nodes boot from slow disks"),
        ("Pool is full at {pool.nodes} of 9 nodes", "Pool is full at some of 9 nodes"),
        ("Pool ends at {pool.nodes}", "Pool ends at an unknown number"),
    ],
)
def test_a_message_omits_an_unknown_count_before_a_noun(message: str, said: str, check: Check) -> None:
    found = check({"main.tf": POOL}).world
    pool = next(one for one in found.inventory.pools if one.address.endswith("gpu"))
    assert Evaluator(raw_views.view("pool", pool, found), ()).filled(message) == (said, False)
