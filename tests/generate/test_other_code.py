"""Test code that says more than an intent can, or less than a cluster needs: each difference is reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import ConfigError
from kcheck.generate import assembly, other_clouds
from tests.generate.test_intent_from_code import gke, read, source

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent

EKSCTL = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata:
  name: {name}
  region: us-west-2
availabilityZones: [us-west-2b, us-west-2d]
nodeGroups:
  - name: train
    maxSize: 20
    availabilityZones: [us-west-2d]
    instancesDistribution:
      instanceTypes: [g5.12xlarge]
      onDemandBaseCapacity: {base}
      onDemandPercentageAboveBaseCapacity: {percent}
"""
EKS = """provider "aws" {
  region = "us-west-2"
}
resource "aws_eks_cluster" "a" {
  name = "gpu"
}
"""
GROUP = """resource "aws_eks_node_group" "{0}" {{
  cluster_name    = aws_eks_cluster.a.name
  node_group_name = "{0}"
  instance_types  = [{1}]
  capacity_type   = "{2}"
  scaling_config {{
    min_size = 0
    max_size = 10
  }}
}}
"""
KARPENTER = """resource "helm_release" "karpenter" {
  name  = "karpenter"
  chart = "karpenter"
}
"""
AKS = """resource "azurerm_kubernetes_cluster" "a" {
  name     = "gpu_cluster_of_the_research_team"
  location = "eastus2"
  sku_tier = "Free"
  default_node_pool {
    name                         = "system"
    vm_size                      = "Standard_D4s_v5"
    node_count                   = 2
    only_critical_addons_enabled = true
    vnet_subnet_id               = azurerm_subnet.a.id
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "a" {
  name                  = "train"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.a.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 3
  max_count             = 8
  node_taints           = ["team=research:NoSchedule"]
  vnet_subnet_id        = azurerm_subnet.a.id
}
resource "azurerm_virtual_network" "a" {
  name          = "a"
  address_space = ["10.77.0.0/16"]
}
resource "azurerm_subnet" "a" {
  name                 = "a"
  virtual_network_name = azurerm_virtual_network.a.name
  address_prefixes     = ["10.77.0.0/20"]
}
"""


def of_files(folder: Path, **files: str) -> Intent:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return read(".")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("base", "percent", "share"), [(0, 0, 100), (0, 50, 50), (4, 50, 40), (0, 100, 0), (20, 0, 0)])
def test_groups_of_both_markets_give_a_spot_share(base: int, percent: int, share: int, tmp_path: Path) -> None:
    found = of_files(tmp_path, a_yaml=EKSCTL.format(name="gpu", base=base, percent=percent))
    assert (found.nodes, found.spot, found.zones) == (20, share, ("us-west-2d",))


def test_zones_of_named_subnets_are_read(tmp_path: Path) -> None:
    text = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: gpu, region: us-west-2}
vpc:
  id: vpc-1
  subnets:
    private:
      us-west-2c: {id: subnet-1}
      other: {id: subnet-2, az: us-west-2a}
