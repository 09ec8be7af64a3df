"""Test retirements by clouds: complete, unambiguous, and graded by the day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kcheck.config.numbers import machines, retirements
from kcheck.config.numbers.clouds import owners
from kcheck.engine import rules
from kcheck.report import limit

if TYPE_CHECKING:
    from tests.conftest import Check


ALL = [
    pytest.param(cloud, one, id=f"{cloud}.{one.key}") for cloud in owners() for one in retirements.retirements(cloud)
]


@pytest.mark.parametrize(("cloud", "one"), ALL)
def test_every_retirement_is_complete(cloud: str, one: retirements.Retirement) -> None:
    assert one.ends.year > 2015
    assert one.confidence in ("high", "medium")
    assert one.sources
    assert all(source.startswith("https://") for source in one.sources)
    assert re.compile(one.matches)
    name = f"retirements.{cloud}.{one.kind}.{one.key}"
    assert limit.names()[name].value == one.ends.isoformat()
    assert any(name in rule.entries() for rule in rules.load())


def test_a_machine_size_has_only_one_retirement() -> None:
    families = machines.tables_of("aks")["families"]
    sizes = [f"Standard_{entry.split(' ')[0]}" for line in families.values() for entry in line.split(", ")]
    found = {size: [one.key for one in retirements.find("aks", "machine", size)] for size in sizes}
    assert {size: keys for size, keys in found.items() if len(keys) > 1} == {}
    assert found["Standard_NC24rs_v3"] == ["ncv3"]
    assert found["Standard_NC4as_T4_v3"] == found["Standard_NC24ads_A100_v4"] == []


@pytest.mark.parametrize(
    ("size", "key"),
    [
        ("standard_nc6s_v3", "ncv3"), ("Standard_NC6", "nc_nd"), ("Standard_NC6_Promo", "nc_nd"), ("Standard_ND24rs", "nc_nd"),
        ("Standard_ND40rs_v2", None), ("Standard_NV12s_v3", "nvv3"), ("Standard_NV4as_v4", "nvv4"),
        ("Standard_NV36ads_A10_v5", None), ("Standard_HB120-64rs_v2", "hbv2"), ("Standard_HB120rs_v3", None),
        ("Standard_DS13-4_v2", "d"), ("Standard_D2s_v3", "d_v3"), ("Standard_D4_v5", None), ("Standard_B2ms", "b_f"),
        ("Standard_B2s_v2", None), ("Standard_F8s_v2", "b_f"), ("Standard_F8as_v6", None), ("Standard_L8s", "d"),
        ("Standard_L8s_v2", "b_f"), ("Standard_L8s_v3", None), ("Standard_E4s_v3", "d_v3"),
        ("Standard_E64-16is_v3", "d_v3"), ("Standard_E8s_v4", None), ("Standard_NV24ms_v3", "nvv3"), ("Standard_NV4ahs_v4", "nvv4"),
        ("Standard_DC8_v2", "dc_v2"), ("Standard_DC2ds_v3", "dc_v3"), ("Standard_EC96ads_cc_v5", "cc_v5"),
        ("Standard_DC4as_v5", None), ("Standard_NP20s", "np"),
    ],
)  # fmt: skip
def test_retired_machine_sizes_are_found_by_name(size: str, key: str | None) -> None:
    assert [one.key for one in retirements.find("aks", "machine", size)] == ([key] if key else [])


@pytest.mark.parametrize(
    ("os_sku", "key"),
    [
        ("AzureLinuxOSGuard", "os_guard"), ("WindowsAnnual", "windows_annual"), ("Windows2022", "windows_2022"),
        ("AzureContainerLinux", None), ("AzureLinux3", None), ("Windows2025", None),
    ],
)  # fmt: skip
def test_retired_images_are_found_by_name(os_sku: str, key: str | None) -> None:
    assert [one.key for one in retirements.find("aks", "image", os_sku)] == ([key] if key else [])


CLUSTER = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name       = "system"
    node_count = 3
    vm_size    = "Standard_HC44rs"
    SKU
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    network_policy      = "azure"
  }
}
"""


@pytest.mark.parametrize(
    ("day", "severity"),
    [
        ("2026-05-30", "info"), ("2026-05-31", "warning"), ("2027-05-30", "warning"), ("2027-05-31", "error"),
        ("2031-01-01", "error"),
    ],
)  # fmt: skip
def test_the_severity_of_a_retirement_depends_on_the_day(
    check: Check, monkeypatch: pytest.MonkeyPatch, day: str, severity: str
) -> None:
    """A retirement is a warning for a year before its day, and an error from that day on."""
    monkeypatch.setenv("KCHECK_TODAY", day)
    found = [
        finding
        for finding in check({"main.tf": CLUSTER.replace("SKU", "")}).findings
        if finding.rule == "retired-machine"
    ]
    assert [finding.severity.word for finding in found] == [severity]
    tense = "retired since" if severity == "error" else "which retires on"
    assert found[0].message == f"Pool system uses Standard_HC44rs, {tense} 2027-05-31"


