"""Test every page in a real browser: phone, tablet and screen, light and dark, on paper, by keyboard."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

import pytest

from tests.browser import browser
from tests.browser.browser import Look, Shown
from tests.browser.conftest import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

LOOKS = [Look(width, scheme) for width in (360, 768, 1280) for scheme in ("light", "dark")]
PAPER = Look(768, "print")
VIEWS = (
    [(name, look) for name in COMMANDS for look in ([] if name.endswith("-several") else LOOKS)]
    + [
        (name, look)
        for name in COMMANDS
        if name.endswith("-several")
        for look in (Look(360, "light"), Look(1280, "dark"))
    ]
    + [(name, PAPER) for name in COMMANDS]
)
"""Pages and looks. Pages of several clusters are only longer, so they are not shown in every look."""
NAMED = {"image", "img", "region", "navigation", "heading", "table"}
"""Roles that need a name, in addition to controls."""


@pytest.fixture(
    scope="module",
    params=VIEWS,
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def view(
    request: pytest.FixtureRequest, chromium: Browser, printed: Callable[[str], Path], screenshots: Path | None
) -> Iterator[Shown]:
    """Yield a page in one width and color scheme."""
    name, look = request.param
    with browser.shown(chromium, printed(name), look) as one:
        if screenshots is not None:
            browser.screenshot(one.page, screenshots / f"{name}-{look}.png")
        yield one


@pytest.fixture(scope="module", params=COMMANDS)
def page(request: pytest.FixtureRequest, chromium: Browser, printed: Callable[[str], Path]) -> Iterator[Shown]:
    """Yield a page in a wide, light window."""
    with browser.shown(chromium, printed(request.param), Look(1280, "light")) as one:
        yield one


def test_a_page_logs_nothing_and_requests_nothing(view: Shown) -> None:
    assert view.console == []
    assert view.requests == [view.page.url]


def test_a_page_does_not_scroll_sideways(view: Shown) -> None:
    assert view.found("wide") == []


def test_page_text_has_enough_contrast_and_size(view: Shown) -> None:
    assert view.found("contrast") == []
    assert view.found("tiny") == []


def test_headings_are_in_the_right_order(page: Shown) -> None:
    assert page.found("headings") == []


def test_controls_and_pictures_have_accessible_names(page: Shown) -> None:
    found = browser.roles(page.page)
    assert [one for one in found if (one.is_focusable or one.role in NAMED) and not one.name.strip()] == []
    assert page.found("pictures") == []
    assert page.found("links") == []


def test_tab_reaches_every_control_in_order_with_visible_focus(page: Shown) -> None:
    wanted = page.found("stops")
    stops = browser.tab_stops(page.page, len(wanted) + 1)
    assert [one["what"] for one in stops] == [one["what"] for one in wanted]
    assert [one["what"] for one in stops if not one["ring"] or not one["seen"]] == []


def test_enter_and_space_open_collapsed_parts(page: Shown) -> None:
    for summary in page.page.locator("summary").all():
        if not summary.is_visible():  # in another one that is closed
            continue
        for key in ("Enter", "Space"):
            before = summary.evaluate("one => one.parentElement.open")
            summary.press(key)
            assert summary.evaluate("one => one.parentElement.open") is not before


def test_a_printed_page_shows_all_parts(chromium: Browser, printed: Callable[[str], Path]) -> None:
    for name in COMMANDS:
        with browser.shown(chromium, printed(name), PAPER) as one:
            assert one.found("hidden", "details > *, table, tr, td, svg, section") == []


@pytest.mark.parametrize("name", COMMANDS)
def test_paper_cuts_off_no_column_and_repeats_no_sum(
    name: str, printed: Callable[[str], Path], chromium: Browser
) -> None:
    with browser.shown(chromium, printed(name), Look(718, "print")) as one:
        assert one.found("cut", 718) == []
        assert one.page.evaluate(
            "[...document.querySelectorAll('tfoot')].every(one => getComputedStyle(one).display === 'table-row-group')"
        )


@pytest.mark.parametrize("name", COMMANDS)
def test_printed_pages_are_filled(name: str, printed: Callable[[str], Path], chromium: Browser) -> None:
    """A picture or card that moves to the next sheet must not leave a half-empty one behind."""
    page = chromium.new_page(viewport={"width": 718, "height": 1047})  # A4 within margins of a centimetre
    page.emulate_media(media="print")
    page.goto(printed(name).as_uri())
    height = page.evaluate("document.body.scrollHeight")
    pdf = page.pdf(format="A4", margin={"top": "1cm", "bottom": "1cm", "left": "1cm", "right": "1cm"})
    page.close()
    sheets = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert sheets <= ceil(1.1 * height / 1047)
