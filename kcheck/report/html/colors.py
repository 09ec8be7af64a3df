"""The colours of pages and pictures, light and dark; text has a contrast of at least 4.5 to what it stands on."""

from __future__ import annotations

from kcheck.text.regex import regex

LIGHT = {
    "page": "#ffffff", "soft": "#f4f4f5", "text": "#18181b", "ink": "#52525b", "grid": "#a1a1aa", "rule": "#d4d4d8",
    "link": "#1d4ed8", "mark": "#fde68a", "error": "#b91c1c", "warning": "#92400e", "info": "#1e40af",
    "good": "#166534", "error-soft": "#fef2f2", "warning-soft": "#fffbeb", "info-soft": "#eff6ff",
    "good-soft": "#f0fdf4", "added": "#dcfce7", "removed": "#fee2e2", "used": "#2563eb",
    "idle": "#ea580c", "start": "#7c8799", "unknown": "#a1a1aa", "line0": "#2563eb", "line1": "#ea580c",
    "line2": "#16a34a", "line3": "#9333ea", "line4": "#0891b2",
}  # fmt: skip
DARK = {
    "page": "#18181b", "soft": "#27272a", "text": "#fafafa", "ink": "#b4b4bd", "grid": "#71717a", "rule": "#3f3f46",
    "link": "#93c5fd", "mark": "#713f12", "error": "#fca5a5", "warning": "#fcd34d", "info": "#93c5fd",
    "good": "#86efac", "error-soft": "#3b1a1d", "warning-soft": "#382a12", "info-soft": "#1a2844",
    "good-soft": "#152e1e", "added": "#14442a", "removed": "#5b2126", "used": "#60a5fa",
    "idle": "#fb923c", "start": "#8b93a3", "unknown": "#71717a", "line0": "#60a5fa", "line1": "#fb923c",
    "line2": "#4ade80", "line3": "#c084fc", "line4": "#22d3ee",
}  # fmt: skip
_VARIABLE = regex(r"var\(--([\w-]+)\)")


def variables() -> str:
    """The colours as variables of CSS: those of the dark where the reader's system is dark, but never on paper."""
    light, dark = (";".join(f"--{name}:{color}" for name, color in own.items()) for own in (LIGHT, DARK))
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def inlined(css: str) -> str:
    """Rules with colours instead of variables, which few programs but browsers know; then those of the dark."""
    return f"{_colored(css, LIGHT)}@media screen and (prefers-color-scheme:dark){{{_colored(css, DARK)}}}\n"


def _colored(css: str, own: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda match: own[match[1]], css)
