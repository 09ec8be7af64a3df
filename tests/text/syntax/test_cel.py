from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from kcheck.text.syntax import cel, cel_tree
from kcheck.text.syntax.cel import UNDECIDED, ExpressionError, Hole, SyntaxProblem

VARIABLES = ("zz", "n", "l", "s", "nested", "a", "b", "p")
DATA: dict[str, object] = {
    "n": None,
    "l": [{"x": 1}, {"x": 5}, {}],
    "s": {"a": 1, "t": "NOT_FOUND: Key not found in map", "k": {"q": 2}},
    "nested": [{"ps": [{"x": 1}, {}]}, {"ps": []}],
}


def run(text: str, data: dict[str, object] = DATA) -> Any:
    return cel.evaluate(cel.compile(text, VARIABLES), cel.activation(data, VARIABLES))


def judge(text: str, data: dict[str, object] = DATA) -> bool | None:
    return cel.condition(cel.compile(text, VARIABLES), cel.activation(data, VARIABLES))


def both(when: str, problem: str) -> bool | None:
    return cel.condition(cel.conjunction(when, problem, VARIABLES), cel.activation(DATA, VARIABLES))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zz > 1 || true", True),
        ("true || zz > 1", True),
        ("zz > 1 && false", False),
        ("zz > 1 || false", UNDECIDED),
        ("zz > 1 && true", UNDECIDED),
        ("!(zz > 1)", UNDECIDED),
        ("zz > 1 ? 1 : 2", UNDECIDED),
        ("l.exists(p, p.x > 3)", True),  # decided by a known element
        ("l.all(p, p.x > 2)", False),
        ("l.exists(p, p.x > 9)", UNDECIDED),
        ("l.all(p, p.x > 0)", UNDECIDED),
        ("l.filter(p, p.x > 0)", UNDECIDED),
        ("l.map(p, p.x)", UNDECIDED),
        ("l.exists_one(p, p.x > 3)", UNDECIDED),
        ("has(s.zz)", False),
        ("has(zz.q)", UNDECIDED),
        ("n == null", True),
        ("n == 1", False),
        ("zz == null", UNDECIDED),
        ("n > 1 || true", True),  # a bug is absorbed, too
        ("s.a > 0.5", True),
        ("s.a == 1.0", True),
        ("7 / 2", 3),
        ("s.a in [1, 2]", True),
        ('"a" in dyn([{}])', False),
        ("string(1000000.0)", "1e+06"),
    ],
)
def test_expressions_evaluate_as_in_cel(text: str, expected: object) -> None:
    assert run(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "zz", "zz.q.r", "zz[0]", "'a' in zz", "size(zz)", "s.zz", "s.zz.q", "s.k.zz", 's["x y"]', "s[1]",
        '{"a": 1}.b', "{1: 2}[3]", "[zz]", '{"a": zz}', "s[zz]", "l[zz]",
        "nested.exists(q, q.ps.exists(p, p.x > 3))", "nested.map(q, q.ps.map(p, p.x))",
        "nested.all(q, q.ps.all(p, p.x > 0 && zz > 1))", "nested.exists(q, q.zz.exists(p, p.x > 3))",
        "nested.map(q, [q].filter(z, z.zz > 1))", 's["divide by zero"]', 's["a\\nb"]',
        "9223372036854775807 + s.a > 1", "9223372036854775807 * 9223372036854775807 > 1",
    ],
)  # fmt: skip
def test_a_missing_key_or_variable_is_undecided(text: str) -> None:
    assert run(text) is UNDECIDED
    assert judge(text) is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("n > 1", "No matching overloads found : _>_(null_type, int64)"),
        ("n + 1", "No matching overloads found"),
        ("1 + dyn(1.0)", "No matching overloads found"),
        ("dyn(2.5) / 2", "No matching overloads found"),
        ("dyn(1) * 1.5", "No matching overloads found"),
        ('s.a + "x"', "No matching overloads found"),
        ('s.a.startsWith("x")', "No matching overloads found"),
        ("size(n)", "No matching overloads found"),
        ("n.exists(p, p.x)", "No matching overloads found : <iter_range>"),
        ("s.a ? 1 : 2", "No matching overloads found : <jump_condition>"),
        ("!s.a", "No matching overloads found"),
        ("'a' in n", "No matching overloads found"),
        ("n.a", "Applying SELECT to non-message type"),
        ("s.a.b", "Applying SELECT to non-message type"),
        ("l.x", "Applying SELECT to non-message type"),
        ("has(n.a)", "Applying SELECT to non-message type"),
        ("s.a / 0", "divide by zero"),
        ("s.a % 0", "modulus by zero"),
        ("l[7]", "Index error: index=7 size=3"),
        ('l["a"]', "Index error: expected integer type"),
        ("s[n]", "Invalid map key type"),
        ("{1: 1, s.a: 2}", "duplicate key in map"),
        ('int("x")', "cannot convert string to int"),
        ('int("No value with name")', "cannot convert string to int"),
        ('"a".matches(s.t + "(")', "invalid regular expression"),
        ('"a".substring(3)', "<start> or <end> is greater"),
        ('timestamp("x")', "String to Timestamp conversion failed"),
        ('l.exists(p, p.x > "a")', "No matching overloads found"),  # a bug outweighs the element that is unknown
    ],
)
def test_every_other_cel_error_is_a_bug(text: str, error: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        run(text)
    assert error in caught.value.error
    assert caught.value.text == text
    assert str(caught.value).endswith(f" in `{text}`")
    assert not caught.value.error.startswith(("UNKNOWN", "INVALID_ARGUMENT", "NOT_FOUND"))


def test_too_many_iterations_are_a_bug() -> None:
    with pytest.raises(ExpressionError, match=r"^Iteration budget exceeded in"):
        run("a.all(x, a.all(y, x + y >= 0))", {"a": list(range(150))})


@pytest.mark.parametrize("value", [(1,), {1}, {"x": (1,)}, 2**64, {None: 1}, "\ud800", type("S", (str,), {})("x")])
def test_data_that_cel_cannot_take_is_a_bug(value: object) -> None:
    with pytest.raises(ExpressionError):
        run("a == 1", {"a": value})


def test_the_first_cel_error_is_reported() -> None:
    assert run("zz > 1 && n > 1") is UNDECIDED
    with pytest.raises(ExpressionError):
        run("n > 1 && zz > 1")


def test_a_string_that_reads_like_an_error_is_a_string() -> None:
    assert run("s.t") == "NOT_FOUND: Key not found in map"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2.5, true, null, 'x']", [1, 2.5, True, None, "x"]),
        ('{"a": [1u]}', {"a": [1]}),
        ("s.k", {"q": 2}),
        ("[3, 4].map(x, x * 2)", [6, 8]),
        ('["a", "b"].join("-")', "a-b"),
        ('"A,b".lowerAscii().split(",")', ["a", "b"]),
    ],
)
def test_cel_results_are_plain_python_values(text: str, expected: object) -> None:
    assert run(text) == expected


