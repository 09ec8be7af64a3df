"""Test the examples: every planted mistake is found at its line, and a person can verify the model by hand."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config import settings
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES
from tests.places import ROOT, TESTS

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.engine.linter import Result

pytestmark = pytest.mark.medium

GOLDEN = TESTS / "golden"
OTHERS = ("generated", "published")
"""Folders that other tests cover; test_published.py covers clusters that others published."""

EXAMPLES = sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name not in OTHERS)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")


def golden(name: str, text: str) -> None:
    """Assert that a text equals a golden file; KCHECK_UPDATE=1 writes the file instead, for a person to read."""
    path = GOLDEN / name
    if os.environ.get("KCHECK_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def places(result: Result) -> list[tuple[str, int, str, str]]:
    return [(f.span.source.path, f.span.begin.line, f.severity.word, f.rule) for f in result.findings if f.severity]


def listed(result: Result) -> list[str]:
    return [f"  {path}:{line} {severity} {rule}" for path, line, severity, rule in places(result)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_has_exactly_its_planted_mistakes(example: str) -> None:
    """This also holds after all fixes: what is left then needs a person."""
    config = settings.load((example,), None)
    found = linter.run(Tree([example]), config)
    outcome = fix.fix([example], config, safeties=SAFETIES)
    assert not [refused.reason for refused in outcome.refused]
    lines = ["found:", *listed(found), "left after all fixes:", *listed(outcome.result)]
    golden(f"{example}.findings.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_fully_decided(example: str) -> None:
    assert not linter.run(Tree([example]), settings.load((example,), None)).undecided


@pytest.mark.parametrize("example", [name for name in EXAMPLES if name.endswith("-training")])
def test_the_model_of_an_example_equals_its_golden_file(example: str) -> None:
    """The file is the JSON of `kcheck show`, one field a line."""
    data = json.loads(model.as_json(model.collect(Tree([example]), settings.load((example,), None))))
    assert not data.pop("problems")
    lines = [f"version {data.pop('version')}"]
    for subject, things in data.items():
        for thing in things:
            fields = thing.pop("fields")
            lines.append(f"{subject} {json.dumps(thing)}")
            lines += [f"  {name} {json.dumps(field, ensure_ascii=False)}" for name, field in fields.items()]
    golden(f"{example}.model.txt", "\n".join(lines) + "\n")


def subnet_message(text: str, tmp_path: Path) -> tuple[str, ...]:
    """Return the message of subnet-too-small for eks-training with another VPC CNI configuration."""
    for path in sorted((ROOT / "examples" / "eks-training").glob("*.*")):
        content = path.read_text()
        (tmp_path / path.name).write_text(content.replace("      before_compute = true\n", text))
    result = linter.run(Tree([str(tmp_path)]), Config())
    return next((one.message, *one.details) for one in result.findings if one.rule == "subnet-too-small")


def test_eks_training_counts_addresses_by_interfaces_and_by_prefixes(tmp_path: Path) -> None:
    """A c6i.16xlarge has 15 interfaces of 50 addresses, an m6i.xlarge 4 of 15, a p5.48xlarge 2 of 50.

    With the CNI's defaults a node with a pod holds two interfaces; with prefixes its own address and two of 16, and its
    address may break up a third one: 33 to 48.
    """
    assert subnet_message("      before_compute = true\n", tmp_path) == (
        "Subnet 10.0.0.0/20 is full at 92 of 607 nodes",
        "607 nodes need 23,760 addresses; 4,091 are usable",
        "cpu: 600 + 100 surge nodes over 3 subnets x 100 = 23,400 addresses",
        "gpu: 3 (default) nodes x 100 = 300 addresses",
        "system: 4 nodes over 3 subnets x 30 = 60 addresses",
        "While all pools are upgraded at once they need 24,020",
        "With ENABLE_PREFIX_DELEGATION of the vpc-cni add-on, a node would take about 33 addresses",
        "With MINIMUM_IP_TARGET and WARM_IP_TARGET, a node would take about as many as it has pods",
    )
    prefixes = '      configuration_values = jsonencode({ env = { ENABLE_PREFIX_DELEGATION = "true" } })\n'
    assert subnet_message(prefixes, tmp_path) == (
        "Subnet 10.0.0.0/20 is full at 191 to 275 of 607 nodes",
        "607 nodes need 7,887 to 11,472 addresses; 4,091 are usable",
        "cpu: 600 + 100 surge nodes over 3 subnets x 33 = 7,722 addresses",
        "gpu: 3 (default) nodes x 33 = 99 addresses",
        "system: 4 nodes over 3 subnets x 33 = 66 addresses",
    )


def test_aks_training_at_16_nodes_has_only_the_free_tier_finding() -> None:
    """The first attempt worked: with 16 nodes only the Free tier is worth reporting."""
    found = places(linter.run(Tree(["aks-training"]), Config(nodes={"": 16})))
    assert [(severity, rule) for _, _, severity, rule in found] == [("warning", "free-control-plane")]


SAID = {
    "subnet": "subnet-too-small", "pod-range": "pod-range-too-small", "docker-hub": "docker-hub-image",
    "pool-quota": "pool-over-quota", "pool-limit": "pool-over-limit", "flannel-routes": "flannel-route-limit",
    "address-units": "subnet-too-small",
}  # fmt: skip
"""Rules, by the mechanism of the wall that they ask a person to move."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "own-rules"])
def test_after_all_fixes_the_target_is_reached_or_help_remains(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples" / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    result = CliRunner().invoke(cli, ["fix", ".", "--unsafe-fixes"])
    assert result.exit_code == 1
    asked = {
        line.split()[2].rstrip(":")
        for line in result.stderr.splitlines()
        if line.startswith("  ") and "=" not in line.split()[0]
    }
    walls = json.loads(CliRunner().invoke(cli, ["capacity", ".", "--format", "json"]).stdout)["clusters"][0]["walls"]
    short = {wall["mechanism"] for wall in walls if wall["before_target"] and wall["kind"] != "recommended"}
    assert {SAID[mechanism] for mechanism in short} <= asked
