"""Test raw subjects: manifests and resources as they are written, unknown values in them, their places and fixes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.fix import fix
from kcheck.inventory import reader
from kcheck.model import Raw
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.engine.linter import Result
    from tests.conftest import Write

pytestmark = pytest.mark.medium

CONFIG = Config(rules=("policies",), select=("own-rule",))
JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels:
    app: train   # the app
    # more
spec:
  parallelism: 4
  suspend: null
  template:
    spec:
      containers:
        - name: train
          image: example.com/train:1
          args: [--steps, "{{ .Values.steps }}"]
        - name: log
          image: "{{ .Values.image }}"
          env:
            - name: LEVEL
              value: debug
"""


def rule(problem: str, at: str = "object.kind", when: str = "", **more: object) -> str:
    subject = at.partition(".")[0].strip("(")
    data = {"summary": "Own", "severity": "warning", "subject": subject, "problem": problem, "at": at, "message": "own"}
    return json.dumps({**data, **({"when": when} if when else {}), **more})


def files(text: str, content: Mapping[str, str]) -> dict[str, str]:
    return {"policies/own/own-rule.yaml": text, **content}


def verdict(result: Result) -> bool | str:
    """Return whether the rule fired; the missing inputs if it is undecided."""
    assert not result.bugs
    if result.findings:
        return True
    return "; ".join(result.undecided[0].missing) if result.undecided else False


STEPS = "`{{ .Values.steps }}` is a placeholder"
IMAGE = "`{{ .Values.image }}` is a placeholder"
CONTAINERS = "object.spec.template.spec.containers"


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("object.kind == 'Job' && object.apiVersion == 'batch/v1'", True),
        ("object.spec.parallelism == 4", True),
        ("has(object.metadata.labels.app) && 'app' in object.metadata.labels", True),
        ("has(object.metadata.labels.team)", False),
        ("'team' in object.metadata.labels || has(object.spec.suspend)", False),  # null is absent
        ("object.metadata.labels.team == 'a'", "`metadata.labels.team` is not written; ask has() first"),
        ("has(object.metadata.annotations.team)", "`metadata.annotations` is not written; ask has() first"),
        ("object.spec.parallelism > 3 || object.metadata.labels.team == 'a'", True),
        (f"{CONTAINERS}.exists(c, c.name == 'log')", True),
        (f"{CONTAINERS}.all(c, c.image.startsWith('example.com/'))", IMAGE),
        (f"{CONTAINERS}.exists(c, c.image == 'example.com/train:1')", True),  # one is enough, whatever the other is
        (f"{CONTAINERS}.exists(c, has(c.image))", IMAGE),
        (f"{CONTAINERS}.exists(c, 'image' in c)", IMAGE),
        (f"{CONTAINERS}.exists(c, c == {{}})", STEPS),
        (f"size({CONTAINERS}) == 2", True),
        (f"size({CONTAINERS}[0].args) == 2", STEPS),
        (f"{CONTAINERS}.exists(c, has(c.env) && c.env.exists(e, e.value == 'debug'))", True),
        (f"{CONTAINERS}[0].args.exists(a, a == '--steps')", STEPS),
        (f"'--steps' in {CONTAINERS}[0].args", STEPS),
        ("object.spec == {}", STEPS),
        ("object.metadata.labels == {'app': 'train'}", True),
        (
            "object.metadata.name > 3",
            "it does not fit what is written: No matching overloads found : _>_(string, int64) in `object.metadata.name > 3`",
        ),
        (f"{CONTAINERS}[2].name == ''", f"INDEX in `{CONTAINERS}[2].name == ''`"),
    ],
)
def test_conditions_on_an_object_give_the_expected_verdicts(problem: str, expected: bool | str, write: Write) -> None:
    write(files(rule(problem), {"job.yaml": JOB}))
    found = verdict(linter.run(Tree(["job.yaml"]), CONFIG))
    if isinstance(expected, str) and expected.startswith("INDEX"):
        assert isinstance(found, str)
        assert found.endswith(expected[5:])
    else:
        assert found == expected


