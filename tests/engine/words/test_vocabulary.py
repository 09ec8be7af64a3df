"""Test the words that rules may use: a rule of kcheck or an example of own rules uses each."""

from __future__ import annotations

from importlib import import_module

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import rule_words, rules
from kcheck.engine.words import subjects
from kcheck.engine.words.subjects import _TABLES, PARTS, SUBJECTS, things
from kcheck.model import Input, Inventory
from kcheck.scale.world import World
from kcheck.text.text import Source, Span
from tests.places import ROOT

pytestmark = pytest.mark.medium

STANDARDS = ROOT / "examples" / "own-rules" / "standards"


def words(path: str) -> set[tuple[str, str]]:
    """Return the words in a path, each with its subject: `template.pools.spot` also has the `spot` of pools."""
    subject, *names = path.split(".")
    found = set()
    for name in names:
        field = next((field for field in SUBJECTS.get(subject, ()) if field.name == name.removesuffix("[]")), None)
        if field is None:
            break
        found.add((subject, field.name))
        subject = field.type
    return found


def test_every_word_is_used_by_some_rule() -> None:
    used = {  # a word that two subjects have is one
        subjects.words(one[0])[one[1]]
        for rule in rules.all_rules([str(STANDARDS)])
        for path in rule_words.places(rule)
        for one in words(path)
    }
    assert [(subject, one.name) for subject, own in SUBJECTS.items() for one in own if one not in used] == []


def test_each_table_has_the_subjects_looked_up_in_it() -> None:
    for table, names in _TABLES.items():
        assert tuple(import_module(f"kcheck.engine.words.tables.{table}").SUBJECTS) == names
    assert set(SUBJECTS) >= PARTS


def test_an_empty_tree_has_no_objects_except_inputs() -> None:
    world = World(Inventory(), Config(), [Input("a", Span(Source("a.tf", b""), 0, 0), kind="templates", path="a.tf")])
    assert {subject for subject in SUBJECTS if things(subject, world)} == {"input"}


def test_subnets_and_pod_ranges_have_the_same_words() -> None:
    assert SUBJECTS["subnet"] is SUBJECTS["pod_range"]


@pytest.mark.slow
def test_examples_of_a_platform_team_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(STANDARDS.parent)
    done = CliRunner().invoke(cli, ["rules", "--test", STANDARDS.name])
    assert (done.exit_code, {line.split()[0] for line in done.stdout.splitlines()}) == (0, {"ok"})
    assert len(done.stdout.splitlines()) == len(list(STANDARDS.rglob("*.yaml")))
