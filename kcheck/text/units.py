"""Format and parse numbers with the usual units."""

from collections.abc import Sequence
from fractions import Fraction

from kcheck.text.regex import regex

_DURATION = regex(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_LONGEST = (2**63 - 1) // 10**9
"""Seconds of Go's longest duration: 292 years in nanoseconds."""
GIB_IN_TIB = 1024
_SECONDS: dict[str, int | Fraction] = {"h": 3600, "m": 60, "s": 1, "ms": Fraction(1, 1000)}


def decimal_number(number: Fraction) -> float:
    """Convert to a float, or to an int if too large for a float."""
    try:
        return float(number)
    except OverflowError:
        return round(number)


def as_text(value: object) -> str:
    """Format a value as in labels, flags and expressions: true, 0.5."""
    if type(value) is not str and isinstance(value, Fraction):  # as Terraform has numbers
        return str(decimal_number(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def data_text(value: object) -> str:
    """Format a value like YAML in braces, without quotes, for people."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {data_text(inner)}' for name, inner in value.items())}}}"
    return f"[{', '.join(map(data_text, value))}]" if isinstance(value, list) else as_text(value)


_MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """Parse decimal digits of at most 64 bits; None for other texts."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def part_of(whole: int, text: str) -> int:
    """Return a number, or a percentage of a whole, rounded up."""
    number = whole_number(text.removesuffix("%"))
    if number is None:
        return whole
    return -(-whole * number // 100) if text.endswith("%") else number


_MINOR = regex(r"v?1\.(\d{1,9})(?:\D|$)")


def minor_version(text: str) -> int | None:
    """Parse the minor version in `1.33` or `v1.33.2`; else None."""
    match = _MINOR.match(text)
    return int(match[1]) if match else None


def shown(value: object, unit: str = "") -> str:
    """Format a value for a message: separators, minutes, joined lists."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _SHOWN.get(unit, "{:,}".format)(value)
    if isinstance(value, float):
        return f"{value:,.1f}"
    return ", ".join(shown(item, unit) for item in value) if isinstance(value, list) else str(value)


def counted(number: int, word: str, plural: str = "") -> str:
    """Format a number with its noun: `1 node`, `1,200 nodes`."""
    return f"{number:,} {word if number == 1 else plural or f'{word}s'}"


def listed(words: Sequence[str]) -> str:
    """Join words: one, two and three."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def clipped(text: str, most: int) -> str:
    """Cut a text to a number of characters, with three dots if it was longer."""
    return text if len(text) <= most else f"{text[:most]}..."


def some(words: Sequence[str], most: int, what: str = "") -> str:
    """Join the first words and count the rest: a, b and 3 more."""
    more = f" and {len(words) - most:,} more{what and f' {what}'}" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"


_NOUN = regex(
    r"( (?:(?!of|in|to|for|at|and|or|x)[\w-]+ ){0,3}?)"
    r"(nodes|pods|GPUs|TPUs|accelerators|pools|zones|addresses|machines|workers|processes|replicas|jobs|queues|classes|priorities"
    r"|services|Services|containers|images|pulls|copies|subnets|disks|interfaces|ports|loops|rounds|writes|reads|cards"
    r"|slices|types|requests|volumes|seconds|minutes|hours|days|files|clusters|workloads|cores|vCPUs|routes|blocks|templates|batches)\b"
)


def singular(text: str) -> str:
    """Make the noun at the end of a text singular, for use after the number 1."""
    return _NOUN.sub(lambda match: match[1] + _one(match[2]), text, count=1) if _NOUN.match(text) else text


def _one(noun: str) -> str:
    """Return the singular of a noun."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("sses", "ches")) else noun[:-1]


def round_up(count: int) -> int:
    """Round up a count: 37 to 40, 616 to 620, 1,234 to 1,250; small ones stay."""
    step = 1 if count <= 20 else 5 if count <= 100 else 10 if count <= 1_000 else 50
    return -(-count // step) * step


def readable(seconds: int) -> str:
    """Format seconds: 30 s, 10 min, 2 h; rounded to minutes from two minutes on."""
    if seconds < 120 and (seconds % 60 or not seconds):
        return f"{seconds} s"
    if seconds >= 7200 and seconds % 3600 == 0:
        return f"{seconds // 3600} h"
    return f"{round(seconds / 60):,} min"


def dollars(mills: int | Fraction) -> str:
    """Format thousandths of a dollar, with cents if they matter: 5,000, 55.04, 5."""
    cents = round(mills / Fraction(10))
    return f"{cents / 100:.2f}" if cents % 100 and cents < 10_000 else f"{cents / 100:,.0f}"


def duration(seconds: int) -> str:
    """Format seconds as a Go duration with one unit: 5m, 90s, 1h."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def seconds(text: str) -> int:
    """Parse a Go duration in whole seconds, or raise ValueError."""
    return int(exact_seconds(text))


def exact_seconds(text: str) -> Fraction:
    """Parse a Go duration in seconds, or raise ValueError."""
    parts = _DURATION.findall(text)
    if text == "0":
        return Fraction(0)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"`{text}` is not a duration such as 10m or 30s")
    found = sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))
    if found > _LONGEST:
        raise ValueError(f"`{text}` is too long for a Go duration")
    return found


_QUANTITY = regex(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([numkMGTPE]i?|Ki)?)")
_MOST_QUANTITY = Fraction(2**63 - 1)
_POWERS = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def quantity(text: str) -> Fraction:
    """Parse a Kubernetes quantity such as `500m` or `2Gi` exactly.

    Raises ValueError if it is not one.
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
    """Format bytes: 64Mi, 1.5Gi."""
    for suffix, power in (("Ti", 4), ("Gi", 3), ("Mi", 2), ("Ki", 1)):
        if count >= 1024**power:
            return f"{count / 1024**power:.3g}{suffix}"
    return str(count)


def cores(millicores: int) -> str:
    """Format millicores in cores: 4, 0.5."""
    return f"{millicores / 1000:g}"


def node_hours(node_seconds: int) -> str:
    """Format node-seconds: 1 node-hour, 1.5 node-hours, 167 node-hours."""
    hours = Fraction(node_seconds, 3600)
    text = f"{float(round(hours, 1)):g}" if hours < 10 else f"{round(hours):,}"
    return f"{text} node-hour{'s' * (text != '1')}"


def money(mills: int) -> str:
    """Format thousandths of a dollar: $4,908."""
    return f"${dollars(mills)}"


def rough(number: float) -> int:
    """Round an estimate to three significant digits."""
    step: int = 10 ** max(0, len(str(abs(round(number)))) - 3)
    return round(number / step) * step


def between(low: str, high: str) -> str:
    """Format two texts of one unit as a range, once if equal."""
    number, _, unit = low.removesuffix("s").rpartition(" ")
    is_shared = number and high.endswith((f" {unit}", f" {unit}s"))
    return low if low == high else f"{number if is_shared else low} to {high}"


_SHOWN = {
    "seconds": readable, "whole seconds": readable, "memory": size, "millicores": cores, "node-seconds": node_hours,
    "mills": money,
}  # fmt: skip
"""Formatters by unit; other numbers are formatted plainly."""
