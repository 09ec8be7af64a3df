"""Test mistakes in expressions that are reported without evaluation: misspelt words, nulls, types that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcheck.engine import rule_words, rules
from kcheck.engine.rule import Rule, Sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.medium


def rule(
    problem: str, *, when: str = "", at: str = "pool.name", message: str = "x", details: Sequence[Sentence] = ()
) -> Rule:
    return replace(rules.load()[0],
        name="own", subject="pool", when=when, problem=problem, at=at, message=message, details=tuple(details), help=(),
        related=(), grade=None, severity="info", at_most=(), settings=(), withheld=(), sources=(),
    )  # fmt: skip


def told(own: Rule) -> list[str]:
    return [f"{'/'.join(map(str, one.steps))} {one.index} {one.message}" for one in rule_words.problems(own)]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ("pool.max_node > 3", "problem 0 `pool.max_node > 3`: there is no word pool.max_node; did you mean pool.max_nodes? (largest size"),
        ("pool.nodes > 3 && pool.cluster.nam == 'a'", "problem 18 "),
        ("pool.max_pods > 3", "`pool.max_pods` (pods a node may run) may be null: ask `pool.max_pods != null` first"),
        ("pool.disk_type.startsWith('a')", "`pool.disk_type` (type of the boot disks) may be null"),
        ("pool.name > 3", "`pool.name` (the pool's name) is text and `3` is a number: no order"),
        ("pool.name == 3", "never equal"),
        ("pool.nodes == 'a'", "never equal"),
        ("pool.name == null", "`pool.name` (the pool's name) is never null"),
        ("pool.nodes + pool.name > 3", "string() makes text of a number"),
        ("pool.drain_timeout != null && pool.drain_timeout > pool.nodes", "is in seconds and `pool.nodes` (nodes when the cluster reaches its target) in nodes"),
        ("pool.nodes", "is a number; a condition is true or false"),
        ("pool.nodes.startsWith('a')", "is a number; text is needed here"),
        ("pool.name && true", "is text; true or false is needed here"),
        ("pool.taints != null && pool.taints.exists(t, t > 3)", "no order"),
        ("pool.cluster.pools.exists(p, p.max_pods > 3)", "`p.max_pods` (pods a node may run) may be null"),
        ("pool.max_pods != null || pool.max_pods > 3", "may be null"),
        ("limits.pool.node > 3", "there is no word limits.pool.node; did you mean limits.pool.nodes?"),
        ("pool.nodes >", "Syntax error"),
    ],
)  # fmt: skip
def test_type_mistakes_have_their_position(problem: str, expected: str) -> None:
    found = told(rule(problem))
    assert found
    assert all(one.startswith("problem ") for one in found)
    assert expected in found[0]


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ("", "pool.max_pods != null && pool.max_pods > 3"),
        ("", "pool.max_pods > 3 && pool.max_pods != null"),
        ("", "pool.max_pods == null || pool.max_pods > 3"),
        ("", "!(pool.max_pods == null || pool.max_pods < 3)"),
        ("pool.max_pods != null", "pool.max_pods > limits.gpu_node.pods"),
        ("pool.disk_type == 'gp2'", "pool.disk_type.startsWith('a')"),
        ("pool.disk_type in ['gp2', 'gp3']", "pool.disk_type > 'a'"),
        ("", "pool.cluster.pools.exists(p, p.max_pods != null && p.max_pods > 3)"),
        ("", "[pool].filter(p, p.max_pods != null).size() == 1"),
        ("", "(pool.max_pods == null ? 0 : pool.max_pods) > 3"),
        ("", "pool.spot == true && size(pool.cluster.pools.map(p, p.name)) > 2"),
        ("", "pool.cluster.pools.filter(p, p.gpu)[0].nodes * 2 - 1 > pool.nodes"),
        ("", "has(limits.plane) && has(pool.nodes)"),
        ("", "string(pool.nodes) + ' nodes' == pool.name"),
        ("", "pool.instance_types != null && 'p5.48xlarge' in pool.instance_types"),
    ],
)
def test_valid_expressions_pass(when: str, problem: str) -> None:
    assert told(rule(problem, when=when)) == []


def test_places_and_messages_and_sentences_are_type_checked_too() -> None:
    sentences = [
        Sentence("{pool.nods}"),
        Sentence("{each.cidr} {each.name}", each="pool.subnets"),
        Sentence("a", "pool.max_pods > 3"),
    ]
    found = told(rule("pool.spot == true", at="pool.subnet.cidr", message="{pool.cluster}", details=sentences))
    assert [one.split()[0] for one in found] == ["at", "message", "details/0/say", "details/2/if"]
    assert "of which a message can show a field only" in found[1]


def test_null_checks_in_a_condition_hold_in_the_message() -> None:
    own = rule(
        "pool.max_pods > 3",
        when="pool.max_pods != null",
        message="{pool.max_pods - 1}",
        details=[Sentence("{pool.max_pods + 1}")],
    )
    assert told(own) == []
    assert told(replace(own, when="", problem="pool.spot")) != []
