"""Test which records a place in a rule names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bench_growth
import pytest

from kcheck.engine.rule_evaluator import Evaluator
from kcheck.engine.words import raw_views
from kcheck.text.syntax import cel

if TYPE_CHECKING:
    from tests.conftest import Check


def test_records_of_a_plain_path_are_found_without_evaluating_cel(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluation with CEL would copy a list once for each of its items."""
    pools = "".join(bench_growth.pool(name) for name in ("a", "b"))
    found = check({"main.tf": bench_growth.cluster() + pools}).world
    (cluster,) = found.inventory.clusters
    evaluator = Evaluator(raw_views.view("cluster", cluster, found), ())
    by_cel = evaluator.records("cluster.pools.filter(one, true)")
    monkeypatch.setattr(cel, "evaluate", lambda *_: pytest.fail("CEL was asked"))
    assert evaluator.records("cluster.pools") == by_cel
    assert len(by_cel) == 3
    assert evaluator.records("cluster") == [0]
