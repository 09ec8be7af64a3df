"""Test variables of rules: where they are filled in, what a run decides by them, and mistakes in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.engine.rule_variables import Variable, bodies, expanded, place

if TYPE_CHECKING:
    from tests.conftest import Write

RULE = """\
summary: Pool is wide
severity: warning
subject: pool
variables:
  wide: pool.max_nodes > limits.job.large
  spare: pool.max_nodes - pool.min_nodes
  both: variables.wide && variables.spare > 0
when: pool.autoscaled
problem: variables.both
at_most: {info: variables.spare < 1}
at: pool.max_nodes
message: "Pool {pool.name} may add {variables.spare} nodes; it's {{wide}}"
details:
  - {if: variables.wide, say: "{variables.spare} of {pool.max_nodes}"}
help: keep {variables.spare} nodes
"""
POOL = """\
resource "aws_eks_node_group" "gpu" {
  node_group_name = "gpu"
  scaling_config {
    min_size = 10
    max_size = MAX
  }
}
"""
PATH = "policies/own/pool-wide.yaml"


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, [*arguments, "--rules", "policies"])


def test_all_expressions_and_texts_of_a_rule_may_use_variables(write: Write) -> None:
    write({PATH: RULE, "main.tf": POOL.replace("MAX", "100")})
    found = run("check", "--select", "pool-wide").output
    assert "pool-wide: Pool gpu may add 90 nodes; it's {wide}" in found
    assert "= 90 of 100" in found
    assert "help: keep 90 nodes" in found


def test_variables_that_grow_without_bound_are_refused(write: Write) -> None:
    doubled = "".join(f"  v{n + 1}: variables.v{n} + variables.v{n}\n" for n in range(60))
    write({PATH: RULE.replace("when:", f"  v0: pool.max_nodes\n{doubled}when:"), "main.tf": POOL})
    assert "variable v11 is over 20,000 letters" in run("check").output


def test_a_variable_is_evaluated_only_where_its_value_matters(write: Write) -> None:
    lazy = RULE.replace("pool.max_nodes - pool.min_nodes", "pool.max_nodes / (pool.min_nodes - 10)")
    lazy = lazy.replace("problem: variables.both", "problem: pool.min_nodes != 10 && variables.both")
    write({PATH: lazy, "main.tf": POOL.replace("MAX", "100")})
    assert "0 warnings" not in run("check", "--select", "pool-wide").output
    assert run("check", "--select", "pool-wide").exit_code == 0


def test_an_unknown_value_in_a_variable_is_undecided_with_its_input(write: Write) -> None:
    cluster = 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\nvariable "most" {}\n'
    write(
        {
            PATH: RULE,
            "main.tf": cluster
            + POOL.replace("MAX", "var.most").replace("{", "{\n  cluster_name = aws_eks_cluster.a.name", 1),
        }
    )
    found = run("check", "--select", "pool-wide", "--show-undecided").output
    assert "pool-wide" in found
    assert "var.most" in found


def test_explain_shows_variables_by_name(write: Write) -> None:
    write({PATH: RULE})
    found = run("explain", "pool-wide").output
    assert "// variables.spare is\n  pool.max_nodes - pool.min_nodes\n" in found
    assert "// it is a problem that\n  variables.both\n" in found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("problem: variables.both", "problem: variables.bth", ":9:10: there is no variable bth; did you mean both?"),
        ("problem: variables.both", "problem: variables.spare > 0", ":7:9: variable both is not used"),
        ("pool.max_nodes > limits", "variables.both && limits", ":5:9: variable both is not above this one"),
        ("pool.max_nodes - ", "variables.spare - ", ":6:10: variable spare is not above this one"),
        ("spare", "nodes", ":6:10: variable nodes has the name of the word pool.nodes"),
        ("pool.min_nodes\n", "pool.min_nods\n", ":6:27: `pool.max_nodes - pool.min_nods`: there is no word pool.min_nods"),
        ("pool.min_nodes\n", "pool.mode\n", ":6:27: `pool.max_nodes - pool.mode`: `pool.mode` (System or User (AKS)"),
        ("pool.min_nodes\n", "pool.name +\n", ":6:"),
        ("when: pool.autoscaled", "when: variables.spare", ":6:10: `pool.max_nodes - pool.min_nodes`: this is a number; a"),
    ],
)  # fmt: skip
def test_mistakes_in_variables_are_reported_at_their_place(write: Write, old: str, new: str, expected: str) -> None:
    text = re.sub(rf"\b{old}\b", new, RULE) if old == "spare" else RULE.replace(old, new, 1)
    write({PATH: text})
    found = CliRunner().invoke(cli, ["rules", "--test", "policies"])
    assert found.exit_code == 2
    assert f"{PATH}{expected}" in found.output


def test_exported_policies_contain_the_variables_of_a_rule(write: Write) -> None:
    rule = """\
summary: Large job
severity: warning
subject: workload
variables:
  large: workload.gpus * workload.pods
when: workload.batch
problem: variables.large > limits.job.large
at: workload.pods
message: "Job {workload.name} has {variables.large} GPUs"
"""
    write({"policies/own/large-job.yaml": rule})
    found = run("export", "admission", "policies", "--rule", "large-job")
    spec = next(yaml.safe_load_all(found.stdout))["spec"]
    assert {"name": "large", "expression": "(variables.gpus * variables.pods)"} in spec["variables"]
    assert "variables.large > variables.kcheck_limits.job.large" in spec["validations"][0]["expression"]
    assert "variables.large" in spec["validations"][0]["messageExpression"]


def test_names_in_texts_and_comments_are_not_variables() -> None:
    found = bodies([Variable("a", "pool.nodes"), Variable("b", "variables.a + 1 // all")])
    assert found == {"a": "pool.nodes", "b": "(pool.nodes + 1 // all\n)"}
    text = "x == 'variables.a' && y.variables.a && variables.a > 1 // variables.a"
    assert expanded(text, found) == "x == 'variables.a' && y.variables.a && pool.nodes > 1 // variables.a"


def test_a_position_in_an_expanded_text_is_that_of_the_variable() -> None:
    variables = [Variable("a", "pool.x + 1"), Variable("b", "2 * variables.a")]
    text = "f(variables.b) && pool.y"
    long = expanded(text, bodies(variables))
    assert long == "f((2 * (pool.x + 1))) && pool.y"
    assert place(("when",), text, long.index("pool.x"), variables) == (("variables", "a"), "pool.x + 1", 0)
    assert place(("when",), text, long.index("*"), variables) == (("variables", "b"), "2 * variables.a", 2)
    assert place(("when",), text, long.index("pool.y"), variables) == (("when",), text, text.index("pool.y"))
