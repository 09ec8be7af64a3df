"""Conditions that are evaluated together: most things break none of eight rules, and one evaluation tells that."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.text.syntax import cel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.engine.rule import Rule

_MOST = 8
"""So many share an evaluation: four times as fast as one by one, and hardly faster with more."""


class Together(Struct, frozen=True):
    """Rules, and what is false if no condition of theirs holds; without `any` each is evaluated by itself."""

    rules: Sequence[Rule]
    any: cel.Expression | None = None


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """The rules of a subject: those that others leave to them come first, so that one cause gives one finding."""
    return sorted(rules, key=lambda rule: (len(rule.unless), rule.name))


def grouped(rules: Sequence[Rule], conditions: dict[str, cel.Expression], *, alone: bool) -> Iterator[Together]:
    """The rules in their order with their conditions; `alone` where what is not known may look like what is absent."""
    left = iter(rules)
    while some := tuple(islice(left, _MOST)):
        if alone or len(some) == 1:
            yield Together(some)
            continue
        text = "\n|| ".join(f"({conditions[rule.name].text}\n)" for rule in some)  # a line end closes a comment
        yield Together(some, cel.compile(text, conditions[some[0].name].variables))
