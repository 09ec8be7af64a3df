"""Test inlay hints: their text and place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.editor.hints import MOST, hints
from tests.addons.editor.trees import file, snapshot
from tests.places import ROOT

if TYPE_CHECKING:
    from kcheck.addons.editor.snapshot import Snapshot
    from tests.conftest import Write


def labels(state: Snapshot, name: str) -> list[tuple[int, str]]:
    """Return the inlay hints of a file, as line number and label."""
    source = file(state, name)
    return [(source.line_number(hint.offset), hint.label) for hint in hints(state, source, 0, len(source.data))]


def example(name: str) -> Snapshot:
    return snapshot(str(ROOT / "examples" / name))


def test_hints_on_ranges_show_the_size_and_the_node_count_that_fills_it() -> None:
    assert labels(example("eks-training"), "vpc.tf") == [
        (21, "= 10.0.0.0/20, 10.0.16.0/20, 10.0.32.0/20"),
        (21, "full at 92 of 607 nodes"),
        (22, "= 10.0.48.0/24, 10.0.49.0/24, 10.0.50.0/24"),
    ]


def test_hints_show_pool_sizes_and_pod_blocks() -> None:
    state = example("gke-training")
    assert labels(state, "cluster.tf") == [(37, "= 1500"), (49, "/27 per node")]
    assert labels(state, "network.tf") == [(10, "full at 1,019 of 1,567 nodes"), (14, "full at 263 of 1,567 nodes")]


def test_the_hint_of_a_job_shows_its_nodes_and_a_shortage() -> None:
    assert labels(example("eks-training"), "train.yaml") == [(8, "64 nodes of gpu, which has 3")]


def test_the_tooltip_shows_the_arithmetic() -> None:
    state = example("eks-training")
    source = file(state, "vpc.tf")
    value, full, _ = hints(state, source, 0, len(source.data))
    assert "- `local.azs` = `[data.aws_availability_zones" in value.tooltip
    assert "10.0.0.0/20 has 4,091 usable addresses" in full.tooltip


def test_node_counts_per_zone_are_added_up(write: Write) -> None:
    write(
        {
            "main.tf": 'resource "google_container_cluster" "c" {\n  name = "c"\n  location = "us-central1"\n'
            '  node_locations = ["us-central1-a", "us-central1-b", "us-central1-c"]\n}\n'
            'resource "google_container_node_pool" "p" {\n  cluster = google_container_cluster.c.id\n'
            "  autoscaling {\n    max_node_count = 100\n  }\n}\n"
        }
    )
    state = snapshot()
    assert (9, "up to 300 nodes") in labels(state, "main.tf")
    source = file(state, "main.tf")
    (hint,) = (one for one in hints(state, source, 0, len(source.data)) if one.label.startswith("up to"))
    assert hint.tooltip.endswith("100 in each of 3 zones = 300")


@pytest.mark.parametrize(
    "code",
    [
        "n = 3", 'cidr = "10.0.0.0/16"', "list = [1, 2]", "on = var.on", 'text = "a-${var.on}"', "lost = var.lost",
        "object = { a = var.on }",
    ],
)  # fmt: skip
def test_literals_and_values_without_a_number_have_no_hint(write: Write, code: str) -> None:
    write({"main.tf": f'variable "on" {{\n  default = true\n}}\nvariable "lost" {{}}\nlocals {{\n  {code}\n}}\n'})
    assert labels(snapshot(), "main.tf") == []


def test_values_of_several_copies_are_shortened(write: Write) -> None:
    code = 'resource "x_y" "z" {\n  for_each = { a = 1, b = 2, c = 3, d = 4, e = 5 }\n  size = each.value\n}\n'
    write({"main.tf": code})
    assert labels(snapshot(), "main.tf") == [(3, "= 1, 2, 3 and 2 more")]


def test_numbers_inside_lists_and_maps_have_hints_of_their_own(write: Write) -> None:
    write({"main.tf": "locals {\n  a = 2\n  m = {\n    x = local.a + 1\n    y = [local.a * 5]\n  }\n}\n"})
    assert labels(snapshot(), "main.tf") == [(4, "= 3"), (5, "= 10")]


def test_hints_are_computed_only_for_the_requested_lines(write: Write) -> None:
    rows = "\n".join(f"  a{at} = local.b + {at}" for at in range(MOST + 50))
    write({"main.tf": f"locals {{\n  b = 1\n{rows}\n}}\n"})
    state = snapshot()
    source = file(state, "main.tf")
    begin, end = source.line_starts[9], source.line_starts[12]
    assert [hint.label for hint in hints(state, source, begin, end)] == ["= 8", "= 9", "= 10"]
    assert len(hints(state, source, 0, len(source.data))) == MOST


def test_a_block_without_instances_shows_only_its_count(write: Write) -> None:
    code = 'resource "x_y" "z" {\n  count = var.on ? 1 : 0\n  size = local.n\n}\nlocals {\n  n = length("abc")\n}\n'
    write({"main.tf": f'variable "on" {{\n  default = false\n}}\n{code}'})
    assert labels(snapshot(), "main.tf") == [(5, "= 0"), (9, "= 3")]


def test_secret_values_have_no_hint(write: Write) -> None:
    write({"main.tf": 'variable "pin" {\n  sensitive = true\n  default = 1234\n}\nlocals {\n  a = var.pin\n}\n'})
    assert labels(snapshot(), "main.tf") == []
