"""Test formats for programs against their published schemas, and as Git forges read them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree import ElementTree

import click
import jsonschema
import pytest
import xmlschema
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter, merging
from kcheck.report import forges
from kcheck.report.formats import FORMATS, Report
from kcheck.report.layout import plain
from kcheck.report.text import finding_lines, folded
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity
from kcheck.text.syntax import edit
from kcheck.text.text import apply
from tests.places import TESTS

if TYPE_CHECKING:
    from tests.conftest import Check, Write

pytestmark = pytest.mark.medium

SCHEMAS = TESTS / "schemas"
EXAMPLES = sorted(path for path in (SCHEMAS.parent.parent / "examples").glob("*-training"))
CLUSTER = """\
resource "azurerm_kubernetes_cluster" "größe" {
  name     = "train"
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = 500
  }
}
"""
OWN = """\
summary: Every cluster has a name for people
severity: warning
subject: cluster
problem: cluster.name == 'train'
at: cluster.name
message: "{cluster.name} <b>is</b> | no name, says `@nobody`\\nor ]]> so, 100%: a,b"
"""
UNCLEAN = {"kcheck.yaml": "rules: [policy]\n", "policy/naming/odd-name.yaml": OWN, "a b/größe,1:x|y.tf": CLUSTER}


@pytest.fixture(params=["empty", "unclean", *(path.name for path in EXAMPLES)])
def report(request: pytest.FixtureRequest, write: Write) -> Report:
    """Return the report of an empty tree, of one with odd names, or of an example."""
    own = {"empty": {"main.tf": "# nothing\n"}, "unclean": UNCLEAN}.get(request.param)
    if own is None:
        folder = next(path for path in EXAMPLES if path.name == request.param)
        own = {str(f.relative_to(folder)): f.read_text() for f in folder.rglob("*") if f.is_file()}
    write({**own, ".git/HEAD": ""})
    config = Config(rules=("policy",)) if request.param == "unclean" else Config()
    return Report(linter.run(Tree(["."]), config), info=True, show_undecided=True)


def sarif(report: Report) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(report.render("sarif"))
    run: dict[str, Any] = log["runs"][0]
    return run


@pytest.mark.slow
def test_sarif_is_valid_and_has_every_finding(report: Report) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    log = json.loads(report.render("sarif"))
    jsonschema.Draft4Validator(schema).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(report.findings)
    for result, finding in zip(run["results"], report.findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert unquote(place["artifactLocation"]["uri"]) == finding.span.source.path
        assert (place["region"]["startLine"], place["region"]["startColumn"]) == tuple(finding.span.begin)
    assert all(rule["help"]["markdown"] and rule["shortDescription"]["text"] for rule in rules)


def replaced(text: str, replacements: list[dict[str, Any]]) -> str:
    """Return a text after replacements were applied as a SARIF viewer does."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    parts, at = [], 0
    for one in sorted(replacements, key=lambda r: (r["deletedRegion"]["startLine"], r["deletedRegion"]["startColumn"])):
        region = one["deletedRegion"]
        begin = starts[region["startLine"] - 1] + region["startColumn"] - 1
        parts += [text[at:begin], one["insertedContent"]["text"]]
        at = starts[region["endLine"] - 1] + region["endColumn"] - 1
    return "".join(parts) + text[at:]


def test_sarif_fixes_equal_the_edits(report: Report) -> None:
    fixable = {finding.rule: finding for finding in report.findings if finding.fix is not None}
    seen = set()
    for result in sarif(report)["results"]:
        assert ("fixes" in result) == any(
            f.fix is not None
            for f in report.findings
            if f.rule == result["ruleId"] and f.message in result["message"]["text"]
        )
        finding = fixable.get(result["ruleId"])
        if finding is None or finding.rule in seen or finding.message not in result["message"]["text"]:
            continue
        seen.add(finding.rule)
        for change in result["fixes"][0]["artifactChanges"]:
            path = Path(unquote(change["artifactLocation"]["uri"]))
            source = next(edit.source_of(c) for c in finding.changes if edit.source_of(c).path == str(path))
            own = [e for e in edit.edits(finding.changes) if e.span.source is source]
            expected = apply(path.read_bytes(), own)
            assert replaced(path.read_text(), change["replacements"]) == expected.decode()
    assert seen == set(fixable)


