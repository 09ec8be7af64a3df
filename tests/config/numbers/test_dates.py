"""Test that every profile with facts has its sources and its dates, and that `kcheck limits` lists them."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from kcheck import __version__
from kcheck.commands.cli import cli
from kcheck.config.numbers import dates, profiles
from kcheck.config.numbers.dates import Dated
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.text import bundled
from tests.places import ROOT, load_script

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (
    "mechanisms.yaml",
    "unread.yaml",
    "other_clusters.yaml",
    "other_linters.yaml",
    "parts.yaml",
    "template_flags.yaml",
)
"""Files of our own words, which have no source."""
FILES = [path for path in sorted((ROOT / "profiles").rglob("*.yaml")) if "templates" not in path.parts]
NUMBERS = list(dates.numbers())


@pytest.mark.parametrize("file", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_profile_says_when_it_was_checked(file: Path) -> None:
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
        assert one.entry.source_dated == "unknown" or one.entry.source_dated <= one.entry.checked, one.name
        assert one.name.split(".")[1] == one.cloud


@pytest.mark.parametrize("one", [one for one in NUMBERS if one.entry.confidence == "high"], ids=lambda one: one.name)
def test_numbers_of_high_confidence_had_a_recent_source_when_checked(one: Dated) -> None:
    assert one.entry.source_dated != "unknown"
    checked, dated = map(datetime.date.fromisoformat, (one.entry.checked, one.entry.source_dated))
    assert (checked - dated).days <= (90 if one.topic in ("prices", "versions", "retirements") else 365)


def test_the_page_of_numbers_shows_both_days() -> None:
    rows = [line.split(" | ") for line in (ROOT / "docs" / "limits.md").read_text().splitlines()]
    days = {row[0].split('"')[1]: (row[3], row[4]) for row in rows if len(row) > 6 and 'id="' in row[0]}
    own = {one.name.partition(".")[2]: one.entry for one in dates.entries()}
    assert len(days) > 500
    assert {name: (own[name].checked, own[name].source_dated) for name in days if name in own} == days


def entry(name: str, checked: str, dated: str = "unknown", kind: str = "quota") -> Dated:
    value = ProfileValue("k", 1, "nodes", kind, ("https://a",), checked, "medium", source_dated=dated)
    return Dated(name, name.split(".")[1], value)


@pytest.mark.parametrize(
    ("name", "checked", "dated", "said"),
    [
        ("tables.ack.prices", "2026-11-22", "2026-08-24", ""),  # 90 days
        ("tables.ack.prices", "2026-11-22", "2026-08-23", "prices of 2026-08; `kcheck limits --older-than 90d`"),
        ("limits.eks.nat.price", "2026-11-22", "2026-08-23", "prices of 2026-08; `kcheck limits --older-than 90d`"),
        ("limits.eks.pool.quota", "2026-11-22", "2025-11-22", ""),  # 365 days
        ("limits.eks.pool.quota", "2026-11-22", "2025-11-21", "limits of 2025-11; `kcheck limits --older-than 365d`"),
        ("settings.eks.a.b", "2024-02-01", "unknown", "defaults of 2024-02; `kcheck limits --older-than 365d`"),
        ("limits.eks.pool.quota", "2026-11-22", "unknown", ""),  # somebody looked lately
    ],
)
def test_old_numbers_are_reported(
    name: str, checked: str, dated: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCHECK_TODAY", "2026-11-22")
    assert list(dates.old([entry(name, checked, dated)])) == (
        [f"old numbers: {said} lists what is old"] if said else []
    )


def test_every_number_in_dollars_is_a_price() -> None:
    found = {one.name: one.topic for one in NUMBERS if "dollar" in one.entry.unit or one.entry.unit == "mills"}
    assert "limits.eks.nat.terabyte" in found
    assert {*found.values()} == {"prices"}
    assert not [one.name for one in NUMBERS if one.name in found and one.entry.kind == "recommended"]


@pytest.mark.parametrize(("checked", "old"), [("2025-11-22", False), ("2025-11-21", True)])
def test_advice_of_an_article_is_old_once_nobody_looked_for_a_year(
    checked: str, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCHECK_TODAY", "2026-11-22")
    assert bool([*dates.old([entry("limits.any.arp.entries", checked, "2018-01-18", "recommended")])]) is old


def test_the_oldest_number_of_each_topic_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCHECK_TODAY", "2026-11-22")
    found = [
        entry("limits.a.b", "2025-03-01"),
        entry("limits.a.c", "2024-01-31"),
        entry("tables.a.prices", "2026-01-01"),
    ]
    (line,) = dates.old(found)
    assert (
        line
        == "old numbers: limits of 2024-01 and prices of 2026-01; `kcheck limits --older-than 90d` lists what is old"
    )


@pytest.mark.parametrize(
    ("released", "said"),
    [("2026-05-26", ""), ("2026-05-25", "2026-05-25; a newer release has newer numbers"), ("", "")],
)
def test_an_old_release_is_reported(released: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCHECK_TODAY", "2026-11-22")
    monkeypatch.setattr(bundled, "compiled", {"released": released}.get)
    assert list(dates.old([])) == ([f"kcheck {__version__} is of {said}"] if said else [])


def test_the_release_day_comes_from_the_changelog() -> None:
    released = load_script("compile_data.py").released
    assert released(f"# Changelog\n\n## {__version__} - 2026-05-25\n\n## 0.0.9 - 2025-01-01\n") == "2026-05-25"
    assert released(f"## {__version__} - unreleased\n\n## 0.0.9 - 2025-01-01\n") == ""


def test_the_header_of_a_profile_is_not_one_of_its_entries() -> None:
    found = [*profiles.table("eks"), *profiles.workloads(), *profiles.modules(), *profiles.oldest("eks")]
    assert not set(profiles.HEAD) & set(found)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["limits", *arguments])


@pytest.mark.medium
def test_kcheck_limits_prints_a_line_for_each_number() -> None:
    lines = run().stdout.splitlines()
    assert lines[0].split() == ["name", "value", "kind", "checked", "newest", "source", "source"]
    assert len(lines) == len(NUMBERS) + 1
    assert run("autoscaler.version_skew").stdout.splitlines()[1].split()[:4] == [
        "limits.any.autoscaler.version_skew",
        "1",
        "minor",
        "versions",
    ]
    assert run("tables.eks", "--cloud", "eks").stdout.splitlines()[1].startswith("tables.eks.")
    assert run("tables.eks", "--cloud", "aks").stdout == ""


@pytest.mark.medium
def test_kcheck_limits_prints_outdated_numbers() -> None:
    newest = max(one.entry.seen for one in NUMBERS)
    older = [one.name for one in NUMBERS if one.entry.seen < newest]
    found = run("--older-than", newest)
    assert [line.partition("  ")[0] for line in found.stdout.splitlines()[1:]] == older
    assert found.stderr == f"{len(older)} of {len(NUMBERS)} numbers have a source or check before {newest}.\n"
    assert run("--older-than", "2000-01-01").stdout == ""


@pytest.mark.medium
def test_the_age_of_a_number_is_counted_from_the_day_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCHECK_TODAY", "2027-06-30")
    assert "before 2027-01-01." in run("--older-than", "180d").stderr
    monkeypatch.setenv("KCHECK_TODAY", "soon")
    assert run("--older-than", "180d").exit_code == 2


@pytest.mark.parametrize("age", ["18x", "d", "2026-13-01", "-1d", "999999d"])
def test_kcheck_limits_refuses_an_invalid_age(age: str) -> None:
    found = run(f"--older-than={age}")
    assert found.exit_code == 2
    assert "is neither an age such as 180d nor a date" in found.stderr


@pytest.mark.medium
def test_limits_are_printed_as_json() -> None:
    found = json.loads(run("autoscaler.version_skew", "--format", "json").stdout)
    assert found["version"] == 1
    (number,) = found["numbers"]
    assert {key: number[key] for key in ("name", "cloud", "value", "unit", "kind")} == {
        "name": "limits.any.autoscaler.version_skew", "cloud": "any", "value": 1, "unit": "minor versions", "kind": "recommended",
    }  # fmt: skip
    assert number["sources"]
    assert number["checked"]
