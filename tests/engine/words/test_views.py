"""Test what rules see: finite plain data, and verdicts that never reverse when a value becomes unknown."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.engine.words.raw_views import SUBJECTS as RAW
from kcheck.engine.words.subjects import SUBJECTS, things
from kcheck.engine.words.views import View, Wanted, wanted
from kcheck.text.files.tree import Tree
from kcheck.text.syntax import cel
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
    """Yield a rule and the world of one of its examples, evaluated once for all tests."""
    rule, files, nodes = request.param
    with contextlib.chdir(written(tmp_path_factory.mktemp("example"), files)):
        yield rule, linter.run(Tree(["."]), Config(nodes={"": nodes} if nodes else {})).world


def views(subject: str, world: World) -> Iterator[View]:
    for thing in things(subject, world):
        yield View(subject, thing, world)


@pytest.mark.slow
def test_views_are_plain_finite_data(evaluated: tuple[Rule, World]) -> None:
    """CEL accepts only exact dict and list, and a cycle would crash the process."""

    def check(value: Any, depth: int) -> None:
        assert depth < 5
        assert type(value) in (dict, list, str, int, bool, type(None))
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(item, depth + 1)

    for subject in SUBJECTS:
        for view in views(subject, evaluated[1]):
            check(view.data, 0)


def holds(looked_at: Wanted, path: str) -> bool:
    """Return whether a view looks at a path such as `pool.cluster.tier`."""
    for step in path.replace("[]", "").split("."):
        if step not in looked_at:
            return False
        looked_at = looked_at[step]
    return True


@pytest.mark.parametrize(
    "text",
    [
        "workload.templates.exists(t, t.gpus > 0 && t['spread'])",
        "workload\n.templates . filter(t, t .host_network)[0].count > 0",
        "wall.pools[0].max_count > 0",
        "autoscaler.cluster.pools.exists(p, p.autoscaled && p.nodes > 3)",
        'size(workload["templates"]) > 0 && workload["labels"]["team"] == ""',
        "queue.jobs.exists(j, j.templates.exists(t, t.gpu_resource != null))",
        "(workload.batch ? workload.templates : workload.templates)[0].role == ''",
    ],
)
def test_every_field_used_by_an_expression_is_in_its_view(text: str) -> None:
    assert left_out(text) == []


def test_every_field_used_by_the_rules_is_in_their_view() -> None:
    texts = [f"({rule.when or 'true'}) && ({rule.problem})" for rule in rules.load() if rule.subject not in RAW]
    assert [path for text in texts for path in left_out(text)] == []


def left_out(text: str) -> list[str]:
    """Return the paths that a rule uses but its view omits; such fields would count as unknown."""
    expression = cel.compile(text, (*SUBJECTS, "limits"))
    looked_at = wanted(expression)
    return [path for path in expression.used.paths if not holds(looked_at, path)]
