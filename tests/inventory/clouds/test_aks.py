"""Test the AKS reader: what code says and what is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report import model
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

pytestmark = pytest.mark.medium

NETWORK = """
resource "azurerm_virtual_network" "v" {
  name          = "v"
  address_space = ["10.0.0.0/16"]

  subnet {
    name             = "nodes"
    address_prefixes = ["10.0.0.0/24"]
  }
}

resource "azurerm_virtual_network" "w" {
  name          = "w"
  address_space = ["10.1.0.0/16"]

  subnet {
    name           = "a"
    address_prefix = "10.1.0.0/24"
  }

  subnet {
    name           = "nodes"
    address_prefix = "10.1.1.0/24"
  }
}

resource "azurerm_subnet" "n" {
  count                = 2
  name                 = "n${count.index}"
  virtual_network_name = azurerm_virtual_network.v.name
  address_prefixes     = [cidrsubnet("10.0.128.0/17", 3, count.index)]
}

resource "azurerm_subnet" "each" {
  for_each             = { a = "10.0.64.0/24", b = "10.0.65.0/24" }
  name                 = each.key
  virtual_network_name = "v"
  address_prefixes     = [each.value]
}

data "azurerm_subnet" "same" {
  name                 = "n1"
  virtual_network_name = azurerm_virtual_network.v.name
}

data "azurerm_subnet" "elsewhere" {
  name                 = "n1"
  virtual_network_name = "w"
}

locals {
  subnets = { for name in ["a", "b"] : name => azurerm_subnet.each[name].id }
}
"""
CLUSTER = """
variable "most" {{}}

resource "azurerm_kubernetes_cluster" "c" {{
  name = "c"

  default_node_pool {{
    name       = "p"
    node_count = 3
  }}

  network_profile {{
{profile}
  }}
}}

