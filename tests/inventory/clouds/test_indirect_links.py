"""Test rebuilt examples of the indirect ways in which real code links its resources."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.addons.console import evaluate
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conftest import Write

pytestmark = pytest.mark.medium


@pytest.fixture
def read(write: Write) -> Callable[[Mapping[str, str]], dict[str, Any]]:
    def collect(files: Mapping[str, str]) -> dict[str, Any]:
        write(files)
        return model.collect(Tree(["."]), Config())

    return collect


def links(data: dict[str, Any]) -> dict[str, Any]:
    """Return the subnets of each pool, by the last part of their addresses."""
    result = {}
    for pool in data["pools"]:
        found = pool["fields"]["subnets"]
        name = pool["fields"]["name"].get("value") or pool["id"].rsplit(".", 1)[-1]
        result[name] = [s.rsplit(".", 1)[-1] for s in found["value"]] if "value" in found else found["unknown"]
    return result


def field(data: dict[str, Any], things: str, name: str) -> list[Any]:
    return [thing["fields"][name].get("value", "?") for thing in data[things]]


EKS = """
resource "aws_eks_cluster" "main" {
  name = "main"
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = %s
  scaling_config {
    min_size = 0
    max_size = 9
  }
}
"""
VPC = """
data "aws_availability_zones" "all" {}
locals {
  azs = slice(data.aws_availability_zones.all.names, 0, 3)
}
module "vpc" {
  source          = "terraform-aws-modules/vpc/aws"
  version         = "~> 5.0"
  name            = "train"
  cidr            = "10.0.0.0/16"
  azs             = local.azs
  private_subnets = %s
%s
}
"""


def test_1_zones_of_a_data_source_are_counted_though_unknown(
    read: Callable[[Mapping[str, str]], dict[str, Any]],
) -> None:
    data = read(
        {
            "main.tf": EKS % "module.vpc.private_subnets"
            + VPC % ('[for k, v in local.azs : cidrsubnet("10.0.0.0/16", 4, k)]', "")
        }
    )
    assert field(data, "subnets", "cidr") == ["10.0.0.0/20", "10.0.16.0/20", "10.0.32.0/20"]
    assert links(data) == {"gpu": ["private[0]", "private[1]", "private[2]"]}


def test_2_subnets_are_chosen_by_their_range(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    chosen = """compact([
    for id, cidr in zipmap(module.vpc.private_subnets, module.vpc.private_subnets_cidr_blocks) :
    substr(cidr, 0, 4) == "100." ? id : null
  ])"""
    ranges = """concat(
    [for k, v in local.azs : cidrsubnet("10.0.0.0/16", 8, k)],
    [for k in range(length(local.azs)) : cidrsubnet("100.64.0.0/16", 2, k)],
  )"""
    data = read({"main.tf": EKS % chosen + VPC % (ranges, '  secondary_cidr_blocks = ["100.64.0.0/16"]')})
    assert links(data) == {"gpu": ["private[3]", "private[4]", "private[5]"]}
    assert field(data, "subnets", "cidr")[3:] == ["100.64.0.0/18", "100.64.64.0/18", "100.64.128.0/18"]


NODE_CLASS = """apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: gpu
spec:
  subnetSelectorTerms:
    - tags:
        Name: "${CLUSTER_NAME}-private-secondary*"
"""
NODE_POOL = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
  limits:
    nvidia.com/gpu: 512
  template:
    spec:
      nodeClassRef:
        name: gpu
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: [p5.48xlarge]
        - key: karpenter.sh/capacity-type
          operator: In
          values: [spot]
"""
KARPENTER = """
locals {
  name = "train"
  pools = {
    for f in fileset("${path.module}/karpenter", "nodepool*.yaml") :
    f => templatefile("${path.module}/karpenter/${f}", { CLUSTER_NAME = local.name })
  }
  classes = provider::kubernetes::manifest_decode_multi(
    templatefile("${path.module}/karpenter/class.yaml", { CLUSTER_NAME = local.name })
  )
}
resource "kubectl_manifest" "pools" {
  for_each  = local.pools
  yaml_body = each.value
}
resource "kubernetes_manifest" "classes" {
  for_each = { for m in local.classes : m.metadata.name => m }
  manifest = each.value
}
"""


