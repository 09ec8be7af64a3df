"""Test caps that lower the target: rules ignore nodes that a cluster cannot have, and one rule reports the cap."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config import settings
from kcheck.config.config import Config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.engine.linter import Result
    from tests.conftest import Check, Write

pytestmark = pytest.mark.medium

GKE = """
resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  network       = "train"
  ip_cidr_range = "10.0.0.0/20"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "172.16.0.0/18"
  }
}

resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "europe-west4"
  subnetwork               = google_compute_subnetwork.nodes.id
  remove_default_node_pool = true
  initial_node_count       = 1

  ip_allocation_policy {
    cluster_secondary_range_name = "pods"
  }

  cluster_autoscaling {
    enabled             = true
    autoscaling_profile = "OPTIMIZE_UTILIZATION"
    LIMITS
  }
}

resource "google_container_node_pool" "cpu" {
  name    = "cpu"
  cluster = google_container_cluster.train.name

  autoscaling {
    total_max_node_count = 900
  }

  node_config {
    machine_type = "n2-standard-16"
  }
}
"""
PROVISIONING = """
    resource_limits {
      resource_type = "cpu"
      maximum       = MOST
    }

    resource_limits {
      resource_type = "memory"
      maximum       = 100000
    }
"""
EKS = """
resource "aws_subnet" "nodes" {
  vpc_id     = "vpc-1"
  cidr_block = "10.0.0.0/21"
}

resource "aws_eks_cluster" "main" {
  name    = "train"
  version = "1.32"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["p4d.24xlarge"]

  scaling_config {
    min_size     = 0
    max_size     = 600
    desired_size = 0
  }
}

resource "aws_eks_node_group" "system" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "system"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["m5.large"]

  scaling_config {
    min_size     = 3
    max_size     = 3
    desired_size = 3
  }
}
"""
AUTOSCALER = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
spec:
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1
          command:
            - ./cluster-autoscaler
            - --cloud-provider=aws
            - FLAG
"""


def gke(limits: str) -> dict[str, str]:
    return {"main.tf": GKE.replace("LIMITS", limits)}


def eks(flag: str = "--v=4", quota: int = 0) -> dict[str, str]:
    files = {"main.tf": EKS, "autoscaler.yaml": AUTOSCALER.replace("FLAG", flag)}
    settings = f"limits:\n  eks.quota.p:\n    value: {quota}\n    reason: what the console shows\n"
    return files | ({"kcheck.yaml": settings} if quota else {})


def rules_of(result: Result) -> set[str]:
    return {finding.rule for finding in result.findings if finding.severity.word != "info"}


def capacity(files: Mapping[str, str], write: Write, *flags: str) -> dict[str, Any]:
    write(files)
    output = CliRunner().invoke(cli, ["capacity", ".", "--format", "json", *flags], catch_exceptions=False).stdout
    found: dict[str, Any] = json.loads(output)["clusters"][0]
    return found


@pytest.mark.slow
def test_ranges_are_too_small_for_the_target_without_a_cap(check: Check) -> None:
    assert "pod-range-too-small" in rules_of(check(gke("")))
    assert "pod-range-too-small" in rules_of(check(gke(PROVISIONING.replace("MOST", "20000"))))
    assert {"subnet-too-small", "pool-over-quota"} <= rules_of(check(eks()))


def test_the_provisioning_limit_silences_findings_above_it(check: Check) -> None:
    assert rules_of(check(gke(PROVISIONING.replace("MOST", "800")))) == {"auto-provisioning-limits-low"}


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--max-nodes-total=13", "--cores-total=0:1000"])
def test_the_autoscaler_cap_silences_findings_above_it(flag: str, check: Check) -> None:
    silent = {"subnet-too-small", "pool-over-quota", "slow-upgrades"}
    found = rules_of(check(eks(flag)))
    assert "autoscaler-cap-below-target" in found
    assert not found & silent


