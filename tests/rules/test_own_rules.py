"""Test an organisation's own rule files: mistakes in them, their examples, and the two that are documented."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.engine import rules
from kcheck.engine.rule import RuleError
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write

pytestmark = pytest.mark.medium

RULE = """summary: Job without a team
severity: warning
subject: object
when: object.kind == "Job"
problem: "!has(object.metadata.labels)"
at: object.metadata.labels
message: "{object.metadata.name} has no labels"
"""
PATH = "policies/own/job-without-team.yaml"


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("summary: Job", "summary: [Job", [":1:10: this bracket is not closed"]),
        ("severity", "severty", [":2:1: there is no key severty; did you mean severity?"]),
        ("severity: warning\n", "", [":1:1: the rule needs a severity or a grade, not both"]),
        ("severity: warning\n", "severity: warning\ngrade: {of: object.a}\n", [":1:1: the rule needs a severity or a grade"]),
        ("warning", "bad", [':2:1: severity must be one of error, warning, info, not "bad"']),
        ("at: object.metadata.labels\n", "", [":1:1: the rule needs at"]),
        ("at: object.metadata.labels", "at: object", [":6:5: `object` is not a place: <object>.<field>"]),
        ("at: object.metadata.labels", "at: 'object.metadata. + .labels'", [":6:"]),
        ("subject: object", "subject: objct", [":3:10: there is no subject objct; did you mean object?"]),
        ('"Job"', '"Job" &&', [":4:30: Syntax error: the expression ends too early at column 24"]),
        ('when: object.kind == "Job"', "when: 'object.kind == ''Job'' && x'", [":4:34: undeclared reference to 'x'"]),
        ('"!has(object.metadata.labels)"', '"\\"\\u00e9\\" == y"', [":5:25: undeclared reference to 'y'"]),
        ('"!has(object.metadata.labels)"', "|\n  object.a &&\n    object.b + y > 1", [":7:16: undeclared reference to 'y'"]),
        ('"!has(object.metadata.labels)"', ">-\n  object.a &&\n  object.b + y > 1", [":7:14: undeclared reference to 'y'"]),
        ('"!has(object.metadata.labels)"', "true", [":5:1: problem must be a text, not true"]),
        ("{object.metadata.name}", "{object.metadata.name", [":7:11: unmatched {"]),
        ("{object.metadata.name}", "{name}", [":7:12: undeclared reference to 'name'"]),
        ("{object.metadata.name}", "{limits.docker_hub.pullz}", [":7:12: ", "did you mean limits.docker_hub.pulls?"]),
        ("subject: object", "subject: resource", [":4:13: undeclared reference to 'object.kind'", ":5:", ":6:", ":7:"]),
        ("message: ", "fix: {set: object.a, safety: safe}\nmessage: ", [":7:1: fix needs `to` beside set"]),
        ("message: ", "fix: {to: '1', safety: safe}\nmessage: ", [":7:1: fix needs one of set, append and changes, not none"]),
        ("message: ", "fix: {set: object.a, append: object.b, to: '1', safety: safe}\nmessage: ", [":7:1: fix needs one of set, append and changes, not set and append"]),
        ("message: ", "fix: {changes: [], to: '1', safety: safe}\nmessage: ", [":7:1: fix needs `to` inside of each of its changes"]),
        ("message: ", "fix: {set: object.a, to: b, safety: safe}\nmessage: ", [":7:26: undeclared reference to 'b'"]),
        ("message: ", "fix: {changes: [{set: object, to: 1}], safety: safe}\nmessage: ", [":7:23: `object` is not a place"]),
        ("message: ", "details: [1]\nmessage: ", [":7:11: details[0] must be a text or a mapping with say, not 1"]),
        ("message: ", "details: [{if: 'true'}]\nmessage: ", [":7:11: details[0] needs say"]),
        ("message: ", "details: [{say: a, iff: b}]\nmessage: ", [":7:20: there is no key details[0].iff; did you mean if?"]),
        ("message: ", "help: {say: a}\nmessage: ", [":7:1: help must be a text or a list"]),
        ("message: ", "details: ['{b}']\nmessage: ", [":7:13: undeclared reference to 'b'"]),
        ("message: ", "at_most: {info: b}\nmessage: ", [":7:17: undeclared reference to 'b'"]),
        ("message: ", "fix: {changes: [{to: 1}], safety: safe}\nmessage: ", [":7:17: fix.changes[0] needs set or append, not both"]),
        ("message: ", "sources: [limits.aks.nothing]\nmessage: ", [":7:11: there is no source limits.aks.nothing"]),
        ("message: ", "unless: [nothing]\nmessage: ", [": unless: there is no rule nothing"]),
        ("has no labels\"\n", "has no labels\"\n---\nwhy: a\n---\nb: 1\n", [":11:1: a rule file has two documents"]),
        ("has no labels\"\n", "has no labels\"\n---\nwy: a\nexamples: [{bad: 1}]\n", [":9:1: there is no key wy", ":10:13: examples[0].bad must be a text or a mapping, not 1"]),
        ("has no labels\"\n", "has no labels\"\n---\nwhy: |\n  A /24.\n  Azure takes {limits.aks.subnet.reserve} of it.\n", [":11:15: there is no number limits.aks.subnet.reserve; did you mean limits.aks.subnet.reserved?"]),
        ("has no labels\"\n", "has no labels\"\n---\nwhy: It is {flags.scale-down-uneeded-time}.\n", [":9:12: ", "did you mean flags.scale-down-unneeded-time?"]),
        ("has no labels\"\n", "has no labels\"\n---\nwhy: It is {generate.any.autoscaler.batch}.\n", [":9:12: there is no number generate.any.autoscaler.batch"]),
        ("has no labels\"\n", "has no labels\"\n---\nwhy: It is {limits.subnet.reserved}.\n", [":9:12: there is no number limits.subnet.reserved"]),
        (RULE, "# nothing\n", [":1:1: there is no rule in it"]),
        (RULE, "- a\n", [":1:1: the rule must be a mapping"]),
    ],
)  # fmt: skip
def test_mistakes_in_rules_are_reported_with_their_place(old: str, new: str, expected: list[str], write: Write) -> None:
    assert old in RULE
    write({PATH: RULE.replace(old, new, 1), "a.yaml": "apiVersion: v1\nkind: A\n"})
    with pytest.raises(RuleError) as caught:
        rules.all_rules(["policies"])
    lines = str(caught.value).splitlines()
    for text in expected:
        assert any(f"{PATH}{text}" in line or text in line for line in lines), lines
    assert all(line.startswith(PATH) for line in lines)
    for command in (
        ("check", "--rules", "policies"),
        ("rules", "--test", "policies"),
        ("explain", "x", "--rules", "policies"),
    ):
        found = run(*command)
        assert found.exit_code == 2
        assert lines[0] in found.output


def test_all_mistakes_of_all_files_are_reported(write: Write) -> None:
    wrong = RULE.replace('"Job"', "x").replace("metadata.labels)", "metadata.labels) + y")
    write({PATH: wrong, "policies/b.yml": "summary: 1\n", "policies/Bad Name.yaml": RULE})
    with pytest.raises(RuleError) as caught:
        rules.all_rules(["policies"])
    text = str(caught.value)
    assert f"{PATH}:4:22: undeclared reference to 'x'" in text
    assert f"{PATH}:5:" in text
    assert "policies/b.yml:1:1: summary must be a text, not 1" in text
    assert "policies/Bad Name.yaml: the file names the rule: lower-case words with dashes, not Bad Name" in text


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("limits.eks.pool.quota", ["eks.pool.quota"]),
        ("limits.pool.quota", ["aks.pool.quota", "eks.pool.quota"]),
        ("limits.cluster.pools", [f"{cloud}.cluster.pools" for cloud in ("aks", "eks", "gke", "ack")]),
        ("limits.job.large", ["any.job.large"]),
        ("settings.pool.max_pods", ["gke.pool.max_pods"]),
    ],
)
def test_a_source_without_a_cloud_applies_to_every_cloud(source: str, numbers: list[str], write: Write) -> None:
    write({PATH: f"{RULE}sources: [{source}]\n"})
    shown = run("explain", "job-without-team", "--rules", "policies").output
    assert re.findall(r"^  (\S+) = ", shown, re.MULTILINE) == numbers


def test_a_limit_with_a_cloud_name_works_in_every_rule(write: Write) -> None:
    hole = '"{limits.eks.pool.quota} {limits.job.large} {limits.any.job.large}"'
    write({PATH: RULE.replace('"{object.metadata.name} has no labels"', hole), "a.yaml": JOB})
    found = run("check", "--rules", "policies", "--select", "job-without-team").output
    assert "job-without-team: 450 50 50" in found
    write({"kcheck.yaml": "limits: {eks.pool.quota: {value: 900, reason: granted}}\n"})
    assert "job-without-team: 900 50 50" in run("check", "--rules", "policies", "--select", "job-without-team").output
    write({PATH: RULE.replace('"{object.metadata.name} has no labels"', hole.replace("eks.pool", "ekss.pool"))})
    assert "there is no word limits.ekss; did you mean limits.eks?" in run("rules", "--test", "policies").output


def test_numbers_of_the_profiles_are_filled_into_why(write: Write) -> None:
    """A hole is filled in on every page; braces without the name of a number stay."""
    why = "EKS takes {limits.eks.cluster.nodes} nodes, waits {flags.scale-down-unneeded-time}; set {value: 5} and ${var.x}."
    write({PATH: f"{RULE}---\nwhy: '{why}'\n", "a.yaml": JOB})
    expected = "EKS takes 100,000 nodes, waits 10 minutes; set {value: 5} and ${var.x}."
    assert expected in run("explain", "job-without-team", "--rules", "policies").output.replace("\n", " ")
    assert expected in run("check", "--rules", "policies", "--format", "sarif").output


def test_empty_rule_folders_and_duplicate_names_are_refused(write: Write) -> None:
    write({"policies/README.md": "", "more/images/docker-hub-image.yaml": RULE, "flat/a-rule.yml": RULE})
    assert (
        "there is no rule in policies: rules are DIR/<group>/<name>.yaml" in run("rules", "--rules", "policies").output
    )
    assert "there is another rule docker-hub-image" in run("rules", "--rules", "more").output
    listed = run("rules", "--rules", "flat").output
    assert "\nflat\n  a-rule (warning)\n    Job without a team\n" in listed
    assert "docker-hub-image" in listed


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples" / "own-rules").rglob("*-*.yaml")), ids=lambda path: path.stem
)
def test_example_rules_match_the_published_schema(path: Path) -> None:
    schema = json.loads((ROOT / "profiles" / "rule.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    rule, details = yaml.safe_load_all(path.read_text())
    jsonschema.validate(rule, schema)
    jsonschema.validate(details, {**schema, "$ref": "#/$defs/details"})


# --- examples of rules


JOB = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n"
FIX = "fix: {set: object.metadata.labels.team, to: \"'ml'\", safety: safe}\n"


def prove(write: Write, examples: list[dict[str, Any]], more: str) -> tuple[int, str]:
    write({PATH: f"{RULE}{more}---\n" + json.dumps({"why": "Because.", "examples": examples})})
    found = run("rules", "--test", "policies")
    return found.exit_code, found.stdout


def test_correct_rule_examples_pass(write: Write) -> None:
    labelled = JOB + "  labels:\n    team: ml\n"
    example = {"file": "a.yaml", "bad": JOB, "good": labelled}
    assert prove(write, [example, example], "") == (0, "ok own/job-without-team: 2 examples\n")
    assert prove(write, [{**example, "fixed": labelled}], FIX) == (0, "ok own/job-without-team: 1 example\n")
    diff = "@@ name: a\n+  labels:\n+    team: ml\n"
    short = {"file": "a.yaml", "bad": JOB, "fixed": diff}  # and good, where that is not written
    assert prove(write, [{**example, "good": diff}], "") == (0, "ok own/job-without-team: 1 example\n")
    assert prove(write, [short], FIX) == (0, "ok own/job-without-team: 1 example\n")
    assert prove(write, [{**short, "good": "@@ name: b\n+  labels:\n"}], FIX) == (2, "")
    assert prove(write, [], "") == (0, "-- own/job-without-team: no examples, nothing is shown\n")
    write({PATH: RULE})
    assert run("rules", "--test", "policies").stdout == "-- own/job-without-team: no examples, nothing is shown\n"
    assert "Job without a team" in run("explain", "job-without-team", "--rules", "policies").output


@pytest.mark.parametrize(
    ("example", "more", "expected"),
    [
        ({"bad": JOB.replace("Job", "CronJob")}, "", ["`bad` must fire: nothing is found"]),
        (
            {"bad": JOB.replace("name: a", "name: a\n  labels: '{{ x }}'")},
            "",
            [
                "policies/own/job-without-team.yaml:9:",
                "`bad` must fire: nothing is found; undecided on a.yaml:Job/a: `{{ x }}` is a placeholder",
            ],
        ),
        ({"good": JOB}, "", ["`good` must be silent: a.yaml:3:1 a has no labels"]),
        ({"good": "a: 1\n"}, "", ["`good` has nothing that kcheck looks at: silence shows nothing"]),
        ({"bad": JOB, "fixed": JOB}, "", ["`fixed` belongs to a rule with a fix only"]),
        (
            {"bad": JOB, "fixed": JOB + "  labels:\n    team: nlp\n"},
            FIX,
            ["fix makes something else of a.yaml:", "  -    team: nlp", "  +    team: ml"],
        ),
        ({"bad": JOB}, FIX, ["`fixed` is missing; fix makes of a.yaml:", "  +  labels:"]),
    ],
)
def test_wrong_rule_examples_fail(example: dict[str, str], more: str, expected: list[str], write: Write) -> None:
    status, text = prove(write, [{"file": "a.yaml", **example}], more)
    assert status == 1
    assert text.startswith("FAILED own/job-without-team: 1 example\n  ")
    for line in expected:
        assert line in text


MAIN = """resource "aws_eks_node_group" "gpu" {
  max_size = 8
  cidrs    = ["10.0.0.0/8"]
}
"""


@pytest.mark.parametrize(
    ("fix", "fixed"),
    [
        ("{set: resource.values.max_size, to: '16', safety: costs}", MAIN.replace("8\n", "16\n", 1)),
        ("{set: resource.values.min_size, to: '1', safety: costs}", MAIN.replace("8\n", "8\n  min_size = 1\n", 1)),
        ("{append: resource.values.cidrs, to: \"'10.1.0.0/16'\", safety: safe}", MAIN.replace('/8"]', '/8", "10.1.0.0/16"]')),
        (
            "{changes: [{set: resource.values.max_size, to: '16'}, {append: resource.values.cidrs, to: \"'10.1.0.0/16'\"}], safety: costs}",
            MAIN.replace("8\n", "16\n", 1).replace('/8"]', '/8", "10.1.0.0/16"]'),
        ),
        ("{set: resource.values.max_size, to: '16', safety: costs, withheld: [{where: resource.values.max_size == 8, help: look}]}", None),
        ("{append: resource.values.cidrs, to: \"'10.1.0.0/16'\", safety: safe, withheld: [{where: resource.values.max_size == 8, help: look}]}", None),
    ],
)  # fmt: skip
def test_every_form_of_a_fix_works(fix: str, fixed: str | None, write: Write) -> None:
    rule = (
        "summary: a\nseverity: warning\nsubject: resource\nwhen: resource.type == 'aws_eks_node_group'\n"
        "problem: resource.values.max_size < 10 && size(resource.values.cidrs) < 2 && !has(resource.values.min_size)\n"
        f"at: resource.values.max_size\nmessage: b\nfix: {fix}\n"
    )
    example = {"bad": MAIN, "good": MAIN.replace("8\n", "16\n", 1)} | ({"fixed": fixed} if fixed else {})
    folder = write({PATH: rule + "---\n" + json.dumps({"examples": [example]}), "main.tf": MAIN})
    tested = run("rules", "--test", "policies")
    assert (tested.exit_code, tested.stdout) == (0, "ok own/job-without-team: 1 example\n")
    assert ("help: look" in run("check", "--rules", "policies").stdout) == (fixed is None)
    run("fix", "--rules", "policies")
    assert (folder / "main.tf").read_text() == (fixed or MAIN)


def test_an_example_writes_nothing_outside_its_folder(write: Write) -> None:
    folder = write({})
    outside = folder / "outside.yaml"
    prove(write, [{"bad": {"a.yaml": JOB, str(outside): JOB, "../../outside.yaml": JOB}}], "")
    assert not outside.exists()


def documented(number: int) -> str:
    """Return a rule file of the guide's list of keys: 1 is the smallest rule, 2 has all keys."""
    page = (ROOT / "docs" / "writing-rules.md").read_text()
    return page.split("## What is in the file?")[1].split("```yaml\n")[number].split("```")[0]


