"""Drive Chromium, and report how a page appears to the eye, to a keyboard, and to a screen reader."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, FloatRect, Page

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
"""Paths of browsers that are not in PATH."""
SCRIPTS = Path(__file__).parent / "scripts.js"


def executable() -> str | None:
    """Return the path of a Chromium on this machine; None if there is none."""
    found = [os.environ.get("KCHECK_CHROMIUM"), *map(shutil.which, NAMES), *filter(os.path.exists, PLACES)]
    return next((path for path in found if path), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield a browser; skip the test if Playwright or Chromium is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="install the extra `browser` for tests in Chromium")
    path = executable()
    if path is None:
        pytest.skip("no Chromium in PATH; KCHECK_CHROMIUM names one")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


class Look(NamedTuple):
    """Width and color scheme of the window in which a page is shown."""

    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}"


class Shown(NamedTuple):
    """A page in a browser, with its console messages and the requests that it made."""

    page: Page
    console: list[str]
    requests: list[str]

    def found(self, script: str, *arguments: object) -> Any:
        """Run a function of scripts.js on the page, and return its result."""
        return self.page.evaluate(f"given => ({SCRIPTS.read_text()}).{script}(...given)", list(arguments))


MOST_PIXELS = 12_000
"""The greatest height of a picture; Chromium takes none of higher pages."""


def screenshot(page: Page, file: Path) -> None:
    """Save a picture of a page; of a very long page, the top."""
    width, height = page.evaluate("() => [document.documentElement.clientWidth, document.documentElement.scrollHeight]")
    clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": min(height, MOST_PIXELS)}
    page.screenshot(path=file, full_page=True, clip=clip)


@contextmanager
def shown(browser: Browser, file: Path, look: Look) -> Iterator[Shown]:
    """Yield a file opened in the browser."""
    context = browser.new_context(
        viewport={"width": look.width, "height": 800},
        color_scheme="dark" if look.scheme == "dark" else "light",
        service_workers="block",
    )
    try:
        page = context.new_page()
        result = Shown(page, [], [])
        page.on("console", lambda message: result.console.append(message.text))
        page.on("pageerror", lambda error: result.console.append(str(error)))
        page.on("request", lambda request: result.requests.append(request.url))
        if look.scheme == "print":
            page.emulate_media(media="print")
        page.goto(file.as_uri())
        yield result
    finally:
        context.close()


class Role(NamedTuple):
    """A node of the accessibility tree."""

    role: str
    name: str
    is_focusable: bool


def roles(page: Page) -> list[Role]:
    """Return the roles a screen reader sees on a page, in order, also those outside the window."""
    page.evaluate(
        """() => document.querySelectorAll("*").forEach((one) => {
            if (getComputedStyle(one).contentVisibility === "auto") one.style.contentVisibility = "visible";
        })"""
    )
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [
        Role(_text(node, "role"), _text(node, "name"), _is_focusable(node)) for node in nodes if not node["ignored"]
    ]


def _is_focusable(node: dict[str, Any]) -> bool:
    return any(one["name"] == "focusable" and one["value"].get("value") for one in node.get("properties", ()))


def _text(node: dict[str, Any], key: str) -> str:
    return str(node.get(key, {}).get("value", ""))


def tab_stops(page: Page, most: int) -> Sequence[dict[str, Any]]:
    """Return the elements that Tab reaches from the top of a page."""
    found = []
    for _ in range(most):
        page.keyboard.press("Tab")
        one = page.evaluate(
            """() => {
                const own = document.activeElement;
                if (!own || own === document.body) return null;
                const style = getComputedStyle(own), box = own.getBoundingClientRect();
                return {
                    at: [...document.querySelectorAll("*")].indexOf(own),
                    what: own.outerHTML.slice(0, 120),
                    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
                    seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight,
                };
            }"""
        )
        if one is None:
            break
        found.append(one)
    return found
