"""Test `kcheck fix` from the user's side: written, withheld and refused fixes, messages, exit status."""

from __future__ import annotations

import os
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.commands import check
from kcheck.commands.cli import cli
from kcheck.commands.fix import _Places, _stale_pages
from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.fix import fix
from kcheck.text import deadline
from kcheck.text.files.save import File
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES, Severity
from kcheck.text.text import Edit, Source
from kcheck.text.values import Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from kcheck.text.findings import Finding
    from tests.conftest import Write


pytestmark = pytest.mark.medium

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  parallelism: 16
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.k8s.io/train:1.0.0
"""
MENDED = "  parallelism: 16\n  ttlSecondsAfterFinished: 86400\n"
CAPPED = """\
module "eks" {
  source     = "terraform-aws-modules/eks/aws"
  version    = "~> 21.0"
  name       = "main"
  subnet_ids = ["subnet-1"]
  eks_managed_node_groups = {
    default = {}
    own     = { max_size = 30 }
  }
}
"""
"""A cluster in which the fix of `default` would exceed a quota at 1,000 nodes."""

AKS = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = 200
  }
}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["fix", *arguments])


def job(name: str) -> str:
    return JOB.format(name=name)


# --- rounds


@pytest.mark.slow
def test_other_fixes_are_written_if_one_fails_its_check(write: Write) -> None:
    write({"main.tf": CAPPED, **{f"{name}.yaml": job(name) for name in "abcdefgh"}})
    outcome = fix.fix(["."], Config(nodes={"": 1000}), rules=("job-never-cleaned", "pool-capped-by-default"))
    assert [refused.finding.rule for refused in outcome.refused] == ["pool-capped-by-default"]
    assert [file.path for file in outcome.files] == [f"{name}.yaml" for name in "abcdefgh"]


@pytest.mark.slow
def test_the_fix_to_blame_is_found_by_bisection(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": CAPPED, **{f"job-{i:02}.yaml": job(f"job-{i:02}") for i in range(60)}})
    real, runs = linter.run, []

    def counted(tree: Tree, config: Config, tell: Callable[[str], None]) -> linter.Result:
        runs.append(tree)
        return real(tree, config, tell)

    monkeypatch.setattr(linter, "run", counted)
    outcome = fix.fix(["."], Config(nodes={"": 1000}), rules=("job-never-cleaned", "pool-capped-by-default"))
    assert len(outcome.fixed) == 60
    assert len(outcome.refused) == 1
    assert len(runs) < 20


def test_pools_that_share_the_target_are_fixed_together_or_not_at_all(write: Write) -> None:
    """If only half of the pools grew, the other pools would get another share of the target."""
    group = 'p{0} = {{ instance_types = ["m5.xlarge"] }}\n    '
    code = CAPPED.replace("default = {}", "".join(group.format(i) for i in range(6))).replace(
        "max_size = 30", "max_size = 3"
    )
    write({"eks/main.tf": code, "bad/main.tf": CAPPED})
    outcome = fix.fix(["."], Config(nodes={"": 1000}), rules=("pool-capped-by-default",))
    assert {refused.finding.span.source.path for refused in outcome.refused} == {"bad/main.tf"}
    sizes = re.findall(r"max_size = (\d+)", outcome.files[0].new.decode())
    assert len(set(sizes[:-1])) == 1


def test_a_fix_that_makes_a_value_unknown_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": AKS})
    monkeypatch.setattr(
        "kcheck.text.syntax.edit.edits", lambda changes: [Edit(c.origin.written, "var.tier") for c in changes]
    )
    outcome = fix.fix(["."], Config())
    assert [(refused.reason, refused.bug) for refused in outcome.refused] == [
        ("the finding would still be there", False)
    ]


def test_a_fix_whose_outcome_depends_on_an_input_is_refused_without_a_bug(write: Write) -> None:
    write(
        {
            "main.tf": """
