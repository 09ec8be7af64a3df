"""Test the report on what `check` judged, what it could not judge, and which inputs are missing."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.report.text import other_objects
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Related, unknown_input
from kcheck.text.text import Skipped
from kcheck.text.values import Unknown, because

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.text.findings import Finding
    from kcheck.text.text import Span
    from tests.conftest import Write


pytestmark = pytest.mark.medium

POOLS = """
variable "pools" {}

resource "google_container_cluster" "main" {
  name                     = "train"
  location                 = "europe-west4-a"
  remove_default_node_pool = true
  initial_node_count       = 1
  deletion_protection      = false
}

resource "google_container_node_pool" "each" {
  for_each       = var.pools
  cluster        = google_container_cluster.main.id
  node_count     = each.value
}
"""
GROUP = """
variable "most" { type = number }
resource "aws_eks_cluster" "main" {
  name    = "train"
  version = "1.33"
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]
  scaling_config {
    min_size = 0
    max_size = var.most
  }
}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: "quay.io/a/b:1"}]
"""
NEEDS = "checked in part: infra/main.tf:4 needs var.pools"


def check(*arguments: str) -> Any:
    """Return the JSON report of `kcheck check`."""
    return json.loads(CliRunner().invoke(cli, ["check", ".", "--format", "json", *arguments]).stdout)


def text(*arguments: str) -> str:
    """Return the output of a command."""
    return CliRunner().invoke(cli, list(arguments)).output


@pytest.fixture
def tree(write: Write) -> Path:
    """Write a cluster whose pools have no value, a tfvars file that sets them, and a job."""
    return write({
        "kcheck.yaml": "clusters: [{root: infra}]\n",
        "infra/main.tf": POOLS,
        "infra/envs/prod.tfvars": "pools = { gpu = 8 }\n",
        "elsewhere/other.tfvars": "pools = { gpu = 9 }\n",
        "job.yaml": JOB,
    })  # fmt: skip


@pytest.mark.usefixtures("tree")
def test_an_unjudged_cluster_is_named_with_its_missing_input() -> None:
    output = text("check", ".")
    assert "nothing found in what was checked" in output
    assert "1 workload checked." in output
    line = next(line for line in output.splitlines() if NEEDS in line)
    assert line.startswith("1 cluster checked in part: infra/main.tf:4 needs var.pools (")
    assert "checks undecided); " in line
    assert line.endswith("; set it with --var-file infra/envs/prod.tfvars")


def test_inputs_that_a_cluster_needs_are_counted_once(write: Write) -> None:
    """The input that its nodes need is in the line above; the others are listed."""
    write({"main.tf": GROUP})
    lines = iter(text("check", ".").splitlines())
    assert any(line.startswith("1 cluster checked in part: main.tf:3 needs var.most (") for line in lines)
    assert re.fullmatch(r"1 more input unknown, \d+ checks undecided in all:", next(lines))
    assert next(lines).startswith("  the subnet is given by id")
    assert not next(lines).startswith("  ")


@pytest.mark.usefixtures("tree")
def test_a_cluster_is_judged_once_its_input_is_given() -> None:
    output = text("check", ".", "--var-file", "infra/envs/prod.tfvars")
    assert "1 cluster, 1 pool, 1 workload checked." in output
    assert "checked in part" not in output
    assert "unknown" not in output


@pytest.mark.usefixtures("tree")
def test_json_lists_what_was_not_judged() -> None:
    judged = check()["judged"]
    assert (judged["clusters"], judged["pools"], judged["workloads"]) == (0, 0, 1)
    one = judged["not_judged"][0]
    assert (one["path"], one["line"], one["input"]["reason"]) == ("infra/main.tf", 4, "var.pools has no value")
    assert (one["input"]["path"], one["input"]["line"]) == ("infra/main.tf", 2)
    assert one["input"]["checks"] == sum(one["input"]["rules"].values()) > 0
    assert check("--var-file", "infra/envs/prod.tfvars")["judged"]["not_judged"] == []


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("format_", ["sarif", "markdown", "github"])
def test_other_formats_say_what_was_not_judged(format_: str) -> None:
    output = text("check", ".", "--format", format_).replace("\\", "")
    assert "checked in part" in output
    assert "set it with --var-file infra/envs/prod.tfvars" in output


@pytest.mark.usefixtures("tree")
def test_the_job_summary_says_what_was_not_judged_even_without_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    text("check", ".", "--format", "github")
    assert NEEDS in summary.read_text().replace("\\", "")


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["--fail-on", "undecided"], 1),
        (["--fail-on", "undecided", "--exit-zero"], 0),
        (["--fail-on", "undecided", "--var-file", "infra/envs/prod.tfvars"], 0),
    ],
)
def test_a_check_can_fail_on_undecided_checks(arguments: list[str], code: int) -> None:
    assert CliRunner().invoke(cli, ["check", ".", *arguments]).exit_code == code


def test_failing_on_undecided_also_fails_on_warnings(write: Write) -> None:
    write({"job.yaml": JOB.replace("Never\n", "Never\n      terminationGracePeriodSeconds: 7200\n"), "kcheck.yaml": ""})
    found = check()["summary"]
    expected = int(found["warning"] + found["error"] + found["undecided"] > 0)
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == expected


@pytest.mark.usefixtures("tree")
def test_show_lists_missing_inputs_with_place_and_remedy() -> None:
    output = text("show", ".", "--undecided")
    block = output[output.index("var.pools has no value") :].splitlines()
    assert block[1] == '  infra/main.tf:2  variable "pools" {}'
    assert block[2] == "  set it with --var-file infra/envs/prod.tfvars"
    data = json.loads(text("show", ".", "--undecided", "--format", "json"))
    assert data["inputs"][0]["reason"] == "var.pools has no value"
    report = check()
    assert data == {"inputs": report["inputs"], "judged": report["judged"]}


def test_inputs_are_ordered_by_the_number_of_waiting_checks(write: Write) -> None:
    write({"main.tf": POOLS + 'variable "size" {}\n' + _pool("var.size")})
    counts = [one["checks"] for one in check()["inputs"]]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) >= 1


def _pool(count: str) -> str:
    return f"""