def test_a_known_false_decides_despite_unknown_parts(write: Write) -> None:
    hidden = f"{CONTAINERS}.exists(c, has(c.image))"
    write(files(rule(hidden, when="object.kind == 'CronJob'"), {"job.yaml": JOB}))
    wide = replace(CONFIG, rules=("policies",))
    assert verdict(linter.run(Tree(["job.yaml"]), wide)) is False
    write(files(rule(hidden, when="object.spec.parallelism == 5 && has(object.spec)"), {"job.yaml": JOB}))
    assert verdict(linter.run(Tree(["job.yaml"]), wide)) is False


GROUP = """variable "team" {}

locals {
  size = 3 * 4
}

resource "aws_eks_node_group" "gpu" {
  count = 2

  cluster_name = "train"
  tags = {
    Team = var.team
    Cost = "ml"
  }

  scaling_config {
    max_size = local.size
    min_size = null
  }

  dynamic "taint" {
    for_each = ["a", "b"]
    content {
      key = taint.value
    }
  }

  lifecycle {
    prevent_destroy = true
  }
}
"""
TEAM = "var.team has no value"


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("resource.type == 'aws_eks_node_group' && resource.module == ''", True),
        ("resource.address == 'aws_eks_node_group.gpu[1]'", True),
        ("resource.values.scaling_config[0].max_size == 12", True),
        ("has(resource.values.scaling_config[0].min_size)", False),
        ("resource.values.taint.map(t, t.key) == ['a', 'b']", True),
        ("has(resource.values.lifecycle) || has(resource.values.count)", False),
        ("resource.values.tags.Cost == 'ml'", True),
        ("resource.values.tags.Team == 'ml'", TEAM),
        ("has(resource.values.tags.Team)", TEAM),
        ("'Team' in resource.values.tags", TEAM),
        ("'Cost' in resource.values.tags", True),
        ("'Owner' in resource.values.tags", False),
        ("size(resource.values.tags) == 2", TEAM),
        ("resource.values.tags.exists(k, k == 'Owner')", TEAM),
        ("resource.values.ami_type == ''", "`ami_type` is not written; ask has() first"),
    ],
)
def test_conditions_on_a_resource_are_decided_where_values_are_known(
    problem: str, expected: bool | str, write: Write
) -> None:
    write(files(rule(problem, "resource.address"), {"main.tf": GROUP}))
    assert verdict(linter.run(Tree(["main.tf"]), CONFIG)) == expected


def test_resources_of_local_modules_are_judged(write: Write) -> None:
    text = rule("resource.module == 'module.a[\"x.y\"]'", "resource.values.name")
    call = 'module "a" {\n  for_each = toset(["x.y"])\n  source   = "./m"\n}\n'
    skeleton = 'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  version = "~> 20.0"\n}\n'
    write(files(text, {"main.tf": call + skeleton, "m/main.tf": 'resource "aws_s3_bucket" "b" {\n  name = "b"\n}\n'}))
    found = linter.run(Tree(["."]), CONFIG)
    assert [(f.object, f.span.text) for f in found.findings] == [('module.a["x.y"].aws_s3_bucket.b', '"b"')]
    assert len(found.world.inventory.resources) == 1  # a skeleton has not all that the module makes