def test_the_smallest_documented_rule_passes_its_test(write: Write) -> None:
    write({PATH: documented(1)})
    tested = run("rules", "--test", "policies")
    assert (tested.exit_code, tested.stdout) == (0, "ok own/job-without-team: 1 example\n")


def test_the_documented_rule_file_is_valid(write: Write) -> None:
    text = documented(2).split("---\n")[0]
    write({"policies/own/subnet-full.yaml": text})
    assert [rule.summary for rule in rules.read("policies")] == ["What is wrong, in one line"]


@pytest.mark.slow
def test_the_rules_of_the_guide_pass_their_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "own-rules")
    done = run("rules", "--test", "policies")
    assert (done.exit_code, done.stdout) == (
        0, "ok images/image-outside-registry: 1 example\nok teams/gpu-job-without-team: 2 examples\n"
    )  # fmt: skip
    by_flag, by_settings = run("check", "train.yaml", "--rules", "policies"), run("check")
    assert by_flag.output.splitlines()[:-1] == by_settings.output.splitlines()[:-1]  # the next step has the flags
    assert (
        "train.yaml:3:1 warning gpu-job-without-team: pretrain asks for GPUs and has no label `team`" in by_flag.output
    )
    assert "train.yaml:12:18 error image-outside-registry: Job pretrain runs an image" in by_flag.output
    assert "2 findings" not in by_flag.output
    assert by_flag.exit_code == 1
    assert "+    team: language" in run("fix", "--diff").output


