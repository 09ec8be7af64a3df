"""The price of starting jobs as a whole is simulated for the generated cluster, and left out where that says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kcheck.generate import intent
from kcheck.generate.assembly import generate
from kcheck.generate.readme import StartPrice, start_price


def price(cloud: str, **given: Any) -> StartPrice | None:
    wanted = intent.with_defaults(cloud, given)
    return start_price(generate(wanted).result.world, wanted)


def test_a_whole_start_takes_longer_and_costs_more() -> None:
    found = price("eks", nodes=1000)
    assert found is not None
    assert (found.nodes, found.work) == (1000, 10)
    whole, single = ([int(text) for text in one.minutes.split(" to ")] for one in (found.whole, found.single))
    assert whole[0] > single[1]
    assert 30 < single[0] < single[1] < 60
    paid = [int(one.node_hours.split(" to ")[0]) for one in (found.whole, found.single)]
    assert paid[0] > paid[1] > 1000 * 10 / 60


def test_the_same_intent_has_the_same_price() -> None:
    assert price("gke", nodes=450) == price("gke", nodes=450)


@pytest.mark.parametrize(
    ("cloud", "given"),
    [("eks", {"nodes": 100, "autoscaler": "karpenter"}), ("selfmanaged", {"nodes": 100}), ("gke", {"nodes": 6000})],
)
def test_no_price_where_the_model_is_not_calibrated_or_the_run_is_long(cloud: str, given: dict[str, Any]) -> None:
    assert price(cloud, **given) is None