def test_3_karpenter_selects_subnets_by_name(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    names = """  private_subnet_names = concat(
    [for k, v in local.azs : "${local.name}-private-${v}"],
    [for k, v in local.azs : "${local.name}-private-secondary-${v}"],
  )"""
    ranges = """concat(
    [for k, v in local.azs : cidrsubnet("10.0.0.0/16", 8, k)],
    [for k, v in local.azs : cidrsubnet("10.0.0.0/16", 8, k + 10)],
  )"""
    code = EKS % "[module.vpc.private_subnets[0]]" + VPC % (ranges, names) + KARPENTER
    data = read({"main.tf": code, "karpenter/nodepool-gpu.yaml": NODE_POOL, "karpenter/class.yaml": NODE_CLASS})
    assert [links(data)["gpu"], field(data, "pools", "name")] == [
        ["private[3]", "private[4]", "private[5]"],
        ["gpu", "gpu"],
    ]
    karpenter = data["pools"][1]["fields"]
    assert karpenter["max_nodes"]["value"] == 512 // 8
    assert karpenter["spot"]["value"] is True
    assert data["clusters"][0]["fields"]["grown_by"]["value"] == "karpenter"


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("[{tags: {karpenter.sh/discovery: main}}]", ["private[0]"]),
        ("[{tags: {karpenter.sh/discovery: '${CLUSTER}'}}]", "`${CLUSTER}` is a placeholder"),
        ("[{tags: {karpenter.sh/discovery: other}}]", "no subnet in this code has the tags that NodePool gpu selects"),
        ("[{tags: {Name: '*', karpenter.sh/discovery: main}}]", ["private[0]"]),
        ("[{id: subnet-1}]", "NodePool gpu selects subnets neither by tags nor by an id of this code"),
        ("[]", "no subnet in this code has the tags that NodePool gpu selects"),
    ],
)
def test_3_karpenter_selects_subnets_by_tags(
    terms: str, expected: object, read: Callable[[Mapping[str, str]], dict[str, Any]]
) -> None:
    tags = '  private_subnet_tags = {\n    "karpenter.sh/discovery" = "main"\n  }'
    node_class = f"{NODE_CLASS.partition('  subnetSelectorTerms')[0]}  subnetSelectorTerms: {terms}\n"
    data = read(
        {
            "main.tf": (EKS % "[]").replace('"gpu"', '"own"') + VPC % ('["10.0.0.0/24"]', tags),
            "karpenter.yaml": f"{NODE_POOL}---\n{node_class}",
        }
    )
    assert links(data)["gpu"] == expected


def test_3_nodes_added_by_karpenter_are_read(write: Write) -> None:
    tags = '  private_subnet_tags = {\n    "karpenter.sh/discovery" = "main"\n  }'
    node_class = NODE_CLASS.replace('Name: "${CLUSTER_NAME}-private-secondary*"', "karpenter.sh/discovery: main")
    unlimited = NODE_POOL.replace("nvidia.com/gpu: 512", "ephemeral-storage: 1000Gi")
    write(
        {
            "main.tf": (EKS % "[]").replace('"gpu"', '"own"') + VPC % ('["10.0.0.0/24"]', tags),
            "karpenter.yaml": f"{unlimited}---\n{node_class}",
        }
    )
    result = linter.run(Tree(["."]), Config(nodes={"": 100}))
    (found,) = [f for f in result.findings if f.rule == "subnet-too-small"]
    assert "gpu: 91 nodes x 100 = 9,100 addresses" in found.details  # 100 nodes less the 9 of the managed group
    inputs = linter.run(Tree(["."]), Config()).judged.inputs
    assert "the limits of Karpenter's NodePool gpu are not in nodes" in [one.reason for one in inputs]
    processors = NODE_POOL.replace("nvidia.com/gpu: 512", "cpu: 3840")  # twenty machines of 192
    write({"karpenter.yaml": f"{processors}---\n{node_class}"})
    world = linter.run(Tree(["."]), Config()).world
    assert [known(pool.size.max_nodes) for pool in world.inventory.pools if known(pool.mode) == "Karpenter"] == [20]


