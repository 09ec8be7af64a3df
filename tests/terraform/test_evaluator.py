"""Test the evaluator against Terraform itself, and on unknown values."""

from __future__ import annotations

import json
import random
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from kcheck.terraform import functions
from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.scope import Scope
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.values import Known, Origin, Symbol, Unknown
from tests.places import TESTS

from .test_filesystem import EXPRESSIONS as FILE_EXPRESSIONS

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.text.values import Datum

EXPRESSIONS = (TESTS / "golden" / "expressions.tf.txt").read_text().splitlines()
"""Expressions, one a line; those that Terraform refuses before evaluation cannot be compared."""


def ours(expressions: list[str]) -> list[str]:
    result = []
    for expression in expressions:
        datum = value(f'try(jsonencode({expression}), "ERROR")')
        result.append(str(datum.value) if isinstance(datum, Known) else f"unknown: {datum.reason}")
    return result


def theirs(terraform: str, expressions: list[str], folder: Path) -> list[str]:
    """Return Terraform's answers to some expressions, from one start of its console."""
    line = "jsonencode([" + ", ".join(f'try(jsonencode({e}), "ERROR")' for e in expressions) + "])"
    run = subprocess.run([terraform, "console"], input=line, capture_output=True, text=True, check=False, cwd=folder)
    assert run.returncode == 0, run.stderr[-2000:]
    answer: list[str] = json.loads(json.loads(run.stdout.replace("$${", "${").replace("%%{", "%{")))
    return answer


def value(text: str) -> Datum:
    file = parse(Source("x", f"x = {text}\n".encode()))
    assert not file.problems, (text, file.problems)
    return evaluate(file.body.attributes["x"].expression, SCOPE)


HERE = Origin(())
SCOPE = Scope({
    "known": Known({"a": Known(1, HERE), "list": Known((Known("x", HERE), Unknown("later")), HERE)}, HERE),
    "unknown": Unknown("var.x has no value"),
    "resource": Unknown("after apply", None, Symbol("azurerm_subnet.a", "id")),
})  # fmt: skip


@pytest.mark.medium
def test_expressions_evaluate_as_in_terraform(terraform: str, tmp_path: Path) -> None:
    got, wanted = ours(EXPRESSIONS), theirs(terraform, EXPRESSIONS, tmp_path)
    assert [(e, a, b) for e, a, b in zip(EXPRESSIONS, got, wanted, strict=True) if a != b and e != "1 / 0"] == []


def test_division_by_zero_is_unknown_and_not_an_error() -> None:
    found = value("1 / 0")
    assert isinstance(found, Unknown)
    assert found.reason == "the number is infinite"
    can = value("can(1 / 0)")
    assert isinstance(can, Known)
    assert can.value is True


def generated(seed: int, count: int) -> list[str]:
    """Return random expressions of operators, conditionals and templates."""
    pick = random.Random(seed)

    def number(depth: int) -> str:
        choice = pick.randrange(7) if depth else 0
        if choice <= 1:
            return str(pick.choice([0, 1, 2, 3, 7, 10, 2.5]))
        if choice == 2:
            return f"({number(depth - 1)})"
        if choice == 3:
            return f"{truth(depth - 1)} ? {number(depth - 1)} : {number(depth - 1)}"
        if choice == 4:
            return f"-{pick.choice([1, 2, 3])}"
        return f"({number(depth - 1)}) {pick.choice('+-*%')} ({number(depth - 1)})"

    def truth(depth: int) -> str:
        choice = pick.randrange(5) if depth else 0
        if choice == 0:
            return pick.choice(["true", "false"])
        if choice == 1:
            return f"!({truth(depth - 1)})"
        if choice == 2:
            return f"({number(depth - 1)}) {pick.choice(['<', '<=', '>', '>=', '==', '!='])} ({number(depth - 1)})"
        return f"{truth(depth - 1)} {pick.choice(['&&', '||'])} {truth(depth - 1)}"

    def chain(depth: int) -> str:
        return f"{truth(1)} ? {number(1)} : " + (chain(depth - 1) if depth else number(1))

    makers = [lambda: number(3), lambda: truth(3), lambda: chain(3), lambda: f'"<${{{number(2)}}}> ${{{truth(2)}}}"']
    return [pick.choice(makers)() for _ in range(count)]


@pytest.mark.medium
def test_random_expressions_evaluate_as_in_terraform(terraform: str, tmp_path: Path) -> None:
    expressions = generated(7, 400)
    got, wanted = ours(expressions), theirs(terraform, expressions, tmp_path)
    assert [(e, a, b) for e, a, b in zip(expressions, got, wanted, strict=True) if a != b] == []