def test_details_name_the_known_effect_of_a_retirement(check: Check) -> None:
    text = CLUSTER.replace("SKU", "")
    for size, details in (
        ("Standard_M192is_v2", ("Series: M192 v2",)),
        (
            "Standard_DS2_v2",
            (
                "Azure deallocates them; since July 2026 it approves no more quota of them, and new subscriptions get none",
                "Series: D, DS, Dv2, DSv2 and Ls",
            ),
        ),
    ):
        files = {"main.tf": text.replace("Standard_HC44rs", size)}
        (found,) = (one for one in check(files).findings if one.rule == "retired-machine")
        assert found.details == details


@pytest.mark.parametrize(
    ("version", "fires"), [('kubernetes_version = "1.31"', True), ('kubernetes_version = "1.32"', False), ("", False)]
)
def test_azure_linux_is_retired_up_to_a_version(check: Check, version: str, fires: bool) -> None:
    code = CLUSTER.replace("SKU", 'os_sku = "AzureLinux"').replace('"Standard"', f'"Standard"\n  {version}', 1)
    assert ("retired-node-image" in {finding.rule for finding in check({"main.tf": code}).findings}) is fires


@pytest.mark.parametrize(
    ("machine", "version", "fires"),
    [
        ("Standard_NCC40ads_H100_v5", "1.33", True),
        ("Standard_DC8as_v5", "1.32", True),
        ("Standard_DC8as_v5", "1.34", False),
        ("Standard_D8s_v5", "1.33", False),
    ],
)
def test_ubuntu_2004_is_retired_on_confidential_machines(check: Check, machine: str, version: str, fires: bool) -> None:
    code = CLUSTER.replace("SKU", 'os_sku = "Ubuntu"').replace("Standard_HC44rs", machine)
    code = code.replace('"Standard"', f'"Standard"\n  kubernetes_version = "{version}"', 1)
    found = {finding.rule: finding.message for finding in check({"main.tf": code}).findings}
    assert found.get("retired-node-image", "").endswith("maintained until 2027-03-17") is fires


def test_network_policies_on_windows_are_retired_earlier(check: Check) -> None:
    windows = """
    resource "azurerm_kubernetes_cluster_node_pool" "windows" {
      name                  = "win"
      kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
      node_count            = 2
      os_type               = "Windows"
    }
    """
    code = CLUSTER.replace("SKU", "")
    found = {
        text: next(f for f in check({"main.tf": text}).findings if f.rule == "network-policy-manager-retiring")
        for text in (code, code + windows)
    }
    assert [finding.severity.word for finding in found.values()] == ["info", "error"]
    assert found[code + windows].message == "Azure Network Policy Manager on Windows ended on 2026-09-30"


@pytest.mark.parametrize("name", ["AL2_x86_64", "al2_x86_64_gpu", "AL2", "al2@latest", "AmazonLinux2"])
def test_amazon_linux_2_is_found_under_all_its_names(name: str) -> None:
    assert retirements.find("eks", "image", name)


@pytest.mark.parametrize("name", ["AL2023_x86_64_NVIDIA", "al2023@latest", "AmazonLinux2023", "AL2023"])
def test_amazon_linux_2023_is_not_retired(name: str) -> None:
    assert not retirements.find("eks", "image", name)


@pytest.mark.parametrize(
    ("image", "fires"), [("AliyunLinux", True), ("CentOS", True), ("AliyunLinux3", False), ("ContainerOS", False)]
)
def test_retired_ack_images_are_found(check: Check, image: str, fires: bool) -> None:
    code = f"""
    resource "alicloud_cs_managed_kubernetes" "main" {{
      name = "train"
    }}

    resource "alicloud_cs_kubernetes_node_pool" "gpu" {{
      node_pool_name = "gpu"
      cluster_id     = alicloud_cs_managed_kubernetes.main.id
      instance_types = ["ecs.gn7i-c8g1.2xlarge"]
      image_type     = "{image}"
      desired_size   = 2
    }}
    """
    assert ("retired-node-image" in {finding.rule for finding in check({"main.tf": code}).findings}) is fires