EMBEDDED = """variable "image" {}

resource "kubernetes_manifest" "a" {
  manifest = {
    apiVersion = "batch/v1"
    kind       = "Job"
    metadata   = { name = "a" }
    spec       = { template = { spec = { containers = [{ image = var.image }] } } }
  }
}

resource "kubectl_manifest" "b" {
  yaml_body = <<-EOT
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: b-${var.image}
  EOT
}

resource "kubernetes_job_v1" "c" {
  metadata {
    name = "c"
  }
  spec {
    template {
      spec {
        container {
          image = "a/b"
        }
      }
    }
  }
}
"""


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("object.metadata.name == 'a'", ["main.tf:Job/a"]),
        ("object.metadata.name == 'c' && object.apiVersion == 'batch/v1'", ["main.tf:Job/c"]),
        (f"has(object.spec) && {CONTAINERS}.exists(c, c.image == 'a/b')", ["main.tf:Job/c"]),
    ],
)
def test_kubernetes_objects_in_terraform_are_judged(problem: str, expected: list[str], write: Write) -> None:
    write(files(rule(problem, when="object.kind == 'Job'"), {"main.tf": EMBEDDED}))
    result = linter.run(Tree(["."]), CONFIG)
    assert [finding.object for finding in result.findings] == expected
    assert {reason for check in result.undecided for reason in check.missing} <= {"var.image has no value"}
    assert result.undecided


# --- places and fixes


@pytest.mark.parametrize(
    ("at", "line", "text"),
    [
        ("object.kind", 2, "Job"),
        ("object.metadata.labels.app", 6, "train"),
        ("object.metadata.labels", 5, "labels"),
        ("object.metadata.labels.team", 5, "labels"),  # where it would be written
        ("object.metadata.annotations.a.b", 3, "metadata"),
        ("object.status", 2, "kind: Job"),
        ("object.spec.suspend", 10, "null"),
        (f"{CONTAINERS}.image", 15, "example.com/train:1"),
        (f"{CONTAINERS}.filter(c, c.name == 'log').image", 18, '"{{ .Values.image }}"'),
        (f"{CONTAINERS}.filter(c, c.name == 'log').resources", 17, "name: log"),
        (f"{CONTAINERS}.filter(c, c.name == 'nobody').image", 2, "kind: Job"),
        (f"({CONTAINERS} + []).image", 15, "example.com/train:1"),
    ],
)
def test_findings_on_raw_objects_point_to_the_field(at: str, line: int, text: str, write: Write) -> None:
    write(files(rule("true", at, when="object.kind == 'Job'"), {"job.yaml": JOB}))
    (finding,) = linter.run(Tree(["job.yaml"]), CONFIG).findings
    assert finding.span.begin.line == line
    assert finding.span.text.startswith(text)


def mended(text: str, name: str, content: str, write: Write) -> list[str]:
    """Return the lines that a fix changes or adds."""
    write(files(text, {name: content}))
    outcome = fix.fix([name], CONFIG)
    assert not outcome.refused
    if not outcome.files:
        return []
    ((_, _, old, new, *_),) = outcome.files
    before = old.decode().splitlines()
    return [line for line in new.decode().splitlines() if line not in before]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"object.metadata.labels.app": "serve"}, ["    app: serve   # the app"]),
        ({"object.metadata.labels.team": "ml"}, ["    team: ml"]),
        ({"object.metadata.labels.team": "1"}, ['    team: "1"']),
        ({"object.metadata.annotations.a": "b"}, ["  annotations:", "    a: b"]),
        ({"object.metadata.annotations.a": "b", "object.metadata.annotations.c": "d"}, ["  annotations:", "    a: b", "    c: d"]),
        ({"object.spec.suspend": True}, ["  suspend: true"]),
        ({"object.spec.backoffLimit": 3}, ["  backoffLimit: 3"]),
        ({f"{CONTAINERS}.filter(c, c.name == 'train').imagePullPolicy": "Always"}, ["          imagePullPolicy: Always"]),
        ({"object.metadata.labels": "ml"}, []),  # a map is written by a person
    ],
)  # fmt: skip
def test_fixes_are_written_into_an_object(changes: dict[str, object], expected: list[str], write: Write) -> None:
    place, value = next(iter(changes.items()))
    prefix, _, name = place.rpartition(".")
    wrong = f"!has({place}) || {place} != {json.dumps(value)}"
    if "filter" in place:
        wrong = f"{prefix}.exists(c, !has(c.{name}))"
    elif "annotations" in place:
        wrong = "!has(object.metadata.annotations)"
    listed = [{"set": key, "to": json.dumps(to)} for key, to in changes.items()]
    text = rule(wrong, place, when="object.kind == 'Job'", fix={"safety": "safe", "changes": listed})
    assert mended(text, "job.yaml", JOB, write) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{apiVersion: v1, kind: A, metadata: {name: a}}\n", ["{apiVersion: v1, kind: A, metadata: {name: a, labels: {team: ml}}}"]),
        ('{"apiVersion": "v1", "kind": "A", "metadata": {}}\n', ['{"apiVersion": "v1", "kind": "A", "metadata": {labels: {team: ml}}}']),
        ('apiVersion: v1\nkind: A\nmetadata: {"labels": {"a": "b"}}', ['metadata: {"labels": {"a": "b", "team": "ml"}}']),
        ("apiVersion: v1\r\nkind: A\r\nmetadata:\r\n  name: 'é' # x\r\n", ["  labels:", "    team: 'ml'"]),
        ("apiVersion: v1\nkind: A\nmetadata:\n  note: |\n    a\n\n    b\nspec: 1\n", ["  labels:", "    team: ml"]),
        ("apiVersion: v1\nkind: A\nmetadata:\n  labels:\n", ["    team: ml"]),
        ("apiVersion: v1\nkind: A\n", ["metadata:", "  labels:", "    team: ml"]),
    ],
)  # fmt: skip
def test_new_keys_match_the_style_of_siblings(content: str, expected: list[str], write: Write) -> None:
    asked = "!has(object.metadata) || !has(object.metadata.labels) || !has(object.metadata.labels.team)"
    change = {"safety": "safe", "set": "object.metadata.labels.team", "to": '"ml"'}
    found = mended(rule(asked, "object.metadata.labels.team", fix=change), "a.yaml", content, write)
    assert found == expected