@pytest.mark.parametrize("text", ["1", "'true'", "n", "l", "s.t"])
def test_a_condition_must_be_a_truth_value(text: str) -> None:
    with pytest.raises(ExpressionError, match="must be true or false"):
        judge(text)


def test_one_activation_serves_expressions_with_any_variable_order() -> None:
    activation = cel.activation({"a": 1}, ("a", "b"))
    assert cel.condition(cel.compile("a == 1", ("a", "b")), activation) is True
    assert cel.condition(cel.compile("a == 1", ("b", "a")), activation) is True
    assert cel.condition(cel.compile("b == 1", ("a", "b")), activation) is None


@pytest.mark.parametrize(
    ("when", "problem", "expected"),
    [
        ("true", "true", True),
        ("zz > 1", "false", False),  # the known false problem decides
        ("false", "zz > 1", False),
        ("zz > 1", "true", None),
        ("true", "zz > 1", None),
        ("zz > 1", "zz > 2", None),
        ("false || true", "false", False),  # brackets
        ("true // always", "true // too", True),
        ("s.a == 1 ? true : false", "has(s.a)", True),
    ],
)
def test_a_false_half_decides_an_and_expression(when: str, problem: str, expected: bool | None) -> None:
    assert both(when, problem) is expected


@pytest.mark.parametrize(
    ("when", "problem", "message"),
    [
        ("true", "true &&", "Syntax error: the expression ends too early at column 8 of `true &&`"),
        ("tru", "true", "undeclared reference to 'tru' at column 1 of `tru`"),
        ("true) || (true", "false", "of `true) || (true`"),
        ("true", "(true", "`(` is not closed at column 6 of `(true`"),
        ("1", "true", "found no matching overload for '_&&_'"),
    ],
)
def test_an_error_names_the_half_of_the_rule_condition(when: str, problem: str, message: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        both(when, problem)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", "Syntax error: the expression ends too early at column 4 of `1 +`"),
        ("", "Syntax error: the expression ends too early at column 1 of ``"),
        ("undeclared > 1", "undeclared reference to 'undeclared' at column 1 of `undeclared > 1`"),
        ("s.a > 1\n&& q", "undeclared reference to 'q' at line 2, column 4 of `s.a > 1 && q`"),
        ('"é" == q', "undeclared reference to 'q' at column 8 of `\"é\" == q`"),
        ("s.?a", "unsupported syntax '.?' at column 1 of `s.?a`"),
        ("1 > 0.5", "found no matching overload for '_>_' applied to '(int, double)' at column 3"),
        ("has(s)", "has() argument must be a field selection at column 5 of `has(s)`"),
        ('1 + "a"', "found no matching overload for '_+_' applied to '(int, string)' at column 3 of `1 + \"a\"`"),
        ("(" * 40 + "a" + ")" * 40, "Expression recursion limit exceeded. limit: 32 of `(((((("),
        ("+".join("a" * 40), "Exceeded max recursion depth of 32 when parsing. of `a+a"),
    ],
)
def test_cel_compile_errors_take_one_line(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        cel.compile(text, VARIABLES)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["l.all(i, p, true)", "math.abs(1)", "quantity('1Gi')", "cel.bind(x, 1, x)", "a.?b"])
def test_cel_extensions_unavailable_to_rules_are_refused(text: str) -> None:
    with pytest.raises(SyntaxProblem):
        cel.compile(text, VARIABLES)


