"""Test that `terraform test` of a generated GKE cluster fails after an edit that leaves no room for its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.generate.assembly import generate
from kcheck.generate.intent import with_defaults
from tests.generate.terraform import assert_fails, initialized, needed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needed
TFVARS, POOLS, CLUSTER = "terraform.tfvars", "node_pools.tf", "cluster.tf"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a generated GKE cluster with RDMA, after `terraform init`."""
    files = generate(with_defaults("gke", {"nodes": 300, "machines": ["a3-ultragpu-8g"], "spot": {"share": 30}})).files
    return initialized(files, tmp_path_factory.mktemp("gke"))


@pytest.mark.parametrize(
    ("path", "pattern", "new", "told"),
    [
        (TFVARS, r"nodes = \d+ }", "nodes = 9 }", "are together less than 300 nodes"),
        (TFVARS, r"(nodes = \d+) }", r"\1, spot = true }", "No zone has room for the 32 nodes"),
        (TFVARS, r'zones = \["us-central1-a"\]', 'zones = ["us-central1-a", "us-central1-b"]', "and so must be a pool"),
        (TFVARS, r'\n  us-central1-b = "train-us-central1-b"', "", "need a reservation in their zone"),
        (TFVARS, r'(node_cidr +=.*)/\d+"', r'\1/24"', "node_cidr has fewer addresses"),
        (TFVARS, r'(pod_cidr +=.*)/\d+"', r'\1/19"', "pod_cidr has fewer blocks"),
        (TFVARS, r'(gpu_cidr +=.*)/\d+"', r'\1/20"', "gpu_cidr has fewer addresses"),
        (TFVARS, r"nat_addresses = \d+", "nat_addresses = 0", "nat_addresses are too few"),
        (TFVARS, r'storage_cidr = "[\d./]+"', 'storage_cidr = "10.0.0.0/8"', "Two of the ranges overlap"),
        (POOLS, r"range\(8\)", "range(4)", "needs 9 networks"),
        (POOLS, r"total_min_node_count = 0", "total_min_node_count = 1", "must begin at no nodes"),
        (CLUSTER, r"enable_multi_networking = true", "enable_multi_networking = false", "need enable_multi_networking"),
        (CLUSTER, r"enable_private_nodes = true", "enable_private_nodes = false", "Nodes with public addresses"),
        (
            CLUSTER,
            r"ip_endpoints_config \{\n +enabled = false",
            "ip_endpoints_config {\nenabled = true",
            "no IP address",
        ),
    ],
)
def test_terraform_test_fails_for_edits_that_break_the_cluster(
    cluster: Path, path: str, pattern: str, new: str, told: str
) -> None:
    assert_fails(cluster, path, pattern, new, told)
