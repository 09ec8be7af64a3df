"""Test versions of Kubernetes: how long they are supported, at what price, and the tiers of control planes."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.config.numbers.retirements import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conftest import Check


pytestmark = pytest.mark.medium

EKS = """
resource "aws_eks_cluster" "main" {
  name    = "train"
  version = "VERSION"
  PLAN
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    min_size = 0
    max_size = 1200
  }
}
"""
STANDARD = 'upgrade_policy { support_type = "STANDARD" }'
AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name               = "train"
  kubernetes_version = "VERSION"
  PLAN

  default_node_pool {
    name       = "system"
    node_count = 3
  }
}
"""
LTS = 'sku_tier = "Premium"\n  support_plan = "AKSLongTermSupport"'
GKE = """
resource "google_container_cluster" "main" {
  name               = "train"
  location           = "us-central1"
  min_master_version = "VERSION"
  PLAN
}
"""
CHANNEL = 'release_channel { channel = "EXTENDED" }'
ENDED, DEARER = "unsupported-kubernetes", "extended-support-price"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_support_windows_of_kubernetes_versions_follow_each_other(cloud: str) -> None:
    found = versions(cloud)
    assert found is not None
    assert found.effect
    for window in found.minors.values():
        assert window.released < window.ends
        assert window.extended is None or window.ends < window.extended
    releases = [window.released for window in found.minors.values()]
    assert releases == sorted(releases)
    assert found.newest(datetime.date(2026, 11, 22).__ge__) == (36 if cloud in ("ack", "gke") else 37)
    assert found.newest(datetime.date(2000, 1, 1).__ge__) == min(found.minors)


def verdicts(check: Check, code: str, version: str, plan: str = "") -> dict[str, str]:
    """Return the rules about the cluster's version that fire, with their severities."""
    files = {"main.tf": code.replace("VERSION", version).replace("PLAN", plan)}
    return {one.rule: one.severity.word for one in check(files).findings if one.rule in (ENDED, DEARER)}


@pytest.mark.parametrize(
    ("code", "version", "plan", "expected"),
    [
        (EKS, "1.36", "", {}),
        (EKS, "1.35", "", {}),
        (EKS, "1.34", "", {DEARER: "warning"}),  # from 2026-12-02 on
        (EKS, "1.33", "", {DEARER: "warning"}),
        (EKS, "1.33", STANDARD, {ENDED: "error"}),
        (EKS, "1.34", STANDARD, {ENDED: "warning"}),
        (EKS, "1.31", "", {ENDED: "warning"}),  # extended support ends on 2026-11-26
        (EKS, "1.30", "", {ENDED: "error"}),
        (EKS, "1.12", "", {ENDED: "error"}),
        (EKS, "1.99", "", {}),
        (AKS, "1.34", "", {ENDED: "warning"}),
        (AKS, "1.33", "", {ENDED: "error"}),
        (AKS, "1.33", LTS, {}),
        (AKS, "1.30", LTS, {ENDED: "error"}),
        (GKE, "1.34.5-gke.100", "", {ENDED: "warning"}),
        (GKE, "1.34", CHANNEL, {DEARER: "warning"}),
        (GKE, "1.35", CHANNEL, {}),
    ],
)
def test_versions_near_their_end_of_support_are_reported(
    check: Check, code: str, version: str, plan: str, expected: dict[str, str]
) -> None:
    assert verdicts(check, code, version, plan) == expected


@pytest.mark.parametrize("code", [EKS, AKS, GKE])
def test_a_version_older_than_all_known_ones_has_an_upper_bound_for_its_end(check: Check, code: str) -> None:
    files = {"main.tf": code.replace("VERSION", "1.11").replace("PLAN", "")}
    (found,) = (one for one in check(files).findings if one.rule == ENDED)
    assert found.message.endswith(" or before")


@pytest.mark.parametrize("code", [EKS, AKS, GKE])
def test_unwritten_versions_are_not_judged(check: Check, code: str) -> None:
    without = "\n".join(line for line in code.splitlines() if "VERSION" not in line)
    assert verdicts(check, without, "") == {}


