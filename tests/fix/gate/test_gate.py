"""Test which findings are known, from a baseline or a base commit, and which files of a commit matter."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kcheck.commands.cli import cli
from kcheck.config import settings
from kcheck.config.config import Config, ConfigError
from kcheck.fix.gate import baseline
from kcheck.fix.gate.comparison import Comparison
from kcheck.fix.gate.git import _changed
from kcheck.fix.gate.relevance import can_change_findings
from kcheck.text.files.disk import MAX_BYTES, Disk
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Finding, Severity
from kcheck.text.text import Source
from tests.conftest import written
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    from tests.conftest import Write

    Git = Callable[..., str]

pytestmark = pytest.mark.medium


def cluster(name: str = "main", nodes: int = 300, *, sku: str = "Free", plugin: str = "kubenet") -> str:
    return f"""\
resource "azurerm_kubernetes_cluster" "{name}" {{
  name     = "train"
  sku_tier = "{sku}"

  default_node_pool {{
    name       = "system"
    node_count = {nodes}
  }}

  network_profile {{
    network_plugin = "{plugin}"
  }}
}}
"""


FREE, RETIRING = "free-control-plane", "kubenet-retiring"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def report(*arguments: str) -> dict[str, Any]:
    result = run("check", "--format", "json", *arguments)
    assert result.exit_code in (0, 1), result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def found(*arguments: str) -> list[tuple[str, str]]:
    return [(item["rule"], item["path"]) for item in report(*arguments)["findings"]]


# --- the baseline


def test_a_baseline_is_read_back_unchanged(write: Write) -> None:
    folder = write({"main.tf": cluster()})
    assert run("baseline").exit_code == 0
    first = (folder / "kcheck-baseline.json").read_bytes()
    data = json.loads(first)
    assert set(data) == {"version", "folder", "arguments", "findings"}
    assert {item["rule"] for item in data["findings"]} >= {FREE, RETIRING}
    assert all(set(item) == {"rule", "path", "objects", "message", "severity", "since"} for item in data["findings"])
    assert run("baseline").exit_code == 0
    assert (folder / "kcheck-baseline.json").read_bytes() == first
    assert baseline.load("kcheck-baseline.json", Config()).dump() == first
    result = run("check", "--baseline")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("nothing found; ")
    assert report("--baseline", "--info")["summary"]["known"] == len(data["findings"])
    assert len(found("--info")) == len(data["findings"])


def test_a_baseline_keeps_the_day_each_finding_was_accepted(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({"main.tf": cluster()})
    monkeypatch.setenv("KCHECK_TODAY", "2021-05-01")
    run("baseline")
    path = folder / "kcheck-baseline.json"
    monkeypatch.setenv("KCHECK_TODAY", "2021-05-02")
    write({"more.tf": cluster("other", sku="Standard")})
    run("baseline")
    days = {(item["rule"], item["path"]): item["since"] for item in json.loads(path.read_text())["findings"]}
    assert days[FREE, "main.tf"] == "2021-05-01"
    assert days[RETIRING, "more.tf"] == "2021-05-02"


def test_the_day_of_a_run_can_be_given(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = "suppressions:\n  - {rule: free-control-plane, reason: small, expires: 2030-01-01}\n"
    write({"main.tf": cluster(), "kcheck.yaml": accepted})
    assert FREE not in dict(found())
    monkeypatch.setenv("KCHECK_TODAY", "2030-01-01")
    assert FREE in dict(found())
    monkeypatch.setenv("KCHECK_TODAY", "tomorrow")
    result = run("check")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "KCHECK_TODAY=tomorrow: give a day, such as KCHECK_TODAY=2026-11-22" in result.stderr


@pytest.mark.parametrize(
    ("change", "new"),
    [
        ({"main.tf": "# moved\n\n" + cluster()}, []),
        ({"main.tf": cluster(nodes=350)}, []),
        ({"main.tf": cluster("renamed")}, [FREE, RETIRING]),
        ({"main.tf": cluster() + cluster("second", sku="Standard")}, [RETIRING]),
        ({"other.tf": cluster("second", sku="Standard")}, [RETIRING]),
        ({"main.tf": "", "moved.tf": cluster()}, []),
        ({"main.tf": "", "moved.tf": cluster("renamed")}, [FREE, RETIRING]),
    ],
)
def test_only_new_findings_are_reported(change: dict[str, str | bytes], new: list[str], write: Write) -> None:
    write({"main.tf": cluster()})
    run("baseline")
    write(change)
    rules = sorted({rule for rule, _ in found("--baseline")} & {FREE, RETIRING})
    assert rules == new


def test_a_more_severe_finding_is_new(write: Write) -> None:
    write({"main.tf": cluster(nodes=20)})
    assert {item["severity"] for item in report()["findings"] if item["rule"] == FREE} == {"warning"}
    run("baseline")
    write({"main.tf": cluster(nodes=30)})
    assert (FREE, "main.tf") not in found("--baseline")
    write({"main.tf": cluster(nodes=390)})
    (finding,) = (item for item in report("--baseline")["findings"] if item["rule"] == FREE)
    assert finding["severity"] == "error"


def test_another_caller_of_a_module_is_new(write: Write) -> None:
    module = cluster().replace('"train"', "var.name") + 'variable "name" {}\n'
    call = 'module "{0}" {{\n  source = "../modules/k"\n  name   = "{0}"\n}}\n'
    write({"modules/k/main.tf": module, "a/main.tf": call.format("a"), "b/main.tf": call.format("b")})
    run("baseline")
    assert found("--baseline") == []
    write({"c/main.tf": call.format("c")})
    assert (FREE, "modules/k/main.tf") in found("--baseline")


def test_rules_that_cannot_be_ignored_stay_out_of_a_baseline(write: Write) -> None:
    write({"main.tf": cluster()})
    run("baseline")
    write({"kcheck.yaml": f"not_ignorable: [{FREE}]\n"})
    assert found("--baseline") == [(FREE, "main.tf")]
    result = run("baseline")
    assert "Left out 1 finding of rules in not_ignorable" in result.stderr
    assert FREE not in (write({}) / "kcheck-baseline.json").read_text()


def gone(*arguments: str) -> str:
    how = ("baseline",) if "--prune" in arguments else ("check", "--baseline")
    return run(*how, *arguments).stderr


@pytest.mark.medium
def test_check_and_baseline_report_the_same_number_of_known_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three subnets at one place are one finding, known or not."""
    shutil.copytree(ROOT / "examples" / "eks-training", tmp_path / "eks")
    monkeypatch.chdir(tmp_path / "eks")
    recorded = re.search(r"(\d+) known findings", run("baseline").stderr)
    assert recorded
    assert f"nothing found; {recorded[1]} already known." in run("check", "--baseline").stdout