@pytest.mark.parametrize(
    ("cores", "headline"), [(100, "Autoscaler allows at most 100 of 603 nodes"), (1000, None), (600_000, "")]
)
def test_a_cap_on_cores_of_unknown_machines_is_compared_by_bounds(
    cores: int, headline: str | None, check: Check
) -> None:
    """A node has from one core to those of the largest machines: 603 nodes have 603 to 540,288."""
    files = eks(f"--cores-total=0:{cores}")
    code = files["main.tf"].replace('["m5.large"]', "var.types").replace('["p4d.24xlarge"]', "var.types")
    result = check(files | {"main.tf": 'variable "types" {}\n' + code})
    rule = "autoscaler-cap-below-target"
    assert [one.message for one in result.findings if one.rule == rule] == ([headline] if headline else [])
    assert any(one.rule == rule for one in result.undecided) == (headline is None)


def test_nodes_requested_above_the_cap_are_judged(check: Check) -> None:
    """Who asks for more nodes wants to know every obstacle."""
    found = rules_of(check(eks("--max-nodes-total=13"), Config(nodes={"": 600})))
    assert {"autoscaler-cap-below-target", "subnet-too-small"} <= found


@pytest.mark.parametrize(
    ("machine", "nodes"), [("a3-highgpu-8g", 16), ("g2-standard-24", 64), ("n2-standard-16", None)]
)
def test_limits_on_accelerators_count_those_of_machine_types(machine: str, nodes: int | None, write: Write) -> None:
    """128 GPUs are 16 nodes with eight, or 64 with two."""
    limits = "".join(
        f'resource_limits {{\n resource_type = "{kind}"\n maximum = 128\n}}\n'
        for kind in ("nvidia-h100-80gb", "nvidia-l4")
    )
    found = capacity({"main.tf": gke(limits)["main.tf"].replace("n2-standard-16", machine)}, write)
    assert {one["mechanism"]: one["nodes"] for one in found["walls"]}.get("autoscaling") == nodes


def test_a_quota_in_the_settings_lowers_the_target(write: Write) -> None:
    write(eks(quota=960))
    output = CliRunner().invoke(cli, ["check", ".", "--format", "json"], catch_exceptions=False).stdout
    found = {finding["rule"]: finding["message"] for finding in json.loads(output)["findings"]}
    assert "subnet-too-small" not in found
    message = "Quota L-417A185B (Running On-Demand P instances) limits the cluster to 13 of 603 nodes"
    assert found["account-quota-too-low"] == message


def test_capacity_compares_the_cap_with_what_the_pools_may_have(write: Write) -> None:
    cluster = capacity(eks("--max-nodes-total=13"), write)
    assert cluster["summary"] == (
        "train reaches 13 of the 603 nodes its pools may have; the first wall is the autoscaling limit of the cluster."
    )
    first, *_ = cluster["walls"]
    assert (first["mechanism"], first["nodes"], first["before_target"]) == ("autoscaling", 13, True)
    assert [wall["before_target"] for wall in cluster["walls"] if wall["mechanism"] == "subnet"] == [False]


def test_fixed_pools_keep_their_size_under_a_cap(write: Write) -> None:
    """The autoscaler removes no node of a pool that it does not manage, so only the others shrink."""
    cluster = capacity(eks("--cores-total=0:1"), write)
    assert [one["needed"] for one in cluster["quotas"]] == [6]


def test_quotas_are_listed_until_the_settings_declare_them(check: Check, write: Write) -> None:
    """Quotas have their code from the cloud's console; they are minima where it is unknown whether nodes are spot."""
    spot = 'variable "spot" {}\n' + EKS.replace("instance_types", "capacity_type = var.spot\n  instance_types", 1)

    def listed(files: dict[str, str]) -> list[str]:
        write(files)
        found = check({}, settings.load(["."])).findings
        return [text for one in found if one.rule == "quota-needed" for text in one.details]

    gpus = "L-417A185B (Running On-Demand P instances): "
    assert [text.startswith(f"{gpus}at least ") for text in listed(eks() | {"main.tf": spot})].count(True) == 1
    assert any(text.startswith(gpus) and text.endswith(" vCPUs") for text in listed(eks()))
    assert not any(text.startswith(gpus) for text in listed(eks(quota=10**6)))
