"""Test releases made by modules that kcheck does not read: their values are among the arguments of the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.text.values import Known, Unknown, known

if TYPE_CHECKING:
    from tests.conftest import Read


CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
CALL = 'module "addons" {\n  source = "%s"\n\n  cluster_name = aws_eks_cluster.main.name\n%s\n}\n'
IDLE = "extraArgs:\n  scale-down-unneeded-time: 7m\nimage:\n  tag: v1.33.0\n"
VALUES = f"values = [<<-EOT\n{IDLE}EOT\n  ]"
FILES = {"ca.yaml": IDLE, "ca.tftpl": IDLE.replace("7m", "${idle}")}
ENCODED = 'yamlencode({ extraArgs = { "scale-down-unneeded-time" = "7m" }, image = { tag = "v1.33.0" } })'
SET = """[
    { name = "extraArgs.scale-down-unneeded-time", value = "7m" },
    { name = "image.tag", value = "v1.33.0" },
  ]"""

STYLES = {
    "config": f"enable_cluster_autoscaler = true\ncluster_autoscaler_config = {{\n{VALUES}\n}}",
    "helm-config": f"cluster_autoscaler_helm_config = {{\n{VALUES}\n}}",
    "by-name": f"cluster_autoscaler = {{\n{VALUES}\n}}",
    "template": 'cluster_autoscaler = {\nvalues = [templatefile("${path.module}/ca.tftpl", { idle = "7m" })]\n}',
    "file": 'cluster_autoscaler = {\nvalues = [file("ca.yaml")]\n}',
    "encoded": f"cluster_autoscaler = {{\nvalues = [{ENCODED}]\n}}",
    "set": f"cluster_autoscaler = {{\nset = {SET}\n}}",
    "inside": f"cluster_autoscaler = {{\nenabled = true\nhelm_config = {{\n{VALUES}\n}}\n}}",
    "text": 'cluster-autoscaler = {\nenabled = true\nextra_values = file("ca.yaml")\n}',
    "releases": f'helm_releases = {{\nmine = {{\nchart = "cluster-autoscaler"\n{VALUES}\n}}\n}}',
    "list": f'charts = [{{\nname = "mine"\nchart = "cluster-autoscaler"\n{VALUES}\n}}]',
    "flat": f'chart = "cluster-autoscaler"\n{VALUES}',
    "flat-set": f'chart = "cluster-autoscaler"\nset = {SET}',
    "argument": 'cluster_autoscaler_helm_values = file("ca.yaml")',
    "local": "cluster_autoscaler = local.autoscaler",
}
LOCAL = f"locals {{\n  autoscaler = {{\n{VALUES}\n  }}\n}}\n"


@pytest.mark.parametrize("style", STYLES)
def test_values_reach_the_chart_in_a_wrapper_module(style: str, read: Read) -> None:
    call = CALL % ("git::https://git.example.com/addons.git", STYLES[style])
    (autoscaler,) = read({"main.tf": CLUSTER + LOCAL + call, **FILES}).autoscalers
    assert known(autoscaler.unneeded_time) == 420
    assert known(autoscaler.version) == "v1.33.0"
    assert isinstance(autoscaler.expander, Unknown)
    assert isinstance(autoscaler.cluster, Known)
    assert "scale-down-unneeded-time" in autoscaler.unneeded_time.origin.written.source.data.decode()  # type: ignore[union-attr]


def test_the_module_source_names_the_chart_for_flat_arguments(read: Read) -> None:
    call = CALL % ("example/eks-cluster-autoscaler/aws", f"values = {ENCODED}")
    (autoscaler,) = read({"main.tf": CLUSTER + call}).autoscalers
    assert known(autoscaler.unneeded_time) == 420


@pytest.mark.parametrize(
    ("arguments", "chart"),
    [
        ("enable_cluster_autoscaler = true", "cluster-autoscaler"),
        ("karpenter_enabled = true", "karpenter"),
        ("karpenter = { enabled = true }", "karpenter"),
        ("karpenter = { enabled = true, helm = { enabled = true } }", "karpenter"),
    ],
)
def test_an_autoscaler_enabled_by_a_flag_is_read(arguments: str, chart: str, read: Read) -> None:
    found = read({"main.tf": CLUSTER + CALL % ("example/addons/aws", arguments)})
    assert [known(addon.name) for addon in found.addons] == [chart]


@pytest.mark.parametrize(
    "arguments",
    [
        f"enable_cluster_autoscaler = false\ncluster_autoscaler_config = {{\n{VALUES}\n}}",
        f"cluster_autoscaler = {{\nenabled = false\n{VALUES}\n}}",
        'condition = {\nvalues = ["cluster-autoscaler"]\n}',
        'settings = [{ name = "containerInsights", value = "enabled" }]',
        'filters = [{ name = "a", values = ["b"] }]',
        'node_config = { machine_type = "n2-standard-8" }',
    ],
)
def test_disabled_releases_and_other_arguments_are_not_read(arguments: str, read: Read) -> None:
    found = read({"main.tf": CLUSTER + CALL % ("example/addons/aws", arguments)})
    assert found.autoscalers == []
    assert found.addons == []
    assert found.workloads == []


def test_images_in_the_values_of_a_wrapper_are_seen(read: Read) -> None:
    values = 'values = [yamlencode({ image = { repository = "quay.io/example/operator", tag = "main" } })]'
    found = read({"main.tf": CLUSTER + CALL % ("example/addons/aws", f"gpu_operator_config = {{\n{values}\n}}")})
    (workload,) = found.workloads
    assert [known(image.text) for image in workload.images] == ["quay.io/example/operator:main"]
    assert [known(addon.name) for addon in found.addons] == ["gpu-operator"]


def test_addons_next_to_those_of_a_skeleton_are_read_from_its_call(read: Read) -> None:
    arguments = f"""  version = "1.20.0"
  enable_kube_prometheus_stack = true
  enable_metrics_server        = false
  kube_prometheus_stack = {{
    values = [yamlencode({{ prometheus = {{ image = {{ repository = "quay.io/prometheus/prometheus", tag = "main" }} }} }})]
  }}
  metrics_server = {{ values = ["image: {{repository: a/b, tag: c}}"] }}
  enable_cluster_autoscaler = true
  cluster_autoscaler = {{ set = {SET} }}
