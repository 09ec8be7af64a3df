"""Test the page of a bill: one file that equals the bill and contains no foreign markup."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from kcheck.addons.usage.report import usage_html
from kcheck.scale.usage.recording import as_bytes
from tests.addons.usage.recordings import node, pod, recording
from tests.addons.usage.test_reports import billed, fortnight, week
from tests.whole.hostile import EVIL

if TYPE_CHECKING:
    from pathlib import Path

    from kcheck.scale.usage.recording import Recording


@pytest.fixture
def _plots() -> None:
    pytest.importorskip("matplotlib")


class Page(HTMLParser):
    """A parsed page: its links, the nesting of its tags, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.events: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name.endswith(("href", "src"))]
        self.events += [name for name, _ in attrs if name.startswith("on")]
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


@pytest.mark.usefixtures("_plots")
def test_the_page_and_the_bill_agree() -> None:
    page = Page(usage_html.as_html(billed(week())))
    words = set(page.words)
    assert {"Usage by team, 16 to 23 Nov 2026 (7 days)", "$18,493", "$14,255", "of it idle (77%)"} <= words
    assert {"vision", "speech", "(none)", "(not requested)", "$5,504"} <= words
    assert {"Prices", "Queues", "Not measured", "Pods without a team", "What the numbers mean"} <= words
    assert page.open == []


@pytest.mark.usefixtures("_plots")
@pytest.mark.parametrize("made", [week(), fortnight()], ids=["week", "fortnight"])
def test_a_page_loads_nothing_else(made: Recording) -> None:
    text = usage_html.as_html(billed(made))
    page = Page(text)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "image", "metadata"}
    assert all(link.startswith("#") for link in page.links)
    assert re.findall(r"https?://(?!www\.w3\.org)", text) == []
    assert page.events == []
    assert " style=" not in text, "the policy of the page allows none"
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"#([mp]\w{10})\b", text)) <= set(ids)


@pytest.mark.usefixtures("_plots")
def test_plots_have_names_and_the_colors_of_the_page() -> None:
    found = usage_html.plots(billed(fortnight(), "job"))
    assert [plot.title.partition(" by ")[0] for plot in found] == [
        "Money paid", "GPU-hours requested", "GPU utilisation over time"
    ]  # fmt: skip
    for plot in found:
        assert plot.text
        assert "#00fe" not in plot.svg
        assert "var(--ink)" in plot.svg
        assert plot.svg.count("<title>") == 1
        root = ElementTree.fromstring(plot.svg)  # noqa: S314 - our own
        ids = [one.get("id") for one in root.iter() if one.get("id")]
        assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("_plots")
def test_a_cluster_without_gpus_has_a_plot_of_its_cores() -> None:
    found = usage_html.plots(billed(recording([pod("a", cores=4)]), "job"))
    assert [plot.title for plot in found] == ["Core-hours requested by job, and how many of them were used"]


@pytest.mark.usefixtures("_plots")
def test_the_same_bill_gives_the_same_page() -> None:
    assert usage_html.as_html(billed(week())) == usage_html.as_html(billed(week()))


@pytest.mark.usefixtures("_plots")
def test_a_large_page_stays_small() -> None:
    pods = [pod(f"p{i}", namespace=f"space-{i}", gpus=1, busy=i % 90, hours=168) for i in range(50)]
    page = usage_html.as_html(billed(recording(pods, [node("a", gpus=64)]), "namespace"))
    assert len(page) < 100_000


@pytest.mark.usefixtures("_plots")
@pytest.mark.parametrize(
    "name", [EVIL, "$\\frac{", "a" * 300, "_x_", "日本語 🎉"], ids=["evil", "math", "long", "under", "wide"]
)
def test_names_from_the_cluster_are_plain_text_on_the_page(name: str) -> None:
    pods = [pod("a", namespace=name, gpus=1, busy=5), pod("b", namespace="other", gpus=1, busy=5)]
    text = usage_html.as_html(billed(recording(pods, [node("a")]), "namespace"))
    page = Page(text)
    assert not page.tags & {"script", "img"}
    assert page.events == []
    assert "\x1b" not in text
    assert "\u202e" not in text
    for plot in usage_html.plots(billed(recording(pods, [node("a")]), "namespace")):
        ElementTree.fromstring(plot.svg)  # noqa: S314 - our own


@pytest.mark.usefixtures("_plots")
def test_plot_settings_in_the_current_folder_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_bytes(b"\x1b[35m: \xff\nbackend: module://evil\n")
    (tmp_path / "usage.json.gz").write_bytes(as_bytes(fortnight()))
    code = "from kcheck.commands.cli import main; main()"
    words = [sys.executable, "-c", code, "usage", "--from", "usage.json.gz", "--format", "html"]
    run = subprocess.run(words, capture_output=True, check=False, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"<svg" in run.stdout


def test_the_page_without_matplotlib_still_has_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(usage_html.as_html(billed(week())))
    assert "svg" not in page.tags
    assert "table" in page.tags
    assert "For plots, install matplotlib beside kcheck, such as by its extra plots." in page.words


def test_an_empty_recording_still_makes_a_page() -> None:
    page = Page(usage_html.as_html(billed(recording())))
    assert "table" not in page.tags
    assert page.open == []
