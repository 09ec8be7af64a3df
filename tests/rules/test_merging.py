"""Test that one cause is one finding, which names all list items, images or copies of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter, merging
from kcheck.fix import fix
from kcheck.report import text
from kcheck.report.layout import plain
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from kcheck.text.findings import Finding
    from tests.conftest import Write


pytestmark = pytest.mark.medium

MODULES = """
module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 6.0"

  name            = "train"
  cidr            = "10.0.0.0/16"
  azs             = ["us-east-1a", "us-east-1b", "us-east-1c"]
  private_subnets = ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"]
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name       = "train"
  subnet_ids = module.vpc.private_subnets

  eks_managed_node_groups = {
    a = {
      instance_types = ["p5.48xlarge"]
      max_size       = 60
    }

    b = {
      instance_types = ["p5.48xlarge"]
      max_size       = 60
    }
  }
}
"""
PODS = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
spec:
  replicas: 300
  template:
    spec:
      containers:
        - name: first
          image: k8s.gcr.io/first:1
          resources: {requests: {cpu: 1, memory: 1Gi}}
        - name: second
          image: k8s.gcr.io/second:1
          resources: {requests: {cpu: 1, memory: 1Gi}}
"""


def found(rule: str) -> list[Finding]:
    return [finding for finding in linter.run(Tree(["."]), Config()).findings if finding.rule == rule]


def named(finding: Finding) -> list[str]:
    return [name.rpartition(".")[2] for name in (finding.object, *finding.also)]


def test_findings_on_entries_of_a_list_are_merged(write: Write) -> None:
    write({"main.tf": MODULES})
    (finding,) = found("subnet-too-small")
    assert named(finding) == ["private[0]", "private[1]", "private[2]"]
    assert finding.fix is not None
    assert finding.fix.title == (
        'set private_subnets[0] = "10.0.32.0/19"; set private_subnets[1] = "10.0.64.0/19"; '
        'set private_subnets[2] = "10.0.96.0/19"'
    )


def test_findings_on_entries_of_a_map_are_merged(write: Write) -> None:
    write({"main.tf": MODULES})
    (finding,) = found("gpu-pool-never-empty")
    assert named(finding) == ['this["a"]', 'this["b"]']
    lines = [related.span.begin.line for related in finding.related if related.message.startswith("also ")]
    assert lines == [MODULES[: MODULES.index("b = {")].count("\n") + 1]


def test_the_fix_of_a_merged_finding_fixes_all_parts(write: Write) -> None:
    write({"main.tf": MODULES})
    outcome = fix.fix(["."], Config(), rules=("gpu-pool-never-empty", "subnet-too-small"), safeties=("costs", "unsafe"))
    assert outcome.refused == []
    (file,) = outcome.files
    text = file.new.decode()
    assert text.count("min_size") == 2
    assert '["10.0.32.0/19", "10.0.64.0/19", "10.0.96.0/19"]' in text


CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
POOL = """
resource "aws_eks_node_group" "NAME" {
  cluster_name   = aws_eks_cluster.main.name
  subnet_ids     = ["subnet-1"]
  instance_types = ["p5.48xlarge"]

  scaling_config {
    min_size     = 1
    max_size     = 60
    desired_size = 1
  }
}
"""


def test_findings_on_separate_resources_are_not_merged(write: Write) -> None:
    write({"main.tf": CLUSTER + POOL.replace("NAME", "a") + POOL.replace("NAME", "b")})
    assert [finding.also for finding in found("gpu-pool-never-empty")] == [(), ()]


@pytest.mark.parametrize(("pools", "also"), [("ab", [0, 0]), ("abc", [2])])
def test_a_finding_repeated_in_many_files_is_printed_once(pools: str, also: list[int], write: Write) -> None:
    write({"eks.tf": CLUSTER, **{f"pool-{name}.tf": POOL.replace("NAME", name) for name in pools}})
    own = found("gpu-pool-never-empty")
    assert [len(finding.also) for finding in merging.merge_repeated(own)] == also
    assert len(own) == len(pools)  # reports for programs have each at its place
    printed = CliRunner().invoke(cli, ["check", "--select", "gpu-pool-never-empty"]).stdout
    assert printed.count("warning (waste) gpu-pool-never-empty:") == len(also)
    assert ("also: " in printed) is (len(also) == 1)


def test_a_finding_repeated_over_folders_is_printed_once_with_its_places(write: Write) -> None:
    write({f"{name}/main.tf": CLUSTER + POOL.replace("NAME", name) for name in "abcdefg"})
    (finding,) = merging.merge_repeated(found("gpu-pool-never-empty"))
    assert len(finding.parts) == 7
    printed = CliRunner().invoke(cli, ["check", "--select", "gpu-pool-never-empty"]).stdout
    assert [f"also: {name}/main.tf:11  GPU pool aws_eks_node_group.{name} keeps" in printed for name in "bcde"] == [
        True,
        True,
        True,
        False,
    ]
    assert "also: 3 more" in printed


OLD = 'resource "aws_eks_cluster" "main" {\n  name    = "train"\n  version = "VERSION"\n}\n'


@pytest.mark.parametrize(("names", "also"), [("ab", [0, 0]), ("abcd", [3])])
def test_errors_with_the_same_remedy_are_printed_once(names: str, also: list[int], write: Write) -> None:
    """Old versions in many clusters need one and the same action."""
    write({f"{name}/main.tf": OLD.replace("VERSION", "1.27" if name < "c" else "1.26") for name in names})
    own = found("unsupported-kubernetes")
    assert [len(one.also) for one in merging.merge_repeated(own)] == also
    assert len(own) == len(names)


