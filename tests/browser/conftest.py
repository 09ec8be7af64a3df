"""Provide the pages that kcheck prints, and one browser for all tests of a process."""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.scale.usage.recording import as_bytes
from tests.addons.fleet import story
from tests.addons.usage.test_reports import fortnight
from tests.browser import browser
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

COMMANDS = {
    "check": ("eks-training", "check"),
    "check-several": ("published", "check", "--info"),
    "capacity": ("gke-training", "capacity"),
    "capacity-several": ("published", "capacity"),
    "simulate": ("ack-training", "simulate"),
    "simulate-what-if": ("aks-training", "simulate", "--what-if"),
    "simulate-several": ("published", "simulate"),
    "fleet": ("eks-training", "fleet", "report", "-o", "{fleet}"),
    "usage": ("usage", "usage", "--from", "{recording}", "--by", "team"),
    "usage-jobs": ("usage", "usage", ".", "--from", "usage.json.gz"),
}
"""Pages by name: the example that each shows, and the command that prints it."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Yield the browser."""
    with browser.launched() as found:
        yield found


@pytest.fixture(scope="session")
def printed(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that prints a page by its name, once; without a browser the tests are skipped."""
    folder = tmp_path_factory.mktemp("pages")
    recording = folder / "usage.json.gz"
    recording.write_bytes(as_bytes(fortnight()))
    story.tell(folder / "fleet")

    def made(name: str) -> Path:
        file = folder / f"{name}.html"
        if not file.exists():
            example, *arguments = (one.format(recording=recording, fleet=folder / "fleet") for one in COMMANDS[name])
            with chdir(ROOT / "examples" / example):
                result = CliRunner().invoke(cli, [*arguments, "--format", "html"])
            assert result.exit_code in (0, 1), result.output
            file.write_text(result.stdout, encoding="utf-8")
        return file

    return made


@pytest.fixture(scope="session")
def screenshots() -> Path | None:
    """Return the folder for pictures of pages, None without KCHECK_SCREENSHOTS."""
    folder = os.environ.get("KCHECK_SCREENSHOTS")
    if not folder:
        return None
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path