"""
    found = read({"main.tf": CLUSTER + CALL % ("aws-ia/eks-blueprints-addons/aws", arguments)})
    assert sorted(str(known(addon.name)) for addon in found.addons) == ["cluster-autoscaler", "kube-prometheus-stack"]
    assert [known(image.text) for one in found.workloads for image in one.images] == [
        "quay.io/prometheus/prometheus:main"
    ]
    assert len(found.autoscalers) == 1


def test_the_arguments_of_a_module_call_decide_the_cluster(read: Read) -> None:
    other = CLUSTER.replace("main", "other").replace("train", "serve")
    call = CALL % ("example/addons/aws", STYLES["by-name"])
    (autoscaler,) = read({"main.tf": 'provider "aws" {\n}\n' + other + CLUSTER + call}).autoscalers
    assert isinstance(autoscaler.cluster, Known)
    assert autoscaler.cluster.value.address == "aws_eks_cluster.main"


JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {parallelism: 8}\n"
HANDED = {
    "text": f"extra = <<-EOT\n{JOB}EOT",
    "list": f"extra = [<<-EOT\n{JOB}---\n{JOB.replace('train', 'second')}EOT\n]",
    "deep": f"addons = {{ gpu = {{ objects = {{ a = <<-EOT\n{JOB}EOT\n}} }} }}",
    "map": 'extra = [{ apiVersion = "batch/v1", kind = "Job", metadata = { name = "train" }, spec = { parallelism = 8 } }]',
    "encoded": 'extra = yamlencode({ apiVersion = "batch/v1", kind = "Job", metadata = { name = "train" }, spec = { parallelism = 8 } })',
    "reference": "manifests = local.jobs",
}


@pytest.mark.parametrize("style", HANDED)
def test_objects_in_module_arguments_are_read(style: str, read: Read) -> None:
    local = f"locals {{\n  jobs = [<<-EOT\n{JOB}EOT\n  ]\n}}\n"
    found = read({"main.tf": CLUSTER + local + CALL % ("example.com/addons/aws", HANDED[style])})
    (cluster,) = found.clusters
    assert [known(one.name) for one in found.workloads][:1] == ["train"]
    assert len(found.workloads) == (2 if style == "list" else 1)
    assert {found.cluster_of[one] for one in found.workloads} == {cluster}
    assert {one.place.source.path for one in found.workloads} == {"main.tf"}


def test_module_arguments_that_merely_mention_yaml_are_not_objects(read: Read) -> None:
    text = 'note = "apiVersion of nothing"\nscript = <<-EOT\n#!/bin/sh\ncat <<X\napiVersion: v1\nX\nEOT\ndeep = [[[[[[[["apiVersion: v1"]]]]]]]]'
    assert read({"main.tf": CLUSTER + CALL % ("example.com/addons/aws", text)}).workloads == []
