"""Test spot pools and their pods: cases that rules must report, and cases that they must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check

pytestmark = pytest.mark.medium

EKS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_subnet" "nodes" {
  count      = 3
  vpc_id     = "vpc-1"
  cidr_block = cidrsubnet("10.0.0.0/16", 4, count.index)
}
"""
GROUP = """
resource "aws_eks_node_group" "%s" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "%s"
  subnet_ids      = %s
  capacity_type   = "%s"
  instance_types  = %s

  scaling_config {
    min_size     = 0
    max_size     = 40
    desired_size = 0
  }
%s}
"""


def group(name: str, subnets: str, types: str, market: str = "SPOT", more: str = "") -> str:
    return GROUP % (name, name, subnets, market, types, more)


ONE, ALL = "[aws_subnet.nodes[0].id]", "aws_subnet.nodes[*].id"
TEMPLATE = """
  launch_template {
    id      = aws_launch_template.gpu.id
    version = "$Latest"
  }
"""
TOGETHER = """
resource "aws_launch_template" "gpu" {
  placement {
    group_name = "gpu"
  }
}
"""


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        (group("a", ALL, '["m6i.large"]'), {"spot-single-type"}),
        (group("a", ALL, '["m6i.large", "m5.large"]'), set()),
        (group("a", ALL, '["p5.48xlarge"]'), set()),  # nothing else does the work of this machine
        (group("a", ALL, '["g5.16xlarge"]'), set()),  # the largest one with one GPU
        (group("a", ALL, '["g5.8xlarge"]'), {"spot-single-type"}),
        (group("a", ALL, '["g5.8xlarge", "g5.16xlarge"]'), set()),
        (group("a", ALL, '["m6i.large"]') + group("b", ALL, '["m6i.large"]', "ON_DEMAND"), set()),
        (group("a", ALL, '["m6i.large"]') + group("b", ALL, '["p5.48xlarge"]', "ON_DEMAND"), {"spot-single-type"}),
        (group("a", ONE, '["p5.48xlarge"]'), {"spot-single-zone"}),
        (group("a", ONE, '["p5.48xlarge"]') + group("b", "[aws_subnet.nodes[1].id]", '["p5.48xlarge"]'), set()),
        (group("a", ONE, '["p5.48xlarge"]', more=TEMPLATE) + TOGETHER, set()),
    ],
)
def test_eks_spot_groups_are_judged(code: str, wanted: set[str], check: Check) -> None:
    found = names(check({"main.tf": EKS + code}))
    assert {name for name in found if name.startswith("spot-single")} == wanted


@pytest.mark.parametrize(("most", "told"), [("4", True), ("40", False)])
def test_a_small_on_demand_pool_is_no_fallback_for_spot(most: str, told: bool, check: Check) -> None:
    second = group("system", ALL, '["m6i.large"]', "ON_DEMAND").replace("max_size     = 40", f"max_size     = {most}")
    found = names(check({"main.tf": EKS + group("spot", ALL, '["c5.large"]') + second}))
    assert ("spot-single-type" in found) is told


TWO_VSWITCHES = """
resource "alicloud_cs_managed_kubernetes" "main" {
  name        = "train"
  vswitch_ids = ["vsw-a", "vsw-b"]
}
"""
ACK_POOL = """
resource "alicloud_cs_kubernetes_node_pool" "%s" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  node_pool_name = "%s"
  vswitch_ids    = %s
  instance_types = %s
  spot_strategy  = "SpotAsPriceGo"

  scaling_config {
    min_size = 0
    max_size = 100
  }
}
"""


