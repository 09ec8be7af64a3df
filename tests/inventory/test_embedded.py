"""Test Kubernetes inside of Terraform: releases, manifests and typed resources, with places in the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Write

pytestmark = pytest.mark.medium

CLUSTER = """
resource "aws_eks_cluster" "main" {
  name = "main"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    desired_size = 0
    min_size     = 0
    max_size     = 400
  }
}

variable "idle" {
  default = "7m"
}

variable "nowhere" {}
"""
RELEASE = 'resource "helm_release" "ca" {\n  chart = "cluster-autoscaler"\n%s\n}\n'
SKIP = "scale-down-unneeded-time"

TEMPLATES = {
    "set-blocks": '  set {\n    name  = "extraArgs.FLAG"\n    value = "7m"\n  }',
    "set-list": '  set = [\n    { name = "extraArgs.FLAG", value = var.idle },\n  ]',
    "dynamic": '  dynamic "set" {\n    for_each = { "FLAG" = "7m" }\n    content {\n      name  = "extraArgs.${set.key}"\n'
    "      value = set.value\n    }\n  }",
    "heredoc": "  values = [<<EOT\nextraArgs:\n  FLAG: 7m\nEOT\n  ]",
    "indented": "  values = [\n    <<-EOT\n      extraArgs:\n        FLAG: \"7m\"\n    EOT\n  ]",
    "filled": "  values = [<<EOT\nextraArgs:\n  FLAG: ${var.idle}\nEOT\n  ]",
    "yamlencode": "  values = [yamlencode({ extraArgs = { FLAG = var.idle } })]",
    "jsonencode": '  values = [jsonencode({ extraArgs = { "FLAG" : "7m" } })]',
    "file": '  values = [file("values.yaml")]',
    "templatefile": '  values = [templatefile("values.tftpl", { idle = var.idle })]',
    "last-wins": '  values = [yamlencode({ extraArgs = { FLAG = "1h" } }), file("values.yaml")]',
    "set-wins": '  values = [yamlencode({ extraArgs = { FLAG = "1h" } })]\n  set {\n    name  = "extraArgs.FLAG"\n'
    '    value = "7m"\n  }',
    "type": '  set {\n    name  = "extraArgs.FLAG"\n    value = "7m"\n    type  = "string"\n  }',
    "archive": '  values = [file("values.yaml")]\n  repository = "https://kubernetes.github.io/autoscaler"',
}  # fmt: skip
STYLES = {name: lines.replace("FLAG", SKIP) for name, lines in TEMPLATES.items()}
FILES = {
    "values.yaml": f"extraArgs:\n  {SKIP}: 7m\n",
    "values.tftpl": f"extraArgs:\n  %{{ if true ~}}\n  {SKIP}: ${{idle}}\n  %{{ endif ~}}\n",
}


@pytest.fixture
def read(write: Write) -> Callable[[str], dict[str, Any]]:
    def collect(text: str, **more: str) -> dict[str, Any]:
        write({"main.tf": CLUSTER + text, **FILES, **more})
        return model.collect(Tree(["."]), Config())

    return collect


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_values_of_a_helm_release_are_read(style: str, read: Callable[..., dict[str, Any]]) -> None:
    (autoscaler,) = read(RELEASE % STYLES[style])["autoscalers"]
    found = autoscaler["fields"]["unneeded_time"]
    assert found["value"] == 420
    path, line, _ = found["from"][0].rsplit(":", 2)
    text = (FILES.get(path) or CLUSTER + RELEASE % STYLES[style]).splitlines()[int(line) - 1]
    assert "7m" in text
    assert autoscaler["fields"]["cluster"]["value"] == "eks/aws_eks_cluster.main"


@pytest.mark.parametrize(
    "chart", ["autoscaler/cluster-autoscaler", "./charts/cluster-autoscaler", "cluster-autoscaler-9.37.0.tgz",
              "https://example.com/cluster-autoscaler-9.50.1.tgz", "oci://example.com/charts/cluster-autoscaler"],
)  # fmt: skip
def test_the_autoscaler_chart_is_found_under_its_names(chart: str, read: Callable[..., dict[str, Any]]) -> None:
    text = (RELEASE % STYLES["file"]).replace('"cluster-autoscaler"', f'"{chart}"')
    assert len(read(text)["autoscalers"]) == 1


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("  values = [var.nowhere]", "var.nowhere has no value"),
        ("  values = var.nowhere", "var.nowhere has no value"),
        ('  set {\n    name  = var.nowhere\n    value = "1"\n  }', "var.nowhere has no value"),
        (f'  set {{\n    name  = "extraArgs.{SKIP}"\n    value = var.nowhere\n  }}', "var.nowhere has no value"),
        (f'  set_sensitive {{\n    name  = "extraArgs.{SKIP}"\n    value = "7m"\n  }}', "the value is sensitive"),
        (f"  values = [<<EOT\nextraArgs:\n  {SKIP}: ${{var.nowhere}}m\nEOT\n  ]", "var.nowhere has no value"),
    ],
)
def test_unknown_values_do_not_become_defaults(lines: str, reason: str, read: Callable[..., dict[str, Any]]) -> None:
    (autoscaler,) = read(RELEASE % lines)["autoscalers"]
    assert autoscaler["fields"]["unneeded_time"]["unknown"] == reason


@pytest.mark.parametrize("lines", ["", f"  values = [yamlencode({{ extraArgs = {{ {SKIP} = null }} }})]"])
def test_defaults_hold_for_null_and_absent_values(lines: str, read: Callable[..., dict[str, Any]]) -> None:
    (autoscaler,) = read(RELEASE % lines)["autoscalers"]
    assert autoscaler["fields"]["unneeded_time"]["value"] == 600


JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  parallelism: %s
  template:
    spec:
      containers:
        - name: main
          image: busybox:1.36
          resources:
            limits:
              nvidia.com/gpu: 8
"""
TYPED = """
resource "kubernetes_job_v1" "train" {
  metadata {
    name = "train"
  }
  spec {
    parallelism = 250
    template {
      metadata {}
      spec {
        dynamic "container" {
          for_each = ["main"]
          content {
            name  = container.value
            image = "busybox:1.36"
            resources {
              limits = {
                "nvidia.com/gpu" = 8
              }
            }
          }
        }
      }
    }
  }
}
"""
OBJECT = """
resource "kubernetes_manifest" "train" {
  manifest = {
    apiVersion = "batch/v1"
    kind       = "Job"
    metadata   = { name = "train" }
    spec = {
      parallelism = local.nodes
      template = { spec = { containers = [{
        name      = "main"
        image     = "busybox:1.36"
        resources = { limits = { "nvidia.com/gpu" = "8" } }
      }] } }
    }
  }
}
locals {
  nodes = 250
}
"""
MANIFESTS = {
    "typed": TYPED,
    "object": OBJECT,
    "heredoc": 'resource "kubectl_manifest" "x" {\n  yaml_body = <<YAML\n%sYAML\n}\n' % (JOB % "250"),
    "templatefile": 'resource "kubectl_manifest" "x" {\n  yaml_body = templatefile("job.tftpl", { nodes = 250 })\n}\n',
    "yamldecode": 'resource "kubernetes_manifest" "x" {\n  manifest = yamldecode(file("job.yaml"))\n}\n',
    "file": 'resource "kubectl_manifest" "x" {\n  yaml_body = file("job.yaml")\n}\n',
    "fileset": 'resource "kubectl_manifest" "x" {\n  for_each  = fileset(path.module, "*.yaml")\n'
    '  yaml_body = file(each.value)\n}\n',
}  # fmt: skip


