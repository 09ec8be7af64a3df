"""Pools and workloads in large numbers: what is asked of each pair is asked once. No time is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bench_growth
import pytest

from kcheck.scale import placement, pools

if TYPE_CHECKING:
    from types import ModuleType

    from tests.conftest import Check


def counted(module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What a function is called with from now on."""
    calls: list[object] = []
    function = getattr(module, name)

    def call(*given: object) -> object:
        calls.append(given)
        return function(*given)

    monkeypatch.setattr(module, name, call)
    return calls


@pytest.mark.medium
def test_workloads_are_fitted_to_pools_once_a_pair(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = counted(placement, "fit", monkeypatch)
    check(bench_growth.selected(6))
    assert 0 < len(pairs) <= 6 * 6 * 8


@pytest.mark.medium
def test_the_room_of_pools_is_summed_once_a_workload(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = counted(pools, "_room", monkeypatch)
    check(bench_growth.selected(8))
    assert 0 < len(pairs) <= 9 * 9
