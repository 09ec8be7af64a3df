"""Fixes that are not made where a person has to look first: the finding stays, and its help says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.engine import Result
    from kcheck.findings import Finding

    Check = Callable[..., Result]

LARGE = Config(nodes={"": 1000})


def only(rule: str, check: Check, files: Mapping[str, str], config: Config = LARGE) -> Finding:
    """The one finding of a rule."""
    (found,) = (finding for finding in check(files, config).findings if finding.rule == rule)
    return found


# --- Karpenter

NODE_POOL = """
apiVersion: karpenter.sh/VERSION
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {cpu: 9600}
  disruption:
    consolidationPolicy: POLICY
    expireAfter: Never
  template:
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
"""


def test_when_empty_needs_a_second_value_before_v1(check: Check) -> None:
    pool = NODE_POOL.replace("VERSION", "v1beta1").replace("POLICY", "WhenUnderutilized")
    found = only("karpenter-disrupts-training", check, {"pool.yaml": pool})
    assert found.fix is None
    assert "wants consolidateAfter beside WhenEmpty" in found.help


def test_when_empty_is_written_in_v1(check: Check) -> None:
    pool = NODE_POOL.replace("VERSION", "v1").replace("POLICY", "WhenEmptyOrUnderutilized")
    assert only("karpenter-disrupts-training", check, {"pool.yaml": pool}).fix is not None