@pytest.mark.slow
def test_junit_output_fits_its_schema_and_counts_its_cases(report: Report) -> None:
    schema = xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")
    text = report.render("junit")
    schema.validate(text)
    top = ElementTree.fromstring(text)  # noqa: S314 - our own
    assert "\x1b" not in text
    failures = [
        case.get("name", "").split(" ", 1)[0] for case in top.iter("testcase") if case.find("failure") is not None
    ]
    assert failures == [finding.rule for finding in report.findings if finding.severity.word != "info"]
    assert len(list(top.iter("testcase"))) == int(top.get("tests", ""))
    judged = report.result.judged
    unread = [skipped for skipped in judged.skipped if not skipped.by_choice]
    expected = len(report.result.undecided) + len(judged.not_judged) + len(unread)
    assert len(list(top.iter("skipped"))) == expected


def test_the_concise_format_has_one_line_per_finding_of_the_text(report: Report) -> None:
    lines = report._replace(quiet=True).render("concise").splitlines()
    shown = folded(report).findings
    assert len(shown) == len(lines)
    assert [f" (and {len(one.parts) - 1} more)" in line for line, one in zip(lines, shown, strict=True)] == [
        bool(one.parts) for one in shown
    ]
    for line, finding in zip(lines, shown, strict=True):
        assert re.search(rf":\d+:\d+: {finding.severity.word} {finding.rule}: ", line), line
    assert lines == report.render("concise").splitlines()[: len(lines)]


def test_rdjson_contains_safe_fixes_as_suggestions(report: Report) -> None:
    """Columns count bytes, and ends are exclusive.

    See https://github.com/reviewdog/reviewdog/blob/master/proto/rdf/reviewdog.proto.
    """
    data = json.loads(report.render("rdjson"))
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "rdjson.json").read_text())).validate(data)
    assert data["source"]["name"] == "kcheck"
    assert [one["code"]["value"] for one in data["diagnostics"]] == [finding.rule for finding in report.findings]
    suggested = 0
    for one, finding in zip(data["diagnostics"], report.findings, strict=True):
        assert one["severity"] in ("ERROR", "WARNING", "INFO")
        for suggestion in one["suggestions"]:
            suggested += 1
            assert finding.fix is not None
            assert finding.fix.safety == "safe"
            source = finding.span.source
            start, end = (
                source.line_starts[suggestion["range"][side]["line"] - 1] + suggestion["range"][side]["column"] - 1
                for side in ("start", "end")
            )
            expected = apply(source.data, edit.edits(finding.changes))
            assert source.data[:start] + suggestion["text"].encode() + source.data[end:] == expected
    safe = [finding for finding in report.findings if finding.fix and finding.fix.safety == "safe"]
    assert suggested <= len(safe)


def test_rdjson_suggests_a_safe_fix_in_one_piece(check: Check) -> None:
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: train # \u00e9\nspec:\n  template:\n    spec:\n"
        "      restartPolicy: Never\n      containers:\n        - name: train\n          image: quay.io/a:1\n"
        "          resources:\n            limits: {nvidia.com/gpu: 8}\n"
    )
    (found,) = json.loads(Report(check({"a.yaml": job}, Config(select=("missing-shared-memory",)))).render("rdjson"))[
        "diagnostics"
    ]
    (suggestion,) = found["suggestions"]
    assert "medium: Memory" in suggestion["text"]
    assert "mountPath: /dev/shm" in suggestion["text"]


def test_a_gitlab_report_is_valid_and_has_every_finding(report: Report) -> None:
    schema = json.loads((SCHEMAS / "codequality.json").read_text())
    data = json.loads(report.render("gitlab"))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert [item["check_name"] for item in data] == [finding.rule for finding in report.findings]
    assert {item["severity"] for item in data} <= {"info", "minor", "major", "critical", "blocker"}
    assert len({item["fingerprint"] for item in data}) == len(data)
    assert all(Path(item["location"]["path"]).is_file() for item in data)


def test_schemas_refuse_invalid_output() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())).validate(
            {"version": "2.1.0"}
        )
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate("<testsuites><testcase/></testsuites>")


