"""Test values that are one of two alternatives: results follow from both, or are unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine.words.subjects import words
from kcheck.inventory import reader
from kcheck.scale import control_plane, images
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.need import NotKnown, need
from kcheck.text.values import Either, Known, Origin, Unknown, candidates

if TYPE_CHECKING:
    from tests.conftest import Check, Write

CODE = """
variable "x" { type = bool }
variable "v" { type = bool }
resource "aws_vpc" "main" { cidr_block = "10.0.0.0/16" }
resource "aws_subnet" "a" {
  count      = 3
  vpc_id     = aws_vpc.main.id
  cidr_block = cidrsubnet("10.0.0.0/16", 8, count.index)
}
resource "aws_eks_cluster" "main" {
  name    = "main"
  version = var.v ? "1.33" : "1.34"
  kubernetes_network_config { service_ipv4_cidr = var.x ? "172.20.0.0/16" : "172.21.0.0/20" }
  vpc_config { subnet_ids = aws_subnet.a[*].id }
}
resource "aws_eks_node_group" "train" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "train"
  subnet_ids      = var.x ? [aws_subnet.a[0].id] : [aws_subnet.a[1].id]
  instance_types  = ["p5.48xlarge"]
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = 20
  }
}
resource "aws_eks_node_group" "train2" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "train2"
  subnet_ids      = var.x ? [aws_subnet.a[0].id] : [aws_subnet.a[1].id]
  instance_types  = ["p5.48xlarge"]
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = 20
  }
}
resource "helm_release" "ca" {
  name = "cluster-autoscaler"
  chart = "cluster-autoscaler"
  repository = "https://kubernetes.github.io/autoscaler"
  version = "9.46.0"
}
resource "kubernetes_job" "j" {
  metadata { name = "j" }
  spec {
    template {
      metadata {}
      spec {
        container {
          name = "a"
          image = var.x ? "busybox:1" : "nginx:latest"
        }
      }
    }
  }
}
"""


@pytest.fixture
def world(write: Write) -> World:
    write({"main.tf": CODE})
    return World(reader.read(Tree(["."]), Config()).inventory, Config())


def test_conditional_subnets_are_the_subnets_of_both_branches(world: World) -> None:
    options = [
        [subnet.address for subnet in one.value] for one in candidates(world.inventory.pools[0].addresses.subnets)
    ]
    assert options == [["aws_subnet.a[0]"], ["aws_subnet.a[1]"]]


def test_pools_in_the_same_subnet_choice_may_be_twins(check: Check, world: World) -> None:
    assert check({"main.tf": CODE}).bugs == []
    assert isinstance(words("autoscaler")["twins"].read(world.inventory.autoscalers[0], world), Unknown)


def test_two_possible_service_ranges_give_two_address_counts(world: World) -> None:
    found = control_plane.service_addresses(world.inventory.clusters[0], world)
    assert [one.value for one in candidates(found)] == [65_534, 4_094]


def test_two_possible_versions_give_two_minor_versions(world: World) -> None:
    assert [one.value for one in candidates(control_plane.minor(world.inventory.clusters[0], world))] == [33, 34]


def test_two_possible_images_give_two_possible_tags() -> None:
    place = Origin(())
    choice = Either("why", branches=(Known("busybox:1", place), Known("nginx:latest", place)))
    assert [one.value.tag for one in candidates(images.ending(choice))] == ["1", "latest"]


def test_the_function_need_raises_a_plain_unknown_for_a_choice() -> None:
    """The alternatives of the value are not those of a result computed from it."""
    choice = Either("why", branches=(Known(1, Origin(())), Known(2, Origin(()))))
    with pytest.raises(NotKnown) as raised:
        need(choice)
    assert type(raised.value.missing) is Unknown
