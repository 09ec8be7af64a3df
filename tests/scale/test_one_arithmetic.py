"""Drawn clusters on which check, capacity and the page must say the same of addresses."""

from __future__ import annotations

import html
import json
import random
import re
from typing import TYPE_CHECKING

import pytest

import kcheck
from kcheck.report import capacity
from kcheck.report.html import capacity_page
from kcheck.report.layout import plain
from kcheck.text.findings import Severity

if TYPE_CHECKING:
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


def pools(draw: random.Random, form: str) -> str:
    found = ((i, *sizes(draw)) for i in range(draw.randint(1, 3)))
    return "".join(form.format(i=i, least=n, most=m, pods=draw.choice((30, 64, 110))) for i, n, m in found)


def sizes(draw: random.Random) -> tuple[int, int]:
    most = draw.choice((1, 4, 20, 90, 250, 700))
    return draw.randint(0, min(most, 5)), most


RULES = {"subnet": "subnet-too-small", "pod-subnet": "pod-range-too-small", "pod-range": "pod-range-too-small"}
CORE = 24
"""Trees that the core tests draw; the others are for the slow ones."""


@pytest.mark.parametrize(
    "seed", [seed if seed < CORE else pytest.param(seed, marks=pytest.mark.slow) for seed in range(200)]
)
def test_all_outputs_say_the_same_of_addresses(seed: int, write: Write) -> None:
    draw = random.Random(seed)
    write({"main.tf": (eks, gke, aks)[seed % 3](draw)})
    project = kcheck.load(".", nodes=draw.choice((None, 100, 1000)))
    (cluster,), report = project.inventory.clusters, project.check(info=True)

    short = [wall for wall in project.capacity(cluster) if wall.mechanism in RULES and wall.short]
    found = [finding for finding in report.findings if finding.rule in RULES.values()]
    assert sorted(RULES[wall.mechanism] for wall in short) == sorted(
        one.rule for finding in found for one in finding.parts or (finding,)
    )
    assert {finding.severity for finding in found} <= {Severity.ERROR}

    sentence = capacity.summary_sentence(cluster, project.world)
    page = html.unescape(re.sub(r"<[^>]*>", "", capacity_page.as_html(project.world)))
    for output in (plain(capacity.as_text(project.world)), capacity.as_markdown(project.world), page):
        assert sentence in " ".join(output.replace("\\_", "_").split())
    (of_json,) = json.loads(capacity.as_json(project.world))["clusters"]
    reached = re.search(r"reaches(?: the)? ([0-9,]+)", sentence)
    assert (int(reached[1].replace(",", "")) if reached else None) == of_json["reaches"]
    lowest = min((wall.nodes.low for wall in short if wall.nodes), default=None)
    assert lowest is None or (of_json["reaches"] or 0) <= lowest