def test_github_annotates_the_ten_worst(report: Report) -> None:
    found_commands = commands(report.render("github"))
    assert len(found_commands) == min(forges.MOST, len(report.findings))
    kinds = [line.split(" ", 1)[0] for line in found_commands]
    assert kinds == sorted(kinds, key=["::error", "::warning", "::notice"].index)
    for line in found_commands:
        found = re.fullmatch(r"::\w+ ((?:\w+=[^,:]*,?)+)::(.*)", line)
        assert found, line
        properties = dict(part.split("=", 1) for part in found[1].split(","))
        path = unquote(properties["file"])  # %2C and %3A are as in addresses
        assert Path(path).is_file()
        assert int(properties["line"]) >= 1
    rows = [line for line in forges.summary(report).splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(report.findings)


def commands(log: str) -> list[str]:
    """Return the commands that GitHub's runner sees: at the start of a line, or in an older form anywhere."""
    return [line for line in map(str.strip, log.splitlines()) if line.startswith("::") or re.search(r"##\w*\[", line)]


def test_text_of_the_repository_never_becomes_a_ci_command(write: Write) -> None:
    name = '"train" # ##[stop-commands]x'
    write({"::stop-commands::x/main.tf": CLUSTER.replace('"train"', name), "kcheck.yaml": "rules: [policy]\n"})
    write({"policy/naming/odd-name.yaml": OWN.replace("@nobody", "no\\n::add-mask::a")})
    found = commands(run("--format", "github")[1])
    assert len(found) > 1
    assert all(re.match("::(error|warning) file=", line) for line in found)


def cells(row: str) -> list[str]:
    return re.split(r"(?<!\\)\|", row)


def test_markdown_stays_a_table_for_any_message(report: Report) -> None:
    text = forges.markdown(report)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(cells(row)) == 6 for row in rows)
    assert "<b>" not in text.replace("\\<b", "")
    assert "@nobody" not in text


def test_a_markdown_table_is_cut_to_its_bytes(report: Report) -> None:
    whole = forges.markdown(report)
    cut = forges.table(report, 2_000)
    assert len(cut.encode()) <= 2_000
    if len(whole.encode()) > 2_000:
        left = re.search(r"and (\d+) more", cut)
        assert left
        shown = sum(line.startswith("| ") for line in cut.splitlines()) - 1
        assert shown + int(left[1]) == len(report.findings)


def fingerprints(text: str, write: Write, **more: str) -> dict[str, str]:
    write({"main.tf": text, **more})
    data = json.loads(CliRunner().invoke(cli, ["check", "--format", "json", "--info"]).stdout)
    return {item["rule"]: item["fingerprint"] for item in data["findings"]}


def test_fingerprints_survive_moved_lines_and_sizes(write: Write) -> None:
    first = fingerprints(CLUSTER, write)
    assert "free-control-plane" in first
    assert fingerprints("# a comment\n\n" + CLUSTER.replace("500", "700"), write) == first
    other = fingerprints(CLUSTER.replace("größe", "other"), write)
    assert set(other) == set(first)
    assert not set(other.values()) & set(first.values())


def test_two_findings_of_one_rule_have_two_fingerprints(write: Write) -> None:
    write({"a.tf": 'resource "x" "y" {\n', "b.yaml": "kind: Pod\napiVersion: v1\nx: [\n"})
    data = json.loads(CliRunner().invoke(cli, ["check", "--format", "json"]).stdout)
    keys = [item["fingerprint"] for item in data["findings"]]
    assert len(keys) == len(set(keys)) == 2


# --- on the command line


def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["check", *arguments], env=environment)
    return result.exit_code, result.stdout, result.stderr


