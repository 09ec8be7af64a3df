"""Test `kcheck explain` of words: what each means, and which rules use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.engine import rules
from kcheck.report import word

if TYPE_CHECKING:
    from tests.conftest import Write

pytestmark = pytest.mark.medium


def explain(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["explain", *arguments])


OWN = """summary: Subnet is nearly full
severity: info
subject: subnet
when: size(subnet.pools) > 0
problem: subnet.pools.exists(p, p.max_nodes > limits.eks.pool.quota) && subnet.usable_addresses > 0
at: subnet.cidr
message: "{subnet.name} has {subnet.usable_addresses}"
"""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("subnet.usable_addresses", [
            "subnet.usable_addresses", "subject      subnet", "type         int", "unit         addresses", "may be null  no",
            "  nearly-full: problem, message",
        ]),
        ("subnet.cidr", ["  nearly-full: at"]),
        ("pool.max_nodes", ["  nearly-full: problem, as subnet.pools.max_nodes"]),
        ("subnet.pools.max_nodes", ["pool.max_nodes", "More: https://github.com/kcheck/kcheck/blob/main/docs/words.md#pool"]),
        ("pool.gpu_taint", ["type         map of string"]),
        ("subnet", ["  subnet.pools (list of pool)", "Judged by:", "  nearly-full: Subnet is nearly full"]),
        ("pool.spot", ["pool.spot", "gke.pool.spot"]),
        ("limits.pool.quota", ["eks.pool.quota"]),
        ("object", [
            "Any name may stand below it: what is absent in the code is absent, and `null` is too.",
            "  budget-allows-no-eviction: PodDisruptionBudget allows no pod to be evicted",
        ]),
        ("resource.type", ["Its type, such as aws_subnet."]),
        ("resource.values.tags", ["What the code has there; see resource.values."]),
    ],
)  # fmt: skip
def test_a_word_is_explained(name: str, lines: list[str], write: Write) -> None:
    write({"policies/own/nearly-full.yaml": OWN})
    run = explain(name, "--rules", "policies")
    assert run.exit_code == 0
    assert [line for line in lines if line not in run.stdout.splitlines()] == []


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("subnt", "subnet"),
        ("subnet.usable_adresses", "subnet.usable_addresses"),
        ("subnet-to-small", "subnet-too-small"),
        ("limits.pool.quotas", "pool.quota"),
        ("resource.values_of", "resource.values"),
        ("resource.type.of", "resource.type"),
    ],
)
def test_an_unknown_word_gets_the_nearest_suggestion(name: str, near: str) -> None:
    run = explain(name)
    assert run.exit_code == 2
    assert f"there is no rule, limit or word `{name}`; did you mean {near}" in run.output


def test_every_word_has_a_page() -> None:
    every = rules.load()
    for name in ("kube_namespace", "wall.pools", "template.workload"):
        assert word.as_text(name, every)
    assert [name for name in word.names() if not word.as_text(name, every[:1])] == []
