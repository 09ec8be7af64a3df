"""Test node auto-provisioning of AKS: NodePools as pools, their subnets, and limits that they do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config import settings
from kcheck.engine import linter
from kcheck.inventory.clouds.aks import pools as sizes
from kcheck.scale import walls
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check, Write

CLUSTER = """
resource "azurerm_subnet" "nodes" {
  name             = "nodes"
  address_prefixes = ["10.0.0.0/24"]
}

resource "azurerm_kubernetes_cluster" "main" {
  name               = "train"
  kubernetes_version = "1.35"
  sku_tier           = "Standard"

  default_node_pool {
    name           = "system"
    vm_size        = "Standard_D16ds_v5"
    vnet_subnet_id = azurerm_subnet.nodes.id
    node_count     = 3
    max_pods       = 110
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    pod_cidr            = "10.8.0.0/13"
    outbound_type       = "userAssignedNATGateway"
  }

  node_provisioning_profile {
    mode = "Auto"
  }
}
"""
POOL = """apiVersion: karpenter.azure.com/v1beta1
kind: AKSNodeClass
metadata:
  name: training
spec:
  maxPods: 32
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: training
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: training}
      requirements:
        - {key: KEY, operator: In, values: [Standard_NC80adis_H100_v5]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      expireAfter: Never
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 2m}
  limits: {nvidia.com/gpu: "1200"}
"""
SKU = POOL.replace("KEY", "karpenter.azure.com/sku-name")
SETTINGS = "clusters: [{root: ., manifests: [kubernetes], nodes: 603}]\n"


@pytest.fixture
def result(write: Write) -> Check:
    def judged(cluster: str = CLUSTER, pool: str = SKU) -> Result:
        write({"main.tf": cluster, "kubernetes/pool.yaml": pool, "kcheck.yaml": SETTINGS})
        return linter.run(Tree(["."]), settings.load([], "kcheck.yaml"))

    return judged


@pytest.mark.parametrize("key", ["node.kubernetes.io/instance-type", "karpenter.azure.com/sku-name"])
def test_auto_provisioning_pools_are_read(key: str, result: Check) -> None:
    world = result(pool=POOL.replace("KEY", key)).world
    system, training = world.inventory.pools
    assert (known(training.size.max_nodes), known(training.machine.gpus), known(training.addresses.max_pods)) == (
        600,
        2,
        32,
    )
    assert (training.addresses.subnets, training.addresses.pod_range) == (
        system.addresses.subnets,
        system.addresses.pod_range,
    )
    assert known(world.autoscaling.tool(world.inventory.clusters[0])) == "karpenter"
    assert world.inventory.autoscalers == []


def test_the_subnet_must_hold_the_auto_provisioned_nodes(result: Check) -> None:
    (found,) = (one for one in result().findings if one.rule == "subnet-too-small")
    assert "251 are usable" in found.details[0]


def test_pool_limits_do_not_apply_to_auto_provisioned_nodes(result: Check) -> None:
    own = result(CLUSTER.replace("10.0.0.0/24", "10.0.0.0/21"))
    told = {one.rule for one in own.findings} | {one.rule for one in own.undecided}
    assert not told & {"single-large-pool", "drain-timeout-short", "pool-over-limit", "upgrade-blocked-by-limit"}
    world = own.world
    ends = [
        wall.mechanism
        for wall in walls.find_walls(world.inventory.clusters[0], world)
        if wall.scope.endswith("training")
    ]
    assert "pool-limit" not in ends


@pytest.mark.parametrize("change", ["  vnetSubnetID: /x/y\n", ""])
def test_a_subnet_of_its_own_is_not_guessed(change: str, result: Check) -> None:
    pool = SKU.replace("  maxPods: 32\n", change or "  maxPods: 32\n")
    subnets = result(pool=pool).world.inventory.pools[1].addresses.subnets
    assert isinstance(subnets, Unknown) is bool(change)


@pytest.mark.parametrize("mode", ["Manual", "Auto"])
def test_node_pools_are_ignored_where_nothing_runs_them(mode: str, result: Check) -> None:
    world = result(CLUSTER.replace('"Auto"', f'"{mode}"')).world
    assert len(world.inventory.pools) == (2 if mode == "Auto" else 1)
    assert len(world.inventory.autoscalers) == (0 if mode == "Auto" else 1)


@pytest.mark.parametrize(
    ("name", "joined"),
    [
        ("Standard_ND96isr_H100_v5", True), ("Standard_ND96asr_v4", True), ("Standard_NC24rs_v3", True),
        ("Standard_HB120rs_v3", True), ("Standard_NC40ads_H100_v5", False), ("Standard_D8ds_v5", False),
        ("r5.large", False), ("n2-standard-8", False), ("ecs.gn7.16xlarge", False),
    ],
)  # fmt: skip
def test_infiniband_is_recognized_by_the_machine_name(name: str, joined: bool) -> None:
    assert sizes.fabric(name) is joined


PAIR = """
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  for_each              = toset(["a", "b"])
  name                  = each.key
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "MACHINE"
  vnet_subnet_id        = azurerm_subnet.nodes.id
  zones                 = ["1"]
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 200
  node_taints           = ["nvidia.com/gpu=true:NoSchedule"]
  node_labels           = {}
}
"""


@pytest.mark.medium
@pytest.mark.parametrize(("machine", "told"), [("Standard_NC40ads_H100_v5", True), ("Standard_ND96isr_H100_v5", False)])
def test_pools_with_infiniband_are_not_balanced(machine: str, told: bool, result: Check) -> None:
    text = CLUSTER.replace('"Auto"', '"Manual"') + PAIR.replace("MACHINE", machine)
    rules = {one.rule for one in result(text).findings}
    assert ("similar-pools-not-balanced" in rules) is told


@pytest.mark.slow
@pytest.mark.parametrize("autoscaled", [True, False])
def test_aks_bursts_are_reported_without_an_autoscaler(autoscaled: bool, write: Write) -> None:
    pool = PAIR.replace("MACHINE", "Standard_ND96isr_H100_v5").replace("= 200", "= 700")
    if not autoscaled:
        pool = pool.replace("auto_scaling_enabled  = true", "").replace("min_count             = 0", "")
        pool = pool.replace("max_count ", "node_count")
    write({"main.tf": CLUSTER.replace('"Auto"', '"Manual"') + pool})
    rules = {one.rule for one in linter.run(Tree(["."]), settings.load([], None)).findings}
    assert ("control-plane-not-provisioned" in rules) is not autoscaled
