"""Test the page of `check`: the answer comes first, it has the whole report, and all markup is kcheck's own."""

from __future__ import annotations

import json
import os
import re
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck import __version__
from kcheck.commands.cli import cli
from kcheck.config.config import Config, today
from kcheck.engine import linter
from kcheck.engine.rule_outcomes import Bug
from kcheck.fix import fix
from kcheck.report.formats import Report
from kcheck.report.html import check_page as cards
from kcheck.report.html import document
from kcheck.report.html.code import concealed, excerpt, fix_lines
from kcheck.text.files.tree import Tree
from kcheck.text.text import Skipped, Source
from tests.conftest import indented, manifest
from tests.places import ROOT
from tests.report import corpus
from tests.report.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcheck.engine.linter import Result
    from kcheck.text.findings import Finding
    from tests.conftest import Check, Write


pytestmark = pytest.mark.medium

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*-training"))
SUBNET = """\
resource "azurerm_subnet" "nodes" {
  name             = "nodes"
  address_prefixes = ["10.0.0.0/24"]
}

resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"
  default_node_pool {
    name           = "system"
    node_count     = 600
    vnet_subnet_id = azurerm_subnet.nodes.id
  }
}
"""


def printed(*arguments: str, status: tuple[int, ...] = (0, 1)) -> str:
    """Return the HTML report that `kcheck check` prints."""
    result = CliRunner().invoke(cli, ["check", "--format", "html", *arguments])
    assert result.exit_code in status, result.output
    return result.stdout


# --- what it says


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_html_page_and_the_text_report_agree(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / example)
    page = Page(printed("--info"))
    data = json.loads(CliRunner().invoke(cli, ["check", "--format", "json", "--info"]).stdout)
    assert page.foreign() == []
    shown = [one for one in page.all("article") if "data-rule" in one.attributes]
    assert len(shown) == len(data["findings"]) > 0
    for finding in data["findings"]:
        texts = [finding["message"], *finding["details"], *filter(None, finding["help"].split("; "))]
        texts += [f"{finding['path']}:{finding['line']}:{finding['column']}"]
        texts += [f"{finding['fix']['safety']} {finding['fix']['title']}"] if finding["fix"] else []
        for text in texts:
            assert " ".join(text.split()) in page.text, text


def test_the_first_screen_shows_the_reach_and_first_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "gke-training")
    text = Page(printed()).text
    head = text[: text.index("3 errors")]
    assert head.startswith("train reaches 263 of 1,567 nodes")
    for words in (
        "gke, declared at cluster.tf:1",
        "stops before its target",
        "First limit pod range of pools system, cpu and gpu at 263 nodes; to move it:",
        "Wasted per run $",
        "run on 64 nodes (simulated)",
    ):
        assert words in head
    assert text.index("Findings") < text.index("Pod range 10.4.0.0/16 is full at 263 of 1,567 nodes")


def test_sources_of_prices_are_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "gke-training")
    links = {one.attributes.get("href", "") for one in Page(printed()).all("a")}
    assert "https://cloud.google.com/compute/disks-image-pricing" in links


def test_several_clusters_are_counted_and_the_worst_is_first(write: Write) -> None:
    write({"a/main.tf": SUBNET.replace("600", "6").replace("train", "small"), "b/main.tf": SUBNET})
    page = Page(printed())
    assert page.text.startswith("1 of 2 clusters reaches its target, 1 stops before it")
    assert page.text.index("train") < page.text.index("small")
    found = [one.attributes for one in page.all("article") if one.attributes.get("data-rule") == "subnet-too-small"]
    assert [(one["data-path"], one["data-clusters"]) for one in found] == [("b/main.tf", "2")]


def test_clusters_with_one_name_show_their_roots(write: Write) -> None:
    module = 'module "this" {\n  source = "../../module"\n}\n'
    write({"module/main.tf": SUBNET, "envs/a/main.tf": module, "envs/b/main.tf": module})
    page = Page(printed())
    for name in ("train in envs/a", "train in envs/b"):
        assert f"{name} aks, declared at module/main.tf:6" in page.text