resource "azurerm_kubernetes_cluster_node_pool" "q" {{
  name                  = "q"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.c.id
{pool}
}}
"""


@pytest.fixture
def pool(write: Write) -> Callable[..., dict[str, Any]]:
    """Return a function that reads a pool with the given lines, and returns its fields."""

    def read(lines: str, profile: str = 'network_plugin = "azure"') -> dict[str, Any]:
        write({"main.tf": NETWORK + CLUSTER.format(pool=lines, profile=profile)})
        data = model.collect(Tree(["."]), Config())
        fields: dict[str, Any] = next(p for p in data["pools"] if p["id"].endswith("_pool.q"))["fields"]
        subnets = {s["id"]: s["fields"]["pools"]["value"] for s in data["subnets"]}
        fields["subnet"] = [
            name.removeprefix("aks/")
            for name, pools in subnets.items()
            if "aks/azurerm_kubernetes_cluster_node_pool.q" in pools and not name.endswith("/subnets")
        ]
        return fields

    return read


@pytest.mark.parametrize(
    ("reference", "subnet"),
    [
        ("azurerm_subnet.n[1].id", ["azurerm_subnet.n[1]"]),
        ("element(azurerm_subnet.n[*].id, 2)", ["azurerm_subnet.n[0]"]),
        ("azurerm_subnet.n.*.id[0]", ["azurerm_subnet.n[0]"]),
        ("azurerm_subnet.n.1.id", ["azurerm_subnet.n[1]"]),
        ('azurerm_subnet.each["b"].id', ['azurerm_subnet.each["b"]']),
        ('local.subnets["a"]', ['azurerm_subnet.each["a"]']),
        ("values(azurerm_subnet.each)[1].id", ['azurerm_subnet.each["b"]']),
        ('lookup(local.subnets, "a", null)', ['azurerm_subnet.each["a"]']),
        ("element(tolist(azurerm_virtual_network.v.subnet), 0).id", ["azurerm_virtual_network.v.subnet[0]"]),
        ("azurerm_virtual_network.v.subnet.*.id[0]", ["azurerm_virtual_network.v.subnet[0]"]),
        (
            '[for s in azurerm_virtual_network.w.subnet : s.id if s.name == "nodes"][0]',
            ["azurerm_virtual_network.w.subnet[1]"],
        ),
        ("true ? azurerm_subnet.n[0].id : null", ["azurerm_subnet.n[0]"]),
        ("try(azurerm_subnet.n[7].id, azurerm_subnet.n[0].id)", ["azurerm_subnet.n[0]"]),
        ("try(azurerm_subnet.nothing.id, azurerm_subnet.n[0].id)", []),  # Terraform refuses it
        # a set has no order, and an id says nothing of this root
        ("tolist(azurerm_virtual_network.w.subnet)[1].id", []),
        ('"/subscriptions/x/resourceGroups/y/providers/Microsoft.Network/virtualNetworks/z/subnets/n"', []),
        ("data.azurerm_subnet.same.id", ["azurerm_subnet.n[1]"]),
        ("data.azurerm_subnet.elsewhere.id", []),
    ],
)
def test_a_pool_is_in_its_subnet(reference: str, subnet: list[str], pool: Callable[..., dict[str, Any]]) -> None:
    assert pool(f"  vnet_subnet_id = {reference}\n  node_count = 1")["subnet"] == subnet


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("node_count = 7", (7, 7)),
        ("node_count = 7\n  max_count = 50", (7, 7)),
        ("auto_scaling_enabled = true\n  min_count = 0\n  max_count = 50", (0, 50)),
        ("enable_auto_scaling = true\n  min_count = 1\n  max_count = 5\n  node_count = 2", (1, 5)),
        ('auto_scaling_enabled = "true"\n  min_count = "1"\n  max_count = "5"', (1, 5)),
        ("auto_scaling_enabled = false\n  min_count = null\n  max_count = null\n  node_count = 4", (4, 4)),
        ("auto_scaling_enabled = true\n  min_count = 0\n  max_count = var.most", (0, "var.most has no value")),
        ("auto_scaling_enabled = var.most\n  max_count = 3", ("var.most has no value", "var.most has no value")),
        ('vm_size = "x"', ("node_count is not set", "node_count is not set")),
    ],
)
def test_pool_size_is_read(lines: str, expected: tuple[object, object], pool: Callable[..., dict[str, Any]]) -> None:
    fields = pool(f"  {lines}")
    assert tuple(fields[f].get("value", fields[f].get("unknown")) for f in ("min_nodes", "max_nodes")) == expected


@pytest.mark.parametrize(
    ("profile", "lines", "addresses"),
    [
        ('network_plugin = "azure"', "", 31),
        ('network_plugin = "azure"', "max_pods = 10", 11),
        ('network_plugin = "azure"\n network_plugin_mode = "overlay"', "max_pods = 110", 1),
        ('network_plugin = "azure"\n network_plugin_mode = "Overlay"', "", 1),
        ('network_plugin = "kubenet"', "", 1),
        ('network_plugin = "azure"', "pod_subnet_id = azurerm_subnet.n[1].id", 1),
        ("", "", 1),
        ("network_plugin = var.most", "max_pods = 30", "var.most has no value"),
    ],
)
def test_addresses_of_a_node_are_counted(
    profile: str, lines: str, addresses: object, pool: Callable[..., dict[str, Any]]
) -> None:
    field = pool(f"  node_count = 1\n  {lines}", profile)["addresses_per_node"]
    assert field.get("value", field.get("unknown")) == addresses


@pytest.mark.parametrize(
    ("lines", "surge"),
    [
        ("", 10),
        ('upgrade_settings {\n    max_surge = "33%"\n  }', 33),
        ("upgrade_settings {\n    max_surge = 5\n  }", 5),
        ("upgrade_settings {\n    max_unavailable = 1\n  }", 0),
        ('priority = "Spot"', 0),
    ],
)
def test_surge_nodes_are_counted(lines: str, surge: int, pool: Callable[..., dict[str, Any]]) -> None:
    assert pool(f"  node_count = 100\n  {lines}")["surge_nodes"]["value"] == surge


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        ('vm_size = "Standard_D4s_v5"', 128),
        ('vm_size = "Standard_D8s_v5"', 256),
        ('vm_size = "Standard_D16s_v5"', 512),
        ('vm_size = "Standard_ND96isr_H100_v5"', 1024),
        ('vm_size = "Standard_D8s_v5"\n  os_disk_size_gb = 64', 64),
        ('vm_size = "Standard_D8ds_v5"\n  os_disk_type = "Ephemeral"', None),  # as large as its local disk
        ('vm_size = "Standard_Unheard8s_v9"', None),
    ],
)
def test_boot_disks_grow_with_vcpus(lines: str, size: int | None, pool: Callable[..., dict[str, Any]]) -> None:
    assert pool(f"  node_count = 3\n  {lines}")["disk_size"]["value"] == size


OUTBOUND = """
resource "azurerm_public_ip" "out" {
  count = 3
  name  = "out${count.index}"
}

