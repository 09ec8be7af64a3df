"""Test the page of findings in a real browser: filters by mouse, keyboard and address; hostile text runs no code."""

from __future__ import annotations

import os
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from tests.browser import browser
from tests.browser.browser import Look, Shown
from tests.places import ROOT
from tests.report import corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.conftest import Write

SCREEN = Look(1280, "light")


def printed(file: Path, *arguments: str) -> Path:
    """Write the HTML report of the working directory to a file."""
    result = CliRunner().invoke(cli, ["check", *arguments, "--output-file", f"html={file}"])
    assert result.exit_code in (0, 1), result.output
    return file


@pytest.fixture(scope="module")
def file(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an HTML report with findings of several severities, rules and folders."""
    with chdir(ROOT / "examples"):
        return printed(tmp_path_factory.mktemp("findings") / "page.html", "--info", "eks-training", "gke-training")


@pytest.fixture
def page(file: Path, chromium: Browser) -> Iterator[Shown]:
    """Yield the HTML report in a browser."""
    with browser.shown(chromium, file, SCREEN) as one:
        yield one


def visible(one: Shown) -> list[dict[str, str]]:
    """Return the data attributes of the findings that are visible."""
    found: list[dict[str, str]] = one.page.evaluate(
        "() => [...document.querySelectorAll('.finding')].filter(e => e.checkVisibility()).map(e => ({...e.dataset}))"
    )
    return found


def settled(one: Shown) -> list[dict[str, str]]:
    """Return the visible findings after a filter took effect; assert that the counts on the page agree."""
    one.page.wait_for_timeout(150)
    found = visible(one)
    said = one.page.locator("#shown").inner_text()
    assert said.split()[0] == f"{len(found)}"
    groups = one.page.evaluate(
        "() => [...document.querySelectorAll('section.rule')].filter(e => e.checkVisibility())"
        ".map(e => e.querySelector('.count').textContent.split(' ')[0])"
    )
    assert sum(map(int, groups)) == len(found)
    return found


def test_filters_by_severity_rule_cluster_folder_and_text_narrow_the_findings(page: Shown) -> None:
    every = visible(page)
    own = page.page
    own.get_by_role("checkbox", name="info").uncheck()
    shown = settled(page)
    assert shown == [one for one in every if one["severity"] != "info"] != every
    own.locator("#place").select_option("folder:gke-training")
    shown = settled(page)
    assert shown
    assert {one["path"].partition("/")[0] for one in shown} == {"gke-training"}
    own.locator("#place").select_option("cluster:1")
    assert {one["clusters"] for one in settled(page)} == {"1"}
    own.get_by_role("button", name="Show all").click()
    assert settled(page) == every
    own.get_by_role("checkbox", name="waste").check()
    assert settled(page) == [one for one in every if "waste" in one]
    own.get_by_role("button", name="Show all").click()
    own.locator("#rule").select_option("subnet-too-small")
    assert {one["rule"] for one in settled(page)} == {"subnet-too-small"}
    own.get_by_role("button", name="Show all").click()
    own.get_by_role("searchbox").fill("1,019 SUBNET")
    assert [one["path"] for one in settled(page)] == ["gke-training/network.tf"]
    own.get_by_role("searchbox").fill("subnet xyzzy")
    assert settled(page) == []
    assert page.console == []


def test_filters_are_stored_in_the_address_and_restored_from_it(page: Shown) -> None:
    own = page.page
    own.get_by_role("checkbox", name="warning").uncheck()
    own.get_by_role("searchbox").fill("subnet & <b>")
    settled(page)
    own.get_by_role("searchbox").fill("subnet")
    shown = settled(page)
    address = own.url
    assert "severity=error%2Cinfo" in address
    own.goto("about:blank")
    own.goto(address)
    assert settled(page) == shown
    assert own.get_by_role("searchbox").input_value() == "subnet"
    own.goto(address.partition("#")[0] + "#severity=nonsense&rule=nonsense&in=nonsense&q=%3Cimg%20src%3Dx%3E")
    assert settled(page) == []
    own.goto(address.partition("#")[0] + "#findings")
    assert page.console == []


def test_the_filters_work_by_keyboard_alone(page: Shown) -> None:
    own = page.page
    own.get_by_role("searchbox").focus()
    own.keyboard.type("subnet")
    own.keyboard.press("Enter")
    shown = settled(page)
    own.keyboard.press("Tab")
    own.keyboard.press("Space")
    assert [one for one in shown if one["severity"] != "error"] == settled(page)
    assert page.console == []


def test_the_page_without_scripts_shows_everything(file: Path, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    try:
        own = context.new_page()
        own.goto(file.as_uri())
        assert own.locator("#filters").is_hidden()
        assert own.locator(".finding").count() > 20
        assert own.locator(".finding").first.is_visible()
        assert own.locator(".verdict").first.is_visible()
    finally:
        context.close()


def test_two_thousand_findings_can_be_filtered(chromium: Browser, write: Write, tmp_path: Path) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: train-{0}}}\nspec:\n  parallelism: 64\n  completions: 64\n  template:\n    spec:\n      containers:\n        - {{name: a, image: a/b, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}\n"
    write({f"{number % 10}/{number}.yaml": job.format(number) for number in range(300)})
    file = printed(tmp_path / "page.html", "--info")
    assert file.stat().st_size < 12_000_000
    with browser.shown(chromium, file, SCREEN) as one:
        assert one.page.locator(".finding").count() == 2000
        assert one.page.locator(".alert").first.inner_text().endswith("make a smaller page.")
        one.page.get_by_role("searchbox").fill("train-77")
        assert {own["path"] for own in settled(one)} == {"7/77.yaml"}
        assert one.console == []


@pytest.mark.skipif(os.name == "nt", reason="file names of POSIX")
@pytest.mark.parametrize("payloads", [corpus.PAYLOADS, corpus.PAYLOADS[:2]], ids=len)
def test_scripts_from_a_repository_never_run(payloads: tuple[str, ...], chromium: Browser, write: Write) -> None:
    folder = write(corpus.files(payloads))
    file = printed(folder / "page.html", "--info", "--show-undecided")
    with browser.shown(chromium, file, SCREEN) as one:
        own = one.page
        ran: list[str] = []
        own.on("dialog", lambda dialog: ran.append(dialog.message))
        own.expose_function("owned", lambda *numbers: ran.append(str(numbers)))
        own.reload()
        tags = own.evaluate("() => [...new Set([...document.querySelectorAll('*')].map(e => e.localName))]")
        assert set(tags).isdisjoint(
            {"img", "iframe", "object", "embed", "base", "math", "template", "noscript", "plaintext"}
        )
        assert own.evaluate("() => document.scripts.length") == 1
        acting = "e => [...e.attributes].some(a => /^on|^style$/.test(a.name) || /^\\s*javascript:/i.test(a.value))"
        assert own.evaluate(f"() => [...document.querySelectorAll('*')].filter({acting}).length") == 0
        own.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")
        for link in own.locator("a[href^='#']").all()[:20]:
            link.click()
        own.locator("#place").select_option(index=2)
        own.get_by_role("searchbox").fill(payloads[0])
        own.mouse.wheel(0, 100_000)
        own.wait_for_timeout(300)
        assert ran == []
        assert one.console == []
        assert {url.partition("#")[0] for url in one.requests} == {file.as_uri()}