resource "google_container_node_pool" "one" {{
  cluster    = google_container_cluster.main.id
  node_count = {count}
}}
"""


def test_the_input_in_a_reason_is_its_first_cause() -> None:
    pools = because(Unknown("var.pools has no value"), text="the cluster of default pool is not known")
    value = because(pools, text="pools of main may be missing")
    assert value.reason == (
        "pools of main may be missing: the cluster of default pool is not known: var.pools has no value"
    )
    assert unknown_input(value).cause == "var.pools has no value"
    assert unknown_input(Unknown("it cannot be iterated: no map")).cause == "it cannot be iterated: no map"


@pytest.mark.usefixtures("tree")
def test_an_input_is_counted_once_for_all_checks_waiting_for_it() -> None:
    reasons = [one["reason"] for one in check()["inputs"]]
    assert reasons.count("var.pools has no value") == 1
    assert not any("var.pools" in reason for reason in reasons if reason != "var.pools has no value")


def test_a_missing_input_is_never_placed_inside_kcheck(write: Write) -> None:
    """Inputs that a skeleton needs are placed at the call."""
    write({"main.tf": MODULE})
    data = check("--info")
    assert data["inputs"]
    assert {one["path"] for one in data["inputs"]} == {"main.tf"}


MODULE = """
data "aws_subnets" "private" {}

