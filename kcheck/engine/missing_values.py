"""What a rule does where values that it asks for are not known or not set, tried out on a model."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from kcheck.engine import rule_words
from kcheck.engine.evaluator import Evaluator, joined_condition
from kcheck.engine.words.raw_views import SUBJECTS as RAW
from kcheck.engine.words.subjects import SUBJECTS, things
from kcheck.engine.words.views import View
from kcheck.text.syntax import cel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.engine.rule import Rule
    from kcheck.scale.world import World


def failures(rule: Rule, world: World) -> Iterator[str]:
    """How the verdict of a rule turns around where a value is taken away, or fails where it is null."""
    if rule.subject in RAW:
        return  # what is absent there is absent
    variables = (rule.subject, "limits")
    condition = joined_condition(rule.when, rule.problem, variables)
    used = cel.usage(cel.compile(rule.problem, variables)).paths
    paths = sorted(path for path in used if "." in path and not path.startswith("limits."))
    nullable = {f"{rule.subject}.{field.name}" for field in SUBJECTS[rule.subject] if field.nullable}
    for thing in things(rule.subject, world):
        evaluator = Evaluator(View(rule.subject, thing, world, rule_words.looked_at(rule)))
        before = _verdict(evaluator, condition, evaluator.view.data)
        for path in paths:
            steps = path.split(".")[1:]
            after = _verdict(evaluator, condition, without(evaluator.view.data, steps))
            if after not in (before, None):
                wrong = "fires" if after else "is silent"
                yield f"where {path} is not known the rule must be undecided; it {wrong} on {thing.id}"
            if path in nullable:
                try:
                    _verdict(evaluator, condition, without(evaluator.view.data, steps, [None]))
                except cel.ExpressionError as error:
                    yield f"where {path} is null the rule fails on {thing.id}: {error}"


def _verdict(evaluator: Evaluator, condition: cel.Expression, data: dict[str, object]) -> bool | None:
    return cel.condition(condition, evaluator.new_activation(data))


def without(data: dict[str, object], steps: list[str], replacement: list[None] | None = None) -> dict[str, object]:
    """A copy with the field at a path gone, or replaced, in every record that the path leads to."""
    result = copy.deepcopy(data)

    def walk(record: object, rest: list[str]) -> None:
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
