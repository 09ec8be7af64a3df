"""Test pages of `kcheck explain` about walls: they show the user's own numbers, computed as in `capacity`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from walls_by_hand import TREES, by_hand, name

import kcheck
from kcheck.commands.cli import cli
from kcheck.config.numbers import profiles
from kcheck.engine.words.subjects import SUBJECTS
from kcheck.report import model
from kcheck.report.layout import plain
from kcheck.scale import walls
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EKS = str(ROOT / "tests/cases/walls/eks/plain-three-zones")


def page(*arguments: str) -> str:
    run = CliRunner().invoke(cli, ["explain", *arguments])
    assert run.exit_code == 0, run.output
    return run.stdout


@pytest.mark.parametrize("of", ["subnet", "subnet-too-small", "eks.subnet.reserved"])
def test_calculation_steps_are_printed_with_places_and_source(of: str) -> None:
    first = " ".join(page(of, EKS).split())
    for part in (
        "It is hit at 24 nodes; the target is 63.",
        "cidr = 10.20.0.0/22",
        "main.tf:7:9 <-",
        "addresses_per_node = 100",
        "24 nodes (system 3 + gpu 21) take 920 25 nodes (system 3 + gpu 22) take 1,020",
        "eks.subnet.reserved = 5 addresses",
        "https://",
    ):
        assert part in first
    assert re.search(r"max_nodes = 60 \(\S*main\.tf:58:20\)", first)


def test_the_calculation_compares_with_the_requested_target() -> None:
    assert "the target is 30." in page("subnet", EKS, "--nodes", "30")


def test_a_rule_without_a_wall_has_its_page_only() -> None:
    assert page("gang-missing", EKS) == page("gang-missing")


def test_explain_shows_the_rule_page_and_its_calculation() -> None:
    alone, both = page("subnet-too-small"), page("subnet-too-small", EKS)
    assert both.startswith(alone)
    assert len(both) > len(alone)


def test_explain_says_so_if_a_tree_lacks_that_wall() -> None:
    assert page("kubenet-routes", EKS) == "No such wall here: kubenet-routes.\n"


def test_inputs_of_walls_are_words_of_the_rules() -> None:
    words = {f"{subject}.{field.name}" for subject, fields in SUBJECTS.items() for field in fields}
    assert {one for own in profiles.mechanisms().values() for one in own["inputs"]} - words == set()


@pytest.mark.medium
@pytest.mark.parametrize("tree", TREES, ids=name)
def test_every_page_has_the_number_and_arithmetic_of_capacity(tree: Path) -> None:
    wanted = by_hand(tree)["arguments"][1:]
    targets = {one.rpartition("=")[0]: int(one.rpartition("=")[2]) for one in map(str, wanted)}
    project = kcheck.load(str(tree), nodes=targets)
    for cluster in project.inventory.clusters:
        for wall in project.capacity(cluster):
            text = " ".join("".join(map(plain, model.wall_pages({wall.mechanism}, project.world))).split())
            assert " ".join(wall.arithmetic.split()) in text
            assert wall.nodes.is_open or f"It is hit at {wall.nodes} nodes" in text
            sizes = [int(one.partition(" ")[0].replace(",", "")) for one in walls.steps(wall, project.world)]
            assert not sizes or sizes == [wall.nodes.low, wall.nodes.low + 1]
