"""Test the report on a fleet over three weeks, and reports with little or much content."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner

from kcheck.addons.fleet.database import QUESTIONS
from kcheck.addons.fleet.outcomes import FAILED, Kept
from kcheck.addons.fleet.tables import TABLES, ClusterRow, Rows
from kcheck.commands.cli import cli
from kcheck.report.cluster_summary import states_text
from tests.addons.fleet import story
from tests.report.page import Page
from tests.whole.test_examples import golden

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = ("text", "markdown", "html")


def said(folder: Path, *arguments: str, form: str = "text") -> str:
    result = CliRunner().invoke(cli, ["fleet", "report", "-o", str(folder), "--format", form, *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["fleet", "report", "-o", str(folder), *arguments])
    assert result.exit_code == 2, result.output
    return result.stderr


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a fleet with three runs."""
    folder = tmp_path_factory.mktemp("told") / "fleet"
    story.tell(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder for a fleet."""
    path = tmp_path / "fleet"
    path.mkdir()
    return path


def write(folder: Path, *clusters: ClusterRow, name: str = "infra", run: str = story.FIRST, owner: str = "") -> None:
    kept = Kept(str(folder))
    story.write(folder, run, [story.ended(kept, name, rows=Rows(list(clusters)), owner=owner)])


# --- three weeks


def test_text_report_equals_its_golden_file(told: Path) -> None:
    golden("fleet/report.txt", said(told))


def test_markdown_report_equals_its_golden_file(told: Path) -> None:
    golden("fleet/report.md", said(told, form="markdown"))


def test_the_report_of_an_owner_covers_only_its_repositories(told: Path) -> None:
    golden("fleet/report-of-an-owner.txt", said(told, "--owner", "research"))


def test_the_first_run_has_no_comparison(told: Path) -> None:
    golden("fleet/first-report.txt", said(told, "--run", story.FIRST))


def test_an_earlier_run_is_reported_as_it_was_then(told: Path, folder: Path) -> None:
    """The report shows nothing of later runs."""
    before = said(told, "--run", story.SECOND)
    assert "train" not in before.partition("REPOSITORIES")[0].partition("BREAK FIRST")[2].partition("MONEY")[0]
    assert story.THIRD not in before
    assert "trainer-copy" not in before
    assert "CHANGES SINCE 2026-11-09" in before
    assert "2026-11-23" not in before


def test_the_page_and_the_text_report_agree(told: Path) -> None:
    page = Page(said(told, form="html"))
    assert page.foreign() == []
    assert page.faults == []
    text = " ".join(page.text.split())
    for sentence in (
        "0 of 4 clusters reach their target, 3 stop before it, 1 not known",
        "1 cluster worse, 1 cluster better",
        "Subnet 10.0.0.0/20 is full at 252 of 600 nodes",
    ):
        assert sentence in text
    assert [one.tag for one in page.elements if one.tag in ("script", "img", "iframe")] == []
    bars = [one for one in page.elements if one.tag == "rect" and one.attributes.get("width", "").endswith("%")]
    assert [one.attributes["class"] for one in bars] == ["stops", "reaches", "stops", "reaches", "stops", "unknown"]


def test_the_page_of_a_first_run_has_no_picture(told: Path) -> None:
    assert "<svg" not in said(told, "--run", story.FIRST, form="html")


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_tables_give_the_same_bytes(told: Path, form: str) -> None:
    assert said(told, form=form) == said(told, form=form)


def test_every_table_is_narrowed_to_the_owner() -> None:
    views = files("kcheck.addons.fleet.report").joinpath("sql/views.sql").read_text()
    assert set(re.findall(r"CREATE TEMP VIEW (\w+)", views)) == set(TABLES)


def test_unknown_owners_and_runs_are_refused(told: Path, folder: Path) -> None:
    assert "known are platform, research" in refused(told, "--owner", "sales")
    assert "did you mean research?" in refused(told, "--owner", "reserch")
    assert story.THIRD in refused(told, "--run", "20251109T060000Z")
    assert "kcheck fleet" in refused(folder)


# --- little to say


def test_the_report_says_so_when_no_cluster_stops(folder: Path) -> None:
    write(folder, story.cluster("a", 9, 9, waste_state="nothing"), story.cluster("b", 5, 5, waste_state="nothing"))
    text = said(folder)
    assert text.startswith("2 of 2 clusters reach their target.\n")
    assert "No cluster is known to stop before its target.\n" in text
    assert text.count("No waste was found in any cluster.") == 2
    assert "No errors and no warnings." in text
    assert "How far each cluster gets is known." in text


def test_missing_inputs_come_first_if_most_clusters_lack_one(folder: Path) -> None:
    unknown = [story.cluster(name, missing="var.a has no value", remedy="set it with --var a=VALUE") for name in "abc"]
    write(folder, *unknown, story.cluster("d", 3, 9, first_limit="subnet", first_limit_at=3))
    text = said(folder)
    assert text.startswith("How far 3 of 4 clusters get is not known, 0 reach their target, 1 stops before it.\n")
    headings = re.findall(r"^[A-Z ]+$", text, re.MULTILINE)
    assert headings[:2] == ["INPUTS THAT WOULD DECIDE MOST", "CHANGES"]
    assert "What a run wastes is not known for 4 clusters." in text


@pytest.mark.parametrize("form", FORMATS)
def test_the_report_says_so_when_there_are_no_clusters(folder: Path, form: str) -> None:
    write(folder)
    assert "No cluster was found in 1 repository" in said(folder, form=form)


@pytest.mark.parametrize("form", FORMATS)
def test_the_report_says_so_when_every_repository_failed(folder: Path, form: str) -> None:
    kept = Kept(str(folder))
    found = [story.ended(kept, name, status=FAILED, reason="out of memory") for name in "ab"]
    for run in (story.FIRST, story.SECOND):
        story.write(folder, run, found)
    text = said(folder, form=form)
    assert "2 repositories could not be checked" in text
    assert "out of memory" in text
    assert "2 repositories not fully checked" in text


def test_an_upper_bound_without_a_number_counts_as_a_share(folder: Path) -> None:
    """A cluster that reaches at most 30 of 100 nodes has an unknown reach, but surely stops."""
    bound = story.cluster(
        "a", target=100, state="stops", reach="at most 30 of 100 nodes", first_limit="routes", first_limit_at=30
    )
    write(folder, bound, story.cluster("b", 50, 100, first_limit="subnet", first_limit_at=50))
    lines = [line.split() for line in said(folder).splitlines() if "of 100 nodes" in line]
    assert [line[:3] for line in lines] == [["infra", "30", "%"], ["infra", "50", "%"]]


# --- much to say


def test_the_report_of_thousands_of_clusters_stays_short(folder: Path) -> None:
    clusters = [
        story.cluster(f"c{at:04}", at, 9000, first_limit=f"subnet {at}", first_limit_at=at, missing=f"var.a{at}")
        for at in range(1, 3001)
    ]
    findings = [story.finding(f"rule-{at}", "error", fingerprint=str(at)) for at in range(3000)]
    kept = Kept(str(folder))
    for run, rows in ((story.FIRST, Rows()), (story.SECOND, Rows(clusters, findings=findings))):
        story.write(folder, run, [story.ended(kept, "infra", rows=rows)])
    for form, most in zip(FORMATS, (20_000, 40_000, 200_000), strict=True):
        text = said(folder, form=form)
        assert len(text) < most
        assert "3,000 errors new" in text
        assert re.search(r"2,9\d\d more", text)
    named = set(re.findall(r"kcheck fleet query ([\w-]+)", said(folder)))
    assert {"reach", "changes", "rules", "undecided"} <= named <= set(QUESTIONS)


def test_clusters_built_alike_share_one_row(folder: Path) -> None:
    alike = [
        story.cluster(
            "train", 31, 300, cluster=f"gke/examples/{at}:train", path=f"examples/{at}/main.tf", first_limit="pod range"
        )
        for at in range(14)
    ]
    write(folder, *alike)
    text = said(folder)
    assert text.count("31 of 300 nodes") == 1
    assert "declared at: examples/0/main.tf:3 and 13 more like it" in text


def test_lines_of_text_fit_a_terminal(told: Path, folder: Path) -> None:
    long = "x" * 300
    write(
        folder, story.cluster(long, 1, 9, first_limit=long, first_limit_at=1, move=long, environment=long),
        name=long, owner=long,
    )  # fmt: skip
    for text in (said(told), said(folder), said(folder, "--owner", long)):
        assert max(len(line.replace(long, "")) for line in text.splitlines()) <= 100  # which is never cut


def test_long_names_stay_whole(folder: Path) -> None:
    """Long names are wrapped, not cut."""
    name = "-".join(f"part{at:02}" for at in range(30))
    write(folder, story.cluster(name, 1, 9, first_limit="subnet", first_limit_at=1))
    assert name in re.sub(r"\s+", "", said(folder))


def test_a_new_version_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder)
    row = story.run_row
    monkeypatch.setattr(story, "run_row", lambda *given: msgspec.structs.replace(row(*given), version="0.2.0"))
    write(folder, run=story.SECOND)
    assert "kcheck 0.1.0 was updated to 0.2.0: some changes may come from its rules." in said(folder)


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ((2, 0, 0), "2 of 2 clusters reach their target"),
        ((1, 0, 0), "1 of 1 cluster reaches its target"),
        ((1, 1, 1), "1 of 3 clusters reaches its target, 1 stops before it, 1 not known"),
        ((212, 48, 80), "212 of 340 clusters reach their target, 48 stop before it, 80 not known"),
        ((0, 0, 3), "How far 3 of 3 clusters get is not known"),
        ((1, 2, 9), "How far 9 of 12 clusters get is not known, 1 reaches its target, 2 stop before it"),
    ],
)
def test_states_are_summarized_in_a_sentence(states: tuple[int, int, int], text: str) -> None:
    assert states_text(*states) == text
