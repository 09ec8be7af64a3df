"""Test random trees with one input deleted: each finding stays, or the run names the input."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.engine.linter import Result
    from tests.conftest import Check

pytestmark = pytest.mark.medium

EKS = """
resource "aws_subnet" "nodes" {
  cidr_block        = var.nodes
  availability_zone = "us-west-2a"
}
resource "aws_eks_cluster" "main" {
  name    = var.name
  version = var.kubernetes
  vpc_config {
    subnet_ids             = [aws_subnet.nodes.id]
    endpoint_public_access = var.public
  }
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = var.pool
  instance_types  = [var.machine]
  subnet_ids      = [aws_subnet.nodes.id]
  capacity_type   = var.market
  scaling_config {
    min_size     = var.least
    max_size     = var.most
    desired_size = var.least
  }
}
"""
GKE = """
resource "google_compute_subnetwork" "main" {
  name          = "nodes"
  region        = "us-central1"
  ip_cidr_range = var.nodes
  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = var.pods
  }
  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = "10.32.0.0/20"
  }
}
resource "google_container_cluster" "main" {
  name                     = var.name
  location                 = var.location
  min_master_version       = var.kubernetes
  remove_default_node_pool = true
  initial_node_count       = 1
  subnetwork               = google_compute_subnetwork.main.id
  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }
}
resource "google_container_node_pool" "gpu" {
  name              = var.pool
  cluster           = google_container_cluster.main.id
  max_pods_per_node = var.pods_per_node
  autoscaling {
    min_node_count = var.least
    max_node_count = var.most
  }
  node_config {
    machine_type = var.machine
    spot         = var.market
  }
}
"""
AKS = """
resource "azurerm_subnet" "nodes" {
  name             = "nodes"
  address_prefixes = [var.nodes]
}
resource "azurerm_kubernetes_cluster" "main" {
  name               = var.name
  sku_tier           = var.tier
  kubernetes_version = var.kubernetes
  default_node_pool {
    name           = "system"
    node_count     = var.system
    vm_size        = "Standard_D8s_v5"
    vnet_subnet_id = azurerm_subnet.nodes.id
  }
  network_profile {
    network_plugin = var.plugin
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = var.pool
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = var.machine
  vnet_subnet_id        = azurerm_subnet.nodes.id
  auto_scaling_enabled  = true
  min_count             = var.least
  max_count             = var.most
  max_pods              = var.pods_per_node
  priority              = var.market
}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  parallelism: {count}
  completions: {count}
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: {image}
          resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
AUTOSCALER = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
  namespace: kube-system
spec:
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.3{minor}.0
          command: [./cluster-autoscaler, --cloud-provider={cloud}, --max-nodes-total={most}]
"""


def drawn(draw: random.Random, cloud: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Draw a root module, the values of its variables, and manifests beside it."""
    least, most = draw.choice(((0, 1), (0, 20), (2, 90), (5, 700), (3, 3)))
    root, machines, markets = {
        "eks": (EKS, ("p5.48xlarge", "g5.xlarge"), ('"SPOT"', '"ON_DEMAND"')),
        "gke": (GKE, ("a3-highgpu-8g", "n2-standard-8"), ("true", "false")),
        "aks": (AKS, ("Standard_ND96isr_H100_v5", "Standard_D8s_v5"), ('"Spot"', '"Regular"')),
    }[cloud]
    values = {
        "nodes": f'"10.1.0.0/{draw.randint(18, 27)}"', "pods": f'"10.64.0.0/{draw.randint(14, 22)}"',
        "name": '"train"', "pool": '"gpu"', "kubernetes": draw.choice(('"1.29"', '"1.33"')),
        "machine": f'"{draw.choice(machines)}"', "market": draw.choice(markets), "least": f"{least}", "most": f"{most}",
        "public": draw.choice(("true", "false")), "location": draw.choice(('"us-central1"', '"us-central1-a"')),
        "pods_per_node": draw.choice(("30", "110")), "tier": draw.choice(('"Free"', '"Standard"')),
        "system": draw.choice(("1", "3")), "plugin": draw.choice(('"azure"', '"kubenet"')),
    }  # fmt: skip
    job = JOB.format(
        count=draw.choice((1, 16, 200)), image=draw.choice(("pytorch/pytorch:2.8.0", "quay.io/a/b:latest"))
    )
    deployment = AUTOSCALER.format(
        minor=draw.randint(0, 3), cloud={"eks": "aws"}.get(cloud, cloud), most=draw.choice((5, 999))
    )
    manifests = {"k8s/job.yaml": job, **({"k8s/autoscaler.yaml": deployment} if cloud == "eks" else {})}
    return (
        root,
        {name: text for name, text in values.items() if f"var.{name}\n" in root or f"var.{name}]" in root},
        manifests,
    )


def tree(root: str, values: Mapping[str, str], given: frozenset[str], without: str = "") -> dict[str, str]:
    """Return a root whose variables have defaults, or var-file lines if in `given`.

    The one in `without` has neither.
    """
    blocks = []
    for name, text in values.items():
        default = f"\n  default = {text}" if name not in given | {without} else ""
        blocks.append(f'variable "{name}" {{{default}\n}}\n')
    lines = [f"{name} = {values[name]}\n" for name in sorted(given - {without})]
    return {"infra/main.tf": root + "".join(blocks), "infra/terraform.tfvars": "".join(lines)}


def silent(before: Result, after: Result, name: str) -> list[str]:
    """Return the rules that fired before and now say nothing, although the run does not report the missing input."""
    reasons = [why for check in after.undecided for why in check.missing]
    if any(f"var.{name} has no value" in why for why in reasons):
        return []
    return sorted({one.rule for one in before.findings} - {one.rule for one in after.findings})


CORE = 12


@pytest.mark.parametrize(
    "seed", [seed if seed < CORE else pytest.param(seed, marks=pytest.mark.slow) for seed in range(150)]
)
def test_no_finding_vanishes_silently_when_an_input_is_deleted(seed: int, check: Check) -> None:
    draw = random.Random(seed)
    root, values, manifests = drawn(draw, ("eks", "gke", "aks")[seed % 3])
    given = frozenset(name for name in values if draw.random() < 0.5)
    before = check(tree(root, values, given) | manifests)
    name = draw.choice(sorted(values))
    after = check(tree(root, values, given, name) | manifests)
    assert not silent(before, after, name), name


@pytest.mark.parametrize("seed", [4, 6, 7, 8, 11])
def test_a_spot_setting_without_a_value_is_named_as_a_missing_input(seed: int, check: Check) -> None:
    """On GKE, EKS and AKS, rules once took a variable without a value for on-demand nodes."""
    root, values, manifests = drawn(random.Random(seed), ("eks", "gke", "aks")[seed % 3])
    before = check(tree(root, values, frozenset()) | manifests)
    after = check(tree(root, values, frozenset(), "market") | manifests)
    of_spot = {"spot-long-job", "spot-location-policy", "gpu-without-toleration", "gpu-pool-unused"}
    assert of_spot & {one.rule for one in before.findings}
    assert not silent(before, after, "market")


@pytest.mark.parametrize("seed", [0, 2, 5, 6, 8, 11, *(pytest.param(n, marks=pytest.mark.slow) for n in range(12, 60))])
def test_each_rule_names_a_machine_type_without_a_value_as_a_missing_input(seed: int, check: Check) -> None:
    """Seven rules once treated pods that may land on an unknown machine type as if they did."""
    root, values, manifests = drawn(random.Random(seed), ("eks", "gke", "aks")[seed % 3])
    given = frozenset({"name"})  # else it looks like a library
    before = check(tree(root, values, given) | manifests)
    after = check(tree(root, values, given, "machine") | manifests)
    named = (one for one in after.undecided if any("var.machine has no value" in why for why in one.missing))
    undecided, found = {one.rule for one in named}, {one.rule for one in after.findings}
    told = {"pod-matches-no-pool"} if "gpu-without-toleration" in found else set()  # whatever the machine is
    assert {one.rule for one in before.findings} <= found | undecided | told
