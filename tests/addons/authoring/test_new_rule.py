"""Test that `kcheck rules new` writes a working rule, and that `kcheck rules --test` explains a broken one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.addons.authoring import new_rule
from kcheck.commands.cli import cli
from kcheck.engine import rules
from kcheck.text.bundled import RULES

if TYPE_CHECKING:
    from tests.conftest import Write

pytestmark = pytest.mark.medium


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments))


@pytest.mark.slow
@pytest.mark.parametrize("subject", new_rule.JUDGED)
def test_a_new_rule_passes_its_test(subject: str, write: Write) -> None:
    folder = write({})
    done = run("rules", "new", "pod-without-team", "--subject", subject)
    assert (done.exit_code, done.stdout) == (0, "wrote policies/own/pod-without-team.yaml\n")
    tested = run("rules", "--test", "policies")
    assert (tested.exit_code, tested.stdout) == (0, "ok own/pod-without-team: 1 example\n")
    text = (folder / "policies/own/pod-without-team.yaml").read_text()
    assert "summary: Pod without team\n" in text
    assert len(re.findall(r"(?m)#.*fires? (where|here)|#.*silent here", text)) >= 3


def test_a_new_rule_is_written_into_the_configured_folder_of_rules(write: Write) -> None:
    folder = write(
        {"kcheck.yaml": "rules: [mine]\n", "mine/own/a-rule.yaml": new_rule.text("a-rule", "object", "mine")}
    )
    assert run("rules", "new", "pods/pod-without-team").stdout == "wrote mine/pods/pod-without-team.yaml\n"
    assert (
        run("rules", "new", "pod-without-owner", "--dir", "other").stdout == "wrote other/own/pod-without-owner.yaml\n"
    )
    assert (folder / "other/own/pod-without-owner.yaml").exists()
    listed = run("rules").stdout
    assert "\npods\n  pod-without-team (warning, fix: safe)\n    Pod without team\n" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a-rule",), "there is a rule a-rule already: policies/own/a-rule.yaml"),
        (("other/a-rule",), "there is a rule a-rule already: policies/own/a-rule.yaml"),
        (("docker-hub-image",), "there is a rule docker-hub-image already: "),
        (
            ("Pod_Without",),
            "a rule name has lower-case words with dashes, such as pod-without-team, not Pod_Without",
        ),
        (("My Group/pod",), "not My Group"),
        (("../pod",), "not .."),
        (("a/b/pod",), "not a/b"),
        (("",), "a rule name has lower-case words"),
        (("pod-x", "--subject", "workloads"), "there is no subject workloads; did you mean workload?"),
        (("pod-x", "--subject", "tier"), "there is no subject tier; known are object, resource, cluster, "),
        (("pod-x", "--dir", "file.txt"), "file.txt"),
    ],
)
def test_taken_and_invalid_names_are_refused(arguments: tuple[str, ...], message: str, write: Write) -> None:
    before = "# mine\n" + new_rule.text("a-rule", "object", "policies")
    folder = write({"policies/own/a-rule.yaml": before, "file.txt": ""})
    done = run("rules", "new", *arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert (folder / "policies/own/a-rule.yaml").read_text() == before
    assert [path.name for path in folder.rglob("*.yaml")] == ["a-rule.yaml"]


@pytest.mark.parametrize(
    ("subject", "severity"),
    [
        ("object", "warning"),
        ("cluster", "warning"),
        ("pool", "warning"),
        ("subnet", "error"),
        ("priority_class", "error"),
    ],
)
def test_a_draft_rule_has_the_usual_severity_of_its_subject(subject: str, severity: str) -> None:
    """Info would be hidden, and whoever tries a draft wants to see its findings."""
    assert f"\nseverity: {severity} " in new_rule.text("a-rule", subject, "policies")


def test_the_printed_next_step_works_for_a_rule_in_the_rules_folder_of_kcheck(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write({})
    monkeypatch.setattr(new_rule, "RULES", str(folder / "rules"))
    done = run("rules", "new", "jobs/a-job-without-the-team-that-pays-for-all-of-its-nodes", "--dir", "rules")
    step = re.search(r"test it with `kcheck (.*?)`", done.stderr)
    assert step
    monkeypatch.setattr(rules, "RULES", str(folder / "rules"))
    monkeypatch.setattr(rules, "load", rules.load.__wrapped__)
    tested = run(*step[1].split())
    assert re.findall(r"yaml:\d+:\d+: (.*)", tested.stdout) == [
        "`why` needs more than 80 characters: what happens, and what would help",
        "the rule needs sources: keys of profiles such as limits.eks.pool.quota, or addresses",
    ]


def test_built_in_rules_can_be_tested_and_loaded_by_path(write: Write) -> None:
    write({"pod.yaml": "kind: Pod\n"})
    tested = run("rules", "--test", f"{RULES}/files/unreadable-file.yaml", "--strict")
    assert (tested.exit_code, tested.stdout.splitlines()[0]) == (0, "ok files/unreadable-file: 1 example")
    assert run("check", ".", "--rules", RULES).exit_code == run("check", ".").exit_code


# --- broken rules: what --test says of them

PATH = "policies/own/image-pulled-again.yaml"
RULE = """summary: Image is pulled at every start
severity: warning
subject: container
when: container.image != null && container.image.text.contains("example.com/")
problem: container.pull_policy == "Always"
at: container.pull_policy
message: "{container.image.text} is pulled at every start"
fix: {set: container.pull_policy, to: "'IfNotPresent'", safety: safe}
---
why: |
  Each start of a pod asks the registry; with hundreds of pods at once it refuses some of them, and the job waits.
