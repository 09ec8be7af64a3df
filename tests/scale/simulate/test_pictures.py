"""Test pictures and pages of simulated runs: they agree with the text, and show idle nodes with their price."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcheck.report import simulation
from kcheck.report.html import simulation_page
from kcheck.scale.simulate import results
from kcheck.scale.simulate.model import PHASES, Phase
from kcheck.scale.simulate.run import trace
from tests.places import ROOT
from tests.scale.simulate.test_command import CLUSTER, JOB, WITHOUT_INFINIBAND, found, run

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.medium

SVG = "{http://www.w3.org/2000/svg}"
FILES = {"main.tf": CLUSTER.replace('"5m"', '"30m"'), "job.yaml": JOB}
WALLED = {"main.tf": CLUSTER.replace("10.128.0.0/9", "10.128.0.0/18"), "job.yaml": JOB.replace("128", "400")}


class Text(HTMLParser):
    """A parsed page: its texts, and the addresses that it refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if tag == "a" and name == "href"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def page(*arguments: str) -> Text:
    code, out, _ = run(*arguments, "--format", "html")
    assert code == 0
    return Text(out)


def picture(*arguments: str) -> ET.Element:
    return ET.fromstring(run(*arguments, "--format", "svg")[1])  # noqa: S314 - our own


# --- the areas


def test_each_column_shows_the_average_number_of_nodes() -> None:
    spans = [Phase("boot", 0, 30), Phase("work", 30, 60), Phase("idle", 60, 75), Phase("delete", 75, 80)]
    nodes = results.part_nodes(spans, 80, 4)
    assert nodes["start"] == pytest.approx([1, 0.5, 0, 0])
    assert nodes["work"] == pytest.approx([0, 0.5, 1, 0])
    assert nodes["idle"] == pytest.approx([0, 0, 0, 1])


def test_spans_beyond_the_end_are_not_drawn() -> None:
    nodes = results.part_nodes([Phase("idle", 50, 150), Phase("boot", 150, 200)], 100, 2)
    assert (nodes["idle"], nodes["start"]) == ([0, 1], [0, 0])


def test_the_areas_of_the_picture_equal_the_paid_time(write: Write) -> None:
    outcome = results.run_scenario(found(write, FILES))
    summary = outcome.middle.summary
    nodes = results.part_nodes(trace(outcome.case), summary.total, 100)
    for part, phases in results.PARTS.items():
        paid = sum(summary.phases[phase] for phase in phases)
        assert sum(nodes[part]) * summary.total / 100 == pytest.approx(paid, rel=0.01)
    assert {phase for phases in results.PARTS.values() for phase in phases} == set(PHASES)


def test_the_table_and_the_picture_show_the_same_nodes(write: Write) -> None:
    outcome = results.run_scenario(found(write, FILES))
    rows = simulation_page.chart_rows(outcome, trace(outcome.case))
    assert 10 < len(rows) <= 24
    for _, *numbers in rows:
        *parts, every = map(int, numbers)
        assert abs(sum(parts) - every) <= 1
    assert max(int(row[-1]) for row in rows) == 64


# --- a picture alone


def test_the_picture_names_its_axes_and_idle_time(write: Write) -> None:
    write(FILES)
    svg = picture(".")
    texts = [text.strip() for text in svg.itertext() if text.strip()]
    assert "train (aks, main.tf:2)" in texts
    assert "minutes since the job was created" in texts
    assert any(re.fullmatch(r"\d+ nodes", text) for text in texts)
    assert "64 nodes for the job" in texts
    for part in simulation.PART_NAMES.values():
        assert any(text.startswith(f"{part}: ") for text in texts)
    text = run(".")[1]
    idle = re.search(r"idle: ([^;]+);", text)
    assert idle is not None
    hours, _, spent = idle[1].partition(", ")
    assert any(spent in one for one in texts), "the price is as in the text"
    assert any(hours in one for one in texts)
    assert {path.get("class") for path in svg.iter(f"{SVG}path")} == {"work", "idle", "start"}
    for moment in ("last node ready", "last pod starts", "work ends", "last node gone"):
        assert any(re.fullmatch(rf"{moment} [\d.]+ min", one) for one in texts)


def test_a_picture_has_a_title_and_a_description(write: Write) -> None:
    write(FILES)
    svg = picture(".")
    named = next(one for one in svg.iter(f"{SVG}svg") if one.get("role") == "img")
    ids = {one.get("id"): "".join(one.itertext()) for one in named.iter() if one.get("id")}
    title, about = (ids[name] for name in named.get("aria-labelledby", "").split())
    assert title.startswith("Nodes over time: train: Job on 64 nodes, 10 min of work: about ")
    assert "times the work itself" in about


