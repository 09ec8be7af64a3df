"""Test the report for a terminal: its closing lines, what to do next, and links."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.numbers import profiles
from kcheck.report.layout import plain
from kcheck.report.text import finding_lines
from kcheck.text.findings import Finding, Related, Severity
from kcheck.text.text import Source, Span
from kcheck.text.units import counted
from kcheck.text.values import Origin
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write


CLUSTER = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = 20
  }

  network_profile {
    network_plugin = "kubenet"
  }
}
"""


def check(*arguments: str) -> str:
    return CliRunner().invoke(cli, ["check", *arguments]).stdout


def last(*arguments: str) -> str:
    return check(*arguments).splitlines()[-1]


@pytest.fixture
def cluster(write: Write) -> Path:
    """Write a cluster with two mistakes, one of which has only an unsafe fix."""
    return write({"main.tf": CLUSTER, "more files/main.tf": ""})


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("arguments", "of_fix", "of_explain"),
    [
        ([], "", ""),
        (["."], ". ", " ."),
        ([".", "more files"], ". 'more files' ", " . 'more files'"),
        ([".", "--nodes", "20"], ". --nodes 20 ", " . --nodes 20"),
        (["--ignore", "kubenet-retiring", "--select", "control-plane", "--fail-on", "error", "--show-undecided"],
         "--ignore kubenet-retiring --select control-plane ", " --ignore kubenet-retiring"),
        (["--no-baseline"], "--no-baseline ", ""),
    ],
)  # fmt: skip
def test_the_check_report_ends_with_the_next_step(arguments: list[str], of_fix: str, of_explain: str) -> None:
    expected = f"Next: `kcheck fix {of_fix}--diff` shows 1 fix; `kcheck explain free-control-plane{of_explain}`."
    assert last(*arguments) == expected


@pytest.mark.usefixtures("cluster")
def test_the_next_step_for_unsafe_fixes_says_so() -> None:
    select = ["--select", "kubenet-retiring"]
    assert last(*select) == (
        "Next: `kcheck fix --select kubenet-retiring --unsafe-fixes --diff` shows 1 fix; "
        "`kcheck explain kubenet-retiring`."
    )


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--quiet"],
        ["--format", "statistics"],
        ["--hook", "main.tf"],
        ["--select", "docker-hub-image"],
        *(["--format", name] for name in ("json", "sarif", "junit", "github", "gitlab", "markdown")),
    ],
)
def test_some_reports_have_no_next_step(arguments: list[str]) -> None:
    assert "Next:" not in check(*arguments)


def test_only_shown_findings_are_counted_as_fixable(write: Write) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  template:\n    spec:\n      containers: [{name: train, image: registry.example.com/train:1.4, resources: {limits: {nvidia.com/gpu: 1}}}]\n"
    write({"job.yaml": job})
    output = check()
    assert re.match(r"nothing found; \d+ infos? hidden", output)
    assert "fixable" not in output
    assert "Next:" not in output
    assert "fixable: " in check("--info")