def test_fixes_are_written_into_a_resource(write: Write) -> None:
    text = rule(
        "!has(resource.values.tags.Owner)", "resource.values.tags.Owner", when="resource.type == 'aws_eks_node_group'",
        fix={"safety": "safe", "changes": [
            {"set": "resource.values.tags.Owner", "to": "'ml'"}, {"set": "resource.values.tags.Cost", "to": "'gpu'"},
            {"set": "resource.values.scaling_config.max_unavailable", "to": "2"},
        ]},
    )  # fmt: skip
    found = mended(text, "main.tf", GROUP.replace("var.team", '"x"'), write)
    assert [line.split() for line in found if "Team" not in line and "size" not in line] == [
        ["Cost", "=", '"gpu"'], ["Owner", "=", '"ml"'], ["max_unavailable", "=", "2"]
    ]  # fmt: skip


SHARED = """locals {
  tag = "old"
}

resource "aws_s3_bucket" "a" {
  tag = local.tag
}

resource "aws_s3_bucket" "b" {
  tag  = local.tag
  kept = true
}
"""


def test_fixes_encode_text_inside_templates(write: Write) -> None:
    code = 'locals {\n  n = 1\n}\nresource "a_b" "c" {\n  data = yamlencode(<<-EOT\n    x ${local.n}\n  EOT\n  )\n}\n'
    write(files(rule("resource.values.data == '|\\n  x 1\\n'", "resource.values.data"), {"main.tf": code}))
    assert verdict(linter.run(Tree(["main.tf"]), CONFIG)) is True


def test_a_shared_value_is_not_changed_for_one_of_its_users(write: Write) -> None:
    change = {"safety": "safe", "set": "resource.values.tag", "to": "'new'"}
    text = rule("!has(resource.values.kept)", "resource.values.tag", fix=change)
    assert mended(text, "main.tf", SHARED, write) == []
    (finding,) = linter.run(Tree(["main.tf"]), CONFIG).findings
    assert "also sets aws_s3_bucket.b" in finding.help
    assert mended(
        rule("resource.values.tag == 'old'", "resource.values.tag", fix=change), "main.tf", SHARED, write
    ) == ['  tag = "new"']