def test_gone_baseline_entries_are_reported_and_pruned(write: Write) -> None:
    folder = write({"a/main.tf": cluster(), "b/main.tf": cluster()})
    run("baseline")
    write({"a/main.tf": cluster(sku="Standard")})
    assert (
        f"1 entry of kcheck-baseline.json not found any more; `kcheck baseline --prune` removes it:\n  a/main.tf {FREE}: "
        in gone()
    )
    assert gone("-q") == ""
    assert "removed 1 entry from kcheck-baseline.json, " in gone("--prune")
    assert gone() == ""
    data = json.loads((folder / "kcheck-baseline.json").read_text())["findings"]
    assert [item["path"] for item in data if item["rule"] == FREE] == ["b/main.tf"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["b"],
        ["b/main.tf"],
        ["--exclude", "a"],
        ["--nodes", "1"],
        ["--select", RETIRING],
        ["--ignore", "control-plane"],
    ],
)
def test_baseline_entries_outside_the_checked_paths_are_not_gone(arguments: list[str], write: Write) -> None:
    write({"a/main.tf": cluster(), "b/main.tf": cluster()})
    run("baseline")
    write({"a/main.tf": cluster(sku="Standard", plugin="kubenet")})
    assert gone(*arguments) == ""
    if arguments[0] not in ("--select", "--ignore"):
        result = run("baseline", "--prune", *arguments)
        assert result.exit_code == 2
        assert "--prune: kcheck-baseline.json was written by `kcheck baseline .`" in result.stderr
    assert "1 entry" in gone()


def test_gone_entries_of_a_baseline_of_some_folders_are_pruned(write: Write) -> None:
    write({"a/main.tf": cluster(), "b/main.tf": cluster()})
    run("baseline", "--nodes", "350", "b", "a/")
    write({"a/main.tf": cluster(sku="Standard")})
    assert "1 entry" in gone("a", "b", "--nodes=350", "--prune")
    assert gone("a", "b", "--nodes=350") == ""


@pytest.mark.parametrize(
    "text",
    [
        cluster().replace('"Free"', "var.tier") + 'variable "tier" {}\n',
        cluster() + "resource {\n",
    ],
    ids=["undecided", "unreadable"],
)
def test_baseline_entries_whose_check_is_undecided_are_not_gone(text: str, write: Write) -> None:
    write({"main.tf": cluster()})
    run("baseline")
    write({"main.tf": text})
    assert FREE not in gone("--prune")
    write({"main.tf": cluster()})
    assert found("--baseline") == []


@pytest.mark.parametrize("arguments", [["--select", "control-plane"], ["--ignore", "unreadable-file"]])
def test_baseline_entries_of_unreadable_files_are_not_gone(arguments: list[str], write: Write) -> None:
    write({"main.tf": cluster()})
    run("baseline")
    write({"main.tf": "resource {\n"})
    assert FREE not in gone(*arguments)
    write({"main.tf": cluster()})
    assert found("--baseline") == []


def test_baseline_entries_of_a_broken_rule_are_not_gone(write: Write) -> None:
    rule = "summary: x\nseverity: warning\nsubject: cluster\nproblem: {0}\nat: cluster.name\nmessage: a bad name\n"
    path = "policy/naming/bad-name.yaml"
    write({"main.tf": cluster(), path: rule.format("'true'"), "kcheck.yaml": "rules: [policy]\n"})
    run("baseline")
    write({path: rule.format("'1 / 0 == 1'")})
    result = run("baseline", "--prune")
    assert "rule bad-name fails on " in result.stderr
    assert "gone" not in result.stderr
    write({path: rule.format("'true'")})
    assert found("--baseline") == []


def test_one_of_two_callers_of_a_module_can_be_gone_from_the_baseline(write: Write) -> None:
    call = 'module "{0}" {{\n  source = "../modules/k"\n  tier   = "{1}"\n}}\n'
    module = cluster().replace('"Free"', "var.tier") + 'variable "tier" {}\n'
    a, b = call.format("a", "Free"), call.format("b", "Free")
    folder = write({"modules/k/main.tf": module, "a/main.tf": a, "b/main.tf": b})
    run("baseline")
    before = (folder / "kcheck-baseline.json").read_text()
    write({"b/main.tf": 'module "b" {\n  source = "../modules/k"\n  tier   = "Standard"\n}\n'})
    assert "module.b.azurerm_kubernetes_cluster.main" in gone("--prune")
    after = (folder / "kcheck-baseline.json").read_text()
    assert before.count("module.a.") == after.count("module.a.")
    assert found("--baseline") == []


def test_updating_the_baseline_of_one_folder_keeps_the_rest(write: Write) -> None:
    folder = write({"a/main.tf": cluster(), "b/main.tf": cluster()})
    run("baseline")
    write({"a/main.tf": cluster("x"), "b/main.tf": cluster("x")})
    run("baseline", "a")
    data = json.loads((folder / "kcheck-baseline.json").read_text())["findings"]
    assert {(item["path"], item["objects"][0].rpartition(".")[2]) for item in data if item["rule"] == FREE} == {
        ("a/main.tf", "x"),
        ("b/main.tf", "main"),
    }