def used(text: str) -> dict[str, Any]:
    usage = cel.compile(text, ("subnet", "cluster", "it", "p")).used
    return {name: value for name in usage.__struct_fields__ if (value := getattr(usage, name))}


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("true", ""),
        ("subnet", "subnet"),
        ("subnet.cidr", "subnet.cidr"),
        ("subnet.a.b.c > it.x", "subnet.a.b.c it.x"),
        ("subnet.pools.exists(p, p.max_nodes > 3)", "subnet.pools subnet.pools.max_nodes"),
        ("subnet.pools.all(p, p.a || p.b == it.c)", "subnet.pools subnet.pools.a subnet.pools.b it.c"),
        ("subnet.pools.exists_one(p, p.x == 1)", "subnet.pools subnet.pools.x"),
        ("subnet.pools.filter(p, p.x)", "subnet.pools subnet.pools.x"),
        ("subnet.pools.filter(p, true)", "subnet.pools"),
        ("subnet.pools.filter(p, p.x).all(q, q.y)", "subnet.pools subnet.pools.x subnet.pools.y"),
        ("subnet.pools.map(p, p.x)", "subnet.pools subnet.pools.x"),
        ("subnet.pools.map(p, p.x > 1, p.y)", "subnet.pools subnet.pools.x subnet.pools.y"),
        ("subnet.pools.map(p, p.x).exists(y, y.z)", "subnet.pools subnet.pools.x subnet.pools.x.z"),
        ('subnet.pools.map(p, {"k": p.x})[0].k', "subnet.pools subnet.pools.x"),
        ("subnet.o.exists(x, x.i.all(y, y.k > x.j))", "subnet.o subnet.o.i subnet.o.i.k subnet.o.j"),
        ("subnet.o.exists(x, cluster.o.all(x, x.k) && x.j)", "subnet.o cluster.o cluster.o.k subnet.o.j"),
        ("subnet.zones.exists(z, z == it.zone)", "subnet.zones it.zone"),
        ("subnet.pools.exists(p, .p.x == 1)", "subnet.pools p.x"),  # .p is the variable
        (".subnet.cidr", "subnet.cidr"),
        ("subnet.pools.exists(subnet, subnet.x)", "subnet.pools subnet.pools.x"),
        ("(subnet.pools + it.pools).exists(p, p.x)", "subnet.pools it.pools subnet.pools.x it.pools.x"),
        ("[subnet.a, it.b].exists(x, x.c)", "subnet.a it.b subnet.a.c it.b.c"),
        ("(subnet.is ? subnet.a : it.b).c", "subnet.is subnet.a.c it.b.c"),
        ("subnet.pools[0].x", "subnet.pools.x"),
        ("subnet.pools[it.index].x", "subnet.pools.x it.index"),
        ('subnet["cidr"] == ""', "subnet.cidr"),
        ('subnet.labels["a/b"] == ""', "subnet.labels"),
        ("subnet.labels.`a-b`", "subnet.labels.a-b"),
        ("subnet.labels.all(k, subnet.labels[k] != '')", "subnet.labels"),
        ('{"a": subnet.x, it.y: 1}', "subnet.x it.y"),
        ("type(subnet.x) == int", "subnet.x"),
        ("subnet.a.startsWith(it.b) && !subnet.c || -subnet.d < 0", "subnet.a it.b subnet.c subnet.d"),
        ("has(subnet.a.b) && has(it.c)", "subnet.a.b it.c"),
        ("subnet.pools.exists(p, has(p.x))", "subnet.pools subnet.pools.x"),
        ("string(subnet.x).size() > 0", "subnet.x"),
        (" && ".join(f"subnet.f{n} > {n}" for n in range(99)), " ".join(f"subnet.f{n}" for n in range(99))),
    ],
)
def test_used_paths_in_an_expression_are_found(text: str, paths: str) -> None:
    assert used(text).get("paths", set()) == set(paths.split())


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("has(subnet.a.b) && subnet.c", "presence", "subnet.a.b"),
        ("subnet.pools.exists(p, has(p.x))", "presence", "subnet.pools.x"),
        ("subnet.a", "result", "subnet.a"),
        ("subnet.pools", "result", "subnet.pools"),
        ("subnet.pools.filter(p, p.x > 1)", "result", "subnet.pools[]"),
        ("[subnet, it.pool]", "result", "subnet it.pool"),
        ("subnet.pools.map(p, p.cluster)", "result", "subnet.pools.cluster"),
        ("subnet.x > 1", "result", ""),
    ],
)
def test_an_expression_uses_the_paths_it_reads(text: str, kind: str, expected: str) -> None:
    assert used(text).get(kind, set()) == set(expected.split())


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("'k' in subnet.a", "keys", "subnet.a.k"),
        ("'k' in (it.x ? subnet.a : it.b)", "keys", "subnet.a.k it.b.k"),
        ("subnet.pools.exists(p, 'k' in p)", "keys", "subnet.pools.k"),
        ("subnet.pools.map(p, p.labels).exists(l, 'k' in l)", "keys", "subnet.pools.labels.k"),
        ("'k' in subnet.pools.map(p, p.labels)", "keys", ""),
        ("'k' in subnet.a", "whole", ""),
        ("it.k in subnet.a", "whole", "subnet.a it.k"),
        ("subnet.pools.all(p, p.x > 1)", "counted", "subnet.pools"),
        ("subnet.pools.all(p, p.x > 1)", "whole", "subnet.pools.x"),
        ("size(subnet.pools) > 1", "counted", "subnet.pools"),
        ("[subnet.a] == [it.b]", "whole", "subnet.a it.b"),
    ],
)
def test_the_used_part_of_a_value_is_found(text: str, kind: str, expected: str) -> None:
    assert used(text).get(kind, set()) == set(expected.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it.kind == 'A'", "A"),
        ("'A' == it.kind", "A"),
        ("it.kind in ['A', 'B'] && it.x > 1", "A B"),
        ("it.kind in ['A', 'B'] && it.kind == 'B'", "B"),
        ("it.kind == 'A' || it.kind == 'B' && it.x", "A B"),
        ("it.kind == 'A' && it.kind == 'B'", ""),
        ("it.kind == 'A' || it.x", None),
        ("it.kind != 'A'", None),
        ("it.kind.startsWith('A')", None),
        ("it.kind in [it.x]", None),
        ("!(it.kind == 'A')", None),
        ("true", None),
    ],
)
def test_text_values_required_by_a_condition_are_found(text: str, expected: str | None) -> None:
    found = cel_tree.required_texts(cel.compile(text, ("it",)).tree, "it.kind")
    assert found == (None if expected is None else set(expected.split()))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("subnet.a > 3 && subnet.b < -4", (3, -4)),
        ("subnet.a == 0 || subnet.a == 1", (0, 1)),
        ("subnet.a > 1.5 || subnet.a > 7u || subnet.a > 0x10", (1.5, 7, 16)),
        ("-9223372036854775808 < subnet.a", (-(2**63),)),
        ("subnet.pools.exists_one(p, p.x > 9)", (9,)),
        ("subnet.pools.exists(p, p.x > 9) && it.y.all(z, z)", (9,)),
        ("subnet.pools.map(p, p.x + 5).filter(x, x != 6)", (5, 6)),
        ("subnet.pools.map(p, 5)", (5,)),
        ("[1, 2].exists_one(x, x == 1)", (1, 2, 1)),
        ('subnet.a == "5" || true', ()),
        ("subnet.a > 300", (300,)),
    ],
)
def test_used_limits_in_an_expression_are_found(text: str, numbers: tuple[float, ...]) -> None:
    assert used(text).get("numbers", ()) == numbers


