"""Test pods that fit on no node: which are reported, which are not, and in what words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import manifest

if TYPE_CHECKING:
    from tests.conftest import Check

pytestmark = pytest.mark.medium

CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
GROUP = """
resource "aws_eks_node_group" "{name}" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "{name}"
  subnet_ids      = ["subnet-1"]
  instance_types  = {types}

  {more}

  scaling_config {{
    min_size     = 0
    max_size     = 8
    desired_size = 0
  }}
}}
"""
TAINT = 'taint {\n    key    = "dedicated"\n    value  = "a"\n    effect = "NO_SCHEDULE"\n  }'
SMALL = GROUP.format(name="small", types='["t3.large"]', more="")


def told(check: Check, code: str, requests: str, **more: str) -> list[str]:
    containers = f"containers: [{{name: a, image: r.example.com/a:1, resources: {{requests: {{{requests}}}}}}}]"
    pod = manifest("Pod", f"spec: {{{containers}}}")
    result = check({"main.tf": code, "pod.yaml": pod, **more})
    assert result.bugs == []
    return [one.message for one in result.findings if one.rule == "pod-fits-no-node"]


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        ("cpu: 1930m", ""),
        ("cpu: 1931m", "1.931 CPUs; one t3.large leaves 1.93 of its 2 to pods"),
        ("cpu: 16", "16 CPUs; one t3.large leaves 1.93 of its 2 to pods"),
        ("memory: 7Gi", ""),  # the kernel may keep more than is left
        ("memory: 8Gi", "8Gi of memory; one t3.large leaves at most 7.27Gi of its 8Gi to pods"),
        ("memory: 7455Mi", "7,455Mi of memory; one t3.large leaves at most 7,452Mi of its 8,192Mi to pods"),
    ],
)
def test_the_message_states_the_request(requests: str, text: str, check: Check) -> None:
    assert told(check, CLUSTER + SMALL, requests) == ([f"Pod train asks for {text}"] if text else [])


@pytest.mark.parametrize(
    "more",
    [
        GROUP.format(name="large", types='["m5.4xlarge"]', more=""),
        GROUP.format(name="large", types='["t3.large", "m5.4xlarge"]', more=""),
        GROUP.format(name="large", types="var.types", more="") + 'variable "types" {\n  type = list(string)\n}\n',
        GROUP.format(name="large", types='["m5.4xlarge"]', more=TAINT),  # a queue may add the toleration
    ],
    ids=["larger", "one of several", "unknown", "tainted"],
)
def test_a_pod_is_not_reported_if_some_pool_may_have_room(more: str, check: Check) -> None:
    assert told(check, CLUSTER + SMALL + more, "cpu: 4") == []


def test_the_largest_available_machine_is_named(check: Check) -> None:
    more = GROUP.format(name="large", types='["t3.large", "m5.xlarge"]', more=TAINT.replace("NO_S", "PREFER_NO_S"))
    (text,) = told(check, CLUSTER + SMALL + more, "cpu: 4")
    assert "one m5.xlarge leaves 3.92 of its 4 to pods" in text


def test_a_pod_is_not_judged_if_larger_nodes_may_be_added(check: Check) -> None:
    auto = 'compute_config {\n    enabled    = true\n    node_pools = ["system"]\n  }\n}'
    assert told(check, CLUSTER.replace("}", auto) + SMALL, "cpu: 4") == []
    karpenter = 'resource "helm_release" "karpenter" {\n  name  = "karpenter"\n  chart = "karpenter"\n}\n'
    assert told(check, CLUSTER + SMALL + karpenter, "cpu: 4") == []
    autoscaler = karpenter.replace("karpenter", "cluster-autoscaler")
    assert told(check, CLUSTER + SMALL + autoscaler, "cpu: 4") != []
    assert told(check, CLUSTER + SMALL + autoscaler + karpenter, "cpu: 4") == []


def test_a_pod_without_requests_fits_everywhere(check: Check) -> None:
    assert told(check, CLUSTER + SMALL, "") == []


def test_a_pod_without_a_cluster_is_not_judged(check: Check) -> None:
    assert told(check, "", "cpu: 400") == []
