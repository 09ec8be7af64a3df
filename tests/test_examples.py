"""The examples: every planted mistake at its line, and a model that a person can verify by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcheck import engine, fix
from kcheck.config import Config
from kcheck.files import Tree
from kcheck.report import model

if TYPE_CHECKING:
    from kcheck.engine import Result

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = Path(__file__).resolve().parent / "golden"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")


def golden(name: str, text: str) -> None:
    """Compare with a golden file; KCHECK_UPDATE=1 writes it, for a person to read."""
    path = GOLDEN / name
    if os.environ.get("KCHECK_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def places(result: Result) -> list[tuple[str, int, str, str]]:
    return [(f.span.source.path, f.span.begin.line, f.severity.word, f.rule) for f in result.findings]


def test_aks_training_has_its_mistakes_and_no_others() -> None:
    assert places(engine.run(Tree(["aks-training"]), Config())) == [
        ("aks-training/cluster.tf", 1, "error", "free-control-plane"),
        ("aks-training/cluster.tf", 23, "warning", "slow-node-deletion"),
        ("aks-training/cluster.tf", 23, "warning", "unready-tolerance-low"),
        ("aks-training/manifests/train.yaml", 22, "error", "docker-hub-image"),
        ("aks-training/manifests/train.yaml", 26, "error", "docker-hub-image"),
        ("aks-training/network.tf", 22, "error", "subnet-too-small"),
        ("aks-training/variables.tf", 21, "warning", "idle-nodes-kept-long"),
    ]


def test_aks_training_is_fully_decided() -> None:
    assert not engine.run(Tree(["aks-training"]), Config()).undecided


def test_aks_training_model() -> None:
    golden("aks-training.model.json", model.as_json(model.collect(Tree(["aks-training"]), Config())))


def test_aks_training_is_clean_of_what_was_fixed() -> None:
    outcome = fix.fix(["aks-training"], Config(), safeties=("safe", "costs", "unsafe"))
    assert not outcome.refused
    assert outcome.result is not None
    assert {finding.rule for finding in outcome.result.findings} == {"docker-hub-image"}


def test_aks_training_at_16_nodes_has_nothing_to_say() -> None:
    """The first try worked: with 16 nodes only the Free tier is worth a word."""
    found = places(engine.run(Tree(["aks-training"]), Config(nodes={"": 16})))
    assert [(severity, rule) for _, _, severity, rule in found] == [("warning", "free-control-plane")]
