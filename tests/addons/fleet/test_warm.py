"""A warm process: what it has in memory is what checks need, and no check sees more than its own repository."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.fleet import warm as module
from kcheck.addons.fleet.local import Station
from kcheck.addons.fleet.tables import Rows
from kcheck.addons.fleet.task import Outcome, Past, Settings, Task
from kcheck.addons.fleet.warm import warm
from kcheck.config.numbers.clouds import CLOUDS
from tests.addons.fleet.story import cluster
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

EXAMPLES = [f"{cloud}-training" for cloud in CLOUDS]

PAST = Past("code", Settings(), [])

PLAIN = "from kcheck.commands.cli import main; main()"

NEW = """
import sys
from kcheck.addons.fleet.warm import warm
from kcheck.addons.fleet.check import check
from kcheck.addons.fleet.task import Task
warm()
before = set(sys.modules)
outcome = check(Task("x", sys.argv[1]))
print(outcome.status, *(name for name in sys.modules if name not in before and name.startswith("kcheck.")))
"""

TWINS = """
resource "aws_eks_cluster" "main" {{
  name = "{name}"
}}

resource "aws_eks_node_group" "gpu" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {{
    desired_size = 0
    min_size     = 0
    max_size     = {nodes}
  }}
}}
"""


@pytest.fixture
def station() -> Iterator[Station]:
    found = Station()
    yield found
    found.close()


def test_an_example_of_each_cloud_is_checked() -> None:
    outcomes = warm()
    assert {cloud: outcome.status for cloud, outcome in outcomes.items()} == dict.fromkeys(CLOUDS, "checked")
    for cloud, outcome in outcomes.items():
        assert outcome.rows is not None
        assert [row.cloud for row in outcome.rows.clusters] == [cloud]
        assert outcome.rows.findings


@pytest.mark.parametrize(
    ("checks", "past", "more", "is_loaded", "clouds"),
    [
        ([], None, 1, False, set()),
        ([], None, 3, True, set()),
        ([], None, 9, True, {"aks"}),
        ([], PAST, 9, False, set()),
        (["gke"], PAST, 9, True, {"gke"}),
        (["gke", "same", "same", "same"], PAST, 9, True, set()),
        (["gke", *["same"] * 9], PAST, 9, False, set()),
        (["gke", "gke"], PAST, 9, True, {"gke"}),
        (["gke", "eks", "eks", "gke", "ack"], PAST, 9, True, {"eks", "gke"}),
        (["", ""], PAST, 9, True, {"aks"}),
        (["gke", "gke"], PAST, 3, True, set()),
        (["gke", "gke"], PAST, 1, False, set()),
    ],
)
def test_what_is_needed_by_many_is_in_memory(
    checks: list[str], past: Past | None, more: int, is_loaded: bool, clouds: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(module, "warm", warmed.extend)
    monkeypatch.setattr(module, "_freeze", lambda: None)
    memory = module.Memory()
    for cloud in checks:
        memory.learn(of_clouds(cloud))
    for _ in range(2):
        memory.prepare(Task("a", "a", past=past, more=more))
    assert (memory.is_loaded, memory.clouds) == (is_loaded, clouds)
    assert warmed == sorted(clouds)


def of_clouds(cloud: str) -> Outcome:
    """An outcome with two clusters of a cloud, or with none, or one that is unchanged."""
    if cloud == "same":
        return Outcome("checked", is_unchanged=True)
    return Outcome("checked", rows=Rows(clusters=[cluster("a", cloud=cloud)] * 2 if cloud else []))


def test_a_wheel_has_these_examples() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {wheel["force-include"].get(f"examples/{name}") for name in EXAMPLES} == {
        f"kcheck/_data/examples/{name}" for name in EXAMPLES
    }


@pytest.mark.parametrize("folder", ["examples/usage", "examples/published", "tests/cases/modules"])
def test_a_check_imports_nothing_more(folder: str, tmp_path: Path) -> None:
    copied = shutil.copytree(ROOT / folder, tmp_path / "repository")
    run = subprocess.run(
        [sys.executable, "-P", "-c", NEW, str(copied)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert run.stdout.split() == ["checked"]


def test_findings_are_those_of_the_plain_command(station: Station, tmp_path: Path) -> None:
    for name in [*EXAMPLES, "usage", "own-rules"]:
        folder = shutil.copytree(ROOT / "examples" / name, tmp_path / name)
        command = [sys.executable, "-P", "-c", PLAIN, "check", "--no-cache", "--info", "--exit-zero", "--format"]
        run = subprocess.run([*command, "json"], capture_output=True, text=True, check=True, cwd=folder)
        plain = json.loads(run.stdout)["findings"]
        outcome = station.outcome(Task(name, str(folder)))
        assert outcome.rows is not None, outcome.reason
        assert plain
        assert [(one.fingerprint, one.message) for one in outcome.rows.findings] == [
            (one["fingerprint"], one["message"]) for one in plain
        ]


def test_a_check_knows_nothing_of_the_ones_before(station: Station, write: Callable[[Mapping[str, str]], Path]) -> None:
    sizes = {"a": 400, "b": 700, "c": 400}
    top = write({f"{name}/main.tf": TWINS.format(name=name, nodes=nodes) for name, nodes in sizes.items()})
    for name, nodes in sizes.items():
        outcome = station.outcome(Task(name, str(top / name)))
        assert outcome.rows is not None, outcome.reason
        assert [(row.name, row.target) for row in outcome.rows.clusters] == [(name, nodes)]


def test_what_is_unchanged_needs_no_rules(tmp_path: Path) -> None:
    code = (
        "import sys, kcheck.addons.fleet.station; print(*(name for name in sys.modules if name.startswith('kcheck.')))"
    )
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "kcheck.addons.fleet.unchanged" in run.stdout.split()
    assert not {"kcheck.engine.rules", "kcheck.addons.fleet.check", "kcheck.text.files.tree"} & set(run.stdout.split())


def test_a_process_is_asked_for_changed_and_unchanged_ones_in_turn(
    station: Station, write: Callable[[Mapping[str, str]], Path]
) -> None:
    top = write({f"{name}/main.tf": TWINS.format(name=name, nodes=4) for name in "ab"})
    first = {name: station.outcome(Task(name, str(top / name))) for name in "ab"}
    station.close()
    again = Station()
    try:
        (top / "b" / "main.tf").write_text(TWINS.format(name="b", nodes=9))
        for name, is_unchanged in (("a", True), ("b", False), ("a", True)):
            outcome = again.outcome(Task(name, str(top / name), past=first[name].past))
            assert (outcome.status, outcome.is_unchanged) == ("checked", is_unchanged), outcome.reason
            assert (outcome.rows is None) == is_unchanged
        gone = again.outcome(Task("c", str(top / "c"), past=first["a"].past))
        assert (gone.status, gone.can_retry) == ("failed", False)
    finally:
        again.close()