RENAMED = {
    "policies/own/job-has-a-team.yaml": f"{RULE}formerly: [job-without-team]\n",
    "job.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n",
}
NOTE = "kcheck: rule job-without-team is `job-has-a-team` now\n"


@pytest.mark.parametrize(
    ("settings", "flags", "found"),
    [
        ("", ["--select", "job-without-team"], "job.yaml:3:1 warning job-has-a-team"),
        ("", ["--ignore", "job-without-team"], ""),
        ("select: [job-without-team]", [], "job.yaml:3:1 warning job-has-a-team"),
        ("ignore: [job-without-team]", [], ""),
        ("severity: {job-without-team: error}", [], "job.yaml:3:1 error job-has-a-team"),
        ("per_path_ignores: {'*.yaml': [job-without-team]}", [], ""),
        ("suppressions: [{rule: job-without-team, reason: ours}]", [], ""),
    ],
)  # fmt: skip
def test_former_names_of_a_rule_work_with_a_note(settings: str, flags: list[str], found: str, write: Write) -> None:
    write({**RENAMED, "kcheck.yaml": f"rules: [policies]\n{settings}\n"})
    done = run("check", "job.yaml", *flags)
    assert (found or "nothing found") in done.stdout
    assert ("job-has-a-team" in done.stdout) == bool(found)
    assert done.stderr.count(NOTE) == 1


