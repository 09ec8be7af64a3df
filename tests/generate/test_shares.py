"""Nodes of teams: whole numbers that add up, in every pool and in all."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kcheck.generate import intent
from kcheck.generate.assembly import generate
from kcheck.generate.manifests import apportioned

PERCENTS = st.lists(st.integers(1, 100), min_size=1, max_size=5).filter(lambda found: sum(found) <= 100)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), PERCENTS)
def test_parts_add_up_and_follow_their_percents(totals: list[int], percents: list[int]) -> None:
    found = apportioned(totals, percents)
    assert [sum(parts) for parts in found] == totals
    assert all(part >= 0 for parts in found for part in parts)
    whole = [sum(parts) for parts in zip(*found, strict=True)]
    weights = percents if sum(percents) == 100 else [*percents, 100 - sum(percents)]
    if all(sum(totals) * weight % 100 == 0 for weight in weights):
        assert whole == [sum(totals) * weight // 100 for weight in weights]
    (alone,) = apportioned([sum(totals)], percents)
    assert whole == alone


def test_queues_of_a_small_cluster_have_what_its_readme_says() -> None:
    """Four nodes in one zone and three in two others: rounding in each zone by itself gave the first team 7 of 10."""
    files = generate(intent.with_defaults("eks", {"nodes": 10, "job": {"nodes": 4}})).files
    objects = yaml.safe_load_all(files["kubernetes/kueue.yaml"])
    queues = {found["metadata"]["name"]: found for found in objects if found["kind"] == "ClusterQueue"}
    cards = {
        name: sum(
            int(flavor["resources"][0]["nominalQuota"]) for flavor in queue["spec"]["resourceGroups"][0]["flavors"]
        )
        for name, queue in queues.items()
    }
    assert cards == {"research": 6 * 8, "product": 4 * 8}
    assert "research 6 nodes, product 4 nodes" in files["README.md"].decode()
