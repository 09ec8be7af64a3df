"""Parse a page as a browser would: its elements, its text, and anything in it that is not kcheck's own."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import NamedTuple

VOID = {"br", "input", "link", "meta"}
INLINE = {"a", "b", "code", "mark", "small", "span", "strong", "tspan"}
SHAPES = {"circle", "g", "line", "path", "rect", "use"}
GLOBAL = {"class", "id"}
_AREA = {"aria-label", "role", "tabindex"}
PLAIN = (
    "html", "head", "body", "title", "header", "main", "footer", "h1", "h2", "h3", "h4", "p", "b", "strong", "small", "ul",
    "li", "dl", "dt", "dd", "code", "mark", "span", "summary", "figure", "style", "script", "aside", "label", "fieldset",
    "legend", "caption", "figcaption", "tfoot", "br", "desc", "tspan",
)  # fmt: skip
ALLOWED: dict[str, set[str]] = {
    **{tag: set() for tag in PLAIN},
    "html": {"lang"}, "meta": {"charset", "http-equiv", "content", "name"}, "section": {"aria-labelledby"},
    "article": {"data-severity", "data-rule", "data-path", "data-clusters", "data-waste"}, "div": _AREA, "nav": {"aria-label"},
    "details": {"open"}, "pre": _AREA, "a": {"href", "aria-label"}, "form": {"role", "aria-label", "hidden"},
    "input": {"type", "name", "value", "checked", "placeholder", "autocomplete"}, "select": set(), "option": {"value"},
    "optgroup": {"label"}, "output": {"aria-live"}, "button": {"type"}, "table": {"role", "aria-label"}, "thead": {"role"},
    "tbody": {"role"}, "tr": {"role"}, "th": {"scope", "role", "data-label", "title"}, "td": {"role", "data-label"},
    "svg": {"width", "height", "role", "aria-labelledby", "x", "y", "overflow", "xmlns", "viewbox", "preserveaspectratio"},
    "text": {"x", "y", "text-anchor"}, "g": set(), "rect": {"x", "y", "width", "height"},
    "line": {"x1", "x2", "y1", "y2"}, "path": {"d", "fill"}, "circle": {"cx", "cy", "r"},
}  # fmt: skip
"""Every element that kcheck writes, with its attributes other than class and id."""
_DRAWN = {
    "fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "stroke-dashoffset",
    "clip-path", "transform", "font-size", "font-family", "x", "y", "xlink:href",
}  # fmt: skip
PLOTTED = ("defs", "clippath", "g", "path", "use", "text", "rect")
"""Elements of a plot drawn by matplotlib."""
LINK = re.compile(r"#[\w-]+|https://[\w./#?=&%~+:,@-]+")
VALUES: dict[str, re.Pattern[str]] = {
    "href": LINK, "class": re.compile(r"[a-z -]+"), "id": re.compile(r"[a-z]+(-[a-z0-9]+)*|[mp][0-9a-f]{10}"), "xlink:href": re.compile(r"#[mp][0-9a-f]{10}"),
    "clip-path": re.compile(r"url\(#p[0-9a-f]{10}\)"), "tabindex": re.compile("0"),
    "d": re.compile(r"[MLHVCQZz0-9 .\n-]+"), "fill": re.compile(r"none|var\(--[a-z0-9]+\)"), "type": re.compile("search|checkbox|reset"),
    "role": re.compile(r"[a-z]+"), "http-equiv": re.compile("Content-Security-Policy"),
    **dict.fromkeys(("x", "y", "width", "height", "x1", "x2", "y1", "y2", "cx", "cy", "r"), re.compile(r"-?[\d.]+%?")),
}  # fmt: skip
"""Allowed values of attributes that do more than name something."""


class Element(NamedTuple):
    """An HTML element with its attributes."""

    tag: str
    attributes: dict[str, str]


class Page(HTMLParser):
    """A parsed page: its elements in order, the text of its body, and tags that are never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self.faults: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) > len(set(names)):
            self.faults.append(f"{tag} has an attribute twice: {names}")
        self.texts += [] if tag in INLINE else [" "]
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in SHAPES:
            self.open.pop()
        else:
            self.faults.append(f"{tag} ends where it begins")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{tag} is closed, but was not opened last")
        self.texts += [] if tag in INLINE else [" "]

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside in self.raw:
            self.raw[inside].append(data)
        elif "head" not in self.open:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        if decl != "doctype html":
            self.faults.append(f"a declaration: {decl}")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"a declaration: {data}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"an instruction: {data}")

    @property
    def text(self) -> str:
        """Return the visible text with joined spaces."""
        return " ".join("".join(self.texts).split())

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements with a tag and some attributes."""
        return [one for one in self.elements if one.tag == tag and attributes.items() <= one.attributes.items()]

    def foreign(self) -> list[str]:
        """Return elements, attributes and addresses in the page that kcheck never writes."""
        found = [*self.faults, *(f"{tag} is not closed" for tag in self.open)]
        plotted = PLOTTED if self.all("svg", **{"class": "plot"}) else ()
        for tag, attributes in self.elements:
            if tag not in (*ALLOWED, *plotted):
                found.append(f"<{tag}>")
                continue
            allowed = ALLOWED.get(tag, set()) | GLOBAL | (_DRAWN if tag in plotted else set())
            found += [f"<{tag} {name}>" for name in attributes if name not in allowed]
            found += [
                f"<{tag} {name}={value!r}>"
                for name, value in attributes.items()
                if name in VALUES and not VALUES[name].fullmatch(value)
            ]
        identities = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        found += [f"id {name} twice" for name in sorted({name for name in identities if identities.count(name) > 1})]
        found += [f"no target for {one.attributes['href']}" for one in self.all("a")
                  if one.attributes["href"].startswith("#") and one.attributes["href"][1:] not in identities]  # fmt: skip
        return found + self._unlisted()

    def _unlisted(self) -> list[str]:
        """Return styles and scripts that the page's policy does not allow, and a policy that is too wide."""
        (policy,) = (one.attributes["content"] for one in self.all("meta") if "http-equiv" in one.attributes)
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        found = [] if rules.pop("default-src") == "'none'" else [policy]
        for tag in ("style", "script"):
            hashed = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in self.raw[tag]]
            wanted = [rules.pop(f"{tag}-src")] if hashed else []
            if wanted != [f"'sha256-{one}'" for one in hashed]:
                found.append(f"{tag} is not the one of the policy")
        return found if rules == {"base-uri": "'none'", "form-action": "'none'"} else [*found, policy]