variable "types" { type = list(string) }
resource "aws_vpc" "main" { cidr_block = "10.0.0.0/16" }
resource "aws_subnet" "a" {
  count      = 3
  vpc_id     = aws_vpc.main.id
  cidr_block = cidrsubnet("10.0.0.0/16", 8, count.index)
}
resource "aws_eks_cluster" "main" {
  name    = "main"
  version = "1.34"
  vpc_config { subnet_ids = aws_subnet.a[*].id }
}
resource "aws_eks_node_group" "train" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "train"
  subnet_ids      = aws_subnet.a[*].id
  instance_types  = var.types
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = 1000
  }
}
"""
        }
    )
    outcome = fix.fix(["."], Config(), safeties=("safe", "costs", "unsafe"), rules=("subnet-too-small",))
    (refused,) = outcome.refused
    why = "whether that is enough depends on an input: var.types has no value"
    assert (refused.reason, refused.bug) == (why, False)


GROWING = """\
resource "google_container_cluster" "main" {
  name               = "main"
  location           = "us-central1"
  node_locations     = ["us-central1-b"]
  initial_node_count = 1
}

resource "google_container_node_pool" "core" {
  name    = "core"
  cluster = google_container_cluster.main.name
  autoscaling {
    min_node_count = 1
    max_node_count = 5
  }
  node_config {
    labels = { "purpose" = "core" }
    taint {
      key    = "CriticalAddonsOnly"
      value  = "true"
      effect = "NO_SCHEDULE"
    }
  }
}

resource "google_container_node_pool" "user" {
  for_each = var.pools
  name     = each.key
  cluster  = google_container_cluster.main.name
  autoscaling {
    min_node_count = 0
    max_node_count = each.value
  }
}

