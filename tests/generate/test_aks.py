"""Test what is generated for AKS only: InfiniBand pools, machine topology, Lustre, names, the API server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from kcheck.config.config import ConfigError
from kcheck.config.numbers import fabrics
from kcheck.generate import aks, intent, pools, recommended
from kcheck.generate.assembly import generate
from kcheck.text import bundled

H100, A100, ORDINARY = "Standard_ND96isr_H100_v5", "Standard_ND96amsr_A100_v4", "Standard_NC80adis_H100_v5"


def wanted(**given: Any) -> intent.Intent:
    return intent.with_defaults("aks", given)


def files(**given: Any) -> dict[str, str]:
    return {path: data.decode() for path, data in generate(wanted(**given)).files.items()}


# --- pools


@pytest.mark.parametrize(
    ("nodes", "job", "sizes"),
    [
        (90, 8, [32, 32, 26]),
        (450, 64, [75, 75] * 3),
        (300, 100, [100, 100, 100]),  # one in each zone
        (1000, 100, [100, 100, 100, 34, 100, 100, 100, 33, 100, 100, 100, 33]),
        (128, 128, [128]),  # more than a scale set begins with
        (700, 250, [250, 100, 250, 100]),
        (600, 300, [300, 300]),
    ],
)
def test_a_job_over_infiniband_fits_into_a_pool(nodes: int, job: int, sizes: list[int]) -> None:
    made = pools.split(wanted(nodes=nodes, job={"nodes": job}))
    assert [pool.nodes for pool in made] == sizes
    assert max(sizes) >= job


def test_spot_pools_with_infiniband_are_no_larger_than_a_scale_set() -> None:
    made = pools.split(wanted(nodes=600, spot={"share": 50}, job={"nodes": 128}))
    assert [(pool.nodes, pool.spot) for pool in made] == [(128, False), (22, False)] * 2 + [(100, True)] * 3


def test_pools_without_infiniband_are_split_as_on_other_clouds() -> None:
    made = pools.split(wanted(nodes=1000, machines=[ORDINARY], job={"nodes": 128}))
    assert {pool.nodes for pool in made} == {167, 166}


def test_a_job_that_no_scale_set_holds_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"job.nodes: 301 are too many: InfiniBand joins 300 nodes of Standard_ND96isr_H100_v5"
    ):
        generate(wanted(nodes=900, job={"nodes": 301}))
    generate(wanted(nodes=900, job={"nodes": 301}, machines=[ORDINARY]))


def test_a_pool_larger_than_a_scale_set_needs_a_ticket() -> None:
    few, many = files(nodes=100, job={"nodes": 25}), files(nodes=200, job={"nodes": 128})
    assert "aks.pool.quota" not in few["kcheck.yaml"]
    assert yaml.safe_load(many["kcheck.yaml"])["limits"]["aks.pool.quota"]["value"] == 128
    assert "support ticket" in many["README.md"]
    assert "By a support ticket only: 128 machines" in many["quotas.sh"]


# --- the topology of machines


@pytest.mark.parametrize("machine", [H100, "Standard_ND96isr_H200_v5", A100, "Standard_ND96asr_v4"])
def test_the_topology_lists_each_gpu_and_card_once(machine: str) -> None:
    made = files(nodes=16, machines=[machine], job={"nodes": 4})
    maps = list(yaml.safe_load_all(made["kubernetes/nccl-topology.yaml"]))
    assert [one["metadata"]["namespace"] for one in maps] == ["research", "product"]
    system = ET.fromstring(maps[0]["data"]["topology.xml"])  # noqa: S314 - of a template of our own
    found = fabrics.fabric("aks", machine)
    assert found is not None
    for kind in ("0x030200", "0x020700"):
        ids = [pci.attrib["busid"] for pci in system.iter("pci") if pci.attrib["class"] == kind]
        assert len(set(ids)) == len(ids) == found.interfaces
    masks = [int(cpu.attrib["affinity"].replace(",", ""), 16) for cpu in system.iter("cpu")]
    assert sum(masks) == 2**96 - 1  # each processor once
    sample = made["jobs/sample.yaml"]
    assert "name: NCCL_TOPO_FILE," in sample
    assert "name: nccl-topology\n" in sample


@pytest.mark.parametrize("given", [{"machines": [ORDINARY]}, {"job": {"nodes": 1}}, {"spot": {"share": 100}}])
def test_no_topology_is_written_if_no_job_uses_infiniband(given: dict[str, Any]) -> None:
    made = files(nodes=16, **given)
    assert "kubernetes/nccl-topology.yaml" not in made
    assert "NCCL_TOPO_FILE" not in made["jobs/sample.yaml"]


def test_every_machine_with_a_topology_has_infiniband() -> None:
    data = bundled.load("profiles/aks/topologies.yaml")
    for one in data["topologies"]:
        for machine in one["machines"]:
            assert fabrics.fabric("aks", machine) is not None, machine


# --- what is ready before what


def chosen(text: str) -> list[set[str]]:
    """Return the labels a node needs to get the device plugin, one set per alternative."""
    made = [one for one in yaml.safe_load_all(text) if one["kind"] == "DaemonSet"]
    rules = made[0]["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    listed = rules["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [{f"{one['key']}={one['values'][0]}" for one in term["matchExpressions"]} for term in listed]


def test_the_gpu_plugin_waits_for_the_infiniband_driver() -> None:
    whole, loaded = "nvidia.com/device-plugin.config=shared", "network.nvidia.com/operator.mofed.wait=false"
    some, mixed = files(nodes=16), files(nodes=100, spot={"share": 30}, job={"nodes": 8})
    assert chosen(some["kubernetes/gpu.yaml"]) == [{whole, loaded}]
    assert chosen(mixed["kubernetes/gpu.yaml"]) == [{whole, loaded}, {whole, "training/market=spot"}]
    assert chosen(files(nodes=16, machines=[ORDINARY])["kubernetes/gpu.yaml"]) == [{whole}]
    assert re.search(r'scale_down_unready += "20m"', some["cluster.tf"])


def test_the_readme_says_that_a_fabric_stays_unused() -> None:
    told = "InfiniBand** of Standard_HB176rs_v4 stays unused: nothing here sets it up for this machine"
    assert told in files(nodes=16, machines=["Standard_HB176rs_v4"])["README.md"]
    assert "stays unused: it joins no spot pools" in files(nodes=16, spot={"share": 100})["README.md"]
    assert "stays unused" not in files(nodes=16)["README.md"]


@pytest.mark.parametrize("machine", ["Standard_ND96isr_MI300X_v5", "Standard_NV28adms_V710_v5"])
def test_machines_with_gpus_of_amd_are_refused(machine: str) -> None:
    with pytest.raises(ConfigError, match=f"machines: {machine} has no NVIDIA GPUs"):
        generate(wanted(nodes=16, machines=[machine]))


def test_jobs_request_the_memory_left_on_nodes_with_few_pods() -> None:
    """AKS reserves 20 MB for each pod that a node may run: 700 MB of 1,900 GiB, not a quarter."""
    found = re.search(r"memory: (\d+)Gi", files(nodes=16)["jobs/sample.yaml"])
    assert found is not None
    assert 1800 < int(found[1]) < 1900


# --- the steps to apply


def test_steps_name_the_needed_roles_and_aks_features() -> None:
    text = files(nodes=16)["README.md"]
    steps = text[text.index("## How to apply it?") :]
    assert steps.index("az login") < steps.index("az feature register") < steps.index("sh quotas.sh")
    assert "Role Based Access Control Administrator" in steps
    assert "kubectl get crd provisioningrequests.autoscaling.x-k8s.io" in steps
    assert re.search(r"`az acr login --name train\w+` and push", steps)
    other = files(nodes=16, scheduler="volcano")["README.md"]
    assert "provisioningrequests" not in other
    assert "(the conflict is with AKS' own numbers for CoreDNS and the chart's own settings of the scheduler)" in other


def test_comments_of_a_spot_only_cluster_mention_no_other_pools() -> None:
    assert "On-demand pools" not in files(nodes=16, machines=[ORDINARY], spot={"share": 100})["terraform.tfvars"]


# --- storage


@pytest.mark.parametrize(
    ("job", "capacity", "wants"),
    [(2, 12, 1250), (64, 80, 40_000), (100, 128, 62_500), (128, 128, 80_000)],  # claims of two teams; the largest
)
def test_lustre_is_as_fast_as_the_job(job: int, capacity: int, wants: int) -> None:
    found = aks.lustre(wanted(nodes=900, job={"nodes": job}))
    assert found is not None
    assert (found.capacity, found.wanted) == (capacity, wants)
    assert found.speed == capacity * 500


def test_lustre_above_its_largest_size_is_reported() -> None:
    assert "That would be more than 128 TiB" in files(nodes=900, job={"nodes": 128})["README.md"]


@pytest.mark.parametrize("machine", ["Standard_D16ds_v5", "Standard_HB176rs_v4", ORDINARY])
def test_jobs_of_other_machines_keep_checkpoints_in_shares(machine: str) -> None:
    made = files(nodes=16, machines=[machine])
    assert "storage.tf" not in made
    assert "file.csi.azure.com" in made["kubernetes/storage-class.yaml"]


def test_scratch_space_is_on_the_boot_disk() -> None:
    percent = int(recommended.values("aks")["job.scratch"])
    assert f"sizeLimit: {1024 * percent // 100}Gi}}" in files(nodes=16)["jobs/sample.yaml"]
    assert "/scratch" not in files(nodes=16, machines=[ORDINARY])["jobs/sample.yaml"]  # of no known size


# --- DNS


@pytest.mark.parametrize("nodes", [10, 64, 1000, 4900])
def test_coredns_is_scaled_by_the_single_key_that_aks_reads(nodes: int) -> None:
    data = yaml.safe_load(files(nodes=nodes, job={"nodes": 8})["kubernetes/coredns.yaml"])["data"]
    assert list(data) == ["ladder"]  # its autoscaler takes a map of one key only
    steps = json.loads(data["ladder"])["nodesToReplicas"]
    assert steps[0] == [1, 3]
    for (_, replicas), (following, _) in pairwise(steps):
        assert following - 1 == replicas * 16
    assert steps[-1][1] * 16 >= nodes


# --- the API server, names, quotas


def test_without_ranges_the_api_server_is_private() -> None:
    made = files(nodes=16)
    assert "private_cluster_enabled = true" in made["cluster.tf"]
    assert "queues.tf" not in made  # Terraform does not reach it
    assert "helm install kueue" in made["README.md"]
    assert "az aks command invoke" in made["README.md"]


def test_ranges_reach_a_public_api_server() -> None:
    made = files(nodes=16, network={"api_ranges": ["203.0.113.0/24"]})
    assert "private_cluster_enabled" not in made["cluster.tf"]
    assert "authorized_ip_ranges                = var.api_ranges" in made["cluster.tf"]
    assert 'api_ranges = ["203.0.113.0/24"]' in made["terraform.tfvars"]
    assert "helm_release" in made["queues.tf"]


def test_two_clusters_share_no_name_in_all_of_azure() -> None:
    given = [{}, {"region": "westus3"}, {"name": "train-2"}, {"account": "11111111-1111-1111-1111-111111111111"}]
    assert len({wanted(**one).registry for one in given}) == len(given)
    vaults = {files(nodes=16, **one)["terraform.tfvars"].partition("vault_name")[2] for one in given}
    assert len(vaults) == len(given)


def test_a_script_requests_the_quotas() -> None:
    text = files(nodes=1000, spot={"share": 30})["quotas.sh"]
    assert 'ask "lowPriorityCores" 28800 lowPriority' in text
    assert 'ask "standardNDSH100v5Family" 67200 dedicated' in text
    if shutil.which("sh") is None:
        pytest.skip("no shell")
    done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_only_training_nodes_are_searched_for_infiniband_cards() -> None:
    """A system node whose Ethernet is a virtual function of the same family would get the driver, too."""
    values = yaml.safe_load(files(nodes=64)["values/network-operator.yaml"])
    assert values["node-feature-discovery"]["worker"]["nodeSelector"] == {"training/pool": "training"}


@pytest.mark.parametrize(("region", "sku"), [("southcentralus", "StandardV2"), ("qatarcentral", "Standard")])
def test_nat_gateway_type_is_available_in_the_region(region: str, sku: str) -> None:
    made = files(nodes=64, region=region)
    assert re.findall(r'sku(?:_name)? += "(Standard\w*)"', made["network.tf"]) == [sku, sku]
    assert ("zone-redundant NAT gateway with" in made["README.md"]) == (sku == "StandardV2")


def test_the_readme_names_nodes_the_usual_job_never_uses() -> None:
    assert "on on-demand nodes only" in files(nodes=400, spot={"share": 50}, job={"nodes": 64})["README.md"]
    assert "runs without it" in files(nodes=400, spot={"share": 90}, job={"nodes": 64})["README.md"]
    assert "joins no spot pools" not in files(nodes=400, job={"nodes": 64})["README.md"]


def test_the_readme_asks_whether_the_zones_have_the_machines() -> None:
    made = files(nodes=64, region="westus3", zones=["1", "3"], machines=[H100, A100], spot={"share": 50})["README.md"]
    (step,) = [line for line in made.splitlines() if "az vm list-skus" in line]
    assert step.count("az vm list-skus --location westus3 --size Standard_ND96") == 2
    assert "must show zones 1, 3 and no restriction" in step


@pytest.mark.parametrize(("machine", "size"), [("Standard_D64s_v5", "1,024"), ("Standard_D16s_v5", "512"), (H100, "")])
def test_the_readme_names_boot_disks_paid_in_addition_to_nodes(machine: str, size: str) -> None:
    made = files(nodes=64, machines=[machine])["README.md"]
    assert re.findall(r"AKS takes ([\d,]+) GiB", made) == ([size] if size else [])


@pytest.mark.parametrize("nodes", [20, 100, 300])
def test_a_cluster_of_only_spot_nodes_has_no_findings(nodes: int) -> None:
    """One scale set over three zones has no InfiniBand between them, so its jobs request none."""
    result = generate(intent.with_defaults("aks", {"nodes": nodes, "spot": {"share": 100}})).result
    assert [(found.rule, found.message) for found in result.findings] == []
    assert result.undecided == []


@pytest.mark.parametrize("nodes", [251, 300])
def test_a_job_that_infiniband_ties_to_one_large_pool_has_no_findings(nodes: int) -> None:
    """Nobody can split a pool that one job fills, as the next scale set is out of reach of its InfiniBand."""
    result = generate(intent.with_defaults("aks", {"nodes": nodes, "job": {"nodes": nodes}})).result
    assert [found.rule for found in result.findings] == []
