"""Every profile with facts says where they come from and when they were checked; `kcheck limits` lists them."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from kcheck.commands.cli import cli
from kcheck.config.numbers import dates, profiles
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("mechanisms.yaml", "unread.yaml", "other_clusters.yaml", "other_linters.yaml")
"""Files of our own words, which no source can make wrong."""
FILES = [path for path in sorted((ROOT / "profiles").rglob("*.yaml")) if "templates" not in path.parts]
NUMBERS = list(dates.numbers())


@pytest.mark.parametrize("file", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_profile_says_when_it_was_checked(file: Path) -> None:
    if file.name in WORDS:
        return
    for document in file.read_text().split("\n---\n"):
        assert document.count("checked: 20"), file
    if file.name not in ("limits.yaml", "settings.yaml", "quotas.yaml", "retirements.yaml"):
        assert any(one.name.startswith("tables.") and one.name.split(".")[2] == file.stem for one in NUMBERS)


def test_each_number_has_a_name_a_source_and_a_date() -> None:
    names = [one.name for one in NUMBERS]
    assert len(names) == len(set(names))
    assert {name.partition(".")[0] for name in names} == {"limits", "settings", "retirements", "tables"}
    for one in NUMBERS:
        assert one.entry.sources, one.name
        assert all(source.startswith("https://") for source in one.entry.sources), one.name
        assert datetime.date.fromisoformat(one.entry.checked), one.name
        assert one.name.split(".")[1] == one.cloud


def test_the_head_of_a_table_is_none_of_its_entries() -> None:
    found = [*profiles.table("eks"), *profiles.workloads(), *profiles.modules(), *profiles.oldest("eks")]
    assert not set(profiles.HEAD) & set(found)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["limits", *arguments])


@pytest.mark.medium
def test_limits_prints_a_line_for_each_number() -> None:
    lines = run().stdout.splitlines()
    assert len(lines) == len(NUMBERS)
    assert run("autoscaler.version_skew").stdout.split()[:4] == [
        "limits.any.autoscaler.version_skew",
        "1",
        "minor",
        "versions",
    ]
    assert run("tables.eks", "--cloud", "eks").stdout.startswith("tables.eks.")
    assert run("tables.eks", "--cloud", "aks").stdout == ""


@pytest.mark.medium
def test_limits_prints_what_is_due() -> None:
    newest = max(one.entry.checked for one in NUMBERS)
    older = [one.name for one in NUMBERS if one.entry.checked < newest]
    found = run("--older-than", newest)
    assert [line.partition("  ")[0] for line in found.stdout.splitlines()] == older
    assert found.stderr == f"{len(older)} of {len(NUMBERS)} numbers were last checked before {newest}.\n"
    assert run("--older-than", "2000-01-01").stdout == ""


@pytest.mark.medium
def test_an_age_is_counted_from_the_day_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCHECK_TODAY", "2027-06-30")
    assert "before 2027-01-01." in run("--older-than", "180d").stderr
    monkeypatch.setenv("KCHECK_TODAY", "soon")
    assert run("--older-than", "180d").exit_code == 2


@pytest.mark.parametrize("age", ["18x", "d", "2026-13-01", "-1d", "999999d"])
def test_limits_refuses_what_is_no_age(age: str) -> None:
    found = run(f"--older-than={age}")
    assert found.exit_code == 2
    assert "is neither an age such as 180d nor a date" in found.stderr


@pytest.mark.medium
def test_limits_as_json() -> None:
    found = json.loads(run("autoscaler.version_skew", "--format", "json").stdout)
    assert found["version"] == 1
    (number,) = found["numbers"]
    assert {key: number[key] for key in ("name", "cloud", "value", "unit", "kind")} == {
        "name": "limits.any.autoscaler.version_skew", "cloud": "any", "value": 1, "unit": "minor versions", "kind": "recommended",
    }  # fmt: skip
    assert number["sources"]
    assert number["checked"]
