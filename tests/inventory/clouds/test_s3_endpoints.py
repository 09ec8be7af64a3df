"""Test S3 endpoints beside NAT gateways: made here, missing, or perhaps made by a module that is not here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from tests.conftest import Write


CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
GATEWAY = 'resource "aws_nat_gateway" "main" {\n  subnet_id = "subnet-1"\n}\n'
ENDPOINT = 'variable "service" {}\ndata "aws_region" "current" {}\nresource "aws_vpc_endpoint" "one" {\n  vpc_id = "vpc-1"\n  service_name = %s\n}\n'
MODULE = 'module "endpoints" {\n  source = "%s"\n  endpoints = { %s }\n}\n'


def endpoint(write: Write, text: str) -> object:
    (cluster,) = linter.run(Tree([str(write({"main.tf": CLUSTER + text}))]), Config()).world.inventory.clusters
    value = cluster.s3_endpoint
    return "unknown" if isinstance(value, Unknown) else known(value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        (GATEWAY, False),
        (GATEWAY + ENDPOINT % '"com.amazonaws.eu-west-1.s3"', True),
        (GATEWAY + ENDPOINT % '"com.amazonaws.${data.aws_region.current.name}.s3"', True),
        (GATEWAY + ENDPOINT % '"com.amazonaws.eu-west-1.ecr.dkr"', False),
        (GATEWAY + ENDPOINT % "var.service", "unknown"),
        (GATEWAY + MODULE % ("example/vpc-endpoints/aws", ""), "unknown"),
        (GATEWAY + MODULE % ("terraform-aws-modules/vpc/aws//modules/vpc-endpoints", ""), False),
        (GATEWAY + MODULE % ("terraform-aws-modules/vpc/aws//modules/vpc-endpoints", 's3 = { service = "s3" }'), True),
    ],
)  # fmt: skip
def test_an_s3_endpoint_is_present_or_absent_or_unknown(write: Write, text: str, found: object) -> None:
    assert endpoint(write, text) == found


NETWORKS = """
resource "aws_vpc" "nodes" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_vpc" "people" {
  cidr_block = "10.1.0.0/16"
}
resource "aws_subnet" "nodes" {
  vpc_id     = aws_vpc.nodes.id
  cidr_block = "10.0.0.0/20"
}
resource "aws_subnet" "people" {
  vpc_id     = aws_vpc.people.id
  cidr_block = "10.1.0.0/20"
}
resource "aws_eks_cluster" "main" {
  name = "train"
  vpc_config {
    subnet_ids = [aws_subnet.nodes.id]
  }
}
resource "aws_nat_gateway" "one" {
  subnet_id = aws_subnet.WHERE.id
}
"""


@pytest.mark.parametrize(("where", "addresses"), [("nodes", 1), ("people", None)])
def test_gateways_of_another_network_serve_no_nodes(write: Write, where: str, addresses: int | None) -> None:
    tree = Tree([str(write({"main.tf": NETWORKS.replace("WHERE", where)}))])
    (cluster,) = linter.run(tree, Config()).world.inventory.clusters
    assert known(cluster.outbound_ips) == addresses