def test_many_clusters_are_shown_in_a_table(write: Write) -> None:
    write({f"{number}/main.tf": SUBNET.replace("train", f"train-{number}") for number in range(8)})
    page = Page(printed())
    assert page.foreign() == []
    assert "paid without a run" in page.text
    assert page.text.startswith("0 of 8 clusters reach their target, 8 stop before it")
    assert [one for one in page.all("article") if one.attributes.get("class", "").startswith("verdict")] == []
    (first, *rest) = page.all("details")[: page.text.count("target 600 nodes")]
    assert "open" in first.attributes
    assert len(rest) == 7


def test_unknown_targets_are_not_printed_as_numbers(write: Write) -> None:
    write({"main.tf": SUBNET.replace("= 600", "= var.nodes") + 'variable "nodes" {\n  type = number\n}\n'})
    page = Page(printed())
    assert page.text.startswith("train reaches at most 228 nodes, no target known")
    assert "? not known" in page.text
    assert "var.nodes has no value; set it with --var nodes=VALUE" in page.text
    unknown = page.text[page.text.index("Unknown inputs") :]
    assert "var.nodes has no value" in unknown
    assert re.search(r"main\.tf:\d+ set it with --var nodes=VALUE", unknown)


def test_a_repository_without_clusters_has_no_limits(write: Write) -> None:
    spec = "parallelism: 9\ncompletions: 9\ntemplate:\n  spec:\n    containers:\n      - {name: a, image: a/b}\n"
    write({"job.yaml": manifest("batch/Job", f"spec:\n  {indented(spec, 2)}")})
    page = Page(printed("--info"))
    assert page.foreign() == []
    assert re.match(r"\d infos? 0 errors 0 warnings", page.text)
    assert page.all("section", id="limits") == []
    assert page.all("section", id="findings")
    assert Page(printed()).text.startswith("Nothing found")


def test_suppressed_and_known_and_undecided_findings_are_counted(write: Write) -> None:
    write({"main.tf": SUBNET.replace('"Free"', '"Free" # kcheck: ignore[free-control-plane] a test')})
    assert CliRunner().invoke(cli, ["baseline"]).exit_code == 0
    page = Page(printed("--baseline"))
    assert "1 suppressed" in page.text
    assert re.search(r"\d already known", page.text)
    assert "subnet-too-small" not in page.text


def test_an_incomplete_run_says_so_first(check: Check) -> None:
    result = check({"main.tf": SUBNET})
    result.is_late = True
    result.judged.skipped.insert(0, Skipped(".", "stopped after 4 s (--timeout); 3 of 9 kinds were not checked"))
    result.bugs.append(Bug("a-rule", "main.tf:1", "<b>it</b> failed"))
    page = Page(Report(result).render("html"))
    assert page.foreign() == []
    head = page.text[: page.text.index("First limit")]
    assert "Not everything was checked: stopped after 4 s (--timeout); 3 of 9 kinds were not checked." in head
    assert "a-rule: <b>it</b> failed" in head


# --- money


@pytest.mark.slow
def test_savings_of_several_findings_come_from_one_simulated_run(check: Check) -> None:
    autoscaler = '  auto_scaler_profile {\n    scale_down_unneeded  = "40m"\n    empty_bulk_delete_max = 1\n  }\n'
    pool = """\
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96asr_v4"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 300
}
"""
    own = SUBNET.replace("600", "3").replace('"Free"\n', f'"Free"\n{autoscaler}') + pool
    result = check({"main.tf": own}, Config(price=10_000))
    found = {finding.rule: finding for finding in result.findings}
    each = [found[name] for name in ("idle-nodes-kept-long", "slow-node-deletion")]
    both = amount(result, each)
    single = [amount(result, [one]) for one in each]
    assert max(single) < both <= sum(single) * 1.02  # numbers of three digits
    assert amount(result, []) == 0


def amount(result: Result, findings: list[Finding]) -> float:
    """Return the dollars that a page with some of the findings says are wasted."""
    own = replace(result, findings=findings)
    text = Page(Report(own, info=True).render("html")).text
    wasted = re.search(r"Wasted per run (?:\$([\d,.]+)|nothing found)", text)
    assert wasted
    return float((wasted[1] or "0").replace(",", ""))


