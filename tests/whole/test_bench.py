"""Test scripts/bench: a load for each goal, and a profile that adds up. No test asserts a time."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
from functools import reduce
from typing import TYPE_CHECKING, Any

import bench_growth
import bench_linters
import bench_phases
import pytest

from tests.places import ROOT, load_script

if TYPE_CHECKING:
    from pathlib import Path

PEERS: dict[str, list[str]] = {name: [name] for name in ("kubeconform", "kube-score", "tflint", "checkov")}


@pytest.fixture(scope="module")
def bench() -> Any:
    """Load scripts/bench as a module."""
    return load_script("bench")


def test_every_performance_goal_has_a_load(bench: Any, tmp_path: Path) -> None:
    loads = bench.all_loads(tmp_path, PEERS, tmp_path)
    ratios = {(load.name, beside.name, beside.most) for load in loads for beside in load.beside if beside.most}
    large = "2,000 manifests and 200 .tf"
    assert ratios >= {
        ("--version", "python", 3),
        ("check, nothing relevant", "python", 4),
        ("check, one manifest", "python", 6.5),
        ("check, examples/eks-training", "tflint", 1.5),
        ("check, examples/eks-training", "python", 15),
        ("check, kubeflow/manifests", "kubeconform", 0.4),
        (f"check, {large}", "kubeconform", 3.5),
        ("the same on two cores", "kubeconform", 1),
        ("check, ten times as many", large, 11),
        ("fix --diff, eks-training", "check", 1.5),
    }
    assert {load.name: load.most_memory for load in loads if load.most_memory} == {
        "check, ten times as many": 250,
        "check, 2,000 node pools": 200,
    }
    limits = {(load.name.partition(",")[0], load.most_ms) for load in loads if load.most_ms}
    checks = {("check", 85), ("check", 300), ("check", 1500)}
    assert limits == {("simulate --what-if", 1000), ("init", 1000), *checks, ("hook", 2000)}
    assert [load.cores for load in loads if load.name == "the same on two cores"] == [2]


@pytest.mark.medium
def test_a_bench_load_is_printed_with_its_goals(bench: Any, tmp_path: Path) -> None:
    command = ["true", "x"] if shutil.which("true") else [sys.executable, "-c", "pass"]  # valgrind counts it
    beside = (bench.Beside("python", command, 10_000), bench.Beside("itself", command))
    load = bench.Load("nothing", command, tmp_path, beside, most_ms=0, most_memory=10_000)
    first, *others = bench.rows(load, 1)
    assert first.startswith("nothing ")
    assert [line.split()[-1] for line in others if "goal" in line] == ["met", "MISSED", "met"]
    assert len(others) == 4


def test_bench_growth_is_printed_per_doubling(tmp_path: Path) -> None:
    seconds = {"1": 1.0, "10": 1.9, "20": 2.9, "40": 7.0}
    series = bench_growth.Series("Jobs", bench_growth.one_file, (10, 20, 40, 80))
    first, *others = bench_growth.rows(series, tmp_path, lambda _, folder: seconds[folder.name], 5)
    assert first == "Jobs"
    assert [line.split()[4:] for line in others[:-1]] == [
        ["ms"], ["ms", "2.11x", "a", "doubling"], ["ms", "3.16x", "a", "doubling", "over", "2.3"],
    ]  # fmt: skip
    assert others[-1].strip() == "larger ones would take too long"


@pytest.mark.parametrize("series", bench_growth.SERIES, ids=lambda series: series.name)
def test_bench_trees_grow_with_their_size(series: bench_growth.Series, tmp_path: Path) -> None:
    series.write(tmp_path, 5)
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == set(series.make(5).values())
    assert series.make(5) != series.make(10)


@pytest.mark.medium
def test_the_phases_of_a_run_add_up(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a/b:1}]}\n"
    )
    out = tmp_path / "phases.json"
    command = [sys.executable, str(ROOT / "scripts" / "bench_phases.py"), str(out), "check", "pod.yaml", "--exit-zero"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "1 workload checked" in run.stdout
    found = json.loads(out.read_text())
    total = found.pop("total")
    assert tuple(found) == bench_phases.PHASES
    assert sum(found.values()) == pytest.approx(total)
    assert all(time > 0 for time in found.values())
    assert found[bench_phases.REST] < total / 2


@pytest.mark.parametrize("seam", [seam for seams in bench_phases.SEAMS.values() for seam in seams])
def test_the_functions_that_the_profile_measures_exist(seam: str) -> None:
    module, _, name = seam.partition(":")
    assert callable(reduce(getattr, name.split("."), importlib.import_module(f"kcheck.{module}")))


@pytest.mark.parametrize(
    ("message", "candidate"),
    [
        ("the subnet ends at 1,005 nodes", True),
        ("the subnet ends at 1005 nodes.", True),
        ("port 10050 is open", False),
        ('variable "cluster_cidr" has no type', True),
        ("Subnet is too small", True),
        ("CPU limits should be set", False),
        ("Ensure the subnet has flow logs", False),
    ],
)
def test_linter_messages_count_if_they_name_the_limit_or_a_shortage(message: str, candidate: bool) -> None:
    expected = {"walls": [{"nodes": 1005}], "not_known": ["var.cluster_cidr"]}
    assert bench_linters.is_candidate(message, expected) is candidate


REPORTS: dict[str, Any] = {
    "checkov": {"results": {"failed_checks": [{"check_id": "A", "check_name": "b", "resource": "c"}]}},
    "trivy": {"Results": [{"Misconfigurations": [{"ID": "A", "Title": "b", "Message": "c", "Description": "d"}]}]},
    "tflint": {"issues": [{"rule": {"name": "A"}, "message": "b"}]},
    "kube-linter": {"Reports": [{"Check": "A", "Diagnostic": {"Message": "b"}, "Remediation": "c"}]},
    "kube-score": [{"checks": [
        {"check": {"id": "A"}, "grade": 1, "skipped": False, "comments": [{"summary": "b", "description": "c"}]},
        {"check": {"id": "passed"}, "grade": 10, "skipped": False, "comments": []},
    ]}],
    "conftest": [{"failures": [{"msg": "A"}]}],
}  # fmt: skip


@pytest.mark.parametrize("linter", bench_linters.LINTERS)
def test_messages_of_other_linters_are_parsed(linter: str) -> None:
    (message,) = bench_linters.LINTERS[linter].messages(REPORTS[linter])
    assert message.startswith("A")
