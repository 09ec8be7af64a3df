"""Functions of dates, except those that need the clock."""

import re
from datetime import datetime, timedelta, timezone
from fractions import Fraction

from kcheck.terraform.functions.signature import Table, text
from kcheck.text.need import NotKnown
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Unknown

TABLE = Table()

_TIMESTAMP = regex(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:(Z)|([+-])(\d\d):(\d\d))", re.ASCII)
_DURATION = regex(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_LONGEST = 1_000
_VERB = regex(r"''|'([^'](?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'")


def _parsed(value: str) -> tuple[datetime, int]:
    """Parse an RFC 3339 timestamp into seconds precision and nanoseconds."""
    match = _TIMESTAMP.fullmatch(value)
    if match is None:
        raise EvaluationError(f'"{value}" is not a timestamp such as 2026-01-31T12:00:00Z')
    *numbers, fraction, _utc, sign, hours, minutes = match.groups()
    try:
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        zone = timezone(-offset if sign == "-" else offset)
        return datetime(*map(int, numbers), tzinfo=zone), int(((fraction or "") + "0" * 9)[:9])  # type: ignore[arg-type, misc]
    except (ValueError, OverflowError) as error:
        raise EvaluationError(f'"{value}" is not a timestamp: {error}') from error


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
    try:
        return (time + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    except OverflowError as error:
        raise NotKnown(Unknown("timeadd(): the result is outside the years 1 to 9999")) from error


@TABLE.function(text, text, bits=64)
def _timecmp(first: str, second: str) -> int:
    a, b = _parsed(first), _parsed(second)
    return (a > b) - (a < b)


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


def _verb(verb: str, time: datetime) -> str:
    """Format one verb of a layout like go-cty's formatdate."""
    month, day = f"{time:%B}", f"{time:%A}"
    hour = time.hour % 12 or 12
    half = "AM" if time.hour < 12 else "PM"
    zone = f"{time:%z}"[:5]
    colon = f"{zone[:3]}:{zone[3:]}"
    known = {
        "YYYY": f"{time.year:04d}", "YY": f"{time.year % 100:02d}", "MMMM": month, "MMM": month[:3],
        "MM": f"{time.month:02d}", "M": str(time.month), "DD": f"{time.day:02d}", "D": str(time.day), "EEEE": day,
        "EEE": day[:3], "hh": f"{time.hour:02d}", "h": str(time.hour), "HH": f"{hour:02d}", "H": str(hour),
        "AA": half, "aa": half.lower(), "mm": f"{time.minute:02d}", "m": str(time.minute), "ss": f"{time.second:02d}",
        "s": str(time.second), "ZZZZZ": colon, "ZZZZ": zone,
        "ZZZ": zone if time.utcoffset() else "UTC", "Z": colon if time.utcoffset() else "Z",
    }  # fmt: skip
    if verb not in known:
        raise EvaluationError(f'formatdate() does not know "{verb}"')
    return known[verb]