ALWAYS_ON = """
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "us-central1-a"
  remove_default_node_pool = true
  initial_node_count       = 1
}
"""


def test_pools_that_are_never_empty_are_in_the_headline_of_a_month(write: Write) -> None:
    """Their findings have a price per day, and no run has it."""
    pool = (
        'resource "google_container_node_pool" "%s" {\n  name = "%s"\n  cluster = google_container_cluster.train.name\n'
        '  node_count = %d\n  node_config {\n    machine_type = "%s"\n  }\n}\n'
    )
    write({"main.tf": ALWAYS_ON + pool % ("a", "a", 4, "a3-highgpu-8g") + pool % ("b", "b", 2, "a2-highgpu-8g")})
    text = Page(printed()).text
    days = [float(price.replace(",", "")) for price in re.findall(r"\$([\d,]+) per day: ", text)]
    month = re.search(r"Paid without a run about \$([\d,]+) a month", text)
    assert len(days) == 2
    assert month
    assert float(month[1].replace(",", "")) == pytest.approx(sum(days) * 730 / 24, rel=0.01)


def test_waste_without_a_price_is_shown_in_node_hours(write: Write) -> None:
    with chdir(ROOT / "examples" / "selfmanaged-training"):
        text = Page(printed("--info")).text
    wasted = text[text.index("Wasted per run") :][:200]
    assert re.match(r"Wasted per run ([\d.,]+( to [\d.,]+)? node-hours|nothing found|not known)", wasted), wasted


# --- what it shows of the code


def test_a_finding_is_marked_among_its_source_lines(check: Check) -> None:
    result = check({"main.tf": SUBNET})
    finding = next(one for one in result.findings if one.rule == "subnet-too-small")
    assert [(line.number, line.before, line.marked, line.after) for line in excerpt(finding.span)] == [
        (1, 'resource "azurerm_subnet" "nodes" {', "", ""),
        (2, '  name             = "nodes"', "", ""),
        (3, "  address_prefixes = [", '"10.0.0.0/24"', "]"),
        (4, "}", "", ""),
    ]


def test_source_lines_around_a_finding_show_no_secrets(check: Check) -> None:
    token = "ghp_" + "a1B2" * 10
    own = SUBNET.replace(
        '  sku_tier = "Free"\n', f'  sku_tier = "Free"\n  admin_password = "hunter2"\n  other = "{token}"\n'
    )
    page = Report(check({"main.tf": own})).render("html")
    assert "admin_password = ..." in Page(page).text
    assert "hunter2" not in page
    assert token not in page


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('  password = "a b"', "  password = ..."),
        ("  dbPassword: hunter2 # x", "  dbPassword: ..."),
        ('"client_secret": "x",', '"client_secret": ...'),
        ("  name = var.token_name", "  name = var.token_name"),
        ("{name: DB_PASSWORD, value: hunter2}", "{name: DB_PASSWORD, value: ..."),
        ("  value: hunter2", "  value: hunter2"),
        ("url: postgres://user:hunter2@host/db", "url: postgres://...@host/db"),
        ("  password", "  password"),
        ("x" * 50, "..."),
    ],
)
def test_values_of_secrets_are_left_out(line: str, shown: str) -> None:
    assert concealed(line) == shown


def test_the_value_of_a_secret_on_the_line_below_its_name_is_hidden() -> None:
    assert concealed("    value: hunter2", "  - name: DB_PASSWORD") == "    value: ..."
    assert concealed("    value: plain", "  - name: DB_HOST") == "    value: plain"


def test_other_objects_of_a_file_are_not_shown(write: Write) -> None:
    secret = manifest("v1/Secret", "stringData:\n  a: hunter2")
    job = manifest("batch/Job", "spec:\n  template:\n    spec:\n      containers:\n        - {name: a, image: a/b}")
    text = f"{secret}---\n{job}"
    span = Source("a.yaml", text.encode()).span(text.index("apiVersion: batch"), text.index("kind: Job"))
    assert next(line.before + line.marked for line in excerpt(span)) == "apiVersion: batch/v1"


def test_an_empty_span_is_shown_as_one_character() -> None:
    (line, *_) = excerpt(Source("a.tf", b"locals {\n}\n").span(0, 0))
    assert (line.before, line.marked, line.after) == ("", "l", "ocals {")


