"""Test that a finding is identified by rule, file and object: rewording keeps baselines and fingerprints."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.commands.cli import cli
from kcheck.engine import rules
from tests.places import TESTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.medium

OLD = TESTS / "cases" / "baseline-0.1.0"
"""A tree with mistakes, and the baseline that kcheck 0.1.0 wrote for it."""
SEVERITIES = ("info", "warning", "error")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the old tree, made the working directory."""
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reword(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reword the message of every rule."""
    other = tuple(replace(rule, message=f"Reworded: {rule.message}, or so") for rule in rules.load())
    monkeypatch.setattr(rules, "load", lambda: other)


def report(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["check", "--format", "json", "--info", *arguments])
    assert result.exit_code in (0, 1), result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def known_before() -> dict[tuple[str, str, str], str]:
    """Return the findings of the old baseline with their severities."""
    entries = json.loads((OLD / "kcheck-baseline.json").read_text())["findings"]
    return {(one["rule"], one["path"], name): one["severity"] for one in entries for name in one["objects"]}


def reported_again(*arguments: str) -> list[tuple[str, str, str]]:
    """Return findings reported again although the old baseline has them at the same or a higher severity."""
    known = known_before()
    again = []
    for one in report("--baseline", *arguments)["findings"]:
        path = one["path"]
        names = [name.replace(f"{path}:{one['line']}", path) for name in (one["object"], *one["also"])]
        keys = [(one["rule"], path, name) for name in names]
        rank = SEVERITIES.index(one["severity"])
        again += [key for key in keys if key in known and SEVERITIES.index(known[key]) >= rank]
    return again


@pytest.mark.usefixtures("tree")
def test_a_baseline_of_an_older_version_keeps_matching() -> None:
    assert reported_again() == []
    assert report("--baseline")["summary"]["known"] > 30


@pytest.mark.usefixtures("tree")
def test_a_baseline_matches_findings_in_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    reword(monkeypatch)
    assert reported_again() == []
    assert report("--baseline")["summary"]["known"] > 30


def test_fingerprints_do_not_depend_on_wording(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = report()["findings"]
    reword(monkeypatch)
    after = report()["findings"]
    assert all(one["message"].startswith("Reworded: ") for one in after)
    assert [one["fingerprint"] for one in after] == [one["fingerprint"] for one in before]


@pytest.mark.slow
def test_a_baseline_still_names_what_was_found(tree: Path) -> None:
    CliRunner().invoke(cli, ["baseline"])
    entries = json.loads((tree / "kcheck-baseline.json").read_text())["findings"]
    assert all(one["message"] for one in entries)
    assert reported_again() == []
    assert report("--baseline")["findings"] == []


def test_another_mistake_in_a_file_with_a_known_one_is_new(tree: Path) -> None:
    CliRunner().invoke(cli, ["baseline"])
    (tree / "jobs/broken.yaml").write_text('apiVersion: batch/v1\nkind: Job\nmetadata: "a\n')
    assert [one["path"] for one in report("--baseline")["findings"]] == ["jobs/broken.yaml"]
