"""Test that values, types and refusals of random expressions equal those of Terraform."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.addons import console
from kcheck.config.config import Config
from kcheck.terraform.operators import INFINITE
from kcheck.terraform.roots import Loader
from kcheck.terraform.type_rules import type_of
from kcheck.text import scalars
from kcheck.text.files.tree import Tree
from kcheck.text.partly_known import plain
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.values import Unknown
from tests.places import TESTS

from .answers import Answer, ask
from .grammar import MODULE, Grammar

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.terraform.scope import Scope
    from kcheck.text.data_types import Type

STORED = TESTS / "golden" / "values.jsonl"
"""Expressions with Terraform's answers; KCHECK_UPDATE=1 asks Terraform again."""

COUNT = 2400

UNKNOWN = ('cidrsubnet("10.0.0.0/16",', "pow(")
"""Parts of expressions that have a value in Terraform only: blocks outside of their range, powers such as 1.7."""

SHORT_CIRCUITS = ("false &&", "true ||")
"""Parts of expressions whose other side Terraform 1.11, which was asked, refuses, and 1.12 skips."""


@pytest.fixture(scope="module")
def scope(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    """Return the scope of the module whose names the expressions use."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "main.tf").write_text(MODULE)
    (module,) = Loader(Tree([str(folder)]), Config()).roots(each=False)
    return module.scope


def answer(expression: str, scope: Scope) -> Answer:
    """Return kcheck's answer to an expression, in the form of Terraform's answers."""
    file = parse(Source("x", f"x = (\n{expression}\n)\n".encode()))
    found = Answer(expression=expression, refused=True)
    if file.problems:
        return found
    try:
        datum = console.strict_value(file.body.attributes["x"].expression, scope)
    except EvaluationError:
        return found
    found["refused"] = False
    try:
        found["value"], found["type"] = written(plain(datum)), type_written(type_of(datum))
    except ValueError as error:
        found["reason"] = str(error)
    return found


def written(value: Any) -> Any:
    """Return a value as in JSON, with the digits of its numbers."""
    if isinstance(value, dict):
        return {str(key): written(item) for key, item in value.items()}
    if isinstance(value, list):
        return [written(item) for item in value]
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return scalars.to_string(value + 0)  # JSON has no sign of zero
    return str(value) if isinstance(value, str) else value


def type_written(found: Type) -> Any:
    """Return a type in Terraform's JSON form."""
    if found.kind == "object":
        return ["object", dict(zip(found.names, map(type_written, found.parts), strict=True))]
    if found.kind == "tuple":
        return ["tuple", [type_written(part) for part in found.parts]]
    return [found.kind, type_written(found.element)] if found.parts else found.kind


def differences(answers: list[Answer], scope: Scope) -> list[tuple[object, ...]]:
    """Return the differences between kcheck's and Terraform's answers; values unknown to both are equal."""
    result: list[tuple[object, ...]] = []
    for theirs in answers:
        ours = answer(theirs["expression"], scope)
        if "value" not in theirs:
            newer = any(one in theirs["expression"] for one in SHORT_CIRCUITS)
            if theirs["refused"] and "value" in ours and not newer:
                result.append(("accepted", ours))
        elif "value" not in ours:
            known_gap = ours.get("reason") == INFINITE or any(one in theirs["expression"] for one in UNKNOWN)
            if not known_gap:
                result.append(("unknown", theirs))
        elif json.dumps(ours["value"]) != json.dumps(theirs["value"]):
            result.append(("wrong", ours, theirs["value"]))
        elif ours["type"] != theirs["type"]:
            result.append(("type", ours, theirs["type"]))
    return result


def stored() -> list[Answer]:
    return [json.loads(line) for line in STORED.read_text().splitlines()]


@pytest.mark.medium
def test_values_equal_the_recorded_ones_of_terraform(scope: Scope) -> None:
    answers = stored()
    assert len(answers) >= 2000
    assert sum("value" in one for one in answers) > 1200
    assert differences(answers, scope) == []


@pytest.mark.slow
def test_terraform_gives_the_same_values(terraform: str, scope: Scope, tmp_path: Path) -> None:
    """The expressions are other than the stored ones."""
    expressions = list(Grammar(11).expressions(700))[400:]
    assert differences(ask(terraform, MODULE, expressions, tmp_path), scope) == []


SHOWN = {
    'format("%d", pow(2, 80))': "1208925819614629174706176",
    'format("%g", pow(2, 80))': "1.2089258196146292e+24",
    'format("%G", log(5, 2))': "2.321928094887362",
    'format("%g", pow(2, 80) + 1)': "1.208925819614629174706177e+24",
    'format("%.3g", pow(2, 80))': "1.21e+24",
    '" ${~ 1 ~} "': "1",
    "1e-400 > 0 && 1e-400 < 1e-399": True,
    'yamlencode({ a = yamlencode(2), b = "x\\n\\n" })': '"a": |\n  2\n  ...\n"b": |+\n  x\n\n',
    'yamlencode("x\\n\\n")': "|+\n  x\n\n",
    "can(pow(10, 400)) && can(log(0, 10)) && can(pow(0, -1))": True,
    "can(log(-1, 10)) || can(log(0, 0)) || can(pow(-8, 0.5))": False,
    "[for local in [{ nope = 1 }] : local.nope]": ["1"],
    '" \\n ${~ 1 ~} \\n\\t"': "1",
    '"%{ for x in [1, 2] ~}\\n${x}\\n%{~ endfor ~}\\n"': "12",
    '"\\t%{~ if true ~}\\n x $${ %{~ endif ~}\\n"': "x ${",
    'format("%8.3d|%-8.3d|%08.3d|%+.3d|%#.3x|%.3o", 5, 5, 5, 5, 5, 5)': "     005|005     |     005|+005|0x005|005",
    'format("%#08x|%.0d|%.d|%.E|%.g", 5, 0, 7, 12.5, 12.5)': "0x000005||7|1E+01|1e+01",
    'format("%.s|%.0q|%.1s|%-05s|%-05v|%-05d|", "ten", "ten", "ten", "x", 4, 4)': 'ten|"ten"|t|x0000|40000|4    |',
    'format("%5.[1]v|%.[1]f", 5.5)': "  5.5|6",
    "formatdate(\"D'' D'a''b'\", \"2024-02-29T12:34:56Z\")": "29' 29a'b",
    'substr("abc", -2, 0)': "bc",
    'element(tolist(["a", "b"]), -5)': "b",
    'jsondecode("[1] ]")': ["1"],
    'jsondecode("1}x")': "1",
    'yamldecode("[!!float 1, !!int 0x1F, !!int \\"1\\", !!bool yes, !!null x, !!str 1, !!timestamp 2001-01-01]")': [
        "1", "31", "1", True, None, "1", "2001-01-01T00:00:00Z",
    ],
    "tostring(sum([log(2e19, 494), 255]))": "262.16517685780150781482689126278273761272430419921875",
    'cidrnetmask("::ffff:10.0.0.0/96")': "ffff:ffff:ffff:ffff:ffff:ffff::",
    'keys(csvdecode("b,a\\n1,2")[0])': ["a", "b"],
    '"$$${1}"': "$${1}",
    '"$$$${1} $${1}$$$${"': "$$${1} ${1}$$${",
    "range(0, 1, 0.3)[3] > 0.9": True,
    "[pow(2, 64), pow(2, 64) - 1, pow(2, 61) * pow(2, 3)]": ["18446744073709550000", "18446744073709551615", "18446744073709550000"],
    "[pow(3, 27) * pow(3, 10), sum([pow(2, 65), 0.5])]": ["450283905890997363", "36893488147419103232.5"],
    "jsonencode([-0 - 0, -0 + -0, -0 % 2.5, log(4, 0), 0 - -0, -0 + 0, -0 % -1])": "[-0,-0,-0,-0,0,0,0]",
    '[max("2", 1.5), min(3, "2")]': ["2", "2"],
    'cidrhost("2001:db8::/32", 79228162514264337593543950335)': "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    '1 > 2 ? (1 == 1 ? base64decode("é") : tonumber(null)) : "x"': "x",
    '1 > 2 ? "${[][0]}" : [1]': ["1"],
    '1 < 2 ? { a = 1, b = null } : { ("%{ for x in "a" }${x}%{ endfor }") = true }': {"a": "1", "b": None},
    "pow(pow(2, 64), 0.5)": "4294967296",
    "jsonencode(sum([pow(2, 64), pow(pow(2, -10), 3)]))": "18446744073709550000",
    "jsonencode([max(pow(2, 64), 1), abs(-log(3, 2)), ceil(pow(2, 64)), floor(pow(2, 64)) + 1])":
        "[18446744073709550000,1.584962500721156,18446744073709550000,18446744073709551617]",
    'parseint("ffffffffffffffffffffffffffff", 16) * 1.5': "7788445287802241442795744493830142.5",
    "length(setunion([pow(2, 64)], [18446744073709551616]))": "1",
    'cidrhost("::ffff:10.0.0.0/104", 256)': "0:100::ffff:a00:0",
    'cidrhost("::ffff:10.0.0.0/104", -1)': "ff:ffff::ffff:a00:0",
    'cidrhost("::ffff:10.0.0.0/104", 0)': "10.0.0.0",
    'timecmp("2024-01-01T00:00:00,5Z", "2024-01-01T0:00:00.500Z")': "0",
    'timecmp("2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00-24:60")': "-1",
    'timecmp("0000-01-01T00:00:00+24:00", "9999-12-31T23:59:59.5Z")': "-1",
    'timeadd("9999-12-31T23:59:59Z", "1h")': "10000-01-01T00:59:59Z",
    'timeadd("0000-01-01T00:00:00-00:30", "-8784h")': "-0002-12-31T00:00:00-00:30",
    'formatdate("YYYY YY EEE ZZZZ", "0000-01-01T00:00:00-00:30")': "0000 00 Sat -0030",
    '"%%%{ if true }"': "%%{ if true }",
    '"a$$$${ x"': "a$$${ x",
    "coalescelist(var.no_list, var.empty, [1])": ["1"],
    '(1 > 2 ? { a = [1], b = null, c = tomap({ x = 1 }) } : tomap({ q = "1" }))': {"q": "1"},
}  # fmt: skip
"""Expressions, and what the console of Terraform 1.11 prints for them."""


@pytest.mark.parametrize("expression", SHOWN)
def test_edge_cases_of_numbers_and_templates_evaluate_as_expected(expression: str, scope: Scope) -> None:
    assert answer(expression, scope).get("value") == SHOWN[expression]


@pytest.mark.parametrize(
    "expression",
    ["try(nope, 1)", "can(nope)", "can(self)", "can(var)", "can(local)", "try(local.nope, 1)", "can(var.nope)", "can(each.key)", "try(a_b.c, 1)",
     "can(nope.x)", "coalescelist(toset([1]), toset([2]))", "{ a = 1 b = 2 }", 'templatestring("a${1}", {})',
     "true ? 1 : local.nope", "try(1, each.key)", "[for x in [] : module.nope]", "try(1, aws_x.y)", "true || path.nope",
     'element(["a", "b"], -1)', 'jsondecode("1,")', 'yamldecode("a: {<<: [{x: 1}]}")', 'yamldecode("!!int x")',
     'yamldecode("{&x a: *x}")', 'yamldecode("- 0x1FFFFFFFFFFFFFFFF")', 'yamldecode("%YAML 1.2\\n---\\na: 1")',
     'textencodebase64("a", "utf8")', 'textencodebase64("a", "ASCII")', 'csvdecode("a\\nx\\"y")', 'csvdecode("a\\n \\"x\\"")',
     'setunion(toset([["a"]]), toset([null]))', "true ? 1 : { a = 1 }.*.b", "max()", "concat()", "setproduct([1])", 'cidrsubnets("0.0.0.0/0", 4)', 'cidrsubnets("::/8", 4)',
     'timeadd("2020-01-01T00:00:00Z", "2562048h")', "log(-1, 10)", "pow(-8, 0.5)", 'coalescelist([1], "x")', "coalescelist([1], null)", "coalescelist([1], {})",
     "true || {}", 'false && "x"', '"%%%{ if true }x%{ endif }"', 'cidrsubnets("::ffff:10.0.0.0/104", 8)', 'cidrsubnets("::ffff:10.0.0.0/95", 32, 2, 2)',
     'timeadd("2024-01-01T0:00:00Z", "1h")', 'formatdate("D", "2024-01-01T00:00:00+24:00")', 'timecmp("2024-01-01T00:00:60Z", "2024-01-01T00:00:00Z")',
     "1 < 2 ? [{ a = 2 }, { b = 1 }] : tolist([])", "1 < 2 ? tomap({}) : var.pools[0]"],
)  # fmt: skip
def test_expressions_that_terraform_refuses_have_no_value(expression: str, scope: Scope) -> None:
    assert answer(expression, scope)["refused"]


@pytest.mark.parametrize(("pattern", "expected"), [
    ("(a)(b)?", ["tuple", ["string", "string"]]), ("(?P<x>a)(?P<y>b)?", ["object", {"x": "string", "y": "string"}]),
])  # fmt: skip
def test_regex_groups_that_match_nothing_are_null_strings(pattern: str, expected: object, scope: Scope) -> None:
    assert answer(f'regex("{pattern}", "a")', scope)["type"] == expected


@pytest.mark.parametrize("expression", ['format("%v", null)', 'formatlist("%d", null)', 'try(tonumber("-Inf"), 1)'])
def test_expressions_that_terraform_does_not_know_have_no_value(expression: str, scope: Scope) -> None:
    assert "value" not in answer(expression, scope)


def test_an_expression_refused_in_a_part_has_no_value(tmp_path: Path) -> None:
    """`kcheck eval` refuses the whole expression, as the console does; a check continues with its other parts."""
    found = console.evaluate("[1, [][0]][0]", str(tmp_path), Config())
    assert (found["known"], found["reason"]) == (False, "the list has 0 elements, there is no element 0")
    assert console.evaluate("[1, 2][0]", str(tmp_path), Config())["value"] == 1


@pytest.mark.parametrize(("second", "unifies"), [("[1]", False), ("{}", False), ('"a"', True), ("true", False)])
def test_defaults_of_type_any_must_unify(second: str, unifies: bool, tmp_path: Path) -> None:
    """Terraform 1.11: cannot find a common base type for all elements."""
    default = f"{{ p = {{ x = 1 }}, q = {{ x = {second} }} }}"
    code = f'variable "a" {{\n  type = map(object({{ x = optional(any) }}))\n  default = {default}\n}}\n'
    (tmp_path / "main.tf").write_text(code)
    (module,) = Loader(Tree([str(tmp_path)]), Config()).roots(each=False)
    assert isinstance(module.variable("a"), Unknown) is not unifies


@pytest.mark.parametrize("default", ['"yes"', "{ a = 1 }"])
def test_a_default_that_does_not_fit_is_refused_also_where_it_is_not_used(default: str, tmp_path: Path) -> None:
    code = f'variable "a" {{\n  type    = object({{ x = optional(bool, {default}) }})\n  default = {{ x = true }}\n}}\n'
    (tmp_path / "main.tf").write_text(code)
    (module,) = Loader(Tree([str(tmp_path)]), Config()).roots(each=False)
    assert isinstance(module.variable("a"), Unknown)


def test_the_prefix_resource_names_the_same_resource(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "aws_vpc" "a" {\n  count      = 2\n  cidr_block = "10.0.0.0/16"\n}\n'
        "locals {\n  long  = resource.aws_vpc.a[0].cidr_block\n  short = aws_vpc.a[0].cidr_block\n"
        "  every = resource.aws_vpc.a[*].cidr_block\n}\n"
    )
    (module,) = Loader(Tree([str(tmp_path)]), Config()).roots(each=False)
    values = [plain(found) for name in ("long", "short", "every") if (found := module.local(name))]
    assert values == ["10.0.0.0/16", "10.0.0.0/16", ["10.0.0.0/16"] * 2]


def test_a_deeply_nested_expression_is_unknown_and_not_an_error(scope: Scope) -> None:
    deep = "[" * 5000 + "]" * 5000
    assert answer(f'try(jsondecode("{deep}"), "caught")', scope).get("value") is None
    assert answer(f'try(yamldecode("{deep}"), "caught")', scope).get("value") is None


@pytest.mark.skipif("KCHECK_UPDATE" not in os.environ, reason="KCHECK_UPDATE=1 asks Terraform again")
def test_terraform_still_gives_the_stored_answers(terraform: str, tmp_path: Path) -> None:
    expressions = list(dict.fromkeys([*MORE, *Grammar(5).expressions(COUNT)]))
    answers = [one for one in ask(terraform, MODULE, expressions, tmp_path) if len(json.dumps(one)) < 1500]
    STORED.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in answers))


MORE = (TESTS / "golden" / "values.tf.txt").read_text().splitlines()
"""Expressions written by hand, one a line."""