variable "pools" {
  default = {
    a = 100
    b = 100
    c = 100
  }
}
"""


def test_a_fix_whose_value_is_not_yet_enough_goes_on(write: Write) -> None:
    home = write({"main.tf": GROWING})
    found = run(".", "--nodes", "1000", "--select", "pool-ends-below-target").stderr
    assert found.startswith("Fixed 1 finding (1 costs) in 1 file.\n")
    assert (home / "main.tf").read_text() == GROWING.replace("= 100", "= 340")


def test_comments_naming_the_old_value_are_pointed_out(write: Write) -> None:
    pool = 'resource "aws_eks_node_group" "a" {\n  cluster_name = aws_eks_cluster.main.name\n  scaling_config {\n'
    sizes = "    # 20 nodes of 8 GPUs\n    max_size = 20 # not 200\n    min_size = 0\n  }\n}\n"
    write({"main.tf": 'resource "aws_eks_cluster" "main" {\n  name = "main"\n}\n' + pool + sizes})
    found = run(".", "--diff", "--nodes", "60", "--select", "pool-ends-below-target").stderr
    assert found.startswith("Would fix 1 finding (1 costs) in 1 file.\n")
    assert "    the comment at main.tf:7 still says 20\n" in found
    assert "main.tf:8 still says" not in found


def test_terraform_docs_tables_with_the_old_default_are_pointed_out(write: Write) -> None:
    pool = 'resource "aws_eks_node_group" "a" {\n  cluster_name = aws_eks_cluster.main.name\n  scaling_config {\n'
    sizes = "    max_size = var.max_nodes\n    min_size = 0\n  }\n}\n"
    cluster = 'resource "aws_eks_cluster" "main" {\n  name = "main"\n}\nvariable "max_nodes" {\n  default = 20\n}\n'
    row = '| <a name="input_NAME"></a> [NAME](#input\\_NAME) | Nodes | `number` | `20` | no |\n'
    rows = "".join(row.replace("NAME", name) for name in ("max_nodes_of_others", r"max\_nodes"))
    write({"a/main.tf": cluster + pool + sizes, "a/README.md": f"# Pool of `20` max_nodes\n\n{rows}"})
    found = run("a", "--diff", "--nodes", "60", "--select", "pool-ends-below-target").stderr
    assert [line.strip() for line in found.splitlines() if "still says" in line] == [
        "the text at a/README.md:4 still says 20"
    ]


def test_pages_with_the_old_range_are_pointed_out(write: Write) -> None:
    subnet = 'resource "aws_subnet" "a" {\n  vpc_id = aws_vpc.a.id\n  cidr_block = "10.0.0.0/24"\n}\n'
    code = 'resource "aws_vpc" "a" {\n  cidr_block = "10.0.0.0/16"\n}\n' + subnet
    code += 'resource "aws_eks_cluster" "main" {\n  name = "main"\n}\nresource "aws_eks_node_group" "a" {\n'
    code += "  cluster_name = aws_eks_cluster.main.name\n  subnet_ids = [aws_subnet.a.id]\n  scaling_config {\n"
    code = code.replace('/24"', '/24" # 256 addresses') + "    min_size = 0\n    max_size = 400\n  }\n}\n"
    pages = {"docs/net.md": "# Net\n\nNodes: `10.0.0.0/24`\n110.0.0.0/24 10.0.0.0/240\n", "README.md": "none"}
    write({"main.tf": code, **pages})
    found = run(".", "--diff", "--unsafe-fixes", "--select", "subnet-too-small").stderr
    assert found.startswith("Would fix 1 finding (1 unsafe) in 1 file.\n")
    assert [line.strip() for line in found.splitlines() if "still says" in line] == [
        "the comment at main.tf:6 still says 256",
        "the text at docs/net.md:3 still says 10.0.0.0/24",
    ]


def test_comments_whose_only_number_is_the_old_value_change_with_it(write: Write) -> None:
    pool = 'resource "aws_eks_node_group" "a" {\n  cluster_name = aws_eks_cluster.main.name\n  scaling_config {\n'
    sizes = "    # at most 20 nodes\n    max_size = 20 # max 20\n    min_size = 0\n  }\n}\n"
    cluster = 'resource "aws_eks_cluster" "main" {\n  name = "main"\n}\n'
    home = write({"main.tf": cluster + pool + sizes})
    found = run(".", "--nodes", "60", "--select", "pool-ends-below-target").stderr
    assert "still says" not in found
    assert (home / "main.tf").read_text() == cluster + pool + sizes.replace("20", "60")


@pytest.mark.parametrize(
    ("description", "now"),
    [
        ("Largest size, defaults to 20.", "Largest size, defaults to 60."),
        ("Largest size (default: 20)", "Largest size (default: 60)"),
        ("At most 20 nodes, as is the default", "At most 20 nodes, as is the default"),
        ("Largest size, defaults to 20-30", "Largest size, defaults to 20-30"),
    ],
)
def test_a_description_naming_the_old_default_changes_with_it(description: str, now: str, write: Write) -> None:
    pool = 'resource "aws_eks_node_group" "a" {\n  cluster_name = aws_eks_cluster.main.name\n  scaling_config {\n'
    sizes = "    max_size = var.max_nodes\n    min_size = 0\n  }\n}\n"
    variable = 'variable "max_nodes" {{\n  description = "{0}"\n  default     = {1}\n}}\n'
    code = f'resource "aws_eks_cluster" "main" {{\n  name = "main"\n}}\n{pool}{sizes}'
    other = variable.replace("max_nodes", "other").format("defaults to 20", 5)
    home = write({"main.tf": code + other + variable.format(description, 20)})
    run(".", "--nodes", "60", "--select", "pool-ends-below-target")
    assert (home / "main.tf").read_text() == code + other + variable.format(now, 60)


def test_plugins_are_not_added_to_a_missing_tier(write: Write) -> None:
    write(
        {
            "eks.yaml": "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: a, region: eu-west-1}\n"
            "managedNodeGroups: [{name: gpu, instanceType: p5.48xlarge, minSize: 0, maxSize: 128}]\n",
            "volcano.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: volcano-scheduler-configmap}\ndata:\n"
            "  volcano-scheduler.conf: |\n    actions: 'enqueue, allocate'\n    tiers:\n",
        }
    )
    outcome = fix.fix(["."], Config(), safeties=("safe", "costs", "unsafe"))
    assert {finding.rule for finding in outcome.remaining} >= {"volcano-does-not-pack"}
    assert [refused for refused in outcome.refused if refused.bug or refused.reason == fix.INEFFECTIVE] == []


def test_a_fix_that_loses_an_object_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"job.yaml": job("a")})
    place = job("a").index("kind: Job")
    monkeypatch.setattr(
        "kcheck.text.syntax.edit.edits",
        lambda changes: [
            Edit(c.origin.missing.container.source.span(place, place + len("kind: Job")), "kind: ConfigMap")
            for c in changes
        ],
    )
    outcome = fix.fix(["."], Config(), rules=("job-never-cleaned",))
    assert [(refused.reason, refused.bug) for refused in outcome.refused] == [
        ("a workload could not be read any more", True)
    ]


def test_a_finding_formerly_covered_by_another_is_not_new(write: Write) -> None:
    """Beyond 400 nodes, kubenet-beyond-400-nodes hides kubenet-retiring, which appears once the former is fixed."""
    write({"a.yaml": job("a")})
    outcome = fix.fix(["."], Config())
    finding = outcome.fixed[0]
    own = next(rule for rule in rules.load() if rule.name == finding.rule)
    known = {"later": replace(own, unless=(finding.rule,)), "other": own}
    fixer = fix._Fixer(["."], Config(), ("safe",), (), Severity.INFO, None, deadline.no_progress, None, known)
    before = fixer.read({})

    def is_worse(rule: str) -> bool:
        found = replace(before.result, findings=[replace(finding, rule=rule, severity=Severity.WARNING)])
        return fixer.regression(before, before._replace(result=found), []) is not None

    assert not is_worse("later")
    assert is_worse("other")


# --- files that are not ours


def left(path: str, rule: str) -> str:
    """Return the help of a rule's finding that has no fix."""
    finding = next(f for f in linter.run(Tree([path]), Config()).findings if f.rule == rule)
    assert finding.fix is None
    return finding.help


