"""Every rule against its own examples, and what must hold for the whole set."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml

from kcheck.config import settings
from kcheck.config.config import parse_price
from kcheck.engine import linter, rule_words, rules
from kcheck.files import save
from kcheck.files.tree import Tree
from kcheck.fix import fix, rule_examples
from kcheck.source.findings import SAFETIES
from kcheck.words import raw_views
from kcheck.words.subjects import SUBJECTS
from tests.kubernetes.schemas_of_kinds import LOADER
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.engine.rule import Example, Rule

RULES = rules.load()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.name}-{i}")
    for rule in RULES
    for i, example in enumerate(rule.documentation.examples)
]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_fires_on_bad(rule: Rule, example: Example) -> None:
    assert not rule_examples.bad_failures(rule, example)


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_is_silent_on_good(rule: Rule, example: Example) -> None:
    assert not rule_examples.good_failures(rule, example)


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_fix_of_bad_is_fixed(rule: Rule, example: Example) -> None:
    assert not rule_examples.fix_failures(rule, example)


FIXED = [
    pytest.param(rule, example, id=f"{rule.name}-{i}")
    for rule in RULES
    for i, example in enumerate(rule.documentation.examples)
    if example.fixed is not None
]


def formatted(text: str, terraform: str) -> bool:
    run = subprocess.run([terraform, "fmt", "-"], input=text.encode(), capture_output=True, check=True)
    return run.stdout == text.encode()


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_what_was_formatted_stays_so(rule: Rule, example: Example, terraform: str) -> None:
    for name, text in (example.fixed or {}).items():
        if name.endswith((".tf", ".tfvars")) and text != example.bad.get(name):
            assert formatted(text, terraform) or not formatted(example.bad[name], terraform), rule.name


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_diff_is_what_git_applies(
    rule: Rule, example: Example, newline: str, write: Callable[[Mapping[str, str | bytes]], Path]
) -> None:
    """With the line ends of Unix and of Windows; what is fixed has those that it had."""
    folder = write({name: text.replace("\n", newline).encode() for name, text in example.bad.items()})
    nodes = {"": example.nodes} if example.nodes else {}
    config = replace(settings.load(["."]), nodes=nodes, price=parse_price(example.price))
    outcome = fix.fix(["."], config, safeties=SAFETIES, rules=(rule.name,))
    subprocess.run(["git", "init", "-q"], check=True)
    diff = b"".join(map(save.diff, outcome.files))
    subprocess.run(["git", "apply", "-"], input=diff, check=True)
    for name, text in (example.fixed or {}).items():
        assert (folder / name).read_bytes() == text.replace("\n", newline).encode()


@pytest.fixture(scope="module")
def shapes() -> list[jsonschema.Draft202012Validator]:
    """What the two documents of a rule must be."""
    schema = json.loads((ROOT / "docs" / "rule.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return [jsonschema.Draft202012Validator({**schema, "$ref": f"#/$defs/{part}"}) for part in ("rule", "details")]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_have_the_published_shape(rule: Rule, shapes: list[jsonschema.Draft202012Validator]) -> None:
    for data, shape in zip(yaml.load_all(Path(rule.path).read_text(), LOADER), shapes, strict=True):
        shape.validate(data)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_is_complete(rule: Rule) -> None:
    assert rule.subject in SUBJECTS or rule.subject in raw_views.SUBJECTS
    assert len(rule.documentation.why) > 80
    assert rule.documentation.examples
    assert rule.fixable == any(example.fixed is not None for example in rule.documentation.examples)
    assert all(example.bad and example.good for example in rule.documentation.examples)
    assert rule.entries() or rule.subject == "input"
    assert bool(rule.severity) != bool(rule.grade)
    assert rule.severity in ("", "error", "warning", "info")
    assert bool(rule.safety) == rule.fixable
    assert rule.safety in ("", "safe", "costs", "unsafe")
    assert set(rule.unless) <= {other.name for other in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_name_is_that_of_a_bad_thing(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert not re.match(r"(use|avoid|prefer|require|no|do|should|check|enable)-", rule.name)


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_words_exist(rule: Rule) -> None:
    assert not list(rule_words.problems(rule))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_numbers_live_in_profiles(rule: Rule) -> None:
    for one, usage in rule_words.usages(rule):
        assert set(usage.numbers) <= {0, 1}, f"{one.text} has a number that belongs into profiles/"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_what_rests_on_little_is_at_most_a_warning(rule: Rule) -> None:
    """An error needs numbers that somebody documents."""
    doubtful = [entry.key for entry in rule.entries() if not isinstance(entry, str) and entry.confidence == "low"]
    walls = [rule.grade.wall.removeprefix("limits.")] if rule.grade and rule.grade.wall else []
    assert not (doubtful and rule.severity == "error")
    assert not set(walls) & set(doubtful)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_presence_is_asked_in_when_only(rule: Rule) -> None:
    assert not any(usage.presence for one, usage in rule_words.usages(rule) if one.steps != ("when",))


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
def test_what_rests_on_a_default_is_an_info(
    size: str, severity: str, write: Callable[[Mapping[str, str]], Path]
) -> None:
    """Nobody asked for 100 nodes a zone: the module did."""
    write({"main.tf": DEFAULT_SIZED.replace('{ name = "a" }', f'{{ name = "a"{size} }}')})
    found = linter.run(Tree(["."]), settings.load(["."])).findings
    assert {f.rule: f.severity.word for f in found}["pod-range-too-small"] == severity
    assert any("(default)" in text for text in found[0].details) == (severity == "info")