@pytest.mark.parametrize("style", MANIFESTS)
def test_manifests_in_terraform_run_on_its_cluster(style: str, read: Callable[..., dict[str, Any]]) -> None:
    more = {} if style in ("typed", "object", "heredoc") else {"job.yaml": JOB % "250", "job.tftpl": JOB % "${nodes}"}
    workloads = [w for w in read(MANIFESTS[style], **more)["workloads"] if w["fields"]["pods"]["value"] == 250]
    if style in ("file", "fileset"):
        assert len(workloads) == 1  # the manifest of the tree is the one that is deployed
    fields = workloads[0]["fields"]
    assert [fields[name]["value"] for name in ("kind", "name", "gpus")] == ["Job", "train", 8]
    assert fields["cluster"]["value"] == "eks/aws_eks_cluster.main"


@pytest.mark.slow
def test_findings_and_fixes_are_placed_in_the_code(write: Write) -> None:
    values = """
  values = [<<-EOT
    extraArgs:
      scale-down-unneeded-time: 20m # slow
      max-scale-down-parallelism: 10
    image: {tag: v1.33.0}
  EOT
  ]"""
    text = CLUSTER + RELEASE % values + MANIFESTS["heredoc"]
    write({"main.tf": text})
    findings = {f.rule: f.span.text for f in linter.run(Tree(["."]), Config()).findings}
    assert findings["idle-nodes-kept-long"] == "20m"
    assert findings["slow-node-deletion"] == "10"
    assert findings["docker-hub-image"] == "busybox:1.36"
    outcome = fix.fix(["."], Config(), rules=("idle-nodes-kept-long", "slow-node-deletion"))
    ((_, _, _, new, *_),) = outcome.files
    wanted = text.replace("20m #", "5m #").replace("parallelism: 10", "parallelism: 20")
    assert new.decode() == wanted


