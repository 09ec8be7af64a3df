"""Test that pods are fitted once for pools that accept the same pods, with each pool's own result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bench_growth
import pytest

from kcheck.scale import placement

if TYPE_CHECKING:
    from kcheck.model import NodePool, PodTemplate
    from kcheck.scale.world import World
    from tests.conftest import Check

POOLS = {
    "a": bench_growth.pool("a"),
    "b": bench_growth.pool("b"),
    "labelled": bench_growth.pool("labelled", labels="a = 2"),
    "tainted": bench_growth.pool("tainted", more='  node_taints = ["gpu=true:NoSchedule"]\n'),
    "spot": bench_growth.pool("spot", more='  priority = "Spot"\n'),
    "large": bench_growth.pool("large").replace("ND96isr_H100_v5", "D96s_v5"),
    "open": bench_growth.pool("open", more="  node_taints = var.taints\n"),
    "c": bench_growth.pool("c"),
}
PLAIN, BY_NAME = "      nodeSelector: {a: '1'}\n", "      nodeSelector: {agentpool: a}\n"


def world(check: Check, selector: str) -> World:
    code = bench_growth.cluster() + "".join(POOLS.values()) + 'variable "taints" {}\n'
    return check({"main.tf": code, "job.yaml": bench_growth.job(0, more=selector)}).world


@pytest.mark.parametrize("selector", [PLAIN, BY_NAME])
def test_similar_pools_give_the_same_fit_as_each_pool_alone(check: Check, selector: str) -> None:
    found = world(check, selector)
    (workload,) = found.inventory.workloads
    for pool in found.inventory.pools:
        assert found.pools.fit(workload.templates[0], pool) == placement.fit(workload.templates[0], pool)


@pytest.mark.parametrize(("selector", "fits"), [(PLAIN, 1), (BY_NAME, 3)])
def test_pods_are_fitted_once_on_similar_pools(
    check: Check, selector: str, fits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = world(check, selector)
    (workload,) = found.inventory.workloads
    found.pools.results.clear()
    asked: list[str] = []
    fit = placement.fit

    def asking(template: PodTemplate, pool: NodePool, *rest: Any) -> placement.Fit:
        asked.append(pool.id)
        return fit(template, pool, *rest)

    monkeypatch.setattr(placement, "fit", asking)
    for pool in found.inventory.pools:
        if pool.display_name in ("a", "b", "c"):
            found.pools.fit(workload.templates[0], pool)
    assert len(asked) == fits