@pytest.mark.parametrize(
    ("pools", "wanted"),
    [
        ([('["vsw-a"]', '["ecs.gn7i-c32g1.8xlarge"]')], {"spot-single-zone", "spot-single-type"}),
        ([('["vsw-a", "vsw-b"]', '["ecs.gn7i-c32g1.8xlarge", "ecs.gn7i-c48g1.12xlarge"]')], set()),
        ([('["vsw-a", "vsw-b"]', '["ecs.ebmgn8v.48xlarge"]')], set()),  # no other type has these GPUs
        ([(one, '["ecs.ebmgn8v.48xlarge"]') for one in ('["vsw-a"]', '["vsw-b"]')], set()),  # a pool for each zone
        ([("var.vswitches", '["ecs.ebmgn8v.48xlarge"]')], set()),
    ],
)
def test_ack_gpu_pools_with_vswitch_ids_are_judged(
    pools: list[tuple[str, str]], wanted: set[str], check: Check
) -> None:
    code = "".join(ACK_POOL % (f"p{i}", f"p{i}", *pool) for i, pool in enumerate(pools))
    found = names(check({"main.tf": TWO_VSWITCHES + 'variable "vswitches" {}' + code}))
    assert {name for name in found if name.startswith("spot-single")} == wanted


GKE = """
resource "google_container_cluster" "main" {
  name     = "train"
  location = "%s"
}

resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.main.name
  %s
  autoscaling {
    max_node_count = 40
  }

  node_config {
    machine_type = "a2-highgpu-8g"
    spot         = true
  }
}
"""


@pytest.mark.parametrize(
    ("location", "more", "wanted"),
    [
        ("us-central1", "", False),
        ("us-central1", 'node_locations = ["us-central1-a"]', True),
        ("us-central1-a", "", False),  # the cluster is in one zone, and its rule says so
    ],
)
def test_gke_spot_pools_are_judged(location: str, more: str, *, wanted: bool, check: Check) -> None:
    found = names(check({"main.tf": GKE % (location, more)}))
    assert ("spot-single-zone" in found) is wanted


AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_NC24ads_A100_v4"
  priority              = "Spot"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 40
  %s
}
"""


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", set()),  # Azure takes any zone
        ('zones = ["1", "2"]', set()),
        ('zones = ["2"]', {"spot-single-zone"}),
        ('zones = ["2"]\n  proximity_placement_group_id = "ppg"', set()),
        ("spot_max_price = -1", set()),
        ("spot_max_price = 0.5", {"spot-price-cap-low"}),
        ("spot_max_price = 9.5", set()),
    ],
)
def test_aks_spot_pools_are_judged(more: str, wanted: set[str], check: Check) -> None:
    found = names(check({"main.tf": AKS % more}))
    assert {name for name in found if name.startswith("spot-")} == wanted


def test_a_price_cap_on_an_unknown_machine_is_not_judged(check: Check) -> None:
    code = AKS.replace('vm_size               = "Standard_NC24ads_A100_v4"', "vm_size               = var.size")
    result = check({"main.tf": code % "spot_max_price = 0.5"})
    assert not result.bugs
    assert "spot-price-cap-low" not in names(result)


ACK = """
resource "alicloud_cs_managed_kubernetes" "main" {
  name = "train"
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  instance_types = ["ecs.gn6i-c8g1.2xlarge", "ecs.gn6v-c8g1.2xlarge"]
  spot_strategy  = "%s"

  dynamic "spot_price_limit" {
    for_each = %s

    content {
      instance_type = spot_price_limit.key
      price_limit   = spot_price_limit.value
    }
  }
}
"""


@pytest.mark.parametrize(
    ("strategy", "caps", "wanted"),
    [
        ("SpotWithPriceLimit", "{}", ["spot-price-cap-missing"]),
        ("SpotWithPriceLimit", '{ "ecs.gn6i-c8g1.2xlarge" = 5.5 }', ["spot-price-cap-per-type"]),
        ("SpotWithPriceLimit", '{ "ecs.gn6i-c8g1.2xlarge" = 5.5, "ecs.gn6v-c8g1.2xlarge" = 9 }', []),
        # in yuan, which spot-price-cap-low would take for dollars
        ("SpotWithPriceLimit", '{ "ecs.gn6i-c8g1.2xlarge" = 5.5, "ecs.gn6v-c8g1.2xlarge" = 0.9 }', []),
        ("SpotAsPriceGo", "{}", []),
        ("NoSpot", "{}", []),
    ],
)
def test_ack_price_caps_are_judged(strategy: str, caps: str, wanted: list[str], check: Check) -> None:
    result = check({"main.tf": ACK % (strategy, caps)})
    assert [name for name in names(result) if name.startswith("spot-price")] == wanted


def test_unknown_price_caps_are_not_reported_as_missing(check: Check) -> None:
    result = check({"main.tf": 'variable "caps" { type = map(string) }\n' + ACK % ("SpotWithPriceLimit", "var.caps")})
    assert "spot-price-cap-missing" not in names(result)
    assert "var.caps has no value" in [one.reason for one in result.judged.inputs]


JOB = """
apiVersion: batch/v1
kind: {kind}
metadata:
  name: train