def test_files_outside_the_given_paths_are_not_changed(write: Write) -> None:
    folder = write(
        {
            "infra/main.tf": 'module "aks" {\n  source = "../modules/aks"\n}\n',
            "modules/aks/main.tf": AKS,
        }
    )
    assert left("infra", "free-control-plane") == (
        'sku_tier is written in modules/aks/main.tf, outside the given paths; set sku_tier = "Standard" there'
    )
    assert run("infra").exit_code == 1
    assert (folder / "modules" / "aks" / "main.tf").read_text() == AKS
    assert [file.path for file in fix.fix(["infra", "modules"], Config()).files] == ["modules/aks/main.tf"]


@pytest.mark.parametrize("folder", [".terraform/modules/aks", "vendor/aks"])
def test_third_party_code_is_not_fixed(folder: str, write: Write) -> None:
    write({"main.tf": f'module "aks" {{\n  source = "./{folder}"\n}}\n', f"{folder}/main.tf": AKS})
    assert left(".", "free-control-plane") == (
        f'sku_tier is written in {folder}/main.tf, which is third-party code; set sku_tier = "Standard" there'
    )
    assert fix.fix(["."], Config()).files == []


def test_bundled_subcharts_are_not_changed(write: Write) -> None:
    chart = "apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
    files = {"Chart.yaml": chart, "crds/job.yaml": job("a")}
    for name, text in files.items():
        write({f"app/{name}": text.format(name="app"), f"app/charts/db/{name}": text.format(name="db")})
    assert [file.path for file in fix.fix(["."], Config()).files] == ["app/crds/job.yaml"]


@pytest.mark.parametrize(
    "head",
    [
        "# Code generated by controller-gen. DO NOT EDIT.\n",
        "# Copyright us\n\n// This file was automatically generated from a template in ./autogen\n",
        "/*\n * Autogenerated, edit the template.\n */\n",
        "# Source: cluster-autoscaler/templates/deployment.yaml\n",
    ],
)
def test_generated_files_are_not_changed(head: str, write: Write) -> None:
    write({"main.tf": head + AKS})
    assert left(".", "free-control-plane") == (
        'sku_tier is written in main.tf, which is generated; set sku_tier = "Standard" there'
    )


