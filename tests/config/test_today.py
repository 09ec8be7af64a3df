"""The day of a run: the clock in UTC, or KCHECK_TODAY."""

from __future__ import annotations

import datetime

import pytest

from kcheck.config.config import VARIABLE, ConfigError, days_since, has_come, today

DAY = datetime.date(2026, 11, 22)


def test_without_a_variable_it_is_today_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    before = datetime.datetime.now(datetime.UTC).date()
    found = today()
    assert before <= found <= datetime.datetime.now(datetime.UTC).date()


def test_a_variable_names_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2026-11-22")
    assert today() == DAY


def test_a_variable_that_names_no_day_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2026-13-01")
    with pytest.raises(ConfigError, match="KCHECK_TODAY=2026-13-01: give a day, such as KCHECK_TODAY=2026-11-22"):
        today()


@pytest.mark.parametrize(("day", "is_over", "days"), [(21, True, 2), (22, True, 1), (23, False, 0), (25, False, -2)])
def test_days_that_have_come_count_that_day_too(
    day: int, is_over: bool, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "2026-11-22")
    there = DAY.replace(day=day)
    assert (has_come(there), days_since(there)) == (is_over, days)
