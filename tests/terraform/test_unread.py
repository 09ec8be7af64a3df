"""Test modules without code: reported once, and judged by their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.config.numbers import profiles
from kcheck.engine import linter
from kcheck.inventory import reader
from kcheck.report import model
from kcheck.terraform import missing_modules
from kcheck.text.files.tree import Tree
from kcheck.text.text import Skipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conftest import Write


REMEDY = "run `terraform init`, or name a copy with --module-dir DIR"


def call(name: str, source: str, body: str) -> str:
    """Return a module call."""
    return f'module "{name}" {{\n  source = "{source}"\n  {body}\n}}\n'


EKS = call(
    "eks",
    "git::https://git.acme.example/tf/eks.git",
    """
  cluster_name    = "train"
  cluster_version = "1.31"
  subnet_ids      = module.network.private_subnet_ids
  node_groups = {
    gpu = { instance_types = ["p5.48xlarge"], min_size = 0, max_size = 300 }
    cpu = { instance_type = "m6i.xlarge", min_capacity = 10, max_capacity = 10 }
  }
""",
)
NETWORK = call(
    "network",
    "acme/network/aws",
    """
  vpc_cidr             = "10.0.0.0/16"
  private_subnet_cidrs = ["10.0.1.0/26", "10.0.2.0/26"]
""",
)


def skipped() -> list[Skipped]:
    """Return the notes about parts that were not read."""
    return reader.read(Tree(["."]), Config()).skipped


def shown() -> Any:
    """Return the model of the working directory."""
    return model.collect(Tree(["."]), Config())


def test_an_unread_module_is_reported_once(write: Write) -> None:
    write({"a/main.tf": call("platform", "acme/eks/aws", 'name = "x"'), "b/main.tf": call("b", "acme/eks/aws", "")})
    assert skipped() == [
        Skipped("a/main.tf", "module platform (acme/eks/aws) was not read; it may create clusters", 1, REMEDY),
    ]


@pytest.mark.parametrize(
    ("name", "source", "body", "kind"),
    [
        ("platform", "git::https://git.acme.example/tf/terraform-aws-eks.git?ref=v1", "", "clusters"),
        ("gke", "git@git.acme.example:tf/base.git", "", "clusters"),
        ("aks", "../../not/here", "", "clusters"),
        ("base", "s3::https://acme.s3.amazonaws.com/base.zip", 'kubernetes_version = "1.31"', "clusters"),
        ("gpu", "acme/eks-node-group/aws", "", "node pools"),
        ("workers", "acme/pool/google//modules/node-pool", "", "node pools"),
        ("main", "acme/vpc/aws", "", ""),  # there is nothing that would be in it
        ("irsa", "acme/eks-irsa/aws", "", ""),
        ("iam", "terraform-aws-modules/iam/aws//modules/iam-role-for-service-accounts-eks", "", ""),
        ("addons", "acme/eks-addons/aws", 'kubernetes_version = "1.31"', ""),
        ("bucket", "terraform-aws-modules/s3-bucket/aws", "", ""),
        ("eks_wait", "acme/empty/null", "", ""),
        ("gke_hub", "acme/gcloud/google", "", ""),
        ("db", "acme/rds-cluster/aws", "", ""),
        ("extras", "acme/eks-extras/aws", 'cluster_endpoint = "x"', ""),
        ("handler", "acme/eks-node-termination-handler/aws", "", ""),
        ("ecs", "acme/ecs-cluster/aws", "", ""),
        ("vpn", "acme/vpn/aws", "", ""),
        ("off", "acme/eks/aws", "count = 0", ""),
    ],
)
def test_unread_modules_are_reported_with_the_objects_they_may_create(
    name: str, source: str, body: str, kind: str, write: Write
) -> None:
    write({"main.tf": call(name, source, body)})
    assert [one.reason for one in skipped()] == (
        [f"module {name} ({source}) was not read; it may create {kind}"] if kind else []
    )


def test_unread_network_modules_matter_only_next_to_clusters(write: Write) -> None:
    write({"main.tf": call("vpc", "acme/vpc/aws", "") + 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\n'})
    assert [one.reason for one in skipped()] == ["module vpc (acme/vpc/aws) was not read; it may create networks"]


def test_arguments_of_an_unread_module_describe_a_cluster_and_its_network(write: Write) -> None:
    write({"main.tf": NETWORK + EKS})
    data = shown()
    (cluster,) = data["clusters"]
    assert cluster["fields"]["version"]["value"] == "1.31"
    assert "tier" not in {name for name, field in cluster["fields"].items() if "value" in field}
    types = [pool["fields"]["instance_types"]["value"] for pool in data["pools"]]
    sizes = [(pool["fields"]["min_nodes"]["value"], pool["fields"]["max_nodes"]["value"]) for pool in data["pools"]]
    assert (types, sizes) == ([["m6i.xlarge"], ["p5.48xlarge"]], [(10, 10), (0, 300)])
    assert all(pool["fields"]["subnets"]["value"] for pool in data["pools"])
    assert [subnet["fields"]["cidr"]["value"] for subnet in data["subnets"]] == ["10.0.1.0/26", "10.0.2.0/26"]
    assert [one.reason.partition("; ")[2] for one in skipped()] == ["only its arguments were read"] * 2


def test_arguments_left_out_of_an_unread_module_are_unknown(write: Write) -> None:
    """No finding depends on a mere default, and undecided checks name the module."""
    write({"main.tf": NETWORK + EKS})
    result = linter.run(Tree(["."]), Config(nodes={"": 5000}))
    assert not result.bugs
    assert {finding.rule for finding in result.findings} <= {"nodes-over-quota", "maximum-below-target"}
    reasons = {reason for check in result.undecided for reason in check.missing}
    assert any(reason.startswith("module eks (git::https://git.acme.example/tf/eks.git) was not") for reason in reasons)


GKE = """
  name       = "train"
  location   = "europe-west4"
  subnetwork = "nodes"
  node_pools = [{ name = "gpu", machine_type = "a3-highgpu-8g", max_count = 40 }, { name = "cpu", total_max_count = 7 }]
