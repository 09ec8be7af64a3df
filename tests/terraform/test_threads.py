"""Test one module that two threads evaluate: one thread does not see the other's evaluation as a cycle."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

from kcheck.config.config import Config
from kcheck.terraform import evaluator
from kcheck.terraform.roots import Loader
from kcheck.text.files.tree import Tree
from kcheck.text.values import Known

if TYPE_CHECKING:
    import pytest

    from kcheck.terraform.scope import Scope
    from kcheck.text.syntax.hcl import nodes
    from kcheck.text.values import Datum
    from tests.conftest import Write


CODE = """\
locals {
  a = 1 + 1
}
resource "x_y" "z" {
  size = 2 + 3
}
"""


def test_values_evaluated_by_two_threads_at_once_are_known(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": CODE})
    (module,) = Loader(Tree(["."]), Config()).roots()
    (instance,) = module.instances("x_y")
    both = Barrier(2)
    whole = evaluator.value_of

    def together(expression: nodes.Expression, scope: Scope) -> Datum:
        both.wait(20)  # both threads are within the value before one of them has it
        return whole(expression, scope)

    monkeypatch.setattr(evaluator, "value_of", together)

    def both_values() -> list[Datum | None]:
        return [module.scope.namespace("local").attribute("a"), instance.entry("size")]

    with ThreadPoolExecutor(2) as threads:
        found = [one.result(120) for one in [threads.submit(both_values), threads.submit(both_values)]]
    assert [[one.value for one in values if isinstance(one, Known)] for values in found] == [[2, 5], [2, 5]]


def test_a_value_that_depends_on_itself_is_still_reported(write: Write) -> None:
    write({"main.tf": 'locals {\n  a = local.b\n  b = local.a\n}\nresource "x_y" "z" {\n  size = x_y.z.size\n}\n'})
    (module,) = Loader(Tree(["."]), Config()).roots()
    (instance,) = module.instances("x_y")
    instance.entry("size")
    module.scope.namespace("local").attribute("a")
    assert {problem.message for problem in module.problems} == {
        "local.a refers to itself",
        "x_y.z.size refers to itself",
    }
