"""Test numbers and values as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.text.units import (
    between,
    data_text,
    exact_seconds,
    node_hours,
    quantity,
    readable,
    round_up,
    singular,
    whole_number,
)  # fmt: skip


@pytest.mark.parametrize(("count", "written"), [(7, 7), (37, 40), (100, 100), (616, 620), (991, 1000), (1234, 1250)])
def test_numbers_are_rounded_up_as_people_write_them(count: int, written: int) -> None:
    assert round_up(count) == written


@given(st.integers(0, 100_000))
def test_rounding_up_never_lowers_a_number_and_adds_little(count: int) -> None:
    assert count <= round_up(count) <= max(count + 4, count * 1.1)
    assert round_up(round_up(count)) == round_up(count)


def test_data_is_formatted_like_yaml_in_braces() -> None:
    value = {"name": "shm", "emptyDir": {"medium": "Memory"}, "modes": [1, True]}
    assert data_text(value) == "{name: shm, emptyDir: {medium: Memory}, modes: [1, true]}"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (1, "1 s"), (90, "90 s"), (60, "1 min"), (505, "8 min"), (7200, "2 h")]
)
def test_seconds_are_formatted_for_people(seconds: int, text: str) -> None:
    assert readable(seconds) == text


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [(3600, 3600, "1 node-hour"), (3600, 7200, "1 to 2 node-hours"), (0, 3700, "0 to 1 node-hour")],
)
def test_one_node_hour_is_singular_and_a_range_names_its_unit_once(least: int, most: int, text: str) -> None:
    assert between(node_hours(least), node_hours(most)) == text


@pytest.mark.parametrize(
    ("rest", "one"),
    [
        (" nodes of 200", " node of 200"), (" batches, one a loop", " batch, one a loop"),
        (" nodes from slow disks", " node from slow disks"), (" p5 nodes", " p5 node"),
    ],
)  # fmt: skip
def test_the_noun_after_a_number_becomes_singular(rest: str, one: str) -> None:
    assert singular(rest) == one


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("64", 64),
        ("²", None),
        ("٣", None),
        ("-1", None),
        ("", None),
        ("1_0", None),
        ("9" * 18, 10**18 - 1),
        ("9" * 5000, None),
    ],
)
def test_only_decimal_digits_are_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["1e400", "9" * 30, "10E", "1e999", "9000000Ei"])
def test_quantities_have_the_limits_of_kubernetes(text: str) -> None:
    assert quantity(text) == 2**63 - 1
    assert quantity(f"-{text}") == 1 - 2**63


@pytest.mark.parametrize("text", ["9" * 5000, "1e9999", "1e" + "9" * 5000, "1e400x"])
def test_malformed_quantities_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a quantity|digits"):
        quantity(text)


def test_durations_have_the_limits_of_go() -> None:
    assert exact_seconds("2562047h") == 2562047 * 3600
    with pytest.raises(ValueError, match="too long for a Go duration"):
        exact_seconds("2562048h")
