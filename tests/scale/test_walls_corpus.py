"""Test trees whose first walls were computed by hand before kcheck was run on them: tests/cases/walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from walls_by_hand import TREES, agrees, by_hand, name, printed, unnamed
from walls_by_hand import walls as walls_of

import kcheck
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def differences(tree: Path) -> list[str]:
    """Return the differences between kcheck and a calculation by hand."""
    expected = by_hand(tree)
    cluster = printed(tree, expected)
    walls = walls_of(cluster)
    said = [f"{one['mechanism']} {one['nodes'] or [one['at_least'], one['at_most']]}" for one in walls[:5]]
    missing = [one for one in expected["walls"] if not any(agrees(wall, one) for wall in walls)]
    found = [f"no wall {one['mechanism']} at {one['nodes']}: {said}" for one in missing]
    if cluster["target"] != expected["target"]:
        found.append(f"target {cluster['target']}, not {expected['target']}")
    reaches = expected["reaches"]
    if cluster["reaches"] != (None if isinstance(reaches, list) else reaches):
        found.append(f"reaches {cluster['reaches']}, not {reaches}")
    return [*found, *(f"{one} is not named" for one in unnamed(cluster, expected))]


@pytest.mark.medium
@pytest.mark.parametrize("tree", TREES, ids=name)
def test_first_walls_equal_those_computed_by_hand(tree: Path) -> None:
    assert differences(tree) == []


RULES = {
    "subnet": "subnet-too-small",
    "pod-subnet": "pod-subnet-too-small",
    "pod-range": "pod-range-too-small",
    "outbound-ports": "snat-ports-exhausted",
}
"""Rules by the mechanism of the wall that they find."""
EXAMPLES = [path for path in sorted((ROOT / "examples").iterdir()) if path.is_dir() and path.name != "own-rules"]


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(tree, id=name(tree), marks=pytest.mark.medium if number % 3 == 1 else pytest.mark.slow)
        for number, tree in enumerate((*EXAMPLES, *TREES))
    ],
)
def test_a_rule_fires_exactly_where_its_wall_is_below_the_target(tree: Path) -> None:
    wanted = by_hand(tree)["arguments"][1:] if tree in TREES else []
    targets = {name: int(number) for name, _, number in (str(one).rpartition("=") for one in wanted)}
    project = kcheck.load(str(tree), nodes=targets)
    found = {finding.rule for finding in project.check(info=True).findings}
    short = {wall.mechanism for one in project.inventory.clusters for wall in project.capacity(one) if wall.short}
    assert found & set(RULES.values()) == {RULES[one] for one in short & RULES.keys()}
