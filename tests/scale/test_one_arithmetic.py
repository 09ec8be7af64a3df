"""Test random clusters, for which check, capacity and the page must agree on addresses."""

from __future__ import annotations

import html
import json
import random
import re
from typing import TYPE_CHECKING

import pytest
import yaml

import kcheck
from kcheck.addons.editor.facts import Facts
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.engine import linter
from kcheck.report import capacity
from kcheck.report.html import capacity_page
from kcheck.report.layout import plain
from kcheck.text.findings import Severity
from kcheck.text.values import known
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.api import Project
    from kcheck.model import Cluster
    from kcheck.scale.walls.model import Wall
    from tests.conftest import Write

EKS_POOL = """\
resource "aws_eks_node_group" "p{i}" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "p{i}"
  instance_types  = ["{machine}"]
  subnet_ids      = [{subnets}]
  scaling_config {{
    min_size     = {least}
    max_size     = {most}
    desired_size = {least}
  }}
}}
"""
GKE_POOL = """\
resource "google_container_node_pool" "p{i}" {{
  name              = "p{i}"
  cluster           = google_container_cluster.main.id
  node_locations    = ["us-central1-a"]
  max_pods_per_node = {pods}
  autoscaling {{
    min_node_count = {least}
    max_node_count = {most}
  }}
  node_config {{
    machine_type = "n2-standard-8"
  }}
}}
"""
AKS_POOL = """\
resource "azurerm_kubernetes_cluster_node_pool" "p{i}" {{
  name                  = "p{i}"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_D8s_v5"
  vnet_subnet_id        = azurerm_subnet.nodes.id
  auto_scaling_enabled  = true
  min_count             = {least}
  max_count             = {most}
  max_pods              = {pods}
}}
"""


def eks(draw: random.Random) -> str:
    count = draw.randint(1, 3)
    text = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    for i in range(count):
        text += f'resource "aws_subnet" "s{i}" {{\n  cidr_block = "10.0.{i * 16}.0/{draw.randint(20, 27)}"\n}}\n'
    for i in range(draw.randint(1, 3)):
        subnets = ", ".join(f"aws_subnet.s{j}.id" for j in sorted(draw.sample(range(count), draw.randint(1, count))))
        least, most = sizes(draw)
        machine = draw.choice(("m7i.2xlarge", "c7i.8xlarge", "p5.48xlarge"))
        text += EKS_POOL.format(i=i, machine=machine, subnets=subnets, least=least, most=most)
    return text


def gke(draw: random.Random) -> str:
    text = f"""\
resource "google_compute_subnetwork" "main" {{
  name          = "nodes"
  ip_cidr_range = "10.0.0.0/{draw.randint(20, 27)}"
  secondary_ip_range {{
    range_name    = "pods"
    ip_cidr_range = "10.64.0.0/{draw.randint(14, 20)}"
  }}
  secondary_ip_range {{
    range_name    = "services"
    ip_cidr_range = "10.32.0.0/20"
  }}
}}
resource "google_container_cluster" "main" {{
  name                     = "train"
  location                 = "us-central1-a"
  remove_default_node_pool = true
  initial_node_count       = 1
  subnetwork               = google_compute_subnetwork.main.id
  ip_allocation_policy {{
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }}
}}
"""
    return text + pools(draw, GKE_POOL)


def aks(draw: random.Random) -> str:
    mode = draw.choice(('network_plugin = "azure"', 'network_plugin = "azure"\n    network_plugin_mode = "overlay"'))
    text = f"""\
resource "azurerm_subnet" "nodes" {{
  name                 = "nodes"
  address_prefixes     = ["10.1.0.0/{draw.randint(18, 26)}"]
}}
resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
  sku_tier = "Standard"
  default_node_pool {{
    name           = "system"
    node_count     = 3
    vm_size        = "Standard_D8s_v5"
    vnet_subnet_id = azurerm_subnet.nodes.id
  }}
  network_profile {{
    {mode}
    pod_cidr = "10.128.0.0/{draw.randint(14, 19)}"
  }}
}}
"""
    return text + pools(draw, AKS_POOL)


