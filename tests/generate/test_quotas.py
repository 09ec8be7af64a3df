"""Test the quotas that a generated cluster needs."""

from __future__ import annotations

import pytest

from kcheck.generate import intent
from kcheck.generate.assembly import generate


@pytest.mark.parametrize(
    ("cloud", "code", "amount"),
    [
        ("aks", "standardDDSv5Family", (13 + 5) * 16),  # a third more of 13 nodes with 16 vCPUs
        ("eks", "L-1216C47A", (13 + 6) * 8),  # two for each of three zones
        ("gke", "N2_CPUS", (13 + 2) * 8),
    ],
)
def test_the_quota_allows_upgrading_system_nodes_at_full_size(cloud: str, code: str, amount: int) -> None:
    requests = {one.code: one.amount for one in generate(intent.with_defaults(cloud, {"nodes": 1000})).facts.requests}
    assert requests[code] == amount


@pytest.mark.parametrize(
    ("cloud", "machines"),
    [("eks", ["g6.12xlarge", "g6.24xlarge"]), ("ack", ["ecs.gn6v-c8g1.8xlarge", "ecs.gn6e-c12g1.12xlarge"])],
)
def test_quotas_suffice_if_all_spot_nodes_have_the_largest_type(cloud: str, machines: list[str]) -> None:
    given = {"nodes": 40, "machines": machines, "gpus": 4, "spot": {"share": 100}}
    assert [one.rule for one in generate(intent.with_defaults(cloud, given)).result.findings] == []