module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "~> 21.0"
  name               = "train"
  kubernetes_version = "1.34"
  subnet_ids         = data.aws_subnets.private.ids

  eks_managed_node_groups = {
    gpu = { instance_types = ["p5.48xlarge"], min_size = 0, max_size = length(data.aws_subnets.private.ids), desired_size = 0 }
  }
}
"""


def test_a_folder_with_only_an_encrypted_manifest_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with only an encrypted manifest is not a folder without anything relevant."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_bytes(b"\0GITCRYPT\0abc")
    result = CliRunner().invoke(cli, ["check", "."])
    assert "not read: job.yaml: encrypted, values unknown" in result.output
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == 1


def test_a_cluster_without_waiting_checks_still_names_its_var_file(tree: Path) -> None:
    """No check selected by `--select` needs the pools, but the report still says how to set them."""
    assert tree.is_dir()
    assert "set it with --var-file infra/envs/prod.tfvars" in text("check", ".", "--select", "docker-hub-image")


def test_unread_files_are_reported(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"job.yaml": JOB})
    skipped = [
        Skipped("secret.yaml", "encrypted, values unknown"),
        Skipped("vendor", "maintained by others", by_choice=True),
    ]
    walk = Tree._walk

    def with_skipped(self: Tree, top: str) -> None:
        walk(self, top)
        self.skipped += skipped

    monkeypatch.setattr(Tree, "_walk", with_skipped)
    assert "not read: secret.yaml: encrypted, values unknown" in text("check", ".")
    assert check()["judged"]["not_read"][0]["path"] == "secret.yaml"
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == 1
    del skipped[0]
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == 0


TEMPLATE = JOB.replace("{name: train}", "\n  name: train\n  {{- if .Values.on }}\n  labels: {a: b}\n  {{- end }}")


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            {
                "train/Chart.yaml": "{apiVersion: v2, name: train, version: 0.1.0}",
                "train/templates/a.yaml": TEMPLATE.replace("if .Values.on", "if randAlpha 5"),
            },
            "not read: train/templates/a.yaml:6: the chart train was not rendered: it uses randAlpha; --render helm renders it",
        ),
        ({"jobs/train.yaml": TEMPLATE}, "not read: jobs/: 1 template of manifests; render and check them"),
        (
            {"kustomization.yaml": "resources: [a.yaml, b.yaml]", "c.yaml": JOB},
            "not read: kustomization.yaml:1: `a.yaml` does not exist; and 1 more; see `kubectl kustomize`",
        ),
    ],
)
def test_charts_that_were_not_rendered_are_not_judged(files: dict[str, str], line: str, write: Write) -> None:
    write({**files, "job.yaml": JOB})
    output = text("check", ".").splitlines()
    assert output[0].startswith("nothing found in what was checked")
    assert line in output
    assert [one["path"] for one in check()["judged"]["not_read"]] == [line.split(": ")[1].partition(":")[0]]
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == 1


@pytest.mark.parametrize(
    "files",
    [
        {"x/Chart.yaml": "{apiVersion: v2, name: x, version: 0.1.0}", "x/charts/y/templates/a.yaml": TEMPLATE},
        {"x/Chart.yaml": "{apiVersion: v2, name: x, version: 0.1.0, type: library}", "x/templates/a.yaml": TEMPLATE},
        {"x.yaml": TEMPLATE.replace("batch/v1", "v1").replace("kind: Job", "kind: ConfigMap")},
        {"kustomization.yaml": "resources: [job.yaml]\nvars: [{name: A, objref: {kind: Job, name: train}}]"},
    ],
    ids=["dependency of a chart", "library", "of no kind that is judged", "values only"],
)
def test_subcharts_and_library_charts_are_not_reported_as_skipped(files: dict[str, str], write: Write) -> None:
    write({**files, "job.yaml": JOB})
    assert "not read" not in text("check", ".")
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == 0


MACHINES = """
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: a}
---
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: b}
"""
AKS = "Microsoft.ContainerService/managedClusters"
COMMANDS = "the flags of this command are not read"
JUDGED = "kcheck judges EKS, GKE, AKS, ACK, kubeadm, k3s, RKE, Talos, OpenShift, kops, Kubespray and Cluster API"


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"main.tf": 'resource "k0s_cluster" "train" {}'}, f"main.tf:1: k0s_cluster.train; {JUDGED}"),
        ({"machines.yaml": MACHINES}, f"machines.yaml:3: MachineSet; {JUDGED}"),
        (
            {
                "gke.yaml": "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerCluster\nmetadata: {name: a}\n"
            },
            f"gke.yaml:2: ContainerCluster; {JUDGED}",
        ),
        (
            {"serverless.yml": "resources:\n  Resources:\n    A:\n      Type: AWS::EKS::Cluster\n"},
            "serverless.yml:4: AWS::EKS::Cluster; no template of CloudFormation that kcheck reads",
        ),
        (
            {"up.sh": "#!/bin/sh\n# az aks create\nkops create cluster train \\\n  --node-count 9\n"},
            f"up.sh:3: kops create cluster train --node-count 9; {COMMANDS}",
        ),
        (
            {"Makefile": "up:\n\teksctl create cluster -f a.yaml\ngpu:\n\tk3sup install --ip 10.0.0.1\n"},
            f"Makefile:4: k3sup install --ip 10.0.0.1; {COMMANDS}",
        ),
        (
            {"up.sh": "#!/bin/sh\nrosa create cluster -c a && oc apply -f a.yaml\n"},
            f"up.sh:2: rosa create cluster -c a; {COMMANDS}",
        ),
        (
            {"talos/rules.mk": "config:\n\ttalosctl gen config ${NAME} https://${ENDPOINT}:6443\n"},
            f"talos/rules.mk:2: talosctl gen config ${{NAME}} https://${{ENDPOINT}}:6443; {COMMANDS}",
        ),
        (
            {
                "app/cdk.json": "{}",
                "app/lib/a.ts": "// new eks.Cluster(\nnew eks.Vpc();\nnew aws_eks.FargateCluster(this)\n",
                "other/b.ts": "eks.Cluster()",
            },
            "app/lib/a.ts:3: aws_eks.FargateCluster; programs are not run; kcheck reads the templates that `cdk synth` writes",
        ),
        (
            {"Pulumi.yaml": "name: a\n", "__main__.py": "pool = 1\ncluster = gcp.container.Cluster('a')\n"},
            "__main__.py:2: container.Cluster; programs are not run; kcheck reads the templates that `cdk synth` writes",
        ),
        (
            {"buildspec.yml": "phases:\n  build:\n    commands: [aws eks create-cluster --name a]\n"},
            f"buildspec.yml:3: aws eks create-cluster --name a; {COMMANDS}",
        ),
        (
            {"up.sh": "echo up\nxpk cluster create-pathways --cluster a --tpu-type v5p-8\n"},
            f"up.sh:2: xpk cluster create-pathways --cluster a --tpu-type v5p-8; {COMMANDS}",
        ),
        (
            {
                "aks.bicep": f"param a string\nresource old '{AKS}@2025-01-01' existing = {{}}\nresource a '{AKS}@2025-01-01' = {{}}\n"
            },
            f"aks.bicep:3: {AKS}; Bicep and templates of Azure are not read",
        ),
        (
            {"main.bicep": "module aks 'br/public:avm/res/container-service/managed-cluster:0.12.0' = {}\n"},
            "main.bicep:1: container-service/managed-cluster; Bicep and templates of Azure are not read",
        ),
        (
            {"azuredeploy.json": f'{{\n  "resources": [{{"type": "{AKS}"}}]\n}}'},
            f"azuredeploy.json:2: {AKS}; Bicep and templates of Azure are not read",
        ),
    ],
    ids=[
        "Terraform",
        "OpenShift",
        "Config Connector",
        "CloudFormation",
        "a command",
        "another command",
        "a command before one with a file",
        "a command of Talos",
        "a program of CDK",
        "a program of Pulumi",
        "a command of a build",
        "a command of xpk",
        "Bicep",
        "a module of Bicep",
        "a template of Azure",
    ],
)
def test_clusters_that_kcheck_does_not_judge_are_named(files: dict[str, str], line: str, write: Write) -> None:
    write(files)
    assert text("check", ".").splitlines() == ["nothing found in what was checked.", f"cluster not judged: {line}"]
    assert f"cluster not judged:\n  {line}" in text("show", ".", "--undecided")
    assert [one["what"] for one in check()["judged"]["not_read"]] == ["cluster not judged"]
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == 1


SWITCHES = 'variable "on" {\n  default = false\n}\nvariable "off" {\n  default = true\n}\nvariable "each" {\n  default = {}\n}\n'
CLUSTER = 'resource "aws_eks_cluster" "a" {\n  name = "a"\n'


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (f"{CLUSTER}  count = var.on ? 1 : 0\n}}", "aws_eks_cluster.a; --var on=true makes it"),
        (f"{CLUSTER}  count = var.on && !var.off ? 1 : 0\n}}", "aws_eks_cluster.a; --var on=true --var off=false makes it"),
        (f"{CLUSTER}  for_each = var.each\n}}", "aws_eks_cluster.a"),
        ('module "a" {\n  source = "./a"\n  count = var.on ? 1 : 0\n}', "module.a; --var on=true makes it"),
        ('module "a" {\n  source = "terraform-aws-modules/eks/aws"\n  version = "21.0.0"\n  name = "a"\n  create = false\n}', "module.a.aws_eks_cluster.this"),
    ],
)  # fmt: skip
def test_a_cluster_disabled_by_its_values_is_named(block: str, line: str, write: Write) -> None:
    write({"main.tf": SWITCHES + block} | ({"a/main.tf": CLUSTER + "}"} if "./a" in block else {}))
    output = text("check", ".", "--fail-on", "undecided").splitlines()
    assert output == ["nothing found.", f"cluster not made with these values: main.tf:10: {line}"]
    assert CliRunner().invoke(cli, ["check", ".", "--fail-on", "undecided"]).exit_code == 0
    if "--var" in line:
        flags = line.partition("; ")[2].removesuffix(" makes it").split()
        assert "not made" not in text("check", ".", *flags)


@pytest.mark.parametrize("call", ['source = "./a"\n  count = 0', 'source = "./b"'])
def test_modules_without_a_cluster_are_not_named(call: str, write: Write) -> None:
    write(
        {
            "main.tf": f'module "a" {{\n  {call}\n}}',
            "a/main.tf": 'resource "aws_vpc" "a" {}',
            "b/main.tf": CLUSTER + "}",
        }
    )
    assert "not made" not in text("check", ".")


def test_an_untyped_variable_is_given_by_a_var_file(write: Write) -> None:
    """Terraform reads the value of its flag --var for such a variable as text."""
    cluster = 'resource "google_container_cluster" "c" {\n  name = "c"\n  location = "europe-west4"\n  initial_node_count = var.n\n}\n'
    write({"main.tf": f'variable "n" {{}}\n{cluster}'})
    assert "set it with --var-file FILE" in text("check", ".")
    write({"main.tf": f'variable "n" {{\n  type = number\n}}\n{cluster}'})
    assert "set it with --var n=VALUE" in text("check", ".")


ZONES = """
data "aws_availability_zones" "here" {}

