"""Trees whose first walls were worked out by hand, before kcheck was run on them: tests/cases/walls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

import kcheck
from kcheck.commands.cli import cli
from tests.places import ROOT, TESTS

if TYPE_CHECKING:
    from pathlib import Path

CASES = TESTS / "cases" / "walls"
TREES = sorted(path.parent for path in CASES.glob("*/*/walls.yaml"))

OPEN = {
    "eks/karpenter-limits": "address units of gateways and the control plane are not counted",
    "eks/prefix-delegation-one-zone": "prefixes are taken for as if a subnet had no single addresses in use",
    "eks/unknown-subnets-efa": "interfaces are counted by zone, and zones are those of known subnets",
    "gke/autopilot-in-a-given-network": "the inputs of the networks of Autopilot are not named",
    "selfmanaged/k3s-gce-unknown-range": "k3s is named and not judged",
    "selfmanaged/kops-cilium": "the addresses of kops' load balancer are not counted",
    "selfmanaged/kubeadm-calico-blocks": "scaling groups with the tag of a kubeadm cluster are not its pools",
    "selfmanaged/kubeadm-flannel": "scaling groups with the tag of a kubeadm cluster are not its pools",
    "selfmanaged/talos-fixed": "Talos is named and not judged",
}
"""Trees on which kcheck is still wrong, or says too little, and why. Only to be made shorter."""


def name(tree: Path) -> str:
    return f"{tree.parent.name}/{tree.name}"


def printed(tree: Path, by_hand: dict[str, Any]) -> dict[str, Any]:
    """What `capacity` says of the cluster of a tree."""
    run = CliRunner().invoke(cli, ["capacity", str(tree), *by_hand["arguments"], "--format", "json"])
    clusters = json.loads(run.stdout)["clusters"]
    nothing = {"target": None, "reaches": None, "walls": [], "summary": ""}
    return next((one for one in clusters if by_hand.get("cluster") in (None, one["name"])), nothing)


def agrees(wall: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a wall is at the number of nodes worked out by hand, or within its bounds."""
    low, high = expected["nodes"] if isinstance(expected["nodes"], list) else [expected["nodes"]] * 2
    if wall["mechanism"] != expected["mechanism"] or wall["at_least"] is None:
        return False
    return low <= wall["at_least"] and (high is None or (wall["at_most"] is not None and wall["at_most"] <= high))


def differences(tree: Path) -> list[str]:
    """Where kcheck and the calculation by hand do not agree."""
    by_hand = yaml.safe_load((tree / "walls.yaml").read_text())
    cluster = printed(tree, by_hand)
    walls = [one for one in cluster["walls"] if one["mechanism"] != "quota"]
    said = [f"{one['mechanism']} {one['nodes'] or [one['at_least'], one['at_most']]}" for one in walls[:5]]
    missing = [one for one in by_hand["walls"] if not any(agrees(wall, one) for wall in walls)]
    found = [f"no wall {one['mechanism']} at {one['nodes']}: {said}" for one in missing]
    if cluster["target"] != by_hand["target"]:
        found.append(f"target {cluster['target']}, not {by_hand['target']}")
    reaches = by_hand["reaches"]
    if cluster["reaches"] != (None if isinstance(reaches, list) else reaches):
        found.append(f"reaches {cluster['reaches']}, not {reaches}")
    unknown = " ".join([cluster["summary"], *(one["arithmetic"] for one in walls if one["nodes"] is None)])
    return [*found, *(f"{one} is not named" for one in by_hand["not_known"] if one not in unknown)]


@pytest.mark.medium
@pytest.mark.parametrize("tree", TREES, ids=name)
def test_first_walls_are_those_worked_out_by_hand(tree: Path) -> None:
    found = differences(tree)
    if name(tree) in OPEN:
        assert found, "it agrees now: take it from the list"
        pytest.xfail(f"{OPEN[name(tree)]}: {found}")
    assert found == []


RULES = {
    "subnet": "subnet-too-small",
    "pod-subnet": "pod-subnet-too-small",
    "pod-range": "pod-range-too-small",
    "outbound-ports": "snat-ports-exhausted",
}
"""The mechanism of a wall -> the rule that finds it."""
EXAMPLES = [path for path in sorted((ROOT / "examples").iterdir()) if path.is_dir() and path.name != "own-rules"]


@pytest.mark.medium
@pytest.mark.parametrize("tree", [*EXAMPLES, *TREES], ids=name)
def test_a_rule_fires_exactly_where_its_wall_is_below_the_target(tree: Path) -> None:
    by_hand = tree / "walls.yaml"
    wanted = yaml.safe_load(by_hand.read_text())["arguments"][1:] if by_hand.is_file() else []
    targets = {name: int(number) for name, _, number in (str(one).rpartition("=") for one in wanted)}
    project = kcheck.load(str(tree), nodes=targets)
    found = {finding.rule for finding in project.check(info=True).findings}
    short = {wall.mechanism for one in project.inventory.clusters for wall in project.capacity(one) if wall.short}
    assert found & set(RULES.values()) == {RULES[one] for one in short & RULES.keys()}