spec:
  parallelism: {pods}
  template:
    spec:
      nodeSelector: {{{selector}}}
      tolerations: [{{operator: Exists}}]
      containers:
        - name: a
          image: quay.io/example/a:1
          command: [train, "{argument}"]
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


@pytest.mark.parametrize(
    ("pods", "selector", "argument", "nodes", "severity"),
    [
        (200, "cloud.google.com/gke-spot: 'true'", "", None, "warning"),
        (2, "cloud.google.com/gke-spot: 'true'", "", 1000, "warning"),
        (2, "cloud.google.com/gke-spot: 'true'", "", None, "info"),  # how large it may get is not known
        (2, "cloud.google.com/gke-spot: 'true'", "", 10, "info"),
        (200, "cloud.google.com/gke-spot: 'true'", "--out=gs://bucket/run", None, None),
        (200, "cloud.google.com/gke-spot: 'true'", "--out=https://a.blob.core.windows.net/run", None, None),
        (200, "cloud.google.com/gke-spot: 'true'", "--out=https://s3.eu-west-1.amazonaws.com/run", None, None),
        (200, "cloud.google.com/gke-spot: 'false'", "", None, None),
    ],
)
def test_a_long_job_on_spot_is_reported(
    pods: int, selector: str, argument: str, nodes: int | None, severity: str | None, check: Check
) -> None:
    text = JOB.format(kind="Job", pods=pods, selector=selector, argument=argument)
    result = check({"job.yaml": text}, Config(nodes={"": nodes} if nodes else {}))
    found = {f.rule: f.severity.word for f in result.findings}
    assert found.get("spot-long-job") == severity


@pytest.mark.parametrize(
    ("path", "told"), [("/mnt/lustre", False), ("/dev/infiniband", True), ("/var/lib/cache", True)]
)
def test_a_host_path_for_checkpoints_may_be_shared_storage(path: str, told: bool, check: Check) -> None:
    text = JOB.format(kind="Job", pods=200, selector="cloud.google.com/gke-spot: 'true'", argument="")
    volumes = f"      volumes: [{{name: a, hostPath: {{path: {path}}}}}]\n"
    result = check({"job.yaml": text.replace("      containers:\n", f"{volumes}      containers:\n")})
    assert ("spot-long-job" in names(result)) is told
    assert ("spot-long-job" in {one.rule for one in result.undecided}) is not told


VIRTUAL = """
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  nodeSelector: {{{selector}}}
  tolerations: [{{key: virtual-kubelet.io/provider, operator: {operator}}}]
  containers: [{{name: a, image: quay.io/example/a:1, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""


@pytest.mark.parametrize(
    ("selector", "operator", "wanted"),
    [
        ("type: virtual-kubelet", "Equal, value: azure", True),
        ("type: virtual-kubelet", "Equal, value: alibabacloud", False),  # these have GPUs
        ("type: virtual-kubelet", "Exists", False),  # whose it is, is not said
        ("", "Equal, value: azure", False),  # it may go elsewhere
    ],
)
def test_pods_on_virtual_nodes_are_reported(selector: str, operator: str, *, wanted: bool, check: Check) -> None:
    found = names(check({"pod.yaml": VIRTUAL.format(selector=selector, operator=operator)}))
    assert ("aci-gpu-retired" in found) is wanted