ACK_POOL = """\
resource "alicloud_cs_kubernetes_node_pool" "p{i}" {{
  node_pool_name = "p{i}"
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  vswitch_ids    = [alicloud_vswitch.nodes.id]
  instance_types = ["ecs.g7.2xlarge"]
  scaling_config {{
    min_size = {least}
    max_size = {most}
  }}
}}
"""


def ack(draw: random.Random) -> str:
    """Draw a cluster of ACK with Flannel, whose pods have a range of their own."""
    text = f"""\
resource "alicloud_vswitch" "nodes" {{
  cidr_block = "10.0.0.0/{draw.randint(20, 27)}"
  zone_id    = "cn-hangzhou-i"
}}
resource "alicloud_cs_managed_kubernetes" "main" {{
  name           = "train"
  cluster_spec   = "ack.pro.small"
  vswitch_ids    = [alicloud_vswitch.nodes.id]
  pod_cidr       = "172.20.0.0/{draw.randint(16, 20)}"
  service_cidr   = "192.168.0.0/20"
  node_cidr_mask = {draw.randint(24, 26)}
}}
"""
    return text + pools(draw, ACK_POOL)


def selfmanaged(draw: random.Random) -> str:
    """Draw a kOps cluster with a pod range, one subnet, and instance groups."""
    bits = draw.randint(20, 25)
    network = draw.choice(("flannel: {}", "cilium: {}", "calico: {}"))
    text = f"""\
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: {{name: train.example.org}}
spec:
  cloudProvider: aws
  kubernetesVersion: 1.33.5
  networkCIDR: 10.0.0.0/16
  podCIDR: 100.96.0.0/{draw.randint(14, 18)}
  networking: {{{network}}}
  nonMasqueradeCIDR: 100.64.0.0/10
  subnets:
    - {{name: a, zone: us-east-1a, type: Private, cidr: 10.0.0.0/{bits}}}
"""
    for i in range(draw.randint(1, 3)):
        least, most = sizes(draw)
        text += f"""\
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {{name: p{i}, labels: {{kops.k8s.io/cluster: train.example.org}}}}
spec: {{role: Node, machineType: m6i.2xlarge, minSize: {least}, maxSize: {most}, subnets: [a]}}
"""
    return text


def karpenter(draw: random.Random) -> dict[str, str]:
    """Draw an EKS cluster with one fixed node group, and a NodePool with limits."""
    group = EKS_POOL.format(i=0, machine="m7i.2xlarge", subnets="aws_subnet.s0.id", least=2, most=2)
    text = f"""\
resource "aws_eks_cluster" "main" {{
  name = "train"
}}
resource "aws_subnet" "s0" {{
  cidr_block = "10.0.0.0/{draw.randint(20, 27)}"
  tags       = {{ "karpenter.sh/discovery" = "train" }}
}}
{group}"""
    manifest = f"""\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: gpu}}
spec:
  role: node
  amiSelectorTerms: [{{alias: al2023@v20261101}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: train}}}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: gpu}}
spec:
  limits: {{cpu: "{draw.choice((64, 400, 4000))}"}}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}}
      requirements:
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [g5.2xlarge]}}
"""
    return {"main.tf": text, "pool.yaml": manifest}


def in_tfvars(draw: random.Random) -> dict[str, str]:
    """Draw a tree whose pool maxima are variables, which a tfvars file sets."""
    text, given = draw.choice((eks, gke, aks, ack))(draw), []

    def variable(match: re.Match[str]) -> str:
        given.append(match[2])
        return f"{match[1]}var.most{len(given)}"

    text = re.sub(r"((?:max_size|max_node_count|max_count)\s+= )(\d+)", variable, text)
    declared = "".join(f'variable "most{i}" {{\n  type = number\n}}\n' for i in range(1, len(given) + 1))
    values = "".join(f"most{i} = {number}\n" for i, number in enumerate(given, 1))
    return {"main.tf": text, "variables.tf": declared, "terraform.tfvars": values}