def test_the_settings_can_name_the_baseline(write: Write) -> None:
    folder = write({"main.tf": cluster(), "kcheck.yaml": "baseline: stock/known.json\n"})
    result = run("check")
    assert result.exit_code == 2
    assert "stock/known.json: No such file or directory; `kcheck baseline` writes it" in result.stderr
    assert run("baseline").exit_code == 0
    assert (folder / "stock/known.json").exists()
    assert found() == []
    assert (FREE, "main.tf") in found("--no-baseline")
    assert run("baseline", "--baseline-file", "b.json").exit_code == 0
    assert found("--baseline-file", "b.json") == []


def test_the_folder_of_the_baseline_may_be_a_link(write: Write) -> None:
    folder = write({"work/main.tf": cluster(), "other/deep/x": ""})
    os.chdir(folder / "work")
    (folder / "work/stock").symlink_to("../other/deep")
    assert run("baseline", "--baseline-file", "stock/b.json").exit_code == 0
    assert found("--baseline-file", "stock/b.json") == []


def test_a_baseline_can_be_on_another_drive(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def relpath(path: str, start: str = ".") -> str:
        raise ValueError(path, start)

    folder = write({})
    monkeypatch.setattr(os.path, "relpath", relpath)
    assert json.loads(baseline.Baseline("kcheck-baseline.json").dump())["folder"] == os.path.realpath(folder)


def test_findings_in_files_with_invalid_unicode_names_are_known(write: Write) -> None:
    folder = write({})
    with open(os.fsencode(folder) + b"/gr\xf6\xdfe.tf", "w") as file:
        file.write(cluster())
    assert run("baseline").exit_code == 0
    result = run("check", "--baseline")
    assert (result.exit_code, result.stdout[:13]) == (0, "nothing found")


def test_the_baseline_knows_the_worst_of_several_findings() -> None:
    entry = baseline.BaselineEntry("a-rule", "main.tf", ("x",), "text", "error", "2021-05-01")
    found = finding("a-rule", Severity.ERROR, "text", "x")
    assert knows([entry, replace(entry, severity="warning")], found)
    assert not knows([replace(entry, severity="warning")], found)


def knows(entries: list[baseline.BaselineEntry], *found: Finding) -> bool:
    comparison = Comparison(["."], Config(), lambda _: Config(), baseline.Baseline("b", entries))
    known = comparison.find_known(found)
    return all(map(known.contains, found))


def test_one_more_of_several_indistinguishable_findings_is_new(write: Write) -> None:
    """Of two Jobs without a name, nobody can say which one existed before."""
    job = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: a-\nspec:\n  template:\n    spec:\n      containers:\n"
    job += "        - name: a\n          image: quay.io/a/b:1\n          resources: {limits: {nvidia.com/gpu: 8}}\n      restartPolicy: Never\n"
    write({"job.yaml": job})
    run("baseline")
    assert found("--baseline") == []
    write({"job.yaml": f"{job}---\n{job}"})
    assert set(found("--baseline")) == {("missing-shared-memory", "job.yaml")}
    run("baseline")
    assert found("--baseline") == []


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of all examples, with a baseline of their findings."""
    examples = ROOT / "examples"
    files = {str(p.relative_to(examples)): p.read_bytes() for p in examples.rglob("*") if p.is_file()}
    settings = {"kcheck.yaml": "baseline: kcheck-baseline.json\n", ".git/HEAD": ""}
    top = written(tmp_path_factory.mktemp("examples"), {**files, **settings})
    with contextlib.chdir(top):
        run("baseline")
    return top


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["eks-training", "gke-training", "aks-training/manifests", "ack-training"])
def test_a_run_in_a_subfolder_knows_the_same_findings(
    folder: str, accepted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(accepted / folder)
    whole = set(found("--no-baseline", "--info"))
    assert whole
    new = found("--info")
    if folder.endswith("manifests"):  # alone, they are told other things
        assert set(new) < whole
    else:
        assert new == []
        assert "gone" not in run("check").stderr


NAMES = st.sampled_from([
    "eks/infra/prod:module.eks.aws_eks_cluster.this[0]", 'eks/infra@dev:module.x.aws_subnet.private["a:b"]', "aks/azurerm_kubernetes_cluster.main",
    "deploy/job.yaml:Job/default/train", "eks/a:x.y/pool-quota/eks/a:x.z", "deploy/chart", "eks/@prod:aws_eks_cluster.main", "job.yaml:Job/?",
])  # fmt: skip


@given(NAMES, st.sampled_from(["infra", "infra/prod", "a/b/c", "deploy"]))
def test_baseline_names_are_found_from_another_folder(
    tmp_path_factory: pytest.TempPathFactory, name: str, folder: str
) -> None:
    top = tmp_path_factory.mktemp("t")
    (top / folder).mkdir(parents=True)
    entry = baseline.BaselineEntry("r", "deploy/job.yaml", (name,), "m", "error", "2021-05-01")
    with contextlib.chdir(top / folder):
        there = baseline._seen_from_here(entry, os.path.relpath(top))
    with contextlib.chdir(top):
        assert baseline._seen_from_here(there, folder) == entry


def test_changed_severities_do_not_revive_known_findings(write: Write) -> None:
    write({"main.tf": cluster()})
    run("baseline")
    write({"kcheck.yaml": f"severity: {{{RETIRING}: error}}\n"})
    assert found("--baseline") == []


GPU_JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: a
spec:
  parallelism: 4
  completions: 4
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: a
          image: quay.io/a/b:1
          resources: {limits: {nvidia.com/gpu: 8}}
"""
GPU_POOL = """\
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  node_taints           = ["nvidia.com/gpu=true:NoSchedule"]
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 10
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"gpu.tf": GPU_POOL.replace("ND96isr_H100_v5", "ND96amsr_A100_v4")},
        {"gpu.tf": GPU_POOL + GPU_POOL.replace('"gpu"', '"more"')},
        {"gpu.tf": GPU_POOL.replace('"Standard_ND96isr_H100_v5"', "var.size") + 'variable "size" {}\n'},
        {"gpu.tf": GPU_POOL + '  priority = "Spot"\n'},
        {"kcheck.yaml": "price: 30\n"},
    ],
)
def test_changes_of_other_files_revive_no_known_finding(change: dict[str, str | bytes], write: Write, git: Git) -> None:
    """Messages contain prices, machines and names of pools, but these are not part of a finding's identity."""
    commit(git, write, {"main.tf": cluster(nodes=3), "gpu.tf": GPU_POOL, "job.yaml": GPU_JOB})
    assert "job.yaml" in dict(found()).values()
    run("baseline")
    write(change)
    for how in (["--baseline"], ["--diff-base", "HEAD"]):
        assert "job.yaml" not in {path for _, path in found(*how)}
    assert "job.yaml" not in gone()


@pytest.mark.slow
def test_a_job_that_loses_its_pool_is_a_new_finding(write: Write, git: Git) -> None:
    commit(git, write, {"main.tf": cluster(nodes=3), "gpu.tf": GPU_POOL, "job.yaml": GPU_JOB})
    run("baseline")
    write({"gpu.tf": ""})
    for how in (["--baseline"], ["--diff-base", "HEAD"]):
        assert ("pod-matches-no-pool", "job.yaml") in found(*how)


@pytest.mark.slow
def test_another_pool_in_a_subnet_already_known_as_too_small_is_not_new(write: Write) -> None:
    subnet = 'resource "azurerm_subnet" "nodes" {\n  name = "n"\n  address_prefixes = ["10.0.0.0/26"]\n}\n'
    own = GPU_POOL.replace("  name ", "  vnet_subnet_id = azurerm_subnet.nodes.id\n  name ", 1)
    pools = [own.replace('"gpu"', f'"{name}"') for name in ("a", "b")]
    write({"main.tf": cluster(nodes=3, plugin="azure"), "subnet.tf": subnet, "pools.tf": "".join(pools)})
    assert ("subnet-too-small", "subnet.tf") in found()
    run("baseline")
    for change in (pools[0], "".join(pools).replace('"b"', '"z"'), "".join(pools).replace("= 10", "= 5")):
        write({"pools.tf": change})
        assert ("subnet-too-small", "subnet.tf") not in found("--baseline")


def test_findings_in_moved_files_stay_known(write: Write) -> None:
    folder = write({"infra/main.tf": cluster(), "deploy/job.yaml": GPU_JOB})
    run("baseline")
    (folder / "infra").rename(folder / "platform")
    (folder / "deploy/job.yaml").rename(folder / "job.yaml")
    assert found("--baseline") == []
    assert gone("--prune") == ""
    assert "platform/main.tf" in (folder / "kcheck-baseline.json").read_text()
    write({"infra/main.tf": cluster()})
    assert (RETIRING, "infra/main.tf") in found("--baseline")


def test_findings_with_reworded_messages_stay_known(write: Write) -> None:
    folder = write({"main.tf": cluster()})
    run("baseline")
    path = folder / "kcheck-baseline.json"
    path.write_text(path.read_text().replace('"message": "', '"message": "formerly '))
    assert found("--baseline") == []
    assert gone() == ""


def finding(rule: str, severity: Severity, message: str, name: str) -> Finding:
    span = Source("main.tf", b"").span(0, 0)
    return Finding(rule, severity, False, message, span, (), name, None, "", (span,))


def test_fix_leaves_known_findings_alone(write: Write) -> None:
    folder = write({"main.tf": cluster(nodes=20), "kcheck.yaml": "baseline: kcheck-baseline.json\n"})
    run("baseline")
    write({"more.tf": cluster("more", nodes=20, plugin="azure")})
    assert run("fix").exit_code == 0
    assert (folder / "main.tf").read_text() == cluster(nodes=20)
    assert '"Standard"' in (folder / "more.tf").read_text()
    run("fix", "--no-baseline", "--fail-on", "never")
    assert '"Standard"' in (folder / "main.tf").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("<<<<<<< ours\n", "resolve the conflict, or delete the file and run `kcheck baseline`"),
        ("[]", "not a kcheck baseline"),
        ('{"version": 1}', "not a kcheck baseline"),
        ('{"version": 1, "folder": ".", "findings": []}', "not a complete kcheck baseline: 'arguments'"),
        ('{"version": 2, "folder": ".", "findings": []}', "version 2 is not supported"),
        (
            '{"version": 1, "folder": "nowhere", "arguments": [], "findings": []}',
            "was written for nowhere, which does not exist",
        ),
        (
            '{"version": 1, "folder": ".", "arguments": [], "findings": [{"rule": "r", "path": "p", "objects": "o", "message": "m", "severity": "error", "since": ""}]}',
            "Expected `array`, got `str`",
        ),
        ('{"version": 1, "folder": ".", "findings": [{"rule": "x"}]}', "not a complete kcheck baseline"),
        ('{"version": 1, "folder": 7, "arguments": [], "findings": []}', "was written for 7"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_invalid_baseline_files_are_refused(text: str, message: str, write: Write) -> None:
    write({"main.tf": cluster(), "kcheck-baseline.json": text})
    result = run("check", "--baseline")
    assert result.exit_code == 2
    assert "kcheck-baseline.json" in result.stderr
    assert message in result.stderr


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_baseline_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    path = tmp_path_factory.mktemp("b") / "b.json"
    path.write_text(json.dumps({"version": 1, "folder": os.getcwd(), "arguments": data, "findings": data}))
    with contextlib.suppress(ConfigError):
        baseline.load(str(path), Config())


def test_a_known_finding_makes_a_folder_relevant(write: Write) -> None:
    """A folder is relevant even if it holds only a chart whose templates were not rendered."""
    write(
        {
            "c/Chart.yaml": "name: c\nversion: 1.0.0\n",
            "c/templates/a.yaml": "{{ if .x }}\nkind: Job\napiVersion: v1\n{{ end }}",
        }
    )
    run("baseline")
    result = run("check", "--baseline")
    reason = "not read: c/templates/a.yaml:1: the chart c was not rendered: it uses .x; --render helm renders it"
    assert result.stdout.startswith(f"nothing found in what was checked; 1 already known.\n{reason}")
    assert not result.stderr


def test_the_baseline_file_itself_is_not_checked(write: Write) -> None:
    write({"main.tf": cluster()})
    run("baseline", "--baseline-file", "known.json")
    result = run("check", "--baseline", "known.json")
    assert result.exit_code == 2
    assert "known.json is a baseline; use --baseline-file known.json" in result.stderr


# --- since a commit


def commit(git: Git, write: Write, files: dict[str, str | bytes]) -> Path:
    folder = write(files)
    git("add", "-A")
    git("commit", "-qm", "x")
    return folder


def changed(*arguments: str, base: str = "HEAD") -> list[tuple[str, str]]:
    return found("--diff-base", base, *arguments)


def test_findings_of_the_diff_base_are_not_reported(write: Write, git: Git) -> None:
    commit(git, write, {"main.tf": cluster()})
    assert changed() == []
    write({"main.tf": "# a line above\n" + cluster()})
    assert changed() == []
    write({"main.tf": cluster().replace('"train"', '"other"')})
    assert changed() == []


def test_findings_in_changed_lines_are_reported(write: Write, git: Git) -> None:
    text = cluster()
    commit(git, write, {"main.tf": text})
    write({"main.tf": text.replace('"kubenet"', '"kubenet" # still')})
    assert changed() == [(RETIRING, "main.tf")]
    write({"main.tf": text.replace("\n", "\r\n")})
    assert changed() == []


def test_findings_caused_by_a_change_in_other_files_are_reported(write: Write, git: Git) -> None:
    text = cluster().replace("300", "var.nodes")
    commit(git, write, {"main.tf": text, "v.tf": 'variable "nodes" {\n  default = 5\n}\n'})
    write({"v.tf": 'variable "nodes" {\n  default = 300\n}\n'})
    assert (FREE, "main.tf") in changed()
    assert (RETIRING, "main.tf") not in changed()


@pytest.mark.parametrize("staged", [False, True])
def test_findings_in_new_files_are_reported(staged: bool, write: Write, git: Git) -> None:
    commit(git, write, {"a/main.tf": cluster()})
    write({"b/main.tf": cluster(), "b/deep/er/main.tf": cluster()})
    if staged:
        git("add", "-A")
    assert sorted({path for _, path in changed()}) == ["b/deep/er/main.tf", "b/main.tf"]
    assert sorted({path for _, path in changed("b")}) == ["b/deep/er/main.tf", "b/main.tf"]


def test_files_ignored_by_git_do_not_count_as_changed(write: Write, git: Git) -> None:
    """A tfvars file that Git ignores also applied before the change."""
    text = cluster().replace("300", "var.nodes") + 'variable "nodes" {}\n'
    commit(git, write, {"main.tf": text, ".gitignore": "*.tfvars\n"})
    write({"terraform.tfvars": "nodes = 300\n"})
    assert (FREE, "main.tf") in found()
    assert changed() == []


def test_findings_caused_by_a_deleted_file_are_reported(write: Write, git: Git) -> None:
    text = cluster().replace("300", "var.nodes") + 'variable "nodes" {\n  default = 300\n}\n'
    folder = commit(git, write, {"x/main.tf": text, "x/terraform.tfvars": "nodes = 5\n"})
    assert (FREE, "x/main.tf") not in found()
    (folder / "x/terraform.tfvars").unlink()
    assert (FREE, "x/main.tf") in changed()


def test_the_diff_base_includes_a_folder_deleted_since(write: Write, git: Git) -> None:
    module = 'output "nodes" {\n  value = 5\n}\n'
    text = cluster().replace("300", "local.nodes")
    call = 'module "n" {\n  source = "./n"\n}\nlocals {\n  nodes = module.n.nodes\n}\n'
    folder = commit(git, write, {"main.tf": text, "l.tf": call, "n/main.tf": module})
    (folder / "n/main.tf").unlink()
    (folder / "n").rmdir()
    write({"l.tf": "locals {\n  nodes = 300\n}\n"})
    assert (FREE, "main.tf") in changed()
    assert (RETIRING, "main.tf") not in changed()


@pytest.mark.parametrize(("old", "new"), [("infra/main.tf", "infra/aks.tf"), ("infra/main.tf", "platform/aks/main.tf")])
def test_a_moved_file_does_not_count_as_changed(old: str, new: str, write: Write, git: Git) -> None:
    folder = commit(git, write, {old: cluster(), "k/pod.yaml": "kind: Pod\n"})
    (folder / new).parent.mkdir(parents=True, exist_ok=True)
    git("mv", old, new)
    assert changed() == []
    write({new: cluster().replace('"kubenet"', '"kubenet" # still')})
    assert changed() == [(RETIRING, new)]


def test_a_moved_json_file_does_not_count_as_changed(write: Write, git: Git) -> None:
    pods = {"containers": [{"name": "a", "image": "busybox", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"parallelism": 2000, "template": {"spec": pods}}}  # fmt: skip
    commit(git, write, {"k/a.json": json.dumps(job)})
    assert found()
    git("mv", "k/a.json", "k/b.json")
    assert changed() == []


def test_moving_one_file_out_of_a_folder_does_not_move_the_others(write: Write, git: Git) -> None:
    output = 'output "id" {\n  value       = 1\n  description = "long enough to be found again by git"\n}\n'
    commit(git, write, {"a/main.tf": cluster(), "a/outputs.tf": output, "b/x.tf": ""})
    git("mv", "a/outputs.tf", "b/outputs.tf")
    assert changed() == []


def test_a_folder_replaced_by_a_file_is_compared(write: Write, git: Git) -> None:
    folder = commit(git, write, {"main.tf": cluster(plugin="none"), "x/main.tf": cluster()})
    (folder / "x/main.tf").unlink()
    (folder / "x").rmdir()
    write({"x": "", "y/main.tf": cluster()})
    git("add", "-A")
    assert changed() == []


def test_expressions_in_json_do_not_count_as_changed_lines(write: Write, git: Git) -> None:
    """The source of such an expression contains the expression alone."""
    text = """{"resource": {"azurerm_kubernetes_cluster": {"x": {
 "sku_tier": "${false ? 1 : "Free"}",
 "default_node_pool": {"name": "a", "node_count": 300},
 "network_profile": {"network_plugin": "kubenet"}
}}}}
""".replace('"Free"', '\\"Free\\"')
    commit(git, write, {"main.tf.json": text})
    assert (FREE, "main.tf.json") in found()
    write({"main.tf.json": text + "\n"})
    assert changed() == []
    write({"main.tf.json": text.replace('"network_plugin":', '"network_plugin" :')})
    assert sorted(rule for rule, _ in changed()) == [RETIRING, "pod-range-too-small"]


def test_the_checked_paths_decide_the_repository(write: Write, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = commit(git, write, {"infra/main.tf": cluster()})
    for own in (".git", str(folder / ".git")):  # as hooks have it
        monkeypatch.setenv("GIT_DIR", own)
        assert changed("infra") == []


def test_the_error_says_why_git_cannot_read_the_repository(write: Write, git: Git) -> None:
    folder = commit(git, write, {"main.tf": cluster()})
    (folder / ".git/config").write_text("[core\n")
    result = run("check", "--diff-base", "HEAD")
    assert result.exit_code == 2
    assert "git cannot read the repository, fatal: bad config line" in result.stderr


@pytest.mark.parametrize("count", [10, 4_000])
def test_changed_lines_are_found_in_long_files(count: int) -> None:
    lines = [line for i in range(count) for line in (f"name: {i}", "kind: ConfigMap", "data: {}", "---")]
    new = [*lines]
    new[1], new[-4] = "kind: Secret", "name: other"
    new.insert(20, "new: 1")
    told = _changed("\n".join(lines).encode(), "\r\n".join(new).encode())
    assert [i for i, is_new in enumerate(told) if is_new] == [1, 20, len(new) - 4]


def test_the_diff_base_is_judged_with_its_own_settings(write: Write, git: Git) -> None:
    text = cluster().replace("300", "5")
    commit(git, write, {"main.tf": text, "kcheck.yaml": "nodes: 5\n"})
    write({"kcheck.yaml": "nodes: 350\n"})
    assert (FREE, "main.tf") in changed()
    assert (RETIRING, "main.tf") not in changed()
    write({"kcheck.yaml": "nodes: 5\nexclude: [main.tf]\n"})
    git("commit", "-qam", "x")
    write({"kcheck.yaml": "nodes: 5\n"})
    assert (RETIRING, "main.tf") in changed()


def test_the_diff_base_is_judged_with_the_current_rules(write: Write, git: Git) -> None:
    rule = "summary: x\nseverity: warning\nsubject: cluster\nproblem: 'true'\nat: cluster.name\nmessage: a bad name\n"
    files: dict[str, str | bytes] = {"main.tf": cluster(), "policy/naming/bad-name.yaml": rule}
    folder = commit(git, write, {**files, "kcheck.yaml": "rules: [policy]\n"})
    (folder / "policy").rename(folder / "own")
    write({"kcheck.yaml": "rules: [own]\n", "own/naming/worse-name.yaml": rule})
    assert changed() == []


def test_all_findings_are_new_if_the_settings_of_the_diff_base_are_invalid(write: Write, git: Git) -> None:
    commit(git, write, {"main.tf": cluster(), "kcheck.yaml": "nodes: none\n"})
    write({"kcheck.yaml": "nodes: 350\n"})
    result = run("check", "--diff-base", "HEAD")
    assert (
        "kcheck: all findings count as new: the state before the change cannot be checked: kcheck.yaml:1: nodes must be"
        in result.stderr
    )
    assert " kubenet-retiring: " in result.stdout


def test_a_branch_is_compared_with_its_merge_base(write: Write, git: Git) -> None:
    commit(git, write, {"a.tf": cluster("a"), "b.txt": ""})
    git("switch", "-qc", "work")
    commit(git, write, {"w.tf": cluster("w")})
    git("switch", "-q", "main")
    commit(git, write, {"a.tf": ""})
    git("switch", "-q", "work")
    assert {path for _, path in changed(base="main")} == {"w.tf"}
    assert {path for _, path in changed(base="main~1")} == {"w.tf"}


def test_a_diff_base_without_a_common_ancestor_is_compared_directly(write: Write, git: Git) -> None:
    commit(git, write, {"a.tf": cluster("a")})
    git("switch", "-q", "--orphan", "other")
    commit(git, write, {"a.tf": cluster("a"), "b.tf": cluster("b")})
    result = run("check", "--diff-base", "main")
    assert "main and HEAD have no known common ancestor" in result.stderr
    assert {path for _, path in changed(base="main")} == {"b.tf"}


@pytest.mark.parametrize("name", ['a "b".tf', "grö ße.tf", "new\nline.tf", "-x.tf", "a:b.tf"])
def test_files_with_unusual_names_are_compared(name: str, write: Write, git: Git) -> None:
    commit(git, write, {name: cluster()})
    assert changed() == []
    write({name: cluster(sku="Standard").replace('"kubenet"', '"kubenet" # still')})
    assert [rule for rule, _ in changed()] == [RETIRING]


def test_submodules_and_links_are_left_alone(write: Write, git: Git, tmp_path: Path) -> None:
    folder = write({"main.tf": cluster(), "real.tf": ""})
    (folder / "link.txt").symlink_to("real.tf")
    git("add", "-A")
    git("commit", "-qm", "x")
    (folder / "link.txt").unlink()
    (folder / "link.txt").symlink_to("main.tf")
    assert changed() == []


def test_a_check_during_a_merge_compares_with_the_diff_base(write: Write, git: Git) -> None:
    commit(git, write, {"a.tf": cluster("a", nodes=20), "b.tf": ""})
    git("switch", "-qc", "work")
    commit(git, write, {"a.tf": cluster("a", nodes=21)})
    git("switch", "-q", "main")
    commit(git, write, {"a.tf": cluster("a", nodes=22), "b.tf": cluster("b")})
    with contextlib.suppress(subprocess.CalledProcessError):
        git("merge", "work")
    result = run("check", "--diff-base", "HEAD")
    assert result.exit_code == 1
    assert "unreadable-file" in result.stdout
    write({"a.tf": cluster("a", nodes=22)})
    assert changed() == []


def test_every_finding_is_new_before_the_first_commit(write: Write, git: Git) -> None:
    write({"main.tf": cluster()})
    assert (RETIRING, "main.tf") in changed()
    git("add", "-A")
    assert (RETIRING, "main.tf") in changed()


def test_the_diff_base_works_inside_a_git_hook(write: Write, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(git, write, {"infra/main.tf": cluster()})
    write({"infra/main.tf": cluster().replace('"kubenet"', '"kubenet" # still')})
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert changed("infra") == [(RETIRING, "infra/main.tf")]


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("nowhere", "unknown commit nowhere; fetch it first"),
        ("--upload-pack=x", "unknown commit --upload-pack=x"),
        ("HEAD:main.tf", "unknown commit HEAD:main.tf"),
    ],
)
def test_an_unknown_commit_is_refused(base: str, message: str, write: Write, git: Git) -> None:
    commit(git, write, {"main.tf": cluster()})
    result = run("check", f"--diff-base={base}")
    assert result.exit_code == 2
    assert message in result.stderr


def test_diff_base_without_a_repository_is_an_error(
    write: Write, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"main.tf": cluster()})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / ".git").rename(tmp_path / "gone")
    result = run("check", "--diff-base", "HEAD")
    assert result.exit_code == 2
    assert "is not in a git repository" in result.stderr


def test_a_comparison_without_git_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": cluster()})
    monkeypatch.setenv("PATH", "")
    result = run("check", "--diff-base", "HEAD")
    assert result.exit_code == 2
    assert "--diff-base needs git" in result.stderr


def test_a_change_of_irrelevant_files_reports_no_findings(write: Write, git: Git) -> None:
    commit(git, write, {"main.tf": cluster(), "README.md": ""})
    write({"README.md": "new", "notes.yaml": "a: 1\n"})
    result = run("check", "--diff-base", "HEAD")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no relevant changes" in result.stderr
    assert changed() == []


def test_fix_with_a_diff_base_changes_only_new_findings(write: Write, git: Git) -> None:
    folder = commit(git, write, {"a.tf": cluster("a", nodes=20), "b.tf": cluster("b", nodes=5)})
    write({"b.tf": cluster("b", nodes=20)})
    run("fix", "--diff-base", "HEAD")
    assert (folder / "a.tf").read_text() == cluster("a", nodes=20)
    assert '"Standard"' in (folder / "b.tf").read_text()


def test_files_of_the_diff_base_replace_files_of_the_tree(write: Write) -> None:
    folder = write({"a.tf": cluster("a"), "b.tf": cluster("b"), "k/x.yaml": "kind: Pod\napiVersion: v1\n"})
    real = {name: os.path.realpath(folder / name) for name in ("a.tf", "b.tf", "c/d/e.tf", "k/x.yaml", "c/y.yaml")}
    overlay = {real["a.tf"]: None, real["c/d/e.tf"]: cluster("e").encode(), real["k/x.yaml"]: None}
    tree = Tree(["."], overlay | {real["c/y.yaml"]: b"kind: Pod\napiVersion: v1\n"})
    assert [source.path for folder in tree.folders for source in folder.terraform] == ["b.tf", "c/d/e.tf"]
    assert [source.path for source in tree.manifests] == ["c/y.yaml"]


# --- the files of a commit


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("main.tf", "", True),
        ("x/y/prod.auto.tfvars", "", True),
        ("a/main.tf.json", "{}", True),
        ("kcheck.yaml", "", True),
        ("pyproject.toml", "", True),
        ("deploy/kustomization.yaml", "", True),
        ("deploy/Kustomization", "", True),
        ("deploy/pod.yaml", "apiVersion: v1\nkind: Pod\n", True),
        ("deploy/pod.json", '{"kind": "Pod", "apiVersion": "v1"}', True),
        ("chart/values.yaml", "a: 1\n", True),
        ("chart/templates/x.tpl", "", True),
        ("policy/naming/rule.yaml", "summary: x\n", True),
        ("patches/patch.yaml", "- op: add\n", True),
        ("named/values.yaml", "a: 1\n", True),
        ("docker-compose.yaml", "services: {}\n", False),
        ("mkdocs.yml", "site_name: x\n", False),
        ("notes.yaml", "a: 1\n", False),
        (".pre-commit-config.yaml", "repos: []\n", False),
        (".hidden.yaml", "apiVersion: v1\nkind: Pod\n", True),
        (".github/workflows/x.yaml", "on: push\n", False),
        (".github/workflows/pod.yaml", "apiVersion: v1\nkind: Pod\n", False),
        ("package.json", "{}", False),
        ("README.md", "", False),
        ("out/main.tf", "", False),
        ("node_modules/x/pod.yaml", "apiVersion: v1\nkind: Pod\n", False),
        ("gone.yaml", None, False),
    ],
)
def test_files_that_can_change_findings_are_recognized(
    path: str, content: str | None, expected: bool, write: Write
) -> None:
    files: dict[str, str | bytes] = {
        "infra/main.tf": 'resource "helm_release" "x" {\n  values = [file("../named/values.yaml")]\n}\n',
        "deploy/kustomization.yaml": "resources: [pod.yaml]\npatches: [{path: ../patches/patch.yaml}]\n",
        "chart/Chart.yaml": "name: x\nversion: 1.0.0\n",
    }
    write(files if content is None else {**files, path: content})
    config = Config(exclude=("out",), rules=("policy",))
    assert can_change_findings([path], ["."], config, Disk()) == expected


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        ("baseline: stock/known.json\n", "stock/known.json"),
        ("var_files: [prod.vars]\n", "prod.vars"),
        ("clusters: [{root: ., var_files: [a/prod.vars]}]\n", "a/prod.vars"),
        ("render: helm\nhelm_values: [values-prod.yaml]\n", "values-prod.yaml"),
        ("nodes: 5\n", "own.yaml"),
    ],
)
def test_files_named_in_the_settings_are_relevant(setting: str, path: str, write: Write) -> None:
    folder = write({"own.yaml": setting, "x.yaml": "", path: setting})
    config = settings.load([], "own.yaml")
    assert can_change_findings([path], ["."], config, Disk())
    assert can_change_findings([str(folder / path)], ["."], config, Disk())
    assert not can_change_findings(["x.yaml"], ["."], config, Disk())


