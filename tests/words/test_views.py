"""What rules see: finite plain data, and verdicts that never turn around when a value is taken away."""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.engine.evaluator import limits_view
from kcheck.files.tree import Tree
from kcheck.syntax import cel
from kcheck.words.subjects import SUBJECTS, cloud_of, things
from kcheck.words.views import View, Wanted, wanted
from tests.conftest import written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.engine.rule import Rule
    from kcheck.scale.world import World

EXAMPLES = [
    pytest.param((rule, files, example.nodes), id=f"{rule.name}-{i}-{kind}")
    for rule in rules.load()
    for i, example in enumerate(rule.documentation.examples)
    for kind, files in (("bad", example.bad), ("good", example.good))
]


@pytest.fixture(scope="module", params=EXAMPLES)
def evaluated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rule, World]]:
    """A rule and the world of an example, evaluated once for all tests of it."""
    rule, files, nodes = request.param
    with contextlib.chdir(written(tmp_path_factory.mktemp("example"), files)):
        yield rule, linter.run(Tree(["."]), Config(nodes={"": nodes} if nodes else {})).world


def views(subject: str, world: World) -> Iterator[View]:
    for thing in things(subject, world):
        yield View(subject, thing, world)


def verdict(rule: Rule, view: View, data: dict[str, Any]) -> bool | None:
    variables = (rule.subject, "limits")
    limits = limits_view(cloud_of(view.thing, view.world), view.world)
    text = f"({rule.when}) && ({rule.problem})" if rule.when else rule.problem
    return cel.condition(
        cel.compile(text, variables), cel.activation({rule.subject: data, "limits": limits}, variables)
    )


def without(data: dict[str, Any], steps: list[str], replacement: list[Any]) -> dict[str, Any]:
    """A copy with the field at a path gone, or replaced, in every record that the path leads to."""
    result = copy.deepcopy(data)

    def walk(record: Any, rest: list[str]) -> None:
        if isinstance(record, list):
            for item in record:
                walk(item, rest)
        elif isinstance(record, dict) and rest[0] in record:
            if len(rest) > 1:
                walk(record[rest[0]], rest[1:])
            elif replacement:
                record[rest[0]] = replacement[0]
            else:
                del record[rest[0]]

    walk(result, steps)
    return result


def test_a_missing_value_never_turns_a_verdict_around(evaluated: tuple[Rule, World]) -> None:
    rule, world = evaluated
    variables = (rule.subject, "limits")
    used = cel.usage(cel.compile(rule.problem, variables)).paths
    for view in views(rule.subject, world):
        before = verdict(rule, view, view.data)
        for path in used:
            subject, *steps = path.split(".")
            if subject != "limits" and steps:
                assert verdict(rule, view, without(view.data, steps, [])) in (before, None)


def test_an_unset_value_is_no_bug(evaluated: tuple[Rule, World]) -> None:
    """Fields that the table allows to be null: the rule must have an answer, or be undecided."""
    rule, world = evaluated
    variables = (rule.subject, "limits")
    nullable = {f"{rule.subject}.{field.name}" for field in SUBJECTS[rule.subject] if field.nullable}
    used = cel.usage(cel.compile(rule.problem, variables)).paths & nullable
    for view in views(rule.subject, world):
        for path in used:
            try:
                verdict(rule, view, without(view.data, path.split(".")[1:], [None]))
            except cel.ExpressionError as error:
                pytest.fail(f"{path} = null: {error}")


def test_views_are_plain_finite_data(evaluated: tuple[Rule, World]) -> None:
    """CEL takes exact dict and list only, and a cycle would kill the process."""

    def check(value: Any, depth: int) -> None:
        assert depth < 5
        assert type(value) in (dict, list, str, int, bool, type(None))
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(item, depth + 1)

    for subject in SUBJECTS:
        for view in views(subject, evaluated[1]):
            check(view.data, 0)


def holds(looked_at: Wanted, path: str) -> bool:
    """Whether a path such as `pool.cluster.tier` is among the fields that are looked at."""
    for step in path.replace("[]", "").split("."):
        if step not in looked_at:
            return False
        looked_at = looked_at[step]
    return True


@pytest.mark.parametrize(
    "text",
    [
        *(f"({rule.when or 'true'}) && ({rule.problem})" for rule in rules.load()),
        "workload.templates.exists(t, t.gpus > 0 && t['spread'])",
        "workload\n.templates . filter(t, t .host_network)[0].count > 0",
        "wall.pools[0].max_count > 0",
        'size(workload["templates"]) > 0 && workload["labels"]["team"] == ""',
        "(workload.batch ? workload.templates : workload.templates)[0].role == ''",
    ],
)
def test_all_that_an_expression_looks_at_is_wanted(text: str) -> None:
    """A field that is left out of a view is taken for unknown."""
    expression = cel.compile(text, (*SUBJECTS, "limits"))
    looked_at = wanted(expression)
    assert [path for path in cel.usage(expression).paths if not holds(looked_at, path)] == []