MORE = (
    lambda draw: {"main.tf": ack(draw)},
    lambda draw: {"cluster.yaml": selfmanaged(draw)},
    karpenter,
    in_tfvars,
)
"""More clouds and spellings, drawn after those of Terraform."""


def pools(draw: random.Random, form: str) -> str:
    found = ((i, *sizes(draw)) for i in range(draw.randint(1, 3)))
    return "".join(form.format(i=i, least=n, most=m, pods=draw.choice((30, 64, 110))) for i, n, m in found)


def sizes(draw: random.Random) -> tuple[int, int]:
    most = draw.choice((1, 4, 20, 90, 250, 700))
    return draw.randint(0, min(most, 5)), most


RULES = {"subnet": "subnet-too-small", "pod-subnet": "pod-range-too-small", "pod-range": "pod-range-too-small"}
CORE = 12
"""Trees that the core tests draw; slow tests draw more."""


SEEDS = [*range(200), *range(1000, 1200)]


def tree(seed: int, draw: random.Random) -> dict[str, str]:
    """Draw the files of a tree."""
    return MORE[seed % 4](draw) if seed >= 1000 else {"main.tf": (eks, gke, aks)[seed % 3](draw)}


@pytest.mark.parametrize(
    "seed", [seed if seed % 1000 < CORE else pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS]
)
def test_all_outputs_agree_on_addresses_of_random_clusters(seed: int, write: Write) -> None:
    draw = random.Random(seed)
    write(tree(seed, draw))
    project = kcheck.load(".", nodes=draw.choice((None, 100, 1000)))
    (cluster,), report = project.inventory.clusters, project.check(info=True)

    short = [wall for wall in project.capacity(cluster) if wall.mechanism in RULES and wall.short]
    found = [finding for finding in report.findings if finding.rule in RULES.values()]
    assert sorted(of_rule(wall, cluster) for wall in short) == sorted(
        one.rule for finding in found for one in finding.parts or (finding,)
    )
    assert {finding.severity for finding in found} <= {Severity.ERROR}

    (reaches,) = reached_in_all_outputs(project)
    lowest = min((wall.nodes.low for wall in short if wall.nodes), default=None)
    assert lowest is None or (reaches or 0) <= lowest


def reached_in_all_outputs(project: Project) -> list[int | None]:
    """Return how many nodes each cluster reaches; assert that text, Markdown, JSON and page agree."""
    page = html.unescape(re.sub(r"<[^>]*>", "", capacity_page.as_html(project.world)))
    texts = (plain(capacity.as_text(project.world)), capacity.as_markdown(project.world), page)
    outputs = [" ".join(re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", text).split()) for text in texts]
    found = json.loads(capacity.as_json(project.world))["clusters"]
    for cluster, of_json in zip(project.inventory.clusters, found, strict=True):
        sentence = capacity.summary_sentence(cluster, project.world)
        assert all(sentence in output for output in outputs)
        assert sentence == of_json["summary"]
        reached = re.search(r"reaches(?: the)? ([0-9,]+)", sentence)
        assert (whole(reached[1]) if reached else None) == of_json["reaches"]
    return [one["reaches"] for one in found]


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(path, id=path.name, marks=pytest.mark.slow if number % 3 else pytest.mark.medium)
        for number, path in enumerate(sorted((ROOT / "examples").iterdir()))
        if path.is_dir()
    ],
)
def test_all_outputs_agree_on_addresses_of_the_examples(folder: Path) -> None:
    project = kcheck.load(str(folder))
    reached_in_all_outputs(project)
    known_to_editor_and_simulation(project)


