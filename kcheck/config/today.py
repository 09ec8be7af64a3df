"""The date to judge by; the only place that reads it."""

import datetime
import os

from kcheck.config.config import ConfigError

VARIABLE = "KCHECK_TODAY"
"""Environment variable with the date to judge by, so that a run can be repeated."""


def today() -> datetime.date:
    """Return the date to judge by: KCHECK_TODAY, else today in UTC. Raises ConfigError if KCHECK_TODAY is no date."""
    import datetime

    text = os.environ.get(VARIABLE)
    try:
        return datetime.date.fromisoformat(text) if text else datetime.datetime.now(datetime.UTC).date()
    except ValueError as error:
        raise ConfigError(f"{VARIABLE}={text}: give a day, such as {VARIABLE}=2026-11-22") from error


def has_come(day: datetime.date) -> bool:
    """Whether a date has come."""
    return today() >= day


def days_since(day: datetime.date) -> int:
    """Count the days since a date, including that day; zero or less before it."""
    return (today() - day).days + 1