def test_the_usage_of_an_expression_is_computed_once() -> None:
    expression = cel.compile("a.b", VARIABLES)
    assert expression.used is expression.used


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("subnet.cidr", ("subnet", "cidr")),
        ("subnet.a.b", ("subnet.a", "b")),
        (
            "subnet.pools.filter(p, p.max_nodes > 450).max_nodes",
            ("subnet.pools.filter(p, p.max_nodes > 450)", "max_nodes"),
        ),
        ("(a ? b.x : c).y", ("(a ? b.x : c)", "y")),
        ("a['x.y'].z", ("a['x.y']", "z")),
        ('a[r"\\"].z', ('a[r"\\"]', "z")),
        ("a['''it's ).'''].z", ("a['''it's ).''']", "z")),
        ("  a\n  .b ", ("a", "b")),
        ("a[{'k': 1.5}.k].`x-y`.z", ("a[{'k': 1.5}.k].`x-y`", "z")),
        ("a // not.this\n.b", ("a // not.this", "b")),
    ],
)
def test_a_place_is_split_at_its_last_dot(text: str, expected: tuple[str, str]) -> None:
    assert cel.split_place(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "a", "a.", ".a", "a.b()", "a.b[0]", "a.'b'", "a.1", "a.é", "1.5", "a.b + c.d", "a ? b.x : c.y", "-a.b",
        "!a.b", "x in a.b", "a.b]", "a.b(", "(a].b", "a.'b", "a . . b", "a b.c", "a.b, c.d", "a.b c",
    ],
)  # fmt: skip
def test_text_without_a_field_is_not_a_place(text: str) -> None:
    with pytest.raises(SyntaxProblem):
        cel.split_place(text)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("", []),
        ("it's plain", ["it's plain"]),
        (
            "{subnet.cidr} has {subnet.usable} addresses, {{literal braces}}",
            [Hole("subnet.cidr"), " has ", Hole("subnet.usable"), " addresses, {literal braces}"],
        ),
        ("{ a }{b}", [Hole("a"), Hole("b")]),
        ('{a == {"k": {"}": 1}}} end', [Hole('a == {"k": {"}": 1}}'), " end"]),
        ("{{{a}}}", ["{", Hole("a"), "}"]),
        ("don't {a + '}' + \"it's }\"}!", ["don't ", Hole("a + '}' + \"it's }\""), "!"]),
        ("{'it\\'s }'}", [Hole("'it\\'s }'")]),
        ("{r'\\'}", [Hole("r'\\'")]),
        ("{ {'a': 1}['a'] }", [Hole("{'a': 1}['a']")]),
        ("a\n{b\n.c}", ["a\n", Hole("b\n.c")]),
    ],
)
def test_placeholders_of_a_message_are_found(message: str, expected: list[str | Hole]) -> None:
    assert list(cel.holes(message)) == expected