PLAN = {
    "format_version": "1.2", "terraform_version": "1.9.0",
    "planned_values": {"root_module": {"resources": [{
        "address": "azurerm_kubernetes_cluster.main", "mode": "managed", "type": "azurerm_kubernetes_cluster", "name": "main",
        "values": {"name": "train", "sku_tier": "Free", "kube_admin_config_raw": "hunter2",
                   "default_node_pool": [{"name": "system", "node_count": 600}]},
    }]}},
    "configuration": {"root_module": {"resources": [{
        "address": "azurerm_kubernetes_cluster.main", "mode": "managed", "type": "azurerm_kubernetes_cluster", "name": "main",
        "expressions": {},
    }]}},
}  # fmt: skip


def test_only_the_attribute_of_a_finding_is_shown_from_a_plan(write: Write) -> None:
    write({"plan.json": json.dumps(PLAN, indent=1)})
    text = printed("--info", "plan.json")
    page = Page(text)
    assert page.foreign() == []
    assert "free-control-plane" in page.text
    assert "azurerm_kubernetes_cluster.main" in page.text
    assert "hunter2" not in text
    assert "kube_admin_config_raw" not in text


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_diff_on_a_page_shows_one_fix(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / example)
    result = linter.run(Tree(["."]), Config())
    fixable = [finding for finding in result.findings if finding.fix is not None]
    assert fixable
    for finding in fixable:
        lines = fix_lines(finding)
        assert lines, finding.rule
        own = fix.fix(["."], Config(), safeties=("safe", "costs", "unsafe"), rules=(finding.rule,))
        added = [line.text for line in lines if line.kind == "added"]
        written = [line.replace("\t", " ") for file in own.files for line in file.new.decode().splitlines()]
        assert added
        if len([one for one in own.fixed if one.rule == finding.rule]) == 1:
            assert set(added) <= set(written)


# --- how it is made


def test_the_same_code_gives_the_same_page(write: Write, tmp_path: Path) -> None:
    pages = []
    for name in ("one", "another/place"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "main.tf").write_text(SUBNET)
        (folder / "more.tfvars").write_text("x = 1\n")
        with chdir(folder):
            pages.append(printed("--info", "--var-file", os.path.join(folder, "more.tfvars"), str(folder)))
    assert pages[0] == pages[1]
    assert str(tmp_path) not in pages[0]


def test_the_printed_command_line_has_no_secrets_and_no_local_paths(write: Write) -> None:
    folder = write({"main.tf": SUBNET})
    outside = folder.parent / "elsewhere.tfvars"
    outside.write_text("")
    write({"variables.tf": 'variable "token" {}\n'})
    text = printed(
        "--var", "token=hunter2", "--var-file", str(outside), "--nodes", "50", "--output-file", f"json={folder}/out.json",
        str(folder),
    )  # fmt: skip
    assert "kcheck check . --nodes 50 --var-file .../elsewhere.tfvars --var token=..." in Page(text).text
    assert f"kcheck {__version__}, {today()}" in Page(text).text
    assert "hunter2" not in text
    assert str(folder) not in text


@pytest.mark.parametrize("command", ["check", "capacity", "simulate"])
def test_pages_name_the_day_the_commit_and_the_command(command: str, write: Write, git: Callable[..., str]) -> None:
    write({"infra/main.tf": SUBNET})
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("remote", "add", "origin", "git@example.com:platform/clusters.git")
    text = Page(CliRunner().invoke(cli, [command, "infra", "--nodes", "9", "--format", "html"]).stdout).text
    assert f"kcheck {__version__}, {today()}" in text
    commit = git("rev-parse", "HEAD").strip()[:12]
    assert f"kcheck {command} infra --nodes 9 (platform/clusters, commit {commit})" in text


