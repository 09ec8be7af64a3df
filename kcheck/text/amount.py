"""Numbers with bounds."""

from __future__ import annotations

from msgspec import Struct

from kcheck.text.values import Known, Origin, Unknown, Value, because


class Amount(Struct, frozen=True):
    """A number from `low` to `high`; `why` explains different bounds.

    `origin` is where the number comes from, if not from the object it describes.
    """

    low: int = 0
    high: int | None = None
    why: Unknown | None = None
    origin: Origin | None = None

    @property
    def exact(self) -> int | None:
        """The number if both bounds are equal, else None."""
        return self.low if self.low == self.high else None

    @property
    def is_open(self) -> bool:
        """Whether nothing is known of the number."""
        return not self.low and self.high is None

    def __add__(self, other: Amount) -> Amount:
        """Add two amounts; without an upper bound if one has none."""
        high = None if self.high is None or other.high is None else self.high + other.high
        return Amount(self.low + other.low, high, self.why or other.why)

    def __sub__(self, other: Amount) -> Amount:
        """Subtract an amount, down to 0."""
        low = 0 if other.high is None else max(0, self.low - other.high)
        return Amount(low, None if self.high is None else max(0, self.high - other.low), self.why or other.why)

    def __mul__(self, other: Amount) -> Amount:
        """Multiply by an amount; without an upper bound if one of the two has none."""
        high = None if self.high is None or other.high is None else self.high * other.high
        return Amount(self.low * other.low, high, self.why or other.why)

    def below(self, other: Amount) -> bool | None:
        """Whether this number is less than another; None if the two may be equal."""
        if self.high is not None and self.high < other.low:
            return True
        return False if other.high is not None and self.low >= other.high else None

    def value(self, origin: Origin) -> Value[int]:
        """Return the number as a value; Unknown if it is not exact."""
        if self.exact is not None:
            return Known(self.low, self.origin or origin)
        why, ends = self.why or Unknown(""), None if self.is_open else (self.low, self.high)
        return Unknown(why.reason, self.origin or why.origin or origin, cause=why.cause, between=ends)

    @property
    def short(self) -> str:
        """The number for a column: 120, 100-140, 100+ or ?."""
        if self.exact is not None:
            return f"{self.low:,}"
        if self.high is None:
            return f"{self.low:,}+" if self.low else "?"
        return f"{self.low:,}-{self.high:,}"

    def __str__(self) -> str:
        if self.exact is not None:
            return f"{self.low:,}"
        if self.high is None:
            return f"at least {self.low:,}" if self.low else "unknown"
        return f"at most {self.high:,}" if not self.low else f"{self.low:,} to {self.high:,}"


def exactly(number: int) -> Amount:
    """Return the amount for an exact number."""
    return Amount(number, number)


def amount_of(value: Value[int]) -> Amount:
    """Return a value as an amount; an unknown one with its bounds, if known."""
    if isinstance(value, Known):
        return exactly(value.value)
    low, high = (value.between if isinstance(value, Unknown) else None) or (0, None)
    return Amount(low, high, because(value, value.origin))
