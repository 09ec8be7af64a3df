"""Conditions that are evaluated together: the answer of each is the one that it has alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.config.config import Config
from kcheck.engine import deciding, linter, rules
from kcheck.engine.evaluator import joined_condition
from kcheck.text.files.tree import Tree
from kcheck.text.syntax import cel
from tests.places import ROOT

pytestmark = pytest.mark.medium

VARIABLES = ("pool", "limits")
CONDITIONS = ("pool.yes", "pool.no", "pool.missing", "pool.number", "pool.no && pool.missing", "1 / pool.zero == 1")
DATA: dict[str, object] = {"pool": {"yes": True, "no": False, "number": 1, "zero": 0}, "limits": {}}


def value(condition: cel.Expression) -> bool | None:
    try:
        return cel.condition(condition, cel.activation(DATA, VARIABLES))
    except cel.ExpressionError:
        return None


@given(st.lists(st.sampled_from(CONDITIONS), min_size=2, max_size=20))
def test_a_group_is_false_only_if_each_condition_is(texts: list[str]) -> None:
    some = rules.load()[: len(texts)]
    conditions = {rule.name: cel.compile(text, VARIABLES) for rule, text in zip(some, texts, strict=True)}
    groups = list(deciding.grouped(some, conditions, alone=False))
    assert [rule for group in groups for rule in group.rules] == list(some)
    for group in groups:
        alone = [value(conditions[rule.name]) for rule in group.rules]
        if group.any is not None:
            assert (value(group.any) is False) == all(one is False for one in alone)


def test_no_rule_of_raw_things_shares_an_evaluation() -> None:
    own = [rule for rule in rules.load() if rule.subject == "container"][:9]
    conditions = {rule.name: joined_condition(rule.when, rule.problem, ("container", "limits")) for rule in own}
    assert all(group.any is None for group in deciding.grouped(own, conditions, alone=True))
    assert next(len(group.rules) for group in deciding.grouped(own, conditions, alone=False)) > 1


@pytest.mark.parametrize("name", ["gke-training", "selfmanaged-training"])
def test_examples_have_the_same_answers_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / name)

    def answers() -> tuple[list[str], list[str], int]:
        result = linter.run(Tree(["."]), Config())
        return list(map(str, result.findings)), list(map(str, result.undecided)), result.decided

    at_once = answers()
    assert at_once[2] > 100
    monkeypatch.setattr(deciding, "_MOST", 1)
    assert answers() == at_once