def test_a_file_that_nothing_reads_is_irrelevant(write: Write) -> None:
    write({"main.tf": cluster(), "big.json": b"[" + b"1," * (MAX_BYTES // 2) + b"1]"})
    result = run("check", "--hook", "big.json")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("expression", "path", "expected"),
    [
        ('file("values/${var.stage}.yaml")', "infra/values/prod.yaml", True),
        ('file("values/${var.stage}.yaml")', "infra/other/prod.yaml", False),
        ('file("values/${var.stage}.yaml")', "infra/values/prod.json", False),
        ('file("${path.module}/values/prod-${var.stage}.yaml")', "infra/values/prod-1.yaml", True),
        ('file("${path.module}/values/prod-${var.stage}.yaml")', "infra/values/test-1.yaml", False),
        ('file("${path.module}/${each.key}.yaml")', "infra/x.yaml", True),
        ('file("${path.module}/${each.key}.yaml")', "site.yaml", False),
        ('file("${path.module}/../deploy/${each.key}.yaml")', "deploy/x.yaml", True),
        ('file("${path.module}/../deploy/${each.key}.yaml")', "site.yaml", False),
        ('templatefile("${path.module}/templates/${var.kind}/main.tftpl", {})', "infra/templates/a/main.tftpl", True),
        ('fileset(path.module, "values/*.yaml")', "infra/values/prod.yaml", True),
        ('fileset(path.module, "values/*.yaml")', "site.yml", False),
        ('fileset(path.module, "values/*")', "infra/values/prod.yaml", True),
        ("fileset(path.module, var.pattern)", "infra/values/prod.yaml", True),
        ('file("other.yaml")', "infra/values/prod.yaml", False),
    ],
)
def test_computed_file_names_count_as_relevant(expression: str, path: str, expected: bool, write: Write) -> None:
    write({"infra/main.tf": f"locals {{\n  x = {expression}\n}}\n", path: "a: 1\n"})
    assert can_change_findings([path], ["."], Config(), Disk()) == expected


def test_the_hook_does_nothing_for_an_irrelevant_commit(write: Write) -> None:
    folder = write({"main.tf": cluster(nodes=20), "a.yml": "a: 1\n"})
    for command in ("check", "fix"):
        result = run(command, "--hook", "a.yml")
        assert (result.exit_code, result.output) == (0, "")
    assert run("check", "--hook", "a.yml", "main.tf").exit_code == 1
    assert run("check", "--hook").exit_code == 1
    assert run("fix", "--hook", "--exit-non-zero-on-fix", "main.tf").exit_code == 1
    assert '"Standard"' in (folder / "main.tf").read_text()


@pytest.mark.parametrize("name", ["package.json", "x.sh", "/etc/hosts", "app/config.yaml", "a/../mkdocs.yml"])
def test_the_hook_accepts_absolute_paths(name: str, write: Write) -> None:
    folder = write(
        {"main.tf": cluster(), "package.json": "{}", "x.sh": "", "app/config.yaml": "a: 1\n", "mkdocs.yml": ""}
    )
    assert run("check", "--hook", str(folder / name)).output == ""
    assert run("check", "--hook", str(folder / "main.tf")).exit_code == 1


@pytest.mark.parametrize("name", ["nowhere/", "nowhere.tf", "nowhere.md"])
def test_the_hook_accepts_deleted_files(name: str, write: Write) -> None:
    """A path may belong to a deleted file; the path of a Terraform file still starts a check."""
    write({"main.tf": cluster()})
    assert run("check", "--hook", name).exit_code == (name == "nowhere.tf")


def test_the_hook_checks_the_given_folders(write: Write) -> None:
    write({"a/main.tf": cluster(), "b/main.tf": cluster()})
    result = run("check", "--hook", "-q", "a", "b/main.tf")
    assert "a/main.tf:" in result.stdout
    assert "b/main.tf:" not in result.stdout
