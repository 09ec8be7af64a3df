"""Numbers in the units that people write and read."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

_DURATION = regex(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_LONGEST = (2**63 - 1) // 10**9
"""Seconds of the longest duration of Go: 292 years in nanoseconds."""
GIB_IN_TIB = 1024
_SECONDS: dict[str, int | Fraction] = {"h": 3600, "m": 60, "s": 1, "ms": Fraction(1, 1000)}


def decimal_number(number: Fraction) -> float:
    """The number as a float, or as a whole number where floats end."""
    try:
        return float(number)
    except OverflowError:
        return round(number)


def as_text(value: object) -> str:
    """A value as labels, flags and expressions have it as text: true, 0.5."""
    if isinstance(value, Fraction):  # as Terraform has numbers
        return str(decimal_number(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def data_text(value: object) -> str:
    """A value as YAML has it in braces, without quotes: for people."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {data_text(inner)}' for name, inner in value.items())}}}"
    return f"[{', '.join(map(data_text, value))}]" if isinstance(value, list) else as_text(value)


_MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """The number that decimal digits stand for; None for other texts, and for more digits than 64 bits hold."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


_MINOR = regex(r"v?1\.(\d{1,9})(?:\D|$)")


def minor_version(text: str) -> int | None:
    """The minor version in `1.33`, `v1.33.2` or `1.33.5-gke.1`, as Kubernetes and its parts write them; else None."""
    match = _MINOR.match(text)
    return int(match[1]) if match else None


def shown(value: object, unit: str = "") -> str:
    """A value in a message: thousands separated, seconds as minutes, lists joined."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _SHOWN.get(unit, "{:,}".format)(value)
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list):
        return ", ".join(shown(item, unit) for item in value)
    return str(value)


def counted(number: int, word: str, plural: str = "") -> str:
    """How many there are of something: `1 node`, `1,200 nodes`."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"


def listed(words: Sequence[str]) -> str:
    """One, two and three."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def clipped(text: str, most: int) -> str:
    """A text without what is beyond so many characters, with three dots for that."""
    return text if len(text) <= most else f"{text[:most]}..."


def some(words: Sequence[str], most: int, what: str = "") -> str:
    """The first of some words, and how many more there are: a, b and 3 more."""
    more = f" and {len(words) - most:,} more{what and f' {what}'}" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"


_NOUN = regex(
    r"( (?:(?!of|in|to|for|at|and|or|x)[\w-]+ ){0,2})"
    r"(nodes|pods|GPUs|TPUs|accelerators|pools|zones|addresses|machines|workers|processes|replicas|jobs|queues|classes|priorities"
    r"|services|Services|containers|images|pulls|copies|subnets|disks|interfaces|ports|loops|rounds|writes|reads|cards"
    r"|slices|types|requests|volumes|seconds|minutes|hours|days|files|clusters|workloads|cores|vCPUs|routes|blocks|templates|batches)\b"
)


def singular(text: str) -> str:
    """What follows the number 1 in a sentence, its noun in the singular."""
    return _NOUN.sub(lambda match: match[1] + _one(match[2]), text, count=1) if _NOUN.match(text) else text


def _one(noun: str) -> str:
    """The singular of a noun."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("sses", "ches")) else noun[:-1]


def round_up(count: int) -> int:
    """A rounded-up count: 37 as 40, 616 as 620, 1,234 as 1,250; small ones unchanged."""
    step = 1 if count <= 20 else 5 if count <= 100 else 10 if count <= 1_000 else 50
    return -(-count // step) * step


def readable(seconds: int) -> str:
    """Readable seconds: 30 s, 10 min, 2 h; rounded to minutes from two minutes on."""
    if seconds < 120 and (seconds % 60 or not seconds):
        return f"{seconds} s"
    if seconds >= 7200 and seconds % 3600 == 0:
        return f"{seconds // 3600} h"
    return f"{round(seconds / 60):,} min"


def dollars(mills: int | Fraction) -> str:
    """An amount of thousandths of a dollar, with cents where they matter: 5,000, 55.04, 5."""
    cents = round(mills / Fraction(10))
    return f"{cents / 100:.2f}" if cents % 100 and cents < 10_000 else f"{cents / 100:,.0f}"


def duration(seconds: int) -> str:
    """Seconds as a Go duration with one unit: 5m, 90s, 1h."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def seconds(text: str) -> int:
    """A Go duration such as `10m` or `1h30m` in whole seconds.

    Raises:
        ValueError: it is not a duration.
    """
    return int(exact_seconds(text))


def exact_seconds(text: str) -> Fraction:
    """A Go duration such as `1m30s` or `500ms` in seconds.

    Raises:
        ValueError: it is not a duration.
    """
    parts = _DURATION.findall(text)
    if text == "0":
        return Fraction(0)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"`{text}` is not a duration such as 10m or 30s")
    found = sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))
    if found > _LONGEST:
        raise ValueError(f"`{text}` is longer than a duration of Go can be")
    return found


_QUANTITY = regex(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([numkMGTPE]i?|Ki)?)")
_MOST_QUANTITY = Fraction(2**63 - 1)
_POWERS = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def quantity(text: str) -> Fraction:
    """A quantity of Kubernetes, such as `500m`, `1.5` or `2Gi`, exactly; a larger one than 64 bits hold is their most.

    Raises:
        ValueError: it is not one.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or match[3] in ("ni", "ui", "mi", "ki"):
        raise ValueError(f"`{text}` is not a quantity such as 500m or 2Gi")
    number, exponent, suffix = Fraction(match[1]), match[2], match[3] or ""
    if exponent:
        found = number * Fraction(10) ** int(exponent)
    else:
        found = number * Fraction(1024 if suffix.endswith("i") else 1000) ** _POWERS[suffix[:1]]
    return max(-_MOST_QUANTITY, min(found, _MOST_QUANTITY))


def size(count: int) -> str:
    """Bytes as people write them: 64Mi, 1.5Gi."""
    for suffix, power in (("Ti", 4), ("Gi", 3), ("Mi", 2), ("Ki", 1)):
        if count >= 1024**power:
            return f"{count / 1024**power:.3g}{suffix}"
    return str(count)


def cores(millicores: int) -> str:
    """Millicores as people say them: 4, 0.5."""
    return f"{millicores / 1000:g}"


def node_hours(node_seconds: int) -> str:
    """Seconds of nodes as people pay them: 1.5 node-hours, 167 node-hours."""
    hours = Fraction(node_seconds, 3600)
    return f"{float(round(hours, 1)):g} node-hours" if hours < 10 else f"{round(hours):,} node-hours"


def money(mills: int) -> str:
    """Thousandths of a dollar: $4,908."""
    return f"${dollars(mills)}"


def rough(number: float) -> int:
    """A number with three significant digits, as estimates have."""
    step: int = 10 ** max(0, len(str(abs(round(number)))) - 3)
    return round(number / step) * step


def between(low: str, high: str) -> str:
    """Two texts of one unit as a range: 2 to 9 node-hours, $5 to $7; one of them where they are the same."""
    unit = low.rpartition(" ")[2]
    if low == high:
        return low
    return f"{low.removesuffix(f' {unit}')} to {high}" if high.endswith(f" {unit}") else f"{low} to {high}"


_SHOWN = {
    "seconds": readable, "whole seconds": readable, "memory": size, "millicores": cores, "node-seconds": node_hours,
    "mills": money,
}  # fmt: skip
"""How numbers of a unit are written, where not as a number alone."""