def test_a_file_whose_name_mentions_generation_is_fixed(write: Write) -> None:
    write({"main.tf": AKS.replace('"train"', '"generated by us, do not edit" # the name of generated text')})
    assert [file.path for file in fix.fix(["."], Config()).files] == ["main.tf"]


@pytest.mark.parametrize(
    "folder",
    [
        "BACKUP-BEFORE-MAY",
        "old-terraform",
        "_archived/aks",
        "aks/OLD",
        "main_old",
        "tests/aks",
        "test/fixtures/a",
        "site/v0.18/aks",
        "terraform-blueprints-4.32.1/modules/aks",
        "daily-tests/aks",
        "invalid_jobs",
    ],
)
def test_old_copies_and_tests_are_not_changed(folder: str, write: Write) -> None:
    write({f"{folder}/main.tf": AKS, "backup/main.tf": AKS, "folder/main.tf": AKS, "golden/main.tf": AKS})
    outcome = fix.fix(["."], Config())
    assert [file.path for file in outcome.files] == ["backup/main.tf", "folder/main.tf", "golden/main.tf"]
    assert f"sku_tier is written in {folder}/main.tf, which is an old copy or a test" in {
        one.help.partition(";")[0] for one in outcome.remaining
    }


def test_the_values_of_a_test_are_not_touched(write: Write) -> None:
    code = AKS.replace('"Free"', "var.tier")
    write({"main.tf": f'variable "tier" {{}}\n{code}', "fixtures.us.tfvars": 'tier = "Free"\n'})
    assert "tier is written in fixtures.us.tfvars, which is an old copy or a test" in left(".", "free-control-plane")


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_read_only_files_are_named_in_the_help(write: Write) -> None:
    (write({"main.tf": AKS}) / "main.tf").chmod(0o444)
    assert left(".", "free-control-plane") == (
        'sku_tier is written in main.tf, which is read-only; set sku_tier = "Standard" there'
    )


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_fix_keeps_links_as_links(write: Write) -> None:
    folder = write({"shared/job.yaml": job("a")})
    (folder / "job.yaml").symlink_to("shared/job.yaml")
    assert run(".", "--info").exit_code == 0
    assert (folder / "job.yaml").is_symlink()
    assert MENDED in (folder / "shared" / "job.yaml").read_text()


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_to_a_file_elsewhere_is_not_followed(write: Write) -> None:
    folder = write({"elsewhere/job.yaml": job("a"), "here/readme.txt": ""})
    (folder / "here" / "job.yaml").symlink_to("../elsewhere/job.yaml")
    assert "outside the given paths" in left("here", "job-never-cleaned")


def test_a_named_file_is_the_only_one_that_changes(write: Write) -> None:
    write({"a.yaml": job("a"), "b.yaml": job("b")})
    assert [file.path for file in fix.fix(["a.yaml"], Config()).files] == ["a.yaml"]


def test_naming_a_terraform_file_selects_its_root_module(write: Write) -> None:
    tier = 'variable "tier" {\n  default = "Free"\n}\n'
    write({"main.tf": AKS.replace('"Free"', "var.tier"), "variables.tf": tier})
    assert [file.path for file in fix.fix(["main.tf"], Config()).files] == ["variables.tf"]


# --- the command


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param([], 0, id="nothing at or above the threshold is left"),
        pytest.param(["--exit-non-zero-on-fix"], 1, id="as hooks want it"),
        pytest.param(["--safe-only"], 1, id="the fix is held back"),
        pytest.param(["--safe-only", "--fail-on", "never"], 0, id="it does not count"),
        pytest.param(["--diff"], 1, id="there is a diff"),
        pytest.param(["--ignore", "free-control-plane"], 0, id="not looked at"),
        pytest.param(["--ignore", "control-plane", "--exit-non-zero-on-fix"], 0, id="nothing was fixed"),
        pytest.param(["--select", "jobs"], 0, id="another group is not looked at"),
        pytest.param(["--select", "control-plane"], 0, id="its group"),
        pytest.param(["--safe-only", "--unsafe-fixes"], 2, id="both"),
        pytest.param(["--select", "no-such-rule"], 2, id="no such rule"),
    ],
)
def test_exit_status_depends_on_the_remaining_findings(arguments: list[str], status: int, write: Write) -> None:
    write({"main.tf": AKS})
    assert run(".", *arguments).exit_code == status


