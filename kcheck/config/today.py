"""The day of a run: the one place that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.config import ConfigError
from kcheck.files import system

if TYPE_CHECKING:
    import datetime

VARIABLE = "KCHECK_TODAY"
"""An environment variable: the day to judge by, so that a run can be repeated."""


def today() -> datetime.date:
    """The day to judge by: KCHECK_TODAY, else today in UTC.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
    """
    import datetime

    text = system.variable(VARIABLE) or ""
    if not text:
        return system.day()
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"{VARIABLE}={text}: give a day, such as {VARIABLE}=2026-11-22") from error


def days_since(day: datetime.date) -> int:
    """Days since a day, the day itself too; zero or less before it."""
    return (today() - day).days + 1
