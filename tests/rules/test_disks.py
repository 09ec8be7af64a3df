"""Test disks for the images of GPU nodes: which disk stores them, and how large it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Check

pytestmark = pytest.mark.medium

EKS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_launch_template" "gpu" {
  name = "gpu"
  %s
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["%s"]
  %s

  scaling_config {
    min_size     = 0
    max_size     = 16
    desired_size = 0
  }
}
"""
TEMPLATE = """
  launch_template {
    id      = aws_launch_template.gpu.id
    version = "$Latest"
  }
"""
VOLUME = 'block_device_mappings {\n device_name = "/dev/xvda"\n ebs {\n volume_size = %d\n }\n }'
JOINED = 'user_data = base64encode("kind: NodeConfig\\nspec: {instance: {localStorage: {strategy: RAID0}}}")'


def eks(template: str = "", machine: str = "g6.12xlarge", group: str = "") -> str:
    return EKS % (template, machine, group)


GKE = """
resource "google_container_cluster" "main" {
  name               = "train"
  location           = "us-central1-a"
  initial_node_count = 1
}

resource "google_container_node_pool" "gpu" {
  name       = "gpu"
  cluster    = google_container_cluster.main.name
  node_count = 2

  node_config {
    machine_type = "%s"
    disk_size_gb = 40
  }
}
"""
ACK = """
resource "alicloud_cs_managed_kubernetes" "main" {
  name = "train"
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  node_pool_name = "gpu"
  vswitch_ids    = ["vsw-a"]
  instance_types = ["ecs.gn7i-c32g1.8xlarge"]
  desired_size   = 4
  %s
}
"""


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        (eks(), "warning"),  # 20 GB by default
        (eks(group="disk_size = 60"), "info"),
        (eks(group="disk_size = 100"), None),
        (eks(machine="m6i.large"), None),
        (eks(group=TEMPLATE), "warning"),  # what EKS' image has
        (eks(template=VOLUME % 30, group=TEMPLATE), "warning"),
        (eks(template=VOLUME % 200, group=TEMPLATE), None),
        (eks(template='image_id = "ami-1"', group=TEMPLATE), None),  # nobody knows
        (eks(template=JOINED, machine="p5.48xlarge", group=TEMPLATE), None),
        (GKE % "g2-standard-8", "warning"),
        (GKE % "a3-highgpu-8g", None),  # it has local SSDs
        (ACK % "", "warning"),  # 40 GB by default
        (ACK % "system_disk_size = 120", None),
        (ACK % 'data_disks {\n category = "cloud_essd"\n size = 500\n }', None),
    ],
)
def test_small_image_disks_are_reported(code: str, severity: str | None, check: Check) -> None:
    every = check({"main.tf": code}).findings
    own = [str(one.severity.word) for one in every if one.rule == "gpu-image-disk-small"]
    assert own == ([severity] if severity else [])