def test_the_diff_option_writes_nothing(write: Write) -> None:
    folder = write({"main.tf": AKS})
    result = run(".", "--diff")
    assert '-  sku_tier = "Free"\n+  sku_tier = "Standard"\n' in result.stdout
    assert (folder / "main.tf").read_text() == AKS
    assert [path.name for path in folder.iterdir()] == ["main.tf"]


def test_a_file_that_cannot_be_written_is_an_error(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": AKS})

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = run(".")
    assert (result.exit_code, result.stderr) == (2, "kcheck: nothing written: main.tf: No space left on device\n")


def test_the_bug_message_says_what_to_send_in(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": AKS})
    monkeypatch.setattr(
        "kcheck.text.syntax.edit.edits", lambda changes: [Edit(c.origin.written, '"Standard') for c in changes]
    )
    result = run(".")
    assert result.exit_code == 3
    assert result.stderr == (
        "Nothing was fixed.\n"
        "main.tf:3:14 free-control-plane: not written: then unreadable-file would be found: "
        "Cannot read this: this quote is never closed.\n"
        '  This is a bug in kcheck. Please send in these lines: set sku_tier = "Standard"\n'
        '      sku_tier = "Free"\n'
    )


def test_a_block_with_an_error_is_not_edited(write: Write) -> None:
    write({"main.tf": AKS.replace("{\n", "{\n  dns_prefix =\n", 1)})
    found = run(".", "--diff").stderr
    assert "main.tf:3 cannot be read; fix that first" in found
    assert "bug" not in found


def test_an_object_next_to_a_broken_document_is_fixed(write: Write) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: c, image: k8s.gcr.io/pause:3.2}\n"
    write({"a.yaml": f"{pod}---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: b\nspec: [\n"})
    assert "Would fix 1 finding (1 safe) in 1 file." in run(".", "--diff").stderr


def test_a_fix_that_does_not_hold_is_refused_in_one_line(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": AKS})
    monkeypatch.setattr(
        "kcheck.text.syntax.edit.edits", lambda changes: [Edit(c.origin.written, '("Free")') for c in changes]
    )
    result = run(".")
    assert (result.exit_code, result.stderr) == (
        1,
        "Nothing was fixed.\nmain.tf:3:14 free-control-plane: not written: the finding would still be there.\n",
    )


def test_the_summary_counts_the_fixes(write: Write) -> None:
    """It counts fixes by class, those that cost money, withheld ones with their reason, and open decisions."""
    kubenet = '\n  network_profile {\n    network_plugin = "kubenet"\n  }\n}\n'
    write({"main.tf": AKS.removesuffix("}\n") + kubenet, "job.yaml": job("train")})
    result = run(".", "--nodes", "390")
    assert result.stderr == (
        "Fixed 1 finding (1 costs) in 1 file.\n"
        '  costs: main.tf:3:14 free-control-plane: set sku_tier = "Standard"\n'
        "2 more with --unsafe-fixes (Terraform would replace something, or pods that run today may not):"
        " kubenet-beyond-400-nodes 1, pod-range-too-small 1.\n"
        "1 more with --info: job-never-cleaned 1.\n"
        "1 left for you to decide:\n"
        "  main.tf:7:18 error pool-ends-below-target: Pool system ends at 200 nodes; a cluster of 390 nodes needs 390 in it\n"
        "    = help: turn on autoscaling of pool system, with a maximum of 390: a fixed size starts all nodes\n"
    )
    assert result.exit_code == 1


@pytest.mark.parametrize(("written", "place"), [(False, "main.tf:3:14"), (True, "main.tf:5:14")])
def test_places_refer_to_the_files_as_they_are_now(written: bool, place: str, write: Write) -> None:
    """A finding of the second round is below a line added in the first.

    The third round adds a line above it.
    """
    write({"main.tf": AKS})
    outcome = fix.fix(["."], Config())
    (finding,) = outcome.fixed
    second = Source("main.tf", b"# one\n" + AKS.encode())
    start = second.data.index(b'"Free"')
    later = replace(finding, span=second.span(start, start + 6))
    outcome.files = [File("main.tf", "main.tf", AKS.encode(), b"# two\n# one\n" + AKS.encode())]
    assert _Places(outcome, written=written).location(later) == place


def test_check_counts_repeated_findings_one_by_one_as_fix_does(write: Write) -> None:
    write({f"{name}/main.tf": AKS.replace("train", name) for name in "abcde"})
    checked = CliRunner().invoke(cli, ["check", "."]).stdout
    assert "1 error" in checked
    assert "; fixable: 5 costs." in checked
    assert "shows 5 fixes" in checked


@pytest.mark.parametrize(
    ("limit", "standing", "said"),
    [(999, 2, "shows 2 fixes"), (999, 1, "shows 1 fix"), (999, 0, "says why no fix stands"), (0, 2, "tries 2 fixes")],
)
def test_check_counts_the_fixes_that_stand(
    limit: int, standing: int, said: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large tree gets the number that fix tries."""

    def vain(_: object, __: object, ___: object, chosen: list[Finding]) -> list[fix.Refused]:
        return [fix.Refused(one, "no", bug=False) for one in chosen if one.span.source.path[0] in "ab"[standing:]]

    monkeypatch.setattr(check, "_CHECKS", limit)
    monkeypatch.setattr(fix._Fixer, "ineffective", vain)
    write({f"{name}/main.tf": AKS.replace("train", name) for name in "ab"})
    assert f"--diff` {said}; " in CliRunner().invoke(cli, ["check", "."]).stdout


def test_unsafe_fixes_are_applied_after_all_others(write: Write) -> None:
    """All other fixes are the same with the flag and without it."""
    kubenet = '\n  network_profile {\n    network_plugin = "kubenet"\n  }\n}\n'
    write({"main.tf": AKS.removesuffix("}\n") + kubenet})
    both = [fix.fix(["."], Config(nodes={"": 390}), safeties=safeties).fixed for safeties in (SAFETIES[:2], SAFETIES)]
    safe = [[one.fix.safety for one in fixed if one.fix] for fixed in both]
    assert safe[0] == ["costs"]
    assert safe[1][0] == "costs"
    assert set(safe[1][1:]) == {"unsafe"}


def test_a_change_outside_any_block_has_no_stale_table() -> None:
    """A whole values file of a chart has no path."""
    here = Origin((Source("values.yaml", b"a: 1\n").span(0, 4),))
    finding = SimpleNamespace(changes=(SimpleNamespace(origin=here),))
    assert here.path == ()
    assert list(_stale_pages(finding, lambda _: [])) == []  # type: ignore[arg-type]


def test_a_variable_named_like_a_pattern_is_no_pattern(write: Write) -> None:
    write({"main.tf": "1", "README.md": "| a( | `1` |\n| b | a( | `1` |\n"})
    origin = SimpleNamespace(path=('variable "a("', "default"), written=Source("main.tf", b"1").span(0, 1))
    finding = SimpleNamespace(changes=(SimpleNamespace(origin=origin),))
    assert list(_stale_pages(finding, lambda _: [])) == []  # type: ignore[arg-type]


def test_a_check_counts_the_fixes_of_forty_jobs_as_fix_writes_them(write: Write) -> None:
    write({"jobs.yaml": "---\n".join(job(f"train{i}") for i in range(40))})
    done = CliRunner().invoke(cli, ["check", ".", "--info", "--fail-on", "never", "--format", "text"])
    fixed = CliRunner().invoke(cli, ["fix", ".", "--info", "--diff"])
    (shown,) = re.findall(r"shows (\d+) fixes", done.output)
    assert f"Would fix {shown} findings" in fixed.output