resource "azurerm_public_ip_prefix" "short" {
  name = "short"
}

resource "azurerm_public_ip_prefix" "long" {
  name          = "long"
  prefix_length = 31
}

resource "azurerm_nat_gateway" "g" {
  name = "g"
}

resource "azurerm_nat_gateway" "other" {
  count = var.second
  name  = "other"
}

resource "azurerm_subnet_nat_gateway_association" "g" {
  subnet_id      = azurerm_subnet.n[0].id
  nat_gateway_id = azurerm_nat_gateway.g.id
}

resource "azurerm_nat_gateway_public_ip_association" "g" {
  nat_gateway_id       = azurerm_nat_gateway.g.id
  public_ip_address_id = azurerm_public_ip.out[0].id
}

resource "azurerm_nat_gateway_public_ip_prefix_association" "g" {
  nat_gateway_id      = azurerm_nat_gateway.g.id
  public_ip_prefix_id = azurerm_public_ip_prefix.long.id
}

resource "azurerm_nat_gateway_public_ip_association" "other" {
  nat_gateway_id       = "somewhere/else"
  public_ip_address_id = azurerm_public_ip.out[1].id
}

variable "second" {
  default = 0
}

variable "ids" {}

resource "azurerm_kubernetes_cluster" "c" {
  name = "c"

  default_node_pool {
    name           = "p"
    node_count     = 3
    vnet_subnet_id = azurerm_subnet.n[0].id
  }

  network_profile {
    network_plugin = "azure"
%s
  }
}
"""


@pytest.mark.parametrize(
    ("lines", "expected", "listed"),
    [
        ("", 1, None),
        ("managed_outbound_ip_count = 4", 4, None),
        ("outbound_ip_address_ids = azurerm_public_ip.out[*].id", 3, "outbound_ip_address_ids"),
        ("outbound_ip_address_ids = []\n managed_outbound_ip_count = 2", 2, None),
        ("outbound_ip_prefix_ids = [azurerm_public_ip_prefix.short.id]", 16, "outbound_ip_prefix_ids"),
        (
            "outbound_ip_prefix_ids = [azurerm_public_ip_prefix.short.id, azurerm_public_ip_prefix.long.id]",
            18,
            "outbound_ip_prefix_ids",
        ),
        ('outbound_ip_prefix_ids = ["x"]', "the length of a public IP prefix is not in this code", None),
        ("outbound_ip_address_ids = var.ids", "var.ids has no value", None),
    ],
)
def test_public_addresses_of_a_cluster_are_counted(
    lines: str, expected: object, listed: str | None, read: Callable[[str], dict[str, Any]]
) -> None:
    cluster = read(NETWORK + OUTBOUND % f"    load_balancer_profile {{\n      {lines}\n    }}")
    found = cluster["outbound_ips"]
    assert found.get("value", found.get("unknown")) == expected
    assert listed is None or cluster["outbound_list"]["value"] == listed


@pytest.mark.parametrize(("gateways", "expected"), [(1, 3), (2, 3)])
def test_addresses_of_a_nat_gateway_are_counted(
    gateways: int, expected: int, read: Callable[[str], dict[str, Any]]
) -> None:
    text = OUTBOUND.replace("default = 0", f"default = {gateways - 1}")
    cluster = read(NETWORK + text % '    outbound_type = "userAssignedNATGateway"')
    assert cluster["outbound_ips"]["value"] == expected


@pytest.fixture
def read(write: Write) -> Callable[[str], dict[str, Any]]:
    """Return a function that reads code and returns the fields of its first cluster."""

    def collect(text: str) -> dict[str, Any]:
        write({"main.tf": text})
        fields: dict[str, Any] = model.collect(Tree(["."]), Config())["clusters"][0]["fields"]
        return fields

    return collect


SILENT = """
variable "paid" {{
  type = bool
}}