@pytest.mark.parametrize("message", ["{", "}", "a } b", "{}", "{ }", "{a", "{a)}", "{(a}", "{'a}", "{a}}", "{{a}"])
def test_unmatched_braces_are_refused(message: str) -> None:
    with pytest.raises(SyntaxProblem):
        cel.holes(message)


@pytest.mark.medium
@pytest.mark.parametrize("before", ["", "sys.modules['google.protobuf'] = None"])
def test_cel_works_without_protobuf(before: str) -> None:
    code = (
        f"import sys\n{before}\nmodules = {{name for name in sys.modules if name.startswith('google.')}}\n"
        "from kcheck.text.syntax import cel\n"
        "text = cel.compile('a.l.exists(x, x.y > 1)', ('a',))\n"
        "print(cel.condition(text, cel.activation({'a': {'l': [{'y': 2}]}}, ('a',))), len(text.used.paths))\n"
        "print({name for name in sys.modules if name.startswith('google.')} ^ modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "2", "set()"]


@pytest.mark.parametrize(
    "text", ["x.none", "x.none == null", "x.none != null && x.none > 1", "[x.one].map(i, i)", "x.zz == null"]
)
def test_cel_null_results_leak_no_references(text: str) -> None:
    """The runtime would take a reference for each null that it returns, and Python 3.11 ends when none is left."""
    activation = cel.activation({"x": {"none": None, "one": 1}}, ("x",))
    expression = cel.compile(text, ("x",))
    cel.evaluate(expression, activation)
    before = sys.getrefcount(None)
    for _ in range(2000):
        cel.evaluate(expression, activation)
    assert abs(sys.getrefcount(None) - before) < 500


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_an_unclosed_string_of_backslashes_is_matched_quickly(quotes: str) -> None:
    """A pattern that matches a backslash in two ways would try 2 to the power of their number."""
    with pytest.raises(SyntaxProblem):
        cel.holes("{t" + quotes + "\\" * 200)