@pytest.mark.parametrize(
    "files",
    [
        {"HEAD": "ref: refs/../../../secret\n"},
        {"HEAD": "<script>alert(1)</script>\n"},
        {"HEAD": f"{'a' * 40}\n", "config": '[remote "origin"]\n\turl = https://user:hunter2@example.com/a/b\n'},
        {"HEAD": f"{'a' * 40}\n", "config": '[remote "origin"]\n\turl = ext::sh -c touch% pwned\n'},
    ],
)
def test_hostile_git_files_reach_no_page(files: dict[str, str], write: Write) -> None:
    folder = write({"main.tf": SUBNET, **{f".git/{name}": text for name, text in files.items()}})
    text = Page(printed()).text
    assert not re.search(r"secret|alert|hunter2|touch|pwned", text)
    assert (f"({folder.name}, commit {'a' * 12})" in text) == (len(files) > 1)
    assert not (folder / "pwned").exists()


def test_a_page_shows_a_limited_number_of_findings(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    result = check({"main.tf": SUBNET})
    every = len(Report(result, info=True).findings)
    assert every == 3
    monkeypatch.setattr(cards, "MOST", 2)
    page = Page(Report(result, info=True).render("html"))
    shown = [one.attributes["data-severity"] for one in page.all("article") if "data-rule" in one.attributes]
    assert len(shown) == 2
    assert shown[0] == "error"
    assert f"This page shows the worst 2 findings; left out: {every - 2}." in page.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nodes", "train", "system"])
def test_long_names_on_a_page_are_cut(name: str, check: Check) -> None:
    result = check({"main.tf": SUBNET.replace(f'= "{name}"', f'= "{"<b>" * 150_000}"')})
    assert len(result.findings) >= 3
    page = Report(result, info=True).render("html")
    assert Page(page).foreign() == []
    assert len(page) < 400_000


def test_pages_are_written_to_files(write: Write) -> None:
    folder = write({"main.tf": SUBNET})
    result = CliRunner().invoke(cli, ["check", "-q", "--output-file", "html=report.html"])
    assert result.exit_code == 1
    assert (folder / "report.html").read_text() == printed()


def test_page_text_has_enough_contrast() -> None:
    grounds = ("page", "soft")
    for own in (document.LIGHT, document.DARK):
        assert own.keys() == document.LIGHT.keys()
        for text in ("text", "ink", "link", "error", "warning", "info", "good"):
            assert [ground for ground in grounds if contrast(own[text], own[ground]) < 4.5] == []
        for ground in ("mark", "added", "removed", "error-soft", "warning-soft", "info-soft", "good-soft"):
            assert contrast(own["text"], own[ground]) >= 4.5, ground
        for shape in ("used", "idle", "error"):
            assert contrast(own[shape], own["page"]) >= 3, shape


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colors, as WCAG defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


# --- what strangers wrote


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")
@pytest.mark.parametrize("payloads", [corpus.PAYLOADS, corpus.PAYLOADS[:1], corpus.PAYLOADS[4:6]], ids=len)
def test_repository_text_is_never_markup_on_a_page(payloads: tuple[str, ...], write: Write) -> None:
    write(corpus.files(payloads))
    page = Page(printed("--info", "--show-undecided"))
    assert page.foreign() == []
    for payload in payloads:
        assert corpus.shown(payload.replace("\x00", "")) in page.text
        assert corpus.shown(corpus.file_name(payload)) in page.text


@pytest.mark.parametrize("half", [slice(0, 12), slice(12, None)])
def test_text_of_findings_is_escaped_on_a_page(half: slice, check: Check) -> None:
    result = check({"main.tf": SUBNET})
    every = " ".join(corpus.PAYLOADS[half])
    finding = next(one for one in result.findings if one.fix is not None)
    assert finding.fix is not None
    fixed = replace(finding.fix, title=every)
    hostile = replace(finding, message=every, details=(every,), help=every, fix=fixed)
    related = tuple(replace(one, note=every, value=None) for one in finding.related)
    result.findings = [replace(hostile, related=related)]
    page = Page(Report(result, info=True, command_line=every).render("html"))
    assert page.foreign() == []
    assert page.text.count(corpus.shown(every)) >= 5


def test_page_templates_escape_by_default() -> None:
    made = document.markup("link.html", text="<b>", address='"><b>', label="'<b>\x1b")
    assert made == '<a href="&#34;&gt;&lt;b&gt;" aria-label="&#39;&lt;b&gt;\\x1b">&lt;b&gt;</a>'