"""
AKS = """
  cluster_name       = "train"
  kubernetes_version = "1.31"
  default_node_pool  = { vm_size = "Standard_D8s_v5", node_count = 3, enable_auto_scaling = false }
  node_pools = {
    gpu = { vm_size = "Standard_ND96isr_H100_v5", min_count = 0, max_count = 90, enable_auto_scaling = true }
  }
"""


@pytest.mark.medium
@pytest.mark.parametrize(
    ("name", "source", "body", "sizes"),
    [
        ("gke", "acme/cluster/google", GKE, {"a3-highgpu-8g": None, None: 7}),  # 40 may be of each zone
        ("aks", "acme/aks/azurerm", AKS, {"Standard_D8s_v5": 3, "Standard_ND96isr_H100_v5": 90}),
        ("workers", "acme/eks-node-group/aws", 'cluster_name = "a"\n  max_size = 5\n  instance_types = ["c5.large"]', {"c5.large": 5}),
        ("eks", "acme/eks/aws", 'version = "1"\n  kubernetes_version = "1.31"\n  instance_type = "c5.large"\n  max_size = 4', {"c5.large": 4}),
    ],
)  # fmt: skip
def test_only_written_pools_of_an_unread_module_are_read(
    name: str, source: str, body: str, sizes: Mapping[str, int], write: Write
) -> None:
    write({"main.tf": call(name, source, body)})
    found = {}
    for pool in shown()["pools"]:
        types = pool["fields"]["instance_types"].get("value")
        found[types[0] if types else None] = pool["fields"]["max_nodes"].get("value")
    assert found == sizes
    assert not linter.run(Tree(["."]), Config()).bugs


@pytest.mark.parametrize(
    ("name", "source", "body"),
    [
        ("cluster", "acme/cluster/generic", EKS.partition("\n")[2].partition("\n")[2].rpartition("}")[0]),  # whose cloud?
        ("eks_tools", "acme/tools/aws", 'cluster_version = "1.31"\n  subnet_ids = []\n  cluster_endpoint = "x"'),
        ("eks", "acme/eks/aws", 'cluster_name = "x"'),
        ("aks", "acme/aks/azurerm", 'name = "x"'),
        ("gke", "acme/gke/google", 'name = "x"\n  region = "europe-west4"'),
        ("vpc", "acme/vpc/aws", 'cidr = "10.0.0.0/16"'),
        ("jobs", "acme/dataproc-cluster/google", 'name = "x"\n  region = "europe-west4"\n  machine_type = "n2-standard-8"'),
        ("search", "acme/search-cluster/google", 'name = "x"\n  region = "europe-west4"\n  machine_type = "n2-standard-8"'),
    ],
)  # fmt: skip
def test_an_unread_module_with_too_few_arguments_gives_no_cluster(
    name: str, source: str, body: str, write: Write
) -> None:
    write({"main.tf": call(name, source, body)})
    data = shown()
    assert not data["clusters"]
    assert not data["pools"]
    assert not data["subnets"]


@pytest.mark.parametrize("cidr", ['address_prefixes = ["10.0.0.0/22"]', 'subnet_cidr = "10.0.0.0/22"'])
def test_an_azure_subnet_gets_its_range_from_the_module_call(cidr: str, write: Write) -> None:
    subnet = call("nodes_subnet", "acme/subnet/azurerm", f'virtual_network_name = "v"\n  {cidr}')
    cluster = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
  network_profile {
    network_plugin = "azure"
  }
  default_node_pool {
    name                 = "gpu"
    vm_size              = "Standard_ND96isr_H100_v5"
    vnet_subnet_id       = module.nodes_subnet.subnet_id
    auto_scaling_enabled = true
    min_count            = 0
    max_count            = 200
  }
}
"""
    write({"main.tf": subnet + cluster})
    found = [one.message for one in linter.run(Tree(["."]), Config()).findings if one.rule == "subnet-too-small"]
    assert found == ["Subnet 10.0.0.0/22 is full at 29 of 200 nodes"]


def test_the_only_provider_decides_the_cloud_of_an_unread_module(write: Write) -> None:
    body = 'kubernetes_version = "1.31"\n  subnet_ids = ["s"]\n  vnet_subnet_id = "s"\n  network_plugin = "azure"'
    write({"main.tf": call("k8s", "git::https://git.acme.example/k8s.git", body) + 'provider "azurerm" {}\n'})
    assert [cluster["id"] for cluster in shown()["clusters"]] == ["aks/module.k8s.azurerm_kubernetes_cluster.this"]


def test_stand_in_modules_declare_their_inputs() -> None:
    for entry in profiles.unread_modules()["stand_ins"]:
        declared = missing_modules.load(entry["file"]).variables.keys()
        assert entry["inputs"].keys() | {"given"} <= declared | {"given"}
        assert declared <= entry["inputs"].keys() | {"given", "not_read"}
        assert {name for one in entry["needs"] for name in one} <= entry["inputs"].keys()
        spellings = [name for names in entry["inputs"].values() for name in names]
        assert len(spellings) == len(set(spellings))
