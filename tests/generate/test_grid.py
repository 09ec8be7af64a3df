"""Test clusters generated over a grid of intents: no findings, fully decided, large enough, well-formed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kcheck.generate import intent, recommended
from kcheck.generate.assembly import Output, generate
from kcheck.report import capacity
from kcheck.scale import walls
from kcheck.text import bundled
from kcheck.text.values import known
from tests.kubernetes import schemas_of_kinds as crds
from tests.places import ROOT
from tests.terraform import schemas_of_providers as attributes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GENERATED = ROOT / "examples" / "generated"
CLOUDS = ("eks", "gke", "aks", "ack", "selfmanaged")
FACTORS: dict[str, tuple[Any, ...]] = {
    "cloud": CLOUDS,
    "nodes": (10, 100, 450, 1000, 5000),
    "spot": (0, 30),
    "scheduler": ("kueue", "volcano", "none"),
    "autoscaler": (0, 1),  # the first and the second that the cloud has
    "installer": (0, 1, 2),  # the same of what sets its clusters up
}
Case = tuple[Any, ...]


def grid() -> list[Case]:
    """Return all combinations that can be generated."""
    cases = product(*FACTORS.values())
    return [case for case in cases if able(case)]


def able(case: Case) -> bool:
    cloud, _, spot, _, autoscaler, installer = case
    if autoscaler >= len(listed(cloud, "autoscalers")) or installer >= len(listed(cloud, "installers")):
        return False
    own = cloud == "selfmanaged"
    return not own or (spot == 0 and (autoscaler == 0 or listed(cloud, "installers")[installer] == "cluster-api"))


def listed(cloud: str, what: str) -> list[str]:
    return str(recommended.values(cloud).get(f"intent.{what}", "")).split(", ")


def pairwise(cases: list[Case]) -> list[Case]:
    """Return a few cases in which every two compatible values occur together at least once."""
    left = {pair for case in cases for pair in pairs(case)}
    result = []
    while left:
        best = max(cases, key=lambda case: len(left & pairs(case)))
        result.append(best)
        left -= pairs(best)
    return result


def pairs(case: Case) -> set[tuple[int, Any, int, Any]]:
    return {(i, case[i], j, case[j]) for i, j in combinations(range(len(case)), 2)}


CASES = grid() if os.environ.get("KCHECK_GRID") == "all" else pairwise(grid())


@cache
def made(case: Case) -> tuple[intent.Intent, Output]:
    cloud, nodes, spot, scheduler, autoscaler, installer = case
    given: dict[str, Any] = {"nodes": nodes, "spot": {"share": spot}, "scheduler": scheduler}
    given["installer"] = listed(cloud, "installers")[installer]
    if cloud == "aks" and autoscaler:  # machines with InfiniBand are refused
        given["machines"] = ["Standard_NC40ads_H100_v5"]
    chosen = listed(cloud, "autoscalers")[autoscaler]
    if (cloud, chosen) == ("aks", "karpenter"):  # its nodes are in no scale set, which InfiniBand wants
        given["machines"] = ["Standard_NC24ads_A100_v4"]
    wanted = intent.with_defaults(cloud, {**given, "autoscaler": chosen})
    return wanted, generate(wanted)


def named(case: Case) -> str:
    return "-".join(map(str, case))


def test_the_chosen_cases_contain_every_pair_of_values() -> None:
    few = pairwise(grid())
    assert len(few) < len(grid()) / 4
    assert {pair for case in few for pair in pairs(case)} == {pair for case in grid() for pair in pairs(case)}


SMOKE = {case[0]: case for case in reversed(CASES)}
"""The first case of each cloud, which scripts/test runs."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.smoke if case in SMOKE.values() else ()) for case in CASES], ids=named
)
def test_check_finds_nothing_and_leaves_nothing_undecided(case: Case) -> None:
    result = made(case)[1].result
    assert [(found.rule, found.span.source.path, found.message) for found in result.findings] == []
    assert [(check.rule, check.object, check.missing) for check in result.undecided] == []
    assert result.bugs == []
    assert result.suppressed == 0
    assert result.decided > 300


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_generated_capacity_reaches_the_intent(case: Case) -> None:
    wanted, output = made(case)
    world = output.result.world
    (cluster,) = world.inventory.clusters
    assert (known(world.sizes.target(cluster)) or 0) >= wanted.nodes
    assert capacity.summary_sentence(cluster, world) in output.files["README.md"].decode().replace("\\_", "_")
    for wall in walls.find_walls(cluster, world):
        assert not wall.short, (wall.what, wall.arithmetic)
        assert wall.short is False or wall.kind == "recommended", (wall.what, wall.arithmetic)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_generated_terraform_has_only_attributes_known_to_providers(case: Case) -> None:
    for path, data in made(case)[1].files.items():
        if path.endswith(".tf"):
            text = data.decode()
            assert (attributes.unknown(text), attributes.missing(text)) == ([], []), path


@pytest.mark.parametrize("case", CASES, ids=named)
def test_generated_manifests_fit_the_api_schemas(case: Case) -> None:
    for path, data in made(case)[1].files.items():
        if path.startswith(("kubernetes/", "jobs/")) or path in ("cluster.yaml", "machines.yaml", "health-checks.yaml"):
            assert crds.problems(data.decode()) == [], path
        elif path.endswith(".yaml"):
            list(yaml.load_all(data, bundled.loader()))


FORMATTED = (".tf", ".tfvars", ".tftest.hcl")


@pytest.mark.parametrize("case", CASES, ids=named)
def test_generated_terraform_is_formatted(case: Case, tmp_path: Path) -> None:
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not installed")
    write(tmp_path, {path: data for path, data in made(case)[1].files.items() if path.endswith(FORMATTED)})
    command = ["terraform", "fmt", "-check", "-diff", "-recursive", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("case", CASES, ids=named)
def test_generated_text_has_no_template_leftovers(case: Case) -> None:
    """There are no leftovers of templates, blanks at line ends, runs of blank lines, or endless lines."""
    for path, data in made(case)[1].files.items():
        text = data.decode()
        assert not re.search(
            r'\{\{(?!\w+\}\}| (?:\$|ds\.|zone ))|\{%|%\}|(?<!clusterIP: )\bNone\b(?!")|undefined', text
        ), path
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), path
        assert "\n\n\n" not in text, path
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        if not path.endswith(".md"):
            assert max(map(len, text.splitlines())) <= 180, path


# --- one of each cloud and installer; that of SHOWN is in the repository, to read


SHOWN = "eks"
EXAMPLES = {**{cloud: cloud for cloud in CLOUDS}, "cluster-api": "selfmanaged", "kubespray": "selfmanaged"}


@cache
def example_output(example: str) -> Output:
    """Generate the cluster of an intent in examples/generated."""
    return generate(intent.with_defaults(EXAMPLES[example], intent.load(str(GENERATED / f"{example}.yaml"))))


@pytest.mark.parametrize("example", EXAMPLES)
def test_generated_examples_have_no_findings(example: str) -> None:
    assert example_output(example).result.findings == []


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write generated files into a folder."""
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def test_the_generated_example_equals_the_one_in_the_repository() -> None:
    folder = GENERATED / SHOWN
    found = example_output(SHOWN)
    if os.environ.get("KCHECK_UPDATE"):
        shutil.rmtree(folder, ignore_errors=True)
        write(folder, found.files)
    there = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert there == found.files
