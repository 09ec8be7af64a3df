"""Test answer and format of each query, for a fleet with failures, renames and copies."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from kcheck.addons.fleet import database
from kcheck.addons.fleet.database import QUESTIONS, Answer, ask, question
from kcheck.addons.fleet.outcomes import Kept
from kcheck.addons.fleet.tables import Rows
from kcheck.commands.cli import cli
from kcheck.report.layout import plain
from tests.addons.fleet import story
from tests.addons.fleet.story import FIRST, SECOND, THIRD
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.addons.fleet.database import Value


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the fleet that story.tell writes."""
    folder = tmp_path_factory.mktemp("fleet") / "out"
    story.tell(folder)
    return folder


def rows(folder: Path, name: str, *columns: str) -> list[tuple[Value, ...]]:
    """Return the rows that a named query gives; all of its columns, or those given."""
    found = ask(str(folder), question(name).sql)
    wanted = [found.columns.index(column) for column in columns or found.columns]
    return [tuple(row[index] for index in wanted) for row in found.rows]


def query(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["fleet", "query", *arguments])


# --- the answers


def test_the_reach_query_lists_the_worst_first_and_unknown_last(folder: Path) -> None:
    columns = ("owner", "repository", "cluster", "environment", "state", "percent_at_most", "reach", "move")
    assert rows(folder, "reach", *columns) == [
        ("platform", "serving", "serve", "", "stops", 10.3, "31 of 300 nodes", story.RANGE),
        ("research", "trainer", "train", "", "stops", 42.0, "252 of 600 nodes", story.SUBNET),
        ("platform", "shop", "shop", "prod", "stops", 80.0, "80 of 100 nodes", story.RANGE),
        ("", "trainer-copy", "train", "", "unknown", None, "not known", ""),
    ]


def test_an_upper_bound_of_the_reach_gives_an_upper_bound_of_the_percentage(tmp_path: Path) -> None:
    bound = story.cluster("bound", state="stops", target=400, first_limit_at=100, reach="at most 100 of 400 nodes")
    far = story.cluster("far", target=100, first_limit_at=900, reach="100 of 100 nodes, as far as is known")
    small = story.cluster("small", 30, 100)
    story.write(tmp_path, FIRST, [story.ended(Kept(str(tmp_path)), "a", rows=Rows([bound, far, small]))])
    assert rows(tmp_path, "reach", "cluster", "reaches", "percent_at_most") == [
        ("bound", None, 25.0), ("small", 30, 30.0), ("far", None, None)
    ]  # fmt: skip


def test_first_limits_count_each_cluster_once_and_skip_recommendations(folder: Path) -> None:
    """At 252 nodes, trainer's subnet is a limit below the written maximum, which is intended."""
    assert rows(folder, "first-limits") == [
        ("pod-range", "hard", 2, 2, 31, 289, 0, story.RANGE),
        ("subnet", "hard", 1, 1, 252, 348, 0, story.SUBNET),
    ]


def test_first_limits_say_where_node_counts_are_bounds(tmp_path: Path) -> None:
    bound = story.cluster("bound", state="stops", target=400, first_limit_at=100)
    limits = [story.limit(bound, "subnet", 100), story.limit(bound, "maximum", 90), story.limit(bound, "quota", 300)]
    story.write(tmp_path, FIRST, [story.ended(Kept(str(tmp_path)), "a", rows=Rows([bound], limits))])
    assert rows(tmp_path, "first-limits") == [("maximum", "hard", 1, 1, 90, None, 1, "")]


def test_the_shared_query_lists_exceeded_limits_first(folder: Path) -> None:
    columns = ("state", "name", "needed", "available", "percent", "clusters", "takes_most", "note")
    assert rows(folder, "shared", *columns) == [
        ("over", "L-417A185B", 384, 192, 200.0, 2, "trainer:train, trainer-copy:train", ""),
        ("unknown", "cr-1", 16, None, None, 1, "trainer:train", "write its size into fleet.yaml"),
        ("fits", "L-1194D53C", 10, 5000, 0.2, 1, "serving:serve", ""),
    ]