@pytest.mark.medium
@pytest.mark.parametrize(
    "text",
    [
        "<<EOT\nplain\n  ${1}\n\n${2} x\nEOT\n",
        "<<-EOT\n    a\n      b ${1}\n    ${2}\n   c\n  EOT\n",
        "<<-EOT\n\ta\n\t\tb\n\tEOT\n",
        "<<-EOT\n    %{ for x in [1, 2] ~}\n    - ${x}\n    %{ endfor ~}\n    end\n  EOT\n",
        "<<-EOT\n    %{ for x in [1, 2] }\n    - ${x}\n    %{ endfor }\n    end\n  EOT\n",
        "<<-EOT\n    %{ if true ~}\n      yes\n    %{ else ~}\n      no\n    %{ endif ~}\n  EOT\n",
        "<<EOT\n  a\n  %{~ if true }\n b\n  %{~ endif }\nEOT\n",
        "<<-EOT\n    \n    a\n\n      b\n  EOT\n",
        '<<EOT\n$${x} %%{y} \\n "q"\nEOT\n',
    ],
)
def test_heredocs_are_evaluated(text: str, terraform: str, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(f"locals {{\n  x = {text}}}\n")
    run = subprocess.run(
        [terraform, "console"], input="jsonencode(local.x)", capture_output=True, text=True, check=True, cwd=tmp_path
    )
    file = parse(Source("x", (tmp_path / "main.tf").read_bytes()))
    datum = evaluate(file.body.blocks[0].body.attributes["x"].expression, Scope({}))
    assert isinstance(datum, Known)
    assert datum.value == json.loads(json.loads(run.stdout.replace("$${", "${").replace("%%{", "%{")))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("unknown + 1", "var.x has no value"),
        ('"a ${unknown}"', "var.x has no value"),
        ("unknown ? 1 : 2", "var.x has no value"),
        ("[for x in unknown : x]", "var.x has no value"),
        ("unknown.a[0].b", "var.x has no value"),
        ("try(unknown.a, 1)", "var.x has no value"),
        ("can(unknown.a)", "var.x has no value"),
        ("slice(unknown, 0, 1000000000)", "var.x has no value"),
        ("known.list[1]", "later"),
        ("timestamp()", "timestamp(): its value is only known when Terraform runs"),
        ("missing", "`missing` is not a name that can be used here"),
        ("known.b", "there is no attribute `b`"),
        ('join(",", known.list)', "later"),
        ("cidrsubnet(unknown, 8, 1)", "var.x has no value"),
    ],
)
def test_an_unknown_value_keeps_its_reason(text: str, reason: str) -> None:
    datum = value(text)
    assert isinstance(datum, Unknown)
    assert datum.reason == reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unknown && false", False),
        ("true || unknown", True),
        ("false && null.a", False),
        ("true || null.a", True),
        ("length(slice(unknown, 1, 3))", 2),
        ("unknown ? 5 : 5", 5),
        ("length(known.list)", 2),
        ("true ? 1 : unknown", 1),
        ("try(known.b, 7)", 7),
        ("can(known.b)", False),
        ('contains(known.list, "x")', True),
    ],
)
def test_a_value_can_be_known_although_a_part_is_unknown(text: str, expected: object) -> None:
    datum = value(text)
    assert isinstance(datum, Known), datum
    assert datum.value == expected


@pytest.mark.parametrize(
    "text",
    [
        "resource", "[resource][0]", "concat([], [resource])[0]", "element([resource], 0)", "compact([resource])[0]",
        "slice([1, resource], 1, 2)[0]", 'zipmap(["a"], [resource])["a"]', "one([resource])", "tolist([resource])[0]",
        'lookup({ a = resource }, "a", null)', "coalesce(null, resource)", "try(resource, 1)", "true ? resource : null",
        "unknown ? resource : null", "flatten([[resource]])[0]", "merge({}, { a = resource }).a", "values({ a = resource })[0]",
    ],
)  # fmt: skip
def test_the_identity_of_an_unknown_value_survives_functions(text: str) -> None:
    datum = value(text)
    assert isinstance(datum, Unknown)
    assert datum.symbol == Symbol("azurerm_subnet.a", "id")


@pytest.mark.medium
def test_every_terraform_function_is_compared(terraform: str, tmp_path: Path) -> None:
    """Every function of Terraform is compared, or kcheck says why it cannot evaluate it."""
    run = subprocess.run([terraform, "metadata", "functions", "-json"], capture_output=True, text=True, check=True, cwd=tmp_path)  # fmt: skip
    names = {name for name in json.loads(run.stdout)["function_signatures"] if "::" not in name}
    compared = "\n".join(EXPRESSIONS + FILE_EXPRESSIONS)
    known = {name for name in names if re.search(rf"\b{name}\(", compared)}
    assert known | UNKNOWABLE | {"can", "try"} == names
    for name in UNKNOWABLE:
        assert functions.reason_for(name) != functions.reason_for("no-such-function")


UNKNOWABLE = {"base64gzip", "bcrypt", "plantimestamp", "rsadecrypt", "timestamp", "uuid"}
