"""Test that `terraform test` of a generated ACK cluster fails after an edit that leaves no room for its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.generate.assembly import generate
from kcheck.generate.intent import with_defaults
from tests.generate.terraform import assert_fails, initialized, needed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needed
TFVARS, POOLS, CLUSTER, NETWORK = "terraform.tfvars", "node_pools.tf", "cluster.tf", "network.tf"
BASES: dict[str, dict[str, Any]] = {
    "usual": {"nodes": 1000},
    "china": {
        "nodes": 450,
        "region": "cn-hangzhou",
        "zones": ["cn-hangzhou-h", "cn-hangzhou-i"],
        "spot": {"share": 30},
        "network": {"api_ranges": ["203.0.113.0/24"]},
    },
    "flannel": {"nodes": 100, "network": {"mode": "flannel"}},
}


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the generated ACK clusters of the intents above, each after `terraform init`."""
    return {
        name: initialized(generate(with_defaults("ack", given)).files, tmp_path_factory.mktemp(name))
        for name, given in BASES.items()
    }


@pytest.mark.parametrize(
    ("base", "path", "pattern", "new", "told"),
    [
        ("usual", TFVARS, r"nodes = 167", "nodes = 67", "are together less than 1,000 nodes"),
        ("usual", TFVARS, r"(nodes = 16\d) }", r"\1, spot = true }", "No zone has room for the 128 nodes"),
        ("usual", TFVARS, r'(nodes = "[\d.]+)/\d+', r"\1/27", "is too small for its nodes"),
        ("usual", TFVARS, r'(pods = "[\d.]+)/\d+', r"\1/24", "for the pods of a zone is too small"),
        ("usual", TFVARS, r'(vpc_cidr = "[\d.]+)/\d+', r"\1/22", "is not in that of the VPC"),
        ("usual", TFVARS, r'nodes = "[\d.]+/', 'nodes = "172.16.0.0/', "is not in that of the VPC"),
        ("usual", TFVARS, "ecs.gn8v-8x.48xlarge", "ecs.g8i.16xlarge", "change intent.yaml for other machines"),
        ("usual", TFVARS, r"system_nodes = \d+", "system_nodes = 1", "own pods need 13 nodes"),
        ("usual", CLUSTER, "ack.pro.xlarge", "ack.pro.small", "must be made for 1,000 nodes"),
        ("flannel", CLUSTER, "ack.pro.small", "ack.standard", "must be made for 100 nodes"),
        ("usual", CLUSTER, "slb_internet_enabled = false", "slb_internet_enabled = true", "no public address"),
        ("usual", CLUSTER, "security_group = true", "security_group = false", "A basic security group ends"),
        ("usual", CLUSTER, '"ack-node-local-dns"', '"ack-node-local-dns"\ndisabled = true', "is disabled"),
        ("usual", CLUSTER, '"goatscaler"', '"cluster-autoscaler"', "is rated for 20 pools of 100 nodes"),
        ("usual", CLUSTER, r"scale_down_enabled +=.*", "scale_down_enabled = false", "must go after a job"),
        ("usual", POOLS, "min_size = 0", "min_size = 5", "from no nodes"),
        ("usual", POOLS, "min_size = 0", "enable = false\nmin_size = 0", "must be scaled"),
        ("usual", POOLS, "AliyunLinux4ContainerOptimized", "AliyunLinux3", "a kernel for nftables"),
        ("usual", POOLS, r"system_disk_size +=.*", "system_disk_size = 40", "too slow or too small"),
        ("usual", POOLS, r"taints {[^}]*}", "", "Without their taint"),
        ("usual", POOLS, r'"k8s.io/cluster-autoscaler.*', "", "Jobs ask for aliyun/erdma"),
        ("usual", NETWORK, r'("alicloud_snat_entry" "pods" {\s+for_each =) .*', r"\1 {}", "no way out"),
        ("china", TFVARS, r"203.0.113.0/24", "0.0.0.0/0", "never everybody"),
        ("china", TFVARS, r"cpfs_capacity = \d+", "cpfs_capacity = 3600", "is too slow for the checkpoints"),
        ("china", TFVARS, r"(teams +=).*", r'\1 ["research"]', "A team has no directory"),
        ("china", POOLS, "on_demand = false", "on_demand = true", "not fall back to the full price"),
        ("flannel", TFVARS, r'(pod_cidr += "[\d.]+)/\d+', r"\1/22", "no range for each node"),
    ],
)
def test_terraform_test_fails_for_edits_that_break_the_cluster(
    clusters: dict[str, Path], base: str, path: str, pattern: str, new: str, told: str
) -> None:
    assert_fails(clusters[base], path, pattern, new, told)
