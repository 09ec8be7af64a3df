"""Test the checks of pages themselves: they find each fault in a page that has all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import browser
from tests.browser.browser import Look

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

BAD = """<!doctype html><html lang="en"><meta http-equiv="Content-Security-Policy" content="style-src 'unsafe-inline'">
<style>:focus{outline:none}a{display:block}.pale{color:#999}.wide{width:3000px;overflow:auto}</style>
<h1>One</h1><h3>Three</h3><h2></h2>
<p class="pale">pale text</p><p style="background:#767676;color:#fff">text that is dark enough</p>
<a href="one">more</a><a href="two">more</a><button></button>
<details><summary>folded</summary><table><tr><td>number</td></tr></table></details>
<svg role="img" width="200" height="40"><rect width="200" height="40" fill="#2563eb"/><text y="20">black on blue</text>
<text y="35" style="paint-order:stroke;stroke:#fff;stroke-width:4px">black on white</text></svg>
<svg width="20" height="9" viewBox="0 0 200 90"><svg></svg><text y="20">small</text></svg><div class="wide">wide</div><script>console.log("hello")</script><img src="missing.png">
"""


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Return a page that has everything a page must not have."""
    file = tmp_path / "bad.html"
    file.write_text(BAD)
    return file


def test_the_browser_checks_find_planted_defects(chromium: Browser, bad: Path) -> None:
    with browser.shown(chromium, bad, Look(1280, "light")) as one:
        assert "hello" in one.console
        assert [request.rpartition("/")[2] for request in one.requests] == ["bad.html", "missing.png"]
        assert one.found("wide")[0] == "the page scrolls sideways"
        assert one.found("headings") == ["h3 Three skips a level", "h2 is empty"]
        assert one.found("links") == ["more"]
        assert [text[:16] for text in one.found("pictures")] == ['<svg width="20" ']
        assert one.found("tiny") == ["small"]
        assert [text.partition(":")[0] for text in one.found("contrast")] == ["pale text", "black on blue"]
        assert one.found("hidden", "td") == ["<td>number</td>"]
        assert {role.role for role in browser.roles(one.page) if not role.name} >= {"button", "image"}
        stops = browser.tab_stops(one.page, 9)
        assert [stop["what"][:9] for stop in stops] == [stop["what"][:9] for stop in one.found("stops")]
        assert not any(stop["ring"] for stop in stops)