def test_the_money_query_never_counts_unknown_waste_as_0(folder: Path) -> None:
    """In research, another repository failed, and the copy may be the same cluster as trainer's."""
    found = ask(str(folder), question("money").sql)
    assert [dict(zip(found.columns, row, strict=True)) for row in found.rows] == [
        {
            "owner": "research", "clusters": 1, "wasted_dollars_at_least": 200.0, "wasted_dollars_at_most": 260.51,
            "clusters_with_dollars": 1, "clusters_without_waste": 0, "clusters_without_price": 0,
            "unpriced_node_hours_at_least": 0.0, "unpriced_node_hours_at_most": 0.0, "clusters_unknown": 0,
            "clusters_perhaps_counted_twice": 1, "repositories_not_fully_checked": 1,
        },
        {
            "owner": "platform", "clusters": 2, "wasted_dollars_at_least": None, "wasted_dollars_at_most": None,
            "clusters_with_dollars": 0, "clusters_without_waste": 0, "clusters_without_price": 1,
            "unpriced_node_hours_at_least": 10.0, "unpriced_node_hours_at_most": 12.0, "clusters_unknown": 1,
            "clusters_perhaps_counted_twice": 0, "repositories_not_fully_checked": 1,
        },
        {
            "owner": "", "clusters": 1, "wasted_dollars_at_least": None, "wasted_dollars_at_most": None,
            "clusters_with_dollars": 0, "clusters_without_waste": 0, "clusters_without_price": 0,
            "unpriced_node_hours_at_least": 0.0, "unpriced_node_hours_at_most": 0.0, "clusters_unknown": 1,
            "clusters_perhaps_counted_twice": 1, "repositories_not_fully_checked": 0,
        },
    ]  # fmt: skip


def test_clusters_without_waste_have_a_known_waste_of_0(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path))
    nothing = Rows([story.cluster("a", waste_state="nothing")])
    story.write(tmp_path, FIRST, [story.ended(kept, "a", rows=nothing), story.ended(kept, "empty", owner="nobody")])
    columns = ("owner", "clusters", "wasted_dollars_at_most", "clusters_without_waste")
    assert rows(tmp_path, "money", *columns) == [("", 1, 0.0, 1), ("nobody", 0, None, 0)]


def test_the_trend_query_counts_repositories_missing_in_a_run(folder: Path) -> None:
    columns = (
        "run", "repositories", "failed", "clusters", "clusters_not_seen", "clusters_that_stop", "clusters_that_reach",
        "clusters_unknown", "percent_that_stop", "errors", "wasted_dollars_at_least", "clusters_with_unknown_waste",
    )  # fmt: skip
    assert rows(folder, "trend", *columns) == [
        (FIRST, 4, 0, 4, 0, 2, 2, 0, 50.0, 2, 100.0, 2),
        (SECOND, 4, 1, 3, 1, 2, 1, 0, 66.7, 2, 0.0, 2),
        (THIRD, 5, 1, 4, 0, 3, 0, 1, 100.0, 3, 200.0, 3),
    ]


CHANGES = [
    ("repository not fully checked", "", "broken", "", "it needs more than 4 GiB of memory", ""),
    ("repository not fully checked", "", "shop", "", "the time is over", SECOND),
    ("cluster worse", "", "trainer", "400 of 400 nodes", "252 of 600 nodes", FIRST),
    ("finding new", "error", "shop", "", story.OLD.message, SECOND),
    ("finding new", "error", "trainer", "", story.SMALL.message, FIRST),
    ("cluster better", "", "shop", "60 of 100 nodes", "80 of 100 nodes", SECOND),
    ("finding gone", "warning", "trainer", story.IDLE.message, "", FIRST),
    ("repository new", "", "trainer-copy", "", "checked for the first time", ""),
    ("repository renamed", "", "serving", "serving-old", "serving", SECOND),
    ("repository no longer listed", "", "retired", "", "", SECOND),
]
"""Changes between runs.

trainer failed in the second run, so it is compared with the first. serving takes over the findings of serving-old. shop
was not fully checked: its control plane finding and its staging cluster are absent, but do not count as gone.
"""


def test_changes_compare_with_the_last_check_of_each_repository(folder: Path) -> None:
    assert rows(folder, "changes", "change", "severity", "repository", "before", "now", "since") == CHANGES


def test_the_changes_query_names_each_cluster(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path))
    before = {
        "same": (5, 9),
        "lost": (5, 9),
        "gained": (9, 9),
        "closer": (5, 9),
        "further": (5, 9),
        "gone": (9, 9),
        "reached": (5, 9),
    }
    after = {"same": (50, 90), "gained": (5, 9), "closer": (6, 9), "further": (5, 10), "new": (1, 1), "reached": (9, 9)}
    old = [*(story.cluster(name, *sizes) for name, sizes in before.items()), story.cluster("found")]
    new = [
        *(story.cluster(name, *sizes) for name, sizes in after.items()),
        story.cluster("lost"),
        story.cluster("found", 3, 3),
    ]
    for run, clusters in ((FIRST, old), (SECOND, new)):
        story.write(tmp_path, run, [story.ended(kept, "a", rows=Rows(clusters))])
    assert rows(tmp_path, "changes", "change", "subject") == [
        ("cluster worse", "further"), ("cluster worse", "gained"), ("cluster not known now", "lost"), ("cluster new", "new"),
        ("cluster better", "closer"), ("cluster better", "reached"), ("cluster known now", "found"), ("cluster gone", "gone"),
    ]  # fmt: skip


