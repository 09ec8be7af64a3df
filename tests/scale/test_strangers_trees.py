"""Test limits of trees written by strangers: each was wrong in code that kcheck had not seen before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import kcheck
from kcheck.commands.cli import cli
from kcheck.scale import quotas

if TYPE_CHECKING:
    from tests.conftest import Write

FARGATE = """\
resource "aws_subnet" "private" {
  cidr_block = "10.0.1.0/24"
}

resource "aws_eks_cluster" "main" {
  name = "runners"
}

resource "aws_eks_fargate_profile" "ci" {
  cluster_name         = aws_eks_cluster.main.name
  fargate_profile_name = "ci"
  subnet_ids           = [aws_subnet.private.id]

  selector {
    namespace = "ci"
  }
}
"""
OLD_GKE = """\
provider "google" {
  zone = "europe-north1-a"
}

resource "google_container_cluster" "main" {
  name                     = "old"
  remove_default_node_pool = true
  node_pool {
    name = "default-pool"
  }
}

resource "google_container_node_pool" "main" {
  name       = "main"
  cluster    = google_container_cluster.main.name
  node_count = 1
}
"""
DEFAULT_POOL = """\
resource "google_container_cluster" "main" {
  name               = "demo"
  location           = "us-east1"
  initial_node_count = 2
}
"""


def said(text: str, write: Write, *flags: str) -> str:
    write({"main.tf": text})
    output = CliRunner().invoke(cli, ["capacity", ".", *flags], catch_exceptions=False).stdout
    return " ".join(output.split())


@pytest.mark.parametrize("flags", [(), ("--nodes", "1000")])
def test_a_cluster_with_only_fargate_has_an_unknown_reach(flags: tuple[str, ...], write: Write) -> None:
    """Each Fargate pod takes an address of the profile's subnets, which may be small."""
    output = said(FARGATE, write, *flags)
    assert "Not known: address space of the nodes (pods on Fargate (ci) are not counted). runners" in output
    assert "the first known wall is the node limit of the cluster, at 100,000." in output


def test_a_removed_default_pool_does_not_count(write: Write) -> None:
    """remove_default_node_pool deletes the pool named default-pool, although a block describes it."""
    output = said(OLD_GKE, write)
    assert "old reaches the 1 node its pools may have; the first wall is the written maximum of the pools." in output
    assert "quotas that 1 node needs:" in output


def test_a_default_pool_is_upgraded_with_surge_nodes_too(write: Write) -> None:
    """GKE gives a cluster a /14: 1,024 blocks of 256, one of them for the surge node."""
    write({"main.tf": DEFAULT_POOL})
    project = kcheck.load(".")
    (wall,) = (one for one in project.capacity(project.inventory.clusters[0]) if one.mechanism == "pod-range")
    assert wall.nodes.exact == 1023


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  parallelism: PODS
  template:
    spec:
      containers:
        - name: train
          image: pytorch/pytorch:2.8.0
          resources:
            limits:
              nvidia.com/gpu: 8
      restartPolicy: Never
"""


@pytest.mark.parametrize(("pods", "found"), [(1, False), (10, False), (400, True)])
def test_a_few_image_pulls_are_not_reported(pods: int, found: bool, write: Write) -> None:
    write({"job.yaml": JOB.replace("PODS", str(pods))})
    assert ("docker-hub-image" in {one.rule for one in kcheck.load(".").check(info=True).findings}) is found


EKS = """\
variable "size" {
  default = 4
}

resource "aws_eks_cluster" "main" {
  name = "lab"
}

resource "aws_eks_node_group" "general" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "general"

  scaling_config {
    desired_size = 1
    min_size     = 1
    max_size     = var.size
  }
}
"""
NODE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
"""


@pytest.mark.parametrize("installed", [False, True])
def test_karpenter_outside_the_code_leaves_the_target_unknown(installed: bool, write: Write) -> None:
    tree = {f"{name}/main.tf": EKS.replace('"lab"', f'"{name}"') for name in ("blue", "green")}
    write(tree | ({"karpenter/pool.yaml": NODE_POOL} if installed else {}))
    output = CliRunner().invoke(cli, ["capacity", ".", "--format", "json"]).stdout
    assert {one["target"] for one in json.loads(output)["clusters"]} == ({None} if installed else {4})


