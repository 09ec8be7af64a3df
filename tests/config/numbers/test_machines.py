"""Test facts that are derived from the names of machine types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.config.numbers import machines
from kcheck.inventory.clouds.aks import pools as sizes
from kcheck.inventory.clouds.gke import pools as own
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check

AKS = """resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {{
    name       = "system"
    vm_size    = "{size}"
    node_count = 500
  }}
}}
"""
GROUP = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: us-west-2}
managedNodeGroups:
  - name: gpu
    instanceType: p5.48xlarge
"""


@pytest.mark.parametrize(
    ("size", "fits"),
    [
        ("Standard_D8s_v3", True), ("Standard_D8ds_v5", True), ("Standard_DS4_v2", True), ("Standard_ND96isr_H100_v5", True),
        ("Standard_NC4as_T4_v3", True), ("Standard_D8S_v6", False), ("Standard_D8_v3", False), ("Standard_B8s_v2", False),
        ("Standard_D2ds_v5", False), ("Standard_DS2_v2", False), ("Standard_D2_v2", False), ("big", None),
        ("Standard_D8as_v4", True), ("Standard_E8as_v4", True), ("Standard_D8as_v5", False), ("Standard_D8s_v4", False),
    ],
)  # fmt: skip
def test_machines_with_a_large_local_disk_use_it_for_booting(size: str, fits: bool | None, check: Check) -> None:
    assert sizes.ephemeral(size, 8) is fits
    assert ("slow-boot-disk" in names(check({"main.tf": AKS.format(size=size)}))) == bool(fits)


@pytest.mark.parametrize(("ami", "told"), [("", True), ("    ami: auto\n", True), ("    ami: ami-0123456789\n", False)])
def test_a_custom_image_is_not_mistaken_for_the_image_of_the_family(ami: str, told: bool, check: Check) -> None:
    found = names(check({"cluster.yaml": f"{GROUP}    amiFamily: AmazonLinux2\n{ami}"}))
    assert ("retired-node-image" in found) == told


def test_the_fix_for_a_group_without_a_maximum_writes_its_maximum_size(check: Check) -> None:
    found = check({"cluster.yaml": GROUP}, Config(nodes={"": 100})).findings
    (change,) = next(f.fix.changes for f in found if f.rule == "pool-capped-by-default" and f.fix)
    assert change.origin.missing is not None
    assert change.origin.missing.path == ("maxSize",)


def test_a_pool_without_a_known_name_is_named_by_its_address(check: Check) -> None:
    text = AKS.format(size="Standard_D8s_v3").replace('"system"', "var.pool")
    (message,) = [f.message for f in check({"main.tf": text}).findings if f.rule == "slow-boot-disk"]
    assert message.startswith("Pool azurerm_kubernetes_cluster.main")


def test_a_fixed_pool_size_is_not_a_maximum(check: Check) -> None:
    pool = 'module "aks" {\n  source              = "Azure/aks/azurerm"\n  version             = "10.2.0"\n  cluster_name        = "train"\n'
    pool += '  resource_group_name = "train"\n  location            = "westus2"\n}\n'
    assert "pool-capped-by-default" not in names(check({"main.tf": pool}, Config(nodes={"": 1000})))


@pytest.mark.parametrize(
    ("name", "accelerator", "ssds"),
    [
        ("a3-highgpu-8g", "nvidia-h100-80gb", 16),
        ("a2-highgpu-1g", "nvidia-tesla-a100", 0),
        ("ct5p-hightpu-4t", None, 0),
    ],
)
def test_google_machine_types_have_their_accelerators_and_ssds(name: str, accelerator: str | None, ssds: int) -> None:
    assert (machines.accelerator("gke", name), own.local_ssds(name)) == (accelerator, ssds)


@pytest.mark.parametrize(
    ("cloud", "name", "gib"),
    [
        ("eks", "m5.xlarge", 16), ("eks", "t3.nano", 0.5), ("eks", "p5.4xlarge", 256), ("eks", "p5.48xlarge", 2048),
        ("gke", "e2-standard-4", 16), ("gke", "c4-standard-2", 7), ("gke", "c3-standard-8-lssd", 32),
        ("gke", "a2-highgpu-8g", 680), ("gke", "n2-custom-8-16384", 16), ("gke", "e2-medium", 4),
        ("aks", "Standard_D2s_v3", 8), ("aks", "Standard_E96ds_v5", 672), ("aks", "Standard_DS11_v2", 14),
        ("aks", "Standard_E4-2s_v3", 32), ("aks", "Standard_ND96isr_H100_v5", 1900),
        ("ack", "ecs.g7.xlarge", 16), ("ack", "ecs.no9.large", None), ("eks", "no9.large", None), ("gke", "custom", None), ("aks", "", None),
    ],
)  # fmt: skip
def test_the_memory_of_machine_types_is_in_the_tables(cloud: str, name: str, gib: float | None) -> None:
    assert machines.memory(cloud, name) == (None if gib is None else gib * 2**30)