def test_the_github_format_is_chosen_automatically(write: Write) -> None:
    folder = write({"main.tf": CLUSTER})
    summary = folder / "summary.md"
    summary.write_text("before\n")
    code, out, _ = run(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert code == 1
    assert "\n::error file=main.tf,line=" in out
    assert summary.read_text().startswith("before\n### kcheck\n")
    summary.unlink()
    _, out, _ = run("--format", "text", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert "::error" not in out
    assert not summary.exists()
    assert "::error" not in run(GITHUB_ACTIONS="")[1]


def test_a_summary_that_cannot_be_written_is_reported(write: Write) -> None:
    write({"main.tf": CLUSTER})
    code, out, error = run(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY="nowhere/summary.md")
    assert code == 1
    assert "kcheck: job summary not written: nowhere/summary.md: No such file" in error
    assert "::error file=" in out


def test_one_run_can_write_several_formats(write: Write) -> None:
    folder = write({"main.tf": CLUSTER})
    code, out, _ = run(*(f"--output-file={name}=out.{name}" for name in FORMATS))
    assert code == 1
    assert all((folder / f"out.{name}").stat().st_size for name in FORMATS)
    assert (folder / "out.text").read_text() == out
    assert json.loads((folder / "out.json").read_text())["version"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_file_names_that_are_not_unicode_are_printed_in_every_format(name: str, write: Write) -> None:
    folder = write({})
    (folder / "größe \N{ROCKET}").mkdir()
    with open(os.fsencode(folder / "größe \N{ROCKET}") + b"/gr\xf6\xdfe.tf", "w") as file:
        file.write(CLUSTER)
    command = [sys.executable, "-c", "from kcheck.commands.cli import main; main()", "check", "--format", name]
    run = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False)
    assert run.stderr == b""
    assert run.returncode == 1
    assert b"free-control-plane" in run.stdout
    if name in ("json", "sarif", "gitlab"):
        text = json.dumps(json.loads(run.stdout), ensure_ascii=False)
        assert "größe \N{ROCKET}/" in unquote(text)


def test_output_files_are_written_even_if_nothing_is_found(write: Write) -> None:
    folder = write({"main.txt": ""})
    code, out, error = run("--output-file", "sarif=a.sarif", "--output-file", "gitlab=a.json")
    assert (code, out) == (0, "")
    assert "nothing relevant here" in error
    assert json.loads((folder / "a.json").read_text()) == []
    assert json.loads((folder / "a.sarif").read_text())["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sarif", "--output-file sarif: expected FORMAT=FILE; formats are text, concise, json, sarif"),
        ("xml=a", "--output-file xml=a: expected FORMAT=FILE"),
        ("json=nowhere/a.json", "nowhere/a.json: No such file"),
    ],
)
def test_invalid_output_files_are_refused(text: str, message: str, write: Write) -> None:
    write({"main.tf": CLUSTER})
    code, _, error = run("--output-file", text)
    assert code == 2
    assert message in error