def test_errors_with_different_remedies_are_printed_separately(write: Write) -> None:
    """A full range has numbers of its own, and needs its own action."""
    subnets = MODULES.replace('cidr = "10.0.0.0/16"', 'cidr = "10.NUMBER.0.0/16"').replace('"10.0.', '"10.NUMBER.')
    write({f"{number}/main.tf": subnets.replace("NUMBER", number) for number in "123"})
    own = found("subnet-too-small")
    assert len({one.fix and one.fix.title for one in own}) == 3
    assert merging.merge_repeated(own) == own


def test_images_in_one_file_are_merged_into_one_finding(write: Write) -> None:
    other = PODS.replace("NAME", "b").replace("first:1", "third:1").replace("second:1", "fourth:1")
    write({"pods.yaml": f"{PODS}---{other}"})
    (finding,) = found("retired-registry")
    assert len(finding.also) == 3
    assert len(finding.changes) == 4


@pytest.mark.parametrize(("copies", "findings"), [(2, 2), (3, 1)])
def test_findings_in_many_copies_of_a_file_are_merged(copies: int, findings: int, write: Write) -> None:
    """Two copies may well be environments."""
    write({f"lesson-{i}/pods.yaml": PODS for i in range(copies)})
    assert len(found("retired-registry")) == findings


@pytest.mark.parametrize(("files", "findings"), [(7, 7), (8, 1)])
def test_equal_findings_in_many_files_of_one_name_are_merged(files: int, findings: int, write: Write) -> None:
    """Recipes adapted from one template have one cause; a few may be environments."""
    write({f"recipe-{i}/pods.yaml": f"# recipe {i}{PODS}" for i in range(files)})
    assert len(found("retired-registry")) == findings


def check(*flags: str) -> list[dict[str, object]]:
    output = CliRunner().invoke(cli, ["check", ".", "--format", "json", *flags], catch_exceptions=False).stdout
    findings: list[dict[str, object]] = json.loads(output)["findings"]
    return findings


def test_a_baseline_knows_each_part_of_a_merged_finding(write: Write) -> None:
    """This includes a baseline written when each part was a finding of its own."""
    folder = write({"main.tf": MODULES})
    CliRunner().invoke(cli, ["baseline", "."], catch_exceptions=False)
    path = folder / "kcheck-baseline.json"
    data = json.loads(path.read_text())
    data["findings"] = [
        entry | {"objects": [name]} for entry in data["findings"] for name in entry["objects"]
    ]  # as they were
    path.write_text(json.dumps(data))
    assert check("--baseline") == []
    third = '    c = {\n      instance_types = ["p5.48xlarge"]\n      max_size       = 60\n    }\n  }\n}\n'
    write({"main.tf": MODULES.removesuffix("  }\n}\n") + third})
    new = [finding for finding in check("--baseline") if finding["rule"] == "gpu-pool-never-empty"]
    assert [(str(one["object"])[-3:-1], one["also"]) for one in new] == [('c"', [])]


def test_a_comment_silences_one_part_of_a_merged_finding(write: Write) -> None:
    folder = write({"main.tf": MODULES})
    arguments = ["ignore", "always in use", "--select", "gpu-pool-never-empty"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert (folder / "main.tf").read_text().count("always in use") == 2, result.output
    assert found("gpu-pool-never-empty") == []


PRICED = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "this" {
  for_each        = { a = "g5.2xlarge", b = "p5.48xlarge" }
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = each.key
  subnet_ids      = ["subnet-1"]
  instance_types  = [each.value]

  scaling_config {
    min_size     = 4
    max_size     = 8
    desired_size = 4
  }
}

provider "aws" {
  region = "us-east-1"
}
"""


def test_the_most_expensive_finding_leads_and_others_keep_their_costs(write: Write) -> None:
    write({"main.tf": PRICED})
    (finding,) = found("gpu-pool-never-empty")
    assert finding.object.endswith('["b"]')
    assert [name.endswith('["a"]') for name in finding.also] == [True]
    (other,) = [part for part in finding.parts if part.object != finding.object]
    assert f"also: {other.message}" in plain(text.finding_lines(finding))


RAY_JOB = "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: NAME}\nspec:\n  rayClusterSpec:\n    headGroupSpec:\n      template: {spec: {containers: [{name: head, image: quay.io/a/ray:2, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n"


def test_manifests_with_one_remedy_are_printed_as_one_finding(write: Write) -> None:
    write({f"{folder}/one.yaml": RAY_JOB.replace("NAME", f"one-{folder}") for folder in "ab"})
    kept = "  deletionStrategy: {onSuccess: {policy: DeleteNone}, onFailure: {policy: DeleteNone}}\n"
    own = found("ray-cluster-outlives-job")
    assert [one.also for one in own] == [()] * 2
    assert [one.also for one in merging.merge_repeated(own)] == [("b/one.yaml:RayJob/one-b",)]
    write({"b/one.yaml": RAY_JOB.replace("NAME", "one-b").replace("spec:\n", f"spec:\n{kept}", 1)})  # another remedy
    assert [one.also for one in merging.merge_repeated(found("ray-cluster-outlives-job"))] == [()] * 2


def test_chart_templates_with_one_remedy_are_printed_as_one_finding(write: Write) -> None:
    template = RAY_JOB.replace("name: NAME", 'name: "{{ .Release.Name }}-NAME"')
    files = {f"templates/{name}.yaml": template.replace("NAME", name) for name in ("one", "two")}
    write({"Chart.yaml": "apiVersion: v2\nname: ray\nversion: 1.0.0\n", **files})
    own = found("ray-cluster-outlives-job")
    assert [one.also for one in own] == [()] * 2
    assert [len(one.also) for one in merging.merge_repeated(own)] == [1]