@pytest.mark.parametrize(
    ("cloud", "name", "vcpus", "gpus"),
    [
        ("eks", "trn2.3xlarge", 12, 1),
        ("aks", "Standard_ND128isr_NDR_GB200_v6", 128, 4),
        ("aks", "Standard_ND128isr_GB300_v6", 128, 4),
        ("aks", "Standard_ND128isrG5_GB300_v6", 128, 4),
        ("aks", "Standard_NC320lds_xl_RTXPRO6000BSE_v6", 320, 2),
        ("aks", "Standard_NP40s", 40, None),
        ("aks", "Standard_D14_v2_Promo", 16, None),
        ("aks", "Standard_DS2_v2_Promo", 2, None),
        ("eks", "dl1.24xlarge", 96, 8),
        ("gke", "ct4p-hightpu-4t", None, 4),
        ("gke", "tpu7x-ultranet-4t", None, 4),
        ("gke", "c4-standard-288-lssd-metal", 288, None),
        ("gke", "big", None, None),
    ],
)
def test_vcpus_and_accelerators_of_machine_types_are_in_the_tables(
    cloud: str, name: str, vcpus: int | None, gpus: int | None
) -> None:
    found = machines.machine(cloud, name) or machines.Machine(None, None)
    assert (found.vcpus, found.gpus) == (vcpus, gpus)


def test_a_promotion_size_equals_the_normal_size_except_for_its_quota() -> None:
    assert machines.memory("aks", "Standard_D14_v2_Promo") == machines.memory("aks", "Standard_D14_v2")
    assert machines.family("aks", "Standard_D14_v2_Promo") == "standardDv2PromoFamily"
    assert machines.family("aks", "Standard_DS2_v2_Promo") == "standardDSv2PromoFamily"
    assert machines.family("aks", "Standard_DS2_v2") == "standardDSv2Family"


@pytest.mark.parametrize(("name", "disks"), [("a4x-highgpu-4g", 4), ("a4x-maxgpu-4g-metal", 4), ("a3-edgegpu-8g", 16)])
def test_local_ssds_of_machine_types_are_counted(name: str, disks: int) -> None:
    assert own.local_ssds(name) == disks


SERVICE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  replicas: 40
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      containers:
        - name: main
          image: a.azurecr.io/serve:1.0
          resources: {limits: {nvidia.com/gpu: 1}}
"""
POOL = """
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {{
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "{size}"
  node_count            = 40
}}
"""


@pytest.mark.parametrize(("size", "told"), [("Standard_NV36ads_A10_v5", True), ("Standard_NV6ads_A10_v5", False)])
def test_a_partial_gpu_is_not_reported_as_unshared(size: str, told: bool, check: Check) -> None:
    tree = {"main.tf": AKS.format(size="Standard_D8s_v5") + POOL.format(size=size), "serve.yaml": SERVICE}
    assert ("gpu-not-shared" in names(check(tree))) == told


@pytest.mark.parametrize(
    ("cloud", "name", "has"),
    [
        ("aks", "Standard_ND96isr_H100_v5", True), ("aks", "standard_nc24ads_a100_v4", True), ("aks", "Standard_NP20s", False),
        ("gke", "tpu7x-standard-4t", True), ("gke", "ct6e-standard-4t", True), ("gke", "n2-standard-8", False),
    ],
)  # fmt: skip
def test_machines_with_accelerators_are_recognised(cloud: str, name: str, has: bool) -> None:
    assert machines.has_accelerator(cloud, name) is has


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("ecs.gn8v-8x.48xlarge", 1024),
        ("ecs.gn7e-c16g1.32xlarge", 1000),
        ("ecs.g8i.24xlarge", 384),
        ("ecs.g8i.48xlarge", 1024),
    ],
)
def test_the_memory_of_ecs_types_is_computed(name: str, gigabytes: int) -> None:
    assert machines.memory("ack", name) == gigabytes << 30


def test_every_ecs_type_with_known_vcpus_has_a_memory_size() -> None:
    types = [(family, line) for family, line in machines.tables_of("ack")["vcpus"].items()]
    names = [f"ecs.{family}.{entry.partition(' ')[0]}" for family, line in types for entry in line.split(", ")]
    assert [name for name in names if machines.memory("ack", name) is None] == []