WALLS = ROOT / "tests/cases/walls"
PAGES = [
    "ack/flannel-in-a-19", "ack/terway-nodes-of-two-zones", "aks/kubenet-by-module", "aks/ports-of-two-addresses",
    "eks/big-pool-unknown-type", "eks/karpenter-limits", "eks/plain-three-zones", "gke/pods-of-three-zones",
    "selfmanaged/kops-cilium", "selfmanaged/kubeadm-calico-blocks",
]  # fmt: skip


@pytest.mark.medium
@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_correct_sums_for_each_wall(name: str) -> None:
    arguments = yaml.safe_load((WALLS / name / "walls.yaml").read_text())["arguments"][1:]
    nodes = {text.rpartition("=")[0]: int(text.rpartition("=")[2]) for text in map(str, arguments)}
    project = kcheck.load(str(WALLS / name), nodes=nodes)
    page = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", capacity_page.as_html(project.world))).split())
    for wall in (one for cluster in project.inventory.clusters for one in project.capacity(cluster)):
        bounds = f"{wall.nodes} nodes: " if not wall.nodes.is_open and not wall.number else ""
        if not capacity.is_account_quota(wall):
            assert f"{bounds}{wall.arithmetic}" in page
        total = re.fullmatch(
            r"(?:.* addresses; )?(.*[^ ]) = ([\d,]+)(?:, nodes per subnet rounded up)?", wall.arithmetic
        )
        if total and "ports" not in wall.arithmetic:
            assert sum(map(product, re.split(r" \+ (?![\d,]+ surge)", total[1]))) == whole(total[2]), wall.arithmetic


def product(term: str) -> int:
    """Calculate a term such as `gpu (60 + 4 surge) / 2 subnets x 60`."""
    found = re.fullmatch(r".*?\(?([\d,]+)(?: \+ ([\d,]+) surge\))?(?: / (\d+) subnets)?(?: x ([\d,]+))?", term)
    assert found, term
    nodes = whole(found[1]) + whole(found[2] or "0")
    return -(-nodes // whole(found[3] or "1")) * whole(found[4] or "1")


def whole(text: str) -> int:
    return int(text.replace(",", ""))


def of_rule(wall: Wall, cluster: Cluster) -> str:
    """Return the rule that finds a wall; a range of Calico's pods counts as a pod subnet."""
    calico = wall.mechanism == "pod-subnet" and cluster.cloud == "selfmanaged"
    return "pod-subnet-too-small" if calico else RULES[wall.mechanism]


@pytest.mark.parametrize(
    "seed", [seed if 1000 <= seed < 1024 else pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS]
)
def test_the_editor_and_the_simulation_have_the_same_reach(seed: int, write: Write) -> None:
    draw = random.Random(seed)
    write(tree(seed, draw))
    known_to_editor_and_simulation(kcheck.load(".", nodes=draw.choice((None, 100, 1000))))


def known_to_editor_and_simulation(project: Project) -> None:
    """Assert that the editor and a simulated run use the nodes of the walls and targets."""
    walls = {wall.id: wall for cluster in project.inventory.clusters for wall in project.capacity(cluster)}
    result = linter.run(project.tree, project.config)
    facts = Facts(Snapshot(".", project.tree, project.config, result, {}))
    for place in (*project.inventory.subnets, *project.inventory.ranges):
        full = facts.full(place)
        assert full is None or str(full.nodes) == str(walls[full.id].nodes)
    for cluster in project.inventory.clusters:
        target, kept = project.world.sizes.target_amount(cluster).exact, sizes_of(project, cluster)
        assert target is None or None in kept or sum(one or 0 for one in kept) == target


def sizes_of(project: Project, cluster: Cluster) -> list[int | None]:
    """Return the sizes of the pools that a simulated run may have."""
    return [known(project.world.sizes.of_pool(pool)) for pool in project.world.pools.of_cluster(cluster)]
