"""Numbers and values as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.source.units import data_text, round_up


@pytest.mark.parametrize(("count", "written"), [(7, 7), (37, 40), (100, 100), (616, 620), (991, 1000), (1234, 1250)])
def test_round_up(count: int, written: int) -> None:
    assert round_up(count) == written


@given(st.integers(0, 100_000))
def test_rounding_never_gives_less_and_little_more(count: int) -> None:
    assert count <= round_up(count) <= max(count + 4, count * 1.1)
    assert round_up(round_up(count)) == round_up(count)


def test_data_text() -> None:
    value = {"name": "shm", "emptyDir": {"medium": "Memory"}, "modes": [1, True]}
    assert data_text(value) == "{name: shm, emptyDir: {medium: Memory}, modes: [1, true]}"
