"""Test all fixes at once on the examples of all rules: every offered fix works next to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import rules
from kcheck.fix import fix
from kcheck.text.findings import SAFETIES
from tests.places import LONG

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.medium

MET = ("training-pod-evictable-0", "node-subnet-slash-24-1")
"""Examples whose fix was once wrongly refused, because of another fix or for lack of a place; always tested."""
TREES = {
    f"{rule.name}-{example.number}-{kind}": files
    for rule in rules.load()
    for example in rule.documentation.examples
    for kind, files in (("bad", example.bad), ("good", example.good))
    if files
}
CHOSEN = [name for number, name in enumerate(TREES) if LONG or number % 23 == 0 or name.startswith(MET)]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_every_offered_fix_works(name: str, write: Write) -> None:
    write(TREES[name])
    outcome = fix.fix(["."], Config(nodes={"": 1000}), safeties=SAFETIES)
    wrong = [refused for refused in outcome.refused if refused.bug or refused.reason == fix.INEFFECTIVE]
    assert [f"{refused.finding.rule}: {refused.reason}" for refused in wrong] == []


def test_a_fix_is_retried_after_the_fixes_it_depends_on(write: Write) -> None:
    """A faster upgrade needs more addresses than the range provides for that was created in the same round."""
    write(TREES["node-subnet-slash-24-1-good"])
    outcome = fix.fix(["."], Config(nodes={"": 1000}, limits={"eks.pool.quota": 2000}), safeties=SAFETIES)
    assert {finding.rule for finding in outcome.fixed} == {
        "pool-ends-below-target",
        "slow-upgrades",
        "subnet-too-small",
    }
    assert b'"10.0.0.0/16"\n}\n\nresource "aws_eks_cluster"' in outcome.files[0].new


def test_a_taint_is_added_to_a_karpenter_pool_without_taints(write: Write) -> None:
    write(TREES["training-pod-evictable-0-bad"])
    outcome = fix.fix(["."], Config(), safeties=SAFETIES, rules=("gpu-pool-untainted",))
    taint = b'      taints:\n        - key: nvidia.com/gpu\n          value: "true"\n          effect: NoSchedule\n'
    assert taint in outcome.files[0].new