def test_the_first_run_lists_repositories_as_new_and_no_changes(tmp_path: Path) -> None:
    story.write(tmp_path, FIRST, [story.ended(Kept(str(tmp_path)), "a", rows=story.SERVING)])
    assert rows(tmp_path, "changes", "change", "repository") == [("repository new", "a")]


def test_a_renamed_repository_is_recognized_by_its_folder_or_commit(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path))
    for run, name, place, commit in (
        (FIRST, "one", "/a", "c1"), (SECOND, "two", "/a", "c2"), (THIRD, "three", "/b", "c2"), ("20261130T060000Z", "four", "/b", "")
    ):  # fmt: skip
        story.write(
            tmp_path, run, [story.ended(kept, name, folder=place, revision=commit, rows=Rows(findings=[story.OLD]))]
        )
    assert rows(tmp_path, "rules", "rule", "findings", "oldest_days") == [(story.OLD.rule, 1, 21)]
    assert rows(tmp_path, "changes", "change", "before", "now") == [("repository renamed", "three", "four")]


def test_a_copy_next_to_its_original_is_not_a_rename(tmp_path: Path) -> None:
    kept = Kept(str(tmp_path))
    one = story.ended(kept, "one", revision="c1", rows=Rows(findings=[story.OLD]))
    copy = story.ended(kept, "copy", revision="c1", rows=Rows(findings=[story.OLD]))
    story.write(tmp_path, FIRST, [one])
    story.write(tmp_path, SECOND, [one, copy])
    assert rows(tmp_path, "changes", "change", "repository") == [("repository new", "copy")]
    assert rows(tmp_path, "rules", "findings", "oldest_days", "median_days") == [(2, 7, 4)]


def test_the_rules_query_shows_the_age_of_findings(folder: Path) -> None:
    columns = ("rule", "worst_severity", "findings", "repositories", "with_fix", "oldest_days", "median_days")
    assert rows(folder, "rules", *columns) == [
        ("pod-range-too-small", "error", 1, 1, 0, 14, 14),
        ("subnet-too-small", "error", 1, 1, 0, 0, 0),
        ("unsupported-kubernetes", "error", 1, 1, 0, 0, 0),
        ("gpu-pool-untainted", "warning", 1, 1, 1, 14, 14),
        ("slow-boot-disk", "info", 1, 1, 1, 14, 14),
    ]


def test_fixable_findings_are_counted_by_team_and_class(folder: Path, tmp_path: Path) -> None:
    assert rows(folder, "fixable") == [
        ("platform", "unsafe", 1, 0, 0, 1, "slow-boot-disk"), ("research", "unsafe", 1, 0, 0, 1, "gpu-pool-untainted")
    ]  # fmt: skip
    findings = [
        story.finding(name, severity, "safe", waste=severity == "info")
        for name in "gfedcba"
        for severity in ("error", "info")
    ]
    story.write(
        tmp_path, FIRST, [story.ended(Kept(str(tmp_path)), "a", rows=Rows(findings=[*findings, story.IDLE, story.OLD]))]
    )
    assert rows(tmp_path, "fixable") == [
        ("", "safe", 14, 7, 7, 1, "a, b, c, d, e"), ("", "costs", 1, 0, 1, 1, "idle-too-long")
    ]  # fmt: skip


def test_the_undecided_query_counts_checks_and_clusters_by_input(folder: Path) -> None:
    assert rows(folder, "undecided") == [
        ("", "var.nodes has no value", "set it with --var nodes=VALUE", 2, 2, 1, 1, "trainer-copy: main.tf:3")
    ]