@pytest.mark.parametrize(
    ("code", "version", "plan", "longer"),
    [(AKS, "1.32", "", "AKSLongTermSupport it is supported until 2027-03-31"), (AKS, "1.30", "", ""),
     (EKS, "1.33", STANDARD, "support_type EXTENDED in upgrade_policy it is supported until 2027-07-29"),
     (GKE, "1.33", "", "release channel EXTENDED it is supported until 2027-06-03")],
)  # fmt: skip
def test_extended_support_is_named_while_it_lasts(
    check: Check, code: str, version: str, plan: str, longer: str
) -> None:
    files = {"main.tf": code.replace("VERSION", version).replace("PLAN", plan)}
    found = next(one for one in check(files).findings if one.rule == ENDED)
    assert [longer in text for text in found.details[1:]] == ([True] if longer else [])


def test_the_day_of_the_run_decides_the_support_status(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for day in ("2027-01-25", "2027-01-26", "2027-03-27", "2028-03-26", "2028-03-27"):
        monkeypatch.setenv("KCHECK_TODAY", day)
        found[day] = verdicts(check, EKS, "1.35")
    assert found == {
        "2027-01-25": {},
        "2027-01-26": {DEARER: "warning"},
        "2027-03-27": {DEARER: "warning"},
        "2028-03-26": {ENDED: "warning"},
        "2028-03-27": {ENDED: "error"},
    }


@pytest.mark.parametrize(
    ("source", "version", "policy"),
    [("20.31.0", "cluster_version", "cluster_upgrade_policy"), ("21.0.0", "kubernetes_version", "upgrade_policy")],
)
def test_a_module_passes_its_support_plan_to_the_cluster(check: Check, source: str, version: str, policy: str) -> None:
    def code(extra: str) -> Mapping[str, str]:
        call = f'module "eks" {{\n  source = "terraform-aws-modules/eks/aws"\n  version = "{source}"\n'
        return {"main.tf": f'{call}  {version} = "1.33"\n{extra}\n}}\n'}

    rules = {one.rule for one in check(code("")).findings}
    assert (DEARER in rules, ENDED in rules) == (True, False)
    rules = {one.rule for one in check(code(f'  {policy} = {{ support_type = "STANDARD" }}')).findings}
    assert (DEARER in rules, ENDED in rules) == (False, True)


@pytest.mark.parametrize(
    ("nodes", "tier", "seconds", "price"),
    [(1200, "tier-xl", "8 s", "$1.65"), (12_000, "tier-2xl", "43 s", "$3.40"), (20_000, "tier-4xl", "50 s", "$6.90"),
     (50_000, "tier-8xl", "2 min", "$13.90")],
)  # fmt: skip
def test_a_sufficient_control_plane_tier_is_named(
    check: Check, nodes: int, tier: str, seconds: str, price: str
) -> None:
    code = {"main.tf": EKS.replace("VERSION", "1.35").replace("PLAN", "")}
    found = next(
        one for one in check(code, Config(nodes={"": nodes})).findings if one.rule == "control-plane-not-provisioned"
    )
    assert found.details[1].startswith(f"{tier} serves ")
    assert found.details[2] == f"One pod on each of {nodes:,} nodes takes it {seconds}; it costs {price} per hour"
    assert f'tier = "{tier}" in control_plane_scaling_config' in found.help


@pytest.mark.parametrize(("version", "seats"), [("1.33", "1,700"), ("1.34", "2,000")])
def test_a_control_plane_tier_serves_more_requests_from_a_minor_version_on(
    check: Check, version: str, seats: str
) -> None:
    code = {"main.tf": EKS.replace("VERSION", version).replace("PLAN", "")}
    (found,) = (one for one in check(code, Config(nodes={"": 1200})).findings if "tier-xl" in one.help)
    assert found.details[1] == f"tier-xl serves {seats} requests at a time and places 167 pods a second"
