"""Test that a small cluster starts small: few files, no team machinery, a flag for each further part."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.commands.generate import command
from kcheck.generate import intent
from kcheck.generate.assembly import Output, generate
from kcheck.generate.parts import ALONE, PARTS, SMALL, grown
from tests.generate.test_grid import FORMATTED, write
from tests.generate.test_readme import CPU

if TYPE_CHECKING:
    from pathlib import Path

CLOUDS = {**CPU, "selfmanaged": "node"}
REFERENCE = re.compile(r"(?<![\w.])((?:aws|google|azurerm|alicloud|kubernetes|helm)_\w+)\.(\w+)")


@cache
def made(cloud: str, kind: str, *parts: str) -> Output:
    given: dict[str, Any] = {"nodes": 20, **ALONE, "parts": list(parts)}
    if kind == "cpu":
        given |= {"machines": [CLOUDS[cloud]], "gpus": 0}
    return generate(intent.with_defaults(cloud, given))


def lines(output: Output) -> dict[str, int]:
    return {path: data.count(b"\n") for path, data in output.files.items()}


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_a_cluster_of_twenty_nodes_has_few_lines(cloud: str, kind: str) -> None:
    output = made(cloud, kind)
    found = lines(output)
    assert sum(found.values()) <= 800
    assert found["README.md"] < 80
    assert [(one.rule, one.message) for one in output.result.findings] == []
    assert output.result.undecided == []


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("parts", [(), ("storage",), ("monitoring",), ("monitoring", "storage"), ("tests", "quotas")])
def test_parts_refer_only_to_existing_names(cloud: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    output = made(cloud, "gpu", *parts)
    assert [(one.rule, one.message) for one in output.result.findings] == []
    code = {path: data for path, data in output.files.items() if path.endswith(FORMATTED)}
    text = b"\n".join(code.values()).decode()
    for kind, name in REFERENCE.findall(text):
        assert re.search(rf'(resource|data) "{kind}" "{name}"', text), f"{kind}.{name}"
    assert ('provider "kubernetes"' in text) == ('resource "kubernetes_' in text)
    declared = set(re.findall(r'variable "(\w+)"', text))
    assert declared == set(re.findall(r"\bvar\.(\w+)", text)) & declared
    assert set(re.findall(r"\bvar\.(\w+)", text)) <= declared
    named = set(re.findall(r"`((?:kubernetes|values|jobs)/[\w.-]+\.yaml)`", output.files["README.md"].decode()))
    assert named <= output.files.keys()
    if shutil.which("terraform"):
        write(tmp_path, code)
        command = ["terraform", "fmt", "-check", "-diff", "-recursive", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "part", [name for name in PARTS if name not in ("cache", "fabric", "login", "samples", "sharing")]
)
def test_each_part_adds_files(part: str) -> None:
    assert made("eks", "cpu").files.keys() - {"locals.tf"} < made("eks", "cpu", part).files.keys()


@pytest.mark.parametrize("cloud", ["eks", "gke", "aks", "ack"])
def test_the_docker_hub_cache_is_an_optional_part(cloud: str) -> None:
    few, more = (b"\n".join(made(cloud, "gpu", *parts).files.values()) for parts in ((), ("cache",)))
    assert b"docker_hub" not in few
    assert b"docker_hub" in more


@pytest.mark.parametrize("cloud", ["eks", "gke", "aks", "ack"])
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_settings_are_locals_unless_tests_are_generated(cloud: str, kind: str) -> None:
    files, tested = made(cloud, kind).files, made(cloud, kind, "tests").files
    code = b"\n".join(data for path, data in files.items() if path.endswith(".tf")).decode()
    bodies = "\n".join(re.findall(r"(?ms)^locals {\n(.*?)^}", code))
    defined = re.findall(r"(?m)^  (\w+) += ", bodies)
    assert len(defined) == len(set(defined))
    assert set(re.findall(r"\blocal\.(\w+)", code)) <= set(defined)
    assert {"name", "region", "system_nodes"} <= set(defined)
    assert 'variable "region"' in tested["variables.tf"].decode()
    assert "locals.tf" not in tested


def test_a_single_team_without_a_queue_has_a_quota_of_gpus_alone() -> None:
    files = made("eks", "gpu").files
    objects = list(yaml.safe_load_all(files["kubernetes/teams.yaml"]))
    assert [one["kind"] for one in objects if one] == ["Namespace", "ResourceQuota"]
    assert objects[-1]["spec"]["hard"] == {"requests.nvidia.com/gpu": "160"}
    assert "kubernetes/priorities.yaml" not in files
    assert b"priorityClassName: normal" not in files["jobs/sample.yaml"]


def test_the_readme_has_a_flag_for_each_available_part() -> None:
    readme = made("eks", "gpu").files["README.md"].decode()
    flags = re.findall(r"(?m)^- `--([\w-]+)(?: NAME,\.\.\.)?`: ", readme)
    assert flags == ["teams", *(part for part in PARTS if part != "fabric")], "EFA is there without a flag"
    others = {
        cloud: made(cloud, kind, "storage").files["README.md"].decode()
        for cloud, kind in (("eks", "cpu"), ("gke", "gpu"))
    }
    assert ["- `--sharing`" in others[cloud] for cloud in others] == [False, False], "their plugin is not ours"
    assert ["- `--dns`" in others[cloud] for cloud in others] == [True, False], "Cloud DNS has no part to add"
    assert ["- `--fabric`" in others[cloud] for cloud in others] == [False, True], "GPUDirect takes 270 lines on GKE"
    assert "- `--storage`" not in others["eks"] + others["gke"], "it is there"
    options = {option for one in command.params for option in one.opts}
    assert {f"--{flag}" for flag in flags} <= options


def test_a_step_has_the_command_that_finds_example_accounts() -> None:
    files = made("eks", "cpu").files
    step = next(line for line in files["README.md"].decode().splitlines() if line.startswith("1. "))
    assert "`grep -rn '111122223333' .`" in step
    own = generate(intent.with_defaults("eks", {"nodes": 20, "account": "210987654321"}))
    assert b"is an example" not in own.files["README.md"]


def test_a_small_cluster_grows_by_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(command, ["gke", "--nodes", "20"]).exit_code == 0
    first = yaml.safe_load((tmp_path / "train" / "intent.yaml").read_text())
    assert (first["scheduler"], first["parts"]) == ("none", [])
    again = ["--from", "train", "--overwrite", "--monitoring", "--teams", "a,b"]
    done = run(command, again)
    assert done.exit_code == 0, done.output
    then = yaml.safe_load((tmp_path / "train" / "intent.yaml").read_text())
    assert (then["scheduler"], then["parts"]) == ("kueue", ["monitoring", "storage"])
    assert then["teams"] == [{"name": "a", "share": 50}, {"name": "b", "share": 50}]
    assert then["nodes"] == 20
    assert (tmp_path / "train" / "kubernetes" / "kueue.yaml").exists()


@pytest.mark.parametrize(("more", "small"), [("", True), ("parts: [dns]\n", False), ("scheduler: kueue\n", False)])
def test_an_intent_with_other_machines_starts_small_too(
    more: str, small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines are chosen in an intent only; such an intent with 20 CPU nodes once gave 2,900 lines."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(f"nodes: 20\nmachines: [c7i.8xlarge]\n{more}")
    assert CliRunner().invoke(command, ["eks", "--intent", "own.yaml"]).exit_code == 0
    found = sum(one.read_bytes().count(b"\n") for one in (tmp_path / "train").rglob("*") if one.is_file())
    assert (found <= 800) == small


def test_gpus_are_whole_unless_sharing_is_chosen() -> None:
    whole, shared = (made("eks", "gpu", *parts).files["kubernetes/gpu.yaml"].decode() for parts in ((), ("sharing",)))
    assert [one["kind"] for one in yaml.safe_load_all(whole)] == ["DaemonSet"]
    assert [one["kind"] for one in yaml.safe_load_all(shared)] == ["ConfigMap", "DaemonSet", "DaemonSet"]
    assert "shared" not in whole


def test_gpu_networks_of_gke_are_a_part_that_the_cluster_is_made_for() -> None:
    """A cluster created without multi-networking can never get it."""
    few, more = made("gke", "gpu").files, made("gke", "gpu", "fabric").files
    assert b"enable_multi_networking = true" in few["cluster.tf"]
    assert b"additional_node_network_configs" not in few["node_pools.tf"]
    assert b"ignore: [fabric-not-enabled] # left out here; kcheck generate" in few["kcheck.yaml"]
    assert {"kubernetes/gpu-networks.yaml", "kubernetes/gpu-plugin.yaml"} <= more.keys() - few.keys()
    assert b"ignore:" not in more["kcheck.yaml"]


CIDR = re.compile(rb"\d+\.\d+\.\d+\.\d+/\d+")


def ranges_of(output: Output) -> set[bytes]:
    code = [data for path, data in output.files.items() if path.endswith((".tf", ".tfvars"))]
    return {found for data in code for found in CIDR.findall(data)} - {b"0.0.0.0/0"}


@pytest.mark.parametrize("cloud", ["eks", "gke", "aks", "ack"])
def test_no_range_changes_when_a_cluster_grows(cloud: str) -> None:
    """Once, a larger count or storage with its own range moved every later range, and Terraform replaced everything."""
    first = ranges_of(made(cloud, "gpu"))
    assert len(first) >= 3
    for given in ({"nodes": 300, **ALONE, "parts": ["storage"]}, {"nodes": 800}):
        assert first <= ranges_of(generate(intent.with_defaults(cloud, given)))


def test_ranges_stay_beyond_the_planned_nodes_or_the_growth_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(command, ["eks", "--nodes", "20"]).exit_code == 0
    there = set(CIDR.findall((tmp_path / "train" / "locals.tf").read_bytes()))
    assert len(there) >= 8
    for how in (["--from", "train"], ["eks"]):
        more = run(command, [*how, "--nodes", "950", "--diff"])
        assert more.exit_code == 0
        added = "\n".join(line for line in more.output.splitlines() if line.startswith("+"))
        own = {one for one in CIDR.findall(added.encode()) if one.startswith(b"10.")}
        assert own - there <= {b"10.0.0.0/14"}, "which is the example of network.range"
        refused = run(command, [*how, "--nodes", "5000", "--diff"])
        assert refused.exit_code == 2
        assert "planned for 800 (network.nodes), and none can change while it is in use" in refused.output


def test_larger_clusters_have_every_part() -> None:
    assert grown({"nodes": SMALL + 1}, "", [], fresh=True) == {"nodes": SMALL + 1}
    assert grown({}, "", [], fresh=True) == {}
    assert grown({"nodes": SMALL}, "", [], fresh=True) == {"nodes": SMALL, **ALONE, "parts": []}
    assert intent.with_defaults("eks", {"nodes": SMALL + 1}).parts == tuple(PARTS)
    assert grown({"nodes": 1000}, "", ["storage"]) == {"nodes": 1000}, "all parts already"


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_readme_names_only_existing_parts(cloud: str) -> None:
    told, _, _ = made(cloud, "gpu").files["README.md"].decode().partition("## What comes when it grows?")
    names = ("-n monitoring", "namespace monitoring", "storage.tf", "class checkpoints")
    assert [name for name in names if name in told] == []


def test_the_exit_status_is_that_of_a_check_of_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine type that retires in years is a hidden info of kcheck check."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.yaml").write_text("machines: [Standard_D2s_v3]\ngpus: 0\nnodes: 4\n")
    done = CliRunner().invoke(command, ["aks", "--intent", "old.yaml", "--output", "made"])
    assert "retired-machine" in done.output
    assert done.exit_code == CliRunner().invoke(cli, ["check", "made"]).exit_code


@pytest.mark.parametrize("cloud", ["eks", "gke", "aks", "ack"])
def test_one_node_is_written_in_the_singular(cloud: str) -> None:
    made = generate(intent.with_defaults(cloud, {"nodes": 1, "job": {"nodes": 1, "hours": 1}}))
    plurals = re.compile(r"(?<![\w.,])1 (?:\w+ )?(?:nodes|pools|hours|GPUs)\b")
    found = {path: plurals.findall(data.decode()) for path, data in made.files.items()}
    assert {path: words for path, words in found.items() if words} == {}
