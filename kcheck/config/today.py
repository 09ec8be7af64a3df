"""The day of a run: the one place that knows it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.config.config import ConfigError

if TYPE_CHECKING:
    import datetime

VARIABLE = "KCHECK_TODAY"
"""An environment variable: the day to judge by, so that a run can be repeated."""


def today() -> datetime.date:
    """Return the day to judge by: KCHECK_TODAY, else today in UTC.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
    """
    import datetime

    text = os.environ.get(VARIABLE)
    try:
        return datetime.date.fromisoformat(text) if text else datetime.datetime.now(datetime.UTC).date()
    except ValueError as error:
        raise ConfigError(f"{VARIABLE}={text}: give a day, such as {VARIABLE}=2026-11-22") from error


def has_come(day: datetime.date) -> bool:
    """Return whether a day has come.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
    """
    return today() >= day


def days_since(day: datetime.date) -> int:
    """Count the days since a day, that day too; zero or less before it.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
    """
    return (today() - day).days + 1