PARTLY_PLACED = """\
variable "net" {{}}
data "aws_availability_zones" "here" {{}}

resource "aws_subnet" "private" {{
  count      = {count}
  cidr_block = {cidr}
}}

resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_eks_node_group" "cpu" {{
  cluster_name   = aws_eks_cluster.main.name
  subnet_ids     = aws_subnet.private[*].id
  instance_types = ["c5.large"]
  scaling_config {{
    max_size = 200
  }}
}}
"""
ZONES = "length(data.aws_availability_zones.here.names)"


@pytest.mark.parametrize(
    ("count", "cidr", "nodes"),
    [
        ("3", 'cidrsubnet("10.${var.net}.0.0/16", 8, count.index)', (30, 30)),  # 36 places less 6 of an upgrade
        ("3", '"10.${var.net}.${count.index}.0/24"', (30, 30)),
        ("3", 'cidrsubnets("10.${var.net}.0.0/16", 8, 8, 8)[count.index]', (30, 30)),
        ("1", 'cidrsubnet("10.0.0.0/16", 8, var.net)', (10, 10)),
        (ZONES, 'cidrsubnet("10.0.0.0/16", 8, count.index)', (10, None)),
        ("3", "cidrsubnet(var.net, 8, count.index)", (0, None)),
        ("3", 'cidrsubnet("10.0.0.0/16", var.net, count.index)', (0, None)),
        ("3", 'cidrsubnet("fd00:${var.net}::/48", 16, count.index)', (0, None)),
    ],
)
def test_a_subnet_of_known_length_has_a_known_size(
    count: str, cidr: str, nodes: tuple[int, int | None], write: Write
) -> None:
    """A c5.large takes 20 addresses, a /24 has 251, and an upgrade adds two nodes per zone."""
    write({"main.tf": PARTLY_PLACED.format(count=count, cidr=cidr)})
    project = kcheck.load(".")
    walls = [one for one in project.capacity(project.inventory.clusters[0]) if one.mechanism == "subnet"]
    assert {(one.nodes.low, one.nodes.high) for one in walls} == {nodes}
    found = [one for one in project.check().findings if one.rule == "subnet-too-small"]
    assert [one.message for one in found] == (
        [f"Subnet /24 is full at {nodes[0]} of 200 nodes"] if nodes[0] and nodes[1] else []
    )


PROVISIONED = """\
resource "google_container_cluster" "main" {
  name               = "train"
  location           = "us-central1-a"
  initial_node_count = 1
  cluster_autoscaling {
    enabled = true
    resource_limits {
      resource_type = "cpu"
      maximum       = 10000
    }
    resource_limits {
      resource_type = "memory"
      maximum       = 100000
    }
    resource_limits {
      resource_type = "nvidia-tesla-a100"
      maximum       = 64
    }
  }
}

resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.main.name
  autoscaling {
    total_min_node_count = 0
    total_max_node_count = 1000
  }
  node_config {
    machine_type = "a2-highgpu-8g"
    guest_accelerator {
      type  = "nvidia-tesla-a100"
      count = 8
    }
  }
}
"""


def test_auto_provisioning_ends_at_its_accelerator_limit(write: Write) -> None:
    """64 cards are eight nodes of that pool, in addition to the node of the default pool."""
    write({"main.tf": PROVISIONED})
    project = kcheck.load(".", nodes={"": 100})
    walls = project.capacity(project.inventory.clusters[0])
    (wall,) = (one for one in walls if "a100" in one.arithmetic and one.mechanism == "autoscaling")
    assert (wall.nodes.exact, wall.arithmetic) == (9, "64 nvidia-tesla-a100; 8 per node of gpu")


SEVERAL = """\
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = [%s]
  scaling_config {
    max_size = 100
  }
}
"""


@pytest.mark.parametrize(
    ("types", "needed"),
    [
        ('"g5.2xlarge"', {"L-DB2E81BA": "800"}),
        ('"g5.2xlarge", "g5.48xlarge"', {"L-DB2E81BA": "800-19,200"}),
        ('"g5.2xlarge", "p4d.24xlarge"', {"L-DB2E81BA": "0-800", "L-417A185B": "0-9,600"}),
    ],
)
def test_a_pool_of_several_machine_types_needs_a_range_of_quota(
    types: str, needed: dict[str, str], write: Write
) -> None:
    write({"main.tf": SEVERAL % types})
    world = kcheck.load(".").world
    found = quotas.at_target(world.inventory.clusters[0], world)
    assert {one.need.quota.code: one.amount.short for one in found} == needed