def test_failed_repositories_come_first_and_last_check_times_are_shown(folder: Path, tmp_path: Path) -> None:
    columns = ("status", "repository", "reason", "seconds", "mebibytes", "last_checked")
    assert rows(folder, "repositories", *columns) == [
        ("failed", "broken", "it needs more than 4 GiB of memory", 30.0, 0, "never"),
        ("partly", "shop", "the time is over", 60.0, 0, SECOND),
        ("checked", "serving", "", 8.0, 210, THIRD),
        ("checked", "trainer", "", 5.0, 0, THIRD),
        ("checked", "trainer-copy", "", 2.0, 0, THIRD),
    ]
    kept = Kept(str(tmp_path))
    many = [story.ended(kept, f"r{number:02}", seconds=float(number)) for number in range(30)]
    story.write(tmp_path, FIRST, many)
    story.write(
        tmp_path, SECOND, [story.ended(kept, one.repository.name, seconds=0.1, is_unchanged=True) for one in many]
    )
    found = rows(tmp_path, "repositories", "repository", "seconds")
    assert found == [(f"r{number:02}", float(number)) for number in range(29, 9, -1)]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_query_answers_for_an_empty_fleet(name: str, tmp_path: Path) -> None:
    story.write(tmp_path, FIRST, [])
    found = rows(tmp_path, name)
    assert len(found) == (1 if name == "trend" else 0)


# --- the command


def test_each_query_file_begins_with_its_description() -> None:
    there = os.listdir(os.path.join(os.path.dirname(database.__file__), "queries"))
    assert sorted(there) == sorted(f"{name}.sql" for name in QUESTIONS)
    assert len(QUESTIONS) == 10
    for name in QUESTIONS:
        asked = question(name)
        assert asked.sentence.endswith("?")
        assert asked.sentence.count("?") == 1
        assert asked.sql.startswith(f"-- {asked.sentence}\n")
        assert asked.notes.endswith(".")


def test_queries_are_listed_when_no_name_is_given() -> None:
    result = query()
    assert [line.split("  ", 1)[0] for line in result.output.splitlines()] == list(QUESTIONS)
    assert question("reach").sentence in result.output


def test_printing_a_query_needs_no_results(tmp_path: Path) -> None:
    result = query("money", "--sql", "-o", str(tmp_path))
    assert (result.exit_code, result.output) == (0, question("money").sql)


def test_an_unknown_query_is_refused(folder: Path) -> None:
    result = query("monney", "-o", str(folder))
    assert result.exit_code == 2
    assert f"no such question: monney; there are {', '.join(QUESTIONS)}" in result.output


def test_nothing_is_printed_after_the_answer(folder: Path) -> None:
    """DuckDB would complain about objects that Python has not released."""
    code = ["-c", "from kcheck.commands.cli import main; main()", "fleet", "query", "reach", "-o", str(folder)]
    done = subprocess.run([sys.executable, *code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, query("reach", "-o", str(folder)).output, "")


def test_all_formats_have_the_same_rows(folder: Path) -> None:
    found = ask(str(folder), question("money").sql)
    given = json.loads(query("money", "-o", str(folder), "--format", "json").output)
    assert given == [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    head, *body = csv.reader(
        io.StringIO(query("money", "-o", str(folder), "--format", "csv").stdout_bytes.decode(), newline="")
    )
    assert head == found.columns
    assert body == [["" if value is None else str(value) for value in row] for row in found.rows]
    lines = query("money", "-o", str(folder), "--format", "markdown").output.splitlines()
    assert len(lines) == 2 + len(found.rows)
    assert lines[3].startswith("| platform | 2 | unknown | unknown | 0 |")


SHOWN = Answer(
    ["name", "a_long_name_of_a_number", "is_so", "at", "share"],
    [
        ("x" * 70, 1234567, True, None, 0.5),
        (f"a sentence {'of words ' * 9}", None, False, None, 1234.5),
        ("", 3, None, None, 2.0),
    ],
)


def test_columns_stay_aligned_below_names_of_several_lines() -> None:
    assert plain(database.as_text(SHOWN)) == (
        f"{' ' * 62}a long name\n"
        f"name{' ' * 58}of a number  is so    at         share\n"
        f"{'x' * 20}...{'x' * 37}    1,234,567  yes      unknown      0.5\n"
        f"a sentence {'of words ' * 5}o...      unknown  no       unknown  1,234.5\n"
        f"-{' ' * 71}3  unknown  unknown        2\n"
    )


def test_csv_has_plain_values_and_no_formulas() -> None:
    made = database.as_csv(Answer(["a", "=b"], [("=1+1", True), ("\t@x", None), ("-2", -2)]))
    assert made == "a,'=b\r\n'=1+1,true\r\n\\t@x,\r\n'-2,-2\r\n"


@pytest.mark.parametrize(
    ("form", "empty"), [("text", "Nothing.\n"), ("markdown", "Nothing.\n"), ("json", "[]\n"), ("csv", "a\r\n")]
)
def test_an_empty_answer_says_that_there_are_no_rows(form: str, empty: str) -> None:
    made = database.FORMATS[form](Answer(["a"], []))
    assert (made if isinstance(made, str) else plain(made)) == empty