def test_4_pools_of_a_range_and_its_size_are_linked(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read(
        {
            "main.tf": """
variable "pools" {}
resource "google_container_cluster" "main" {
  name                      = "main"
  location                  = "us-central1"
  node_locations            = ["us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"]
  initial_node_count        = 1
  remove_default_node_pool  = true
  default_max_pods_per_node = 16
  ip_allocation_policy {
    cluster_ipv4_cidr_block  = "/10"
    services_ipv4_cidr_block = "/18"
  }
}
resource "google_container_node_pool" "many" {
  for_each   = { for i in range(var.pools) : "pool-${i}" => 1000 }
  name       = each.key
  cluster    = google_container_cluster.main.name
  node_count = each.value
}
""",
            "terraform.tfvars": "pools = 16\n",
        }
    )
    assert field(data, "pools", "max_nodes") == [4000] * 16
    assert field(data, "clusters", "target") == [64_000]
    assert field(data, "pod_ranges", "usable_addresses") == [1 << 22]
    assert field(data, "pod_ranges", "addresses_needed")[0] >= 64_000 * 32


NETWORK = """
resource "google_compute_network" "main" {
  name = "train"
}
resource "google_compute_subnetwork" "managed" {
  for_each      = toset(true ? ["managed"] : [])
  name          = "train-us"
  network       = google_compute_network.main.id
  ip_cidr_range = "10.0.0.0/24"
  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.4.0.0/14"
  }
}
"""
CONTROL = """
data "google_compute_subnetwork" "main" {
  name   = "train-us"
  region = "us-central1"
}
resource "google_container_cluster" "main" {
  name                     = "train"
  location                 = "us-central1"
  subnetwork               = data.google_compute_subnetwork.main.self_link
  initial_node_count       = 1
  remove_default_node_pool = true
  ip_allocation_policy {
    cluster_secondary_range_name = "pods"
  }
}
"""
POOL = """
data "google_container_cluster" "main" {
  name     = "train"
  location = "us-central1"
}
resource "google_container_node_pool" "h100" {
  name           = "h100"
  cluster        = data.google_container_cluster.main.name
  node_locations = ["us-central1-a", "us-central1-c"]
  autoscaling {
    total_min_node_count = 0
    total_max_node_count = 1000
  }
}
"""


def test_5_roots_are_joined_by_names(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read({"core/network/main.tf": NETWORK, "core/cluster/main.tf": CONTROL, "core/pools/gpu/main.tf": POOL})
    assert links(data) == {"h100": ['managed["managed"]']}
    assert field(data, "pools", "cluster") == ["gke/core/cluster:google_container_cluster.main"]
    assert field(data, "pod_ranges", "nodes") == [1000]


def test_5_samples_have_nothing_to_do_with_each_other(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read({"examples/a/main.tf": NETWORK, "examples/b/main.tf": CONTROL, "examples/c/main.tf": POOL})
    assert "value" not in data["pools"][0]["fields"]["cluster"]


def test_5_links_to_files_are_read_once(write: Write) -> None:
    top = write({"shared/cluster.tf": CONTROL + POOL, "a/main.tf": "", "b/main.tf": ""})
    for folder in ("a", "b"):
        (top / folder / "cluster.tf").symlink_to(top / "shared/cluster.tf")
    data = model.collect(Tree(["."]), Config())
    assert {cluster["at"].rsplit(":", 2)[0] for cluster in data["clusters"]} == {"shared/cluster.tf"}


def test_6_names_are_taken_from_resource_links(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read(
        {
            "main.tf": """
variable "project" {}
locals {
  subnet = "nodes"
  pods   = "pods"
  names  = [for link in module.net.subnets_self_links : split("/", link)[length(split("/", link)) - 1]]
}
module "net" {
  source       = "terraform-google-modules/network/google"
  version      = "~> 9.0"
  project_id   = var.project
  network_name = "n"
  subnets = [
    { subnet_name = "master", subnet_ip = "10.60.0.0/17", subnet_region = "us-central1" },
    { subnet_name = local.subnet, subnet_ip = "10.0.0.0/24", subnet_region = "us-central1" },
  ]
  secondary_ranges = {
    (local.subnet) = [{ range_name = local.pods, ip_cidr_range = "192.168.0.0/18" }]
  }
}
resource "google_container_cluster" "main" {
  name                     = "main"
  location                 = "us-central1"
  network                  = module.net.network_name
  subnetwork               = local.names[index(module.net.subnets_names, local.subnet)]
  initial_node_count       = 3
  ip_allocation_policy {
    cluster_secondary_range_name = local.pods
  }
}
"""
        }
    )
    assert links(data) == {"default-pool": ["subnetwork[1]"]}
    assert field(data, "pod_ranges", "cidr") == ["192.168.0.0/18"]


def test_8_computed_names_and_indexed_subnets_are_linked(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read(
        {
            "main.tf": """
resource "random_id" "prefix" {
  byte_length = 8
}
resource "azurerm_virtual_network" "main" {
  name          = "${random_id.prefix.hex}-vn"
  address_space = ["10.52.0.0/16"]
}
resource "azurerm_subnet" "main" {
  count                = 3
  name                 = "${random_id.prefix.hex}-sn${count.index}"
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["10.52.${count.index}.0/24"]
}
locals {
  nodes = {
    for i in range(3) : "worker${i}" => {
      name        = substr("worker${i}${random_id.prefix.hex}", 0, 8)
      node_count  = 1
      vnet_subnet = { id = azurerm_subnet.main[i].id }
    }
  }
}
resource "azurerm_kubernetes_cluster" "main" {
  name = "main"
  default_node_pool {
    name           = "d"
    node_count     = 1
    vnet_subnet_id = azurerm_subnet.main[0].id
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "many" {
  for_each              = local.nodes
  name                  = each.value.name
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  node_count            = each.value.node_count
  vnet_subnet_id        = each.value.vnet_subnet.id
}
"""
        }
    )
    assert list(links(data).values()) == [["main[0]"], ["main[0]"], ["main[1]"], ["main[2]"]]
    assert field(data, "subnets", "cidr") == ["10.52.0.0/24", "10.52.1.0/24", "10.52.2.0/24"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('""', ["mine[0]"]),
        ('"other"', "no unique subnet named other in this code"),
        (None, "var.subnetwork has no value"),
    ],
)
def test_9_conditional_ownership_is_followed(
    given: str | None, expected: object, read: Callable[[Mapping[str, str]], dict[str, Any]]
) -> None:
    default = "" if given is None else f"  default = {given}\n"
    data = read(
        {
            "main.tf": f'variable "subnetwork" {{\n{default}}}\n'
            """
resource "google_compute_subnetwork" "mine" {
  count         = var.subnetwork == "" ? 1 : 0
  name          = "mine"
  network       = "n"
  ip_cidr_range = "10.150.0.0/24"
}
resource "google_container_cluster" "main" {
  name                     = "main"
  location                 = length(["us-central1-a"]) == 1 ? one(["us-central1-a"]) : "us-central1"
  subnetwork               = var.subnetwork == "" ? google_compute_subnetwork.mine[0].name : var.subnetwork
  initial_node_count       = 1
}
"""
        }
    )
    assert links(data) == {"default-pool": expected}
    if given is None:  # both branches are kept: the subnet may be used
        reason = "how many nodes of default-pool are in google_compute_subnetwork.mine[0] is not known: var.subnetwork has no value"
        assert data["subnets"][0]["fields"]["pools"] == {"unknown": reason}
    else:
        assert [len(pools) for pools in field(data, "subnets", "pools")] == [1]  # "other" is outside


@pytest.mark.parametrize(
    "ids",
    [
        "var.own ? [aws_subnet.a.id] : [aws_subnet.b.id]",
        "[var.own ? aws_subnet.a.id : aws_subnet.b.id]",
        "(var.own ? { s = aws_subnet.a } : { s = aws_subnet.b }).s[*].id",
        "[(var.own ? aws_subnet.a : aws_subnet.b).id]",
        "[var.own ? module.net.id : aws_subnet.b.id]",
    ],
)
def test_9_both_branches_of_a_choice_are_kept(ids: str, read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    subnets = "".join(
        f'resource "aws_subnet" "{name}" {{\n  cidr_block = "10.0.{i}.0/24"\n}}\n' for i, name in enumerate("abc")
    )
    more = 'variable "own" {}\nmodule "net" {\n  source = "./net"\n  id = aws_subnet.a.id\n}\n'
    net = 'variable "id" {}\noutput "id" {\n  value = var.id\n}\n'
    data = read({"main.tf": EKS % ids + subnets + more, "net/main.tf": net})
    assert links(data) == {"gpu": "var.own has no value"}
    known = ["value" in subnet["fields"]["pools"] for subnet in data["subnets"]]
    assert known == [False, False, True]


def test_10_split_and_join_are_evaluated(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    subnets = """
resource "aws_vpc" "main" {
  count      = 1
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "main" {
  count      = 3
  vpc_id     = join("", aws_vpc.main.*.id)
  cidr_block = cidrsubnet("10.0.0.0/16", 8, count.index)
}
"""
    ids = 'true ? split(",", join(",", aws_subnet.main.*.id)) : split(",", "")'
    data = read({"main.tf": EKS % ids + subnets})
    assert links(data) == {"gpu": ["main[0]", "main[1]", "main[2]"]}


def test_11_overrides_and_attributes_as_blocks_are_read(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read(
        {
            "main.tf": """
resource "google_container_cluster" "main" {
  name               = "main"
  location           = "us-central1-a"
  initial_node_count = 1
  enable_autopilot   = true
}
resource "google_container_node_pool" "main" {
  name       = "gpu"
  cluster    = google_container_cluster.main.name
  node_count = 2
  node_config {
    machine_type      = "n1-standard-8"
    guest_accelerator = [for n in true ? [4] : [] : { type = "nvidia-tesla-t4", count = n }]
  }
}
""",
            "x_override.tf": """
resource "google_container_cluster" "main" {
  enable_autopilot = false
  node_pool {
    name       = "own"
    node_count = 7
  }
}
""",
        }
    )
    pools = {pool["fields"]["name"]["value"]: pool["fields"] for pool in data["pools"]}
    assert set(pools) == {"gpu", "own"}
    assert pools["gpu"]["gpu"]["value"] is True
    assert pools["own"]["max_nodes"]["value"] == 7


def test_12_ids_split_by_functions_are_linked(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read(
        {
            "main.tf": """
resource "random_id" "x" {
  byte_length = 2
}
resource "google_compute_subnetwork" "main" {
  name          = "n-${random_id.x.hex}"
  network       = "n"
  ip_cidr_range = "10.0.0.0/24"
}
resource "google_container_cluster" "main" {
  name                     = "c-${random_id.x.hex}"
  location                 = "us-central1-a"
  subnetwork               = element(split("/", google_compute_subnetwork.main.self_link), 10)
  initial_node_count       = 1
  remove_default_node_pool = true
}
resource "google_container_node_pool" "main" {
  count      = max(2, 1)
  name       = "p${count.index}"
  cluster    = split("/", google_container_cluster.main.id)[5]
  node_count = 3
  location   = false ? "x" : (
    true ? "us-central1-a" : "y"
  )
}
"""
        }
    )
    assert links(data) == {"p0": ["main"], "p1": ["main"]}


def test_13_inline_subnets_and_arm_ids_are_linked(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read(
        {
            "main.tf": """
data "azurerm_client_config" "me" {}
locals {
  vnet = "/subscriptions/${data.azurerm_client_config.me.subscription_id}/resourceGroups/r/providers/Microsoft.Network/virtualNetworks/v"
}
resource "azurerm_virtual_network" "v" {
  name          = "v"
  address_space = ["10.0.0.0/16"]
  subnet {
    name           = "a"
    address_prefix = "10.0.1.0/24"
  }
}
resource "azurerm_kubernetes_cluster" "main" {
  name = "main"
  default_node_pool {
    name           = "d"
    node_count     = 100
    vnet_subnet_id = element(tolist(azurerm_virtual_network.v.subnet), 0).id
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "arm" {
  name                  = "arm"
  kubernetes_cluster_id = "/subscriptions/0/resourceGroups/r/providers/Microsoft.ContainerService/managedClusters/main"
  node_count            = 3
  vnet_subnet_id        = "${local.vnet}/subnets/a"
}
"""
        }
    )
    assert links(data) == {"d": ["subnet[0]"], "arm": ["subnet[0]"]}


ARM = """
resource "azurerm_virtual_network" "v" {
  name          = "v"
  address_space = ["10.0.0.0/16"]
}
resource "azurerm_subnet" "a" {
  name                 = "a"
  virtual_network_name = azurerm_virtual_network.v.name
  address_prefixes     = ["10.0.1.0/24"]
}
resource "azapi_resource" "cluster" {
  type      = "Microsoft.ContainerService/managedClusters@2025-05-01"
  name      = "main"
  parent_id = "/subscriptions/0/resourceGroups/r"
  body      = %s
}
resource "azapi_resource" "gpu" {
  type      = "Microsoft.ContainerService/managedClusters/agentPools@2025-05-01"
  name      = "gpu"
  parent_id = azapi_resource.cluster.id
  body = {
    properties = {
      count             = 3
      enableAutoScaling = true
      minCount          = 0
      maxCount          = 900
      vmSize            = "Standard_ND96isr_H100_v5"
      vnetSubnetID      = azurerm_subnet.a.id
      scaleSetPriority  = "Spot"
    }
  }
}
resource "azapi_resource" "other" {
  type = "Microsoft.Network/routeTables@2024-01-01"
  name = "r"
}
"""
BODY = """{
    sku = { name = "Base", tier = "Premium" }
    properties = {
      kubernetesVersion = "1.33"
      networkProfile    = { networkPlugin = "azure", networkPluginMode = "overlay", podCidr = "10.64.0.0/12" }
      agentPoolProfiles = [
        { name = "system", mode = "System", count = 4, vmSize = "Standard_D4s_v5", vnetSubnetID = azurerm_subnet.a.id },
      ]
      autoScalerProfile = { "ok-total-unready-count" = "1000", "max-total-unready-percentage" = "100" }
    }
  }"""


@pytest.mark.parametrize("body", [BODY, f"jsonencode({BODY})"], ids=["object", "jsonencode"])
def test_13_arm_clusters_are_read(body: str, read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    data = read({"main.tf": ARM % body})
    assert links(data) == {"system": ["a"], "gpu": ["a"]}
    assert field(data, "pools", "max_nodes") == [4, 900]
    assert field(data, "pools", "spot") == [False, True]
    assert field(data, "autoscalers", "max_unready_percentage") == [100]
    assert field(data, "pod_ranges", "cidr") == ["10.64.0.0/12"]
    (cluster,) = data["clusters"]
    assert [cluster["fields"][n]["value"] for n in ("tier", "network_mode", "target")] == ["Premium", "overlay", 904]
    found = {f.rule: f for f in linter.run(Tree(["."]), Config()).findings}
    assert "904 nodes" in found["subnet-too-small"].message
    waste = found["idle-nodes-kept-long"]
    assert (waste.fix, waste.help) == (None, "set scale-down-unneeded-time: 5m")  # a body is not written in parts


def test_13_aks_automatic_in_arm_is_read(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    body = '{ sku = { name = "Automatic" }, properties = { hostedSystemProfile = { nodeSubnetID = "x" } } }'
    code = (ARM % body).partition('resource "azapi_resource" "gpu"')[0]
    (cluster,) = read({"main.tf": code})["clusters"]
    assert [cluster["fields"][n].get("value") for n in ("tier", "provisioned")] == ["Standard", True]
    assert linter.run(Tree(["."]), Config()).findings == []


SELECT = """
data "aws_vpc" "main" {
  filter {
    name   = "tag:Name"
    values = [local.environment]
  }
}
data "aws_subnets" "private" {
  filter {
    name   = "vpc-id"
    values = [data.aws_vpc.main.id]
  }
  filter {
    name   = "tag:Name"
    values = ["${local.environment}-private-*"]
  }
}
locals {
  environment = "train"
}
"""


def test_15_subnets_are_found_by_a_tag_of_another_root(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    vpc = VPC % (
        '["10.0.0.0/20", "10.0.16.0/20", "10.0.32.0/20"]',
        '  public_subnets = ["10.0.48.0/24", "10.0.49.0/24", "10.0.50.0/24"]',
    )
    data = read({"environment/main.tf": vpc, "cluster/main.tf": EKS % "data.aws_subnets.private.ids" + SELECT})
    assert links(data) == {"gpu": ["private[0]", "private[1]", "private[2]"]}


def test_15_filters_that_are_not_understood_select_nothing(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    vpc = VPC % ('["10.0.0.0/20"]', "")
    select = SELECT.replace('name   = "vpc-id"', 'name   = "availability-zone"')
    data = read({"environment/main.tf": vpc, "cluster/main.tf": EKS % "data.aws_subnets.private.ids" + select})
    assert links(data) == {"gpu": "data.aws_subnets.private is read from the cloud"}


def test_terraform_accepts_all_shapes(terraform: str, write: Write) -> None:
    write({"network.tf": NETWORK, "cluster.tf": CONTROL, "pool.tf": POOL, "select.tf": SELECT})
    assert subprocess.run([terraform, "fmt", "-check", "-diff"], capture_output=True, check=False).returncode == 0


def test_3_node_classes_with_unknown_parts_are_read(read: Callable[[Mapping[str, str]], dict[str, Any]]) -> None:
    node_class = NODE_CLASS.replace("spec:\n", "spec:\n  role: ${ROLE}\n  note: ${ROLE}-x\n")
    code = KARPENTER.replace(
        'class.yaml", { CLUSTER_NAME', 'class.yaml", { ROLE = aws_iam_role.node.name, CLUSTER_NAME'
    )
    names = '  private_subnet_names = ["train-private-secondary-a"]\n'
    data = read(
        {
            "main.tf": EKS % "[]" + VPC % ('["10.0.0.0/24"]', names) + code + 'resource "aws_iam_role" "node" {\n}\n',
            "karpenter/nodepool-gpu.yaml": NODE_POOL,
            "karpenter/class.yaml": node_class,
        }
    )
    assert data["pools"][1]["fields"]["subnets"]["value"] == ["eks/module.vpc.aws_subnet.private[0]"]


@pytest.mark.parametrize("function", ["yamldecode", "provider::kubernetes::manifest_decode"])
def test_parts_of_decoded_texts_are_read(function: str, write: Write) -> None:
    text = 'a: ${aws_vpc.x.id}\nb: 7\nc: [x, "${aws_vpc.x.id}"]\nd: id-${aws_vpc.x.id}\n'
    write({"main.tf": f'resource "aws_vpc" "x" {{\n}}\nlocals {{\n  x = {function}(<<EOT\n{text}EOT\n  )\n}}\n'})
    assert evaluate("local.x.b", ".", Config())["value"] == 7
    assert evaluate("local.x.c[0]", ".", Config())["value"] == "x"
    for path in ("a", "c[1]", "d"):
        assert evaluate(f"local.x.{path}", ".", Config())["reason"] == "aws_vpc.x.id is only known after apply"