examples:
  - file: pod.yaml
    bad: &bad |
      apiVersion: v1
      kind: Pod
      metadata:
        name: serve
      spec:
        containers:
          - name: serve
            image: registry.example.com/serve:1
            imagePullPolicy: Always
    fixed: &good |
      apiVersion: v1
      kind: Pod
      metadata:
        name: serve
      spec:
        containers:
          - name: serve
            image: registry.example.com/serve:1
            imagePullPolicy: IfNotPresent
    good: *good
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "status", "expected"),
    [
        (
            "container.image.text.con", "container.image.tex.con", 2,
            [f"{PATH}:4:", ": there is no word image.tex; did you mean image.text? (the image as written)\n"],
        ),
        (
            'problem: container.pull_policy == "Always"', "problem: container.pull_policy > size(container.mounts)", 2,
            [f"{PATH}:5:", "`container.pull_policy` (Always, IfNotPresent or Never as written) is text and "],
        ),
        (
            'contains("example', 'contains("other', 1,
            [
                "FAILED own/image-pulled-again: 1 example\n",
                f"  {PATH}:14:5: `bad` must fire: nothing is found; `when` is false for ",
                ': container.image.text is "registry.example.com/serve:1"\n',
            ],
        ),
        (
            "imagePullPolicy: IfNotPresent\n    good", "imagePullPolicy: Never\n    good", 1,
            [f"  {PATH}:24:5: fix makes something else of pod.yaml:\n", "  -      imagePullPolicy: Never\n"],
        ),
        (
            "file: pod.yaml", "file: ../pod.yaml", 1,
            [f"  {PATH}:14:5: `bad` needs the path of a file in a folder of its own, not ../pod.yaml\n"],
        ),
        ("file: pod.yaml", 'file: ""', 1, [f"  {PATH}:14:5: `bad` needs the path of a file in a folder of its own, not"]),
        ("file: pod.yaml", "file: pod.txt", 1, [f"  {PATH}:14:5: `bad` must fire: ", "there is no container in pod.txt\n"]),
        (
            "    good: *good", "    good: *good\nmistakes: [{cluster: eks, changes: [{file: a, replace: b}]}]", 2,
            [f"{PATH}:35:37: mistakes[0].changes[0] needs replace and by or ", " or after and insert or "],
        ),
        (
            "fixed: &good |", "fixed: {jobs/train.yaml: a}\n    good: &good |", 1,
            [f"  {PATH}:24:5: `fixed` has jobs/train.yaml, and `bad` has not: it has pod.yaml\n"],
        ),
        ("summary: Image", "summary: [Image", 2, [f"{PATH}:1:10: this bracket is not closed"]),
        ('== "Always"', '== "Always', 2, [f"{PATH}:5:35: Syntax error: a quote is not closed"]),
        (
            "problem: container.pull", "problem: has(container.pull_policy) && container.pull", 1,
            [f"  {PATH}:5:10: has() asks whether a value is known, which is for `when` only; compare with null to ask for unset\n"],
        ),
    ],
    ids=["misspelt", "type", "silent", "fixed", "outside", "unnamed", "kind", "mistake", "other", "yaml", "cel", "has"],
)  # fmt: skip
def test_broken_rules_are_reported_with_file_and_line(
    old: str, new: str, status: int, expected: list[str], write: Write
) -> None:
    assert RULE.count(old) == 1
    write({PATH: RULE})
    assert run("rules", "--test", "policies").stdout == "ok own/image-pulled-again: 1 example\n"
    write({PATH: RULE.replace(old, new)})
    done = run("rules", "--test", "policies")
    assert done.exit_code == status
    for text in expected:
        assert text in done.output
    assert "Usage" not in done.output


