"""Test the recommended numbers of tolerated NotReady nodes."""

from __future__ import annotations

import pytest

from kcheck.scale import deletion


@pytest.mark.parametrize(("zones", "percent"), [(0, 45), (1, 45), (2, 55), (3, 45), (6, 45)])
def test_the_unready_percentage_tolerates_one_failed_zone(zones: int, percent: int) -> None:
    assert deletion.percentage(zones) == percent


@pytest.mark.parametrize(
    ("nodes", "batch", "tolerated"),
    [
        (1000, 50, 100),  # and 5 % that fail
        (1000, 200, 250),
        (605, 50, 90),
        (300, 300, 135),  # 45 % of all: all at once is no reason to switch the safety off
    ],
)
def test_a_deletion_batch_does_not_pause_the_autoscaler(nodes: int, batch: int, tolerated: int) -> None:
    assert deletion.tolerated(nodes, batch, 45) == tolerated