resource "azurerm_kubernetes_cluster" "c" {{
  name     = "c"
  sku_tier = "Standard"
  {version}

  default_node_pool {{
    name       = "p"
    node_count = {nodes}
  }}
}}
"""


@pytest.fixture
def verdicts(write: Write) -> Callable[[str], tuple[set[str], dict[str, str]]]:
    """Return a function that checks code, and returns the rules that fire and the inputs that undecided ones need."""

    def run(text: str) -> tuple[set[str], dict[str, str]]:
        write({"main.tf": text})
        result = linter.run(Tree(["."]), Config())
        return {f.rule for f in result.findings}, {u.rule: "; ".join(u.missing) for u in result.undecided}

    return run


@pytest.mark.parametrize("version", ["", 'kubernetes_version = "1.33"', "kubernetes_version = data.x.y.latest"])
@pytest.mark.parametrize(("nodes", "more"), [(200, set()), (300, {"pod-range-too-small"})])
def test_checks_with_the_same_result_for_all_networks_are_decided(
    version: str, nodes: int, more: set[str], verdicts: Callable[[str], tuple[set[str], dict[str, str]]]
) -> None:
    found, undecided = verdicts(SILENT.format(version=version, nodes=nodes))
    assert "kubenet-retiring" not in found
    assert undecided.pop("kubenet-retiring").startswith("network_plugin is not set")
    assert "pod-range-too-small" not in undecided
    assert {rule for rule in found if rule.startswith("pod-range")} == more


def test_only_the_route_table_check_depends_on_an_unknown_network(
    verdicts: Callable[[str], tuple[set[str], dict[str, str]]],
) -> None:
    assert verdicts(SILENT.format(version="", nodes=401))[1]["kubenet-beyond-400-nodes"].startswith("network_plugin")
    assert "kubenet-beyond-400-nodes" not in verdicts(SILENT.format(version="", nodes=399))[1]


@pytest.mark.parametrize(("nodes", "rule"), [(10, "kubenet-retiring"), (401, "kubenet-beyond-400-nodes")])
def test_the_default_network_below_1_30_is_kubenet(
    nodes: int, rule: str, verdicts: Callable[[str], tuple[set[str], dict[str, str]]]
) -> None:
    found, undecided = verdicts(SILENT.format(version='kubernetes_version = "1.29.4"', nodes=nodes))
    assert rule in found
    assert not any(name.startswith("kubenet") for name in undecided)


def test_a_network_policy_only_azure_has_decides_the_network_plugin(read: Callable[[str], dict[str, Any]]) -> None:
    profile = 'network_profile {\n    network_policy = "cilium"\n  }'
    assert read(SILENT.format(version=profile, nodes=1))["network_plugin"]["value"] == "azure"


@pytest.mark.parametrize(
    ("tier", "found", "waits"),
    [
        ('"Free"', True, False),
        ('var.paid ? "Free" : null', True, False),
        ('var.paid ? "Premium" : "Standard"', False, False),
        ('var.paid ? "Free" : "Standard"', False, True),
        ("var.paid ? data.x.y.tier : null", False, True),
    ],
)
def test_a_value_with_several_candidates_decides_only_if_all_agree(
    tier: str, found: bool, waits: bool, verdicts: Callable[[str], tuple[set[str], dict[str, str]]]
) -> None:
    text = SILENT.format(version="", nodes=100).replace('"Standard"', tier)
    rules, undecided = verdicts(text)
    assert ("free-control-plane" in rules, "free-control-plane" in undecided) == (found, waits)


@pytest.mark.parametrize(("nodes", "surge"), [(10, 1), (300, None)])
def test_the_surge_of_an_unknown_version_is_bounded(nodes: int, surge: int | None, write: Write) -> None:
    write({"main.tf": SILENT.format(version="kubernetes_version = data.x.y.latest", nodes=nodes)})
    fields = model.collect(Tree(["."]), Config())["pools"][0]["fields"]
    assert fields["surge_nodes"].get("value") == surge  # one node before 1.32, a tenth since


@pytest.mark.parametrize(("size", "full"), [(118, False), (122, False), (123, True)])
def test_one_pool_is_upgraded_at_a_time(size: int, full: bool, write: Write) -> None:
    """Two pools with a surge of 6 share 251 addresses of a /24: 2 x 122 + 6 = 250."""
    overlay = 'network_plugin = "azure"\n    network_plugin_mode = "overlay"\n    pod_cidr = "100.64.0.0/12"'
    lines = f'vnet_subnet_id = azurerm_subnet.each["a"].id\n  node_count = {size}\n  upgrade_settings {{\n    max_surge = "6"\n  }}'
    text = CLUSTER.format(pool=lines, profile=overlay).replace("    node_count = 3\n", f"    {lines}\n")
    write({"main.tf": NETWORK + text})
    found = {one.rule for one in linter.run(Tree(["."]), Config()).findings}
    assert ("subnet-too-small" in found) == full


def test_dual_stack_pods_need_the_ipv4_range(write: Write) -> None:
    overlay = 'network_plugin = "azure"\n    network_plugin_mode = "overlay"\n    pod_cidrs = ["fd12:3456::/64", "10.244.0.0/23"]'
    write({"main.tf": NETWORK + CLUSTER.format(pool="node_count = 3", profile=overlay)})
    assert "pod-range-too-small" in {one.rule for one in linter.run(Tree(["."]), Config()).findings}


OLD = """
resource "azurerm_kubernetes_cluster" "c" {
  name               = "c"
  kubernetes_version = "1.14"

  agent_pool_profile {
    name           = "one"
    count          = 3
    vm_size        = "Standard_D2s_v3"
    vnet_subnet_id = azurerm_subnet.n[0].id
  }

  agent_pool_profile {
    name                = "two"
    enable_auto_scaling = true
    min_count           = 0
    max_count           = 9
    vm_size             = "Standard_NC6s_v3"
    vnet_subnet_id      = azurerm_subnet.n[0].id
  }

  network_profile {
    network_plugin = "azure"
  }
}
"""


def test_pools_of_azurerm_1_are_read(write: Write) -> None:
    write({"main.tf": NETWORK + OLD})
    data = model.collect(Tree(["."]), Config())
    sizes = {
        pool["fields"]["name"]["value"]: [pool["fields"][name]["value"] for name in ("max_nodes", "mode", "gpu")]
        for pool in data["pools"]
    }
    assert sizes == {"one": [3, "System", False], "two": [9, "System", True]}
    assert data["clusters"][0]["fields"]["max_nodes"]["value"] == 12
    assert data["pools"][0]["id"] == "aks/azurerm_kubernetes_cluster.c.agent_pool_profile[0]"


def test_the_azure_module_makes_an_automatic_cluster(write: Write) -> None:
    """The module's sku decides: Azure CNI Overlay with Cilium, and pools beyond the written ones."""
    write({"main.tf": MODULE})
    fields = model.collect(Tree(["."]), Config())["clusters"][0]["fields"]
    found = [fields[name].get("value") for name in ("network_plugin", "network_mode")]
    assert found == ["azure", "overlay"]
    assert "target" in fields
    assert "value" not in fields["target"]


MODULE = """
module "aks" {
  source             = "Azure/avm-res-containerservice-managedcluster/azurerm"
  version            = "0.8.1"
  location           = "eastus"
  name               = "train"
  parent_id          = "/subscriptions/0/resourceGroups/train"
  sku                = { name = "Automatic", tier = "Standard" }
  default_agent_pool = { name = "system" }
}
"""
