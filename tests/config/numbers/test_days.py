"""A result depends on the days that it asks for: whether these have come, and not on what day it is."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import rules
from kcheck.engine.rule_words import counts_days, texts
from kcheck.text.files import system
from tests.conftest import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kcheck.engine.linter import Result

    Check = Callable[..., Result]

pytestmark = pytest.mark.medium

CODE = """
resource "aws_eks_cluster" "VERSION" {
  name    = "VERSION"
  version = "1.VERSION"
}
"""
AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name               = "main"
  kubernetes_version = "1.33"

  default_node_pool {
    name       = "system"
    node_count = 3
    vm_size    = "Standard_HC44rs"
  }

  network_profile { network_plugin = "kubenet" }
}
"""
FIRST, LAST = datetime.date(2026, 11, 1), datetime.date(2028, 6, 1)
OWN_RULE = """\
summary: Cluster of a version that ends next week
severity: warning
subject: cluster
problem: cluster.support != null && cluster.support.PART
at: cluster.version
message: "{cluster.name} ends soon"
sources: [https://example.com]
---
why: One week is enough to upgrade.
examples:
  - {bad: 'x', good: 'y'}
"""


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The day that the system says: the last of these."""
    said = [FIRST.isoformat()]
    monkeypatch.delenv("KCHECK_TODAY")
    monkeypatch.setattr(system, "_day", lambda: said[-1])
    yield said
    system.stop_recording()


@pytest.mark.slow
def test_a_result_holds_until_a_day_that_it_asked_for(check: Check, days: list[str]) -> None:
    files = {"eks.tf": "".join(CODE.replace("VERSION", str(minor)) for minor in (30, 33, 34, 35)), "aks.tf": AKS}
    now, recording, expected = FIRST, None, None
    changes = 0
    while now < LAST:
        days.append(now.isoformat())
        if recording is None or not system.is_same((*key, answer) for key, answer in recording.answers.items()):
            changes += 1
            recording = system.record()
            expected = check(files).findings
            system.stop_recording()
        elif now.day in (1, 15):
            found = check(files).findings
            assert [(one.rule, one.severity, one.message, one.details, one.help) for one in found] == [
                (one.rule, one.severity, one.message, one.details, one.help) for one in expected or ()
            ]
        now += datetime.timedelta(days=1)
    assert recording is not None
    assert 10 < changes < 60


def test_rules_ask_for_days_only_whether_they_have_come() -> None:
    """What `days_since` in `config/today.py` takes for granted."""
    asked = 0
    for rule in rules.load():
        if not counts_days(rule):
            continue
        for one in texts(rule):
            if one.steps == ("grade", "of") and one.text.rpartition(".")[2] == "days_ended":
                assert rule.grade is not None
                assert rule.grade.wall == "0"
                assert re.fullmatch(r"-[\w.]+\.notice", rule.grade.recommended or ""), rule.name
                asked += 1
                continue
            for match in re.finditer(r"days_\w+(.{0,30})", one.text, re.DOTALL):
                assert re.match(r" (!= null|> 0 \?|> -limits\.kubernetes\.notice)", match[1]), (rule.name, one.text)
                asked += 1
    assert asked > 10


@pytest.mark.parametrize(("part", "is_same"), [("days_ended > -7", False), ("newest != '1.36'", True)])
def test_a_rule_of_ones_own_may_ask_for_more(
    part: str, is_same: bool, check: Check, days: list[str], tmp_path: Path
) -> None:
    folder = written(tmp_path / "rules", {"teams/ends-soon.yaml": OWN_RULE.replace("PART", part)})
    recording = system.record()
    check({"main.tf": CODE.replace("VERSION", "35")}, Config(rules=(str(folder),)))
    system.stop_recording()
    days.append((FIRST + datetime.timedelta(days=1)).isoformat())
    answers = [(*key, answer) for key, answer in recording.answers.items() if key[0] in ("day", "has come", "variable")]
    assert answers
    assert system.is_same(answers) is is_same