def test_paths_in_ci_formats_start_at_the_repository(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({".git/HEAD": "", "infra/main.tf": CLUSTER})
    monkeypatch.chdir(folder / "infra")
    assert "::error file=infra/main.tf," in run("--format", "github")[1]
    assert json.loads(run("--format", "gitlab")[1])[0]["location"]["path"] == "infra/main.tf"
    assert "main.tf:" in run("--format", "text")[1]
    assert "infra/main.tf:" not in run("--format", "text")[1]


def test_statistics_count_findings_by_rule(write: Write) -> None:
    write({"a/main.tf": CLUSTER, "b/main.tf": CLUSTER})
    code, out, _ = run("--format", "statistics")
    assert code == 1
    assert out.splitlines()[0].split() == ["2", "free-control-plane", "error", "2", "fixable", "(costs)"]
    assert "\n\n4 errors" in out
    assert " free-control-plane: " not in out
    assert run("--format", "statistics", "--quiet")[1].splitlines() == out.splitlines()[: out.splitlines().index("")]


def test_quiet_and_exit_zero_change_output_and_status(write: Write) -> None:
    write({"main.tf": CLUSTER})
    code, out, error = run("-q", "--exit-zero")
    assert (code, error) == (0, "")
    assert " free-control-plane: " in out
    assert "fixable:" not in out
    write({"main.tf": ""})
    assert run("-q") == (0, "", "")
    assert run("--exit-zero", "nowhere")[0] == 2


# --- headline and details

HEADLINE = "Cluster train has 500 nodes"
HELP = 'set sku_tier = "Standard"'
DETAILS = ("The pool system is fixed at 500 nodes", "A name of 5 letters | <b>says</b> nothing")


@pytest.fixture
def detailed(write: Write) -> Report:
    """Return a report of one finding that has details."""
    write({"main.tf": CLUSTER})
    result = linter.run(Tree(["."]), Config(select=("free-control-plane",)))
    (finding,) = result.findings
    result.findings = [replace(finding, message=HEADLINE, details=DETAILS, fix=None, help=HELP)]
    return Report(result)


def test_the_text_format_has_details_below_the_source_line(detailed: Report) -> None:
    lines = detailed.render("text").splitlines()
    assert click.unstyle(lines[0]) == f"main.tf:3:14 error free-control-plane: {HEADLINE}"
    assert lines[3:7] == [
        f"   = {DETAILS[0]}",
        f"   = {DETAILS[1]}",
        "   = main.tf:7  node_count = 500",
        f"   = help: {HELP}",
    ]


def test_merged_findings_show_headline_and_details_of_the_worst(detailed: Report) -> None:
    (worst,) = detailed.result.findings
    mild = [
        replace(worst, object=f"aks/a.{i}", severity=Severity.WARNING, message=f"Mild {i}", details=(f"So {i}",))
        for i in range(5)
    ]
    (one,) = merging.merged([*mild, worst], [])
    assert (one.message, one.details, len(one.also)) == (HEADLINE, DETAILS, 5)
    text = plain(finding_lines(one))
    assert text.index(HEADLINE) < text.index(
        "   = also: Mild 0\n   = also: Mild 1\n   = also: Mild 2\n   = also: 2 more\n"
    )
    assert "So 0" not in text


def test_json_has_details_next_to_the_message(detailed: Report) -> None:
    (finding,) = json.loads(detailed.render("json"))["findings"]
    assert (finding["message"], finding["details"]) == (HEADLINE, list(DETAILS))


def test_sarif_begins_with_the_headline_as_a_sentence(detailed: Report) -> None:
    (result,) = json.loads(detailed.render("sarif"))["runs"][0]["results"]
    assert result["message"]["text"] == (f"{HEADLINE}.\n\n{DETAILS[0]}.\n{DETAILS[1]}.\n\nHelp: {HELP}.")


def test_junit_has_the_headline_as_message_and_details_as_text(detailed: Report) -> None:
    failure = next(ElementTree.fromstring(detailed.render("junit")).iter("failure"))  # noqa: S314 - our own
    assert failure.get("message") == HEADLINE
    assert all(detail in (failure.text or "") for detail in DETAILS)


def test_github_annotates_with_headline_and_details(detailed: Report) -> None:
    (line,) = (line for line in detailed.render("github").splitlines() if line.startswith("::error "))
    assert line.endswith(f"::{HEADLINE}%0A{DETAILS[0]}%0A{DETAILS[1]}%0Ahelp: {HELP}")


def test_the_gitlab_description_is_the_headline(detailed: Report) -> None:
    (issue,) = json.loads(detailed.render("gitlab"))
    assert issue["description"] == f"free-control-plane: {HEADLINE}"
    assert issue["content"]["body"] == f"- {DETAILS[0]}\n- {DETAILS[1]}"


def test_markdown_has_details_in_the_headline_cell(detailed: Report) -> None:
    (row,) = (line for line in detailed.render("markdown").splitlines() if line.startswith("| error"))
    assert f"): {HEADLINE}<br>{DETAILS[0]}<br>A name of 5 letters \\| \\<b\\>says\\</b\\> nothing" in row


def test_junit_has_a_skipped_case_per_unchecked_object(write: Write) -> None:
    text = CLUSTER.replace("node_count = 500", "node_count = var.nodes") + 'variable "nodes" {}\n'
    folder = write({"main.tf": text})
    (folder / "secret.yaml").write_bytes(b"\0GITCRYPT\0abc")
    text = run("--format", "junit")[1]
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(text)
    cases = {case.get("name"): case.find("skipped") for case in ElementTree.fromstring(text).iter("testcase")}  # noqa: S314
    skipped = {name: case.get("message", "") for name, case in cases.items() if case is not None}
    assert "var.nodes has no value" in skipped["cluster aks/azurerm_kubernetes_cluster.größe"]
    assert "encrypted" in skipped["not read"]


def test_long_source_lines_are_cut_around_the_finding(write: Write) -> None:
    padding = "x" * 150
    job = (
        "{apiVersion: batch/v1, kind: Job, metadata: {name: train, annotations: {a: "
        + padding
        + "}}, spec: {parallelism: 64, completions: 64, template: {spec: {restartPolicy: Never, "
        "containers: [{name: a, image: 'python:latest'}]}}}}\n"
    )
    write({"job.yaml": job})
    lines = run("--select", "moving-image-tag", "--info")[1].splitlines()
    assert len(lines[1]) <= 110
    start = lines[2].index("^")
    assert lines[1][start:].startswith("'python:latest'")
