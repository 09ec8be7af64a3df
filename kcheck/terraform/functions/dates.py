"""Functions of dates, except those that need the clock."""

import re
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import NamedTuple

from kcheck.terraform.functions.signature import Table, text
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError

TABLE = Table()

_TIMESTAMP = regex(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])([01]\d|2[0-4]):([0-5]\d|60))", re.ASCII
)
_LENIENT = regex(r".*(T\d:|,|:60$|[+-]24:).*")
_DURATION = regex(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_LONGEST = 1_000
_VERB = regex(r"''|'([^'](?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'")


class _Time(NamedTuple):
    """A time of any year: within 400 years, which repeat, and its zone."""

    local: datetime
    rounds: int
    offset: timedelta

    @property
    def year(self) -> str:
        year = self.local.year + 400 * self.rounds
        return f"{year:0{4 + (year < 0)}d}"

    @property
    def zone(self) -> str:
        return timezone(self.offset).tzname(None).removeprefix("UTC") or "+00:00"


def _parsed(value: str, *, lenient: bool = False) -> tuple[_Time, int]:
    """Parse an RFC 3339 timestamp into seconds precision and nanoseconds."""
    match = _TIMESTAMP.fullmatch(value)
    if match is None or (_LENIENT.fullmatch(value) and not lenient):
        raise EvaluationError(f'"{value}" is not a timestamp such as 2026-01-31T12:00:00Z')
    year, *numbers, fraction, _utc, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        local = datetime(2000 + int(year) % 400, *map(int, numbers), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError as error:
        raise EvaluationError(f'"{value}" is not a timestamp: {error}') from error
    time = _Time(local, int(year) // 400 - 5, -offset if sign == "-" else offset)
    return time, int(((fraction or "") + "0" * 9)[:9])


@TABLE.function(text, text)
def _timeadd(value: str, duration: str) -> str:
    time, nanoseconds = _parsed(value)
    if len(duration) > _LONGEST:
        raise EvaluationError("timeadd(): the duration has too many digits")
    bare = duration.lstrip("+-") if duration[:1] in ("+", "-") else duration
    parts = _DURATION.findall(bare)
    total = sum(Fraction(number) * _NANOSECONDS[unit] for number, unit in parts)
    if total >= 1 << 63 or (bare != "0" and (not parts or "".join(number + unit for number, unit in parts) != bare)):
        raise EvaluationError(f'"{duration}" is not a duration such as 10m or 1h30m')
    seconds = (nanoseconds + int(-total if duration[:1] == "-" else total)) // 10**9
    sum_ = time._replace(local=time.local + timedelta(seconds=seconds))
    return f"{sum_.year}-{sum_.local:%m-%dT%H:%M:%S}{sum_.zone.replace('+00:00', 'Z')}"


@TABLE.function(text, text, bits=64)
def _timecmp(first: str, second: str) -> int:
    (a, nanoseconds), (b, others) = (_parsed(value, lenient=True) for value in (first, second))
    apart = a.local - a.offset - b.local + b.offset + timedelta(days=146_097 * (a.rounds - b.rounds))
    order = apart // timedelta(seconds=1) or nanoseconds - others
    return (order > 0) - (order < 0)


@TABLE.function(text, text)
def _formatdate(layout: str, value: str) -> str:
    time, _ = _parsed(value)
    parts = []
    for match in _VERB.finditer(layout):
        if match[0] == "'":
            raise EvaluationError("formatdate(): a quote is not closed")
        if match[1] is not None:
            parts.append(match[1].replace("''", "'"))
        else:
            parts.append(_verb(match[0], time) if match[2] else match[0].replace("''", "'"))
    return "".join(parts)


def _verb(verb: str, moment: _Time) -> str:
    """Format one verb of a layout like go-cty's formatdate."""
    time, colon, year = moment.local, moment.zone, moment.year
    month, day = f"{time:%B}", f"{time:%A}"
    hour = time.hour % 12 or 12
    half = "AM" if time.hour < 12 else "PM"
    zone = colon.replace(":", "")
    known = {
        "YYYY": year, "YY": year[-2:], "MMMM": month, "MMM": month[:3],
        "MM": f"{time.month:02d}", "M": str(time.month), "DD": f"{time.day:02d}", "D": str(time.day), "EEEE": day,
        "EEE": day[:3], "hh": f"{time.hour:02d}", "h": str(time.hour), "HH": f"{hour:02d}", "H": str(hour),
        "AA": half, "aa": half.lower(), "mm": f"{time.minute:02d}", "m": str(time.minute), "ss": f"{time.second:02d}",
        "s": str(time.second), "ZZZZZ": colon, "ZZZZ": zone,
        "ZZZ": zone if moment.offset else "UTC", "Z": colon if moment.offset else "Z",
    }  # fmt: skip
    if verb not in known:
        raise EvaluationError(f'formatdate() does not know "{verb}"')
    return known[verb]
