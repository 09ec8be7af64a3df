"""Test known parts around one unknown value: collections, members, choices; no later value contradicts them."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from kcheck.terraform.evaluator import evaluate, value_of
from kcheck.terraform.scope import Scope
from kcheck.text.partly_known import wrap
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.values import Either, Known, Origin, Partial, Symbol, Unknown, UnknownKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.text.syntax.hcl.nodes import Expression
    from kcheck.text.values import Datum

HERE = Origin(())
UNKNOWN: dict[str, Datum] = {
    name: Unknown(f"var.{name} has no value", HERE) for name in ("text", "number", "flag", "list", "map", "groups")
}
UNKNOWN["after"] = Unknown("after apply", HERE, Symbol("aws_subnet.a", "id"))


def expression(text: str) -> Expression:
    file = parse(Source("x", f"x = {text}\n".encode()))
    assert not file.problems, (text, file.problems)
    return file.body.attributes["x"].expression


def value(text: str, names: Mapping[str, Datum] = UNKNOWN) -> Datum:
    return evaluate(expression(text), Scope(names))


def shape(datum: Datum) -> object:
    """Return the shape of a value, with `?` for unknown parts.

    A collection with possible further members has `more`; alternatives are listed under `one of`.
    """
    if isinstance(datum, Partial):
        part, rest = (shape(Known(some, HERE)) for some in (datum.part, datum.rest))
        return {"there": part, "more": rest}
    if isinstance(datum, Either):
        return {"one of": [shape(branch) for branch in datum.branches]}
    if isinstance(datum, Unknown):
        return "?"
    if isinstance(datum.value, dict):
        return {str(key): shape(item) for key, item in datum.value.items()}
    return [shape(item) for item in datum.value] if isinstance(datum.value, tuple) else datum.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ a = 1, b = [for s in list : s] }", {"a": 1, "b": {"there": [], "more": ["?"]}}),
        ("[1, [for k, v in map : { name = k, size = 3 }]]", [1, {"there": [], "more": [{"name": "?", "size": 3}]}]),
        ("{ a = 1, b = nothing.here }", {"a": 1, "b": "?"}),
        ("[1, tonumber(\"x\")]", [1, "?"]),
        ("{ (text) = 1, b = 2 }", {"<var.text>": 1, "b": 2}),
        ("{ (text) = 1, b = 2 }.b", 2),
        ("{ (text) = 1, b = 2 }.c", "?"),
        ("try({ (text) = 1, b = 2 }.c, 5)", "?"),
        ("merge({ a = 1 }, { b = 2 }, map)", {"there": {"a": {"one of": [1, "?"]}, "b": {"one of": [2, "?"]}}, "more": {"<var.map>": "?"}}),
        ("merge(map, { a = 1 }).a", 1),
        ("merge({ a = { size = 1 } }, flag ? { b = { size = 1 } } : {})", {"there": {"a": {"size": 1}}, "more": {"b": {"size": 1}}}),
        ("merge({ a = 1 }, flag ? { a = 1 } : {})", {"a": 1}),
        ("keys(merge(map, { a = 1 }))", {"there": ["a"], "more": ["?"]}),
        ("values({ for k, v in map : k => { size = 4 } })[0].size", 4),
        ("concat([1], list, [2])", {"there": [1, 2], "more": ["?"]}),
        ("flatten([[1], list])", {"there": [1], "more": ["?"]}),
        ("flatten([[1], flag ? [2] : []])", {"there": [1], "more": [2]}),
        ("compact([\"a\", text, after])", {"there": ["a", "?"], "more": ["?"]}),
        ("contains(concat([\"a\"], list), \"a\")", True),
        ("setproduct([\"a\"], concat([\"b\"], list))", {"there": [["a", "b"]], "more": [["a", "?"]]}),
        ("zipmap([\"a\", \"b\"], list)", {"a": "?", "b": "?"}),
        ("{ for k, v in { a = { on = true }, b = { on = flag } } : k => 7 if v.on }", {"there": {"a": 7}, "more": {"b": 7}}),
        ("[for x in list : x if false]", []),
        ("[10, 20, 30][number]", {"one of": [10, 20, 30]}),
        ("[10, 10][number]", 10),
        ("{ dev = { size = 3 }, prod = { size = 3 } }[text].size", 3),
        ("{ dev = 3, prod = 4 }[text] * 2", {"one of": [6, 8]}),
        ("\"n-${{ dev = 3, prod = 4 }[text]}\"", {"one of": ["n-3", "n-4"]}),
        ("try({ dev = 3, prod = 4 }[text], 5)", {"one of": [3, 4, 5]}),
        ("try({ dev = 3, prod = 3 }[text], 5)", {"one of": [3, 5]}),
        ("lookup({ dev = 3, prod = 3 }, text, 3)", 3),
        ("lookup({ dev = 3, prod = 4 }, text, 5)", {"one of": [3, 4, 5]}),
        ("element([1, 2], number)", {"one of": [1, 2]}),
        ("max({ dev = 3, prod = 4 }[text], 4)", 4),
        ("coalesce(concat([1], list), [2])", {"there": [1], "more": ["?"]}),
        ("try([for x in list : x.missing], 1)", {"there": [], "more": ["?"]}),
        ("can([for x in [{}] : x.missing])", False),
        ("try({ a = {}.b }, 6)", 6),
        ("try(concat([{}.b], [1]), 6)", 6),
    ],
)  # fmt: skip
def test_known_parts_around_an_unknown_value_are_kept(text: str, expected: object) -> None:
    assert shape(value(text)) == expected


def test_reasons_of_partial_values_name_the_input() -> None:
    for text in ("[for s in list : s]", "merge({ a = 1 }, list)", "concat([1], list)", "[1, 2][list]"):
        datum = value(text)
        assert isinstance(datum, Unknown)
        assert datum.reason == "var.list has no value"


# --- a value never contradicts what was known without it


def generated(pick: random.Random, kind: str, depth: int) -> str:
    """Return a random expression of a kind, from everything that kcheck evaluates in part."""

    def some(other: str) -> str:
        return generated(pick, other, depth - 1)

    if depth == 0:
        return pick.choice(
            {
                "text": ['"a"', '"b"', '"k0"', "text"],
                "flag": ["true", "false", "flag"],
                "list": ["[]", '["a"]', '["a", "b"]', "list"],
                "map": ["{}", '{ a = "x" }', '{ a = "x", b = "y" }', "map"],
            }[kind]
        )
    makers = {
        "text": [
            lambda: f"({some('map')})[{some('text')}]", lambda: f"try(({some('map')})[{some('text')}], {some('text')})",
            lambda: f"lookup({some('map')}, {some('text')}, {some('text')})", lambda: f"({some('list')})[number]",
            lambda: f"element({some('list')}, number)", lambda: f'"${{{some("text")}}}-x"',
            lambda: f"{some('flag')} ? {some('text')} : {some('text')}", lambda: f'"${{length({some("list")})}}"',
            lambda: f'join(",", {some("list")})', lambda: f"upper({some('text')})", lambda: f"one({some('list')})",
        ],
        "flag": [
            lambda: f"{some('text')} == {some('text')}", lambda: f"contains({some('list')}, {some('text')})",
            lambda: f"can(({some('map')})[{some('text')}])", lambda: f"{some('flag')} && {some('flag')}",
        ],
        "list": [
            lambda: f"concat({some('list')}, {some('list')})", lambda: f"flatten([{some('list')}, {some('list')}])",
            lambda: f"[for x in {some('list')} : {some('text')}]", lambda: f"[for x in {some('list')} : x if {some('flag')}]",
            lambda: f"[for x in {some('list')} : x if x != {some('text')}]", lambda: f"values({some('map')})",
            lambda: f"keys({some('map')})", lambda: f"compact({some('list')})", lambda: f"[{some('text')}, {some('text')}]",
            lambda: f"{some('flag')} ? {some('list')} : {some('list')}", lambda: f"reverse({some('list')})", lambda: f"coalescelist({some('list')}, {some('list')})",
            lambda: f"tolist(toset({some('list')}))", lambda: f"sort({some('list')})", lambda: f"distinct({some('list')})",
            lambda: f"[for p in setproduct({some('list')}, {some('list')}) : p[0]]",
        ],
        "map": [
            lambda: f"merge({some('map')}, {some('map')})", lambda: f"{{ for k, v in {some('map')} : k => {some('text')} }}",
            lambda: f'{{ for i, x in {some("list")} : "k${{i}}" => x }}', lambda: f"{some('flag')} ? {some('map')} : {some('map')}",
            lambda: f"{{ for k, v in {some('map')} : k => v if {some('flag')} }}", lambda: f"{{ a = {some('text')}, c = {some('text')} }}",
            lambda: f"zipmap({some('list')}, {some('list')})", lambda: f"tomap({some('map')})",
            lambda: f"{{ for k in toset({some('list')}) : k => {some('text')} }}",
        ],
    }  # fmt: skip
    made: str = pick.choice(makers[kind])()
    return made if made[0] in "[{" and "?" not in made else f"({made})"


VALUES: dict[str, list[object]] = {
    "text": ["a", "b", "z"], "number": [0, 1], "flag": [True, False], "list": [[], ["a"], ["q", "b", "r"]],
    "map": [{}, {"a": "1"}, {"b": "2", "d": "3"}],
}  # fmt: skip


def agrees(before: Datum, after: Datum) -> bool:
    """Return whether a value known later is possible, given what was known before."""
    if isinstance(before, Partial):
        return isinstance(after, Unknown) or _may_be(before, after)
    if isinstance(before, Either):
        return any(agrees(branch, after) for branch in before.branches)
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return isinstance(before, Unknown)
    old, new = before.value, after.value
    if isinstance(old, dict) and isinstance(new, dict):
        loose = [item for key, item in old.items() if isinstance(key, UnknownKey)]
        plain = {key: item for key, item in old.items() if not isinstance(key, UnknownKey)}
        more = [item for key, item in new.items() if key not in plain]
        return (
            all(key in new and (loose or agrees(item, new[key])) for key, item in plain.items())
            and len(more) <= len(loose)
            and all(any(agrees(one, item) for one in loose) for item in more)
        )
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(map(agrees, old, new))
    return str(old) == str(new)  # beside what turns out to be a text, a number becomes one


def _may_be(before: Partial, after: Known[object]) -> bool:
    """Return whether a collection has all members that were certain, and no others but possible ones."""
    new = after.value
    if isinstance(before.part, dict) and isinstance(before.rest, dict) and isinstance(new, dict):
        may_be = [*before.rest.values(), *(v for k, v in before.part.items() if isinstance(k, UnknownKey))]
        there = {key: item for key, item in before.part.items() if not isinstance(key, UnknownKey)}
        return all(key in new and agrees(item, new[key]) for key, item in there.items()) and all(
            any(agrees(one, item) for one in may_be) for key, item in new.items() if key not in there
        )
    if not isinstance(before.part, tuple) or not isinstance(before.rest, tuple) or not isinstance(new, tuple):
        return False
    return all(any(agrees(old, item) for item in new) for old in before.part) and all(
        any(agrees(old, item) for old in (*before.part, *before.rest)) for item in new
    )


@pytest.mark.slow
def test_a_value_never_contradicts_its_known_part() -> None:
    cases = 30_000 if os.environ.get("KCHECK_LONG") else 1_500
    pick = random.Random(20)
    decided = 0
    for _ in range(cases):
        text = generated(pick, pick.choice(["text", "flag", "list", "map"]), pick.randint(1, 3))
        tree = expression(text)
        given: dict[str, Datum] = {name: wrap(pick.choice(some), HERE) for name, some in VALUES.items()}
        hidden = {name: UNKNOWN[name] if pick.random() < 0.6 else datum for name, datum in given.items()}
        before = evaluate(tree, Scope(hidden))
        try:
            after = value_of(tree, Scope(given).strictly())
        except EvaluationError:
            continue  # Terraform refuses it
        decided += not isinstance(before, Unknown)
        assert agrees(before, after), (
            text,
            {k: v for k, v in given.items() if hidden[k] is not v},
            shape(before),
            shape(after),
        )
    assert decided > cases / 4