def test_flags_removed_in_a_version_are_found_and_fixed(write: Write) -> None:
    values = (
        "  values = [<<-EOT\n    extraArgs:\n      max-empty-bulk-delete: 50\n    image: {tag: v1.33.0}\n  EOT\n  ]"
    )
    write({"main.tf": CLUSTER + RELEASE % values})
    (found,) = [f for f in linter.run(Tree(["."]), Config()).findings if f.rule == "removed-autoscaler-flag"]
    assert found.span.text == "max-empty-bulk-delete"
    outcome = fix.fix(["."], Config(), rules=("removed-autoscaler-flag",))
    ((_, _, _, new, *_),) = outcome.files
    assert b"max-scale-down-parallelism: 50" in new


PROVIDERS = """
resource "aws_eks_cluster" "other" {
  name = "other"
}
resource "aws_eks_node_group" "other" {
  cluster_name = aws_eks_cluster.other.name
  scaling_config {
    min_size = 0
    max_size = 3
  }
}
provider "helm" {
  kubernetes {
    host = aws_eks_cluster.main.endpoint
  }
}
provider "helm" {
  alias = "other"
  kubernetes = {
    host = aws_eks_cluster.other.endpoint
  }
}
resource "helm_release" "a" {
  chart = "cluster-autoscaler"
}
resource "helm_release" "b" {
  provider = helm.other
  chart    = "cluster-autoscaler"
}
"""


def test_the_provider_decides_the_cluster_of_a_release(read: Callable[..., dict[str, Any]]) -> None:
    owners = [a["fields"]["cluster"]["value"] for a in read(PROVIDERS)["autoscalers"]]
    assert owners == ["eks/aws_eks_cluster.main", "eks/aws_eks_cluster.other"]


def test_addons_of_blueprints_are_read(read: Callable[..., dict[str, Any]]) -> None:
    call = """
module "addons" {
  source  = "aws-ia/eks-blueprints-addons/aws"
  version = "~> 1.16"

  enable_cluster_autoscaler = true
  cluster_autoscaler = {
    set = [{ name = "extraArgs.scale-down-unneeded-time", value = "7m" }]
  }
}
"""
    (autoscaler,) = read(call)["autoscalers"]
    assert autoscaler["fields"]["unneeded_time"]["value"] == 420


@pytest.mark.parametrize(
    "text",
    [
        """
resource "kubectl_manifest" "x" {
  for_each  = data.kubectl_file_documents.x.manifests
  yaml_body = each.value
}
data "kubectl_file_documents" "x" {
  content = data.http.x.response_body
}
data "http" "x" {
  url = "https://example.com/x.yaml"
}
""",
        'resource "kubectl_manifest" "x" {\n  yaml_body = "a: [1"\n}\n',
        'resource "kubectl_manifest" "x" {\n  yaml_body = 7\n}\n',
        'resource "kubectl_manifest" "x" {\n  yaml_body = ""\n}\n',
        'resource "kubernetes_manifest" "x" {\n  manifest = { kind = var.nowhere }\n}\n',
        'resource "kubernetes_deployment" "x" {\n}\n',
        'resource "kubernetes_manifest" "x" {\n  manifest = { kind = module.x, x = aws_eks_cluster.main }\n}\nmodule "x" {\n  source = "./m"\n}\n',
        'resource "helm_release" "x" {\n  set_list {\n    name = "a"\n    value = [1, aws_eks_cluster.main]\n  }\n}\n',
        'resource "helm_release" "x" {\n  chart = var.nowhere\n  values = "x"\n  set = 3\n}\n',
        'resource "helm_release" "x" {\n  values = [null, 1, "- a", {}]\n  set {\n    name = "a..b[x].c[2]"\n  }\n}\n',
    ],
)  # fmt: skip
def test_nonsense_in_embedded_objects_causes_no_bug(text: str, write: Write) -> None:
    write({"main.tf": CLUSTER + text, "m/main.tf": ""})
    result = linter.run(Tree(["."]), Config())
    assert not result.bugs


def test_blocks_that_may_exist_are_unknown(write: Write) -> None:
    volume = """
        dynamic "volume" {
          for_each = var.nowhere == null ? [] : [1]
          content {
            name = "certificates"
            empty_dir {}
          }
        }"""
    container = 'container {\n name = "x"\n image = "x:1"\n }'
    spec = f'metadata {{\n labels = {{ app = "x" }}\n }}\n spec {{\n {volume}\n {container}\n }}'
    text = f'resource "kubernetes_deployment" "x" {{\n metadata {{\n name = "x"\n }}\n spec {{\n template {{\n {spec}\n }}\n }}\n}}\n'
    write({"main.tf": CLUSTER + text})
    result = linter.run(Tree(["."]), Config())
    assert not result.bugs
    (workload,) = result.world.inventory.workloads
    assert type(workload.templates[0].volumes) is Unknown
