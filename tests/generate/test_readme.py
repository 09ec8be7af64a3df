"""Test the simulated price of gang scheduling in the README of a generated cluster."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kcheck.commands import simulate
from kcheck.generate import intent
from kcheck.generate.assembly import Output, generate
from kcheck.generate.readme import StartPrice, start_price
from kcheck.report import simulation as report
from tests.generate.test_grid import write


def price(cloud: str, **given: Any) -> StartPrice | None:
    wanted = intent.with_defaults(cloud, given)
    return start_price(generate(wanted).result.world, wanted)


def test_starting_a_job_as_a_whole_takes_longer_and_costs_more() -> None:
    found = price("eks", nodes=1000)
    assert found is not None
    assert found.work == 10
    whole, single = ([int(text) for text in one.minutes.split(" to ")] for one in (found.whole, found.single))
    assert whole[0] > single[1]
    assert 30 < single[0] < single[1] < 60
    paid = [int(one.node_hours.split(" to ")[0]) for one in (found.whole, found.single)]
    assert paid[0] > paid[1] > 1000 * 10 / 60


def test_the_same_intent_has_the_same_price() -> None:
    assert price("gke", nodes=450) == price("gke", nodes=450)


@pytest.mark.parametrize(
    ("cloud", "given"),
    [("selfmanaged", {"nodes": 100}), ("gke", {"nodes": 6000})],
)
def test_no_start_price_is_shown_without_an_autoscaler_or_for_long_runs(cloud: str, given: dict[str, Any]) -> None:
    assert price(cloud, **given) is None


ALWAYS = {"boot", "turn", "delete"}
NOBODY_SETS: dict[str, set[str]] = {
    "eks": set(), "gke": {"wait", "timer", "queue"}, "aks": {"timer", "queue"},
    "ack": {"wait", "timer", "queue"}, "karpenter": {"wait", "timer"},
}  # fmt: skip
SIZES = [("cpu", 1000), ("gpu", 64), ("gpu", 256)]
CPU = {"eks": "c7i.8xlarge", "gke": "c3-standard-44", "aks": "Standard_D32s_v5", "ack": "ecs.g8i.8xlarge"}


@cache
def made(name: str, kind: str, nodes: int) -> Output:
    """Generate a cluster of a size, on a cloud with its default autoscaler or on EKS with Karpenter."""
    cloud, autoscaler = ("eks", {"autoscaler": name}) if name == "karpenter" else (name, {})
    machines = {"machines": [CPU[cloud]]} if kind == "cpu" else {}
    return generate(intent.with_defaults(cloud, {"nodes": nodes, **machines, **autoscaler}))


@pytest.mark.parametrize("name", NOBODY_SETS)
@pytest.mark.parametrize(("kind", "nodes"), SIZES)
def test_the_readme_names_each_part_of_a_start_that_nobody_can_set(name: str, kind: str, nodes: int) -> None:
    readme, start = made(name, kind, nodes).files["README.md"].decode(), made(name, kind, nodes).facts.start
    assert start is not None
    titles = {title: name for name, title in report.NAMES.items()}
    rows = {titles.get((cells := line.split(" | "))[0].removeprefix("| "), ""): cells for line in readme.splitlines()}
    shown = {titles[one.title]: one for one in start.whole.phases if one.times != "0.0"}
    assert rows.keys() - {""} == shown.keys()
    fixed = {name for name in shown if rows[name][-1].startswith("no: ")}
    assert fixed == (ALWAYS | NOBODY_SETS[name]) & shown.keys()
    least = {name: float(one.times.split(" to ")[0]) for name, one in shown.items()}
    assert sum(times for name, times in least.items() if name not in fixed) <= 2.5
    assert (
        f"Of these {start.whole.times} times the work 1 is the work itself, and nobody can set {start.whole.fixed}:"
        in readme
    )
    unset, whole = (float(times.split(" to ")[0]) for times in (start.whole.fixed, start.whole.times))
    assert sum(least[name] for name in fixed) - 0.2 < unset < whole - 0.9  # the work is what somebody sets
    if kind == "gpu":
        assert whole <= 2.5
    assert ("model of Karpenter is not calibrated" in readme) == (name == "karpenter")


@pytest.mark.parametrize("name", NOBODY_SETS)
def test_the_readme_says_what_larger_machines_would_come_to(name: str) -> None:
    output = made(name, "cpu", 1000)
    start, readme = output.facts.start, output.files["README.md"].decode()
    assert start is not None
    whole, fewer = (float(one.times.split(" to ")[0]) for one in (start.whole, start.fewer))
    assert fewer < whole
    assert f"on a quarter of the nodes, each four times as large, it is {start.fewer.times} times the work" in readme
    assert "a quarter of the nodes" not in made(name, "gpu", 64).files["README.md"].decode()


@pytest.mark.parametrize("name", NOBODY_SETS)
@pytest.mark.parametrize(("kind", "nodes"), SIZES)
def test_simulate_finds_nothing_to_save_in_a_generated_cluster(
    name: str, kind: str, nodes: int, tmp_path: Path
) -> None:
    write(tmp_path, made(name, kind, nodes).files)
    done = CliRunner().invoke(simulate.command, [str(tmp_path), "--what-if"])
    assert "what if: none of kcheck's fixes changes this run" in done.output, done.output


@pytest.mark.parametrize("name", ["eks", "gke", "aks", "ack"])
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_the_checkpoint_file_system_has_a_price_or_a_link_to_it(name: str, kind: str) -> None:
    told = made(name, kind, 64).files["README.md"].decode()
    line = next(line for line in told.splitlines() if line.startswith("- **Checkpoints"))
    assert re.search(
        r"costs about [\d,]+ USD a month|\]\(https://\S+\)(: \$0\.30 per GB|.* at a price that kcheck does not list)",
        line,
    )
