"""Test the preloaded memory of checks: it has everything they need, and nothing of another repository."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

from kcheck.addons.fleet.outcomes import Task
from kcheck.addons.fleet.process import outcome_of
from kcheck.config.numbers.clouds import CLOUDS
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write

EXAMPLES = [f"{cloud}-training" for cloud in CLOUDS]

PLAIN = "from kcheck.commands.cli import main; main()"

CHECKED = """
import json
from kcheck.addons.fleet.preload import check_examples
print(json.dumps({
    cloud: (one.status, [row.cloud for row in one.rows.clusters], len(one.rows.findings)) for cloud, one in check_examples().items()
}))
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


def python(code: str, folder: Path) -> str:
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    return run.stdout


def test_preloading_checks_an_example_of_each_cloud(tmp_path: Path) -> None:
    found = json.loads(python(CHECKED, tmp_path))
    assert {cloud: (status, clouds) for cloud, (status, clouds, _) in found.items()} == {
        cloud: ("checked", [cloud]) for cloud in CLOUDS
    }
    assert all(findings for *_, findings in found.values())


def test_the_wheel_contains_the_preloaded_examples() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {wheel["force-include"].get(f"examples/{name}") for name in EXAMPLES} == {
        f"kcheck/_data/examples/{name}" for name in EXAMPLES
    }


def test_fleet_findings_equal_the_findings_of_the_plain_command(tmp_path: Path) -> None:
    for name in [*EXAMPLES, "usage", "own-rules"]:
        folder = shutil.copytree(ROOT / "examples" / name, tmp_path / name)
        command = [sys.executable, "-P", "-c", PLAIN, "check", "--info", "--exit-zero", "--format", "json"]
        run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        plain = json.loads(run.stdout)["findings"]
        outcome = outcome_of(Task(name, str(folder)))
        assert outcome.rows is not None, outcome.reason
        assert plain
        assert [(one.fingerprint, one.message) for one in outcome.rows.findings] == [
            (one["fingerprint"], one["message"]) for one in plain
        ]


def test_a_check_knows_nothing_of_earlier_checks(write: Write) -> None:
    sizes = {"a": 400, "b": 700, "c": 400}
    top = write({f"{name}/main.tf": TWINS.format(name=name, nodes=nodes) for name, nodes in sizes.items()})
    for name, nodes in sizes.items():
        outcome = outcome_of(Task(name, str(top / name)))
        assert outcome.rows is not None, outcome.reason
        assert [(row.name, row.target) for row in outcome.rows.clusters] == [(name, nodes)]


def test_a_check_uses_the_day_of_its_task(write: Write) -> None:
    top = write({"main.tf": TWINS.format(name="a", nodes=4).replace('"a"\n', '"a"\n  version = "1.33"\n')})
    rules = []
    for day in ("2025-06-01", "2035-06-01"):
        outcome = outcome_of(Task("a", str(top), day=day))
        assert outcome.rows is not None, outcome.reason
        rules.append({one.rule for one in outcome.rows.findings})
    assert rules[1] - rules[0] == {"unsupported-kubernetes"}
