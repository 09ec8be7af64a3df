"""Test each policy on the examples of its rule: it refuses `bad`, and accepts `good` and `fixed`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from msgspec.structs import replace

from kcheck.addons.admission import export, policies, table
from kcheck.addons.admission.export import read
from kcheck.config import settings
from kcheck.engine import rules
from kcheck.text.files.tree import Tree
from tests.addons.admission.offline import refusals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.engine.rule import Example, Rule
    from tests.conftest import Write

RULES = [rule for rule in rules.load() if table.is_about_objects(rule.subject)]
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.name}-{i}")
    for rule in RULES
    for i, example in enumerate(rule.documentation.examples)
]


UNKNOWN = {("gang-missing", 2), ("slots-do-not-match-gpus", 2)}
"""Examples of kinds whose pods have no pod template, so that no policy judges them."""


def objects(files: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Yield the Kubernetes objects in those files that are YAML."""
    for name, text in files.items():
        if name.endswith((".yaml", ".yml")):
            yield from (one for one in yaml.safe_load_all(text) if isinstance(one, dict) and "metadata" in one)


def said(rule: Rule, files: Mapping[str, str], example: Example) -> list[str] | None:
    """Return the messages of a rule's policy about the objects of an example; None if the rule has no policy."""
    config = replace(settings.load(["."]), nodes={"": example.nodes} if example.nodes else {})
    values = read(Tree(["."]), config).values
    policy = policies.of_rule(rule, frozenset(values), info=True)
    if isinstance(policy, policies.Refusal):
        return None
    made = export.policy(policy, "Warn", "kube-system")[0]
    return [text for one in objects(files) for text in refusals(made, one, values)]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_exported_policies_give_the_same_verdicts_as_their_rules_on_examples(
    rule: Rule, example: Example, write: Write
) -> None:
    write(example.bad)
    bad = said(rule, example.bad, example)
    if bad is None:
        pytest.skip("no policy: the object does not tell")
    assert bool(bad) is ((rule.name, example.number) not in UNKNOWN)
    for files in (example.good, example.fixed or {}):
        write(files)
        assert not said(rule, files, example)
