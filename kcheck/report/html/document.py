"""Whole pages and pictures: self-contained, no network, all text escaped.

All text goes through templates that escape it and show hidden characters; only output of templates is markup.
"""

from __future__ import annotations

import textwrap
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from kcheck import __version__
from kcheck.config.config import today
from kcheck.text.control_characters import visible
from kcheck.text.regex import regex
from kcheck.text.units import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jinja2 import Environment
    from markupsafe import Markup

_POLICY = "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'"

_WIDTH, _LINE = 760, 110
"""Width of a standalone picture in pixels, and characters per line of its text."""
_LONGEST = 2_000


class Picture(NamedTuple):
    """An inline SVG as wide as its container; `height` in pixels."""

    svg: Markup
    height: int


class Section(NamedTuple):
    """A section of a page; `name` is the anchor of links to it."""

    title: str
    body: Markup
    name: str


class Number(NamedTuple):
    """A headline number with its label; `is_bad` marks wasted money."""

    text: str
    what: str
    is_bad: bool = False


class Head(NamedTuple):
    """Top of a page: title, subtitle, and headline content."""

    title: str
    line: str = ""
    body: Markup | str = ""


def page(head: Head, sections: Iterable[Section], footer: Iterable[str] = (), *, is_filtered: bool = False) -> str:
    """Render a page; only one that `is_filtered` has a script."""
    style = _variables() + _bundled("chart.css") + _bundled("style.css")
    style += _bundled("findings.css") if is_filtered else ""
    script = _bundled("script.js") if is_filtered else ""
    policy = _POLICY if script else _POLICY.replace("script-src '{script}'; ", "")
    made = markup(
        "page.html", head=head, sections=list(sections), footer=[f"kcheck {__version__}, {today()}", *footer],
        policy=policy.format(script=_hash(script), style=_hash(style)), style=trusted(style), script=trusted(script),
    )  # fmt: skip
    return f"{made}\n"


def picture(own: Picture, heading: str, text: str = "") -> str:
    """Render a picture of a page as a standalone SVG."""
    css, lines = _bundled("chart.css"), textwrap.wrap(text, _LINE)
    dark = f"@media screen and (prefers-color-scheme:dark){{{_colored(css, DARK)}}}\n"
    style = trusted(_colored(css, LIGHT) + dark)
    return f"{markup('picture.svg', picture=own, heading=heading, lines=lines, width=_WIDTH, style=style)}\n"


def markup(template: str, **context: object) -> Markup:
    """Render a template; all values but markup are escaped."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(context).strip())  # noqa: S704 - it escapes


def contents(label: str, parts: Sequence[tuple[str, str]]) -> Markup | str:
    """Render links to sections; empty for fewer than two."""
    return markup("contents.html", label=label, parts=parts) if len(parts) > 1 else ""


def numbers(found: Sequence[Number]) -> Markup | str:
    """Render the headline numbers."""
    return markup("numbers.html", numbers=found) if found else ""


def round_step(least: float) -> int:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least `least`."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if step >= least:
                return step
        size *= 10


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: _bundled(f"templates/{name}")), autoescape=True, finalize=_finalized,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"commas": "{:,}".format, "addresses": regex(r"(https://[^\s()]*[\w/])").split}
    return environment


def _finalized(value: object) -> object:
    """Escape hidden characters of a text and cut it; pass markup through."""
    return value if hasattr(value, "__html__") else visible(clipped(str(value), _LONGEST))


@cache
def _bundled(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def trusted(text: str) -> Markup:
    """Mark a text as safe markup."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own


def _hash(text: str) -> str:
    """Return the hash by which a Content Security Policy allows an inlined text."""
    from base64 import b64encode
    from hashlib import sha256

    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


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


def _variables() -> str:
    """Define the colours as CSS variables, dark if the system is."""
    light, dark = (";".join(f"--{name}:{color}" for name, color in own.items()) for own in (LIGHT, DARK))
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def _colored(css: str, own: dict[str, str]) -> str:
    """Replace CSS variables with their colours, for other programs."""
    return _VARIABLE.sub(lambda match: own[match[1]], css)
