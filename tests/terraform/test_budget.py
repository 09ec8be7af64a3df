"""Test that evaluation ends: a value that takes too many steps or becomes too large is unknown, with that reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.console import evaluate as answer
from kcheck.config.config import Config
from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.scope import Scope
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.values import Known, Unknown

if TYPE_CHECKING:
    from kcheck.text.values import Datum
    from tests.conftest import Check, Write

STEPS = "evaluating this root module takes more than 500,000 steps"
ELEMENTS = "the value has more than 250,000 elements"
DIGITS = "the number has too many digits"


def value(text: str) -> Datum:
    file = parse(Source("a.tf", f"x = {text}\n".encode()))
    return evaluate(file.body.attributes["x"].expression, Scope({}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[for a in range(1000) : [for b in range(1000) : b]]", STEPS),
        ('"%{ for a in range(1000) }%{ for b in range(1000) }x%{ endfor }%{ endfor }"', STEPS),
        ("[for a in range(1000) : range(1000)][*][*]", STEPS),
        ("setproduct(range(1000), range(1000))", ELEMENTS),
        ('[for a in range(1000) : replace(join("", range(1000)), "1", join("", range(1000)))]', STEPS),
        (f'parseint("{"9" * 5000}", 10)', DIGITS),
        ('regexall("(?:a.*b|a)", join("", [for a in range(1000) : "aaaaaaaaaaaaaaaaaaaa"]))',
         "a regular expression takes too long for a text of this length"),
    ],
)  # fmt: skip
def test_values_over_budget_are_unknown(text: str, reason: str) -> None:
    found = value(text)
    assert isinstance(found, Unknown)
    assert found.reason == reason


@pytest.mark.parametrize("text", ["1e600000000", "1e-999999999", "9" * 5000, f"1e{'0' * 30}600000000"])
def test_numbers_with_too_many_digits_are_unknown(text: str) -> None:
    found = value(text)
    assert isinstance(found, Unknown)
    assert found.reason == "the number has too many digits"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){20}", "(x+x+)+y"])
def test_patterns_are_matched_in_linear_time(pattern: str) -> None:
    assert isinstance(value(f'length(regexall("{pattern}", "{"a" * 2000}!"))'), Known)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["try", "can"])
def test_try_and_can_do_not_hide_an_exceeded_budget(first: str) -> None:
    assert isinstance(value(f"{first}([for a in range(1000) : [for b in range(1000) : b]])"), Unknown)
    assert isinstance(value(f'{first}([for a in range(1000) : [for b in range(1000) : b]][1][1], "default")'), Unknown)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("first", "step", "use"),
    [
        ("[1]", "[@, @]", "jsonencode(local.a60)"),
        ("[1]", "[@, @]", "local.a60 == local.a59"),
        ("[1]", "concat(@, @)", "length(local.a60)"),
        ('"x"', '"${@}${@}"', "length(local.a60)"),
        ('"x"', 'format("%s%s", @, @)', "length(local.a60)"),
        ("3", "@ * @", "local.a60"),
        ('["x", "y"]', "[@, @][var.nothing]", "local.a60"),
        ("var.nothing", '"${@}${@}"', "local.a60"),
    ],
)
def test_doubling_chains_exceed_the_budget(first: str, step: str, use: str, write: Write) -> None:
    rows = [f"a{i + 1} = {step.replace('@', f'local.a{i}')}\n" for i in range(60)]
    write({"main.tf": f'variable "nothing" {{}}\nlocals {{\na0 = {first}\n{"".join(rows)}}}\n'})
    assert not answer(use, ".", Config())["known"]
    assert answer("length([local.a1])", ".", Config())["value"] == 1


POOLS = """
resource "azurerm_kubernetes_cluster" "a" {
  name = "a"
  default_node_pool {
    name       = "p"
    node_count = 3
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "p" {
  count                 = %s
  kubernetes_cluster_id = azurerm_kubernetes_cluster.a.id
  node_count            = 3
}
"""


def test_the_place_of_an_exceeded_budget_is_reported(check: Check) -> None:
    result = check({"main.tf": POOLS % "100000"})
    (note,) = result.judged.skipped
    assert (note.path, note.line) == ("main.tf", 9)
    assert note.reason == "not evaluated: this root module has more than 1,000 copies of blocks"
    assert len(result.world.inventory.clusters) == 1


@pytest.mark.medium
def test_modules_that_double_at_each_level_are_stopped(check: Check) -> None:
    files = {"m20/main.tf": 'resource "aws_subnet" "a" {\n}\n'}
    for level in range(20):
        source = f"{'../' if level else './'}m{level + 1}"
        path = f"m{level}/main.tf" if level else "main.tf"
        files[path] = "".join(f'module "{name}" {{\n  source = "{source}"\n}}\n' for name in "ab")
    result = check(files)
    assert "copies of blocks" in result.judged.skipped[0].reason


@pytest.mark.medium
def test_modules_nested_too_deeply_are_stopped(check: Check) -> None:
    files = {f"m{n}/main.tf": f'module "n" {{\n  source = "../m{n + 1}"\n}}\n' for n in range(1000)}
    result = check({**files, "m1000/main.tf": 'resource "aws_subnet" "a" {\n}\n'})
    assert [note.reason for note in result.judged.skipped] == ["not evaluated: modules are nested more than 100 deep"]


@pytest.mark.slow
def test_each_root_module_has_a_budget_of_its_own(check: Check) -> None:
    bomb = 'resource "azurerm_kubernetes_cluster" "b" {\n  name = length([for a in range(1000) : range(1000)])\n}\n'
    result = check({"a/main.tf": bomb, "b/main.tf": POOLS % "30"})
    assert [note.path for note in result.judged.skipped] == ["a/main.tf"]
    assert len(result.world.inventory.pools) == 31
