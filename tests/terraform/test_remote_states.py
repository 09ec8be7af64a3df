"""Test roots that `data "terraform_remote_state"` joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.text.values import known

if TYPE_CHECKING:
    from tests.conftest import Check, Read

NETWORK = """
resource "aws_subnet" "nodes" {
  cidr_block        = "10.0.0.0/25"
  availability_zone = "us-west-2a"
}
output "subnet_ids" {
  value = [aws_subnet.nodes.id]
}
"""
CLUSTER = """
resource "aws_eks_cluster" "main" {
  name    = "train"
  version = "1.35"
  vpc_config {
    subnet_ids = data.terraform_remote_state.net.outputs.subnet_ids
  }
}
output "cluster" {
  value = aws_eks_cluster.main.name
}
output "subnet_ids" {
  value = data.terraform_remote_state.net.outputs.subnet_ids
}
"""
POOL = """
resource "aws_eks_node_group" "gpu" {
  cluster_name    = NAME
  node_group_name = "gpu"
  instance_types  = ["p5.48xlarge"]
  subnet_ids      = SUBNETS
  scaling_config {
    min_size     = 0
    max_size     = 200
    desired_size = 0
  }
}
"""
OWN = POOL.replace("NAME", "aws_eks_cluster.main.name").replace(
    "SUBNETS", "data.terraform_remote_state.net.outputs.subnet_ids"
)
STATES = {
    "local": ("", 'backend = "local"', '{ path = "../net/terraform.tfstate" }'),
    "s3": (
        'terraform {\n backend "s3" {\n  bucket = "states"\n  key = "net"\n  region = "us-west-2"\n }\n}\n',
        'backend = "s3"', '{ bucket = "states", key = "net", region = "us-west-2" }',
    ),
    "gcs": (
        'terraform {\n backend "gcs" {\n  bucket = "states"\n  prefix = "net"\n }\n}\n',
        'backend = "gcs"', '{ bucket = "states", prefix = "net" }',
    ),
    "azurerm": (
        'terraform {\n backend "azurerm" {\n  storage_account_name = "a"\n  container_name = "b"\n  key = "net"\n }\n}\n',
        'backend = "azurerm"', '{ storage_account_name = "a", container_name = "b", key = "net" }',
    ),
    "cloud": (
        'terraform {\n cloud {\n  organization = "us"\n  workspaces {\n   name = "net"\n  }\n }\n}\n',
        'backend = "remote"', '{ organization = "us", workspaces = { name = "net" } }',
    ),
}  # fmt: skip


def reads(label: str, backend: str, config: str) -> str:
    return f'data "terraform_remote_state" "{label}" {{\n  {backend}\n  config = {config}\n}}\n'


@pytest.mark.parametrize("state", STATES)
def test_remote_state_outputs_come_from_the_root_that_writes_the_state(state: str, check: Check) -> None:
    written, backend, config = STATES[state]
    result = check({"net/main.tf": written + NETWORK, "eks/main.tf": reads("net", backend, config) + CLUSTER + OWN})
    small = [one for one in result.findings if one.rule == "subnet-too-small"]
    assert [one.span.source.path for one in small] == ["net/main.tf"]


@pytest.mark.parametrize(
    ("bucket", "more"),
    [("others", {}), ("states", {"copy/main.tf": STATES["s3"][0] + NETWORK}), ("${var.bucket}", {})],
    ids=["another state", "two roots write it", "not known"],
)
def test_a_remote_state_without_one_matching_root_is_named(bucket: str, more: dict[str, str], check: Check) -> None:
    source = reads("net", 'backend = "s3"', f'{{ bucket = "{bucket}", key = "net" }}') + CLUSTER + OWN
    result = check({"net/main.tf": STATES["s3"][0] + NETWORK, "eks/main.tf": source + 'variable "bucket" {}\n', **more})
    assert not [one for one in result.findings if one.rule == "subnet-too-small"]
    missing = {why for one in result.undecided if one.rule == "subnet-too-small" for why in one.missing}
    assert any("data.terraform_remote_state.net" in why for why in missing), missing


def test_node_groups_of_another_root_belong_to_the_cluster(read: Read) -> None:
    """The root of the node groups becomes part of the cluster's root, with the one network of both."""
    net = reads("net", 'backend = "local"', STATES["local"][2])
    eks = reads("eks", 'backend = "local"', '{ path = "../eks/terraform.tfstate" }')
    outputs = "data.terraform_remote_state.eks.outputs"
    pool = POOL.replace("NAME", f"{outputs}.cluster").replace("SUBNETS", f"{outputs}.subnet_ids")
    other = (
        POOL.replace("NAME", f"{outputs}.cluster")
        .replace('"gpu"', '"more"')
        .replace("SUBNETS", "data.terraform_remote_state.net.outputs.subnet_ids")
    )
    inventory = read({
        "net/main.tf": NETWORK, "eks/main.tf": net + CLUSTER, "nodes/main.tf": net + eks + pool + other,
    })  # fmt: skip
    (cluster,) = inventory.clusters
    assert cluster.root == "eks"
    assert [known(pool.cluster) for pool in inventory.pools] == [cluster, cluster]
    subnets = {known(pool.addresses.subnets) for pool in inventory.pools}
    assert len(subnets) == 1
    assert None not in subnets