resource "aws_subnet" "nodes" {
  count      = length(data.aws_availability_zones.here.names)
  cidr_block = cidrsubnet("10.0.0.0/16", 8, count.index)
}

resource "aws_eks_cluster" "train" {
  name = "train"
  vpc_config {
    subnet_ids = aws_subnet.nodes[*].id
  }
}

resource "aws_eks_node_group" "gpu" {
  cluster_name   = aws_eks_cluster.train.name
  subnet_ids     = aws_subnet.nodes[*].id
  instance_types = ["p4d.24xlarge"]
  scaling_config {
    min_size = 0
    max_size = 90
  }
}
"""


def test_a_check_waiting_for_two_values_of_one_input_counts_once(write: Write) -> None:
    write({"main.tf": ZONES})
    found = check()
    assert [one["checks"] for one in found["inputs"]] == [len(found["undecided"])]


def test_other_objects_of_a_finding_show_their_environment() -> None:
    places = [
        Related(cast("Span", None), f"also {name}")
        for name in ("eks/a@dev:aws_x.y", "eks/a@prod:aws_x.z", "eks/b:aws_x.y", "Job/a")
    ]
    finding = cast("Finding", SimpleNamespace(object="eks/a@dev:aws_x.x", related=places))
    assert other_objects(finding) == ["aws_x.y", "aws_x.z (prod)", "aws_x.y in b", "Job/a"]