nodeGroups: [{name: train, maxSize: 20, privateNetworking: true, instanceType: p5.48xlarge}]
"""
    assert of_files(tmp_path, a_yaml=text).zones == ("us-west-2a", "us-west-2c")


def test_pools_hidden_by_karpenter_are_not_replaced_by_other_pools(tmp_path: Path) -> None:
    told = r"machines and nodes cannot be read: Karpenter adds nodes to the cluster \(main\.tf:4\), but none of its NodePools"
    with pytest.raises(ConfigError, match=told):
        of_files(tmp_path, main_tf=EKS + GROUP.format("core", '"m5.xlarge"', "ON_DEMAND") + KARPENTER)
    found = of_files(tmp_path, main_tf=EKS + GROUP.format("core", '"p5.48xlarge"', "ON_DEMAND") + KARPENTER)
    assert any(line.startswith("pools may be left out: Karpenter adds nodes") for line in found.assumed)


def test_attached_gpus_are_read(tmp_path: Path) -> None:
    gke(tmp_path)
    text = Path("main.tf").read_text()
    gpu = 'machine_type = "n1-standard-8"\n    guest_accelerator {\n      type = "nvidia-tesla-t4"\n      count = 2\n    }'
    attached = text.replace('machine_type = "n2-standard-32"', gpu)
    found = of_files(tmp_path, main_tf=attached)
    assert (found.machines, found.gpus, found.accelerator) == (("n1-standard-8",), 2, "nvidia-tesla-t4")
    assert assembly.generate(found).result.findings == []
    pool = attached[attached.index('resource "google_container_node_pool"') :].replace('"a" {', '"b" {')
    found = of_files(tmp_path, main_tf=text.replace("n2-standard-32", "a3-highgpu-8g"), b_tf=pool)
    assert (found.machines, found.nodes, found.accelerator) == (("a3-highgpu-8g",), 20, "")
    assert any("with the most GPUs: pool train (b.tf:1)" in line for line in found.assumed)


def test_gpus_of_another_model_are_not_mixed(tmp_path: Path) -> None:
    pools = [GROUP.format(f"g{i}", name, "SPOT") for i, name in enumerate(('"p5.48xlarge"', '"p4d.24xlarge"'))]
    found = of_files(tmp_path, main_tf=EKS + "".join(pools))
    assert (found.machines, found.nodes, found.spot) == (("p5.48xlarge",), 10, 100)
    assert any(line.endswith("10 nodes of p4d.24xlarge") for line in found.assumed)


def test_instance_types_dropped_from_an_on_demand_pool_are_named(tmp_path: Path) -> None:
    types = '"m7i.xlarge", "m6i.xlarge", "m5.xlarge", "m5a.xlarge", "m7a.xlarge", "m6a.xlarge"'
    text = EKS + GROUP.format("a", types, "ON_DEMAND") + GROUP.format("b", '"c5.xlarge"', "ON_DEMAND")
    found = of_files(tmp_path, main_tf=text)
    told = "may have any of m7i.xlarge, m6i.xlarge, m5.xlarge, m5a.xlarge, m7a.xlarge and 1 more; on demand there is only m7i.xlarge"
    assert f"pool a (main.tf:7) {told}" in found.assumed
    assert "10 nodes of c5.xlarge become nodes of m7i.xlarge: the nodes of a job are alike" in found.assumed


def test_differences_from_the_code_are_listed(tmp_path: Path) -> None:
    found = of_files(tmp_path, main_tf=AKS)
    assert found.assumed[-6:] == (
        "the cluster is called gpu-cluster-of-the-r; in the code it is gpu_cluster_of_the_research_team (main.tf:1)",
        "the control plane has the tier Standard; in the code it has Free (main.tf:4)",
        "the cluster's own pods get up to 4 nodes of Standard_D8ds_v5; the code has pool system (main.tf:5), 2 nodes of Standard_D4s_v5",
        "taints are left out: team=research:NoSchedule of pool train (main.tf:13)",
        "pools grow from 0 nodes; the code has pool train (main.tf:13), at least 3",
        "network.range: chosen by size; the code has 10.77.0.0/16 (main.tf:23)",
    )


def test_system_pools_count_as_training_pools_if_there_are_no_others(tmp_path: Path) -> None:
    text = AKS[: AKS.index('resource "azurerm_kubernetes_cluster_node_pool"')]
    found = of_files(tmp_path, main_tf=text.replace("azurerm_subnet.a.id", "var.subnet"))
    told = "the nodes for the cluster's own pods are taken for training, as the only ones: pool system (main.tf:5)"
    assert told in found.assumed


def test_the_reason_for_rejecting_a_network_mode_is_listed(tmp_path: Path) -> None:
    text = AKS.replace('  sku_tier = "Free"\n', '  network_profile {\n    network_plugin = "kubenet"\n  }\n')
    line = next(line for line in of_files(tmp_path, main_tf=text).assumed if line.startswith("network.mode"))
    assert "kubenet of the code is impossible for this cluster: kubenet " in line


def test_priority_classes_that_no_job_uses_may_not_be_tiers(tmp_path: Path) -> None:
    text = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata:\n  name: of-a-chart\nvalue: 5\n"
    gke(tmp_path)
    told = "tiers are all priority classes of the code: of-a-chart; no job there uses one"
    assert told in of_files(tmp_path, a_yaml=text).assumed


def test_unreadable_files_are_listed(tmp_path: Path) -> None:
    gke(tmp_path)
    found = of_files(tmp_path, more_tf='resource "google_container_node_pool" "b" {\n  name = \n}\n')
    line = next(line for line in found.assumed if line.startswith("not read: "))
    assert "more.tf:2: " in line


def test_clusters_of_the_same_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    text = EKSCTL.format(name="gpu", base=0, percent=0)
    with pytest.raises(ConfigError, match=r"2 clusters there; name the file of one \(a\.yaml, b\.yaml\)$"):
        of_files(tmp_path, a_yaml=text, b_yaml=text)
    assert read("b.yaml").name == "gpu"


@pytest.mark.parametrize("kind", ["managed", "auto"])
def test_a_cluster_without_pools_is_refused_with_its_place(kind: str, tmp_path: Path) -> None:
    text = (
        EKS.replace('name = "gpu"', 'name = "gpu"\n  compute_config {\n    enabled = true\n  }')
        if kind == "auto"
        else EKS
    )
    told = {
        "managed": r"no node pools of the cluster \(main\.tf:4\) in the code",
        "auto": r"the cloud chooses the machines of this cluster \(main\.tf:4\)",
    }
    with pytest.raises(ConfigError, match=told[kind]):
        of_files(tmp_path, main_tf=text)


def test_machines_of_a_self_managed_cluster_are_reported_as_unread(tmp_path: Path) -> None:
    text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: gpu\n"
    with pytest.raises(ConfigError, match=r"kcheck reads no machine types of a self-managed cluster \(a\.yaml:2\)"):
        of_files(tmp_path, a_yaml=text)


def test_a_price_cap_is_refused_where_a_cloud_has_none(tmp_path: Path) -> None:
    gke(tmp_path)
    with pytest.raises(ConfigError, match=r"spot\.price_cap"):
        read(".", spot={"share": 50, "price_cap": 1.5})


def test_machines_without_known_addresses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kcheck does not know how many addresses a node of m99z\.xlarge takes"):
        of_files(tmp_path, main_tf=EKS + GROUP.format("a", '"m99z.xlarge"', "ON_DEMAND"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nodes: many\n", "not read: intent.yaml:1: "),
        ("spot: {price_cap: 2}\n", "intent.yaml beside the code is not read: spot.price_cap: "),
    ],
)
def test_a_wrong_intent_next_to_the_code_is_listed(text: str, told: str, tmp_path: Path) -> None:
    gke(tmp_path)
    assert any(line.startswith(told) for line in of_files(tmp_path, intent_yaml=text).assumed)


def test_pools_without_nodes_are_named(tmp_path: Path) -> None:
    gke(tmp_path, nodes="0")
    with pytest.raises(ConfigError, match=r"the maxima of the pools are 0: pool train \(main\.tf:10\); give --nodes"):
        read(".")


def test_settings_of_one_cloud_are_not_missing_on_another(tmp_path: Path) -> None:
    gke(tmp_path, location="us-east4")
    found = other_clouds.translated(read("."), "eks")
    (absent,) = (line for line in found.assumed if line.startswith("not in the code"))
    assert not {part.split()[0] for part in absent.partition(": ")[2].split("; ")} & {"zones", "registry", "account"}
    assert "autoscaler: cluster-autoscaler; managed on gke" in found.assumed
    assert "network.mode: addresses; vpc-native on gke" in found.assumed


def test_modules_that_were_not_read_are_named_where_there_is_no_cluster(tmp_path: Path) -> None:
    (tmp_path / "own.tf").write_text('module "nodes" {\n  source = "../../nodes"\n}\n')
    with pytest.raises(ConfigError, match=r"no clusters in the code there.*Not read: own\.tf:1: module nodes "):
        read(tmp_path)


@pytest.mark.skipif(os.getuid() == 0, reason="root reads every file")
def test_unreadable_files_are_named(tmp_path: Path) -> None:
    gke(tmp_path)
    (tmp_path / "b.tf").write_text("")
    (tmp_path / "b.tf").chmod(0)
    assert any("b.tf" in line for line in read(".").assumed)


def test_the_source_is_named_as_it_was_given() -> None:
    assert str(source("a", "b")) == "--from a --from b"


EKS_MODULE = """module "eks" {{
  source             = "terraform-aws-modules/eks/aws"
  version            = "{0}"
  {1}name               = "gpu"
  eks_managed_node_groups = {{ train = {{ instance_types = ["p5.48xlarge"], max_size = 8 }} }}
  {2}
}}
"""
ALLOWED = ["203.0.113.0/24", "198.51.100.7/32"]
AUTHORIZED = """  master_authorized_networks_config {
    cidr_blocks { cidr_block = "203.0.113.0/24" }
    cidr_blocks { cidr_block = "198.51.100.7/32" }
  }
