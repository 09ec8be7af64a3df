"""A number known between bounds."""

from __future__ import annotations

from typing import NamedTuple

from kcheck.text.values import Origin, Unknown


class Interval(NamedTuple):
    """A number between two bounds; `high` is None without an upper bound."""

    low: int
    high: int | None

    @property
    def exact(self) -> int | None:
        """The number if both bounds are equal, else None."""
        return self.low if self.low == self.high else None

    def below(self, other: Interval) -> bool | None:
        """Whether this number is less than another; None if the intervals overlap."""
        if self.high is not None and self.high < other.low:
            return True
        return False if other.high is not None and self.low >= other.high else None

    def __str__(self) -> str:
        if self.exact is not None:
            return f"{self.low:,}"
        if self.high is None:
            return f"at least {self.low:,}"
        return f"at most {self.high:,}" if not self.low else f"{self.low:,} to {self.high:,}"


class Bounded(Unknown, kw_only=True):
    """An unknown number between two bounds."""

    bounds: Interval


def bounded(why: Unknown, origin: Origin | None, bounds: Interval) -> Bounded:
    """Return a number between bounds that is not known exactly because of another value."""
    return Bounded(why.reason, origin, cause=why.cause, bounds=bounds)
