"""The day of a run: the one place that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.config import ConfigError
from kcheck.text.files import system

if TYPE_CHECKING:
    import datetime

VARIABLE = "KCHECK_TODAY"
"""An environment variable: the day to judge by, so that a run can be repeated."""


def today() -> datetime.date:
    """The day to judge by: KCHECK_TODAY, else today in UTC.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
    """
    return _stated() or system.day()


def has_come(day: datetime.date) -> bool:
    """Whether a day has come; a result that depends on this alone holds as long as the answer does.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
    """
    stated = _stated()
    return system.has_come(day) if stated is None else stated >= day


def days_since(day: datetime.date, notice: int) -> int:
    """Days since a day, that day too; zero or less before it.

    A result is taken to depend only on whether these are more than 0, and more than -`notice`. Who looks at the number
    itself asks for `today`, too.

    Raises:
        ConfigError: KCHECK_TODAY is no day.
    """
    stated = _stated()
    return system.days_since(day, (0, -notice)) if stated is None else (stated - day).days + 1


def _stated() -> datetime.date | None:
    """KCHECK_TODAY; None if it is not set.

    Raises:
        ConfigError: it is no day.
    """
    import datetime

    text = system.variable(VARIABLE)
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError as error:
        raise ConfigError(f"{VARIABLE}={text}: give a day, such as {VARIABLE}=2026-11-22") from error
