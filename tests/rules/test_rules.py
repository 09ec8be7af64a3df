"""Test every rule on its own examples, and what must hold for all rules together."""

from __future__ import annotations

import subprocess
from statistics import median
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcheck.addons.authoring import rule_examples
from kcheck.addons.authoring.rule_examples import ExampleRun
from kcheck.config import settings
from kcheck.config.config import parse_price
from kcheck.config.numbers.clouds import owners
from kcheck.engine import linter, rule_files, rule_words, rules
from kcheck.engine.rule_words import located
from kcheck.fix import fix
from kcheck.text.files import save
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES

if TYPE_CHECKING:
    from kcheck.engine.rule import Example, Rule
    from tests.conftest import Write

pytestmark = pytest.mark.medium

RULES = rules.load()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.name}-{i}", marks=pytest.mark.slow if i else ())
    for rule in RULES
    for i, example in enumerate(rule.documentation.examples)
]


@pytest.mark.medium
@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_each_rule_finds_its_bad_example_and_accepts_its_good_one(rule: Rule, example: Example) -> None:
    """A rule fires on `bad`, even with unknown values, is silent on `good`, and fix turns `bad` into `fixed`."""
    run = ExampleRun(rule, example)
    assert located(rule, run.failures()) == []
    assert [problem.message for problem in rule_examples.headline_failures(run.findings())] == []


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_no_other_rule_fails_on_the_example_of_a_rule(rule: Rule, example: Example) -> None:
    run = ExampleRun(rule, example)
    assert [bug for files in (example.bad, example.good) for bug in run.checked(files).bugs] == []


def test_rules_name_no_cloud_in_limits() -> None:
    """Profiles of other clouds are not read for such limits."""
    named = {path.split(".")[1] for rule in RULES for path in rule_words.places(rule) if path.startswith("limits.")}
    assert not named & set(owners())


@pytest.mark.slow
def test_rule_headlines_are_short() -> None:
    """Half of them have at most 12 words."""
    runs = [ExampleRun(rule, example) for rule in RULES for example in rule.documentation.examples]
    assert median(len(finding.message.split()) for run in runs for finding in run.findings()) <= 12


FIXED = [
    pytest.param(rule, example, id=f"{rule.name}-{i}")
    for rule in RULES
    for i, example in enumerate(rule.documentation.examples)
    if example.fixed is not None
]


def formatted(text: str, terraform: str) -> bool:
    run = subprocess.run([terraform, "fmt", "-"], input=text.encode(), capture_output=True, check=True)
    return run.stdout == text.encode()


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_rule_fixes_keep_files_formatted(rule: Rule, example: Example, terraform: str) -> None:
    for name, text in (example.fixed or {}).items():
        if name.endswith((".tf", ".tfvars")) and text != example.bad.get(name):
            assert formatted(text, terraform) or not formatted(example.bad[name], terraform), rule.name


@pytest.mark.slow
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_git_apply_accepts_the_diff_of_every_rule_fix(rule: Rule, example: Example, newline: str, write: Write) -> None:
    """Files with Unix and Windows line ends are tested; a fixed file keeps its own."""
    folder = write({name: text.replace("\n", newline).encode() for name, text in example.bad.items()})
    nodes = {"": example.nodes} if example.nodes else {}
    config = replace(settings.load(["."]), nodes=nodes, price=parse_price(example.price))
    outcome = fix.fix(["."], config, safeties=SAFETIES, rules=(rule.name,))
    subprocess.run(["git", "init", "-q"], check=True)
    diff = "".join(save.diff(file).text for file in outcome.files).encode()
    subprocess.run(["git", "apply", "-"], input=diff, check=True)
    for name, text in (example.fixed or {}).items():
        assert (folder / name).read_bytes() == text.replace("\n", newline).encode()


def test_rules_match_the_published_schema() -> None:
    assert [one.name for one in RULES if rule_files.read(one.group, one.path).rule["summary"] != one.summary] == []


def test_built_in_rules_pass_the_strict_test() -> None:
    assert [text for rule in RULES for text in located(rule, rule_examples.shortcomings(rule))] == []
    assert {name for rule in RULES for name in rule.unless} <= {rule.name for rule in RULES}


def test_rule_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))


def test_rules_use_words_that_exist() -> None:
    assert [text for rule in RULES for text in located(rule, rule_words.problems(rule))] == []


def test_the_has_function_is_used_only_in_when() -> None:
    assert [text for rule in RULES for text in located(rule, rule_examples.misplaced_presence(rule))] == []


DEFAULT_SIZED = """
module "network" {
  source  = "terraform-google-modules/network/google"
  version = "~> 12.0"

  network_name = "train"
  subnets      = [{ subnet_name = "nodes", subnet_ip = "10.0.0.0/20", subnet_region = "us-central1" }]

  secondary_ranges = {
    nodes = [{ range_name = "pods", ip_cidr_range = "10.4.0.0/18" }]
  }
}

module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google"
  version = "~> 36.0"

  name          = "train"
  region        = "us-central1"
  network       = module.network.network_name
  subnetwork    = "nodes"
  ip_range_pods = "pods"
  node_pools    = [{ name = "a" }, { name = "b", max_count = 1 }]
}
"""


@pytest.mark.parametrize(("size", "severity"), [("", "info"), (", max_count = 100", "error")])
def test_a_finding_based_on_a_module_default_is_an_info(size: str, severity: str, write: Write) -> None:
    """Nobody asked for 100 nodes per zone: they are the module's default."""
    write({"main.tf": DEFAULT_SIZED.replace('{ name = "a" }', f'{{ name = "a"{size} }}')})
    found = linter.run(Tree(["."]), settings.load(["."])).findings
    assert {f.rule: f.severity.word for f in found}["pod-range-too-small"] == severity
    assert any("(default)" in text for text in found[0].details) == (severity == "info")