"""
OPEN = "the code lets every address reach the API server"


@pytest.mark.parametrize(
    ("version", "prefix", "text", "ranges"),
    [
        ("~> 21.0", "", 'endpoint_public_access = true\n  endpoint_public_access_cidrs = ["203.0.113.0/24", "198.51.100.7/32"]', ALLOWED),
        ("~> 21.0", "", "", []),
        ("~> 21.0", "", "endpoint_public_access = true", OPEN),
        ("~> 20.0", "cluster_", 'cluster_endpoint_public_access = true\n  cluster_endpoint_public_access_cidrs = ["203.0.113.0/24", "198.51.100.7/32"]', ALLOWED),
        ("~> 20.0", "cluster_", "cluster_endpoint_public_access = true", OPEN),
        ("~> 20.0", "cluster_", "", None),
    ],
)  # fmt: skip
def test_access_to_the_api_server_of_eks_modules_is_read(
    version: str, prefix: str, text: str, ranges: list[str] | str | None, tmp_path: Path
) -> None:
    _reached(of_files(tmp_path, main_tf=EKS_MODULE.format(version, prefix, text)), ranges)


@pytest.mark.parametrize(
    ("file", "text", "ranges"),
    [
        ("eks", 'vpc_config {\n    public_access_cidrs = ["203.0.113.0/24", "198.51.100.7/32"]\n  }', ALLOWED),
        ("eks", "vpc_config {\n    endpoint_public_access = false\n  }", []),
        ("eksctl", "  publicAccessCIDRs: [203.0.113.0/24, 198.51.100.7]", ALLOWED),
        ("eksctl", "  clusterEndpoints: {publicAccess: true, privateAccess: true}", OPEN),
        ("gke", AUTHORIZED, ALLOWED),
        ("gke", "master_authorized_networks_config {}\n", []),
        ("gke", "private_cluster_config {\n  enable_private_endpoint = true\n}\n", []),
        ("gke", AUTHORIZED.replace("203.0.113.0/24", "0.0.0.0/0"), OPEN),
        ("aks", 'api_server_access_profile {\n    authorized_ip_ranges = ["203.0.113.0/24", "198.51.100.7"]\n  }', ALLOWED),
        ("aks", "private_cluster_enabled = true", []),
        ("aks", "private_cluster_enabled = false", OPEN),
    ],
)  # fmt: skip
def test_ranges_that_reach_the_api_server_are_read(
    file: str, text: str, ranges: list[str] | str, tmp_path: Path
) -> None:
    if file == "eksctl":
        config = EKSCTL.format(name="gpu", base=0, percent=0)
        _reached(of_files(tmp_path, a_yaml=f"{config}vpc:\n{text}\n"), ranges)
        return
    gke(tmp_path)
    code = {
        "eks": EKS.replace('name = "gpu"', f'name = "gpu"\n  {text}') + GROUP.format("a", '"p5.48xlarge"', "ON_DEMAND"),
        "gke": Path("main.tf").read_text().replace('min_master_version = "1.35"\n', f'min_master_version = "1.35"\n{text}'),
        "aks": AKS.replace('sku_tier = "Free"', text),
    }  # fmt: skip
    _reached(of_files(tmp_path, main_tf=code[file]), ranges)


def _reached(found: Intent, ranges: list[str] | str | None) -> None:
    told = " ".join(found.assumed)
    assert list(found.api_ranges) == (ranges if isinstance(ranges, list) else [])
    assert (f"network.api_ranges: none; {OPEN} (" in told) == (ranges == OPEN)
    assert ("network.api_ranges none" in told) == (ranges is None)


def test_an_unwritten_location_is_not_listed_as_a_zone(tmp_path: Path) -> None:
    text = gke(tmp_path).joinpath("main.tf").read_text().replace('  location           = "us-east4-b"\n', "")
    assert "None" not in " ".join(of_files(tmp_path, main_tf=text).assumed)


def test_unread_modules_are_named_if_there_is_no_pool(tmp_path: Path) -> None:
    nodes = 'module "nodes" {\n  source = "../../nodes"\n}\n'
    with pytest.raises(ConfigError, match=r"cannot be read: .*give machines.*Not read: own\.tf:1: module nodes "):
        of_files(tmp_path, main_tf=EKS, own_tf=nodes)


def test_small_machines_with_other_gpus_are_not_mixed(tmp_path: Path) -> None:
    types = '"g4dn.xlarge", "g4dn.2xlarge", "g5.xlarge", "g6.xlarge"'
    found = of_files(tmp_path, main_tf=EKS + GROUP.format("a", types, "SPOT"))
    assert found.machines == ("g4dn.xlarge", "g4dn.2xlarge")
    told = "g5.xlarge, g6.xlarge are left out: the nodes of a job have the same number and model of GPUs"
    assert told in found.assumed


def test_private_ranges_stay_on_their_cloud(tmp_path: Path) -> None:
    gke(tmp_path, location="us-east4")
    own = read(".", network={"api_ranges": ["10.8.0.0/16", "203.0.113.0/24"]})
    found = other_clouds.translated(own, "eks")
    assert found.api_ranges == ("203.0.113.0/24",)
    told = "network.api_ranges: 10.8.0.0/16 of gke left out: they come in by the network"
    assert told in found.assumed


def test_fargate_profiles_are_reported_as_left_out(tmp_path: Path) -> None:
    config = EKSCTL.format(name="gpu", base=0, percent=0)
    own = f"{config}fargateProfiles: [{{name: web, selectors: [{{namespace: web}}]}}]\n"
    assert "left out: the Fargate profiles web (a.yaml:2); all pods get nodes" in of_files(tmp_path, a_yaml=own).assumed


def test_a_cluster_with_only_fargate_is_reported(tmp_path: Path) -> None:
    module = EKS_MODULE.replace("eks_managed_node_groups = {{ train", "fargate_profiles = {{ web")
    with pytest.raises(
        ConfigError, match=r"no node pools of the cluster \(main\.tf:1\) .*only the Fargate profiles web"
    ):
        of_files(tmp_path, main_tf=module.format("~> 21.0", "", ""))


@pytest.mark.parametrize("family", ["IPv6", "IPv4"])
def test_an_ipv6_family_is_listed(family: str, tmp_path: Path) -> None:
    config = EKSCTL.format(name="gpu", base=0, percent=0)
    found = of_files(tmp_path, a_yaml=f"{config}kubernetesNetworkConfig: {{ipFamily: {family}}}\n")
    told = "pods and Services get IPv4 addresses; in the code they get IPv6 (a.yaml:15)"
    assert (told in found.assumed) == (family == "IPv6")