def test_axis_labels_are_round_numbers(write: Write) -> None:
    outcome = results.run_scenario(found(write, FILES))
    svg = ET.fromstring(simulation_page.as_svg(outcome))  # noqa: S314 - our own
    base = max(float(one.get("y2", "0")) for one in svg.iter(f"{SVG}line") if one.get("class") == "axis")
    ticks = [one for one in svg.iter(f"{SVG}text") if float(one.get("y", "0")) == base + 16]
    numbers = [int((tick.text or "").replace(",", "")) for tick in ticks]
    assert len(numbers) > 3
    assert numbers == [at * numbers[1] for at in range(len(numbers))]
    assert str(numbers[1])[0] in "125"


def test_a_wall_is_drawn_as_a_line(write: Write) -> None:
    write(WALLED)
    assert "wall: 58 nodes, 3 of them in other pools" in list(picture(".").itertext())


def test_a_run_picture_shows_one_cluster(write: Write) -> None:
    write({"a/main.tf": CLUSTER, "b/main.tf": CLUSTER})
    code, out, err = run(".", "--format", "svg")
    assert (code, out) == (2, "")
    assert "svg shows one cluster; name its folder, or use --format html" in err


# --- a page


@pytest.mark.slow
def test_the_run_page_and_the_text_agree(write: Write) -> None:
    write(FILES)
    words, text = page(".", "--what-if"), run(".", "--what-if")[1]
    for line in text.split("where the paid time")[0].splitlines():
        assert not line.strip() or line.strip() in words.texts
    for line in re.findall(r"^  (assumed: .*|A model of .*)$", text, re.MULTILINE):
        assert line in words.texts
    assert simulation.NOT_MODELLED in words.texts
    assert simulation.RANGES in " ".join(words.texts)
    row = next(line.split() for line in text.splitlines() if line.startswith("  idle-nodes-kept-long "))
    assert row[0] in words.texts
    assert row[-1] in words.texts
    assert re.search(r"kcheck fix --select .* --diff", " ".join(words.texts))
    assert "saved by" in words.texts


def test_the_page_without_what_if_mentions_no_fixes(write: Write) -> None:
    write(FILES)
    assert "What fixes would save" not in page(".").texts


def test_a_wall_is_named_and_both_runs_are_drawn(write: Write) -> None:
    write(WALLED)
    words = page(".")
    assert {"With these limits", "Without these limits"} <= set(words.texts)
    assert any(text.startswith("no more nodes at once than the wall lets be: the pod range") for text in words.texts)
    assert "55 of 200" in words.texts
    assert sum(text.startswith("Nodes over time: ") for text in words.texts) == 2


def test_an_unfinished_run_says_how_many_pods_finish(write: Write) -> None:
    job = JOB.replace("registry.example.com/train", "pytorch/pytorch").replace("128", "200")
    late = job.replace("  template:", "  activeDeadlineSeconds: 7200\n  template:", 1)
    write({"main.tf": CLUSTER.replace(*WITHOUT_INFINIBAND), "job.yaml": late})
    words = page(".")
    assert "100 of 200" in words.texts
    assert "pods end: fails at its deadline of 120 min" in words.texts


def test_nodes_without_a_price_are_shown_in_hours(write: Write) -> None:
    one = found(write, FILES)
    pools = tuple(replace(pool, price=None) for pool in one.case.pools)
    outcome = results.run_scenario(replace(one, case=replace(one.case, pools=pools)))
    text = simulation_page.as_html([(outcome, None)])
    assert "none of these nodes has a list price" in text
    assert "$" not in "".join(Text(text).texts)


def test_several_clusters_share_a_run_page(write: Write) -> None:
    write({"a/main.tf": CLUSTER, "b/main.tf": CLUSTER.replace('= "train"', '= "other"')})
    words = page(".")
    assert "2 simulated runs" in words.texts
    assert {"train (aks, a/main.tf:2)", "other (aks, b/main.tf:2)"} <= set(words.texts)
    assert [link for link in words.links if link.startswith("#")] == ["#run-1", "#run-2"]


def test_the_run_page_loads_nothing_else(write: Write) -> None:
    write(FILES)
    text = run(".", "--format", "html")[1]
    assert "<script" not in text
    assert " style=" not in text
    assert {link for link in Text(text).links if not link.startswith("#")} == {simulation_page.GUIDE}
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert text == run(".", "--format", "html")[1]


def test_the_limits_of_the_model_are_in_the_guide() -> None:
    guide = " ".join((ROOT / "docs" / "simulate.md").read_text().split())
    assert simulation.NOT_MODELLED in guide
