"""Numbers as people read them."""

from __future__ import annotations

from typing import Any


def shown(value: Any, unit: str = "") -> str:
    """A value in a message: thousands separated, seconds as minutes, lists joined."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return readable(value) if unit == "seconds" else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list):
        return ", ".join(shown(item, unit) for item in value)
    return str(value)


def readable(seconds: int) -> str:
    """Seconds as people say them: 30 s, 10 min, 2 h; minutes are rounded from two of them on."""
    if seconds < 120 and seconds % 60:
        return f"{seconds} s"
    if seconds >= 7200 and seconds % 3600 == 0:
        return f"{seconds // 3600} h"
    return f"{round(seconds / 60):,} min"


def duration(seconds: int) -> str:
    """Seconds as a Go duration with one unit: 5m, 90s, 1h."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
