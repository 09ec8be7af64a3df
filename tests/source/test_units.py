"""Numbers and values as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.source.units import data_text, readable, round_up, singular


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


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (1, "1 s"), (90, "90 s"), (60, "1 min"), (505, "8 min"), (7200, "2 h")]
)
def test_readable(seconds: int, text: str) -> None:
    assert readable(seconds) == text


@pytest.mark.parametrize(
    ("rest", "one"), [(" nodes of 200", " node of 200"), (" batches, one a loop", " batch, one a loop")]
)
def test_what_there_is_one_of(rest: str, one: str) -> None:
    assert singular(rest) == one
