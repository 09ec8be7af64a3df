"""Test schedules of cron: how they are read, and which of them have a minute in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.scale.schedules import times


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("0 2 * * *", "0  2 * * *", True),
        ("@daily", "0 0 * * *", True),
        ("0 2 * * *", "0 */2 * * *", True),
        ("0 3 * * *", "0 */2 * * *", False),
        ("30 2 * * *", "0 2 * * *", False),
        ("*/15 * * * *", "45 23 1 1 *", True),
        ("0 2 * * MON-FRI", "0 2 * * 6,0", False),
        ("0 2 * * 7", "0 2 * * SUN", True),
        ("0 2 * * 5-7", "0 2 * * 0", True),
        ("0 2 1 * *", "0 2 * * 1", True),  # the first of some month is a Monday
        ("0 2 1 * 1", "0 2 2 * 2", True),  # two restrictions are alternatives: a Monday, the second
        ("0 2 31 4 *", "0 2 * * *", False),  # which never comes
        ("0 2 29 feb ?", "0 2 * * *", True),
        ("0 2 * 1-3 *", "0 2 * 4-12 *", False),
        ("5/20 * * * *", "45 * * * *", True),
    ],
)
def test_two_schedules_collide_if_they_share_a_minute(one: str, other: str, meet: bool) -> None:
    first, second = times(one), times(other)
    assert first is not None
    assert second is not None
    assert (first.common(second) is not None) is meet


@pytest.mark.parametrize(
    "text", ["", "H * * * *", "@every 1h", "0 0 2 * * *", "60 * * * *", "* 24 * * *", "5-1 * * * *", "*/0 * * * *", "* * 0 * *"]
)  # fmt: skip
def test_invalid_schedules_have_no_times(text: str) -> None:
    assert times(text) is None


@pytest.mark.medium
@given(st.text(max_size=40))
def test_every_text_is_a_schedule_or_is_refused(text: str) -> None:
    found = times(text)
    assert found is None or found.common(found) in (found, None)