def test_remote_states_that_read_each_other_are_stopped(check: Check) -> None:
    net = reads("eks", 'backend = "local"', '{ path = "../eks/terraform.tfstate" }')
    eks = reads("net", 'backend = "local"', STATES["local"][2])
    circle = 'output "again" {\n  value = data.terraform_remote_state.eks.outputs.again\n}\n'
    back = 'output "again" {\n  value = data.terraform_remote_state.net.outputs.again\n}\n'
    result = check({"net/main.tf": net + NETWORK + circle, "eks/main.tf": eks + CLUSTER + OWN + back})
    assert "subnet-too-small" in {one.rule for one in result.findings}


def test_a_remote_state_belongs_to_the_environment_of_the_same_name(check: Check) -> None:
    """Both roots have variable files: each cluster gets the network of its own environment."""
    written, backend, config = STATES["gcs"]
    network = written + NETWORK.replace('"10.0.0.0/25"', "var.range") + 'variable "range" {}\nprovider "aws" {}\n'
    cluster = (
        reads("net", backend, config)
        + CLUSTER.replace('"train"', "var.name")
        + OWN
        + 'variable "name" {}\nprovider "aws" {}\n'
    )
    result = check({
        "net/main.tf": network, "net/env/dev.tfvars": 'range = "10.0.0.0/25"\n', "net/env/prod.tfvars": 'range = "10.1.0.0/16"\n',
        "eks/main.tf": cluster, "eks/env/dev.tfvars": 'name = "dev"\n', "eks/env/prod.tfvars": 'name = "prod"\n',
    })  # fmt: skip
    small = [one for one in result.findings if one.rule == "subnet-too-small"]
    assert [one.span.source.path for one in small] == ["net/env/dev.tfvars"]
    assert not [why for one in result.undecided for why in one.missing if "var.range" in why]


PARTIAL = 'terraform {\n backend "s3" {}\n}\n'


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"net/state.tfbackend": 'bucket = "states"\nkey = "net"\n'}, True),
        ({"net/backend/prod.hcl": 'bucket = "states"\nkey = "net"\n'}, True),
        ({"net/backend.hcl": 'bucket = "states"\nkey = "other"\n'}, False),
        ({"net/a.tfbackend": 'bucket = "states"\nkey = "net"\n', "net/b.tfbackend": 'key = "b"\n'}, True),
        ({"net/part/main.tf": "", "net/part/backend.hcl": 'bucket = "states"\nkey = "net"\n'}, False),
        ({}, False),
    ],
    ids=["beside it", "in a folder", "another key", "one of two", "of another root", "none"],
)
def test_a_backend_config_file_names_the_state(files: dict[str, str], found: bool, check: Check) -> None:
    """The file for -backend-config is next to the root that writes the state; otherwise the input is named."""
    _, backend, config = STATES["s3"]
    eks = reads("net", backend, config) + CLUSTER + OWN
    result = check({"net/main.tf": PARTIAL + NETWORK, "eks/main.tf": eks, **files})
    rules = {one.rule for one in result.findings}, {one.rule for one in result.undecided}
    assert ("subnet-too-small" in rules[0], "subnet-too-small" in rules[1]) == (found, not found)


def test_the_backend_config_file_of_the_environment_is_used(check: Check) -> None:
    files = {f"net/{name}.tfbackend": f'bucket = "states"\nkey = "net-{name}"\n' for name in ("dev", "prod")}
    files |= {f"net/{name}.tfvars": f'cidr = "10.0.0.0/{bits}"\n' for name, bits in (("dev", 25), ("prod", 16))}
    network = NETWORK.replace('"10.0.0.0/25"', "var.cidr") + 'variable "cidr" {}\n'
    eks = reads("net", STATES["s3"][1], '{ bucket = "states", key = "net-dev", region = "us-west-2" }') + CLUSTER + OWN
    result = check({"net/main.tf": PARTIAL + network, "eks/main.tf": eks, **files})
    assert "subnet-too-small" in {one.rule for one in result.findings}