@pytest.mark.parametrize(("number", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes"), (1200, "1,200 nodes")])
def test_nouns_are_plural_after_every_number_except_1(number: int, text: str) -> None:
    assert counted(number, "node") == text


def test_irregular_plurals_are_passed_in() -> None:
    assert (counted(1, "entry", "entries"), counted(2, "entry", "entries")) == ("1 entry", "2 entries")


def test_capacity_prints_one_node_in_the_singular(write: Write) -> None:
    write({"main.tf": CLUSTER.replace("20", "1")})
    output = CliRunner().invoke(cli, ["capacity"]).stdout
    assert "1 node" in output
    assert "1 nodes" not in output.replace("01 nodes", "")


def test_reports_in_files_have_no_color_codes(cluster: Path) -> None:
    assert "\x1b" not in check()
    output = CliRunner().invoke(cli, ["--color", "always", "check", "--output-file", "text=out.txt"], color=True).stdout
    assert "\x1b[1mfree-control-plane\x1b[0m" in output
    assert "\x1b" not in (cluster / "out.txt").read_text()


def test_a_place_is_printed_only_once_per_finding(write: Write) -> None:
    source = Source("pool.yaml", b"consolidateAfter: 15m\nlimit: {\n")
    first, second = source.span(0, 16), source.span(22, 27)
    related = (Related(first, "consolidate_after"), Related(second, "max_size is not set"))
    finding = Finding("a-rule", Severity.INFO, False, "m", source.span(0, 1), related, "x", None, "", ())
    assert plain(finding_lines(finding)).splitlines()[-2:] == [
        "   = pool.yaml:1  consolidateAfter: 15m",
        "   = pool.yaml:2  limit (max_size is not set)",
    ]


def test_names_are_looked_up_for_printed_places_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for the name of a value parses its file again, and a finding may have hundreds of places."""
    source, asked = Source("pods.yaml", b"image: a\n" * 90), list[Span]()

    def keys(span: Span) -> tuple[str, ...]:
        asked.append(span)
        return ("image",)

    monkeypatch.setattr(Span, "keys", property(keys))
    spans = [source.span(at * 9 + 7, at * 9 + 8) for at in range(90)]
    related = tuple(Related(span, "images", Origin((span,))) for span in spans)
    finding = Finding("a-rule", Severity.INFO, False, "m", source.span(0, 1), related, "x", None, "", ())
    assert plain(finding_lines(finding)).splitlines()[-1] == "   = and 87 more places"
    assert asked == spans[:3]


OLD = "old numbers: prices of 2024-12"


@pytest.mark.medium
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "ack-training"], True),
        (["check", "ack-training", "--format", "html"], True),
        (["check", "ack-training", "--format", "markdown"], True),
        (["check", "ack-training", "--price", "20"], False),  # no list price was used
        (["check", "ack-training", "--select", "pod-range-too-small"], False),  # no price is shown
        (["capacity", "ack-training"], True),  # its bill of a month
        (["capacity", "ack-training", "--format", "html"], True),
        (["capacity", "ack-training", "--price", "20"], False),
        (["generate", "ack", "--nodes", "20", "--diff"], True),  # the bill in its README
    ],
)
def test_old_prices_are_reported_next_to_a_price(
    arguments: list[str], said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setenv("KCHECK_TODAY", "2026-11-22")
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code in (0, 1), result.output
    assert (result.stdout + result.stderr).count(OLD) == said


@pytest.mark.medium
@pytest.mark.parametrize(("day", "said"), [("2026-11-22", False), ("2028-01-01", True)])
def test_numbers_that_only_details_say_are_not_reported_as_old(
    day: str, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The requests in flight of free-control-plane are of 2024-01; the nodes that it judges by are newer."""
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setenv("KCHECK_TODAY", day)
    result = CliRunner().invoke(cli, ["check", "aks-training", "--select", "free-control-plane"])
    assert "free-control-plane" in result.stdout
    assert ("limits of 20" in result.stdout) == said
    assert "limits of 2024-01" not in result.stdout


@pytest.mark.medium
@pytest.mark.parametrize("form", ["text", "html"])
def test_an_old_price_of_disks_is_reported_with_the_bill(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setenv("KCHECK_TODAY", "2026-11-22")
    disks = profiles.limits("eks")["disk_price.gp3"]
    result = CliRunner().invoke(cli, ["capacity", "eks-training", "--price", "20", "--format", form])
    found = result.stdout if form == "html" else result.stderr
    assert f"prices of {disks.source_dated[:7]}; `kcheck limits" in found


@pytest.mark.medium
@pytest.mark.parametrize(("day", "said"), [("2026-11-22", 0), ("2028-01-01", 1)])
@pytest.mark.parametrize("form", ["text", "html"])
def test_capacity_reports_when_its_limits_are_outdated(
    form: str, day: str, said: int, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write({"main.tf": CLUSTER.replace("kubenet", "azure")})
    monkeypatch.setenv("KCHECK_TODAY", day)
    result = CliRunner().invoke(cli, ["capacity", str(folder), "--format", form])
    found = result.stdout if form == "html" else result.stderr
    assert len(re.findall(r"old numbers: limits of 202\d-\d\d; `kcheck limits --older-than 365d`", found)) == said


@pytest.mark.medium
def test_generate_warns_about_outdated_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = {}
    for day in ("2026-11-22", "2028-01-01"):
        monkeypatch.setenv("KCHECK_TODAY", day)
        said[day] = (
            "versions of 2026-10" in CliRunner().invoke(cli, ["generate", "eks", "--nodes", "4", "--diff"]).stderr
        )
    assert said == {"2026-11-22": False, "2028-01-01": True}


def test_a_long_reason_of_an_undecided_check_is_cut(write: Write) -> None:
    write({"up.sh": f"gcloud container clusters create x --zone us-central1-a --cluster-version {'a' * 9000}\n"})
    lines = CliRunner().invoke(cli, ["check", ".", "--fail-on", "never"]).output.splitlines()
    assert max(map(len, lines)) < 500
