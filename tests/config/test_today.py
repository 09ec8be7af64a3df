"""Test the day of a run: the clock in UTC, or KCHECK_TODAY."""

from __future__ import annotations

import datetime

import pytest

from kcheck.config.config import VARIABLE, ConfigError, days_since, has_come, today

DAY = datetime.date(2026, 11, 22)


def test_the_day_of_a_run_is_today_in_utc_without_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    before = datetime.datetime.now(datetime.UTC).date()
    found = today()
    assert before <= found <= datetime.datetime.now(datetime.UTC).date()


def test_the_variable_sets_the_day_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2026-11-22")
    assert today() == DAY


def test_a_variable_without_a_valid_day_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2026-13-01")
    with pytest.raises(ConfigError, match="KCHECK_TODAY=2026-13-01: give a day, such as KCHECK_TODAY=2026-11-22"):
        today()


@pytest.mark.parametrize(("day", "is_over", "days"), [(21, True, 2), (22, True, 1), (23, False, 0), (25, False, -2)])
def test_a_date_counts_as_reached_on_that_day(
    day: int, is_over: bool, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "2026-11-22")
    there = DAY.replace(day=day)
    assert (has_come(there), days_since(there)) == (is_over, days)