# --- which are read


@pytest.mark.parametrize(
    ("when", "problem", "kinds"),
    [
        ("object.kind == 'A'", "true", {"A"}),
        ("object.kind in ['A', 'B']", "object.kind != 'B'", {"A", "B"}),
        ("", "object.kind == 'A' && has(object.x)", {"A"}),
        ("object.kind.endsWith('Job')", "true", None),
    ],
)
def test_only_kinds_that_a_rule_asks_for_are_read(
    when: str, problem: str, kinds: set[str] | None, write: Write
) -> None:
    broken = "apiVersion: v1\nkind: C\nx: [\n"
    write(files(rule(problem, when=when), {"a.yaml": "apiVersion: v1\nkind: A\n", "c.yaml": broken}))
    own = [rule for rule in rules.all_rules(CONFIG.rules) if rule.name == "own-rule"]
    assert rules.raw_kinds(own) == Raw(None if kinds is None else frozenset(kinds), frozenset())
    result = linter.run(Tree(["a.yaml", "c.yaml"]), CONFIG)
    assert [thing.kind for thing in result.world.inventory.objects] == ["A"]
    reading = reader.read(Tree(["c.yaml"]), CONFIG, rules.raw_kinds(own))
    assert bool(reading.problems) == (kinds is None)


@pytest.mark.slow
def test_an_object_with_too_many_values_is_undecided(write: Write) -> None:
    row = f"[{', '.join(['x'] * 1_000)}]"
    large = f"apiVersion: v1\nkind: A\na8:\n{f'- {row}{chr(10)}' * 101}"
    write(files(rule("has(object.a8)", when="object.kind == 'A'"), {"a.yaml": large}))
    assert verdict(linter.run(Tree(["a.yaml"]), CONFIG)) == "it has more than 100,000 values"


# --- with all else that kcheck has


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments))


def test_custom_rules_have_severities_and_suppressions_as_built_in_ones(write: Write) -> None:
    content = files(rule("true", when="object.kind == 'Job'"), {"job.yaml": JOB})
    write({**content, "kcheck.yaml": "rules: [policies]\nseverity: {own-rule: error}\n"})
    data = json.loads(run("check", "--format", "json").stdout)
    assert [(f["rule"], f["severity"], f["object"], f["line"]) for f in data["findings"]] == [
        ("own-rule", "error", "job.yaml:Job/train", 2)
    ]
    write({"job.yaml": JOB.replace("kind: Job", "kind: Job # kcheck: ignore[own-rule] fine")})
    assert "1 suppressed" in run("check").output
    write({"job.yaml": JOB.replace("spec:\n  par", "# kcheck: ignore[own-rule] fine\nspec:\n  par", 1)})
    assert "Suppression of own-rule matches no finding" in run("check", "--info").output
    write({"policies/own/other-rule.yaml": rule("true", unless=["own-rule"]), "job.yaml": JOB})
    found = {f["rule"] for f in json.loads(run("check", "--format", "json").stdout)["findings"]}
    assert found == {"own-rule"}


def test_resources_of_a_plan_are_judged(write: Write) -> None:
    plan = {
        "format_version": "1.2",
        "planned_values": {"root_module": {"resources": [{
            "address": "aws_s3_bucket.a", "mode": "managed", "type": "aws_s3_bucket", "name": "a",
            "values": {"bucket": "a", "versioning": [{"enabled": False}], "acl": None},
        }]}},
        "resource_changes": [
            {"address": "aws_s3_bucket.a", "change": {"after_unknown": {"arn": True}, "after_sensitive": {}}}
        ],
    }  # fmt: skip
    text = rule("!resource.values.versioning[0].enabled && !has(resource.values.acl)", "resource.values.versioning")
    write(files(text, {"plan.json": json.dumps(plan)}))
    (finding,) = linter.run(Tree(["plan.json"]), CONFIG).findings
    assert finding.object == "plan.json:aws_s3_bucket.a"