def test_former_names_silence_in_comments_annotations_and_baselines(write: Write) -> None:
    job = RENAMED["job.yaml"]
    comment = job.replace("a}", "a} # kcheck: ignore[job-without-team] ours")
    annotation = job.replace("a}", 'a, annotations: {kcheck.dev/ignore: "job-without-team: ours"}}')
    for text in (comment, annotation):
        write({**RENAMED, "job.yaml": text, "kcheck.yaml": "rules: [policies]\n"})
        done = run("check", "job.yaml", "--info")
        assert "nothing found; 1 suppressed." in done.stdout
        assert done.stderr == NOTE
    write({"job.yaml": job})
    run("baseline", "job.yaml")
    known = write({}) / "kcheck-baseline.json"
    known.write_text(known.read_text().replace("job-has-a-team", "job-without-team"))
    assert "nothing found; 1 already known." in run("check", "job.yaml", "--baseline").stdout
    assert "not found any more" not in run("check", "job.yaml", "--baseline").stderr


def test_former_names_cannot_be_ignored_where_the_rule_cannot(write: Write) -> None:
    settings = "rules: [policies]\nnot_ignorable: [job-without-team]\nignore: [{}]\n"
    for name in ("job-without-team", "job-has-a-team"):
        write({**RENAMED, "kcheck.yaml": settings.format(name)})
        assert "job-has-a-team cannot be ignored (not_ignorable in kcheck.yaml:2)" in run("check", "job.yaml").output


def test_former_names_are_explained_fixed_and_taken(write: Write) -> None:
    write({**RENAMED, "kcheck.yaml": "rules: [policies]\n"})
    explained = run("explain", "job-without-team")
    fixed = run("fix", "job.yaml", "--diff", "--select", "job-without-team")
    assert explained.stdout.startswith("job-has-a-team\n\nJob without a team.")
    assert explained.stderr == NOTE
    assert NOTE in fixed.stderr
    write({PATH: RULE})
    assert "there is another rule job-without-team" in run("rules", "--rules", "policies").output


def test_severity_of_a_group_holds_for_its_other_rules(write: Write) -> None:
    settings = "rules: [policies]\nseverity: {own: error, job-named-a: info}\n"
    second = RULE.replace("has_labels", "is_a").replace("Job without a team", "Job named a")
    write({**RENAMED, "policies/own/job-named-a.yaml": second, "kcheck.yaml": settings})
    shown = run("check", "job.yaml", "--info").stdout
    assert "error job-has-a-team" in shown
    assert "info job-named-a" in shown
