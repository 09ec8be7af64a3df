"""Test the limits of clusters as a page and as a picture: both say what the text says."""

from __future__ import annotations

import json
from contextlib import chdir
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from tests.places import ROOT
from tests.report.page import Page

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.medium

EXAMPLES = ["ack-training", "aks-training", "eks-training", "gke-training", "selfmanaged-training"]
BARE = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'


def printed(form: str, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["capacity", "--format", form, *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_capacity_page_and_other_formats_agree(example: str) -> None:
    with chdir(ROOT / "examples" / example):
        page, found = Page(printed("html")[1]), json.loads(printed("json")[1])
        text = " ".join(printed("text")[1].split())
    assert page.foreign() == []
    assert text.partition(")")[0] in page.text, "name, cloud and place"
    for cluster in found["clusters"]:
        assert cluster["summary"] in page.text
        for wall in cluster["walls"]:
            if wall["mechanism"] == "quota" and wall["at_most"] is None:
                continue
            assert " ".join(wall["arithmetic"].split()) in page.text
            assert f"{wall['path']}:{wall['line']}" in page.text
            assert wall["move"] in page.text
            assert page.all("a", href=wall["source"])
        for quota in cluster["quotas"]:
            assert quota["code"] in page.text
            assert f"{quota['needed']:,} {quota['unit']}" in page.text


def test_the_page_says_how_to_raise_the_first_limit() -> None:
    with chdir(ROOT / "examples" / "ack-training"):
        page = Page(printed("html")[1])
    assert "To move the first limit: raise the quota of custom routes (up to 1,000), or Terway" in page.text


def test_several_clusters_share_a_capacity_page(write: Write) -> None:
    write({"a/main.tf": BARE, "b/main.tf": BARE})
    page = Page(printed("html", "--nodes", "50")[1])
    assert page.foreign() == []
    assert page.text.startswith("Limits of 2 clusters")
    assert [one.attributes["href"] for one in page.all("a") if "#" in one.attributes["href"]][:2] == [
        "#cluster-1",
        "#cluster-2",
    ]
    assert "train (eks, a/main.tf:1), target 50 nodes: " in page.text


@pytest.mark.parametrize("command", ["capacity", "simulate"])
def test_clusters_of_one_module_have_different_titles(command: str, write: Write) -> None:
    call = 'module "eks" {\n  source = "../modules/eks"\n}\n'
    write({"modules/eks/main.tf": BARE, "a/main.tf": call, "b/main.tf": call})
    words = [command, "--nodes", "50", "--format", "html"]
    page = Page(CliRunner().invoke(cli, words).stdout)
    end = "), target 50 nodes: " if command == "capacity" else ": "
    assert "train (eks, modules/eks/main.tf:1" in page.text
    titles = [f" in {root}: module.eks.aws_eks_cluster.main{end}" for root in ("a", "b")]
    assert all(title in page.text for title in titles)


def test_unknown_limits_are_listed_with_the_reason(write: Write) -> None:
    pool = 'variable "most" {}\nresource "aws_eks_node_group" "gpu" {\n  cluster_name = aws_eks_cluster.main.name\n  subnet_ids = [var.subnet]\n  scaling_config { max_size = var.most }\n}\nvariable "subnet" {}\n'
    write({"main.tf": BARE + pool})
    page = Page(printed("html")[1])
    assert "Not known at how many nodes" in page.text
    assert "not known: " in page.text


def test_the_page_says_that_there_is_no_cluster(write: Write) -> None:
    write({"main.tf": ""})
    code, out, err = printed("html")
    assert (code, err) == (0, "kcheck: no cluster found here.\n")
    assert Page(out).text.startswith("No cluster found here")
    assert printed("svg")[:2] == (0, "")


def test_a_separate_picture_names_its_cluster() -> None:
    with chdir(ROOT / "examples" / "gke-training"):
        root = ElementTree.fromstring(printed("svg")[1])  # noqa: S314 - our own
    text = " ".join(" ".join(root.itertext()).split())
    assert "train (gke, cluster.tf:1), target 1,567 nodes" in text
    assert "train reaches 263 of the 1,567 nodes its pools may have" in text
    assert "var(" not in text, "few programs but browsers know variables"


def test_a_picture_shows_one_cluster(write: Write) -> None:
    write({"a/main.tf": BARE, "b/main.tf": BARE})
    code, out, err = printed("svg")
    assert (code, out) == (2, "")
    assert "svg shows one cluster; name its folder, or use --format html" in err
