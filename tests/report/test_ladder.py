"""Test the picture of limits: each stands at its number, and limits without a number are not drawn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.report.html import document
from kcheck.report.html.capacity_page import Axis, draw_ladder
from kcheck.scale import walls
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from tests.places import ROOT
from tests.report.test_html import SUBNET

if TYPE_CHECKING:
    from tests.conftest import Write

    Element = ElementTree.Element

SVG = "{http://www.w3.org/2000/svg}"


def drawn(config: Config | None = None) -> tuple[World, Element]:
    """Return the world of the working directory, and the ladder of limits of its first cluster as an SVG element."""
    own = config or Config()
    world = World(reader.read(Tree(["."]), own).inventory, own)
    picture = draw_ladder(world.inventory.clusters[0], world)
    assert picture is not None
    return world, ElementTree.fromstring(document.picture(picture, "heading"))  # noqa: S314 - our own


def rungs(svg: Element) -> dict[str, tuple[str, list[float]]]:
    """Return the rungs of a ladder by label: how each is marked, and the percentages of its bars."""
    found = {}
    for group in svg.iter(f"{SVG}g"):
        bars = list(group.iter(f"{SVG}rect"))
        label = " ".join("".join(text.itertext()) for text in group.iter(f"{SVG}text"))
        kind = bars[0].get("class", "").removeprefix("bar ")
        found[" ".join(label.split())] = (kind, [float(bar.get("width", "").rstrip("%")) for bar in bars])
    return found


def test_each_rung_of_the_picture_is_at_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "gke-training")
    world, svg = drawn()
    found = rungs(svg)
    (cluster,) = world.inventory.clusters
    assert len(found) == len([wall for wall in walls.find_walls(cluster, world) if wall.number is not None])
    (first, *_) = found
    assert first == "263 pod range of pools system, cpu and gpu"
    assert {label.split()[0]: kind for label, (kind, _) in found.items()} == {
        "263": "before", "1,019": "before", "1,045": "before", "1,567": "after", "2,000": "after", "15,000": "after",
        "2,503": "after",
    }  # fmt: skip
    share = {label.split()[0]: bars[0] for label, (_, bars) in found.items()}
    assert share["1,019"] / share["263"] == pytest.approx(1019 / 263, rel=0.01)
    assert share["15,000"] == 97  # beyond the scale
    (target,) = [one for one in svg.iter(f"{SVG}line") if one.get("class") == "target"]
    assert float(target.get("x1", "").rstrip("%")) == pytest.approx(share["1,567"], rel=0.01)


def test_walls_without_a_number_are_listed_and_not_drawn(write: Write) -> None:
    write({"main.tf": SUBNET.replace("= 600", "= var.nodes") + 'variable "nodes" {\n  type = number\n}\n'})
    world, svg = drawn()
    (cluster,) = world.inventory.clusters
    unknown = [wall.what for wall in walls.find_walls(cluster, world) if wall.number is None]
    assert unknown
    text = " ".join("".join(svg.itertext()).split())
    assert "Not known at how many nodes:" in text
    assert not any(unknown[0] in label for label in rungs(svg))
    assert "target:" not in text
    assert "maybe before target" in text
    assert all(bars[0] > 0 for _, bars in rungs(svg).values())


def test_a_limit_with_bounds_is_drawn_as_a_range(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    pool = """\
resource "azurerm_kubernetes_cluster_node_pool" "more" {
  name                  = "more"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vnet_subnet_id        = azurerm_subnet.nodes.id
  auto_scaling_enabled  = true
  max_count             = var.most
}
variable "most" {
  type = number
}
"""
    write({"main.tf": SUBNET.replace("600", "100") + pool})
    world, svg = drawn()
    (cluster,) = world.inventory.clusters
    ranges = [wall for wall in walls.find_walls(cluster, world) if wall.nodes.exact is None and not wall.nodes.is_open]
    found = {label: bars for label, (_, bars) in rungs(svg).items() if len(bars) == 2}
    assert len(found) == len(ranges) > 0
    assert all(solid + more <= 97.01 for solid, more in found.values())
    assert "in this range" in "".join(svg.itertext())


@pytest.mark.parametrize(("begin", "end"), [(0, 2400), (0, 12), (0, 100), (1, 100_000), (100, 1_000_000_000)])
def test_the_axis_has_a_few_round_numbers_in_order(begin: int, end: int) -> None:
    ticks = Axis(begin, end).ticks()
    assert 3 <= len(ticks) <= 7
    places = [tick.x for tick in ticks]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] <= 97
    assert all(re.fullmatch(r"[\d,]+", tick.text) for tick in ticks)


def test_a_separate_picture_works_in_light_and_dark_without_css_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "eks-training")
    _, svg = drawn()
    (style,) = [one.text or "" for one in svg.iter(f"{SVG}style")]
    assert "var(" not in style
    light, dark = style.split("@media screen and (prefers-color-scheme:dark)")
    assert re.findall(r"\.chart [^{]*", light) == re.findall(r"\.chart [^{]*", dark)
    assert light != dark
    (title, *_) = [one.text for one in svg.iter(f"{SVG}title")]
    assert title == "Limits of cluster train by number of nodes"
    assert next(one.text for one in svg.iter(f"{SVG}desc")) is not None