@pytest.mark.parametrize(
    ("problem", "message", "line"),
    [
        ("1 / size(container.mounts) > 1", "a", "5:10: rule own-rule fails on pod.yaml:Pod/serve/serve: divide by zero in "),
        ("size(container.mounts) == 0", "{[1][size(container.mounts) + 5]}", "7:12: rule own-rule fails on pod.yaml:Pod/serve/serve: Index error"),
    ],
)  # fmt: skip
def test_a_failing_custom_rule_is_not_reported_as_a_bug_of_kcheck(
    problem: str, message: str, line: str, write: Write
) -> None:
    head, example = (
        RULE.split("problem:", maxsplit=1)[0],
        RULE.split("bad: &bad |\n      ")[1].split("    fixed", maxsplit=1)[0],
    )
    rule = f'{head}problem: {problem}\nat: container.pull_policy\nmessage: "{message}"\n'
    write({"policies/own/own-rule.yaml": rule, "pod.yaml": example.replace("\n      ", "\n")})
    for arguments in (("check",), ("fix", "--diff"), ("baseline",)):
        done = run(*arguments, "--rules", "policies")
        assert done.exit_code == 2
        assert done.output.count(f"policies/own/own-rule.yaml:{line}") == 1
        assert "bug" not in done.output
    rule += "---\n" + json.dumps({"examples": [{"file": "pod.yaml", "bad": example.replace("\n      ", "\n")}]})
    write({"policies/own/own-rule.yaml": rule})
    done = run("rules", "--test", "policies")
    assert done.exit_code == 1
    assert f"policies/own/own-rule.yaml:{line.replace('rule own-rule', 'the rule')}" in done.output


def test_the_strict_option_requires_what_built_in_rules_have(write: Write) -> None:
    rule = RULE.replace("why: |\n", "why: |\n  Short.\nold: |\n").replace(
        '"Always"', '"Always" && size(container.image.text) > 3'
    )
    rule = re.sub(r"old: \|\n.*\n", "", rule)
    write({PATH: rule.replace('every start"\nfix', "every start" + ", again" * 20 + '"\nfix')})
    assert run("rules", "--test", "policies").exit_code == 0
    done = run("rules", "--test", "policies", "--strict")
    assert done.exit_code == 1
    for text in (
        f"  {PATH}:5:76: 3 has no source",
        f"  {PATH}:7:11: 193 characters, 100 at most: registry.example.com/serve:1 is pulled",
        f"  {PATH}:10:1: `why` needs more than 80 characters",
        f"  {PATH}:1:1: the rule needs sources",
    ):
        assert text in done.stdout
