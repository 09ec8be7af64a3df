"""Test `kcheck export admission`: the printed policies, and the notes about rules left out."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from kcheck.addons.admission import export, table
from kcheck.addons.admission.parameters import Parameters
from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import rules
from kcheck.engine.words.subjects import SUBJECTS
from tests.addons.admission.offline import refusals
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from click.testing import Result

    from kcheck.addons.admission.policies import Policy
    from kcheck.engine import linter

EXAMPLES = ROOT / "examples"
ALL = Parameters(dict.fromkeys(table.table()["parameters"], ""), {})


@cache
def every() -> export.Selection:
    """Return the policies of all rules, with all parameters set."""
    return export.select(Config(), (), ALL, info=True)


@cache
def policies() -> tuple[Policy, ...]:
    """Return the policies of three exports: with all parameters and infos, with all parameters, with none."""
    others = (export.select(Config(), (), parameters) for parameters in (ALL, None))
    return (*every().policies, *(policy for other in others for policy in other.policies))


PODS = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      containers:
        - {name: train, image: "quay.io/example/train:1", resources: {limits: {nvidia.com/gpu: "0.5"}}}
      restartPolicy: Never
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["export", "admission", *arguments])


def documents(*arguments: str) -> list[dict[str, Any]]:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.stdout))


@pytest.mark.smoke
def test_each_rule_becomes_a_policy_with_a_binding() -> None:
    policy, binding = documents("--rule", "fractional-gpu", "--action", "Deny")
    assert (policy["kind"], binding["kind"]) == ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    assert binding["spec"] == {"policyName": "kcheck-fractional-gpu", "validationActions": ["Deny"]}


def test_with_a_path_the_export_has_values_from_its_code_and_more_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "eks-training")
    alone, known = documents(), documents(".", "--namespace", "platform")
    (values,) = (one for one in known if one["kind"] == "ConfigMap")
    names = {one["metadata"]["name"] for one in known}
    assert {one["metadata"]["name"] for one in alone} < names
    assert "kcheck-gpu-without-toleration" in names
    assert values["metadata"]["namespace"] == "platform"
    assert values["data"]["cloud"] == "eks"
    references = [one["spec"]["paramRef"] for one in known if "paramRef" in one.get("spec", {})]
    assert {(one["name"], one["namespace"]) for one in references} == {("kcheck-admission", "platform")}


def test_an_unknown_strategy_is_left_out(write: Callable[[Mapping[str, str]], None]) -> None:
    policy = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {mig: {strategy: '${X}'}}\n"
    write({"policy.yaml": policy})
    run = CliRunner().invoke(cli, ["export", "admission", "."])
    assert run.exit_code == 0
    assert "${X}" not in run.stdout


def test_output_is_the_same_in_every_run() -> None:
    assert run("--info").stdout == run("--info").stdout


@pytest.mark.smoke
def test_group_and_rule_options_select_policies() -> None:
    names = {
        one["metadata"]["labels"]["kcheck.dev/rule"]
        for one in documents("--group", "images", "--rule", "preemption-never")
    }
    assert names == {"image-pulled-every-start", "moving-image-tag", "preemption-never", "retired-registry"}


def test_policies_of_severity_info_need_the_info_flag() -> None:
    names = [{one["metadata"]["name"] for one in documents(*flags)} for flags in ((), ("--info",))]
    assert {"kcheck-job-never-cleaned", "kcheck-preemption-never"} <= names[1] - names[0]


def test_rules_that_are_left_out_are_listed() -> None:
    alone = run()
    assert "more with PATH" in alone.stderr
    assert "cannot be" in alone.stderr
    listed = run("--list").stdout
    assert "gpu-without-toleration" in listed
    assert "needs PATH" in listed
    assert "volcano-does-not-pack" in listed


def test_parameter_values_require_a_single_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    listed = run("eks-training", "gke-training", "--list").stdout
    assert "pools is not known: there are 2 clusters here; name the folder of one" in listed


@pytest.mark.parametrize("flag", ["--rule", "--group"])
def test_an_unknown_name_is_a_usage_error(flag: str) -> None:
    result = run(flag, "fractional-gpus")
    assert result.exit_code == 2
    assert "fractional-gpu" in result.output


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("gpu-without-toleration", "needs values of the code: pools; give it a PATH that has them"),
        ("volcano-does-not-pack", "cannot be exported: its configuration is a text inside of a ConfigMap"),
        ("kubenet-retiring", "is not about Kubernetes objects"),
    ],
)
def test_naming_a_rule_that_cannot_be_exported_is_a_usage_error(rule: str, why: str) -> None:
    result = run("--rule", rule)
    assert result.exit_code == 2
    assert f"{rule} {why}" in " ".join(result.output.split())
    assert run("--rule", rule, "--list").exit_code == 0


def test_kyverno_policies_contain_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "eks-training")
    found = documents(".", "--format", "kyverno", "--rule", "gpu-without-toleration")
    assert [(one["apiVersion"], one["kind"]) for one in found] == [("policies.kyverno.io/v1", "ValidatingPolicy")]
    assert "params." not in str(found)
    assert "p5.48xlarge" in str(found)


@pytest.mark.parametrize(
    ("annotation", "refused"),
    [
        ("fractional-gpu: shared by MPS", False),
        ("quotas: shared by MPS", False),
        ("fractional-gpu", True),
        ("other: shared by MPS", True),
    ],
)
def test_policies_ignore_annotated_objects(annotation: str, refused: bool) -> None:
    job = yaml.safe_load(PODS)
    job["metadata"]["annotations"] = {"kcheck.dev/ignore": annotation}
    (policy, _) = documents("--rule", "fractional-gpu")
    assert bool(refusals(policy, job, {})) is refused


def test_policies_accept_objects_that_a_controller_owns() -> None:
    job = yaml.safe_load(PODS)
    (policy, _) = documents("--rule", "fractional-gpu")
    assert refusals(policy, job, {})
    job["metadata"]["ownerReferences"] = [{"kind": "CronJob", "controller": True}]
    assert not refusals(policy, job, {})


def test_every_word_of_the_table_is_used() -> None:
    """The table has no word that a rule cannot name, or that no exported rule needs."""
    used = {variable.name for one in policies() for variable in one.variables}
    texts = "".join(variable.expression for one in policies() for variable in one.variables)
    unused = [
        f"{subject}.{name}"
        for subject, words in table.table()["words"].items()
        for name in words
        if name not in used and f'"{name}":' not in texts and name not in {field.name for field in SUBJECTS[subject]}
    ]
    assert unused == []


def test_every_policy_parameter_is_both_used_and_computed() -> None:
    needed = {name for one in policies() for name in one.parameters}
    assert needed == set(table.table()["parameters"])


def test_the_table_names_only_existing_rules_and_subjects() -> None:
    own = table.table()
    names = {rule.name for rule in rules.load()}
    assert set(own["refused"]) <= names
    assert all(subject in {rule.subject for rule in rules.load()} for subject in own["cannot"])


def test_policy_messages_equal_the_messages_of_check(check: Callable[..., linter.Result]) -> None:
    """Messages are equal where their numbers follow from the object alone."""
    same = different = 0
    for one in every().policies:
        if one.parameters:
            continue
        for example in one.rule.documentation.examples:
            for name, text in example.bad.items():
                if not name.endswith(".yaml"):
                    continue
                policy = export.policy(one, "Warn", "default")[0]
                said = [found for item in yaml.safe_load_all(text) for found in refusals(policy, item, {})]
                result = check({name: text})
                wanted = {finding.message for finding in result.findings if finding.rule == one.rule.name}
                for found in filter(None, "; ".join(said).split("; ")):
                    same, different = same + (found in wanted), different + (found not in wanted)
    assert same >= 30
    assert different <= 3


@pytest.mark.parametrize(("limit", "refused"), [(None, True), (6, True), (100, False)])
def test_defaults_of_the_api_server_count_as_not_set(limit: int | None, refused: bool) -> None:
    job = yaml.safe_load(PODS)
    job["spec"] |= {"completions": 600, "parallelism": 600, "completionMode": "Indexed"}
    job["spec"] |= {} if limit is None else {"backoffLimit": limit}
    rule = next(one for one in every().policies if one.rule.name == "retries-run-out")
    policy = export.policy(rule, "Warn", "default")[0]
    values = ALL.values | {"pools": "gpu;;8;600;0;192;autoscaled,gpu;;", "nodes": "600"}
    assert bool(refusals(policy, job, values)) is refused


def test_priority_classes_are_judged_only_where_the_code_has_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` says nothing either where the code has no priority classes, or may have more."""
    monkeypatch.chdir(EXAMPLES)
    assert "kcheck-unknown-priority-class" not in run("eks-training", "gke-training").stdout
    (_, policy, _) = documents("eks-training", "--rule", "unknown-priority-class")
    job = yaml.safe_load(PODS)
    job["spec"]["template"]["spec"]["priorityClassName"] = "high"
    known = {"priority_classes": "", "default_classes": "", "releases": "false"}
    assert not refusals(policy, job, known)
    assert refusals(policy, job, known | {"priority_classes": "low=1=preempts"})
